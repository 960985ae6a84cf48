"""`ragauge score`: rankings and labels in, one row a measure out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.design_options import score_designed
from ragauge.cli.policy_options import policies_of, policy_options
from ragauge.cli.reading import input_format_option, labels_option, nothing_judged, refuse_designs
from ragauge.cli.relevant_options import OWN_LISTS, count_lines, planned_labels, relevant_options, uses_own_lists
from ragauge.cli.terminal import TABLE_FILE, OutFile, echo_json, echo_records, note, quiet_option, write_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.io import Reading
    from ragauge.measures import Measure, Policies
    from ragauge.quality.counted import Counted
    from ragauge.quality.evaluate import Assessment
    from ragauge.results import Estimate, RelevantCount

    Counts = Mapping[tuple[str, str], RelevantCount]

DEFAULT_MEASURES = ("T@{k}", "P@{k}", "n_p@{k}", "nDCG(ideal=retrieved)@{k}", "Judged@{k}")
"""What is printed without -m, at K = the longest ranking, at most 10."""

COUNTED_MEASURES = ("R@{k}", "F@{k}", "nDCG(gain=binary)@{k}")

TIES = {
    "trec": "they go by document id, last first, as in trec_eval",
    "input": "they stay as they were given",
    "expected": "the value is the mean over all their orders",
}
"""How each policy orders documents of equal score."""


@click.command("score")
@click.argument("rankings", nargs=-1, required=True, type=click.Path(path_type=Path))
@labels_option
@click.option("-m", "--measure", "names", multiple=True, help='Such as "T(alpha=0.3)@10"; may be given many times.')
@click.option("--rel", type=float, help="A label this high is relevant. Default: 1; 0.5 if labels are probabilities.")
@click.option("--max-label", type=float, help="Top of the label scale, for --unjudged bounds. Default: the highest.")
@click.option("--level", type=click.FloatRange(0, 1, True, True), default=0.95, show_default=True, help="Confidence.")
@relevant_options
@policy_options
@click.option("--per-query", type=TABLE_FILE, help="Write each query's values (.parquet .csv .jsonl).")
@click.option("--html", type=OutFile(), help="Write a report with the worst queries to this file.")
@input_format_option
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def score_command(
    rankings: tuple[Path, ...],
    labels: Path | None,
    names: tuple[str, ...],
    rel: float | None,
    max_label: float | None,
    level: float,
    per_query: Path | None,
    html: Path | None,
    input_format: str | None,
    format: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Score RANKINGS (TREC runs, JSONL and others) against labels, with intervals.

    Means are over the labelled queries; a query that a run has no ranking for
    counts as an empty one. docs/policies.md says more of each choice.

    \b
    Examples:
      ragauge score run.txt --labels qrels.txt -m "T(alpha=0.3)@10" -m P@10
      ragauge score labelled.jsonl --unjudged bounds --html report.html
      ragauge score a.run b.run --labels qrels.txt --compat trec_eval -m AP
      ragauge score deep.jsonl --labels plan.jsonl --relevant-count 2k-x-c -m R@10
    """
    from ragauge.io import write_table

    given = _given(rankings, labels, rel, input_format, chosen, quiet=quiet)
    if labels is None and _is_designed(rankings):
        asked = {"--per-query": per_query, "--html": html, "--unjudged": chosen["unjudged"]}
        asked |= {"--compat": chosen["compat"], "--relevant-count": chosen["relevant_count"]}
        refused = {option: value is not None for option, value in asked.items()}
        score_designed(given.table, rankings[0], names, rel=given.rel, level=level, format=format, refused=refused)
        return
    measures = parse_all(names or default_measures(given.table, counted=chosen["relevant_count"]), rel=given.rel)
    if chosen["compat"]:
        from ragauge.measures import as_trec_eval

        measures = [as_trec_eval(measure) for measure in measures]
    counted = _assessed(given, measures, chosen, max_label=max_label, level=level)
    found, counts = counted.assessment, counted.records
    if told := nothing_judged(found.prepared.judged, rankings[0], labels):
        note(f"Warning: {told}", quiet=quiet)
    if len(found.estimates) > 1 and uses_own_lists(measures, chosen):
        note(click.wrap_text(OWN_LISTS, 80), quiet=quiet)
    if per_query:
        write_table(found.scores, per_query)
        note(f"Each query's values: {per_query}", quiet=quiet)
    if html:
        _write_report(html, rankings, found, given.threshold, count_lines(counts))
        note(f"Report: {html}", quiet=quiet)
    _echo(found, format, counts)


