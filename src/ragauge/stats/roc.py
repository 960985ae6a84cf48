"""Does a judge's score tell relevant from not relevant: the area under the ROC curve, and the cut that tells best.

The area is the probability that a relevant document scores above one that is not, ties counting half. Scores of one
query are alike, so its variance is made from sums over queries.
"""

from dataclasses import dataclass
from math import exp, log, nan, sqrt

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import Interval, Labels, check_level, t_quantile

__all__ = ["Discrimination", "best_cut", "cross_fitted_cuts", "discrimination"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MIN_CLUSTERS = 5
"""Fewest queries with relevant, and with other documents, from which the area gets an interval."""


@dataclass(frozen=True)
class Discrimination:
    """How well scores tell relevant from not relevant.

    Attributes:
        auc: P(a relevant document scores above one that is not) + P(tie) / 2: 1 = always, 0.5 = as by chance; NaN
            without a document of each kind.
        interval: Of the area, over queries.
        n_relevant: Relevant documents.
        n_other: Documents that are not relevant.
    """

    auc: float
    interval: Interval
    n_relevant: int
    n_other: int


def discrimination(
    scores: npt.ArrayLike, relevant: npt.ArrayLike, clusters: Labels | None = None, *, level: float = 0.95
) -> Discrimination:
    """The area under the ROC curve with an interval for clustered data.

    With X the relevant and Y the other documents, V(x) = share of Y below x (ties half) and W(y) = share of X above y.
    Obuchowski's variance is made of the clusters' sums of V - A and W - A; with clusters of one it is DeLong's. The
    interval is logit(A) +- t_{G-1} s / (A (1 - A)), turned back.

    Args:
        scores: One a document, finite.
        relevant: 1 or 0 a document.
        clusters: The query of each document; None = each on its own.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: Columns differ in length, a score is not finite, or a label is neither 0 nor 1.

    Source:
        Obuchowski, "Nonparametric analysis of clustered ROC curve data", Biometrics 53 (1997), doi:10.2307/2533958.
        DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988), doi:10.2307/2531595.

    >>> discrimination([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0]).auc  # pairs: 1, 1, a tie, 1
    0.875
    """
    check_level(level)
    x, y, codes = _checked(scores, relevant, clusters)
    if not 0 < y.sum() < len(y):
        none = Interval(nan, nan, level, 0, "needs documents of both kinds")
        return Discrimination(nan, none, int(y.sum()), int(len(y) - y.sum()))
    above = _share_below(x[y], x[~y])
    below = 1 - _share_below(x[~y], x[y])
    auc = float(above.mean())
    interval = _interval(auc, codes[y], above - auc, codes[~y], below - auc, level)
    return Discrimination(auc, interval, len(above), len(below))


def best_cut(scores: npt.ArrayLike, relevant: npt.ArrayLike) -> float:
    """The lowest score from which on a document counts as relevant so that sensitivity + specificity is largest.

    Decided in whole numbers: n_0 true positives - n_1 false positives. NaN without a document of each kind.

    Source:
        Youden, "Index for rating diagnostic tests", Cancer 3 (1950).

    >>> best_cut([0.9, 0.4, 0.3, 0.1], [1, 1, 0, 0])
    0.4
    """
    x, y, _ = _checked(scores, relevant, None)
    n_relevant, n_other = int(y.sum()), int(len(y) - y.sum())
    if not n_relevant or not n_other:
        return nan
    cuts, place = np.unique(x, return_inverse=True)
    found = np.bincount(place[y], minlength=len(cuts))[::-1].cumsum()[::-1]
    wrong = np.bincount(place[~y], minlength=len(cuts))[::-1].cumsum()[::-1]
    return float(cuts[np.argmax(found * n_other - wrong * n_relevant)])


def cross_fitted_cuts(
    scores: npt.ArrayLike, relevant: npt.ArrayLike, clusters: Labels, *, n_folds: int = 5, seed: int = 0
) -> Floats:
    """For each document the `best_cut` of the other parts of the queries, so that no label chooses its own cut.

    Args:
        scores: One a document, finite.
        relevant: 1 or 0 a document.
        clusters: The query of each document.
        n_folds: Parts the queries are split into at random; as many as there are queries, if those are fewer.
        seed: Of the split.

    Returns:
        One cut a document; NaN where the others hold no document of each kind.

    >>> cross_fitted_cuts([0.9, 0.1, 0.8, 0.2], [1, 0, 1, 0], list("aabb"), n_folds=2).tolist()
    [0.8, 0.8, 0.9, 0.9]
    """
    x, y, codes = _checked(scores, relevant, clusters)
    n_clusters = int(codes.max(initial=-1)) + 1
    fold = np.random.default_rng(seed).permutation(n_clusters) % max(1, min(n_folds, n_clusters))
    cuts = np.full(len(x), nan)
    for part in np.unique(fold):
        inside = fold[codes] == part
        cuts[inside] = best_cut(x[~inside], y[~inside])
    return cuts


def _checked(
    scores: npt.ArrayLike, relevant: npt.ArrayLike, clusters: Labels | None
) -> tuple[Floats, npt.NDArray[np.bool_], Ints]:
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or (clusters is not None and len(clusters) != len(x)):
        raise InputError(f"scores, relevant and clusters need one entry a document, got {x.size} and {y.size}")
    if not np.isfinite(x).all():
        raise InputError("scores must be finite; leave out documents the judge did not label")
    if not np.isin(y, (0, 1)).all():
        raise InputError("relevant must be 0 or 1")
    if clusters is None:
        return x, y == 1, np.arange(len(x))
    place = {cluster: number for number, cluster in enumerate(sorted(set(clusters), key=repr))}
    return x, y == 1, np.array([place[cluster] for cluster in clusters], dtype=np.int64)


def _share_below(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others below it, ties half."""
    ordered = np.sort(others)
    lower, upper = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((lower + upper) / (2 * len(others)))


def _interval(auc: float, codes_1: Ints, v: Floats, codes_0: Ints, w: Floats, level: float) -> Interval:
    """From the deviations V - A and W - A of the documents and the clusters they are in."""
    n_clusters = len(np.union1d(codes_1, codes_0))
    n_1, n_0 = len(np.unique(codes_1)), len(np.unique(codes_0))
    if min(n_1, n_0) < MIN_CLUSTERS:
        reason = f"{min(n_1, n_0)} queries with documents of a kind; an interval needs {MIN_CLUSTERS}"
        return Interval(nan, nan, level, n_clusters, reason)
    if auc in (0.0, 1.0):
        return Interval(nan, nan, level, n_clusters, "the area is exactly 0 or 1")
    width = int(max(codes_1.max(), codes_0.max())) + 1
    sums_1, sums_0 = np.bincount(codes_1, weights=v, minlength=width), np.bincount(codes_0, weights=w, minlength=width)
    variance = (
        n_1 / (n_1 - 1) * float(sums_1 @ sums_1) / len(v) ** 2
        + n_0 / (n_0 - 1) * float(sums_0 @ sums_0) / len(w) ** 2
        + 2 * n_clusters / (n_clusters - 1) * float(sums_1 @ sums_0) / (len(v) * len(w))
    )
    half = t_quantile(level, n_clusters - 1) * sqrt(max(0.0, variance)) / (auc * (1 - auc))
    centre = log(auc / (1 - auc))
    return Interval(1 / (1 + exp(half - centre)), 1 / (1 + exp(-half - centre)), level, n_clusters)
