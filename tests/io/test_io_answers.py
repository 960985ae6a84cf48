"""Answers to grade from the files people have; the sheet for people, and the grades read back from it."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ragauge.errors import FormatError
from ragauge.io import is_grades, read_answers, read_grades, write_answer_sheet

ONE = ("why?", "because of a", "of a")
RECORDS: dict[str, dict[str, Any]] = {
    "ours": {"query": "why?", "ideal": "because of a", "answer": "of a"},
    "ragas": {"user_input": "why?", "reference": "because of a", "response": "of a", "retrieved_contexts": ["x"]},
    "older ragas": {"question": "why?", "ground_truths": ["because of a"], "answer": "of a"},
    "deepeval": {"input": "why?", "expected_output": "because of a", "actual_output": "of a"},
    "deepeval in camel case": {"input": "why?", "expectedOutput": "because of a", "actualOutput": "of a"},
    "mlflow": {
        "inputs": {"question": "why?"},
        "expectations": {"expected_response": "because of a"},
        "outputs": "of a",
    },
    "retrieval-response, with its query": {"query": "why?", "answer_ideal": "because of a", "answer_topK": "of a"},
}


def written(folder: Path, *records: dict[str, Any], name: str = "mine.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_texts_are_found_under_the_names_that_tools_give_them(record: dict[str, Any], tmp_path: Path) -> None:
    row = read_answers([written(tmp_path, record)]).to_pylist()[0]
    assert (row["query"], row["ideal"], row["answer"]) == ONE


def test_missing_ids_are_hashes_and_the_system_is_the_files_name(tmp_path: Path) -> None:
    row = read_answers([written(tmp_path, RECORDS["ours"], name="bm25.jsonl")]).to_pylist()[0]
    assert row["system"] == "bm25"
    assert row["query_id"].startswith("sha256:") and row["answer_id"].startswith("sha256:")


def test_ids_and_systems_that_are_given_are_kept(tmp_path: Path) -> None:
    record = {**RECORDS["ours"], "query_id": 7, "answer_id": "a", "run": "dense"}
    row = read_answers([written(tmp_path, record)]).to_pylist()[0]
    assert (row["query_id"], row["answer_id"], row["system"]) == ("7", "a", "dense")


def test_csv_parquet_and_a_json_list_give_the_same(tmp_path: Path) -> None:
    records = [
        {**RECORDS["ours"], "query_id": "q1", "system": "s"},
        {**RECORDS["ours"], "query_id": "q2", "system": "t"},
    ]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(records))
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    tables = [read_answers([tmp_path / name]) for name in ("a.parquet", "a.json", "a.csv")]
    assert tables[0].num_rows == 2
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])


def test_two_files_are_two_systems_also_by_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    paths = [written(tmp_path / folder, RECORDS["ours"], name="run.jsonl") for folder in ("a", "b")]
    assert read_answers(paths).column("system").to_pylist() == [str(path) for path in paths]


def test_an_empty_answer_is_null(tmp_path: Path) -> None:
    records = [{**RECORDS["ours"], "query_id": "q1"}, {**RECORDS["ours"], "query_id": "q2", "answer": " "}]
    assert read_answers([written(tmp_path, *records)]).column("answer").to_pylist() == ["of a", None]


Q = {"query_id": "q", **RECORDS["ours"]}
BAD = {
    "no ideal": ([{"query": "q", "answer": "a"}], "no column 'ideal' in .*reference.*; found: query, answer"),
    "no query": ([{**Q, "query": ""}], "line 1: no text for 'query'"),
    "two ideals": ([{**Q, "ideal": ["a", "b"]}], "line 1: 'ideal' must be one text, got a list of 2"),
    "two queries": ([Q, {**Q, "query": "how?"}], "query 'q' has two texts: 'why\\?' and 'how\\?'"),
    "one id, two answers": ([{**Q, "answer_id": 1}, {**Q, "answer_id": 1, "answer": "b"}], "names two answers"),
    "twice": ([Q, Q], "stands twice for system 'mine'"),
}


@pytest.mark.parametrize(("records", "message"), BAD.values(), ids=BAD)
def test_what_is_no_answer_is_refused_by_its_line(records: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read_answers([written(tmp_path, *records)])


def test_a_trec_run_holds_no_answers(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 3.5 bm25\n")
    with pytest.raises(FormatError, match="holds no records"):
        read_answers([tmp_path / "run.txt"])


def sheet_of(folder: Path, *, seed: int = 0) -> list[dict[str, str]]:
    """Ten queries with answers of two systems, the same one from both for the last query."""
    records = [
        {"query_id": f"q{q}", "query": f"{q}?", "ideal": "i", "system": system, "answer": "both" if q == 9 else system}
        for q in range(10)
        for system in ("one", "two")
    ]
    path = folder / f"sheet{seed}.csv"
    assert write_answer_sheet(read_answers([written(folder, *records)]), path, seed=seed) == 19
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_sheet_names_no_system_and_has_each_answer_once(tmp_path: Path) -> None:
    rows = sheet_of(tmp_path)
    assert list(rows[0]) == ["query_id", "answer_id", "query", "ideal", "answer", "grade"]
    assert len({(row["query_id"], row["answer"]) for row in rows}) == len(rows) == 19
    assert {row["grade"] for row in rows} == {""}


def test_a_sheet_keeps_the_answers_to_a_query_together_in_a_seeded_random_order(tmp_path: Path) -> None:
    rows, other = sheet_of(tmp_path), sheet_of(tmp_path, seed=1)
    queries = [row["query_id"] for row in rows]
    starts = [query for at, query in enumerate(queries) if at == 0 or queries[at - 1] != query]
    assert sorted(starts) == sorted(set(queries))
    assert starts != sorted(starts)
    assert {rows[queries.index(query)]["answer"] for query in starts} == {"one", "two", "both"}
    assert rows == sheet_of(tmp_path)
    assert rows != other


def test_a_filled_sheet_is_read_as_labels_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "anna.csv"
    path.write_text("query_id,answer_id,answer,grade\nq1,a,x,4\nq1,b,y,\n")
    assert is_grades(path)
    rows = [(row["query_id"], row["doc_id"], row["label"], row["judge"]) for row in read_grades(path).to_pylist()]
    assert rows == [("q1", "a", 4.0, None), ("q1", "b", None, None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1,a,6", "line 2: a grade must be 1 to 5, got 6; of another scale, name the columns with --unit"),
        ("q1,a,good", "line 2: grade 'good' is not a number"),
        ('q1,a,"3,5"', "line 2: grade '3,5' is not a number; write decimals with a point"),
        ("q1,,3", "line 2: no key 'answer_id'"),
        ("q1,a,3\nq1,a,4", "line 3: document 'a' of query 'q1' is labelled 4 here and 3 on line 2"),
    ],
)
def test_a_sheet_that_is_filled_in_wrongly_is_refused_by_its_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "anna.csv"
    path.write_text(f"query_id,answer_id,grade\n{line}\n")
    with pytest.raises(FormatError, match=message):
        read_grades(path)


@pytest.mark.parametrize("mark", [";", "\t", ","])
def test_a_sheet_is_read_as_spreadsheets_save_it(mark: str, tmp_path: Path) -> None:
    rows = (["query_id", "answer_id", "answer", "grade"], ["q1", "a", '"é; one, two"', "4"], ["", "", "", ""])
    path = tmp_path / "anna.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{mark.join(row)}\r\n" for row in rows).encode())
    assert is_grades(path)
    assert [(row["doc_id"], row["label"]) for row in read_grades(path).to_pylist()] == [("a", 4.0)]


def test_a_sheet_without_a_column_is_refused_once(tmp_path: Path) -> None:
    (tmp_path / "anna.csv").write_text("answer_id,grade\na,4\nb,5\n")
    with pytest.raises(FormatError, match=r"^no column 'query_id' in .*anna.csv; found: answer_id, grade$"):
        read_grades(tmp_path / "anna.csv")


def test_qrels_and_rankings_are_no_grades(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 2\n")
    (tmp_path / "labels.csv").write_text("query_id,doc_id,label\nq1,d1,2\n")
    assert not is_grades(tmp_path / "qrels.txt")
    assert not is_grades(tmp_path)
    assert not is_grades(tmp_path / "labels.csv")
