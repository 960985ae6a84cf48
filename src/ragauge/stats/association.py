"""Correlation of two columns with many ties, from the table of how often each pair of values occurs.

One idea: rank correlations see of n rows no more than the table X[u, g] of their weights, rows sorted by x, columns
by y (u for a distinct x, g for a distinct y). A table costs O(U * G), whatever n is, takes fractional weights, and goes
in batches: leading dimensions of X are replicates (bootstrap, alphas).

All come from sums of signs: with T[u, g] = sum X[u', g'] sgn(u' - u) sgn(g' - g),
concordant minus discordant pairs are C - D = sum X T / 2, and centred mid-ranks are A[u] = sum r[u'] sgn(u - u') / 2.
"""

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Association

__all__ = [
    "COEFFICIENTS",
    "MIN_ROWS",
    "Coefficients",
    "ContingencyTable",
    "Margin",
    "RankSums",
    "associate",
    "merge_ties",
    "rank_coefficient",
    "rank_coefficients",
    "sign_sums",
    "table_association",
    "table_coefficients",
    "tabulate",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COEFFICIENTS = ("spearman", "pearson", "tau_b", "tau_c", "gamma", "somers_yx", "somers_xy")
"""Names of the coefficients, as `Association` and `Coefficients` have them."""

MIN_ROWS = 3
"""Two rows always correlate by -1, 1 or not at all; that says nothing."""

_TIE_BITS = 40  # 2 ** -40 = 9e-13: twelve significant digits


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a batch of tables, each an array of the batch's shape, -1..1, NaN = undefined."""

    spearman: Floats
    pearson: Floats
    tau_b: Floats
    tau_c: Floats
    gamma: Floats
    somers_yx: Floats
    somers_xy: Floats


@dataclass(frozen=True)
class Margin:
    """What rank statistics need of one margin r of each table, arrays of the batch's shape.

    Attributes:
        untied: Pairs of rows that differ in this column: (n^2 - sum r^2) / 2.
        spread: Sum of squares of the centred mid-ranks: (n^3 - sum r^3) / 12.
        n_values: Distinct values.
    """

    untied: Floats
    spread: Floats
    n_values: Floats


@dataclass(frozen=True)
class RankSums:
    """What the rank coefficients of each table are made of, arrays of the batch's shape.

    Attributes:
        n: Weight of the table.
        excess: Concordant less discordant pairs, C - D.
        decided: Pairs that differ in both columns, C + D.
        product: Sum of the products of centred mid-ranks.
        rows: The margin of x.
        columns: The margin of y.
    """

    n: Floats
    excess: Floats
    decided: Floats
    product: Floats
    rows: Margin
    columns: Margin


@dataclass(frozen=True)
class ContingencyTable:
    """How much weight each pair (x value, y value) has.

    Attributes:
        x_values: Distinct x, ascending, shape (U,).
        y_values: Distinct y, ascending, shape (G,).
        cells: Weights, shape (U, G).
        row: For each input row, its index into x_values, shape (n,).
        column: For each input row, its index into y_values, shape (n,).
    """

    x_values: Floats
    y_values: Floats
    cells: Floats
    row: Ints
    column: Ints

    @property
    def why_undefined(self) -> str:
        """Why no coefficient is defined, else ""."""
        if len(self.row) < MIN_ROWS:
            return f"fewer than {MIN_ROWS} rows"
        if len(self.x_values) < 2:
            return "x is constant"
        return "y is constant" if len(self.y_values) < 2 else ""


def associate(x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Association:
    """How two columns move together: Spearman, Pearson, Kendall, Stuart, Goodman and Kruskal, Somers.

    With C concordant and D discordant pairs of rows, and s_x, s_y pairs that differ in x, in y: tau-b = (C - D) /
    sqrt(s_x s_y); tau-c = 2 m (C - D) / (n^2 (m - 1)), m = min(distinct x, distinct y); gamma = (C - D) / (C + D);
    Somers' D of y on x = (C - D) / s_x, of x on y = (C - D) / s_y. Spearman is Pearson's correlation of mid-ranks.

    1 = the same order (Pearson: a rising line), -1 = the reverse order, 0 = neither. tau-b reaches 1 only in square
    tables, tau-c in all. gamma leaves ties out, so the fewer distinct values a column has, the better it looks: never
    compare by it columns that are tied in different places. Somers' D of y on x reads: of two rows that differ in x,
    how much more often y follows than it goes the other way. Undefined (NaN, with the reason) when a column is constant
    or there are fewer than 3 rows; gamma alone also when no pair differs in both columns. Values equal to 12
    significant digits are ties, so that a rounding error in the last bit does not break one.

    Args:
        x: Values, shape (n,), finite.
        y: Values, shape (n,), finite.
        weights: How often each row counts, shape (n,), >= 0, may be fractional; 1 each when not given. Rows of weight
            0 are left out.

    Returns:
        The coefficients, and n = rows of positive weight.

    Raises:
        InputError: The columns differ in length, or hold NaN or infinite values, or a weight is negative.

    Source:
        Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945), doi:10.1093/biomet/33.3.239.
        Stuart, "The estimation and comparison of strengths of association in contingency tables",
        Biometrika 40 (1953), doi:10.2307/2333101. Goodman and Kruskal, "Measures of association for cross
        classifications", JASA 49 (1954), doi:10.1080/01621459.1954.10501231. Somers, "A new asymmetric measure of
        association for ordinal variables", American Sociological Review 27 (1962), doi:10.2307/2090408.

    >>> print(associate([0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 5]))
    Spearman 0.894, Pearson 0.918, tau-b 0.846, tau-c 0.815, n = 6
    """
    return table_association(tabulate(x, y, weights))


def table_association(table: ContingencyTable) -> Association:
    """`associate` of a table that is already there."""
    if table.why_undefined:
        return Association(nan, nan, nan, nan, nan, nan, nan, len(table.row), table.why_undefined)
    found = table_coefficients(table.x_values, table.y_values, table.cells)
    return Association(
        spearman=float(found.spearman),
        pearson=float(found.pearson),
        tau_b=float(found.tau_b),
        tau_c=float(found.tau_c),
        gamma=float(found.gamma),
        somers_yx=float(found.somers_yx),
        somers_xy=float(found.somers_xy),
        n=len(table.row),
    )


def tabulate(x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> ContingencyTable:
    """The contingency table of two columns, ties merged as `merge_ties` does, rows of weight 0 left out.

    Args and Raises as for `associate`.
    """
    x_column, y_column = _finite(x, "x"), _finite(y, "y")
    weight = np.ones(len(x_column)) if weights is None else _finite(weights, "weights")
    if not len(x_column) == len(y_column) == len(weight):
        raise InputError(
            f"x, y and weights must be equally long, got {len(x_column)}, {len(y_column)} and {len(weight)} values"
        )
    if (weight < 0).any():
        raise InputError(f"weights must not be negative, got {weight.min():g}")
    kept = weight > 0
    x_values, row = _distinct(x_column[kept])
    y_values, column = _distinct(y_column[kept])
    shape = (len(x_values), len(y_values))
    cells = np.bincount(row * shape[1] + column, weights=weight[kept], minlength=shape[0] * shape[1])
    return ContingencyTable(x_values, y_values, cells.reshape(shape).astype(np.float64), row, column)


def _distinct(values: Floats) -> tuple[Floats, Ints]:
    """One of each set of tied values, as it was given, ascending; and for each value the index of its set."""
    _, first, inverse = np.unique(merge_ties(values), return_index=True, return_inverse=True)
    return values[first], inverse


def merge_ties(values: Floats) -> Floats:
    """`values` with 40 significant bits (12 decimal digits): what differs by a rounding error becomes equal.

    Binary, not decimal, digits: a fraction with a small denominator is never near a boundary between two of them.

    >>> bool(np.diff(merge_ties(np.array([0.1 + 0.2, 0.3])))[0] == 0)
    True
    """
    mantissa, exponent = np.frexp(values)
    merged: Floats = np.ldexp(np.rint(np.ldexp(mantissa, _TIE_BITS)), exponent - _TIE_BITS)
    return merged


def table_coefficients(x_values: Floats, y_values: Floats, cells: Floats) -> Coefficients:
    """The coefficients of each table of a batch.

    Args:
        x_values: Ascending, shape (U,) or (..., U); only Pearson reads more than their order.
        y_values: Ascending, shape (G,) or (..., G).
        cells: Weights, shape (..., U, G), >= 0; empty rows and columns do no harm.

    Returns:
        Arrays of the leading shape; NaN where fewer than two rows or two columns of a table hold anything.
    """
    rows, columns = cells.sum(-1), cells.sum(-2)
    n = rows.sum(-1)
    row_ranks, column_ranks = _midranks(rows), _midranks(columns)
    sums = RankSums(
        n=n,
        excess=(cells * sign_sums(sign_sums(cells, -2), -1)).sum((-1, -2)) / 2,
        decided=(n**2 - (rows**2).sum(-1) - (columns**2).sum(-1) + (cells**2).sum((-1, -2))) / 2,
        product=np.einsum("...u,...ug,...g->...", row_ranks, cells, column_ranks),
        rows=_margin(rows, row_ranks, n),
        columns=_margin(columns, column_ranks, n),
    )
    x, y = _centred(x_values, rows), _centred(y_values, columns)
    spreads = (rows * x**2).sum(-1) * (columns * y**2).sum(-1)
    return rank_coefficients(sums, pearson=_ratio(np.einsum("...u,...ug,...g->...", x, cells, y), np.sqrt(spreads)))


def rank_coefficients(sums: RankSums, *, pearson: Floats) -> Coefficients:
    """The coefficients from their sums; Pearson's, which has none of them in common, is passed through.

    Returns:
        Arrays of the batch's shape; NaN where a column has fewer than two values.
    """
    found = {name: rank_coefficient(sums, name) for name in COEFFICIENTS if name != "pearson"}
    varied = np.minimum(sums.rows.n_values, sums.columns.n_values) > 1
    return Coefficients(**found, pearson=np.where(varied, _within_one(pearson), nan))


def rank_coefficient(sums: RankSums, name: str) -> Floats:
    """One of the coefficients other than Pearson's, from their sums; NaN where a column has fewer than two values."""
    if name == "spearman":
        return _within_one(_ratio(sums.product, np.sqrt(sums.rows.spread * sums.columns.spread)))
    if name == "tau_c":
        m = np.minimum(sums.rows.n_values, sums.columns.n_values)
        return _within_one(_ratio(2 * sums.excess * m, sums.n**2 * (m - 1)))
    if name == "tau_b":
        below = np.sqrt(sums.rows.untied * sums.columns.untied)
    else:
        both = (sums.rows.untied > 0) & (sums.columns.untied > 0)
        untied = {"gamma": sums.decided, "somers_yx": sums.rows.untied, "somers_xy": sums.columns.untied}[name]
        below = np.where(both, untied, 0.0)
    return _within_one(_ratio(sums.excess, below))


def _within_one(values: Floats) -> Floats:
    """Without the last bit by which rounding takes a coefficient past -1 or 1; NaN stays."""
    return np.maximum(np.minimum(values, 1.0), -1.0)


def sign_sums(values: Floats, axis: int = -1) -> Floats:
    """Along `axis`, at each i: sum over j of values[j] * sgn(j - i), that is what lies above less what lies below."""
    sums: Floats = values.sum(axis, keepdims=True) - 2 * values.cumsum(axis) + values
    return sums


def _midranks(margin: Floats) -> Floats:
    """Mid-rank of each value, less the mean mid-rank."""
    return -sign_sums(margin) / 2


def _centred(values: Floats, margin: Floats) -> Floats:
    """Values less their weighted mean."""
    mean = _ratio((values * margin).sum(-1), margin.sum(-1))
    return values - mean[..., None]


def _margin(margin: Floats, ranks: Floats, n: Floats) -> Margin:
    """`ranks` are the centred mid-ranks: their squares sum to (n^3 - sum r^3) / 12 without cancellation."""
    untied = (n**2 - (margin**2).sum(-1)) / 2
    return Margin(untied, (margin * ranks**2).sum(-1), (margin > 0).sum(-1).astype(np.float64))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient; NaN where the denominator is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, nan)


def _finite(values: npt.ArrayLike, name: str) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise InputError(f"{name} must be one column, got an array of shape {column.shape}")
    bad = int((~np.isfinite(column)).sum())
    if bad:
        raise InputError(f"{name} holds {bad} NaN or infinite values among {len(column)}; drop those rows first")
    return column
