"""When one ranking is labelled well enough: what is certain of P@K after a few labels, and what is likely.

One idea: after s of K labels, y of them positive, P@K lies in [y / K, (y + K - s) / K] whatever the others are. That is
enough to stop at K (1 - 2e) labels for +-e, and no model is needed. A model of relevance by rank and score narrows it:
the positives among the rest are then Poisson-binomial, mixed over a shift of the query's own, which the labels seen
tell of. It pays only where the model separates: `RelevanceModel.trusted`.

Stopping early makes y / s a biased estimate of P@K: a ranking is left when it looks extreme. Average `LikelyCount.mean`
over queries, or draw documents at random for the mean (`stats.draw_documents`).
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import check_level

__all__ = [
    "LikelyCount",
    "SureBounds",
    "labelling_order",
    "labels_for_half_width",
    "likely_positives",
    "poisson_binomial",
    "sure_bounds",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_N_NODES = 21  # of the shift's normal distribution: Gauss-Hermite
_FLOOR = 1e-6


@dataclass(frozen=True)
class SureBounds:
    """What is certain of P@K.

    Attributes:
        low: If none of the unlabelled is positive.
        high: If all are.
    """

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of high - low."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class LikelyCount:
    """Positives in the top K, seen and not seen.

    Attributes:
        mean: Expected number, seen and not seen.
        low: So many or more with at least (1 + level) / 2 probability.
        high: So many or fewer with at least (1 + level) / 2 probability.
        probability: Of 0, 1, ... positives among those not seen.
    """

    mean: float
    low: int
    high: int
    probability: Floats


def sure_bounds(n_labelled: int, n_positive: int, *, cutoff: int) -> SureBounds:
    """The lowest and the highest P@K can be: y / K and (y + K - s) / K.

    Args:
        n_labelled: s, labels so far, 0..K.
        n_positive: y, positives among them.
        cutoff: K.

    Raises:
        InputError: Not 0 <= y <= s <= K, or K below 1.

    >>> sure_bounds(8, 5, cutoff=10)
    SureBounds(low=0.5, high=0.7)
    """
    if cutoff < 1 or not 0 <= n_positive <= n_labelled <= cutoff:
        raise InputError(f"needs 0 <= positives <= labelled <= K, got {n_positive}, {n_labelled} and K = {cutoff}")
    return SureBounds(n_positive / cutoff, (n_positive + cutoff - n_labelled) / cutoff)


def labels_for_half_width(half_width: float, *, cutoff: int) -> int:
    """Labels after which P@K is certain within +-half_width: s = K (1 - 2e), rounded up.

    Raises:
        InputError: The half width is below 0, or K below 1.

    >>> [labels_for_half_width(e, cutoff=10) for e in (0.05, 0.1, 0.2)]
    [9, 8, 6]
    """
    if cutoff < 1 or not half_width >= 0:
        raise InputError(f"needs K >= 1 and a half width >= 0, got {cutoff} and {half_width:g}")
    return max(0, ceil(cutoff * (1 - 2 * half_width) - 1e-9))


def poisson_binomial(probabilities: npt.ArrayLike) -> Floats:
    """P(0), P(1), ..., P(n) successes of n independent trials with probabilities of their own.

    Args:
        probabilities: Shape (..., n), each 0..1.

    Returns:
        Shape (..., n + 1), adding to 1.

    Raises:
        InputError: One is outside 0..1.

    Source:
        Poisson, "Recherches sur la probabilite des jugements" (1837); by convolution, one trial after the other.

    >>> poisson_binomial([0.9, 0.5, 0.2]).round(2).tolist()
    [0.04, 0.41, 0.46, 0.09]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim == 0 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("probabilities must be a column of numbers in 0..1")
    found = np.zeros((*p.shape[:-1], p.shape[-1] + 1))
    found[..., 0] = 1
    for at in range(p.shape[-1]):
        hit = p[..., at, None]
        found[..., 1:] = found[..., 1:] * (1 - hit) + found[..., :-1] * hit
        found[..., 0] *= 1 - hit[..., 0]
    return found


def likely_positives(
    seen: npt.ArrayLike, labels: npt.ArrayLike, rest: npt.ArrayLike, *, shift: float = 1.0, level: float = 0.9
) -> LikelyCount:
    """Positives in the top K, from the labels seen and the probabilities of the rest.

    All documents of a query are easier or harder together: logit p_i + a with a ~ N(0, shift^2), whose distribution
    given the labels seen weighs the Poisson-binomial distributions of the rest.

    Args:
        seen: A model's probability of each labelled document, shape (s,).
        labels: 1 or 0 of each, shape (s,).
        rest: A model's probability of each unlabelled document, shape (u,).
        shift: Deviation of a; 0 = the probabilities are right as they are.
        level: Of the interval, strictly between 0 and 1.

    Raises:
        InputError: Columns differ in length, a label is neither 0 nor 1, a probability is outside 0..1.

    >>> likely_positives([], [], [0.9, 0.5, 0.2], shift=0).mean.__round__(2)
    1.6
    """
    y, p_seen, p_rest = (np.asarray(each, dtype=np.float64) for each in (labels, seen, rest))
    check_level(level)
    inside = [((each >= 0) & (each <= 1)).all() for each in (p_seen, p_rest)]
    if y.shape != p_seen.shape or not np.isin(y, (0, 1)).all() or not all(inside) or shift < 0:
        raise InputError("needs a probability in 0..1 and a label 0 or 1 of each labelled document, and shift >= 0")
    nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    a = shift * nodes[:, None]
    given = _moved(p_seen, a)
    log_posterior = np.log(weights) + np.log(np.where(y == 1, given, 1 - given)).sum(axis=1)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    probability = posterior @ poisson_binomial(_moved(p_rest, a))
    below, tail = np.cumsum(probability), (1 - level) / 2
    n_positive = int(y.sum())
    return LikelyCount(
        n_positive + float(probability @ np.arange(len(probability))),
        n_positive + int(np.searchsorted(below, tail + 1e-12)),
        n_positive + min(len(probability) - 1, int(np.searchsorted(below, 1 - tail - 1e-12))),
        probability,
    )


def labelling_order(probabilities: npt.ArrayLike | None, n: int) -> list[int]:
    """Which document to label first: the one whose label narrows the interval most.

    By p (1 - p), the variance it takes away, ties by rank; by rank where there are no probabilities: to P and T all
    documents are worth the same then, and to measures that weigh by rank the first is worth most.

    >>> labelling_order([0.9, 0.5, 0.2], 3), labelling_order(None, 3)
    ([1, 2, 0], [0, 1, 2])
    """
    if probabilities is None:
        return list(range(n))
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape != (n,):
        raise InputError(f"needs one probability a document, got {p.size} for {n}")
    order: Ints = np.argsort(-np.round(p * (1 - p), 12), kind="stable")
    return [int(at) for at in order]


def _moved(p: Floats, a: Floats) -> Floats:
    """p with a added to its logit, within the open interval."""
    p = np.clip(p, _FLOOR, 1 - _FLOOR)
    return np.asarray(1 / (1 + np.exp(-(np.log(p / (1 - p)) + a))))
