"""Which ids are equal, row by row: found by 64-bit fingerprints, confirmed byte by byte.

Millions of (query, document) pairs are matched without a Python object for any of them. The ids of a block of rows
become whole numbers whose upper bits are a hash of row and id and whose lower bits are the place; sorted, equal pairs
are neighbours. What the hash finds is compared as bytes, and a block in which two different pairs had the same hash is
done again with exact codes: no collision can change a result.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.ragged import blocks, row_ids
from ragauge.threads import each

__all__ = ["LookUp", "Repeats", "changes", "look_up", "repeats"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_ALL_BITS = (1 << 64) - 1
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: multiples of it spread over all 64 bits
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
"""Keeps the first n bytes of a little-endian word."""


@dataclass(frozen=True)
class Repeats:
    """Elements that stand in their row once more.

    Attributes:
        places: Where, ascending.
        earlier: Where an equal element stands before each.
    """

    places: Ints
    earlier: Ints


@dataclass(frozen=True)
class LookUp:
    """What was found for each element.

    Attributes:
        values: One an element, NaN = nothing.
        repeats: Elements that stand in their row once more.
        other_repeats: The same for what they were looked up in, as far as a row of it was looked at.
    """

    values: Floats
    repeats: Repeats
    other_repeats: Repeats


def repeats(ids: "pa.Array | pa.ChunkedArray", offsets: Ints) -> Repeats:
    """The elements equal to an earlier one of the same row, where row i is ids[offsets[i]:offsets[i + 1]].

    >>> found = repeats(pa.array(["a", "b", "a", "a"]), np.array([0, 3, 4]))
    >>> found.places.tolist(), found.earlier.tolist()
    ([2], [0])
    """
    ids = _whole(ids)

    def pairs(block: slice) -> Ints:
        mine = offsets[block.start : block.stop + 1]
        return _equal_pairs(ids[mine[0] : mine[-1]], row_ids(mine)) + int(mine[0])

    return _repeats(each(pairs, blocks(offsets)))


def look_up(
    ids: "pa.Array | pa.ChunkedArray",
    offsets: Ints,
    *,
    others: "pa.Array | pa.ChunkedArray",
    other_offsets: Ints,
    other_rows: Ints,
    values: Floats,
) -> LookUp:
    """For each element, the value of the equal one in the row of `others` that belongs to its row; NaN = none.

    Args:
        ids: Elements to look up; one that stands twice in its row is told, and its values mean nothing.
        offsets: Row i is ids[offsets[i]:offsets[i + 1]].
        others: What they are looked up in; the same holds for them.
        other_offsets: The same for `others`.
        other_rows: Which row of `others` belongs to row i; -1 = none.
        values: One an element of `others`.

    >>> look_up(
    ...     pa.array(["a", "b", "a"]), np.array([0, 2, 3]), others=pa.array(["b", "c"]), other_offsets=np.array([0, 2]),
    ...     other_rows=np.array([0, -1]), values=np.array([5.0, 6.0]),
    ... ).values.tolist()
    [nan, 5.0, nan]
    """
    ids, others = _whole(ids), _whole(others)
    firsts = other_offsets[other_rows]
    sizes = np.where(other_rows < 0, 0, other_offsets[other_rows + 1] - firsts)
    looked_up = np.empty(len(ids))

    def pairs(block: slice) -> tuple[Ints, Ints]:
        """Fills in what is looked up; the pairs among the elements, and among the others."""
        mine, counts = offsets[block.start : block.stop + 1], sizes[block]
        start, end, n = mine[0], mine[-1], mine[-1] - mine[0]
        theirs = _spans(firsts[block], counts)
        rows = np.concatenate([row_ids(mine), np.repeat(np.arange(len(counts)), counts)])
        found = _equal_pairs(pa.concat_arrays([ids[start:end], _taken(others, theirs)]), rows)
        here, there = found[:, (found[0] < n) & (found[1] >= n)]
        looked_up[start:end] = np.nan
        looked_up[start + here] = values[theirs[there - n]]
        return start + found[:, found[1] < n], theirs[found[:, found[0] >= n] - n]

    found = list(each(pairs, blocks(offsets + np.concatenate([[0], np.cumsum(sizes)]))))
    return LookUp(looked_up, _repeats([mine for mine, _ in found]), _repeats([theirs for _, theirs in found]))


def changes(column: "pa.Array | pa.ChunkedArray") -> npt.NDArray[np.bool_]:
    """Whether each element but the first differs from the one before, shape (n - 1,).

    >>> changes(pa.array(["a", "a", "b"])).tolist()
    [False, True]
    """
    return np.asarray(pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _repeats(pairs: Iterable[Ints]) -> Repeats:
    """Each pair once, by where its second element stands."""
    together = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
    if not together.size:
        return Repeats(together[1], together[0])
    places, earlier = np.unique(together[::-1], axis=1)
    return Repeats(places, earlier)


def _whole(ids: "pa.Array | pa.ChunkedArray") -> pa.Array:
    """One array; a null is "". Copied only where there are several chunks, or nulls."""
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.chunk(0) if ids.num_chunks == 1 else ids.combine_chunks()
    if isinstance(ids, pa.ChunkedArray):  # more than 2 GiB
        ids = ids.cast(pa.large_string()).combine_chunks()
    return pc.fill_null(ids, "") if ids.null_count else ids


def _equal_pairs(values: pa.Array, rows: Ints) -> Ints:
    """Places of neighbours among equal elements of a row, shape (2, n): the upper ones come first."""
    bits = len(values).bit_length()
    pairs = _neighbours(_tagged(_fingerprints(values) + rows.astype(np.uint64) * _ODD, bits), bits)
    if not pairs.size:
        return pairs
    same = pc.all(pc.equal(values.take(pairs[0]), values.take(pairs[1]))).as_py()
    if same and (rows[pairs[0]] == rows[pairs[1]]).all():
        return pairs
    codes = pc.dictionary_encode(values)  # a collision: exact codes in place of the fingerprints
    pair = rows * len(codes.dictionary) + codes.indices.to_numpy()
    return _neighbours(_tagged(pair.astype(np.uint64) << np.uint64(bits), bits), bits)


def _tagged(keys: Words, bits: int) -> Words:
    """`keys` with their place in the lowest bits."""
    return (keys >> np.uint64(bits) << np.uint64(bits)) | np.arange(len(keys), dtype=np.uint64)


def _neighbours(tagged: Words, bits: int) -> Ints:
    """Places of elements that have the same key and stand next to each other when sorted, shape (2, n)."""
    ordered = np.sort(tagged)
    keys = ordered >> np.uint64(bits)
    at = np.flatnonzero(keys[1:] == keys[:-1])
    places: Ints = (ordered[np.array([at, at + 1])] & np.uint64((1 << bits) - 1)).astype(np.int64)
    return places


def _spans(firsts: Ints, counts: Ints) -> Ints:
    """first, first + 1, ..., first + count - 1 of each pair, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum())


