"""The coefficients with one query left out at a time, exactly, without a table for each query.

Leaving a query out takes its few cells d off the table X. Counts of pairs are bilinear in the table and the numerator
of Spearman is trilinear, so what changes is a sum over the query's own rows and over pairs of them: O(U * G) once, then
O(m^2) for a query of m rows, instead of O(U * G) for each query. Queries of one row in the same cell are done once.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.stats.association import Coefficients, ContingencyTable, Margin, RankSums, rank_coefficients, sign_sums
from ragauge.stats.kinds import QueryKinds, query_kinds

__all__ = ["Jackknife", "jackknife", "leave_one_out", "pairs_within"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Entries:
    """Each query's cells, each once, sorted by query: row, column, weight. The last query has none."""

    query: Ints
    row: Ints
    column: Ints
    weight: Floats
    n_queries: int

    def total(self, values: Floats) -> Floats:
        """Weighted sum of `values` (one an entry) over each query."""
        return np.bincount(self.query, weights=self.weight * values, minlength=self.n_queries).astype(np.float64)


@dataclass(frozen=True)
class _Within:
    """For each entry i, sums over the entries j of its own query (signs of i less j)."""

    row: Floats
    column: Floats
    both: Floats
    crossed: Floats


@dataclass(frozen=True)
class Jackknife:
    """The coefficients of a table.

    Attributes:
        whole: Over all rows, one number each.
        without: Over the rows of all queries but one, shape (Q,) each.
    """

    whole: Coefficients
    without: Coefficients


def leave_one_out(table: ContingencyTable, query: Ints) -> Coefficients:
    """Each coefficient over the rows of all queries but one.

    Args:
        table: The table of all rows, each of weight 1.
        query: For each row of the table, the number of its query, 0..Q-1, each at least once; shape (n,).

    Returns:
        Arrays of shape (Q,), entry q without query q; NaN where the rest has a constant column.
    """
    return jackknife(table, query).without


