"""Rows of unequal length as three flat arrays: what the kernels of `measures` see.

A `Ragged` of n rows has `offsets` (n + 1 int64, row i is values[offsets[i]:offsets[i + 1]]), `values` (float64) and
`valid` (bool, False = null: not known). Every function here is right for empty rows, for no rows, and for Arrow arrays
that are slices of others; `np.add.reduceat` is none of that. Rows of equal length are the common case (a top K) and
take a shorter way: their values are a matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import SchemaError

__all__ = [
    "Ragged",
    "blocks",
    "descending",
    "from_arrow",
    "from_labels",
    "head",
    "known",
    "parts",
    "positions",
    "row_ids",
    "segment_cumsum",
    "segment_dot",
    "segment_sum",
    "slice_rows",
    "slots",
    "take_rows",
    "to_arrow",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_WIDEST = 128
"""Longest rows of equal length that are summed column by column; longer ones gain nothing by it."""
_BLOCK = 1 << 15
"""Elements whose columns are summed together: they fit the processor's cache with what is computed from them."""
_AT_ONCE = 1 << 16
"""Elements of a block of rows: few enough for the cache, enough that two threads seldom wait for each other."""
_KEPT = 1 << 23
"""Bytes. Once an array of this size was freed, glibc keeps twice as much memory for the next block, where by default it
returns it to the system after each, and gets it back page by page: that took longer than the work itself."""