@dataclass(frozen=True)
class _Given:
    """What the files hold, and how the options say to take it."""

    table: "pa.Table"
    labels: "pa.Table | None"
    plan: "pa.Table | None"
    policies: "Policies"
    rel: float | None

    @property
    def threshold(self) -> float:
        return 1.0 if self.rel is None else self.rel


def _given(
    rankings: Sequence[Path],
    labels: Path | None,
    rel: float | None,
    input_format: str | None,
    chosen: Mapping[str, Any],
    *,
    quiet: bool,
) -> _Given:
    from ragauge.io import read_labels
    from ragauge.quality.evaluate import labels_are_probabilities
    from ragauge.quality.relevant import labels_of_plan

    policies = policies_of(chosen)
    readings = read_files(rankings, input_format, chosen["ties"], policies.duplicates)
    for reading in readings:
        note(str(reading), quiet=quiet)
    table = together(readings)
    plan = planned_labels(chosen, labels)
    known = read_labels(labels) if labels else None if plan is None else labels_of_plan(plan)
    if rel is None and labels_are_probabilities(table if known is None else known):
        rel = 0.5
        note("Labels are probabilities: 0.5 and above counts as relevant (change with --rel).", quiet=quiet)
    return _Given(table, known, plan, resolved(policies, readings, chosen["ties"]), rel)


def _is_designed(rankings: Sequence[Path]) -> bool:
    """Whether a design drew the labels inside the one file; several such files are refused."""
    from ragauge.io import design_of_file

    if len(rankings) > 1:
        refuse_designs(rankings, None)
    return len(rankings) == 1 and bool(design_of_file(rankings[0]))


def _assessed(
    given: _Given, measures: Sequence["Measure"], chosen: Mapping[str, Any], *, max_label: float | None, level: float
) -> "Counted":
    """By known labels, or with an estimated number of relevant documents."""
    from ragauge.quality.counted import Counted, assess_counted
    from ragauge.quality.evaluate import assess

    if estimator := chosen["relevant_count"]:
        options = {"estimator": estimator, "plan": given.plan, "seed": chosen["seed"]}
        return assess_counted(given.table, given.labels, measures, given.policies, level=level, **options)
    options = {"rel": given.threshold, "max_label": max_label, "level": level}
    return Counted(assess(given.table, given.labels, measures, given.policies, **options))


def default_measures(rankings: "pa.Table", *, counted: str | None = None) -> list[str]:
    """The measures printed without -m; with an estimated number of relevant documents, also those that need it."""
    import pyarrow.compute as pc

    longest = pc.max(pc.list_value_length(rankings.column("doc_ids"))).as_py() or 10
    names = (*DEFAULT_MEASURES, *(COUNTED_MEASURES if counted else ()))
    return [name.format(k=max(1, min(10, longest))) for name in names]


def parse_all(names: Sequence[str], *, rel: float | None) -> list["Measure"]:
    """The measures, with `rel` as the threshold of those that have one and were written without it."""
    from ragauge.measures import parse_measure
    from ragauge.quality.evaluate import at_level

    measures = [parse_measure(name) for name in names]
    return list(dict.fromkeys(measures if rel is None else [at_level(measure, rel) for measure in measures]))


def read_files(paths: Sequence[Path], format: str | None, ties: str | None, duplicates: str) -> list["Reading"]:
    """The rankings of each file, a TREC run in the order of its lines where --ties input asks for it."""
    from ragauge.io import scan_rankings

    keep: Literal["error", "keep"] = "error" if duplicates == "error" else "keep"
    order: Literal["input", "trec"] = "input" if ties == "input" else "trec"
    return [scan_rankings(path, format=format, duplicates=keep, order=order) for path in paths]


def together(readings: Sequence["Reading"]) -> "pa.Table":
    """One table; runs that go by the same name in two files are told apart."""
    if len(readings) == 1:
        return readings[0].table
    from ragauge.quality.systems import named_apart

    return named_apart([(reading.source, reading.table) for reading in readings])


def resolved(policies: "Policies", readings: Sequence["Reading"], ties: str | None) -> "Policies":
    """Without --ties, TREC runs go by trec_eval's order and files of other kinds by their own."""
    from ragauge.io.ours import TREC_RUN

    all_trec = all(reading.title == TREC_RUN for reading in readings)
    return replace(policies, ties="trec") if ties is None and all_trec else policies


