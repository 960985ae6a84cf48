"""`ragauge correlate`: the last stage of a study alone."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import groupby
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.contest_table import echo_contest
from ragauge.cli.terminal import bars, echo_json, echo_records, note, quiet_option, write_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.study.segments import By

COEFFICIENTS = ("spearman", "pearson", "tau_b", "tau_c", "gamma", "somers_yx", "somers_xy")
ALWAYS = COEFFICIENTS[:4]
"""What files and JSON hold, whichever the table shows."""

LEGEND = """\
value          at alpha = 0.5; CI: its {level:.0%} confidence interval, leaving out one query at a time
in-sample max  the largest over alpha, and where: too high, alpha was chosen on these rows
corrected      that maximum less what the choice adds (bootstrap), with its interval (CI)
held out       at an alpha that other {others} chose
within         for the same query: do its rows follow their grades?"""


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
@click.option("--contest", is_flag=True, help="Also say which measure may be the best, in each segment and pooled.")
@click.option("--against", metavar="MEASURE", help="With --contest: differences from this one, not from the leader.")
@click.option("--level", type=click.FloatRange(0, 1, True, True), default=0.95, show_default=True, help="Confidence.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of replicates and folds.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the whole table (.parquet .csv .jsonl).")
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
    from ragauge.study import correlate

    if against and not contest:
        raise click.UsageError("--against goes with --contest")
    if contest and format == "csv":
        raise click.UsageError("--contest goes with --format table or json")
    rows = _rows(graded, whole=bool(html or charts or contest))
    names = COEFFICIENTS if coefficient == "all" else dict.fromkeys((*ALWAYS, coefficient))
    with ExitStack() as stack:
        found = correlate(
            rows,
            by=by,
            alphas=alphas,
            coefficients=tuple(names),
            level=level,
            bootstrap=bootstrap,
            held_out=held_out,
            seed=seed,
            on_progress=_progress(stack, quiet=quiet or not bootstrap),
        )
    if out:
        write_table(found, out)
        note(f"Table: {out}", quiet=quiet)
    if html:
        from ragauge.report import study_report

        title = f"Which measure follows the grades in {graded.name}"
        write_text(html, study_report(title=title, correlations=found, graded=rows))
        note(f"Report: {html}", quiet=quiet)
    if charts:
        from ragauge.report import export_charts, study_charts

        files = export_charts(study_charts(found, rows), charts, charts_as)
        note(f"Charts: {len(files)} in {charts}", quiet=quiet)
    met = None
    if contest:
        from ragauge.study import contest as hold_contest

        one = "spearman" if coefficient == "all" else coefficient
        with ExitStack() as stack:
            progress = _progress(stack, quiet=quiet)
            met = hold_contest(
                rows, by=by, coefficient=one, against=against, level=level, seed=seed, on_progress=progress
            )
    echo_correlations(found, coefficient=coefficient, format=format, level=level, contest=met)
    if format == "table" and not quiet:
        note("\n" + _legend(found, level, held_out))


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


def echo_correlations(
    found: "pa.Table", *, coefficient: str, format: str, level: float = 0.95, contest: "pa.Table | None" = None
) -> None:
    """The correlations of one coefficient (or all) on stdout, a table a segment; then the contest, if there was one."""
    rows = found.to_pylist()
    if format == "json":
        echo_json({"correlations": rows} | ({} if contest is None else {"contest": contest.to_pylist()}))
        return
    shown = [row for row in rows if coefficient in ("all", row["coefficient"])]
    if format == "csv":
        echo_records(shown, format="csv")
        return
    columns = _columns(found)
    for (dataset, embedder, segment), group in groupby(shown, key=itemgetter("dataset", "embedder", "segment")):
        members = list(group)
        title = f"{dataset}  {embedder}  {segment}  ({_size(members)})"
        records = [_row(row, columns, level, several=coefficient == "all") for row in members]
        echo_records(records, format="table", title=title)
    if contest is not None:
        echo_contest(contest)


def _size(rows: list[dict[str, Any]]) -> str:
    """Queries and answers of the segment, and of the measure that has fewer of them."""
    most = max(rows, key=itemgetter("n_rows"))
    text = f"{most['n_queries']} queries, {most['n_rows']} answers"
    fewer = {row["measure"]: row["n_rows"] for row in rows if row["n_rows"] < most["n_rows"]}
    return "; ".join([text, *(f"{name}: {n}" for name, n in fewer.items())])


def _row(row: dict[str, Any], columns: set[str], level: float, *, several: bool) -> dict[str, Any]:
    record = {"measure": row["measure"]} | ({"of": row["coefficient"]} if several else {})
    record |= {
        "value": row["value"],
        f"{level:.0%} CI": _span(row["low"], row["high"]),
        "in-sample max": f"{row['best_value']:.3f} at {row['best_alpha']:.2f}" if row["alpha_matters"] else "",
    }
    if "corrected_value" in columns:
        tuned = row["alpha_matters"]
        record["corrected"] = row["corrected_value"] if tuned else None
        record["CI"] = _span(row["corrected_low"], row["corrected_high"]) if tuned else ""
    if "held_out" in columns:
        record["held out"] = row["held_out"]
    if "within" in columns:
        record["within"] = row["within"]
    return record


def _span(low: float, high: float) -> str:
    return f"{low:.2f}..{high:.2f}" if isfinite(low) and isfinite(high) else ""


def _legend(found: "pa.Table", level: float, held_out: str | None) -> str:
    """The lines about columns that are there."""
    absent = [head for name, head in _OPTIONAL.items() if name not in _columns(found)]
    text = LEGEND.format(level=level, others="data sets" if held_out == "datasets" else "queries")
    return "\n".join(line for line in text.splitlines() if not line.startswith(tuple(absent)))


def _columns(found: "pa.Table") -> set[str]:
    """The optional columns that hold anything; beside a corrected maximum there is no room for `within`."""
    there = {name for name in _OPTIONAL if found.column(name).null_count < len(found)}
    return there - {"within"} if "corrected_value" in there else there


_OPTIONAL = {"corrected_value": "corrected", "held_out": "held out", "within": "within"}
