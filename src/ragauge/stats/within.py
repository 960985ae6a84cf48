"""Correlation inside strata: does the measure follow the grade for the same question?

One idea: only pairs of rows of one stratum are compared, and the sums over pairs (or products of deviations from the
stratum's mean) are added up over strata before they are divided. Differences between strata, such as hard and easy
questions, which can make or break a correlation of all rows, play no part.
"""

from dataclasses import dataclass, fields
from itertools import pairwise
from math import nan

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.association import merge_ties
from ragauge.stats.intervals import Interval, Labels, check_level, cluster_codes, jackknife_interval
from ragauge.stats.jackknife import pairs_within

__all__ = ["WITHIN_COEFFICIENTS", "WithinAssociation", "associate_within"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WITHIN_COEFFICIENTS = ("spearman", "pearson", "tau_b", "gamma", "somers_yx", "somers_xy")
"""Those of `COEFFICIENTS` that are ratios of sums; tau-c, which depends on the number of values, is not."""

_PAIRS = 4_000_000  # looked at together


@dataclass(frozen=True)
class WithinAssociation:
    """Coefficients inside strata.

    Attributes:
        values: For each name of `WITHIN_COEFFICIENTS` the coefficient, -1..1; NaN when undefined.
        intervals: Its interval.
        n: Rows.
        n_strata: Strata.
        n_informative: Strata in which both columns vary.
        reason: Why all are NaN, else "".
    """

    values: dict[str, float]
    intervals: dict[str, Interval]
    n: int
    n_strata: int
    n_informative: int
    reason: str = ""


@dataclass(frozen=True)
class _Sums:
    """Sums over the pairs, or the rows, of each group (a stratum or a query), shape (groups,)."""

    excess: Floats
    decided: Floats
    untied_x: Floats
    untied_y: Floats
    rank_xy: Floats
    rank_xx: Floats
    rank_yy: Floats
    xy: Floats
    xx: Floats
    yy: Floats

    def grouped(self, group: Ints, n_groups: int) -> "_Sums":
        sums = (np.bincount(group, weights=values, minlength=n_groups) for values in self._all())
        return _Sums(*(values.astype(np.float64) for values in sums))

    def without_each(self) -> "_Sums":
        return _Sums(*(values.sum() - values for values in self._all()))

    def _all(self) -> list[Floats]:
        return [getattr(self, field.name) for field in fields(self)]


def associate_within(
    x: npt.ArrayLike, y: npt.ArrayLike, strata: Labels, *, queries: Labels | None = None, level: float = 0.95
) -> WithinAssociation:
    """How two columns move together inside strata.

    With C, D, s_x, s_y (see `associate`) counted over pairs of one stratum and added up over strata: tau-b =
    sum (C - D) / sqrt(sum s_x sum s_y), and so on for gamma and Somers' D. Pearson: deviations from the stratum's
    means; Spearman: mid-ranks inside the stratum, so that a stratum of m rows weighs about m^3. 1 = in every stratum
    the same order, -1 = the reverse, 0 = neither. Undefined (NaN) when a column is constant in every stratum.

    The interval leaves out one query at a time, as `correlation_interval` does.

    Args:
        x: Values, shape (n,), finite.
        y: Values, shape (n,), finite.
        strata: The stratum of each row, shape (n,): the query, or query and embedder.
        queries: The query of each row, when strata are finer than queries; None = a stratum is a query.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: The columns differ in length or hold NaN or infinite values, a stratum has rows of two queries, or
            the level is not in (0, 1).

    >>> found = associate_within([1, 2, 8, 9], [4, 5, 1, 2], ["hard", "hard", "easy", "easy"])
    >>> found.values["tau_b"], found.n_informative
    (1.0, 2)
    """
    check_level(level)
    columns = [np.asarray(values, dtype=np.float64) for values in (x, y)]
    _check(columns)
    stratum = cluster_codes(strata, len(columns[0]), "strata")
    query = stratum if queries is None else cluster_codes(queries, len(stratum), "queries")
    order = np.argsort(stratum, kind="stable")
    sums = _stratum_sums(columns[0][order], columns[1][order], stratum[order])
    return _within(sums, _query_of(stratum, query), len(stratum), level)


def _within(sums: _Sums, query: Ints, n: int, level: float) -> WithinAssociation:
    informative = (sums.untied_x > 0) & (sums.untied_y > 0)
    n_queries = int(query.max(initial=-1)) + 1
    by_query = sums.grouped(query, n_queries)
    pooled = _ratios(by_query.grouped(np.zeros(n_queries, dtype=np.int64), 1))
    values = {name: float(found[0]) for name, found in pooled.items()}
    without = _ratios(by_query.without_each())
    intervals = {name: jackknife_interval(values[name], without[name], level) for name in WITHIN_COEFFICIENTS}
    reason = "" if informative.any() else "a column is constant in every stratum"
    if reason:
        intervals = dict.fromkeys(WITHIN_COEFFICIENTS, Interval(nan, nan, level, n_queries, reason))
        values = dict.fromkeys(WITHIN_COEFFICIENTS, nan)
    return WithinAssociation(values, intervals, n, len(query), int(informative.sum()), reason)


def _ratios(sums: _Sums) -> dict[str, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "spearman": sums.rank_xy / np.sqrt(sums.rank_xx * sums.rank_yy),
            "pearson": sums.xy / np.sqrt(sums.xx * sums.yy),
            "tau_b": sums.excess / np.sqrt(sums.untied_x * sums.untied_y),
            "gamma": sums.excess / sums.decided,
            "somers_yx": sums.excess / sums.untied_x,
            "somers_xy": sums.excess / sums.untied_y,
        }
    defined = (sums.untied_x > 0) & (sums.untied_y > 0)
    return {name: np.where(defined & np.isfinite(v), np.clip(v, -1, 1), nan) for name, v in found.items()}


def _stratum_sums(x: Floats, y: Floats, stratum: Ints) -> _Sums:
    """The sums of each stratum; rows sorted by stratum."""
    sizes = np.bincount(stratum)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = [
        _block_sums(x[ends[a] : ends[b]], y[ends[a] : ends[b]], sizes[a:b])
        for a, b in _runs(sizes.astype(np.int64) ** 2, _PAIRS)
    ]
    if not parts:
        return _Sums(*np.zeros((len(fields(_Sums)), 0)))
    return _Sums(*(np.concatenate(values) for values in zip(*(part._all() for part in parts), strict=True)))


def _block_sums(x: Floats, y: Floats, sizes: Ints) -> _Sums:
    i, j = pairs_within(sizes)
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    ranked_x, ranked_y = merge_ties(x), merge_ties(y)
    sign_x, sign_y = np.sign(ranked_x[i] - ranked_x[j]), np.sign(ranked_y[i] - ranked_y[j])

    def over_pairs(values: Floats) -> Floats:
        return np.bincount(stratum[i], weights=values, minlength=len(sizes)) / 2  # (i, j) and (j, i)

    def over_rows(values: Floats) -> Floats:
        return np.bincount(stratum, weights=values, minlength=len(sizes)).astype(np.float64)

    rank_x, rank_y = (np.bincount(i, weights=sign, minlength=len(x)) / 2 for sign in (sign_x, sign_y))
    x, y = (v - (over_rows(v) / sizes)[stratum] for v in (x, y))
    return _Sums(
        excess=over_pairs(sign_x * sign_y),
        decided=over_pairs(np.abs(sign_x * sign_y)),
        untied_x=over_pairs(np.abs(sign_x)),
        untied_y=over_pairs(np.abs(sign_y)),
        rank_xy=over_rows(rank_x * rank_y),
        rank_xx=over_rows(rank_x**2),
        rank_yy=over_rows(rank_y**2),
        xy=over_rows(x * y),
        xx=over_rows(x**2),
        yy=over_rows(y**2),
    )


def _runs(sizes: Ints, limit: int) -> list[tuple[int, int]]:
    """Runs of strata with about `limit` pairs together."""
    number = np.cumsum(sizes) // limit
    starts = np.flatnonzero(np.concatenate([[True], np.diff(number) != 0])[: len(number)]).tolist()
    return list(pairwise([*starts, len(sizes)]))


def _query_of(stratum: Ints, query: Ints) -> Ints:
    """The query of each stratum."""
    found = np.zeros(int(stratum.max(initial=-1)) + 1, dtype=np.int64)
    found[stratum] = query
    if (found[stratum] != query).any():
        raise InputError("a stratum has rows of two queries; strata must lie inside queries")
    return found


def _check(columns: list[Floats]) -> None:
    shapes = {column.shape for column in columns}
    if len(shapes) > 1 or columns[0].ndim != 1:
        raise InputError(f"x and y must be columns of one length, got shapes {[column.shape for column in columns]}")
    bad = [int((~np.isfinite(column)).sum()) for column in columns]
    if any(bad):
        raise InputError(f"x holds {bad[0]} and y {bad[1]} NaN or infinite values; drop those rows first")
