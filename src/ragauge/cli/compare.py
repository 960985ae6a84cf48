"""`ragauge compare`: retrievers against a baseline, on the same queries."""

from dataclasses import asdict
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.given import read_given
from ragauge.cli.number_options import NumberIn, level_option, rel_option
from ragauge.cli.policy_options import policies_line, policy_options
from ragauge.cli.reading import input_format_option, labels_option, nothing_judged, refuse_designs
from ragauge.cli.terminal import (
    TABLE_FILE,
    OutFile,
    echo_json,
    echo_records,
    note,
    quiet_option,
    seed_option,
    write_text,
)

if TYPE_CHECKING:
    from ragauge.measures import Policies
    from ragauge.quality.compare import Compared
    from ragauge.results import Comparison
    from ragauge.stats.paired import Alternative

LEGEND = """\
p      corrected for all tests above (Holm)
judged share of the documents that are judged: baseline's, system's
sees   the true change that so many queries find four times in five
needs  queries that find the change above (or that of --detect) as often"""


@click.command("compare")
@click.argument("rankings", nargs=-1, required=True, type=click.Path(path_type=Path))
@labels_option
@click.option("-m", "--measure", "names", multiple=True, help='Such as "T(alpha=0.3)@10"; may be given many times.')
@click.option("--baseline", help="Name of the run to compare with. Default: the first one.")
@rel_option
@policy_options
@click.option("--cluster", type=click.Path(path_type=Path), help="File: query_id, and what the query belongs to.")
@click.option("--cluster-by", help="Column of that file, such as session_id, if it has several.")
@level_option
@click.option(
    "--alternative",
    type=click.Choice(["two-sided", "greater", "less"]),
    default="two-sided",
    help="What p is about: systems differ, or do better, or worse, than the baseline.",
)
@click.option(
    "--detect",
    type=NumberIn(0, min_open=True),
    help="Say how many queries it takes to find a difference of this size.",
)
@click.option("--resamples", type=click.IntRange(1), default=10_000, show_default=True, help="Random sign patterns.")
@seed_option("Of the sign patterns.")
@click.option("--per-query", type=TABLE_FILE, help="Write each query's values (.parquet .csv .jsonl).")
@click.option("--html", type=OutFile(), help="Write a report with pictures to this file.")
@input_format_option
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def compare_command(
    rankings: tuple[Path, ...],
    labels: Path | None,
    names: tuple[str, ...],
    baseline: str | None,
    rel: float | None,
    cluster: Path | None,
    cluster_by: str | None,
    level: float,
    alternative: "Alternative",
    detect: float | None,
    resamples: int,
    seed: int,
    per_query: Path | None,
    html: Path | None,
    input_format: str | None,
    format: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Compare the runs in RANKINGS; the first one is the baseline.

    Differences are of means over the same queries; p is of a test that flips the sign of each query's difference,
    corrected (Holm) for all tests of the call.

    \b
    Examples:
      ragauge compare bm25.run dense.run --labels qrels.txt -m P@10
      ragauge compare labelled_a.jsonl labelled_b.jsonl --html compare.html
    """
    from ragauge.io import read_clusters, write_table
    from ragauge.quality.compare import compare_systems, comparison_warnings
    from ragauge.quality.systems import judge_systems

    refuse_designs(rankings, labels)
    given = read_given(rankings, labels, rel, input_format, chosen, quiet=quiet)
    measures = given.measures(names, compat=chosen["compat"])
    systems = judge_systems(given.table, given.labels, given.policies, rel=given.threshold)
    if told := nothing_judged(systems.judged, rankings[0], labels):
        note(f"Warning: {told}", quiet=quiet)
    found = compare_systems(
        systems,
        measures,
        baseline=baseline,
        clusters=read_clusters(cluster, cluster_by) if cluster else None,
        level=level,
        alternative=alternative,
        resamples=resamples,
        seed=seed,
        wanted=detect,
    )
    for warning in comparison_warnings(found.comparisons):
        note(f"Warning: {warning}", quiet=quiet)
    if per_query:
        write_table(found.per_query(), per_query)
        note(f"Each query's values: {per_query}", quiet=quiet)
    if html:
        from ragauge.report import comparison_report

        write_text(html, comparison_report(title=f"{found.baseline.name} against others", found=found))
        note(f"Report: {html}", quiet=quiet)
    echo_comparisons(found, policies=given.policies, told=policies_line(chosen), format=format)


def echo_comparisons(found: "Compared", *, policies: "Policies", told: str, format: str) -> None:
    """The comparisons on stdout, a table a measure, and what is told of the policies."""
    if format == "json":
        names = [system.name for system in found.systems]
        comparisons = [asdict(one) for one in found.comparisons]
        n_queries = max(one.n + one.n_undefined for one in found.comparisons)
        head = {"n_queries": n_queries, "baseline": found.baseline.name, "systems": names}
        echo_json(head | {"policies": asdict(policies), "comparisons": comparisons})
    elif format == "csv":
        echo_records([asdict(one) for one in found.comparisons], format="csv")
    else:
        for measure in dict.fromkeys(one.measure for one in found.comparisons):
            own = [one for one in found.comparisons if one.measure == measure]
            title = f"{measure}   baseline {found.baseline.name}: {own[0].mean_baseline:.3f}"
            echo_records([_result(one) for one in own], format="table", title=title)
            click.echo()
        rows = [_ground(one) for one in found.comparisons]
        for earlier, row in reversed(list(pairwise(rows))):
            row["measure"] = "" if row["measure"] == earlier["measure"] else row["measure"]
        echo_records(rows, format="table", title="What this rests on")
        click.echo(f"\n{LEGEND}")
        if told:
            click.echo("\n" + click.wrap_text(told, 80, subsequent_indent="  "))


def _result(one: "Comparison") -> dict[str, Any]:
    interval = one.reason if isnan(one.low) else f"{_signed(one.low)} to {_signed(one.high)}"
    return {
        "system": one.system,
        "mean": one.mean_system,
        "change": _signed(one.difference),
        f"{100 * one.level:g} % interval": interval,
        "p": "" if isnan(one.p_holm) else "<0.001" if one.p_holm < 0.001 else f"{one.p_holm:.3f}",
        "won/tied/lost": f"{one.wins}/{one.ties}/{one.losses}",
    }


def _ground(one: "Comparison") -> dict[str, Any]:
    return {
        "measure": one.measure,
        "system": one.system,
        "n": one.n,
        "undef.": one.n_undefined,
        "judged": f"{_percent(one.judged_baseline)}, {_percent(one.judged_system)}",
        "sees": one.detectable,
        "needs": "" if isnan(one.n_needed) else f"{one.n_needed:.0f}",
    }


def _signed(value: float) -> str:
    return "undefined" if isnan(value) else f"{value:+.3f}"


def _percent(share: float) -> str:
    return "?" if isnan(share) else f"{share:.0%}"
