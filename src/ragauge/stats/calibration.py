"""What a judge's grade is worth: P(people find it relevant | the grade or P(yes) that the judge gave).

One idea: a grade is a signal, not a probability, and neither is P(yes). On TREC DL, people found 4, 22, 56 and 72 % of
what a judge graded 0, 1, 2 and 3 relevant. A rising curve fitted to pairs that people labelled turns one into the
other; each pair's own probability comes from a curve fitted on other queries, so that it can be checked, and used.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import Labels

__all__ = ["Calibration", "calibrate_judge"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Method = Literal["isotonic", "logistic"]

_NEWTON_STEPS = 100
_CONVERGED = 1e-10


@dataclass(frozen=True)
class _Curve:
    """P(relevant) at rising scores; straight in between, level outside."""

    score: Floats
    probability: Floats

    def at(self, scores: Floats) -> Floats:
        return np.interp(scores, self.score, self.probability)


@dataclass(frozen=True)
class Calibration:
    """Probabilities for a judge's scores.

    Attributes:
        probability: One a pair, 0..1: for pairs people labelled from the queries of other folds, else from all.
        score: The different scores, ascending.
        curve: P(relevant) at each, fitted on all labelled pairs; never falls.
        observed: Share of the labelled pairs with that score that people found relevant; NaN without any.
        n: Labelled pairs with that score.
        brier: Mean of (probability - label)^2 over labelled pairs, out of fold: 0 = perfect.
        brier_constant: The same for the mean label of the other folds' queries: what a judge that knows nothing gets.
    """

    probability: Floats
    score: Floats
    curve: Floats
    observed: Floats
    n: Ints
    brier: float
    brier_constant: float


def calibrate_judge(
    scores: npt.ArrayLike,
    relevant: npt.ArrayLike,
    queries: Labels,
    *,
    method: Method = "isotonic",
    n_folds: int = 5,
    seed: int = 0,
) -> Calibration:
    """The probability that people find a pair relevant, given what a judge said of it; cross-fitted by query.

    "isotonic": the never falling curve nearest to the labels by least squares; right for grades, where it is the share
    relevant of each grade unless these fall. "logistic": 1 / (1 + exp(-(a + b score))) by maximum likelihood on Platt's
    smoothed labels, (n_1 + 1) / (n_1 + 2) and 1 / (n_0 + 2); better with fewer than some 50 labelled pairs, or when the
    score is a fine probability. b is kept at 0 or above.

    Args:
        scores: What the judge gave, one a pair: a grade or P(yes).
        relevant: 1 or 0 by people; NaN or None where they did not label the pair.
        queries: The query of each pair; all pairs of a query are in one fold.
        method: "isotonic" or "logistic".
        n_folds: Parts the queries are split into, at random; at least 2, and no more than there are labelled queries.
        seed: Of the split.

    Raises:
        InputError: Columns differ in length, a score is not finite, a label is neither 0, 1 nor missing, or there are
            not enough labelled queries for the folds.

    Source:
        Ayer et al., "An empirical distribution function for sampling with incomplete information", Annals of
        Mathematical Statistics 26 (1955), doi:10.1214/aoms/1177728423. Platt, "Probabilistic outputs for support vector
        machines" (1999). Zadrozny and Elkan, KDD (2002), doi:10.1145/775047.775151.

    >>> found = calibrate_judge([0, 1, 2, 0, 1, 2], [0, 0, 1, 0, 1, 1], list("aaabbb"), n_folds=2)
    >>> found.curve.tolist(), found.observed.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.5, 1.0])
    """
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=np.float64)
    _check(x, y, queries, method)
    known = ~np.isnan(y)
    folds = _folds(queries, known, n_folds, seed)
    fit = _isotonic if method == "isotonic" else _logistic
    whole = fit(x[known], y[known])
    probability, constant = whole.at(x), np.full(len(x), y[known].mean())
    for fold in range(n_folds):
        inside, others = known & (folds == fold), known & (folds != fold)
        probability[inside] = fit(x[others], y[others]).at(x[inside])
        constant[inside] = y[others].mean()
    score, place = np.unique(x, return_inverse=True)
    n = np.bincount(place[known], minlength=len(score))
    with np.errstate(invalid="ignore"):
        observed = np.bincount(place[known], weights=y[known], minlength=len(score)) / n
    return Calibration(
        probability=probability,
        score=score,
        curve=whole.at(score),
        observed=observed,
        n=n,
        brier=float(((probability - y)[known] ** 2).mean()),
        brier_constant=float(((constant - y)[known] ** 2).mean()),
    )


def _isotonic(x: Floats, y: Floats) -> _Curve:
    from scipy.optimize import isotonic_regression  # here, because `import ragauge` must stay quick

    score, place, n = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=y) / n
    return _Curve(score, np.asarray(isotonic_regression(means, weights=n).x))


def _logistic(x: Floats, y: Floats) -> _Curve:
    """Newton's method on standardised scores; the smoothed labels keep the slope finite."""
    n_1 = y.sum()
    goal = np.where(y == 1, (n_1 + 1) / (n_1 + 2), 1 / (len(y) - n_1 + 2))
    scale = x.std() or 1.0
    design = np.column_stack([np.ones(len(x)), (x - x.mean()) / scale])
    design = design if x.std() > 0 else design[:, :1]
    coefficients = _newton(design, goal)
    if len(coefficients) == 1 or coefficients[1] < 0:
        return _Curve(np.array([x.mean()]), np.array([goal.mean()]))
    score = np.unique(x)
    fine = np.union1d(score, np.linspace(score[0], score[-1], 200))
    return _Curve(fine, _sigmoid(coefficients[0] + coefficients[1] * (fine - x.mean()) / scale))


