"""Means from rankings of which a label design drew some documents: each design's own estimator, or a refusal.

One idea: P, T, n_p and n_n are sums over documents. So the mean over queries of such a measure can be estimated from a
few random documents of each, weighted by what they stand for; scored as if the others were not relevant it would be
far too low. nDCG, R, F, RR and the like are no such sums: they are refused, and not computed from what there is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError, MeasureError
from ragauge.measures import Measure
from ragauge.ragged import Ragged, from_labels, head
from ragauge.results import Estimate
from ragauge.schema import DRAWN, conform
from ragauge.stats import confidence_sequence, mean_interval, pair_sample_mean, two_stage_mean

__all__ = ["DESIGNS", "DOCUMENT_MEANS", "document_values", "estimate_by_design"]

Floats = npt.NDArray[np.float64]

DOCUMENT_MEANS = ("P", "T", "n_p", "n_n")
"""Measures that every design can estimate: all documents of the top K count alike in them."""

DESIGNS = {
    "one-per-query": "one random document of the top {k} of each query was labelled, and stands for the others",
    "two-per-query": "two random documents of the top {k} of each query were labelled, and stand for the others",
    "stratified": "documents of the top {k} were drawn from strata by score, over all queries",
    "until": "queries in random order, as many as a pilot asked for; interval by Stein's two stages",
    "until-anytime": "queries in random order until the interval was narrow enough; a confidence sequence",
}
"""Design -> what the report says of it."""


def estimate_by_design(
    judged: pa.Table, drawn: pa.Table, measures: Sequence[Measure], *, level: float = 0.95
) -> Mapping[str, tuple[Estimate, ...]]:
    """The mean of each measure and its interval, as the design asks for.

    "one-per-query" and "two-per-query": (documents / drawn) * sum of what the drawn add, query by query, then
    `stats.mean_interval`. "stratified": `stats.pair_sample_mean`. "until": `stats.two_stage_mean`; "until-anytime": the
    last interval of `stats.confidence_sequence`. A drawn document that the judge could not label is left out, as if it
    had not been drawn; a query with none left is undefined, and counted.

    Args:
        judged: `schema.JUDGED` or `schema.RANKINGS` with labels, in the order they were drawn from.
        drawn: `schema.DRAWN` of the same rankings.
        measures: P, T, n_p or n_n, at the design's cutoff.
        level: Confidence level of the intervals.

    Returns:
        Run -> one estimate a measure; `method` is the design's name.

    Raises:
        InputError: The design is not that of these rankings, or a stratum has no label left.
        MeasureError: A measure that the design cannot give; the message says which can.

    >>> from ragauge import parse_measure, read_labels, read_rankings
    >>> from ragauge.quality.designs import draw_design
    >>> from ragauge.measures import judge
    >>> ranking = read_rankings({"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 2.0, "d": 1.0}})
    >>> drawn = draw_design(ranking, cutoff=2)
    >>> drawn.column("drawn").to_pylist()
    [[False, True], [False, True]]
    >>> found = judge(ranking, read_labels({"q1": {"b": 1}, "q2": {"d": 0}}), complete="unknown")
    >>> for (estimate,) in estimate_by_design(found, drawn, [parse_measure("P@2")]).values():
    ...     estimate.mean, estimate.judged
    (0.5, 0.5)
    """
    plan = conform(drawn, DRAWN, what="label design")
    _check(judged, plan, measures)
    runs = plan.column("run")
    found = {}
    for run in runs.unique().to_pylist():
        rows = pc.equal(runs, run)
        mine, of_run = judged.filter(rows), plan.filter(rows)
        found[run] = tuple(_estimate(mine, of_run, measure, level) for measure in measures)
    return found


def document_values(judged: pa.Table, drawn: Sequence[Sequence[bool]], measure: Measure) -> Floats:
    """The value of each query as its drawn documents estimate it: (documents / labelled) * sum of what these add.

    Unbiased for P, T, n_p and n_n, whose value is a sum over documents. 0 for an empty ranking; NaN where documents
    were retrieved and none of the drawn ones has a label.
    """
    labels = head(from_labels(judged.column("labels")), measure.cutoff)
    chosen = _flat(drawn) & labels.valid
    query = np.repeat(np.arange(labels.n_rows), labels.lengths)
    n_drawn = np.bincount(query[chosen], minlength=labels.n_rows)
    total = np.bincount(query[chosen], weights=_contributions(labels.values[chosen], measure), minlength=labels.n_rows)
    weight = np.divide(labels.lengths, n_drawn, out=np.full(labels.n_rows, nan), where=n_drawn > 0)
    return np.where(labels.lengths == 0, 0.0, weight * total)


def _estimate(judged: pa.Table, drawn: pa.Table, measure: Measure, level: float) -> Estimate:
    design = drawn.column("design")[0].as_py()
    marks = drawn.column("drawn").to_pylist()
    labels = head(from_labels(judged.column("labels")), measure.cutoff)
    share = float((_flat(marks) & labels.valid).sum() / max(1, len(labels.values)))
    values = document_values(judged, marks, measure)
    name, bounds = str(measure), measure.bounds
    if design == "stratified":
        found = _of_strata(labels, drawn, measure, level)
    elif design == "until":
        n_pilot = drawn.column("n_pilot")[0].as_py()
        ordered = _by_turn(values, drawn)
        found = two_stage_mean(ordered, n_pilot=n_pilot, measure=name, bounds=bounds, level=level)
    elif design == "until-anytime":
        found = _last_of_sequence(_by_turn(values, drawn), measure, level)
    else:
        found = mean_interval(values, measure=name, bounds=bounds, level=level)
    return replace(found, method=design, judged=share)


def _of_strata(labels: Ragged, drawn: pa.Table, measure: Measure, level: float) -> Estimate:
    strata = pc.list_flatten(drawn.column("strata"))
    names = pc.unique(strata)
    stratum = pc.index_in(strata, value_set=names).to_numpy().astype(np.int64)
    query = np.repeat(np.arange(labels.n_rows), labels.lengths)
    sizes = np.bincount(query * len(names) + stratum, minlength=labels.n_rows * len(names))
    chosen = _flat(drawn.column("drawn").to_pylist()) & labels.valid
    return pair_sample_mean(
        _contributions(labels.values[chosen], measure),
        query[chosen],
        stratum[chosen],
        sizes.reshape(labels.n_rows, len(names)),
        measure=str(measure),
        bounds=measure.bounds,
        level=level,
    )


def _by_turn(values: Floats, drawn: pa.Table) -> Floats:
    """The values of the queries whose turn came, in its order; the others are not in the sample."""
    turn = np.array([nan if turn is None else turn for turn in drawn.column("turn").to_pylist()])
    reached = np.flatnonzero(~np.isnan(turn))
    return values[reached[np.argsort(turn[reached], kind="stable")]]


def _last_of_sequence(values: Floats, measure: Measure, level: float) -> Estimate:
    """The whole range where nothing was labelled."""
    known = values[~np.isnan(values)]
    found = confidence_sequence(known, bounds=measure.bounds, method="bernstein", level=level)
    mean, low, high = (
        (float(found.mean[-1]), float(found.low[-1]), float(found.high[-1])) if len(known) else (nan, *measure.bounds)
    )
    return Estimate(str(measure), mean, low, high, level, len(known), len(values) - len(known), nan, "until-anytime")


def _contributions(labels: Floats, measure: Measure) -> Floats:
    """What each document adds to the value of its query: the measure of a ranking that holds it alone."""
    n = len(labels)
    alone = Ragged(labels, np.arange(n + 1), np.ones(n, dtype=np.bool_))
    return measure.values(alone, Ragged(np.zeros(0), np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.bool_)))


def _flat(marks: Sequence[Sequence[bool]]) -> npt.NDArray[np.bool_]:
    return np.array([mark for row in marks for mark in row], dtype=np.bool_)


def _check(judged: pa.Table, drawn: pa.Table, measures: Sequence[Measure]) -> None:
    same = all(judged.column(name).to_pylist() == drawn.column(name).to_pylist() for name in ("query_id", "run"))
    designs, cutoffs = (drawn.column(name).unique().to_pylist() for name in ("design", "cutoff"))
    if not same or len(designs) != 1 or len(cutoffs) != 1 or designs[0] not in DESIGNS:
        raise InputError("the label design is not that of these rankings: score the file that ragauge label wrote")
    design, cutoff = designs[0], cutoffs[0]
    lengths = [min(cutoff, len(ids)) for ids in judged.column("doc_ids").to_pylist()]
    if lengths != [len(row) for row in drawn.column("drawn").to_pylist()]:
        raise InputError("the rankings are longer or shorter than when the label design was drawn")
    for measure in measures:
        if measure.name not in DOCUMENT_MEANS or measure.cutoff != cutoff:
            what = DESIGNS[design].format(k=cutoff)
            names = ", ".join(f"{name}@{cutoff}" for name in DOCUMENT_MEANS)
            raise MeasureError(f"{measure} cannot be estimated: {what} (design {design}); ask for one of {names}")
