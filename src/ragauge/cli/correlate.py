"""`ragauge correlate`: the last stage of a study alone."""

from itertools import groupby
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.terminal import echo_json, echo_records, note, quiet_option, write_text

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("correlate")
@click.argument("graded", type=click.Path(path_type=Path))
@click.option("--by", type=click.Choice(["ratio", "width"]), default="ratio", show_default=True, help="Segments.")
@click.option(
    "--coefficient",
    type=click.Choice(["spearman", "pearson", "tau_b", "tau_c", "all"]),
    default="spearman",
    show_default=True,
    help="Which one the table shows; files and JSON hold all.",
)
@click.option("--html", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the whole table (.parquet .csv .jsonl).")
@click.option("--charts", type=click.Path(path_type=Path), help="Write each chart to this folder.")
@click.option("--charts-as", type=click.Choice(["png", "svg"]), default="png", show_default=True)
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@quiet_option
def correlate_command(
    graded: Path,
    by: Literal["ratio", "width"],
    coefficient: str,
    html: Path | None,
    out: Path | None,
    charts: Path | None,
    charts_as: Literal["png", "svg"],
    format: str,
    quiet: bool,
) -> None:
    """Say which measure follows the grades in GRADED: our Parquet or JSONL, or a samples_graded.json.

    \b
    Examples:
      ragauge correlate samples_graded.json --by width
      ragauge correlate graded.parquet --html report.html --charts figures
    """
    from ragauge.io import read_graded, write_table
    from ragauge.study import correlate

    rows = read_graded(graded)
    found = correlate(rows, by=by)
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
    echo_correlations(found, coefficient=coefficient, format=format)


def echo_correlations(found: "pa.Table", *, coefficient: str, format: str) -> None:
    """The correlations of one coefficient (or all) on stdout, a table a segment."""
    rows = found.to_pylist()
    if format == "json":
        echo_json({"correlations": rows})
        return
    shown = [row for row in rows if coefficient in ("all", row["coefficient"])]
    for (dataset, embedder, segment), group in groupby(shown, key=itemgetter("dataset", "embedder", "segment")):
        members = list(group)
        title = f"{dataset}  {embedder}  {segment}  ({members[0]['n_queries']} queries)"
        echo_records([_row(row, several=coefficient == "all") for row in members], format="table", title=title)


def _row(row: dict[str, Any], *, several: bool) -> dict[str, Any]:
    named = {"measure": row["measure"]} | ({"of": row["coefficient"]} if several else {})
    best = f"{row['best_value']:.3f} at {row['best_alpha']:.2f}" if row["alpha_matters"] else ""
    has_interval = isfinite(row["low"]) and isfinite(row["high"])
    interval = f"{row['low']:.3f} to {row['high']:.3f}" if has_interval else ""
    return named | {"value": row["value"], "95 % interval": interval, "in-sample max": best, "rows": row["n_rows"]}
