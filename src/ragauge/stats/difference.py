"""Which of two measures follows the grade better: the difference of two correlations that share the grade.

One idea: both correlations come from the same queries, so their errors go together, and what counts is the error of the
difference. It is taken from the differences with one query left out at a time, which holds for all coefficients,
whatever rows of one query share.
"""

from dataclasses import dataclass, replace
from math import inf, isnan, nan, sqrt

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.association import COEFFICIENTS, table_association, tabulate
from ragauge.stats.intervals import Labels, check_level, cluster_codes, t_quantile
from ragauge.stats.jackknife import leave_one_out

__all__ = [
    "MIN_COMPARED",
    "CorrelationDifference",
    "alike",
    "compare_correlations",
    "jackknife_difference",
    "not_compared",
    "tested",
]

Floats = npt.NDArray[np.float64]

MIN_COMPARED = 20
"""Fewest queries on which two measures are compared."""

_SAME = 1e-12  # differences this small are rounding errors: the measures order the rows alike


@dataclass(frozen=True)
class CorrelationDifference:
    """How much better one measure follows the grade than another.

    Attributes:
        coefficient: "spearman", "pearson", "tau_b", ...
        first: Correlation of the first measure with the grade.
        second: Correlation of the second measure with the grade.
        difference: first - second, -2..2; above 0 the first follows the grade better.
        low: Lower bound of the interval of the difference; NaN when there is none.
        high: Upper bound.
        level: Confidence level of the interval.
        error: Standard error of the difference; NaN for the formulas, which have none.
        statistic: What p is read from: t, or z when `degrees` is infinite.
        degrees: Degrees of freedom of the t distribution.
        p: Chance of a difference at least this large, either way, if there were none.
        n: Queries (or independent rows) it rests on.
        method: "jackknife", "williams", "steiger" or "meng"; the last three have the interval of Zou.
        reason: Why there is no interval and no p, else "".
    """

    coefficient: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    level: float
    error: float
    statistic: float
    degrees: float
    p: float
    n: int
    method: str
    reason: str = ""

    def __str__(self) -> str:
        pair = f"{self.coefficient} {self.first:.3f} against {self.second:.3f}, n = {self.n}"
        if self.reason:
            return f"{pair}: not compared ({self.reason})"
        return f"{pair}: {self.difference:+.3f} [{self.low:.3f}, {self.high:.3f}], p = {self.p:.3g} ({self.method})"


def compare_correlations(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    grade: npt.ArrayLike,
    queries: Labels,
    *,
    coefficient: str = "spearman",
    level: float = 0.95,
    min_queries: int = MIN_COMPARED,
) -> CorrelationDifference:
    """Whether the first measure correlates with the grade more than the second, when rows of one query belong together.

    Delete-one-query jackknife: d = r(first, grade) - r(second, grade), d_(q) the same without query q,
    se^2 = (Q - 1) / Q * sum (d_(q) - mean)^2, t = d / se with Q - 1 degrees of freedom, interval d +- t_{Q-1} se.
    0 = the two follow the grade equally. Two measures that order the rows alike differ by 0 for certain, p = 1.

    Args:
        first: Values of the first measure, shape (n,), finite.
        second: Values of the second on the same rows, shape (n,), finite.
        grade: Grades of the same rows, shape (n,), finite.
        queries: The query of each row, shape (n,).
        coefficient: A name of `COEFFICIENTS`.
        level: Confidence level, strictly between 0 and 1.
        min_queries: Fewer than this are too few.

    Returns:
        The difference; interval and p are NaN, with the reason, when a column is constant (or becomes so when one
        query is left out), or there are fewer than `min_queries` queries.

    Raises:
        InputError: The columns differ in length or hold NaN or infinite values, the coefficient is unknown, the level
            is not in (0, 1), or `min_queries` is below 2.

    Source:
        Efron and Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981),
        doi:10.1214/aos/1176345462.

    >>> queries = range(8)
    >>> first, second = (0, 0, 1, 1, 2, 3, 2, 1), (0, 1, 1, 0, 2, 2, 3, 1)
    >>> print(compare_correlations(first, second, (1, 2, 2, 3, 3, 5, 4, 1), queries, min_queries=8))
    spearman 0.824 against 0.660, n = 8: +0.164 [-0.326, 0.653], p = 0.456 (jackknife)
    """
    if coefficient not in COEFFICIENTS:
        raise InputError(f"coefficient must be one of {', '.join(COEFFICIENTS)}, got {coefficient!r}")
    tables = [tabulate(values, grade) for values in (first, second)]
    codes = cluster_codes(queries, len(tables[0].row), "queries")
    whole = [table_association(table) for table in tables]
    r_first, r_second = (float(getattr(found, coefficient)) for found in whole)
    undefined = [found.reason for found in whole if found.reason]
    if undefined:
        n = int(codes.max(initial=-1)) + 1
        return not_compared(coefficient, r_first, r_second, n, level, "jackknife", reason=undefined[0])
    without = [getattr(leave_one_out(table, codes), coefficient) for table in tables]
    return jackknife_difference(
        r_first, r_second, *without, coefficient=coefficient, level=level, min_queries=min_queries
    )