@dataclass(frozen=True)
class Ragged:
    """n rows of unequal length.

    Attributes:
        values: float64, one an element; what stands at a null is 0 and must not be read (but see `from_labels`).
        offsets: int64, shape (n + 1,), rising from 0 to len(values).
        valid: bool, one an element; False = null.
    """

    values: Floats
    offsets: Ints
    valid: Bools

    @property
    def n_rows(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Elements a row, shape (n,)."""
        return np.diff(self.offsets)

    @classmethod
    def from_lists(cls, rows: list[list[float | None]]) -> "Ragged":
        """From Python lists, None = null.

        >>> Ragged.from_lists([[1, None], []]).lengths.tolist()
        [2, 0]
        """
        flat = [value for row in rows for value in row]
        valid = np.array([value is not None for value in flat], dtype=np.bool_)
        values = np.array([0.0 if value is None else value for value in flat], dtype=np.float64)
        return cls(values, _offsets_of([len(row) for row in rows]), valid)


def from_arrow(column: "pa.ListArray | pa.ChunkedArray") -> Ragged:
    """The rows of an Arrow list column of numbers; a null row becomes an empty one.

    float64 without nulls is not copied, and then `values` cannot be written to.

    Raises:
        SchemaError: The column is not a list of numbers.
    """
    array = column
    if isinstance(column, pa.ChunkedArray):
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise SchemaError(f"expected a list column, got {array.type}")
    flat = array.flatten().cast(pa.float64())  # flatten() honours slices and skips what null rows hide
    if flat.null_count:
        valid = flat.is_valid().to_numpy(zero_copy_only=False)
        return Ragged(flat.fill_null(0.0).to_numpy(), _arrow_offsets(array), valid)
    return Ragged(flat.to_numpy(), _arrow_offsets(array), np.ones(len(flat), dtype=np.bool_))


def from_labels(column: "pa.ListArray | pa.ChunkedArray") -> Ragged:
    """The rows of a list column of labels, as the kernels see them: a negative label is a null.

    It says, as in TREC's qrels, that the document was pooled but not judged. Its value stays, for infAP alone to read.

    >>> from_labels(pa.array([[1.0, -1.0, None]])).valid.tolist()
    [True, False, False]
    """
    rows = from_arrow(column)
    return Ragged(rows.values, rows.offsets, rows.valid & (rows.values >= 0))


def to_arrow(ragged: Ragged) -> pa.ListArray:
    """The rows as an Arrow list<double> array with nulls where not valid."""
    flat = pa.array(ragged.values, mask=None if ragged.valid.all() else ~ragged.valid)
    return pa.ListArray.from_arrays(pa.array(ragged.offsets, pa.int32()), flat)


def segment_sum(values: npt.NDArray[Any], offsets: Ints) -> Floats:
    """Sum of each row, shape (n,); 0 for an empty row.

    Whole numbers are summed exactly (below 2**53), which ties rely on; fractions from the first to the last, so that
    equal rows have equal sums wherever they stand.
    """
    matrix = _matrix(values, offsets)
    if matrix is not None:
        return _column_sums(matrix, None)
    if values.dtype.kind in "biu":
        total = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(values, out=total[1:])
        return np.diff(total[offsets]).astype(np.float64)
    return np.bincount(row_ids(offsets), weights=values, minlength=len(offsets) - 1).astype(np.float64)


def segment_dot(values: npt.NDArray[Any], weights: Floats, offsets: Ints) -> Floats:
    """Sum over each row of element times weights[rank], rank from 0, shape (n,); 0 for an empty row.

    Args:
        values: One an element.
        weights: One a rank, at least as many as the longest row has elements.
        offsets: Row i is values[offsets[i]:offsets[i + 1]].

    >>> segment_dot(np.array([1.0, 1.0, 3.0]), np.array([1.0, 0.5]), np.array([0, 2, 3])).tolist()
    [1.5, 3.0]
    """
    matrix = _matrix(values, offsets)
    if matrix is not None:
        return _column_sums(matrix, weights)
    return segment_sum(values * weights[positions(offsets)], offsets)


def segment_cumsum(values: npt.NDArray[Any], offsets: Ints) -> Floats:
    """Running sum inside each row, shape of `values`: starts anew with each row."""
    total: Floats = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return total[1:] - np.repeat(total[offsets[:-1]], np.diff(offsets))


def positions(offsets: Ints) -> Ints:
    """Rank of each element inside its row, from 0, one an element."""
    width = _width(offsets)
    if width is not None:
        return np.tile(np.arange(width, dtype=np.int64), len(offsets) - 1)
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def blocks(offsets: Ints, *, size: int = _AT_ONCE) -> Iterator[slice]:
    """The rows in runs of at most `size` elements (more only where one row has more), for work that fits the cache.

    >>> [(block.start, block.stop) for block in blocks(np.array([0, 10, 16, 30]), size=16)]
    [(0, 2), (2, 3)]
    """
    np.empty(_KEPT, dtype=np.uint8)
    first, n_rows = 0, len(offsets) - 1
    while first < n_rows:
        last = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
        last = min(max(last, first + 1), first + size, n_rows)
        yield slice(first, last)
        first = last


def parts(sizes: Ints, *, most: int) -> Iterator[slice]:
    """Runs of items whose sizes add to at most `most`; an item above that is a run of its own.

    >>> [(part.start, part.stop) for part in parts(np.array([3, 4, 9, 1]), most=8)]
    [(0, 2), (2, 3), (3, 4)]
    """
    return blocks(_offsets_of(sizes), size=most)


def row_ids(offsets: Ints) -> Ints:
    """The row of each element, from 0, one an element."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def head(ragged: Ragged, k: int | None) -> Ragged:
    """The first k elements of each row; shorter rows stay as they are, and all do when k is None."""
    if k is None:
        return ragged
    lengths = ragged.lengths
    if lengths.max(initial=0) <= k:
        return ragged
    width = _width(ragged.offsets)
    lengths = np.minimum(lengths, k)
    offsets = _offsets_of(lengths)
    if width is not None:
        values, valid = ragged.values.reshape(-1, width), ragged.valid.reshape(-1, width)
        return Ragged(values[:, :k].ravel(), offsets, valid[:, :k].ravel())
    kept = np.arange(offsets[-1]) + np.repeat(ragged.offsets[:-1] - offsets[:-1], lengths)
    return Ragged(ragged.values[kept], offsets, ragged.valid[kept])


def slots(ragged: Ragged, k: int | None) -> Ragged:
    """As `head`, but rows may have nulls at their end that make them equally long, where that costs little.

    For what takes a slot left empty for an unjudged document: equal rows are counted, summed and sorted faster. What
    stands at these nulls is any number.

    >>> slots(Ragged.from_lists([[1, 2, 3], [4]]), 2).valid.tolist()
    [True, True, True, False]
    """
    lengths = ragged.lengths
    longest = int(lengths.max(initial=0))
    width = longest if k is None else min(k, longest)
    if lengths.min(initial=longest) >= width or ragged.n_rows * width > 2 * len(ragged.values):
        return head(ragged, k)
    inside = (np.arange(width)[:, None] < lengths).T  # made this way round, as numpy likes long inner loops
    values = _windows(ragged.values, ragged.offsets[:-1], width)
    valid = inside if ragged.valid.all() else inside & _windows(ragged.valid, ragged.offsets[:-1], width)
    return Ragged(values.ravel(), np.arange(ragged.n_rows + 1, dtype=np.int64) * width, valid.ravel())


def known(ragged: Ragged) -> Ragged:
    """The elements that are not null, in their order.

    >>> known(Ragged.from_lists([[None, 2], [None]])).lengths.tolist()
    [1, 0]
    """
    if ragged.valid.all():
        return ragged
    offsets = _offsets_of(ragged.valid)[ragged.offsets]
    return Ragged(ragged.values[ragged.valid], offsets, np.ones(int(offsets[-1]), dtype=np.bool_))


def descending(ragged: Ragged) -> Ragged:
    """Each row's elements, which must be finite, from the largest to the smallest, nulls last.

    >>> descending(Ragged.from_lists([[0, None, 2], [1]])).values.tolist()
    [2.0, 0.0, 0.0, 1.0]
    """
    keys = ragged.values if ragged.valid.all() else np.where(ragged.valid, ragged.values, -np.inf)
    if _is_dense(ragged):
        rows = np.sort(_padded(keys, ragged.lengths), axis=1)[:, ::-1]
        keys = rows[_inside(ragged.lengths)] if rows.size > keys.size else rows.ravel()
    else:
        keys = keys[np.lexsort((-keys, row_ids(ragged.offsets)))]
    valid = keys > -np.inf
    return Ragged(keys if valid.all() else np.where(valid, keys, 0.0), ragged.offsets, valid)


def slice_rows(ragged: Ragged, rows: slice) -> Ragged:
    """Rows that follow one another, without a copy of their elements.

    >>> slice_rows(Ragged.from_lists([[1, 2], [], [3]]), slice(1, 3)).lengths.tolist()
    [0, 1]
    """
    offsets = ragged.offsets[rows.start : rows.stop + 1]
    elements = slice(offsets[0], offsets[-1])
    return Ragged(ragged.values[elements], offsets - offsets[0], ragged.valid[elements])


def take_rows(ragged: Ragged, rows: Ints) -> Ragged:
    """The rows at these places, in their order; one may be taken more than once.

    >>> take_rows(Ragged.from_lists([[1, 2], [], [3]]), np.array([2, 0, 2])).values.tolist()
    [3.0, 1.0, 2.0, 3.0]
    """
    lengths = ragged.lengths[rows]
    offsets = _offsets_of(lengths)
    at = np.repeat(ragged.offsets[rows], lengths) + positions(offsets)
    return Ragged(ragged.values[at], offsets, ragged.valid[at])


def _windows(elements: npt.NDArray[Any], starts: Ints, width: int) -> npt.NDArray[Any]:
    """The `width` elements from each start on, a start a line; anything behind the last element."""
    more = np.concatenate([elements, np.zeros(width, dtype=elements.dtype)])
    return np.lib.stride_tricks.sliding_window_view(more, width)[starts]


def _is_dense(ragged: Ragged) -> bool:
    """Whether a matrix as wide as the longest row would be filled by a fourth or more."""
    return ragged.n_rows * int(ragged.lengths.max(initial=0)) <= 4 * len(ragged.values)


def _inside(lengths: Ints) -> Bools:
    """Which cells of a matrix as wide as the longest row belong to a row."""
    return np.arange(lengths.max(initial=0)) < lengths[:, None]


def _padded(keys: Floats, lengths: Ints) -> Floats:
    """A row a line of a matrix, filled up with minus infinity; for equal lengths `keys` itself."""
    width = int(lengths.max(initial=0))
    if len(lengths) * width == len(keys):
        return keys.reshape(len(lengths), width)
    rows = np.full((len(lengths), width), -np.inf)
    rows[_inside(lengths)] = keys
    return rows


def _width(offsets: Ints) -> int | None:
    """The length that all rows have; None when they differ, or there is no row or no element."""
    n_rows, n_elements = len(offsets) - 1, int(offsets[-1])
    if not n_elements or n_elements != n_rows * int(offsets[1]) or not (np.diff(offsets) == offsets[1]).all():
        return None
    return int(offsets[1])


def _matrix(values: npt.NDArray[Any], offsets: Ints) -> npt.NDArray[Any] | None:
    """The rows as a matrix, when they are equally long and short enough to be worth it."""
    width = _width(offsets)
    return None if width is None or width > _WIDEST else values.reshape(-1, width)


def _column_sums(matrix: npt.NDArray[Any], weights: Floats | None) -> Floats:
    """Sum of each row, each column times its weight if any, added from the first to the last."""
    counting = matrix.dtype == np.bool_ and weights is None  # counts up to _WIDEST fit a byte
    matrix = matrix.view(np.uint8) if counting else matrix
    n_rows, width = matrix.shape
    total: npt.NDArray[Any] = np.zeros(n_rows, dtype=np.uint8 if counting else np.float64)
    at_once = max(_BLOCK // width, 1)
    for start in range(0, n_rows, at_once):
        part, rows = total[start : start + at_once], matrix[start : start + at_once]
        for rank in range(width):
            part += rows[:, rank] if weights is None else rows[:, rank] * weights[rank]
    return total.astype(np.float64)


def _arrow_offsets(array: "pa.ListArray | pa.LargeListArray") -> Ints:
    """From 0 on, also for a slice; a null row is empty."""
    if array.null_count:
        return _offsets_of(array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    offsets = array.offsets.to_numpy()
    return np.asarray(offsets - offsets[0], dtype=np.int64)


def _offsets_of(lengths: Any) -> Ints:
    """Row i spans offsets[i]:offsets[i + 1]."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