def _newton(design: Floats, goal: Floats) -> Floats:
    coefficients = np.zeros(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = _sigmoid(design @ coefficients)
        slope, curvature = design.T @ (goal - p), (design.T * (p * (1 - p))) @ design
        step = np.linalg.solve(curvature + 1e-12 * np.eye(len(curvature)), slope)
        step /= max(1.0, float(np.abs(step).max()))  # a step of at most 1 cannot run away
        coefficients = coefficients + step
        if np.abs(step).max() < _CONVERGED:
            break
    return coefficients


def _sigmoid(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))


def _folds(queries: Labels, known: npt.NDArray[np.bool_], n_folds: int, seed: int) -> Ints:
    """The fold of each pair: labelled queries dealt out at random, evenly; -1 for the others."""
    labelled = sorted({query for query, is_known in zip(queries, known, strict=True) if is_known}, key=repr)
    if not 2 <= n_folds <= len(labelled):
        raise InputError(
            f"{n_folds} folds need as many queries with people's labels, and there are {len(labelled)}; "
            "give fewer folds, at least 2, or more labels"
        )
    dealt = np.random.default_rng(seed).permutation(len(labelled)) % n_folds
    fold = dict(zip(labelled, dealt.tolist(), strict=True))
    return np.array([fold.get(query, -1) for query in queries], dtype=np.int64)


def _check(x: Floats, y: Floats, queries: Labels, method: str) -> None:
    if x.ndim != 1 or x.shape != y.shape or len(queries) != len(x):
        raise InputError(
            f"scores, relevant and queries need one entry a pair, got {x.size}, {y.size} and {len(queries)}"
        )
    if not np.isfinite(x).all():
        raise InputError("scores must be finite; leave out pairs the judge did not score")
    if not np.isin(y[~np.isnan(y)], (0, 1)).all():
        raise InputError("relevant must be 0, 1, or missing")
    if method not in ("isotonic", "logistic"):
        raise InputError(f"method must be 'isotonic' or 'logistic', got {method!r}")
