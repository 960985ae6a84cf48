"""`ragauge correlate`: the last stage of a study alone."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.correlation_table import echo_correlations, legend
from ragauge.cli.number_options import level_option
from ragauge.cli.terminal import TABLE_FILE, OutFile, bars, note, quiet_option, write_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.study.segments import By

COEFFICIENTS = ("spearman", "pearson", "tau_b", "tau_c", "gamma", "somers_yx", "somers_xy")
ALWAYS = COEFFICIENTS[:4]
"""What files and JSON hold, whichever the table shows."""


@click.command("correlate")
@click.argument("graded", type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(["ratio", "width", "all"]),
    default="ratio",
    show_default=True,
    help="Segments: K / N_p, narrow and wide, or one an embedder.",
)
@click.option(
    "--coefficient",
    type=click.Choice([*COEFFICIENTS, "all"]),
    default="spearman",
    show_default=True,
    help="Which one the table shows; files and JSON hold the first four, and this one.",
)
@click.option(
    "--alphas",
    type=click.Choice(["exact", "grid", "log"]),
    default="exact",
    show_default=True,
    help="The maximum over all of 0..1, over steps of .01, or over 702 alphas dense at both ends.",
)
@click.option("--bootstrap", type=click.IntRange(0), default=0, help="Correct the maximum with so many replicates.")
@click.option(
    "--held-out",
    type=click.Choice(["folds", "datasets"]),
    help="Choose alpha on other queries (5 folds), or on other data sets.",
)
@click.option("--all", "tables", flag_value="all", default="few", help="A table for each segment, also for many.")
@click.option("--contest", is_flag=True, help="Also say which measure may be the best, in each segment and pooled.")
@click.option("--against", metavar="MEASURE", help="Of the contest: differences from this one, not from the leader.")
@level_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of replicates and folds.")
@click.option("--html", type=OutFile(), help="Write the report to this file.")
@click.option("--out", type=TABLE_FILE, help="Write the whole table (.parquet .csv .jsonl).")
@click.option("--charts", type=click.Path(path_type=Path), help="Write each chart to this folder.")
@click.option("--charts-as", type=click.Choice(["png", "svg"]), default="png", show_default=True)
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def correlate_command(
    graded: Path,
    by: "By",
    coefficient: str,
    alphas: Literal["exact", "grid", "log"],
    bootstrap: int,
    held_out: Literal["folds", "datasets"] | None,
    tables: Literal["few", "all"],
    contest: bool,
    against: str | None,
    level: float,
    seed: int,
    html: Path | None,
    out: Path | None,
    charts: Path | None,
    charts_as: Literal["png", "svg"],
    format: str,
    quiet: bool,
) -> None:
    """Say which measure follows the grades in GRADED: our Parquet or JSONL, or a samples_graded.json.

    A Parquet file may be larger than memory, unless a report or charts are wanted.

    \b
    Examples:
      ragauge correlate samples_graded.json --by width
      ragauge correlate graded.parquet --bootstrap 1000 --seed 1
      ragauge correlate graded.parquet --contest --against F
      ragauge correlate graded.parquet --html report.html --charts figures
    """
    from ragauge.io import write_table
    from ragauge.study import contest as hold_contest
    from ragauge.study import correlate

    whole = _is_whole(contest, against, format, html or charts)
    rows = _rows(graded, whole=whole)
    names = COEFFICIENTS if coefficient == "all" else dict.fromkeys((*ALWAYS, coefficient))
    options = {"by": by, "level": level, "seed": seed}
    found = _with_bar(
        correlate,
        rows,
        quiet=quiet or not bootstrap,
        alphas=alphas,
        coefficients=tuple(names),
        bootstrap=bootstrap,
        held_out=held_out,
        **options,
    )
    if out:
        write_table(found, out)
        note(f"Table: {out}", quiet=quiet)
    met = None
    if whole:
        one = "spearman" if coefficient == "all" else coefficient
        met = _with_bar(hold_contest, rows, quiet=quiet, coefficient=one, against=against, **options)
    if html:
        from ragauge.report import study_report

        title = f"Which measure follows the grades in {graded.name}"
        write_text(html, study_report(title=title, correlations=found, graded=rows, contest=met, level=level))
        note(f"Report: {html}", quiet=quiet)
    if charts:
        from ragauge.report import export_charts, study_charts

        files = export_charts(study_charts(found, rows, met), charts, charts_as)
        note(f"Charts: {len(files)} in {charts}", quiet=quiet)
    shown: dict[str, Any] = {"coefficient": coefficient, "level": level, "contest": met if contest else None}
    explained = echo_correlations(found, format=format, tables=tables, **shown)
    if explained and not quiet:
        note(legend(found, level=level, held_out=held_out))


def _is_whole(contest: bool, against: str | None, format: str, drawn: Path | None) -> bool:
    """Whether all rows are needed at once; refuses options that do not go together."""
    if against and not (contest or drawn):
        raise click.UsageError("--against goes with --contest, --html or --charts")
    if contest and format == "csv":
        raise click.UsageError("--contest goes with --format table or json")
    return bool(contest or drawn)


def _with_bar(work: "Callable[..., pa.Table]", rows: Any, *, quiet: bool, **options: Any) -> "pa.Table":
    """What `work` makes of the rows, with its progress shown."""
    with ExitStack() as stack:
        return work(rows, on_progress=_progress(stack, quiet=quiet), **options)


def _progress(stack: ExitStack, *, quiet: bool) -> Callable[[int, int], None]:
    """A bar that opens when the number of segments is known."""
    advance: list[Callable[[int], None]] = []

    def progress(finished: int, total: int) -> None:
        if not advance:
            advance.append(stack.enter_context(bars(quiet=quiet)("segments", total)))
        advance[0](1)

    return progress


def _rows(graded: Path, *, whole: bool) -> Any:
    """All rows, or batches of the columns that are needed."""
    from ragauge.io import graded_batches, read_graded
    from ragauge.study.cells import GRADED_COLUMNS

    if graded.suffix == ".parquet" and not whole:
        return graded_batches(graded, GRADED_COLUMNS)
    return read_graded(graded)
