"""Queries whose rows fall in the same cell of a table: one kind, to be computed or drawn once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["QueryKinds", "query_kinds"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class QueryKinds:
    """Queries of one row are of a kind when their cell is the same; all others are kinds of their own.

    Attributes:
        kept: The rows of one query of each kind.
        of_kept: The kind of each of them.
        of_query: The kind of each query.
        counts: Queries of each kind.
    """

    kept: Ints
    of_kept: Ints
    of_query: Ints
    counts: Ints


def query_kinds(cell: Ints, query: Ints, n_cells: int) -> QueryKinds:
    """The kinds, from the cell (0..n_cells - 1) and the query (0, 1, ..., each at least once) of each row."""
    alone = np.bincount(query, minlength=1)[query] == 1
    label = np.where(alone, cell, n_cells + query)
    kind = (np.cumsum(np.bincount(label, minlength=1) > 0) - 1)[label]
    of_query = np.empty(int(query.max(initial=-1)) + 1, dtype=np.int64)
    of_query[query] = kind
    first = np.empty(int(kind.max(initial=-1)) + 1, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    kept = np.flatnonzero(~alone | (first[kind] == np.arange(len(kind))))
    return QueryKinds(kept, kind[kept], of_query, np.bincount(of_query, minlength=len(first)))
