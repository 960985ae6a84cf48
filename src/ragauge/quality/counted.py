"""Rankings scored where nobody knows how many relevant documents there are: R, F and nDCG by an estimate of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError, MeasureError
from ragauge.measures import COUNTED, Measure, Policies, Prepared, counted_values, judged_share, tied_rankings
from ragauge.quality.evaluate import Assessment, assess_prepared
from ragauge.quality.label_plan import estimator_of, with_labels
from ragauge.quality.relevant import RelevantCounts, count_relevant, labels_of_plan
from ragauge.quality.systems import judge_systems
from ragauge.ragged import from_labels
from ragauge.results import Estimate, RelevantCount
from ragauge.stats import CountDraws, drawn_mean

__all__ = ["Counted", "assess_counted"]

Floats = npt.NDArray[np.float64]

DEFAULTS = Policies()


@dataclass(frozen=True)
class Counted:
    """Measures of which some rest on an estimated number of relevant documents.

    Attributes:
        assessment: As `evaluate.assess` gives it; an estimated measure is named "R@10 (N_p: 2K x c)".
        records: The numbers themselves: (measure, run or "" for all runs) -> record.
    """

    assessment: Assessment
    records: Mapping[tuple[str, str], RelevantCount] = field(default_factory=dict)


def assess_counted(
    rankings: pa.Table,
    labels: pa.Table | None,
    measures: Sequence[Measure],
    policies: Policies = DEFAULTS,
    *,
    estimator: str,
    plan: pa.Table | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Counted:
    """Rankings of any number of runs, scored; R, F and nDCG by an estimated number of relevant documents.

    Their interval is that of `stats.drawn_mean`: it holds the choice of queries and the estimator's own error, not its
    bias (a lower bound stays one). Other measures are what `evaluate.assess` makes of them.

    Args:
        rankings: `schema.RANKINGS`.
        labels: `schema.LABELS`; None = those inside the plan, or without a plan those inside the rankings.
        measures: What to compute; the level `rel` of each says which labels are relevant.
        policies: What to do where the data leave a choice; not unjudged="bounds", ties="expected" or another
            no_relevant than "undefined": nobody knows which queries have nothing relevant.
        estimator: A name of `label_plan.ESTIMATORS`.
        plan: `schema.LABEL_PLAN`, for the estimators that draw.
        level: Confidence level of the intervals.
        seed: Of the replicates.

    Raises:
        InputError: An unknown estimator, a plan that is missing or was made for another one, or a policy.
        MeasureError: No measure needs N_p, or one needs more of the unseen documents than their number.

    >>> from ragauge import parse_measure, read_labels, read_rankings
    >>> rankings = read_rankings({"q1": {"a": 0.9, "b": 0.5}})
    >>> labels = read_labels({"q1": {"a": 1, "b": 0, "c": 1}})
    >>> found = assess_counted(rankings, labels, [parse_measure("R@1")], estimator="union")
    >>> [(estimate.measure, estimate.mean) for (estimate,) in found.assessment.estimates.values()]
    [('R@1 (N_p: union)', 0.5)]
    """
    if policies.ties == "expected" or policies.no_relevant != "undefined" or policies.unjudged == "bounds":
        raise InputError(
            "an estimated N_p needs ties=trec or ties=input, no_relevant=undefined, and unjudged=negative or skip"
        )
    title = estimator_of(estimator).title
    if plan is not None:
        labels = labels_of_plan(plan) if labels is None else labels
        plan = with_labels(plan, labels)
    prepared = judge_systems(rankings, labels, policies).prepared
    prepared = replace(prepared, changes=replace(prepared.changes, n_no_relevant=0))  # none found is not none there
    measures = list(dict.fromkeys(measures))
    estimated = [measure for measure in measures if measure.needs_pool and measure.name in COUNTED]
    plain = [measure for measure in measures if measure not in estimated]
    if not estimated:
        raise MeasureError(f"no measure needs N_p, so there is nothing to estimate; give one of {', '.join(COUNTED)}")
    ways = {measure: (measure.cutoff, float(dict(measure.parameters)["rel"])) for measure in estimated}
    counts = {
        (k, rel): count_relevant(prepared, estimator=estimator, cutoff=k, plan=plan, rel=rel, level=level, seed=seed)
        for k, rel in dict.fromkeys(ways.values())
    }
    found = assess_prepared(prepared, plain, level=level) if plain else _nothing(prepared)
    scores = found.scores
    estimates = {run: [replace(one, attainable=nan) for one in each] for run, each in found.estimates.items()}
    for measure in estimated:
        column = _counted(prepared, measure, counts[ways[measure]], f"{measure} (N_p: {title})", level)
        scores = scores.append_column(column.name, pa.array(column.values))
        for run, estimate in column.estimates.items():
            estimates[run].insert(measures.index(measure), estimate)
    assessment = replace(found, estimates={run: tuple(each) for run, each in estimates.items()}, scores=scores)
    records = {(str(each), run): one for each in estimated for run, one in counts[ways[each]].records.items()}
    return Counted(assessment, records)


@dataclass(frozen=True)
class _Column:
    """An estimated measure of each ranking, and its mean for each run."""

    name: str
    values: Floats
    estimates: Mapping[str, Estimate]


def _counted(prepared: Prepared, measure: Measure, counts: RelevantCounts, name: str, level: float) -> _Column:
    judged, scored = prepared.judged, prepared.scored
    values, estimates = np.full(judged.num_rows, nan), {}
    query_ids = pa.array(counts.query_ids, pa.string())
    for run, draws in counts.by_run.items():
        mask = pc.equal(judged.column("run"), run)
        mine = scored.filter(mask)
        at = pc.index_in(mine.column("query_id"), value_set=query_ids).to_numpy()
        own = CountDraws(draws.values[at], draws.draws[:, at], draws.weights[:, at], draws.factor, draws.reason)
        of_run = counted_values(measure, from_labels(mine.column("labels")), own.values)
        values[np.asarray(mask.to_numpy(), dtype=np.bool_)] = of_run
        estimate = _mean(measure, mine, of_run, own, name, level)
        estimates[run] = replace(estimate, judged=judged_share(judged.filter(mask), measure))
    return _Column(name, values, estimates)


def _mean(measure: Measure, scored: pa.Table, values: Floats, counts: CountDraws, name: str, level: float) -> Estimate:
    """The mean over the queries that have a value; its interval is that of the mean in the replicates."""
    labels, known = from_labels(scored.column("labels")), ~np.isnan(values)
    interval = drawn_mean(counted_values(measure, labels, counts.draws), counts, level=level)
    return Estimate(
        measure=name,
        mean=float(values[known].mean()) if known.any() else nan,
        low=interval.low,
        high=interval.high,
        level=level,
        n=int(known.sum()),
        n_undefined=int((~known).sum()),
        judged=nan,
        method="bootstrap",
        reason=interval.reason,
        n_tied=int(tied_rankings(scored, measure).sum()),
    )


def _nothing(prepared: Prepared) -> Assessment:
    """An assessment that waits for its measures."""
    keys = prepared.judged.select(["query_id", "run"])
    runs = pc.unique(keys.column("run")).to_pylist()
    n_queries = pc.count_distinct(keys.column("query_id")).as_py()
    return Assessment(dict.fromkeys(runs, ()), keys, prepared, n_queries)
