"""Labels: TREC qrels, tables with a header, JSON Lines, labels inside rankings, Parquet."""

from pathlib import Path

import pyarrow as pa
import pytest

from ragauge.errors import FormatError
from ragauge.io import FORMATS, read_labels, write_table
from ragauge.schema import LABELS

DATA = Path(__file__).parents[2].parent / "shared/data"


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def triples(path: Path) -> list[tuple[object, ...]]:
    table = read_labels(path)
    assert table.schema == LABELS
    return [(row["query_id"], row["doc_id"], row["label"]) for row in table.to_pylist()]


TWO = [("q1", "d1", 2.0), ("q1", "d2", 0.0)]
SAME = {  # one content, each way people write it
    "qrels": ("x.qrels", "q1 0 d1 2\nq1 0 d2 0\n"),
    "qrels by content": ("x.txt", "q1\t0\td1\t2\nq1\t0\td2\t0\n"),
    "qrels named tsv": ("x.tsv", "q1\t0\td1\t2\nq1\t0\td2\t0\n"),
    "csv": ("x.csv", "query_id,doc_id,label\nq1,d1,2\nq1,d2,0\n"),
    "csv with a mark and CRLF": ("x.csv", "\ufeffquery_id,doc_id,label\r\nq1,d1,2\r\n\r\nq1,d2,0\r\n"),
    "csv in another order": ("x.csv", "relevance,note,doc_id,query_id\n2,,d1,q1\n0,,d2,q1\n"),
    "BEIR": ("test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"),
    "jsonl": (
        "x.jsonl",
        '{"query_id": "q1", "doc_id": "d1", "label": 2}\n\n{"query_id": "q1", "doc_id": "d2", "label": false}\n',
    ),
    "rankings": (
        "x.jsonl",
        (
            '{"query_id": "q1", "documents": [{"doc_id": "d1", "label": 2}, {"doc_id": "d3"}]}\n'
            '{"query_id": "q1", "run": "other", "documents": [{"doc_id": "d2", "label": 0}]}\n'
        ),
    ),
    "the same said twice": ("x.qrels", "q1 0 d1 2\nq1 0 d1 2.0\nq1 0 d2 0\n"),
}


@pytest.mark.parametrize(("name", "text"), SAME.values(), ids=SAME.keys())
def test_labels_are_the_same_however_they_are_written(name: str, text: str, tmp_path: Path) -> None:
    assert triples(put(tmp_path / name, text)) == TWO


@pytest.mark.parametrize(
    ("name", "text"), [("x.qrels", "q1 0 d1 -1\n"), ("x.tsv", "query_id\tdoc_id\trelevance\nq1\td1\t-1\n")]
)
def test_a_negative_grade_is_pooled_and_unjudged(name: str, text: str, tmp_path: Path) -> None:
    row = read_labels(put(tmp_path / name, text)).to_pylist()[0]
    assert (row["label"], row["reason"]) == (None, "pooled_unjudged")


def test_an_empty_label_is_null_and_reason_and_judge_are_kept(tmp_path: Path) -> None:
    text = 'query_id,doc_id,label,judge,reason\nq1,d1,,m,"timeout, twice"\nq1,d2,0.25,,\n'
    assert read_labels(put(tmp_path / "x.csv", text)).to_pylist() == [
        {"query_id": "q1", "doc_id": "d1", "label": None, "reason": "timeout, twice", "judge": "m"},
        {"query_id": "q1", "doc_id": "d2", "label": 0.25, "reason": None, "judge": None},
    ]


def test_two_judges_may_differ(tmp_path: Path) -> None:
    text = "query_id,doc_id,label,judge\nq1,d1,1,ann\nq1,d1,0,bob\n"
    assert triples(put(tmp_path / "x.csv", text)) == [("q1", "d1", 1.0), ("q1", "d1", 0.0)]


def test_runs_that_share_a_labelled_document_give_it_once(tmp_path: Path) -> None:
    line = '{"query_id": "q1", "run": "%s", "documents": [{"doc_id": "d1", "label": 1}]}\n'
    assert triples(put(tmp_path / "x.jsonl", line % "a" + line % "b")) == [("q1", "d1", 1.0)]


BAD = {
    "no label column": (
        "x.csv",
        "query_id,doc_id,grade\nq1,d1,1\n",
        "no column 'label' in {}; found: query_id, doc_id, grade",
    ),
    "no header": ("x.csv", "q1,d1,1\n", "no column 'query_id' in {}; found: q1, d1, 1"),
    "too few fields": ("x.csv", "query_id,doc_id,label\nq1,d1\n", "{}, line 2: 2 fields, the header has 3"),
    "an empty id": ("x.csv", "query_id,doc_id,label\nq1,,1\n", "{}, line 2: the cell of 'doc_id' is empty"),
    "a word as label": ("x.csv", "query_id,doc_id,label\nq1,d1,yes\n", "{}, line 2: label 'yes' is not a number"),
    "NaN as label": ("x.csv", "query_id,doc_id,label\nq1,d1,NaN\n", "{}, line 2: label 'NaN' is not a finite number"),
    "an open quote": ("x.csv", 'query_id,doc_id,label\n"q1,d1,1\n', "{}, line 2: unexpected end of data"),
    "two labels": (
        "x.qrels",
        "q1 0 d1 1\nq1 0 d1 0\n",
        "{}, line 2: document 'd1' of query 'q1' is labelled 0 here and 1 on line 1",
    ),
    "three fields": ("x.qrels", "q1 d1 1\n", "{}, line 1: expected 4 fields (query_id 0 doc_id label), got 3"),
    "no key label": (
        "x.jsonl",
        '{"query_id": "q1", "doc_id": "d1"}',
        "{}, line 1: no key 'label' or 'documents'; found: query_id, doc_id",
    ),
    "no known format": (
        "x.txt",
        "one two\n",
        (
            "cannot tell what format the labels in {} have; it begins with 'one two'; "
            f"known formats: {', '.join(FORMATS)}"
        ),
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_says_what_and_where(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = put(tmp_path / name, text)
    with pytest.raises(FormatError) as caught:
        read_labels(path)
    assert str(caught.value) == message.format(path)


def test_all_bad_lines_are_shown_together(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read_labels(put(tmp_path / "x.qrels", "q1 0 d1 x\nq1 0 d2 1\nq1 0\n"))
    assert [problem.split(", ")[1][:6] for problem in caught.value.problems] == ["line 1", "line 3"]


ROWS = [
    {"query_id": "q1", "doc_id": 'a "quoted", id', "label": 0.1, "reason": None, "judge": "m"},
    {"query_id": "q1", "doc_id": "d\t2", "label": None, "reason": "line\nfeed", "judge": None},
]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz", "x.jsonl", "x.parquet"])
def test_labels_written_are_read_back(name: str, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS, schema=LABELS)
    write_table(table, tmp_path / name)
    assert read_labels(tmp_path / name).equals(table)


def test_a_parquet_label_that_is_nan_is_named_by_row(tmp_path: Path) -> None:
    write_table(pa.Table.from_pylist([{**ROWS[0], "label": float("nan")}], schema=LABELS), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match="row 1: label nan is not a finite number"):
        read_labels(tmp_path / "x.parquet")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_labels"),  # counts as the data's README states them
    [("trecdl-2019-passage", 9260), ("trec-covid-runs", 66334), ("scifact", 1258)],
)
def test_public_qrels_are_read_whole(name: str, n_labels: int) -> None:
    path = DATA / name / "qrels.tsv"
    if not path.exists():
        pytest.skip(f"no {path}")
    assert read_labels(path).num_rows == n_labels
