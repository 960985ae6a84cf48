"""Rankings and labels from objects: dicts, lists of records, Arrow tables, pandas and Polars data frames."""

from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from ragauge.errors import FormatError, InputError
from ragauge.io import read_labels, read_rankings
from ragauge.schema import RANKINGS

ROWS = [
    {"query_id": "q1", "doc_id": "d2", "score": 0.5, "rank": 2},
    {"query_id": "q1", "doc_id": "d1", "score": 0.9, "rank": 1},
    {"query_id": "q2", "doc_id": "d1", "score": 0.1, "rank": 1},
]
EXPECTED = [("q1", ["d1", "d2"], [0.9, 0.5]), ("q2", ["d1"], [0.1])]


class Interchange:
    """What has `__dataframe__` alone, as older data frames do."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __dataframe__(self, allow_copy: bool = True) -> Any:
        return self.frame.__dataframe__(allow_copy=allow_copy)


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


SOURCES = {
    "a list of records": lambda: ROWS,
    "an Arrow table": lambda: pa.Table.from_pylist(ROWS),
    "Polars": lambda: pl.DataFrame(ROWS),
    "pandas": pandas_frame,
    "the interchange protocol": lambda: Interchange(pa.Table.from_pylist(ROWS)),
    "scores": lambda: {"q1": {"d2": 0.5, "d1": 0.9}, "q2": {"d1": 0.1}},
    "our records": lambda: [
        {"query_id": "q1", "documents": [{"doc_id": "d1", "score": 0.9}, {"doc_id": "d2", "score": 0.5}]},
        {"query_id": "q2", "documents": [{"doc_id": "d1", "score": 0.1}]},
    ],
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_rankings_are_the_same_whatever_holds_them(source: Any) -> None:
    table = read_rankings(source())
    assert table.schema == RANKINGS
    found = zip(*(table[name].to_pylist() for name in ("query_id", "doc_ids", "scores")), strict=True)
    assert list(found) == EXPECTED


def test_a_table_of_rankings_is_taken_as_it_is() -> None:
    table = read_rankings({"q1": {"d1": 1}})
    assert read_rankings(table).equals(table)
    assert read_rankings(pl.DataFrame(table)).equals(table)


class Dumped:
    """What pydantic objects have in common: `model_dump`."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def test_documents_of_langchain_and_llama_index_are_read_as_objects() -> None:
    document = Dumped(id=None, metadata={}, page_content="apple", type="Document")
    node = Dumped(node={"id_": "d1", "text": "pear"}, score=0.5)
    table = read_rankings(
        [{"query": "?", "documents": [document, node]}, {"query": "!", "documents": [(document, 0.9)]}]
    )
    assert table["texts"].to_pylist() == [["apple", "pear"], ["apple"]]
    assert table["scores"].to_pylist() == [[None, 0.5], [0.9]]


def test_of_several_tables_of_scores_each_is_a_run() -> None:
    table = read_rankings({"bm25": {"q1": {"d1": 1}}, "dense": {"q1": {"d2": 1}}})
    assert table.select(["run", "doc_ids"]).to_pylist() == [
        {"run": "bm25", "doc_ids": ["d1"]},
        {"run": "dense", "doc_ids": ["d2"]},
    ]


def test_equal_scores_stand_as_in_a_trec_run() -> None:
    # by document id, last in byte order first: "d9" > "d10"
    assert read_rankings({"q1": {"d10": 1, "d9": 1}})["doc_ids"].to_pylist() == [["d9", "d10"]]


def test_labels_come_from_dicts_and_frames_and_a_negative_one_is_unjudged() -> None:
    expected = [("d1", 2.0, None), ("d2", None, "pooled_unjudged")]
    frame = pl.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "label": [2, -1]})
    for source in ({"q1": {"d1": 2, "d2": -1}}, frame, frame.to_dicts()):
        rows = read_labels(source).to_pylist()
        assert [(row["doc_id"], row["label"], row["reason"]) for row in rows] == expected


@pytest.mark.parametrize("source", [3, None, b"q1", {1, 2}])
def test_what_is_no_source_is_refused(source: object) -> None:
    with pytest.raises(InputError, match=r"rankings and labels are read from a path, .*; got "):
        read_rankings(source)


BAD: dict[str, tuple[Any, str]] = {
    "an infinite score": ({"q1": {"d1": float("inf")}}, "the dict, record 1: a score must be a finite number, got inf"),
    "a list of numbers": (
        [{"query_id": "q", "doc_id": "d", "rank": 1}, 7],
        "the list, record 2: expected an object, got int",
    ),
    "a row without a query": (
        pa.table({"query_id": ["q1", None], "doc_id": ["a", "b"], "rank": [1, 2]}),
        "the table, row 2: no query_id; found: query_id, doc_id, rank",
    ),
    "half a character": ([{"query_id": "q", "doc_id": "\ud800", "rank": 1}], "the list, record 1: \\ud800 is half a"),
}


@pytest.mark.parametrize(("source", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_with_an_object_names_the_record(source: Any, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_rankings(source)
    assert str(caught.value).startswith(message)
