"""Rows of unequal length: right for empty rows, nulls, slices and chunks, against plain Python lists."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import SchemaError
from ragauge.ragged import (
    Ragged,
    blocks,
    descending,
    from_arrow,
    head,
    known,
    positions,
    row_ids,
    segment_cumsum,
    segment_dot,
    segment_sum,
    slots,
    take_rows,
    to_arrow,
)

Rows = list[list[float | None]]

# whole numbers, so that sums are exact and may be compared with ==
ELEMENT = st.none() | st.integers(-1000, 1000).map(float)
UNEQUAL = st.lists(st.lists(ELEMENT, max_size=5), max_size=8)
EQUAL = st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(ELEMENT, min_size=n, max_size=n), max_size=8))
ROWS = UNEQUAL | EQUAL  # rows of equal length take a way of their own
LIST = pa.list_(pa.float64())

quick = settings(max_examples=100, deadline=None)


def as_lists(ragged: Ragged) -> Rows:
    flat = [float(value) if known else None for value, known in zip(ragged.values, ragged.valid, strict=True)]
    bounds = ragged.offsets.tolist()
    return [flat[start:end] for start, end in pairwise(bounds)]


@quick
@given(ROWS)
def test_lists_survive_the_way_to_arrow_and_back(rows: Rows) -> None:
    assert as_lists(Ragged.from_lists(rows)) == rows
    assert to_arrow(Ragged.from_lists(rows)).to_pylist() == rows
    assert as_lists(from_arrow(pa.array(rows, LIST))) == rows


@quick
@given(ROWS, st.data())
def test_a_slice_of_an_arrow_array_gives_only_its_own_rows(rows: Rows, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows)))
    length = data.draw(st.integers(0, len(rows) - start))
    ragged = from_arrow(pa.array(rows, LIST).slice(start, length))
    assert as_lists(ragged) == rows[start : start + length]
    assert ragged.offsets[0] == 0
    assert ragged.offsets[-1] == len(ragged.values)


@quick
@given(st.lists(ROWS, max_size=4))
def test_chunks_follow_one_another(chunks: list[Rows]) -> None:
    column = pa.chunked_array([pa.array(rows, LIST) for rows in chunks], LIST)
    assert as_lists(from_arrow(column)) == [row for rows in chunks for row in rows]


@quick
@given(st.lists(st.none() | st.lists(st.none() | st.integers(0, 9).map(float), max_size=4), max_size=8))
def test_a_null_row_is_an_empty_row(rows: list[list[float | None] | None]) -> None:
    assert as_lists(from_arrow(pa.array(rows, LIST))) == [row or [] for row in rows]


def test_values_hidden_behind_a_null_row_are_not_read() -> None:
    # row 1 is null and still spans the elements 7, 8 of the flat array
    array = pa.ListArray.from_arrays(
        pa.array([0, 1, 3, 4], pa.int32()), pa.array([5.0, 7.0, 8.0, 9.0]), mask=pa.array([False, True, False])
    )
    assert as_lists(from_arrow(array)) == [[5.0], [], [9.0]]


@quick
@given(ROWS)
def test_segment_sum_is_the_sum_of_each_row(rows: Rows) -> None:
    ragged = Ragged.from_lists(rows)
    assert segment_sum(ragged.values, ragged.offsets).tolist() == [sum(v or 0.0 for v in row) for row in rows]


@quick
@given(ROWS)
def test_segment_cumsum_starts_anew_with_each_row(rows: Rows) -> None:
    ragged = Ragged.from_lists(rows)
    expected = [total for row in rows for total in np.cumsum([v or 0.0 for v in row]).tolist()]
    assert segment_cumsum(ragged.values, ragged.offsets).tolist() == expected


@quick
@given(ROWS)
def test_positions_count_from_zero_in_each_row(rows: Rows) -> None:
    ragged = Ragged.from_lists(rows)
    assert positions(ragged.offsets).tolist() == [rank for row in rows for rank in range(len(row))]


@quick
@given(ROWS, st.integers(0, 7))
def test_head_is_the_first_k_of_each_row(rows: Rows, k: int) -> None:
    top = head(Ragged.from_lists(rows), k)
    assert as_lists(top) == [row[:k] for row in rows]
    assert top.n_rows == len(rows)
    assert top.lengths.tolist() == [min(k, len(row)) for row in rows]


@quick
@given(ROWS, st.none() | st.integers(1, 7))
def test_slots_are_the_first_k_of_each_row_and_nulls_at_the_end_at_most(rows: Rows, k: int | None) -> None:
    found = as_lists(slots(Ragged.from_lists(rows), k))
    for row, slot in zip(rows, found, strict=True):
        top = row[:k]
        assert slot[: len(top)] == top
        assert slot[len(top) :] == [None] * (len(slot) - len(top))
        assert k is None or len(slot) <= k


@quick
@given(ROWS)
def test_segment_dot_weighs_each_rank(rows: Rows) -> None:
    ragged = Ragged.from_lists(rows)
    weights = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    expected = [sum((v or 0.0) * w for v, w in zip(row, weights.tolist(), strict=False)) for row in rows]
    assert segment_dot(ragged.values, weights, ragged.offsets).tolist() == expected


@quick
@given(ROWS)
def test_counts_of_a_mask_are_exact(rows: Rows) -> None:
    ragged = Ragged.from_lists(rows)
    assert segment_sum(ragged.valid, ragged.offsets).tolist() == [sum(v is not None for v in row) for row in rows]


def test_the_sum_of_a_row_does_not_depend_on_the_rows_around_it() -> None:
    # 0.1 + 0.2 + 0.3 from the first to the last is 0.6000000000000001, from the last to the first 0.6
    row = [0.1, 0.2, 0.3]
    for rows in ([row], [row, row], [[], row], [[1.0], row], [row] * 10_000):
        ragged = Ragged.from_lists(list(rows))
        assert segment_sum(ragged.values, ragged.offsets)[-1] == 0.1 + 0.2 + 0.3
        assert segment_dot(ragged.values, np.ones(3), ragged.offsets)[-1] == 0.1 + 0.2 + 0.3


def test_long_rows_of_equal_length_are_counted_beyond_a_byte() -> None:
    offsets = np.array([0, 300, 600])
    assert segment_sum(np.ones(600, dtype=np.bool_), offsets).tolist() == [300.0, 300.0]
    assert segment_sum(np.full(600, 100, dtype=np.int8), offsets).tolist() == [30_000.0, 30_000.0]
    assert segment_sum(np.full(6, 100, dtype=np.int8), np.array([0, 3, 6])).tolist() == [300.0, 300.0]


@quick
@given(ROWS | st.lists(st.lists(st.none() | st.integers(0, 20).map(float), max_size=6), max_size=8))
def test_descending_sorts_each_row_with_nulls_last(rows: Rows) -> None:
    expected = [sorted((v for v in row if v is not None), reverse=True) for row in rows]
    assert as_lists(descending(Ragged.from_lists(rows))) == [
        [*ordered, *[None] * (len(row) - len(ordered))] for ordered, row in zip(expected, rows, strict=True)
    ]


@quick
@given(ROWS)
def test_known_leaves_nulls_out(rows: Rows) -> None:
    assert as_lists(known(Ragged.from_lists(rows))) == [[v for v in row if v is not None] for row in rows]


@quick
@given(ROWS)
def test_row_ids_name_the_row_of_each_element(rows: Rows) -> None:
    assert row_ids(Ragged.from_lists(rows).offsets).tolist() == [i for i, row in enumerate(rows) for _ in row]


@given(st.lists(st.sampled_from([0, 1, 100, 9_000, 20_000]), max_size=30))
def test_blocks_hold_every_row_once_and_are_small_but_for_a_single_row(lengths: list[int]) -> None:
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    found = list(blocks(offsets, size=10_000))
    assert [row for block in found for row in range(block.start, block.stop)] == list(range(len(lengths)))
    assert all(offsets[b.stop] - offsets[b.start] <= 10_000 or b.stop - b.start == 1 for b in found)


def test_float64_without_nulls_is_not_copied() -> None:
    flat = pa.array([1.0, 2.0, 3.0])
    ragged = from_arrow(pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), flat))
    assert np.shares_memory(ragged.values, flat.to_numpy())


def test_reduceat_is_wrong_for_empty_rows_and_segment_sum_is_not() -> None:
    ragged = Ragged.from_lists([[1, 2], [], [4]])
    # the sums are 3, 0 and 4; reduceat gives an empty row the element that stands at its offset
    assert np.add.reduceat(ragged.values, ragged.offsets[:-1]).tolist() == [3.0, 4.0, 4.0]
    assert segment_sum(ragged.values, ragged.offsets).tolist() == [3.0, 0.0, 4.0]


def test_reduceat_fails_for_an_empty_last_row_and_segment_sum_does_not() -> None:
    ragged = Ragged.from_lists([[1, 2], []])
    with pytest.raises(IndexError):
        np.add.reduceat(ragged.values, ragged.offsets[:-1])
    assert segment_sum(ragged.values, ragged.offsets).tolist() == [3.0, 0.0]


def test_no_rows_at_all_are_handled_by_every_function() -> None:
    ragged = from_arrow(pa.chunked_array([], LIST))
    assert ragged.n_rows == 0
    assert segment_sum(ragged.values, ragged.offsets).shape == (0,)
    assert segment_cumsum(ragged.values, ragged.offsets).shape == (0,)
    assert positions(ragged.offsets).shape == (0,)
    assert head(ragged, 3).n_rows == 0
    assert to_arrow(ragged).to_pylist() == []


@pytest.mark.parametrize("type_", [pa.list_(pa.int64()), pa.large_list(pa.float32()), pa.list_(pa.float64())])
def test_lists_of_any_number_type_are_read_as_float64(type_: pa.DataType) -> None:
    ragged = from_arrow(pa.array([[1, None], [2]], type_))
    assert ragged.values.dtype == np.float64
    assert as_lists(ragged) == [[1.0, None], [2.0]]


def test_a_column_that_is_no_list_is_refused_with_its_type() -> None:
    with pytest.raises(SchemaError, match="expected a list column, got int64"):
        from_arrow(pa.array([1, 2]))


def test_rows_are_taken_in_any_order_and_more_than_once() -> None:
    taken = take_rows(Ragged.from_lists([[1, None], [], [3]]), np.array([2, 0, 1, 0]))
    assert taken.lengths.tolist() == [1, 2, 0, 2]
    assert taken.values.tolist() == [3, 1, 0, 1, 0]
    assert taken.valid.tolist() == [True, True, False, True, False]
