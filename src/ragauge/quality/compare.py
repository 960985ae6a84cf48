"""Which retriever is better: each against one baseline, on the same queries, all tests corrected together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from math import isnan
from typing import TypedDict, Unpack

import pyarrow as pa

from ragauge.errors import InputError
from ragauge.measures import Measure
from ragauge.quality.systems import Scored, Systems, cluster_of, pairs, score_systems
from ragauge.results import Comparison
from ragauge.stats import holm, paired_comparison
from ragauge.stats.paired import Alternative

__all__ = ["UNEQUAL_JUDGED", "Compared", "compare_scored", "compare_systems", "comparison_warnings"]

UNEQUAL_JUDGED = 0.05
"""Judged shares of two systems that differ by more than this are worth a warning."""


class Options(TypedDict, total=False):
    """Options of `ragauge.stats.paired_comparison`, handed on as they are."""

    level: float
    alternative: Alternative
    resamples: int
    seed: int
    power: float
    wanted: float | None


@dataclass(frozen=True)
class Compared:
    """What `compare_systems` found.

    Attributes:
        comparisons: One a measure and system, measure by measure.
        baseline: Scores of the baseline.
        systems: Scores of the others.
    """

    comparisons: tuple[Comparison, ...]
    baseline: Scored
    systems: tuple[Scored, ...]

    def per_query(self) -> pa.Table:
        """One row a (measure, system, query): both values and their difference, NaN where undefined."""
        tables = []
        for one, system in zip(self.comparisons, cycle(self.systems), strict=False):
            found = pairs(self.baseline, system, one.measure)
            keys = {"measure": one.measure, "baseline": one.baseline, "system": one.system}
            values = {
                "query_id": pa.array(found.query_ids, pa.string()),
                "baseline_value": found.baseline,
                "system_value": found.system,
                "difference": found.system - found.baseline,
            }
            n = len(found.query_ids)
            tables.append(pa.table({key: pa.repeat(value, n) for key, value in keys.items()} | values))
        return pa.concat_tables(tables)


def compare_systems(
    systems: Systems,
    measures: Sequence[Measure],
    *,
    baseline: str | None = None,
    clusters: Mapping[str, str] | None = None,
    **options: Unpack[Options],
) -> Compared:
    """Every run against one baseline, by every measure, with p values that are corrected for the number of tests.

    Args:
        systems: From `judge_systems`; at least two runs.
        measures: What to compare by.
        baseline: Name of the run that the others are compared with; None = the first.
        clusters: Query id -> what it belongs to (a user, a conversation); None = each query is on its own.
        **options: level, alternative, resamples, seed, power, wanted: see `ragauge.stats.paired_comparison`.

    Returns:
        The comparisons, with Holm's correction over measures x systems in `p_holm`.

    Raises:
        InputError: Fewer than two runs, no run of that name, a query that belongs to nothing, or a bad option.
        MeasureError: No measure, or one that needs the pool while no query has one.
    """
    first, *others = _baseline_first(score_systems(systems, measures), baseline)
    names = list(dict.fromkeys(str(measure) for measure in measures))
    found = [compare_scored(first, one, name, clusters=clusters, **options) for name in names for one in others]
    corrected = holm([one.p for one in found]).tolist()
    comparisons = tuple(replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True))
    return Compared(comparisons, first, tuple(others))


def compare_scored(
    baseline: Scored,
    system: Scored,
    measure: str,
    *,
    clusters: Mapping[str, str] | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """One measure of two systems, from scores that are there already; `p_holm` is that of a single test.

    Raises:
        InputError: A system has no such column, a query belongs to nothing, or a bad option.
    """
    paired = pairs(baseline, system, measure)
    found = paired_comparison(
        paired.baseline,
        paired.system,
        measure=measure,
        clusters=None if clusters is None else cluster_of(paired.query_ids, clusters),
        **options,
    )
    return replace(
        found,
        p_holm=found.p,
        baseline=baseline.name,
        system=system.name,
        judged_baseline=baseline.judged.get(measure, float("nan")),
        judged_system=system.judged.get(measure, float("nan")),
        n_missing_baseline=baseline.n_missing,
        n_missing_system=system.n_missing,
    )


def comparison_warnings(comparisons: Sequence[Comparison]) -> list[str]:
    """What to know before believing the comparisons: shares judged that differ, queries without a ranking."""
    found: dict[str, None] = {}
    for one in comparisons:
        for name, n in ((one.baseline, one.n_missing_baseline), (one.system, one.n_missing_system)):
            if n:
                found[f"{name} has no ranking for {n} {'query' if n == 1 else 'queries'}; see --missing."] = None
        if isnan(one.difference):
            found[f"{one.measure} of {one.system} against {one.baseline}: {one.reason}."] = None
        elif _lowest_p(one) * len(comparisons) > 1 - one.level and one.wins + one.losses:
            found[
                f"{one.measure} of {one.system} differs on {one.wins + one.losses} queries: with so few, p cannot fall "
                f"below {_lowest_p(one):.3g}, and no difference would be significant among {len(comparisons)} tests."
            ] = None
    return [*found, *(_unequal(one) for one in _most_unequal(comparisons))]


def _lowest_p(one: Comparison) -> float:
    """All differences on one side: one sign pattern of 2^n, or two."""
    n = min(one.wins + one.losses, one.n_clusters)
    return float((2 if one.alternative == "two-sided" else 1) * 0.5**n)


def _most_unequal(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Of each pair of systems whose shares of judged documents differ, the measure by which they differ most."""
    found: dict[tuple[str, str], Comparison] = {}
    for one in sorted(comparisons, key=_gap):
        if _gap(one) > UNEQUAL_JUDGED:
            found[one.baseline, one.system] = one
    return list(found.values())


def _gap(one: Comparison) -> float:
    """Difference of the shares of judged documents; 0 where one is not known."""
    gap = abs(one.judged_system - one.judged_baseline)
    return 0.0 if isnan(gap) else gap


def _unequal(one: Comparison) -> str:
    return (
        f"{one.judged_baseline:.0%} of what {one.baseline} returned is judged, and {one.judged_system:.0%} of what "
        f"{one.system} returned ({one.measure}). What is unjudged does not count as relevant: the system with fewer "
        "labels may be better than it looks."
    )


def _baseline_first(scored: Sequence[Scored], name: str | None) -> list[Scored]:
    names = [one.name for one in scored]
    if len(names) < 2:
        raise InputError(f"a comparison needs two runs or more, got {', '.join(names) or 'none'}")
    if name is not None and name not in names:
        raise InputError(f"no run {name!r} to compare with; found: {', '.join(names)}")
    first = 0 if name is None else names.index(name)
    return [scored[first], *scored[:first], *scored[first + 1 :]]
