"""The difference of two correlations that share the grade, by formula, where rows are independent.

One idea: three correlations and n are all that the classical tests need, as long as each row is another query. With 9
rows a query that share a third of their variance or more, they call 10 to 30 % of equal pairs different at the 5 %
level (simulated). `compare_independent_rows` therefore refuses a query that comes twice; `compare_correlations` (the
jackknife over queries) takes any rows.
"""

from dataclasses import replace
from math import atanh, inf, isnan, nan, sqrt, tanh
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.association import associate
from ragauge.stats.difference import MIN_COMPARED, CorrelationDifference, alike, not_compared, tested
from ragauge.stats.intervals import Interval, Labels, check_level, cluster_codes, t_quantile

__all__ = ["compare_independent_rows", "dependent_test", "zou_interval"]

Method = Literal["williams", "steiger", "meng"]

_EXACT = 1e-12  # a correlation this near to 1 is 1 but for a rounding error


def compare_independent_rows(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    grade: npt.ArrayLike,
    queries: Labels,
    *,
    coefficient: Literal["pearson", "spearman"] = "pearson",
    method: Method = "williams",
    level: float = 0.95,
) -> CorrelationDifference:
    """The classical tests on rows, one row a query: inside one data set, one embedder and one K, for example.

    Args:
        first: Values of the first measure, shape (n,), finite.
        second: Values of the second on the same rows, shape (n,), finite.
        grade: Grades of the same rows, shape (n,), finite.
        queries: The query of each row, shape (n,), all different.
        coefficient: "pearson", for which the formulas are made, or "spearman", for which they are a little liberal
            (6 % instead of 5 %).
        method: As in `dependent_test`.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The difference; interval and p are NaN, with the reason, when a column is constant, or there are fewer than 20
        rows, or a correlation is exactly -1 or 1.

    Raises:
        InputError: A query has more than one row, the columns differ in length or hold NaN or infinite values, or the
            coefficient or method is unknown.

    Source:
        As in `dependent_test`.
    """
    if coefficient not in ("pearson", "spearman"):
        raise InputError(f"coefficient must be 'pearson' or 'spearman', got {coefficient!r}; others: the jackknife")
    pairs = [associate(first, grade), associate(second, grade), associate(first, second)]
    rows = pairs[0].n
    n_queries = len(np.unique(cluster_codes(queries, rows, "queries")))
    if n_queries < rows:
        raise InputError(
            f"{rows} rows of {n_queries} queries: {method!r} needs independent rows, one a query; "
            "use compare_correlations, the jackknife over queries"
        )
    r_first, r_second, r_between = (float(getattr(found, coefficient)) for found in pairs)
    record = not_compared(coefficient, r_first, r_second, rows, level, method)
    undefined = [found.reason for found in pairs if found.reason]
    if undefined:
        return replace(record, reason=undefined[0])
    if rows < MIN_COMPARED:
        return replace(record, reason=f"too few: {rows} queries; a comparison needs {MIN_COMPARED}")
    return dependent_test(r_first, r_second, r_between, rows, method=method, level=level, coefficient=coefficient)


def dependent_test(
    first: float,
    second: float,
    between: float,
    n: int,
    *,
    method: Method = "williams",
    level: float = 0.95,
    coefficient: str = "pearson",
) -> CorrelationDifference:
    """Whether two correlations with the same grade differ, from the correlations alone, rows independent.

    With a = r(first, grade), b = r(second, grade), c = r(first, second), z = atanh r and m = (a + b) / 2:
    - "williams": t = (a - b) sqrt((n-1)(1+c) / (2 (n-1)/(n-3) D + m^2 (1-c)^3)), D = 1 - a^2 - b^2 - c^2 + 2abc,
      n - 3 degrees of freedom.
    - "steiger": Z = (z_a - z_b) sqrt((n-3) / (2 - 2s)), s = (c (1-2m^2) - m^2 (1-2m^2-c^2) / 2) / (1-m^2)^2.
    - "meng": Z = (z_a - z_b) sqrt((n-3) / (2 (1-c) h)), h = (1 - f q) / (1 - q), q = (a^2 + b^2) / 2,
      f = min(1, (1-c) / (2 (1-q))).

    Args:
        first: Correlation of the first measure with the grade, -1..1.
        second: Correlation of the second measure with the grade, -1..1.
        between: Correlation of the two measures, -1..1.
        n: Independent rows, 4 or more.
        method: Which of the three.
        level: Confidence level of the interval, which is that of `zou_interval` for all three.
        coefficient: Name, for the record.

    Returns:
        The difference; p and interval are NaN, with the reason, where a correlation is exactly -1 or 1. Two measures
        that correlate with each other by 1 differ by 0 for certain, p = 1.

    Raises:
        InputError: A correlation is outside -1..1, no three columns can have these three correlations, n is below 4, or
            the method is unknown.

    Source:
        Williams, "The comparison of regression variables", JRSS B 21 (1959),
        doi:10.1111/j.2517-6161.1959.tb00346.x. Steiger, "Tests for comparing elements of a correlation matrix",
        Psychological Bulletin 87 (1980), doi:10.1037/0033-2909.87.2.245. Meng, Rosenthal and Rubin, "Comparing
        correlated correlation coefficients", Psychological Bulletin 111 (1992), doi:10.1037/0033-2909.111.1.172.

    >>> print(dependent_test(0.5, 0.3, 0.6, 103))
    pearson 0.500 against 0.300, n = 103: +0.200 [0.044, 0.359], p = 0.0117 (williams)
    """
    if method not in _STATISTICS:
        raise InputError(f"method must be one of {', '.join(_STATISTICS)}, got {method!r}")
    _check_correlations(first, second, between, n)
    degrees = n - 3 if method == "williams" else inf
    record = not_compared(coefficient, first, second, n, level, method, degrees=degrees)
    if 1 - between < _EXACT and abs(first - second) < _EXACT:
        return alike(record)
    if max(abs(first), abs(second), abs(between)) > 1 - _EXACT:
        return replace(record, reason="a correlation is exactly -1 or 1")
    interval = zou_interval(first, second, between, n, level=level)
    found = tested(record, _STATISTICS[method](first, second, between, n))
    return replace(found, low=interval.low, high=interval.high)