def jackknife(table: ContingencyTable, query: Ints) -> Jackknife:
    """`leave_one_out`, and the coefficients over all rows, which are those without a query that has no row.

    Args as for `leave_one_out`.
    """
    kinds = query_kinds(table.row * table.cells.shape[1] + table.column, query, table.cells.size)
    entries = _entries(table, kinds)
    cells = table.cells
    n = cells.sum() - entries.total(np.ones(len(entries.weight)))
    rows = _margin(cells.sum(1), entries.row, entries, n)
    columns = _margin(cells.sum(0), entries.column, entries, n)
    excess, product = _rank_numerators(cells, entries)
    squares = (cells**2).sum() + entries.total(entries.weight - 2 * cells[entries.row, entries.column])
    decided = rows.untied + columns.untied - (n**2 - squares) / 2
    sums = RankSums(n, excess, decided, product, rows, columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = vars(rank_coefficients(sums, pearson=_pearson(table, entries)))
    return Jackknife(
        whole=Coefficients(**{name: values[-1] for name, values in found.items()}),
        without=Coefficients(**{name: values[kinds.of_query] for name, values in found.items()}),
    )


def _entries(table: ContingencyTable, kinds: QueryKinds) -> _Entries:
    n_rows, n_columns = table.cells.shape
    if len(kinds.kept) == len(kinds.counts):  # one row each, no two in one cell
        by_kind = np.empty_like(kinds.kept)
        by_kind[kinds.of_kept] = kinds.kept
        number = np.arange(len(by_kind))
        return _Entries(number, table.row[by_kind], table.column[by_kind], np.ones(len(number)), len(number) + 1)
    cell = table.row[kinds.kept] * n_columns + table.column[kinds.kept]
    found, count = np.unique(kinds.of_kept * (n_rows * n_columns) + cell, return_counts=True)
    of_query, cell = np.divmod(found, n_rows * n_columns)
    row, column = np.divmod(cell, n_columns)
    return _Entries(of_query, row, column, count.astype(np.float64), len(kinds.counts) + 1)


def _margin(margin: Floats, index: Ints, entries: _Entries, n: Floats) -> Margin:
    """The margin after each query's share is off it."""
    query, value, share = entries.query, index, entries.weight
    if len(query) >= entries.n_queries:  # else one entry each
        found, inverse = np.unique(query * len(margin) + value, return_inverse=True)
        share = np.bincount(inverse, weights=share).astype(np.float64)
        query, value = np.divmod(found, len(margin))
    whole, rest = margin[value], margin[value] - share
    changes = [rest**2 - whole**2, rest**3 - whole**3, -(rest == 0).astype(np.float64)]
    start = [(margin**2).sum(), (margin**3).sum(), float((margin > 0).sum())]
    sums = (np.bincount(query, weights=change, minlength=entries.n_queries) for change in changes)
    squares, cubes, n_values = (first + change for first, change in zip(start, sums, strict=True))
    return Margin((n**2 - squares) / 2, (n**3 - cubes) / 12, n_values)


def _rank_numerators(cells: Floats, entries: _Entries) -> tuple[Floats, Floats]:
    """C - D, and sum X A B with centred mid-ranks A and B, without each query.

    With X - d, A - a, B - b for the table and mid-ranks without the query:
    sum (X-d)(A-a)(B-b) = sum XAB - sum XaB - sum XAb + sum Xab - sum d(A-a)(B-b).
    """
    row, column = entries.row, entries.column
    signs = sign_sums(sign_sums(cells, 0), 1)
    within = _within(signs, entries)
    a, b = -sign_sums(cells.sum(1)) / 2, -sign_sums(cells.sum(0)) / 2
    of_rows, of_columns = sign_sums(cells @ b) / 2, sign_sums(a @ cells) / 2
    excess = (cells * signs).sum() / 2 - entries.total(signs[row, column] - within.both / 2)
    gone = of_rows[row] + of_columns[column] - within.crossed / 4
    gone += (a[row] - within.row / 2) * (b[column] - within.column / 2)
    return excess, a @ cells @ b - entries.total(gone)


def _within(signs: Floats, entries: _Entries) -> _Within:
    i, j = pairs_within(np.bincount(entries.query, minlength=entries.n_queries))
    by_row = np.sign(entries.row[i] - entries.row[j])
    by_column = np.sign(entries.column[i] - entries.column[j])
    crossed = signs[entries.row[i], entries.column[j]]
    weight = entries.weight[j]
    terms = (by_row, by_column, by_row * by_column, crossed)
    return _Within(*(np.bincount(i, weights=weight * term).astype(np.float64) for term in terms))


def pairs_within(sizes: Ints) -> tuple[Ints, Ints]:
    """All ordered pairs (i, j) of entries of one group, i = j included, i ascending; entries sorted by group."""
    partners = np.repeat(sizes, sizes)
    i = np.repeat(np.arange(len(partners)), partners)
    first_pair = np.cumsum(partners) - partners
    first_entry = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return i, np.arange(len(i)) - np.repeat(first_pair - first_entry, partners)


def _pearson(table: ContingencyTable, entries: _Entries) -> Floats:
    """From sums of powers, less each query's own; centred first, so that little cancels."""
    rows, columns = table.cells.sum(1), table.cells.sum(0)
    x = table.x_values - table.x_values @ rows / rows.sum()
    y = table.y_values - table.y_values @ columns / columns.sum()
    x_entry, y_entry = x[entries.row], y[entries.column]
    n = rows.sum() - entries.total(np.ones(len(entries.weight)))
    sum_x, sum_y = -entries.total(x_entry), -entries.total(y_entry)
    xx = rows @ x**2 - entries.total(x_entry**2) - sum_x**2 / n
    yy = columns @ y**2 - entries.total(y_entry**2) - sum_y**2 / n
    xy = x @ table.cells @ y - entries.total(x_entry * y_entry) - sum_x * sum_y / n
    return np.asarray(xy / np.sqrt(xx * yy))
