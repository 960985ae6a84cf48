"""What choosing the best of many candidates gains, measured on queries it was not chosen by.

The candidate that looks best was also the luckiest, so its gain on the same queries is too high. Cross-validation
leaves out part of the queries, chooses on the rest, and measures on what was left out.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.association import merge_ties
from ragauge.stats.intervals import check_level, t_quantile

__all__ = ["ChoiceGain", "choice_gain", "first_best"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 4_000_000  # weights held at a time


@dataclass(frozen=True)
class ChoiceGain:
    """A cross-validated gain with its interval.

    Attributes:
        gain: Mean over queries of what the candidate chosen without their fold gains on them.
        low: Lower bound of its interval.
        high: Upper bound.
        level: Confidence level.
        best: Number of the candidate that is best on all queries.
        gain_in_sample: What that one gains on the queries it was chosen by: too high.
        chosen: Number of the candidate chosen in each fold.
    """

    gain: float
    low: float
    high: float
    level: float
    best: int
    gain_in_sample: float
    chosen: tuple[int, ...]


def choice_gain(
    values: npt.ArrayLike,
    now: npt.ArrayLike,
    *,
    folds: int = 5,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> ChoiceGain:
    """The gain of "take the candidate with the highest mean" over what is in use now.

    Of candidates with equal means (to 12 digits) the first is taken. The interval is gain +- t_{n-1} se; se is the
    standard deviation of the gain over bootstrap samples of the queries, in each of which every fold chooses anew.

    Args:
        values: Of each query (row) under each candidate (column), shape (n, candidates), finite.
        now: Of each query under what is in use, shape (n,), finite.
        folds: Parts the queries are split in; no more than there are queries.
        level: Confidence level, strictly between 0 and 1.
        resamples: Bootstrap samples, at least 2.
        seed: Of the folds and the bootstrap.

    Raises:
        InputError: Fewer than two queries, no candidate, a value that is not finite, or an option outside what is
            allowed.

    Source:
        Stone, "Cross-validatory choice and assessment of statistical predictions", J. Royal Statistical Society B 36
        (1974), doi:10.1111/j.2517-6161.1974.tb00994.x.

    >>> found = choice_gain([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [1.0, 1.0, 1.0], folds=3)
    >>> found.gain, found.best, found.chosen
    (1.0, 1, (1, 1, 1))
    """
    table, base = np.asarray(values, dtype=np.float64), np.asarray(now, dtype=np.float64)
    _check(table, base, folds, resamples)
    check_level(level)
    n = len(base)
    rng = np.random.default_rng(seed)
    fold = rng.permutation(np.arange(n) % min(folds, n))
    sample, chosen = _gains(np.ones((1, n)), table, base, fold)
    gain, error = float(sample[0]), _bootstrap_error(table, base, fold, resamples, rng)
    half = t_quantile(level, n - 1) * error
    best = int(first_best(table.sum(0)))
    in_sample = float((table[:, best] - base).mean())
    return ChoiceGain(gain, gain - half, gain + half, level, best, in_sample, tuple(chosen[:, 0].tolist()))


def first_best(sums: Floats) -> Ints:
    """Number of the highest along the last axis; of those that differ by a rounding error the first."""
    return np.asarray(np.argmax(merge_ties(sums), axis=-1))


def _bootstrap_error(values: Floats, now: Floats, fold: Ints, resamples: int, rng: np.random.Generator) -> float:
    n, drawn = len(now), []
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        weights = rng.multinomial(n, np.full(n, 1 / n), min(block, resamples - start))
        drawn.append(_gains(weights.astype(np.float64), values, now, fold)[0])
    return float(np.concatenate(drawn).std(ddof=1))


def _gains(weights: Floats, values: Floats, now: Floats, fold: Ints) -> tuple[Floats, Ints]:
    """For each row of weights of the queries: the mean gain, and the candidate chosen in each fold."""
    members = [fold == one for one in range(int(fold.max()) + 1)]
    parts = [weights[:, inside] @ values[inside] for inside in members]
    total = np.sum(parts, axis=0)
    chosen = np.array([first_best(total - part) for part in parts])
    gained = [np.take_along_axis(part, at[:, None], axis=1)[:, 0] for part, at in zip(parts, chosen, strict=True)]
    return (np.sum(gained, axis=0) - weights @ now) / weights.sum(1), chosen


def _check(values: Floats, now: Floats, folds: int, resamples: int) -> None:
    if values.ndim != 2 or now.ndim != 1 or len(values) != len(now) or values.shape[1] < 1:
        raise InputError(
            f"values must be queries x candidates, and now one a query, got {values.shape} and {now.shape}"
        )
    if len(now) < 2:
        raise InputError(f"a choice needs two queries or more, got {len(now)}")
    if not (np.isfinite(values).all() and np.isfinite(now).all()):
        raise InputError("values hold NaN or infinite ones; drop those queries first")
    if folds < 2 or resamples < 2:
        raise InputError(f"folds and resamples must be at least 2, got {folds} and {resamples}")
