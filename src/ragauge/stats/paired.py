"""Two systems on the same queries: what varies is the difference per query, and nothing else is looked at.

Pairing is what makes a comparison sharp: a hard query is hard for both. The interval is Student's t of the mean
difference, the test flips the sign of each query's difference (under "no difference", A and B are but names), and
power says what a comparison of this size could have found at all.
"""

from dataclasses import dataclass
from math import ceil, isnan, nan, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Comparison
from ragauge.stats.association import merge_ties
from ragauge.stats.intervals import Interval, Labels, check_level, cluster_codes, t_quantile
from ragauge.stats.power import detectable_difference, units_needed

__all__ = ["ALTERNATIVES", "MAX_EXACT", "Alternative", "paired_comparison", "sign_flip_p"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Alternative = Literal["two-sided", "greater", "less"]

ALTERNATIVES = ("two-sided", "greater", "less")
MAX_EXACT = 15
"""Up to so many differences that are not 0 all 2^n sign patterns are looked at; with more, random ones."""

_SAME_SUM = 1e-10  # of sum |d|: sums closer than this are equal (lattice steps are above 1e-8, rounding below 1e-12)
_NOTHING = 1e-13  # of sum |d|: the sum of a cluster whose differences cancel out
_BLOCK = 1_000_000  # random numbers held at a time


@dataclass(frozen=True)
class _Differences:
    """Differences of the pairs, system - baseline, ties exactly 0; `sums` has one a cluster (or pair)."""

    each: Floats
    sums: Floats
    mean: float
    error: float


def paired_comparison(
    baseline: npt.ArrayLike,
    system: npt.ArrayLike,
    *,
    measure: str,
    clusters: Labels | None = None,
    level: float = 0.95,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
    power: float = 0.8,
    wanted: float | None = None,
) -> Comparison:
    """Whether a system does better than a baseline on the same queries, by how much, and what could have been seen.

    With d_q = system - baseline: the mean difference, its interval mean +- t_{n-1} s / sqrt(n), the p value of
    `sign_flip_p`, queries won, tied and lost (values that agree to 12 digits are tied), the difference that so many
    queries would have found with the given power, and the queries it takes to find the one seen.

    With clusters, one flip turns all differences of a cluster, se^2 = G / (G - 1) * sum_g (sum of the deviations in
    g)^2 / n^2, and the quantile is t_{G-1}.

    Args:
        baseline: The baseline's value for each query, shape (n,). NaN or None = undefined.
        system: The system's value for the same queries in the same order.
        measure: Printed form of the measure, for the record.
        clusters: What belongs together (a user, a conversation), one a query; None = each query is on its own.
        level: Confidence level, strictly between 0 and 1. Tests that the power is about are at 1 - level.
        alternative: "two-sided", or the system is "greater" or "less" than the baseline. The interval is two-sided.
        resamples: Random sign patterns, where there are too many for all.
        seed: Of those; the same seed gives the same p, whatever the order of the queries.
        power: Chance to find a difference of the size `detectable`, strictly between 0 and 1.
        wanted: The difference that `n_needed` is about; None = the one observed.

    Returns:
        The comparison over the pairs in which both values are defined. No such pair: NaN, and `reason` says so. One
        pair (or cluster), or differences that are all the same and not 0: no interval, and `reason` says so. No pair
        that differs: p = 1 and an interval of no width at 0, with a `reason` that says how little this means.

    Raises:
        InputError: Lengths differ, a value is infinite, or an option is outside what is allowed.

    Source:
        Fisher, "The Design of Experiments" (1935), section 21. Smucker, Allan and Carterette, "A comparison of
        statistical significance tests for information retrieval evaluation", CIKM 2007, doi:10.1145/1321440.1321528.
        Phipson and Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and
        Molecular Biology 9 (2010), doi:10.2202/1544-6115.1585.

    >>> print(paired_comparison([0.5, 0.2, 0.4, 0.1], [0.6, 0.5, 0.4, 0.3], measure="P@10"))
    P@10: system - baseline = +0.150 [-0.055, +0.355], p = 0.250, won 3, tied 1, lost 0, n = 4
    """
    a, b = _column(baseline, "baseline"), _column(system, "system")
    codes = cluster_codes(clusters, len(a), "clusters")
    _check(a, b, level, alternative, resamples, power)
    paired = ~(np.isnan(a) | np.isnan(b))
    a, b = a[paired], b[paired]
    d = _differences(a, b, codes[paired])
    interval = _interval(d, level)
    tail = (1 - level) if alternative == "two-sided" else 2 * (1 - level)
    per_unit = len(d.each) / max(1, len(d.sums))
    needed = units_needed(abs(d.mean if wanted is None else wanted), d.error * sqrt(len(d.sums)), tail, power)
    return Comparison(
        measure=measure,
        mean_baseline=float(a.mean()) if len(a) else nan,
        mean_system=float(b.mean()) if len(b) else nan,
        difference=d.mean,
        low=interval.low,
        high=interval.high,
        level=level,
        p=sign_flip_p(d.sums, alternative=alternative, resamples=resamples, seed=seed) if len(a) else nan,
        alternative=alternative,
        wins=int((d.each > 0).sum()),
        ties=int((d.each == 0).sum()),
        losses=int((d.each < 0).sum()),
        n=len(d.each),
        n_undefined=int((~paired).sum()),
        n_clusters=len(d.sums),
        detectable=detectable_difference(d.error, len(d.sums), tail, power),
        n_needed=needed if isnan(needed) else float(ceil(needed * per_unit - 1e-9)),
        reason=interval.reason,
    )


def sign_flip_p(
    differences: npt.ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """The p value of a mean difference: how often random signs give a sum as far out as the one seen.

    All 2^n sign patterns when at most 15 differences are not 0, p = share as far out; else p = (1 + those as far
    out) / (1 + resamples), as the pattern seen is one of them. In (0, 1]: never 0, and 1 when all are 0.

    Args:
        differences: Shape (n,), finite.
        alternative: "two-sided": |sum|; "greater", "less": the sum itself, upwards or downwards.
        resamples: Random sign patterns, at least 1.
        seed: Of those. Equal differences are drawn together (a binomial number of flips), so that the answer does not
            depend on the order of the differences.

    Returns:
        The p value; NaN when there is no difference at all.

    Raises:
        InputError: A difference is not finite, or an option is outside what is allowed.

    >>> sign_flip_p([0.1, 0.3, 0.2])  # +++ and --- of 8 patterns
    0.25
    """
    d = _column(differences, "differences")
    if not np.isfinite(d).all():
        raise InputError(f"differences hold {int((~np.isfinite(d)).sum())} NaN or infinite values; drop them first")
    _check_test(alternative, resamples)
    if not len(d):
        return nan
    seen, total = float(d.sum()), float(np.abs(d).sum())
    differ = np.abs(d) > _NOTHING * total
    size, count = np.unique(merge_ties(np.abs(d[differ])), return_counts=True)
    slack = _SAME_SUM * total
    if count.sum() <= MAX_EXACT:
        return float(_as_far_out(_all_sums(np.repeat(size, count)), seen, slack, alternative).mean())
    rng = np.random.default_rng(seed)
    alone = count == 1
    singles, size, count = _eights(size[alone]), size[~alone], count[~alone]
    block = max(1, _BLOCK // max(1, len(singles) + len(size)))
    far_out = 0
    for start in range(0, resamples, block):
        n = min(block, resamples - start)
        sums = _single_sums(singles, n, rng) + _grouped_sums(size, count, n, rng)
        far_out += int(_as_far_out(sums, seen, slack, alternative).sum())
    return (1 + far_out) / (1 + resamples)


def _all_sums(size: Floats) -> Floats:
    """The sums under all sign patterns."""
    sums = np.zeros(1)
    for one in size:
        sums = np.concatenate([sums + one, sums - one])
    return sums


def _eights(size: Floats) -> Floats:
    """Eight at a time, the sums under all 256 sign patterns: a random byte then stands for eight random signs."""
    filled = np.concatenate([size, np.zeros(-len(size) % 8)]).reshape(-1, 8)
    signs = 2.0 * ((np.arange(256) >> np.arange(8)[:, None]) & 1) - 1
    sums: Floats = filled @ signs
    return sums


def _single_sums(eights: Floats, n: int, rng: np.random.Generator) -> Floats:
    pattern = rng.integers(0, 256, (n, len(eights)), dtype=np.uint8)
    sums: Floats = np.take(eights.ravel(), pattern + 256 * np.arange(len(eights))).sum(1)
    return sums


def _grouped_sums(size: Floats, count: Ints, n: int, rng: np.random.Generator) -> Floats:
    """Of `count` random signs, 2 Binomial(count, 1/2) - count is the sum."""
    flips = rng.binomial(count, 0.5, (n, len(count)))
    sums: Floats = 2.0 * (flips @ size) - float(size @ count)
    return sums


def _as_far_out(sums: Floats, seen: float, slack: float, alternative: Alternative) -> npt.NDArray[np.bool_]:
    if alternative == "two-sided":
        return np.abs(sums) >= abs(seen) - slack
    return sums >= seen - slack if alternative == "greater" else sums <= seen + slack


def _differences(a: Floats, b: Floats, codes: Ints) -> _Differences:
    """Per pair and per cluster; the standard error is the ratio estimator's."""
    each = np.where(merge_ties(a) == merge_ties(b), 0.0, b - a)
    if not len(each):
        return _Differences(each, each, nan, nan)
    numbers = np.unique(codes, return_inverse=True)[1]
    n_clusters = int(numbers.max()) + 1
    mean = float(each.mean())
    if n_clusters == 1:
        error = nan
    elif (merge_ties(each) == merge_ties(each[:1])).all():  # so that no rounding error passes for variation
        error = 0.0
    else:
        deviations = np.bincount(numbers, weights=each - mean)
        error = sqrt(n_clusters / (n_clusters - 1) * float((deviations**2).sum())) / len(each)
    sums: Floats = np.bincount(numbers, weights=each).astype(np.float64)
    return _Differences(each, sums, mean, error)


def _interval(d: _Differences, level: float) -> Interval:
    n = len(d.sums)
    if n == 0:
        return Interval(nan, nan, level, n, "no query has a value for both systems")
    if n == 1:
        return Interval(nan, nan, level, n, "one query or cluster")
    if d.error == 0 and d.mean != 0:
        return Interval(nan, nan, level, n, "all differences are equal")
    reason = "no query tells the systems apart" if d.error == 0 else ""
    half = t_quantile(level, n - 1) * d.error
    return Interval(d.mean - half, d.mean + half, level, n, reason)


def _column(values: npt.ArrayLike, name: str) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise InputError(f"{name} must be one column, got an array of shape {column.shape}")
    return column


def _check(a: Floats, b: Floats, level: float, alternative: str, resamples: int, power: float) -> None:
    if len(a) != len(b):
        raise InputError(f"baseline and system must have one value a query each, got {len(a)} and {len(b)}")
    n_infinite = int(np.isinf(a).sum() + np.isinf(b).sum())
    if n_infinite:
        raise InputError(f"{n_infinite} of {2 * len(a)} values are infinite; a difference of them says nothing")
    check_level(level)
    if isnan(power) or not 0 < power < 1:
        raise InputError(f"power must lie strictly between 0 and 1, such as 0.8, got {power:g}")
    _check_test(alternative, resamples)


def _check_test(alternative: str, resamples: int) -> None:
    if alternative not in ALTERNATIVES:
        raise InputError(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r}")
    if resamples < 1:
        raise InputError(f"resamples must be at least 1, got {resamples}")
