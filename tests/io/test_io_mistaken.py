"""Labels given as rankings, rankings given as labels: one error that says what the file looks like."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from ragauge.errors import FormatError
from ragauge.io import read_labels, read_rankings

LABELS = {
    "qrels": ("x.txt", "q1 0 d1 2\nq1 0 d2 0\n"),
    "qrels in a file named run": ("x.run", "q1 0 d1 2\nq1 0 d2 0\n"),
    "qrels with a header": ("x.csv", "query_id,doc_id,relevance\nq1,d1,2\nq1,d2,0\n"),
    "qrels of BEIR": ("test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"),
    "a pair a line": ("x.jsonl", '{"query_id": "q1", "doc_id": "d1", "label": 1, "judge": "m"}\n'),
    "pairs as a JSON list": ("x.json", '[{"query_id": "q1", "doc_id": "d1", "label": 1}]'),
}

RANKED = {
    "scores that are whole numbers": ("x.csv", "query_id,doc_id,score\nq1,d1,1\nq1,d2,2\n", ["d2", "d1"]),
    "scores under BEIR's names": ("x.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1.0\nq1\td2\t2.5\n", ["d2", "d1"]),
    "labels beside ranks": ("x.csv", "query_id,doc_id,rank,label\nq1,d1,2,1\nq1,d2,1,0\n", ["d2", "d1"]),
    "labels beside texts": ("x.csv", "query_id,doc_id,text,label\nq1,d1,apple,1\nq1,d2,pear,0\n", ["d1", "d2"]),
    "labels beside a run": ("x.csv", "query_id,run,doc_id,label\nq1,a,d1,1\nq1,a,d2,0\n", ["d1", "d2"]),
    "documents alone": ("x.csv", "query_id,doc_id\nq1,d1\nq1,d2\n", ["d1", "d2"]),
}


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(("name", "text"), LABELS.values(), ids=LABELS.keys())
def test_labels_are_not_taken_for_rankings(name: str, text: str, tmp_path: Path) -> None:
    path = put(tmp_path, name, text)
    assert read_labels(path).num_rows > 0
    with pytest.raises(FormatError, match=r"looks like labels.*not rankings.*ive it with --labels") as caught:
        read_rankings(path)
    assert str(caught.value).startswith(str(path))


def test_a_table_of_labels_is_not_taken_for_rankings() -> None:
    table = pa.table({"query_id": ["q1"], "doc_id": ["d1"], "label": [1.0]})
    with pytest.raises(FormatError, match="the table looks like labels, not rankings: a row has query_id, doc_id, lab"):
        read_rankings(table)


@pytest.mark.parametrize(("name", "text", "doc_ids"), RANKED.values(), ids=RANKED.keys())
def test_what_can_be_rankings_is_read(name: str, text: str, doc_ids: Sequence[str], tmp_path: Path) -> None:
    assert read_rankings(put(tmp_path, name, text))["doc_ids"].to_pylist() == [doc_ids]


def test_rows_that_look_like_labels_are_rankings_where_the_format_is_named(tmp_path: Path) -> None:
    table = read_rankings(put(tmp_path, *LABELS["qrels with a header"]), format="csv")
    assert table.select(["doc_ids", "labels"]).to_pylist() == [{"doc_ids": ["d1", "d2"], "labels": [2.0, 0.0]}]


def test_a_run_given_as_labels_is_one_error_with_the_number_of_its_lines(tmp_path: Path) -> None:
    path = put(tmp_path, "x.run", "".join(f"q{i} Q0 d{i} 1 0.5 bm25\n" for i in range(1500)))
    with pytest.raises(FormatError) as caught:
        read_labels(path)
    assert str(caught.value) == (
        f"{path} looks like a run, not labels (qrels): it has 1,500 lines of 6 fields "
        "(query_id Q0 doc_id rank score run); give it as RANKINGS"
    )


def test_a_run_with_one_line_of_qrels_is_told_the_line(tmp_path: Path) -> None:
    path = put(tmp_path, "x.run", "q1 Q0 d1 1 0.5 t\nq1 0 d2 1\n")
    with pytest.raises(FormatError, match=r"line 2: expected 6 fields .*, got 4$"):
        read_rankings(path)


def test_ranks_without_labels_are_not_taken_for_labels(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "query_id,doc_id,rank,score\nq1,d1,1,9.5\nq1,d2,2,8.1\n")
    with pytest.raises(FormatError, match="looks like rankings, not labels: a row has query_id, doc_id, rank, score"):
        read_labels(path)
    assert read_labels(path, format="csv")["label"].to_pylist() == [9.5, 8.1]
