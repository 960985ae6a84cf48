"""From judged rankings to estimates: every measure, its mean over queries, and how sure we are of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.measures import Measure, attainable_values, judged_share, score, tied_rankings
from ragauge.measures.policies import DEFAULTS, Policies
from ragauge.measures.prepare import Prepared, policy_bounds, policy_scores, prepare
from ragauge.results import Estimate
from ragauge.stats import mean_interval

__all__ = ["Assessment", "assess", "assess_prepared", "at_level", "estimates", "evaluate", "labels_are_probabilities"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Assessment:
    """How good each run is, and all that it was computed from.

    Attributes:
        estimates: Run -> one estimate a measure, in the order given.
        scores: One row a ranking that counts: query_id, run, a column a measure, and with unjudged="bounds" the columns
            "low MEASURE" and "high MEASURE".
        prepared: The rankings with their labels, and what the policies did.
        n_queries: Queries that have a row.
    """

    estimates: Mapping[str, tuple[Estimate, ...]]
    scores: pa.Table
    prepared: Prepared
    n_queries: int


def assess(
    rankings: pa.Table,
    labels: pa.Table | None,
    measures: Sequence[Measure],
    policies: Policies = DEFAULTS,
    *,
    rel: float = 1.0,
    max_label: float | None = None,
    level: float = 0.95,
) -> Assessment:
    """Rankings of any number of runs, scored by the policies: what `ragauge score` prints.

    Args:
        rankings: `schema.RANKINGS`.
        labels: `schema.LABELS`; None = those inside the rankings.
        measures: What to compute. Levels stand in the measures (`at_level`).
        policies: What to do where the data leave a choice.
        rel: From which label on a query has something relevant, for the policy no_relevant.
        max_label: Top of the label scale, for unjudged="bounds"; None = the highest label there is, at least 1.
        level: Confidence level of the intervals.

    Raises:
        InputError: What a policy refuses, or what `judge` and `score` refuse.
        MeasureError: A measure needs N_p, and the labels do not tell it.
        SchemaError: A table is not what its name promises.

    >>> from ragauge import parse_measure, read_labels, read_rankings
    >>> labels = read_labels({"q1": {"a": 1}, "q2": {"b": 1}})
    >>> found = assess(read_rankings({"q1": {"a": 0.9}}), labels, [parse_measure("P@1")])
    >>> [(estimate.mean, estimate.n) for (estimate,) in found.estimates.values()]
    [(0.5, 2)]
    """
    return assess_prepared(prepare(rankings, labels, policies, rel=rel), measures, max_label=max_label, level=level)


def assess_prepared(
    prepared: Prepared, measures: Sequence[Measure], *, max_label: float | None = None, level: float = 0.95
) -> Assessment:
    """The same from rankings and labels that the policies were applied to (`measures.prepare`)."""
    measures = list(dict.fromkeys(measures))
    scores = policy_scores(prepared, measures)
    if prepared.policies.unjudged == "bounds":
        bounds = policy_bounds(prepared, scores, measures, max_label=max_label)
        for word, table in (("low", bounds.low), ("high", bounds.high)):
            for measure in measures:
                scores = scores.append_column(f"{word} {measure}", table.column(str(measure)))
    found = {
        run: tuple(_estimate(*rows, measure, level) for measure in measures)
        for run, rows in _by_run(prepared, scores).items()
    }
    return Assessment(found, scores, prepared, pc.count_distinct(scores.column("query_id")).as_py())


def _by_run(prepared: Prepared, scores: pa.Table) -> dict[str, tuple[pa.Table, pa.Table, pa.Table]]:
    """The judged, the scored and the score rows of each run."""
    runs = scores.column("run").unique().to_pylist()
    tables = (prepared.judged, prepared.scored, scores)
    if len(runs) == 1:
        return {runs[0]: tables}
    masks = {run: pc.equal(scores.column("run"), run) for run in runs}
    return {run: tuple(table.filter(mask) for table in tables) for run, mask in masks.items()}


def evaluate(judged: pa.Table, measures: Sequence[Measure], *, level: float = 0.95) -> list[Estimate]:
    """The mean of each measure over the rankings, with an interval over queries.

    Args:
        judged: `schema.JUDGED`, the rankings of one run.
        measures: What to compute.
        level: Confidence level of the intervals, 0..1.

    Returns:
        One estimate a measure, in the order given.

    Raises:
        MeasureError: A measure needs N_p, and the labels do not tell it.
    """
    return estimates(judged, score(judged, measures), measures, level=level)


def estimates(
    judged: pa.Table, scores: pa.Table, measures: Sequence[Measure], *, level: float = 0.95
) -> list[Estimate]:
    """The same from scores that are already there (`measures.score` of the same rankings)."""
    return [_estimate(judged, judged, scores, measure, level) for measure in measures]


def _estimate(judged: pa.Table, scored: pa.Table, scores: pa.Table, measure: Measure, level: float) -> Estimate:
    """One measure of one run, computed from `scored`; the share of judged documents is counted in `judged`."""
    values = scores.column(str(measure)).to_numpy()
    name = str(measure)
    mean = mean_interval(values, measure=name, bounds=measure.bounds, level=level, judged=judged_share(judged, measure))
    return replace(
        mean,
        n_tied=int(tied_rankings(scored, measure).sum()),
        attainable=_attainable(scored, measure, values),
        bound_low=_mean_bound(scores, f"low {name}", values),
        bound_high=_mean_bound(scores, f"high {name}", values),
    )


def _attainable(scored: pa.Table, measure: Measure, values: Floats) -> float:
    """The largest mean over the queries that have a value; NaN where each can reach the upper bound."""
    best = attainable_values(scored, measure)
    if best is None:
        return nan
    known = best[~np.isnan(best) & ~np.isnan(values)]
    return float(known.mean()) if known.size and known.mean() < measure.bounds[1] - 1e-12 else nan


def _mean_bound(scores: pa.Table, column: str, values: Floats) -> float:
    if column not in scores.column_names:
        return nan
    bound = scores.column(column).to_numpy()[~np.isnan(values)]
    return float(bound.mean()) if bound.size else nan


def labels_are_probabilities(table: pa.Table) -> bool:
    """Whether all labels lie in 0..1 and some strictly between: P(relevant), not grades.

    Args:
        table: `schema.LABELS`, or rankings with labels inside.
    """
    inside = "labels" in table.column_names
    labels = pc.drop_null(pc.list_flatten(table.column("labels")) if inside else table.column("label"))
    labels = labels.filter(pc.greater_equal(labels, 0))
    if not len(labels):
        return False
    allowed = pc.and_(pc.greater_equal(labels, 0), pc.less_equal(labels, 1))
    between = pc.and_(pc.greater(labels, 0), pc.less(labels, 1))
    return bool(pc.all(allowed).as_py() and pc.any(between).as_py())


def at_level(measure: Measure, rel: float) -> Measure:
    """The measure with `rel` as the label that counts as relevant, unless it names another one or has no such level."""
    values = dict(measure.parameters)
    default = {parameter.name: parameter.default for parameter in measure.definition.parameters}.get("rel")
    if not measure.uses_rel or values["rel"] != default:
        return measure
    return replace(measure, parameters=tuple((values | {"rel": rel}).items()))
