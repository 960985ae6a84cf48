"""Rows of unequal length as three flat arrays: what the kernels of `measures` see.

A `Ragged` of n rows has `offsets` (n + 1 int64, row i is values[offsets[i]:offsets[i + 1]]), `values` (float64) and
`valid` (bool, False = null: not known). Every function here is right for empty rows, for no rows, and for Arrow arrays
that are slices of others; `np.add.reduceat` is none of that.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import SchemaError

__all__ = ["Ragged", "from_arrow", "head", "positions", "segment_cumsum", "segment_sum", "to_arrow"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Ragged:
    """n rows of unequal length.

    Attributes:
        values: float64, one an element; what stands at a null is 0 and must not be read.
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

    Raises:
        SchemaError: The column is not a list of numbers.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # a column of several chunks that stays chunked
        array = pa.concat_arrays(array.chunks)
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise SchemaError(f"expected a list column, got {array.type}")
    flat = array.flatten().cast(pa.float64())  # flatten() honours slices and skips what null rows hide
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    valid = flat.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
    values = flat.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    return Ragged(values, _offsets_of(lengths), valid)


def to_arrow(ragged: Ragged) -> pa.ListArray:
    """The rows as an Arrow list<double> array with nulls where not valid."""
    flat = pa.array(ragged.values, mask=~ragged.valid)
    return pa.ListArray.from_arrays(pa.array(ragged.offsets, pa.int32()), flat)


def segment_sum(values: npt.NDArray[Any], offsets: Ints) -> Floats:
    """Sum of each row, shape (n,); 0 for an empty row.

    Whole numbers are summed exactly (below 2**53), which ties rely on.
    """
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(rows, weights=values, minlength=len(offsets) - 1).astype(np.float64)


def segment_cumsum(values: npt.NDArray[Any], offsets: Ints) -> Floats:
    """Running sum inside each row, shape of `values`: starts anew with each row."""
    total: Floats = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return total[1:] - np.repeat(total[offsets[:-1]], np.diff(offsets))


def positions(offsets: Ints) -> Ints:
    """Rank of each element inside its row, from 0, one an element."""
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def head(ragged: Ragged, k: int) -> Ragged:
    """The first k elements of each row; shorter rows stay as they are."""
    keep = positions(ragged.offsets) < k
    return Ragged(ragged.values[keep], _offsets_of(np.minimum(ragged.lengths, k)), ragged.valid[keep])


def _offsets_of(lengths: Any) -> Ints:
    """Row i spans offsets[i]:offsets[i + 1]."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
