"""Bootstrap over queries: whole queries are drawn with replacement, their rows with them.

One idea: a replicate is a weight for each query, and statistics see of rows only the cells (state, grade) they fall
in. So a batch of replicates is the product of two matrices, weights of queries (replicates x queries) and rows of each
query in each cell (queries x cells). Queries with the same cells are one kind: their weights are drawn together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.association import COEFFICIENTS, table_coefficients, tabulate
from ragauge.stats.intervals import Labels, cluster_codes
from ragauge.stats.kinds import query_kinds

__all__ = ["QueryCells", "bootstrap_coefficients"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BATCH = 4_000_000  # numbers held at once


@dataclass(frozen=True)
class QueryCells:
    """Which cells the rows of each query fall in.

    Attributes:
        counts: Queries of each kind, shape (kinds,).
        cells: Rows of a query of each kind in each cell, a sparse matrix (kinds, cells).
    """

    counts: Ints
    cells: Any

    @classmethod
    def of(cls, cell: Ints, query: Ints, n_cells: int, *, counts: Ints | None = None) -> "QueryCells":
        """From the cell and the query of each row, numbered from 0; `counts` = how many queries each stands for."""
        from scipy.sparse import csr_array  # here, because `import ragauge` must stay quick

        kinds = query_kinds(cell, query, n_cells)
        entries = (np.ones(len(kinds.kept)), (kinds.of_kept, cell[kinds.kept]))
        n_queries = np.bincount(kinds.of_query, weights=counts, minlength=len(kinds.counts)).astype(np.int64)
        return cls(n_queries, csr_array(entries, shape=(len(n_queries), n_cells)))

    @property
    def n_queries(self) -> int:
        return int(self.counts.sum())

    @property
    def total(self) -> Floats:
        """Rows in each cell, shape (cells,)."""
        return np.asarray(self.cells.T @ self.counts.astype(np.float64))

    def draws(self, n_draws: int, rng: np.random.Generator, *, batch: int = 64) -> Iterator[Floats]:
        """Rows in each cell in each replicate, shape (cells, B), B = `batch` or what is left of `n_draws`.

        The same generator gives the same replicates for any `batch`.
        """
        shares = self.counts / max(1, self.n_queries)
        by_cell = self.cells.T.tocsr()
        for done in range(0, n_draws, batch):
            weights = rng.multinomial(self.n_queries, shares, size=min(batch, n_draws - done))
            yield by_cell @ np.ascontiguousarray(weights.T, dtype=np.float64)

    def folds(self, n_folds: int, rng: np.random.Generator) -> Floats:
        """Rows in each cell that belong to each fold, shape (cells, folds); the queries are dealt out at random."""
        kind = np.repeat(np.arange(len(self.counts)), self.counts)
        fold = rng.permutation(self.n_queries) % n_folds
        weights = np.bincount(kind * n_folds + fold, minlength=len(self.counts) * n_folds).reshape(-1, n_folds)
        return np.asarray(self.cells.T @ weights.astype(np.float64))


def bootstrap_coefficients(
    measures: Sequence[npt.ArrayLike],
    grade: npt.ArrayLike,
    queries: Labels,
    *,
    n_draws: int = 1000,
    seed: int = 0,
    coefficients: Sequence[str] = COEFFICIENTS,
) -> dict[str, Floats]:
    """How the correlations of several measures with the grade vary together when queries are drawn anew.

    All measures see the same draws, so differences between them are paired.

    Args:
        measures: Values of each of M measures, shape (n,) each, finite.
        grade: Shape (n,), finite.
        queries: The query of each row, shape (n,).
        n_draws: Replicates.
        seed: Of the generator.
        coefficients: Names of `COEFFICIENTS`.

    Returns:
        For each name an array (n_draws, M); NaN where a column is constant in a replicate.

    Raises:
        InputError: The columns differ in length or hold NaN or infinite values; n_draws is below 1.

    >>> drawn = bootstrap_coefficients([[1, 2, 3, 4], [1, 3, 2, 4]], [1, 2, 3, 4], "abcd", n_draws=5)
    >>> drawn["spearman"].shape
    (5, 2)
    """
    if n_draws < 1:
        raise InputError(f"n_draws must be 1 or more, got {n_draws}")
    tables = [tabulate(values, grade) for values in measures]
    if not tables:
        return {name: np.empty((n_draws, 0)) for name in coefficients}
    columns = np.stack([*(table.row for table in tables), tables[0].column])
    patterns, cell = np.unique(columns, axis=1, return_inverse=True)
    query = cluster_codes(queries, columns.shape[1], "queries")
    sampled = QueryCells.of(cell.reshape(-1), query, patterns.shape[1])
    rng = np.random.default_rng(seed)
    found: dict[str, list[Floats]] = {name: [] for name in coefficients}
    batch = max(1, _BATCH // max(table.cells.size for table in tables))
    for drawn in sampled.draws(n_draws, rng, batch=batch):
        each = [
            table_coefficients(table.x_values, table.y_values, _table(drawn, pattern, patterns[-1], table.cells.shape))
            for table, pattern in zip(tables, patterns[:-1], strict=True)
        ]
        for name, parts in found.items():
            parts.append(np.stack([getattr(one, name) for one in each], axis=1))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _table(drawn: Floats, row: Ints, column: Ints, shape: tuple[int, ...]) -> Floats:
    """Replicates of one measure's table, shape (B, U, G), from weights of the patterns (patterns, B)."""
    from scipy.sparse import csr_array

    place = csr_array(
        (np.ones(len(row)), (row * shape[1] + column, np.arange(len(row)))), (shape[0] * shape[1], len(row))
    )
    return np.asarray((place @ drawn).T.reshape(-1, *shape))
