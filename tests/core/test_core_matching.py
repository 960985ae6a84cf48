"""Which ids are equal, row by row: against plain Python, for ids of any length, and where fingerprints collide."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.matching import changes, look_up, repeats

quick = settings(max_examples=100, deadline=None)
LONG = ["12345678", "123456789", "0123456789", "x" * 17, "x" * 16]  # eight bytes or more go another way
ID = st.sampled_from(["", "a", "b", "ab", "é", *LONG])
IDS = st.lists(st.lists(ID, max_size=6)) | st.lists(st.lists(st.sampled_from(LONG), max_size=6))


def offsets_of(rows: list[list[str]]) -> np.ndarray:
    return np.cumsum([0, *map(len, rows)])


def flat(rows: list[list[str]]) -> pa.Array:
    return pa.array([one for row in rows for one in row], pa.string())


@quick
@given(IDS)
def test_repeats_are_the_elements_that_stand_earlier_in_their_row(rows: list[list[str]]) -> None:
    found = repeats(flat(rows), offsets_of(rows))
    expected, start = [], 0
    for row in rows:
        expected += [start + place for place, one in enumerate(row) if one in row[:place]]
        start += len(row)
    assert found.places.tolist() == expected
    ids = flat(rows).to_pylist()
    assert all(ids[a] == ids[b] and a < b for a, b in zip(found.earlier, found.places, strict=True))


@quick
@given(IDS, IDS, st.data())
def test_a_look_up_is_that_of_a_dict_a_row(rows: list[list[str]], others: list[list[str]], data: st.DataObject) -> None:
    rows, others = [list(dict.fromkeys(row)) for row in rows], [list(dict.fromkeys(row)) for row in others]
    which = [data.draw(st.integers(-1, len(others) - 1)) for _ in rows]
    values = np.arange(sum(map(len, others)), dtype=np.float64)
    found = look_up(
        flat(rows),
        offsets_of(rows),
        others=flat(others),
        other_offsets=offsets_of(others),
        other_rows=np.array(which, dtype=np.int64),
        values=values,
    )
    bounds = list(pairwise(offsets_of(others).tolist()))
    tables = [dict(zip(row, values[a:b], strict=True)) for row, (a, b) in zip(others, bounds, strict=True)]
    expected = [
        tables[at].get(one, np.nan) if at >= 0 else np.nan for row, at in zip(rows, which, strict=True) for one in row
    ]
    np.testing.assert_array_equal(found.values, expected)
    assert found.repeats.places.size == 0


def test_what_stands_twice_in_a_row_that_is_looked_at_is_told_once() -> None:
    found = look_up(
        pa.array(["a", "b", "a"]),
        np.array([0, 2, 3]),
        others=pa.array(["a", "c", "c", "d", "d"]),
        other_offsets=np.array([0, 3, 5]),
        other_rows=np.array([0, 0]),  # both rows look at the first one; nobody at the second
        values=np.arange(5.0),
    )
    assert (found.other_repeats.places.tolist(), found.other_repeats.earlier.tolist()) == ([2], [1])
    np.testing.assert_array_equal(found.values, [0.0, np.nan, 0.0])


def test_rows_of_many_blocks_slices_chunks_and_large_strings_give_the_same() -> None:
    rng = np.random.default_rng(0)
    ids = pa.array([f"d{number}" for number in rng.integers(0, 60, 60_000)])
    lengths = rng.multinomial(60_000, np.ones(900) / 900)
    offsets = np.append(0, np.cumsum(lengths))
    rows = [ids[a:b].to_pylist() for a, b in pairwise(offsets.tolist())]
    n_expected = sum(len(row) - len(set(row)) for row in rows)
    sliced = pa.concat_arrays([pa.array(["x"]), ids]).slice(1)
    for same in (ids, sliced, pa.chunked_array([ids[:7], ids[7:]]), ids.cast(pa.large_string())):
        assert len(repeats(same, offsets).places) == n_expected


# three ids of two words whose mixed words have the same sum: found by inverting the hash
COLLIDING = ["doc-0001part-001", "35sfmx8z7E8oL%Bx", "3sjdq7ll|u#<9k3S"]


def test_ids_with_one_fingerprint_are_kept_apart() -> None:
    one, two, three = COLLIDING
    found = repeats(pa.array([one, two, three, two]), np.array([0, 4]))
    assert (found.places.tolist(), found.earlier.tolist()) == ([3], [1])


def test_an_id_with_the_fingerprint_of_a_labelled_one_has_no_label() -> None:
    one, two, three = COLLIDING
    found = look_up(
        pa.array([one, two, "d"]),
        np.array([0, 3]),
        others=pa.array([two, three, "d"]),
        other_offsets=np.array([0, 3]),
        other_rows=np.array([0]),
        values=np.array([1.0, 2.0, 3.0]),
    )
    np.testing.assert_array_equal(found.values, [np.nan, 1.0, 3.0])


@pytest.mark.parametrize("column", [pa.array(["a", "a", "b"]), pa.chunked_array([["a"], ["a", "b"]])])
def test_changes_are_told_across_chunks(column: pa.Array) -> None:
    assert changes(column).tolist() == [False, True]


def test_nothing_at_all_has_no_repeats_and_no_changes() -> None:
    assert repeats(pa.array([], pa.string()), np.array([0])).places.size == 0
    assert changes(pa.array([], pa.string())).size == 0
