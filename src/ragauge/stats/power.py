"""What a paired t test can find: exact, by the noncentral t distribution.

With difference delta and standard error se, the t statistic is noncentral t with ncp = delta / se and n - 1 degrees
of freedom, and the test at level a finds it when |t| > t_{n-1}(1 - a/2).
"""

from collections.abc import Callable
from math import nan, sqrt

from ragauge.errors import InputError

__all__ = ["detectable_difference", "paired_power", "units_needed"]

_LARGE = 1e8  # from so many units on, the t quantile is the normal one to 8 digits


def paired_power(difference: float, sd: float, n: float, tail: float = 0.05) -> float:
    """Chance that a two-sided paired t test at level `tail` finds a true mean difference.

    Args:
        difference: The true mean difference; its sign does not matter.
        sd: Standard deviation of the differences, > 0.
        n: Pairs, at least 2; it may be fractional.
        tail: Level of the test, strictly between 0 and 1. For a one-sided test at level a give 2a.

    Returns:
        The power: `tail` when the difference is 0, up to 1.

    Raises:
        InputError: An argument is outside what is allowed.

    >>> round(paired_power(0.05, 0.25, 198.15), 4)
    0.8
    """
    if not (sd > 0 and n >= 2 and 0 < tail < 1):
        raise InputError(f"power needs sd > 0, n >= 2 and a level in (0, 1), got {sd:g}, {n:g} and {tail:g}")
    return _power(abs(difference) * sqrt(n) / sd, n - 1, tail)


def detectable_difference(error: float, n: int, tail: float = 0.05, power: float = 0.8) -> float:
    """The smallest true mean difference that a comparison as precise as this one finds with the given power.

    Args:
        error: Standard error of the mean difference.
        n: Pairs (or clusters) it rests on.
        tail: Level of the two-sided test.
        power: Chance to find it.

    Returns:
        The difference, > 0; NaN when there are fewer than two pairs, or all differences are equal.

    >>> round(detectable_difference(0.25 / 198.15**0.5, 198), 4)
    0.05
    """
    if n < 2 or not error > 0:
        return nan
    high = 1.0
    while _power(high, n - 1, tail) < power:
        high *= 2
    return error * _root(lambda ncp: _power(ncp, n - 1, tail) - power, 0.0, high)


def units_needed(difference: float, sd: float, tail: float = 0.05, power: float = 0.8) -> float:
    """How many pairs it takes to find a true mean difference with the given power.

    About (z_{1-a/2} + z_power)^2 sd^2 / difference^2 + 2; here by the noncentral t.

    Args:
        difference: The true mean difference; its sign does not matter.
        sd: Standard deviation of the differences.
        tail: Level of the two-sided test.
        power: Chance to find it.

    Returns:
        A number of pairs, at least 2, not rounded; NaN when the difference is 0 (no number would do) or sd is not
        positive (nobody knows).

    >>> round(units_needed(0.05, 0.25), 2)
    198.15
    """
    if not (abs(difference) > 0 and sd > 0):
        return nan
    from scipy.special import ndtri  # here, because `import ragauge` must stay quick

    by_normal = float((ndtri(1 - tail / 2) + ndtri(power)) * sd / difference) ** 2
    if by_normal > _LARGE:
        return by_normal
    high = max(4.0, 2 * by_normal)
    while _power(abs(difference) * sqrt(high) / sd, high - 1, tail) < power:
        high *= 2
    return _root(lambda n: _power(abs(difference) * sqrt(n) / sd, n - 1, tail) - power, 2.0, high)


def _power(ncp: float, degrees: float, tail: float) -> float:
    from scipy.special import nctdtr, stdtrit

    critical = stdtrit(degrees, 1 - tail / 2)
    return float(1 - nctdtr(degrees, ncp, critical) + nctdtr(degrees, ncp, -critical))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function passes 0, by halving; `low` when it is above 0 from there on."""
    for _ in range(100):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return high