def _taken(values: pa.Array, places: Ints) -> pa.Array:
    """Elements at `places`; a slice where they follow one another."""
    if len(places) and places[-1] - places[0] == len(places) - 1 and (np.diff(places) == 1).all():
        return values.slice(int(places[0]), len(places))
    return values.take(pa.array(places))


def _fingerprints(values: pa.Array) -> Words:
    """A hash of each string: the sum of its mixed 8-byte words, which trailing zero words would not change."""
    offsets, data = _bytes_of(values)
    words = np.ndarray((max(len(data) - 7, 0),), dtype="<u8", buffer=data, strides=(1,))  # one begins at each byte
    starts, ends, lengths = offsets[:-1], offsets[1:], np.diff(offsets)
    longest = int(lengths.max(initial=0))
    shortest = int(lengths.min(initial=longest))
    total = lengths.astype(np.uint64) * _MIX
    for first in range(0, longest, 8):
        alive: Any = slice(None) if shortest > first else np.flatnonzero(lengths > first)
        if shortest >= first + 8:
            word = words[starts + first]
        elif shortest >= 8:  # the last word may overlap the one before
            word = words[np.minimum(starts[alive] + first, ends[alive] - 8)]
        else:
            word = words[starts[alive] + first] & _FIRST_BYTES[np.minimum(lengths[alive] - first, 8)]
        total[alive] += _mixed(word * np.uint64((first // 4 + 1) * int(_ODD) & _ALL_BITS))
    return _mixed(total)


def _mixed(words: Words) -> Words:
    """Each bit of a word spread over the upper ones; 0 stays 0."""
    return (words ^ (words >> _HALF)) * _MIX


def _bytes_of(values: pa.Array) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Offsets from 0, and the bytes they span with 8 more, so that a word can begin at any byte."""
    _, spans, data = values.buffers()
    width = np.int64 if pa.types.is_large_string(values.type) else np.int32
    if not len(values):
        return np.zeros(1, dtype=np.int64), np.zeros(8, dtype=np.uint8)
    offsets = np.frombuffer(spans, dtype=width, count=len(values) + 1, offset=values.offset * np.dtype(width).itemsize)
    n = int(offsets[-1] - offsets[0])
    padded = np.zeros(n + 8, dtype=np.uint8)
    if n:
        padded[:n] = np.frombuffer(data, dtype=np.uint8, count=n, offset=int(offsets[0]))
    return (offsets - offsets[0]).astype(np.int64), padded
