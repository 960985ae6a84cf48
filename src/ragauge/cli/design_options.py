"""Label designs on the command line: fewer labels for a mean, and what may then be scored."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.number_options import NumberIn
from ragauge.cli.terminal import echo_json, echo_records, note
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.results import Estimate

__all__ = ["design_options", "drawn_first", "label_by_design", "score_designed"]

Command = TypeVar("Command", bound=Callable[..., Any])

DESIGNS = ("all", "one-per-query", "two-per-query", "stratified", "until", "until-anytime")
DEFAULT_CUTOFF = 10


def design_options(command: Command) -> Command:
    """Adds --design, --half-width and --draw."""
    options = (
        click.option(
            "--design",
            type=click.Choice(DESIGNS),
            default="all",
            show_default=True,
            help="What to label: all, or a random part of the top K (--top, 10 if not given) for the mean alone.",
        ),
        click.option("--half-width", type=NumberIn(0, min_open=True), help="Of mean P@K, where --design until stops."),
        click.option("--draw", type=click.IntRange(1), help="Documents for --design stratified. Default: one a query."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def drawn_first(
    table: "pa.Table", given: Mapping[str, Any], *, top: int | None, out: Path | None, batch: Path | None, seed: int
) -> "pa.Table | None":
    """DRAWN of a design that draws before anything is labelled; for until: what it would label if it never stopped.

    Raises:
        InputError: Options that do not go together.
    """
    from ragauge.quality.designs import draw_design

    design, until = given["design"], given["design"].startswith("until")
    if until != (given["half_width"] is not None):
        raise InputError("--half-width goes with --design until or until-anytime, and these need it")
    if until and batch is not None:
        raise InputError(
            "--design until looks at labels as they come, and --batch brings them a day later: leave one out"
        )
    if given["draw"] is not None and design != "stratified":
        raise InputError("--draw goes with --design stratified")
    if design == "all":
        return None
    if out is not None and not out.name.endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")):
        raise InputError(f"a design is written into JSON lines: name the output something.jsonl, not {out.name}")
    name = "one-per-query" if until else design
    return draw_design(table, design=name, cutoff=top or DEFAULT_CUTOFF, n=given["draw"], seed=seed)


def label_by_design(
    table: "pa.Table",
    label: "Callable[[pa.Table], pa.Table]",
    drawn: "pa.Table",
    given: Mapping[str, Any],
    *,
    rel: float,
    seed: int,
    out: Path,
    quiet: bool,
) -> "pa.Table":
    """Labels what the design asks for, writes the rankings with labels and design, and gives the labels.

    Args:
        table: All rankings.
        label: Labels the rankings it is given.
        drawn: From `drawn_first`.
        given: The command's options.
        rel: The label that counts as relevant, for until.
        seed: Of until's order and draw.
        out: Where the rankings are written.
        quiet: No note.
    """
    from ragauge.io import write_drawn_rankings
    from ragauge.measures import Measure, judge
    from ragauge.quality.designs import drawn_rankings, label_until

    if given["design"].startswith("until"):
        measure = Measure.of("P", drawn.column("cutoff")[0].as_py(), rel=rel)
        wanted = given["half_width"]
        found = label_until(table, label, half_width=wanted, measure=measure, method=given["design"], seed=seed)
        labels, drawn = found.labels, found.drawn
        end = "" if found.enough else f", not +-{wanted:g}: the queries ran out"
        note(f"Stopped: {measure} is known to +-{found.half_width:.4f}{end}.", quiet=quiet)
    else:
        labels = label(drawn_rankings(table, drawn))
    write_drawn_rankings(judge(table, labels, complete="unknown"), drawn, out)
    note(f"Design {given['design']}: score it with ragauge score, which knows what was drawn.", quiet=quiet)
    return labels


def score_designed(
    table: "pa.Table",
    path: Path,
    names: Sequence[str],
    *,
    rel: float | None,
    level: float,
    format: str,
    refused: Mapping[str, bool],
) -> None:
    """Prints the means of rankings that a design labelled in part.

    Args:
        table: The rankings, with labels.
        path: Their file, which holds the design.
        names: Measures; () = T, P and n_p at the design's cutoff.
        rel: The label that counts as relevant.
        level: Of the intervals.
        format: "table", "json" or "csv".
        refused: Option -> whether it was given: those that need every label.

    Raises:
        InputError: A refused option, or a file that holds several designs.
        MeasureError: A measure that the design cannot give.
    """
    from dataclasses import asdict

    from ragauge.cli.given import parse_all
    from ragauge.cli.score import csv_rows, short_rows
    from ragauge.io import read_drawn
    from ragauge.quality.designed import DESIGNS as TITLES
    from ragauge.quality.designed import estimate_by_design

    drawn = read_drawn(path)
    design, cutoff = drawn.column("design")[0].as_py(), drawn.column("cutoff")[0].as_py()
    title = TITLES[design].format(k=cutoff) if design in TITLES else design
    if wrong := [option for option, there in refused.items() if there]:
        raise InputError(
            f"{path} was labelled by the design {design} ({title}), which gives means over queries alone; "
            f"{', '.join(wrong)} cannot go with it"
        )
    measures = parse_all(names or [f"{name}@{cutoff}" for name in ("T", "P", "n_p")], rel=rel)
    found = estimate_by_design(table, drawn, measures, level=level)
    rows = [({"run": run} if len(found) > 1 else {}, each) for run, of_run in found.items() for each in of_run]
    if format == "json":
        shown = [run | asdict(each) for run, each in rows]
        echo_json({"n_queries": drawn.num_rows // len(found), "design": design, "cutoff": cutoff, "measures": shown})
    elif format == "csv":
        lines = csv_rows([each for _, each in rows])
        echo_records([run | line for (run, _), line in zip(rows, lines, strict=True)], format="csv")
    else:
        _echo_tables(found, design, title, short_rows)


def _echo_tables(
    found: "Mapping[str, tuple[Estimate, ...]]",
    design: str,
    title: str,
    short_rows: "Callable[[Sequence[Estimate]], list[dict[str, Any]]]",
) -> None:
    for run, of_run in found.items():
        echo_records(short_rows(of_run), format="table", title=run if len(found) > 1 else "")
    click.echo()
    click.echo(click.wrap_text(f"Design {design}: {title}.", 80, subsequent_indent="  "))
