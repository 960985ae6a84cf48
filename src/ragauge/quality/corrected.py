"""A model's labels on every query, people's on a few: the mean of each measure, corrected, and differences of runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.measures import Measure, score
from ragauge.ragged import from_arrow, head, segment_sum
from ragauge.results import Corrected
from ragauge.stats.ppi import Target, corrected_difference, corrected_mean

__all__ = ["RunCorrected", "correct"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RunCorrected:
    """What was found for one run and measure, or for a difference of two.

    Attributes:
        run: The run's name, or "run - first run".
        estimate: The corrected mean.
        n_partly: Queries that people labelled only in part, down to where the measure reads; the model stands for them.
    """

    run: str
    estimate: Corrected
    n_partly: int


@dataclass(frozen=True)
class _Values:
    """One measure of one run: the query, its value by people (NaN = not labelled by them) and by the model."""

    query: list[str]
    human: Floats
    model: Floats
    n_partly: int
    n_undefined: int


def correct(
    model: pa.Table,
    human: pa.Table,
    measures: Sequence[Measure],
    *,
    human_measures: Sequence[Measure] | None = None,
    target: Target = "new",
    level: float = 0.95,
) -> list[RunCorrected]:
    """Each measure's mean by people's standards, from a model's labels on all queries and people's on a random few.

    A query counts as labelled by people when they labelled every document the measure reads, and it counts whole:
    people's labels of single documents are not used, as a query with half its labels is no random sample of anything.

    Args:
        model: `schema.JUDGED` with the model's labels, one or more runs.
        human: The same rankings in the same order with people's labels, null where they gave none (`measures.judge`
            with either file of labels gives both tables).
        measures: What to compute from the model's labels.
        human_measures: What to compute from people's, where `rel` differs; the same ones when not given.
        target: "new" or "these", see `stats.corrected_mean`.
        level: Confidence level of the intervals.

    Returns:
        For each run one record a measure; then for each run but the first one record a measure of what it is better
        than the first, over the queries both have.
        A measure that is undefined for a query people labelled has no estimate, and the reason says so: leaving such
        queries out would compare different queries by people and by model.

    Raises:
        InputError: The two tables do not hold the same rankings.
        MeasureError: A measure needs labels of documents that were not retrieved, and there are none.
    """
    for column in ("query_id", "run", "doc_ids"):
        if model.column(column).to_pylist() != human.column(column).to_pylist():
            raise InputError(f"model and human must be the same rankings in the same order; {column} differs")
    by_people = list(human_measures or measures)
    runs = pc.unique(model.column("run")).to_pylist()
    found, values = [], {}
    for run in runs:
        mask = pc.equal(model.column("run"), run)
        for place, one in enumerate(_of_run(model.filter(mask), human.filter(mask), measures, by_people)):
            values[run, place] = one
            found.append(RunCorrected(run, _mean(one, measures[place], target, level), one.n_partly))
    for run in runs[1:]:
        for place, measure in enumerate(measures):
            pair = values[run, place], values[runs[0], place]
            estimate = _difference(*pair, measure, target, level)
            found.append(RunCorrected(f"{run} - {runs[0]}", estimate, sum(one.n_partly for one in pair)))
    return found


def _of_run(
    model: pa.Table, human: pa.Table, measures: Sequence[Measure], by_people: Sequence[Measure]
) -> list[_Values]:
    scores, people = score(model, measures), score(human, by_people)
    query = model.column("query_id").to_pylist()
    found = []
    for measure, counterpart in zip(measures, by_people, strict=True):
        complete, some = _labelled(human, measure)
        y = people.column(str(counterpart)).to_numpy()
        f = scores.column(str(measure)).to_numpy()
        undefined = int((complete & np.isnan(y)).sum())
        found.append(_Values(query, np.where(complete, y, nan), f, int((some & ~complete).sum()), undefined))
    return found


def _labelled(human: pa.Table, measure: Measure) -> tuple[Bools, Bools]:
    """For each ranking, whether people labelled all that the measure reads, and whether they labelled any.

    A ranking without documents needs no labels: it counts when people labelled its query for another run.
    """
    labels = from_arrow(human.column("labels"))
    read = labels if measure.depth is None else head(labels, measure.depth)
    n_judged = segment_sum(read.valid & (read.values >= 0), read.offsets)
    has_labels = np.asarray(pc.is_valid(human.column("pool_labels")).to_numpy(), dtype=np.bool_)
    return (n_judged == read.lengths) & ((read.lengths > 0) | has_labels), n_judged > 0


def _mean(values: _Values, measure: Measure, target: Target, level: float) -> Corrected:
    human = np.full(len(values.query), nan) if values.n_undefined else values.human
    found = corrected_mean(
        human, values.model, measure=str(measure), bounds=_bounds(measure), target=target, level=level
    )
    return _or_undefined(found, values.n_undefined)


def _difference(first: _Values, second: _Values, measure: Measure, target: Target, level: float) -> Corrected:
    """Over the queries both runs have."""
    place = {query: at for at, query in enumerate(second.query)}
    pairs = [(at, place[query]) for at, query in enumerate(first.query) if query in place]
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    n_undefined = first.n_undefined + second.n_undefined
    hidden = nan if n_undefined else 0.0
    found = corrected_difference(
        (first.human[a] + hidden, second.human[b]),
        (first.model[a], second.model[b]),
        measure=str(measure),
        bounds=_bounds(measure),
        target=target,
        level=level,
    )
    return _or_undefined(found, n_undefined)


def _or_undefined(found: Corrected, n_undefined: int) -> Corrected:
    if not n_undefined:
        return found
    return replace(found, reason=f"undefined for {n_undefined} queries labelled by people; take P, T or n_p")


def _bounds(measure: Measure) -> tuple[float, float] | None:
    low, high = measure.bounds
    return (low, high) if np.isfinite([low, high]).all() else None
