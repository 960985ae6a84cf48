"""Which pairs people should label when a model has graded them all, and the mean that follows from those.

One idea: a pair the model is sure of teaches little. Group the pairs by the model's grade, draw more from the grades
where people's labels vary most, and weigh each group by its size: the mean is unbiased whatever the model's grades are
worth, and its interval is narrower than that of pairs drawn without looking.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Estimate
from ragauge.stats.intervals import Labels, check_level, t_quantile

__all__ = ["PairChoice", "choose_pairs", "stratified_mean"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MIN_PER_STRATUM = 2
"""One pair has no variance."""


@dataclass(frozen=True)
class PairChoice:
    """The pairs to label.

    Attributes:
        index: Where they stand among all pairs, ascending, shape (n,).
        stratum: The number of each one's stratum, shape (n,).
        names: The strata's names (grades), ascending.
        sizes: All pairs of each stratum.
    """

    index: Ints
    stratum: Ints
    names: tuple[Any, ...]
    sizes: Ints


def choose_pairs(strata: Labels, n: int, *, spread: Mapping[Any, float] | None = None, seed: int = 0) -> PairChoice:
    """Draw n pairs at random within strata, at least two of each (or the only one).

    Without `spread`, in proportion to the sizes N_h; with it, by Neyman: n_h in proportion to N_h s_h, the allocation
    with the smallest variance for a given n. For a share of relevant pairs s = sqrt(p (1 - p)), with p the probability
    that people find a pair of that grade relevant; `calibrate_judge` gives it from earlier labels. A guess that is
    wrong costs width, never validity.

    Args:
        strata: What pairs are grouped by, such as the model's grade, one a pair; sortable.
        n: Pairs to draw, at most all, at least two a stratum.
        spread: Standard deviation of people's labels in each stratum, a rough guess, > 0 for some.
        seed: Of the draw.

    Raises:
        InputError: n does not fit, or spread lacks a stratum or has a negative one.

    Source:
        Neyman, "On the two different aspects of the representative method", JRSS 97 (1934), doi:10.2307/2342192.

    >>> choice = choose_pairs([0] * 80 + [1] * 20, 12, spread={0: 0.1, 1: 0.5})
    >>> np.bincount(choice.stratum).tolist()  # 80 * .1 = 8 to 20 * .5 = 10
    [5, 7]
    """
    names, code = np.unique(np.asarray(strata), return_inverse=True)
    sizes = np.bincount(code)
    keys = names.tolist()
    least = np.minimum(sizes, MIN_PER_STRATUM)
    if not least.sum() <= n <= len(code):
        raise InputError(f"n must lie between {least.sum()} (two a stratum) and the {len(code)} pairs, got {n}")
    if spread is not None and (set(keys) - set(spread) or min(spread[key] for key in keys) < 0):
        raise InputError(f"spread needs a value >= 0 for each of {keys}, got {dict(spread)}")
    weights = sizes * (1.0 if spread is None else np.array([spread[key] for key in keys]))
    numbers = _allocate(weights if weights.sum() > 0 else sizes.astype(np.float64), least, sizes, n)
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(np.flatnonzero(code == h), numbers[h], replace=False) for h in range(len(keys))]
    index = np.sort(np.concatenate(drawn))
    return PairChoice(index, code[index], tuple(keys), sizes)


def stratified_mean(
    labels: npt.ArrayLike, choice: PairChoice, *, measure: str = "mean label", level: float = 0.95
) -> Estimate:
    """The mean label of all pairs, from people's labels of those that were chosen.

    theta = sum_h W_h mean_h, W_h = N_h / N, se^2 = sum_h W_h^2 (1 - n_h / N_h) s_h^2 / n_h; theta +- t se with
    Satterthwaite's degrees of freedom. For 0/1 labels s_h^2 is n_h / (n_h - 1) p (1 - p) at p = (y + 1/2) / (n_h + 1):
    five pairs of a grade that are all not relevant do not prove that none is.

    The interval is for exactly these pairs (a fixed pool, or the top K of fixed queries): it does not say what other
    queries would bring.

    Args:
        labels: People's labels of `choice.index`, in its order, shape (n,), finite.
        choice: What `choose_pairs` drew.
        measure: What the record calls it.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: The number of labels is not that of the chosen pairs, or one is not finite.

    Source:
        Cochran, "Sampling Techniques" (1977), sections 5.3 to 5.5.

    >>> choice = choose_pairs([0] * 80 + [1] * 20, 12, spread={0: 0.1, 1: 0.5})
    >>> found = stratified_mean([0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1], choice)
    >>> round(found.mean, 4)  # .8 * 1/5 + .2 * 5/7
    0.3029
    """
    y = np.asarray(labels, dtype=np.float64)
    if y.shape != choice.index.shape or not np.isfinite(y).all():
        raise InputError(f"each of the {len(choice.index)} chosen pairs needs a finite label, got {y.size} values")
    check_level(level)
    n = np.bincount(choice.stratum, minlength=len(choice.sizes)).astype(np.float64)
    means = np.bincount(choice.stratum, weights=y) / n
    shares = choice.sizes / choice.sizes.sum()
    mean = float(shares @ means)
    variances = shares**2 * (1 - n / choice.sizes) * _variances(y, means, choice.stratum, n) / n
    total = float(variances.sum())
    half, reason = nan, ""
    if total > 0:
        degrees = total**2 / float((variances**2 / np.maximum(n - 1, 1)).sum())
        half = t_quantile(level, degrees) * sqrt(total)
    elif (n == choice.sizes).all():
        half = 0.0
    else:
        reason = "labels do not vary within the strata"
    binary = bool(np.isin(y, (0, 1)).all())
    return Estimate(
        measure=measure,
        mean=mean,
        low=max(0.0, mean - half) if binary else mean - half,
        high=min(1.0, mean + half) if binary else mean + half,
        level=level,
        n=len(y),
        n_undefined=0,
        judged=len(y) / float(choice.sizes.sum()),
        method="stratified",
        reason=reason,
    )


def _variances(y: Floats, means: Floats, stratum: Ints, n: Floats) -> Floats:
    """Of the labels within each stratum."""
    if np.isin(y, (0, 1)).all():
        p = (n * means + 0.5) / (n + 1)
        return np.asarray(n / np.maximum(n - 1, 1) * p * (1 - p))
    return np.bincount(stratum, weights=(y - means[stratum]) ** 2) / np.maximum(n - 1, 1)


def _allocate(weights: Floats, least: Ints, most: Ints, n: int) -> Ints:
    """n in whole numbers: min(most, max(least, t * weights)) at the t at which they add up to n."""
    weights = weights / weights.sum() + 1e-9 * most / most.sum()  # so that all can grow where the others are exhausted
    low, high = 0.0, float((most / weights).max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(middle * weights, least, most).sum() < n else (low, middle)
    return _rounded(np.clip(high * weights, least, most), most, n)


def _rounded(numbers: Floats, most: Ints, n: int) -> Ints:
    """Largest remainders first."""
    whole = np.floor(numbers + 1e-9).astype(np.int64)
    order = np.argsort(-(numbers - whole), kind="stable")
    room = order[(whole < most)[order]]
    whole[room[: n - whole.sum()]] += 1
    return whole
