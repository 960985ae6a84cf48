"""Graded answers: the public JSON list, our own files, and the way back."""

import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import FormatError, InputError
from ragauge.io import read_graded, write_graded_json, write_table
from ragauge.schema import GRADED

PUBLIC = {
    "id": "nq-17",
    "E": "e5",
    "Nc": 10,
    "Np": 3,
    "K": 2,
    "grade": 4,
    "answer_ideal": "ideal",
    "answer_topK": "top",
    "P": 0.5,
    "R": 1 / 3,
    "rank": [1],
    "inK": [1, 0],
}


def public(**change: object) -> dict[str, object]:
    return {**PUBLIC, **change}


def write(path: Path, *records: object) -> Path:
    path.write_text(json.dumps(records))
    return path


def test_public_keys_become_our_columns(tmp_path: Path) -> None:
    table = read_graded(write(tmp_path / "s.json", PUBLIC))
    assert table.schema == GRADED
    assert table.to_pylist() == [
        {
            "query_id": "nq-17",
            "dataset": "nq",
            "embedder": "e5",
            "n_candidates": 10,
            "n_relevant": 3,
            "cutoff": 2,
            "grade": 4.0,
            "labels": [1.0, 0.0],
            "n_positive_2k": None,  # 2K = 4 < Nc = 10, and no row has K = 4
            "answer_ideal": "ideal",
            "answer_topk": "top",
            "reason": None,
        }
    ]


def test_positives_in_the_top_2k_come_from_the_row_at_2k(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.json",
        PUBLIC,
        public(K=4, inK=[1, 0, 1, 0]),
        public(K=4, inK=[1, 1, 1, 0], E="minilm"),  # another embedder's ranking does not count
        public(K=5, inK=[1, 0, 1, 0, 0]),
    )
    # K = 2 finds 2 positives at K = 4; at K = 4 there is no row for 8; 2 * 5 >= Nc = 10 retrieves all Np = 3
    assert read_graded(path)["n_positive_2k"].to_pylist() == [2, None, None, 3]


def test_a_null_or_nan_grade_is_null_with_a_reason(tmp_path: Path) -> None:
    table = read_graded(write(tmp_path / "s.json", public(grade=None), public(grade=math.nan, K=3)))
    assert table["grade"].to_pylist() == [None, None]
    assert table["reason"].to_pylist() == ["not_graded", "not_graded"]


def test_true_and_false_in_ink_are_one_and_zero(tmp_path: Path) -> None:
    assert read_graded(write(tmp_path / "s.json", public(inK=[True, False])))["labels"].to_pylist() == [[1.0, 0.0]]


def test_a_missing_key_names_record_and_key_and_lists_what_is_there(tmp_path: Path) -> None:
    path = write(tmp_path / "s.json", PUBLIC, {"id": "nq-1", "E": "e", "Nc": 3, "Np": 1, "K": 1, "inK": [1]})
    with pytest.raises(FormatError) as caught:
        read_graded(path)
    assert str(caught.value) == f"{path}, record 2: no key 'grade'; found: id, E, Nc, Np, K, inK"


BAD = {
    "a fraction as K": ({"K": 1.5}, "'K' must be int64, got 1.5"),
    "a word as grade": ({"grade": "good"}, "'grade' must be double, got \"good\""),
    "null as id": ({"id": None}, "'id' must be string, got null"),
    "null as Np": ({"Np": None}, "'Np' must be int64, got null"),
    "inK not a list": ({"inK": 1}, "'inK' must be list"),
    "K of 0": ({"K": 0, "inK": []}, "'inK' has 0 labels and K = 0; K must be 1 or more"),
    "more labels than K": ({"inK": [1, 0, 1]}, "'inK' has 3 labels and K = 2;"),
    "half a character": ({"answer_topK": "\ud83d"}, "'answer_topK' must be string, got"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_value_names_its_record(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "s.json", PUBLIC, public(**change))
    with pytest.raises(FormatError) as caught:
        read_graded(path)
    assert str(caught.value).startswith(f"{path}, record 2: {message}")


def test_half_a_file_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('[\n{"id": "nq-1", "E"')
    with pytest.raises(FormatError, match="line 2: not JSON: "):
        read_graded(path)


def test_derived_values_are_written_and_ranks_count_from_one(tmp_path: Path) -> None:
    write_graded_json(read_graded(write(tmp_path / "s.json", public(P=9, R=9, rank=9))), tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == [PUBLIC]  # P = 1/2, R = 1/3, rank 1


def test_the_written_id_gives_the_data_set_back(tmp_path: Path) -> None:
    table = read_graded(write(tmp_path / "s.json", PUBLIC))
    ours = table.set_column(1, GRADED.field("dataset"), pa.array(["hotpotqa-sentences"]))
    write_graded_json(ours, tmp_path / "out.json")
    back = read_graded(tmp_path / "out.json").to_pylist()[0]
    assert (back["dataset"], back["query_id"]) == ("hotpotqa_sentences", "hotpotqa_sentences-nq-17")


def test_recall_of_no_relevant_documents_is_null(tmp_path: Path) -> None:
    write_graded_json(read_graded(write(tmp_path / "s.json", public(Np=0, inK=[0, 0]))), tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())[0]["R"] is None


def test_an_empty_list_is_no_rows_and_stays_so(tmp_path: Path) -> None:
    table = read_graded(write(tmp_path / "s.json"))
    assert (table.num_rows, table.schema) == (0, GRADED)
    write_graded_json(table, tmp_path / "out.json")
    assert read_graded(tmp_path / "out.json").equals(table)


def test_a_cutoff_of_zero_is_not_written_and_the_old_file_stays(tmp_path: Path) -> None:
    row = read_graded(write(tmp_path / "s.json", PUBLIC)).to_pylist()[0]
    (tmp_path / "out.json").write_text("old")
    with pytest.raises(InputError, match="cutoff must be 1 or more, got 0"):
        write_graded_json(pa.Table.from_pylist([{**row, "cutoff": 0}], schema=GRADED), tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "s.json"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNT = st.integers(0, 2**53)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "query_id": TEXT,
            "dataset": TEXT,
            "embedder": TEXT,
            "n_candidates": COUNT,
            "n_relevant": COUNT,
            "cutoff": COUNT,
            "grade": st.none() | st.floats(allow_nan=False),
            "labels": st.lists(st.none() | st.floats(allow_nan=False), max_size=4),
            "n_positive_2k": st.none() | COUNT,
            "answer_ideal": st.none() | TEXT,
            "answer_topk": st.none() | TEXT,
            "reason": st.none() | TEXT,
        }
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("extension", [".parquet", ".jsonl", ".jsonl.gz"])
def test_our_files_give_any_graded_table_back(extension: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("graded") / f"g{extension}"

    @settings(max_examples=40, deadline=None)
    @given(ROWS)
    def round_trip(rows: list[dict[str, object]]) -> None:
        table = pa.Table.from_pylist(rows, schema=GRADED)
        write_table(table, path)
        assert read_graded(path).equals(table)

    round_trip()
