"""`ragauge score`: rankings and labels in, one row a measure out."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.terminal import echo_json, echo_records, note, quiet_option, write_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.measures import Measure
    from ragauge.results import Estimate

DEFAULT_MEASURES = ("T@{k}", "P@{k}", "n_p@{k}", "nDCG(ideal=retrieved)@{k}", "Judged@{k}")
"""What is printed without -m, at K = the longest ranking, at most 10."""


@click.command("score")
@click.argument("rankings", type=click.Path(path_type=Path))
@click.option("--labels", type=click.Path(path_type=Path), help="Qrels, CSV, JSONL or Parquet. Default: those inside.")
@click.option("-m", "--measure", "names", multiple=True, help='Such as "T(alpha=0.3)@10"; may be given many times.')
@click.option("--rel", type=float, help="A label this high is relevant. Default: 1; 0.5 if labels are probabilities.")
@click.option("--level", type=click.FloatRange(0, 1, True, True), default=0.95, show_default=True, help="Confidence.")
@click.option("--per-query", type=click.Path(path_type=Path), help="Write each query's values (.parquet .csv .jsonl).")
@click.option("--html", type=click.Path(path_type=Path), help="Write a report with the worst queries to this file.")
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def score_command(
    rankings: Path,
    labels: Path | None,
    names: tuple[str, ...],
    rel: float | None,
    level: float,
    per_query: Path | None,
    html: Path | None,
    format: str,
    quiet: bool,
) -> None:
    """Score RANKINGS (a TREC run or JSONL) against labels, with intervals.

    \b
    Examples:
      ragauge score run.txt --labels qrels.txt -m "T(alpha=0.3)@10" -m P@10
      ragauge score labelled.jsonl --html report.html --format json
    """
    from ragauge.evaluate import labels_are_probabilities
    from ragauge.io import read_labels, read_rankings, write_table
    from ragauge.measures import judge, score

    judged = judge(read_rankings(rankings), read_labels(labels) if labels else None)
    if rel is None and labels_are_probabilities(judged):
        rel = 0.5
        note("Labels are probabilities: 0.5 and above counts as relevant (change with --rel).", quiet=quiet)
    measures = parse_all(names or default_measures(judged), rel=rel)
    scores = score(judged, measures)
    if per_query:
        write_table(scores, per_query)
        note(f"Each query's values: {per_query}", quiet=quiet)
    found = _by_run(judged, scores, measures, level)
    if html:
        _write_report(html, rankings.name, judged, scores, found, 1.0 if rel is None else rel)
        note(f"Report: {html}", quiet=quiet)
    _echo(found, judged.num_rows, format)


def default_measures(judged: "pa.Table") -> list[str]:
    """The measures printed without -m."""
    import pyarrow.compute as pc

    longest = pc.max(pc.list_value_length(judged.column("doc_ids"))).as_py() or 10
    return [name.format(k=max(1, min(10, longest))) for name in DEFAULT_MEASURES]


def parse_all(names: Sequence[str], *, rel: float | None) -> list["Measure"]:
    """The measures, with `rel` as the threshold of those that have one and were written without it."""
    from ragauge.measures import parse_measure

    measures = [parse_measure(name) for name in names]
    return list(dict.fromkeys(measures if rel is None else [_with_rel(measure, rel) for measure in measures]))


def _with_rel(measure: "Measure", rel: float) -> "Measure":
    """The measure with `rel` in place of the default threshold; one written out stays."""
    values = dict(measure.parameters)
    default = {parameter.name: parameter.default for parameter in measure.definition.parameters}.get("rel")
    if "rel" not in values or values["rel"] != default:
        return measure
    return replace(measure, parameters=tuple((values | {"rel": rel}).items()))


def _by_run(
    judged: "pa.Table", scores: "pa.Table", measures: Sequence["Measure"], level: float
) -> list[tuple[str, "Estimate"]]:
    import pyarrow.compute as pc

    from ragauge.evaluate import estimates

    pairs = []
    for run in judged.column("run").unique().to_pylist():
        mask = pc.equal(judged.column("run"), run)
        pairs += [(run, e) for e in estimates(judged.filter(mask), scores.filter(mask), measures, level=level)]
    return pairs


def _write_report(
    path: Path, name: str, judged: "pa.Table", scores: "pa.Table", found: Sequence[tuple[str, "Estimate"]], rel: float
) -> None:
    from ragauge.report import score_report

    by_run: dict[str, list[Estimate]] = {}
    for run, estimate in found:
        by_run.setdefault(run, []).append(estimate)
    title = f"How good is the retrieval in {name}"
    write_text(path, score_report(title=title, estimates=by_run, judged=judged, scores=scores, rel=rel))


def _echo(pairs: Sequence[tuple[str, "Estimate"]], n_rows: int, format: str) -> None:
    runs = {run for run, _ in pairs}
    several = len(runs) > 1
    if format == "json":
        measures = [({"run": run} if several else {}) | asdict(estimate) for run, estimate in pairs]
        echo_json({"n_queries": n_rows // max(1, len(runs)), "measures": measures})
        return
    echo_records([({"run": run} if several else {}) | estimate_row(estimate) for run, estimate in pairs], format=format)


def estimate_row(estimate: "Estimate") -> dict[str, Any]:
    """An estimate as one row of a table."""
    keys = ("measure", "mean", "low", "high", "n", "n_undefined", "judged")
    return {key: getattr(estimate, key) for key in keys}