def _write_report(path: Path, files: Sequence[Path], found: "Assessment", rel: float, notes: Sequence[str]) -> None:
    from ragauge.measures import account
    from ragauge.report import score_report

    names = [estimate.measure for estimates in found.estimates.values() for estimate in estimates]
    page = score_report(
        title=f"How good is the retrieval in {', '.join(file.name for file in files)}",
        estimates=found.estimates,
        judged=found.prepared.judged,
        scores=found.scores.select(["query_id", "run", *dict.fromkeys(names)]),
        rel=rel,
        notes=(*account(found.prepared, found.n_queries), *notes),
    )
    write_text(path, page)


def _echo(found: "Assessment", format: str, counts: "Counts") -> None:
    several = len(found.estimates) > 1
    estimates = [estimate for of_run in found.estimates.values() for estimate in of_run]
    runs = [{"run": run} if several else {} for run, of_run in found.estimates.items() for _ in of_run]
    if format == "json":
        numbers = [{"measure": name, "run": run or None} | asdict(each) for (name, run), each in counts.items()]
        told = _json(found, [run | asdict(each) for run, each in zip(runs, estimates, strict=True)])
        echo_json(told | ({"relevant_counts": numbers} if numbers else {}))
    elif format == "csv":
        echo_records([run | row for run, row in zip(runs, csv_rows(estimates), strict=True)], format="csv")
    else:
        for run, of_run in found.estimates.items():
            _echo_run(run if several else "", of_run)
        _echo_account(found, estimates, count_lines(counts))


def _echo_run(title: str, estimates: Sequence["Estimate"]) -> None:
    echo_records(short_rows(estimates), format="table", title=title)
    click.echo()
    if bounds := bound_rows(estimates):
        click.echo("The same mean, were the missing labels of retrieved documents known:")
        echo_records(bounds, format="table")
        click.echo()


def _echo_account(found: "Assessment", estimates: Sequence["Estimate"], more: Sequence[str]) -> None:
    """What was counted, and what the columns mean, in lines of at most 80 columns."""
    from ragauge.measures import account

    lines = [*account(found.prepared, found.n_queries), *more]
    if any(estimate.n_tied for estimate in estimates):
        lines.append(
            f"tied: queries with equal scores and different labels in the top K; {TIES[found.prepared.policies.ties]}."
        )
    if not all(isnan(estimate.attainable) for estimate in estimates):
        lines.append("max: the largest mean these labels allow.")
    for line in lines:
        click.echo(click.wrap_text(line, 80, subsequent_indent="  "))


def _json(found: "Assessment", measures: list[dict[str, Any]]) -> dict[str, Any]:
    prepared = found.prepared
    return {
        "n_queries": found.n_queries,
        "measures": measures,
        "policies": asdict(prepared.policies),
        "coverage": [asdict(run) for run in prepared.runs],
        "changes": asdict(prepared.changes),
    }


def csv_rows(estimates: Sequence["Estimate"]) -> list[dict[str, Any]]:
    """Estimates as rows of a CSV file; bounds only where there are some."""
    keys = ["measure", "mean", "low", "high", "n", "n_undefined", "judged", "n_tied", "attainable"]
    if bound_rows(estimates):
        keys += ["bound_low", "bound_high"]
    return [{key: getattr(estimate, key) for key in keys} for estimate in estimates]


def short_rows(estimates: Sequence["Estimate"]) -> list[dict[str, Any]]:
    """Estimates as rows that fit 80 columns; tied and max only where there is something to say."""
    columns: dict[str, list[Any]] = {
        "measure": [each.measure for each in estimates],
        "mean": [each.mean for each in estimates],
        "low": [_known(each.low) for each in estimates],
        "high": [_known(each.high) for each in estimates],
        "n": [each.n for each in estimates],
        "undef": [each.n_undefined for each in estimates],
        "judged": [_known(each.judged) for each in estimates],
        "tied": [each.n_tied for each in estimates],
        "max": [_known(each.attainable) for each in estimates],
    }
    shown = {name: column for name, column in columns.items() if name not in ("tied", "max") or any(column)}
    return [dict(zip(shown, row, strict=True)) for row in zip(*shown.values(), strict=True)]


def bound_rows(estimates: Sequence["Estimate"]) -> list[dict[str, Any]]:
    """The bounds of those that have some."""
    return [
        {"measure": each.measure, "worst": each.bound_low, "mean": each.mean, "best": each.bound_high}
        for each in estimates
        if not isnan(each.bound_low)
    ]


def _known(value: float) -> float | None:
    return None if isnan(value) else value
