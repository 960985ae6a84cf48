"""`ragauge score`: rankings and labels in, one row a measure out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.canaries import canaries_beside
from ragauge.cli.design_options import score_designed
from ragauge.cli.given import Given, read_given
from ragauge.cli.number_options import NUMBER, level_option, rel_option
from ragauge.cli.policy_options import policy_options
from ragauge.cli.reading import input_format_option, labels_option, nothing_judged, refuse_designs
from ragauge.cli.relevant_options import OWN_LISTS, count_lines, relevant_options, uses_own_lists
from ragauge.cli.terminal import TABLE_FILE, OutFile, echo_json, echo_records, note, quiet_option, write_text

if TYPE_CHECKING:
    from ragauge.llm import CanaryResult
    from ragauge.measures import Measure
    from ragauge.quality.counted import Counted
    from ragauge.quality.evaluate import Assessment
    from ragauge.results import Estimate, RelevantCount

    Counts = Mapping[tuple[str, str], RelevantCount]

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
@rel_option
@click.option("--max-label", type=NUMBER, help="Top of the label scale, for --unjudged bounds. Default: the highest.")
@level_option
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

    given = read_given(rankings, labels, rel, input_format, chosen, quiet=quiet)
    if labels is None and _is_designed(rankings):
        asked = {"--per-query": per_query, "--html": html, "--unjudged": chosen["unjudged"]}
        asked |= {"--compat": chosen["compat"], "--relevant-count": chosen["relevant_count"]}
        refused = {option: value is not None for option, value in asked.items()}
        score_designed(given.table, rankings[0], names, rel=given.rel, level=level, format=format, refused=refused)
        return
    measures = given.measures(names, counted=chosen["relevant_count"], compat=chosen["compat"])
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
        canaries = canaries_beside([labels] if labels else rankings, cut=given.threshold, quiet=quiet)
        _write_report(html, rankings, found, given.threshold, count_lines(counts), canaries)
        note(f"Report: {html}", quiet=quiet)
    _echo(found, format, counts)


def _is_designed(rankings: Sequence[Path]) -> bool:
    """Whether a design drew the labels inside the one file; several such files are refused."""
    from ragauge.io import design_of_file

    if len(rankings) > 1:
        refuse_designs(rankings, None)
    return len(rankings) == 1 and bool(design_of_file(rankings[0]))


def _assessed(
    given: Given, measures: Sequence["Measure"], chosen: Mapping[str, Any], *, max_label: float | None, level: float
) -> "Counted":
    """By known labels, or with an estimated number of relevant documents."""
    from ragauge.quality.counted import Counted, assess_counted
    from ragauge.quality.evaluate import assess

    if estimator := chosen["relevant_count"]:
        options = {"estimator": estimator, "plan": given.plan, "seed": chosen["seed"]}
        return assess_counted(given.table, given.labels, measures, given.policies, level=level, **options)
    options = {"rel": given.threshold, "max_label": max_label, "level": level}
    return Counted(assess(given.table, given.labels, measures, given.policies, **options))


def _write_report(
    path: Path,
    files: Sequence[Path],
    found: "Assessment",
    rel: float,
    notes: Sequence[str],
    canaries: "Mapping[str, Sequence[CanaryResult]]",
) -> None:
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
        canaries=canaries,
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
