"""The lowest and the highest value a measure can take, over all labels that the unjudged documents could have.

Each unjudged document of a ranking may have any label from 0 to the top of the scale; what was not retrieved stays as
it is. A label changes a measure in two ways: through its slot, and through the pool (one more relevant document, a
better ideal). Which labellings are the extreme ones:

- A measure that does not fall when a higher label moves up (all but Fe and those below) is largest, for any set of
  labels to give, when they are given from the top down, and smallest when they are given from the bottom up. So with u
  unjudged documents, it is enough to try: the first m of them get the top label and the others 0, and the last m do,
  for m = 0..u. The largest of these 2 (u + 1) values is the highest one, the smallest the lowest.
- Fe: highest when the unjudged of the top K are positive and no others, lowest when those from K + 1 to round(xK) are
  and no others: among the labellings above.
- Labels between 0 and the top one matter to nDCG alone, as a label raises its gain and its ideal. Gain over ideal is
  linear over convex in the labels, so its minimum is at labels of 0 and the top. Its maximum is not: see `best_ndcg`.

For R: the highest has all unjudged documents of the top K positive and none below, the lowest none above and all below.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from ragauge.measures.best_ndcg import best_ndcg
from ragauge.measures.measure import Measure
from ragauge.ragged import Ragged, head, parts, positions, segment_cumsum, segment_sum, take_rows

__all__ = ["Bounds", "has_bounds", "label_bounds"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_CHUNK = 4_000_000  # documents of completed rankings held at a time


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest value of each ranking; equal where all its documents are judged.

    Attributes:
        low: One a row; NaN where the measure is undefined for every labelling.
        high: One a row.
    """

    low: Floats
    high: Floats


def has_bounds(measure: Measure) -> bool:
    """Whether missing labels leave its value open: not that of a measure that describes which labels are missing."""
    return measure.definition.labels != "judged"


def label_bounds(labels: Ragged, pool: Ragged, measure: Measure, *, max_label: float) -> Bounds:
    """The lowest and highest value of a measure over all labels the unjudged documents could have.

    Args:
        labels: In rank order; null = unjudged.
        pool: All known labels of each query, as kernels take them.
        measure: One that `has_bounds`.
        max_label: Top of the label scale. A measure that has a max_label of its own takes that, one whose `rel` is
            higher takes `rel`.

    Returns:
        Over those labellings for which the measure is defined.

    >>> labels, nothing = Ragged.from_lists([[1, None, 0, None]]), Ragged.from_lists([[]])
    >>> label_bounds(labels, nothing, Measure.of("P", 4), max_label=1)
    Bounds(low=array([0.25]), high=array([0.75]))
    """
    labels = labels if measure.needs_pool else head(labels, measure.depth)
    value = measure.values(labels, pool)
    low, high = value.copy(), value.copy()
    n_unjudged = segment_sum(~labels.valid, labels.offsets).astype(np.int64)
    rows = np.flatnonzero(n_unjudged)
    top = _top_label(measure, max_label)
    size = (n_unjudged[rows] + 1) * (labels.lengths[rows] + pool.lengths[rows] + n_unjudged[rows])
    for part in parts(size, most=_CHUNK):
        some = rows[part]
        low[some], high[some] = _extremes(take_rows(labels, some), take_rows(pool, some), measure, top)
    if measure.name == "nDCG" and rows.size:
        for part in parts(size, most=_CHUNK):
            some = rows[part]
            best = best_ndcg(take_rows(labels, some), take_rows(pool, some), measure, top=top, start=high[some])
            high[some] = np.fmax(high[some], best)
    return Bounds(low, high)


def _top_label(measure: Measure, max_label: float) -> float:
    values = dict(measure.parameters)
    if values.get("labels") == "probability":
        return 1.0
    own = float(values["max_label"]) if "max_label" in values else max_label
    return max(own, float(values["rel"])) if measure.uses_rel else own


def _extremes(labels: Ragged, pool: Ragged, measure: Measure, top: float) -> tuple[Floats, Floats]:
    """Smallest and largest value over the labellings that give the top label to the first m, or to the last m."""
    n_unjudged = segment_sum(~labels.valid, labels.offsets).astype(np.int64)
    row = np.repeat(np.arange(labels.n_rows), n_unjudged + 1)
    starts = np.concatenate([[0], np.cumsum(n_unjudged + 1)])
    m = positions(starts)
    if measure.linear and not measure.needs_pool:  # each slot on its own: none or all
        keep = (m == 0) | (m == n_unjudged[row])
        row, m = row[keep], m[keep]
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=labels.n_rows))])
    copies, pools = take_rows(labels, row), take_rows(pool, row)
    place = segment_cumsum(~copies.valid, copies.offsets)  # 1..u at the unjudged
    m, last = np.repeat(m, copies.lengths), np.repeat(n_unjudged[row] - m, copies.lengths)
    low, high = np.full(labels.n_rows, inf), np.full(labels.n_rows, -inf)
    for given in (place <= m, place > last):
        completed = _completed(copies, np.where(given, top, 0.0))
        values = measure.values(completed, _joined(pools, completed, ~copies.valid))
        low = np.fmin(low, np.fmin.reduceat(values, starts[:-1]))
        high = np.fmax(high, np.fmax.reduceat(values, starts[:-1]))
    undefined = low > high
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def _completed(labels: Ragged, given: Floats) -> Ragged:
    """`given` in place of what is missing."""
    values = np.where(labels.valid, labels.values, given)
    return Ragged(values, labels.offsets, np.ones(len(values), dtype=np.bool_))


def _joined(pool: Ragged, completed: Ragged, new: Bools) -> Ragged:
    """The pool with the labels of the documents that were unjudged."""
    rows = np.arange(pool.n_rows)
    row = np.concatenate([np.repeat(rows, pool.lengths), np.repeat(rows, completed.lengths)[new]])
    order = np.argsort(row, kind="stable")
    values = np.concatenate([pool.values, completed.values[new]])[order]
    valid = np.concatenate([pool.valid, completed.valid[new]])[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=pool.n_rows))]).astype(np.int64)
    return Ragged(values, offsets, valid)