def zou_interval(first: float, second: float, between: float, n: int, *, level: float = 0.95) -> Interval:
    """The interval of the difference of two correlations with the same grade, rows independent.

    It joins the Fisher intervals (l, u) of the two: low = d - sqrt((a - l_a)^2 + (u_b - b)^2 - 2 k (a - l_a)(u_b - b)),
    high mirrored, where k = ((c - ab / 2)(1 - a^2 - b^2 - c^2) + c^3) / ((1 - a^2)(1 - b^2)) is the correlation of the
    two errors. -2..2; it holds 0 when the two may be equal.

    Args and Raises as for `dependent_test`; NaN bounds, with the reason, where `first` or `second` is exactly -1 or 1.

    Source:
        Zou, "Toward using confidence intervals to compare correlations", Psychological Methods 12 (2007),
        doi:10.1037/1082-989X.12.4.399.

    >>> interval = zou_interval(0.5, 0.3, 0.6, 103)
    >>> round(interval.low, 6), round(interval.high, 6)
    (0.04427, 0.359335)
    """
    check_level(level)
    _check_correlations(first, second, between, n)
    if max(abs(first), abs(second)) > 1 - _EXACT:
        return Interval(nan, nan, level, n, "a correlation is exactly -1 or 1")
    down_a, up_a = _fisher_arms(first, n, level)
    down_b, up_b = _fisher_arms(second, n, level)
    squares = first**2 + second**2 + between**2
    k = (between - first * second / 2) * (1 - squares) + between**3
    k /= (1 - first**2) * (1 - second**2)
    d = first - second
    return Interval(d - _joined(down_a, up_b, k), d + _joined(up_a, down_b, k), level, n)


def _fisher_arms(r: float, n: int, level: float) -> tuple[float, float]:
    """How far the Fisher interval of r reaches down and up."""
    half = t_quantile(level, inf) / sqrt(n - 3)
    return r - tanh(atanh(r) - half), tanh(atanh(r) + half) - r


def _joined(one: float, other: float, k: float) -> float:
    return sqrt(max(0.0, one**2 + other**2 - 2 * k * one * other))


def _williams(a: float, b: float, c: float, n: int) -> float:
    below = 2 * (n - 1) / (n - 3) * _determinant(a, b, c) + ((a + b) / 2) ** 2 * (1 - c) ** 3
    return (a - b) * sqrt((n - 1) * (1 + c) / below)


def _steiger(a: float, b: float, c: float, n: int) -> float:
    m2 = ((a + b) / 2) ** 2
    s = (c * (1 - 2 * m2) - m2 * (1 - 2 * m2 - c**2) / 2) / (1 - m2) ** 2
    return (atanh(a) - atanh(b)) * sqrt((n - 3) / (2 - 2 * s))


def _meng(a: float, b: float, c: float, n: int) -> float:
    q = (a**2 + b**2) / 2
    f = min(1.0, (1 - c) / (2 * (1 - q)))
    return (atanh(a) - atanh(b)) * sqrt((n - 3) / (2 * (1 - c) * (1 - f * q) / (1 - q)))


_STATISTICS = {"williams": _williams, "steiger": _steiger, "meng": _meng}


def _determinant(a: float, b: float, c: float) -> float:
    """Of the correlation matrix; negative when no three columns can have these correlations."""
    return 1 - a**2 - b**2 - c**2 + 2 * a * b * c


def _check_correlations(first: float, second: float, between: float, n: int) -> None:
    three = f"{first:g}, {second:g} and {between:g}"
    if not max(abs(first), abs(second), abs(between)) <= 1 or isnan(first + second + between):
        raise InputError(f"correlations lie in -1..1, got {three}")
    if _determinant(first, second, between) < -_EXACT:
        raise InputError(f"no three columns have the correlations {three}")
    if n < 4:
        raise InputError(f"n must be 4 rows or more, got {n}")