def jackknife_difference(
    first: float,
    second: float,
    without_first: Floats,
    without_second: Floats,
    *,
    coefficient: str = "spearman",
    level: float = 0.95,
    min_queries: int = MIN_COMPARED,
) -> CorrelationDifference:
    """`compare_correlations` from coefficients that are already there.

    Args:
        first: The coefficient of the first measure over all rows.
        second: The coefficient of the second.
        without_first: The first's coefficient without each query, shape (Q,), as `leave_one_out` gives it.
        without_second: The second's, shape (Q,).
        coefficient: Its name, for the record.
        level: Confidence level, strictly between 0 and 1.
        min_queries: Fewer than this are too few.

    Raises:
        InputError: The two arrays differ in length, the level is not in (0, 1), or `min_queries` is below 2.
    """
    check_level(level)
    if len(without_first) != len(without_second):
        raise InputError(f"both need one value a query, got {len(without_first)} and {len(without_second)}")
    if min_queries < 2:
        raise InputError(f"min_queries must be 2 or more, got {min_queries}")
    n = len(without_first)
    record = not_compared(coefficient, first, second, n, level, "jackknife", degrees=n - 1)
    change = without_first - without_second
    if not np.isfinite(change).all() or isnan(record.difference):
        return replace(record, reason="a coefficient is undefined, or hangs on a single query")
    if n < min_queries:
        return replace(record, reason=f"too few: {n} queries; a comparison needs {min_queries}")
    if max(abs(record.difference), float(np.abs(change).max())) < _SAME:
        return alike(record)
    error = sqrt((n - 1) / n * float(((change - change.mean()) ** 2).sum()))
    if error < _SAME:
        return replace(record, error=0.0, reason="the difference is the same without any one query")
    half = t_quantile(level, n - 1) * error
    d = record.difference
    return replace(tested(record, d / error), low=d - half, high=d + half, error=error)


def not_compared(
    coefficient: str,
    first: float,
    second: float,
    n: int,
    level: float,
    method: str,
    *,
    degrees: float = nan,
    reason: str = "",
) -> CorrelationDifference:
    """The record before anything is known but the two correlations."""
    return CorrelationDifference(
        coefficient=coefficient,
        first=first,
        second=second,
        difference=first - second,
        low=nan,
        high=nan,
        level=level,
        error=nan,
        statistic=nan,
        degrees=degrees,
        p=nan,
        n=n,
        method=method,
        reason=reason,
    )


def alike(record: CorrelationDifference) -> CorrelationDifference:
    """Two measures that order the rows alike."""
    return replace(record, difference=0.0, low=0.0, high=0.0, error=0.0, statistic=0.0, p=1.0)


def tested(record: CorrelationDifference, statistic: float) -> CorrelationDifference:
    """The record with its two-sided p, from t with the record's degrees of freedom, normal when they are infinite."""
    from scipy.special import ndtr, stdtr  # here, because `import ragauge` must stay quick

    tail = ndtr(-abs(statistic)) if record.degrees == inf else stdtr(record.degrees, -abs(statistic))
    return replace(record, statistic=statistic, p=float(2 * tail))
