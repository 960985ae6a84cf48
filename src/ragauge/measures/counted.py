"""R, F and nDCG when the number of relevant documents is an estimate: any number of 0 or more, not a whole one.

The estimate may come with replicates of it, so that the measure gets an interval which holds the estimator's error.
"""

import numpy as np
import numpy.typing as npt

from ragauge.errors import MeasureError
from ragauge.measures.counts import n_positive, recall
from ragauge.measures.definition import Floats
from ragauge.measures.f_measure import fe_alpha
from ragauge.measures.gain import dcg
from ragauge.measures.measure import Measure
from ragauge.ragged import Ragged

__all__ = ["COUNTED", "counted_values"]

COUNTED = ("R", "F", "nDCG")
"""The measures that depend on documents not retrieved by their number alone."""


def counted_values(measure: Measure, labels: Ragged, counts: npt.ArrayLike) -> Floats:
    """The measure with N_p given, for each ranking.

    R = n_p / N_p, F = n_p / (alpha K + (1 - alpha) N_p), nDCG = DCG / (DCG of N_p positives on top, its value between
    whole numbers interpolated). A count below n_p counts as n_p: what was found is there. NaN where R and nDCG divide
    by zero; F is 0 there, but for alpha = 0.

    Args:
        measure: R, F, or nDCG with ideal=qrels; nDCG with binary gains, or labels of 0 and 1 alone.
        labels: Rankings with their labels, n rows.
        counts: N_p of each, shape (n,) or (replicates, n); NaN = unknown.

    Returns:
        Shape of `counts`.

    Raises:
        MeasureError: Another measure, or nDCG of graded labels with graded gains: a number does not tell the grades.

    >>> labels = Ragged.from_lists([[1, 0, 1, 0]])
    >>> [counted_values(Measure.of(name, 4), labels, [5.0]).round(4).tolist() for name in COUNTED]
    [[0.4], [0.4444], [0.5856]]
    """
    if measure.name not in COUNTED or not measure.needs_pool:
        raise MeasureError(
            f"{measure} cannot be had from an estimated number of relevant documents; {', '.join(COUNTED)} can"
        )
    values, totals = dict(measure.parameters), np.asarray(counts, dtype=np.float64)
    rel, cutoff = float(values["rel"]), measure.cutoff
    found = n_positive(labels, cutoff=cutoff, rel=rel)
    total = np.maximum(totals, found)
    if measure.name == "nDCG":
        return _ndcg(measure, labels, total)
    if measure.name == "F":
        return np.where(np.isnan(totals), np.nan, fe_alpha(found, float(cutoff or 0), total, float(values["alpha"])))
    return recall(found, np.minimum(total, cutoff) if cutoff and values["cap"] == "cutoff" else total)


def _ndcg(measure: Measure, labels: Ragged, total: Floats) -> Floats:
    values = dict(measure.parameters)
    rel = float(values["rel"])
    if values["gain"] != "binary" and not np.isin(labels.values[labels.valid], (0, 1)).all():
        raise MeasureError(
            f"{measure} needs the grades of documents nobody saw, and labels are graded here; "
            "write nDCG(gain=binary)@K, or label every document"
        )
    gained = dcg(labels, cutoff=measure.cutoff, gain="binary", rel=rel)
    top = int(np.ceil(np.nanmax(total, initial=1.0))) if measure.cutoff is None else measure.cutoff
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, top + 2)))])
    best = np.interp(total, np.arange(top + 1), ideal)
    return np.where(best > 0, np.minimum(gained / np.where(best > 0, best, 1.0), 1.0), np.nan)
