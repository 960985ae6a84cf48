"""Every format: what is read from a small file of it, how it is recognised, and what is said of it."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from io_samples import APPLE, FLAT, PEAR, ROOT, SAMPLES, SPAN, TWO, Sample, langchain, langsmith_run, lines, observation

from ragauge.errors import FormatError, InputError, SchemaError
from ragauge.io import (
    FORMATS,
    read_corpus,
    read_labels,
    read_queries,
    read_rankings,
    scan_labels,
    scan_rankings,
    write_table,
)
from ragauge.schema import LABELS, RANKINGS

RANKED = {name: sample for name, sample in SAMPLES.items() if sample.rankings}
LABELLED = {name: sample for name, sample in SAMPLES.items() if sample.labels}


def put(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path: object) -> list[tuple[object, ...]]:
    table = read_rankings(path)
    assert table.schema == RANKINGS
    return [(row["query_id"], row["query"], row["doc_ids"], row["scores"]) for row in table.to_pylist()]


@pytest.mark.parametrize("sample", RANKED.values(), ids=RANKED.keys())
def test_the_rankings_of_each_format_are_read(sample: Sample, tmp_path: Path) -> None:
    assert rows(put(tmp_path, sample.name, sample.content)) == list(sample.rankings)


@pytest.mark.parametrize("sample", RANKED.values(), ids=RANKED.keys())
def test_a_packed_file_is_read_alike(sample: Sample, tmp_path: Path) -> None:
    path = put(tmp_path, f"{sample.name}.gz", gzip.compress(sample.content))
    assert rows(path) == list(sample.rankings)


@pytest.mark.parametrize("sample", LABELLED.values(), ids=LABELLED.keys())
def test_the_labels_of_each_format_are_read(sample: Sample, tmp_path: Path) -> None:
    table = read_labels(put(tmp_path, sample.name, sample.content))
    assert table.schema == LABELS
    assert {(row["query_id"], row["doc_id"]): row["label"] for row in table.to_pylist()} == sample.labels


SAID = {name: sample for name, sample in SAMPLES.items() if sample.said}


@pytest.mark.parametrize("sample", SAID.values(), ids=SAID.keys())
def test_it_is_said_what_a_file_was_read_as_and_what_was_skipped(sample: Sample, tmp_path: Path) -> None:
    path = put(tmp_path, sample.name, sample.content)
    said = str(scan_rankings(path))
    assert said.startswith(f"{path}: read as ")
    assert said.endswith(sample.said)


def test_every_format_has_a_sample() -> None:
    assert {name.split()[0] for name in SAMPLES} >= FORMATS.keys() - {"documents"}
    assert {"langchain", "llama-index"} <= SAMPLES.keys()  # the two kinds of "documents"


def test_every_format_stands_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs/formats.md").read_text()
    assert [name for name in FORMATS if f"| `{name}` | " not in page] == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_can_be_forced_and_says_what_is_missing(name: str, tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", lines({"some": "record"}))
    for scan in (scan_rankings, scan_labels):
        with pytest.raises((FormatError, SchemaError, InputError)):
            scan(path, format=name)


def test_a_forced_format_wins_over_the_content(tmp_path: Path) -> None:
    record = {**langsmith_run(), "documents": [{"doc_id": "ours"}], "query_id": "q1"}
    path = put(tmp_path, "x.jsonl", lines(record))
    assert rows(path)[0][2] == ["ours"]
    assert read_rankings(path, format="langsmith")["doc_ids"].to_pylist() == [["d1", "2"]]


def test_the_names_of_files_without_a_run_are_their_runs(tmp_path: Path) -> None:
    path = put(tmp_path, "june.jsonl.gz", lines(langsmith_run()))
    assert read_rankings(path)["run"].to_pylist() == ["june"]


def test_a_file_without_a_ranking_is_refused_with_all_reasons(tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", lines(ROOT, {**SPAN, "attributes": {"openinference.span.kind": "RETRIEVER"}}))
    with pytest.raises(FormatError) as caught:
        read_rankings(path)
    assert str(caught.value) == (
        f"{path}: read as OpenInference spans, and there are no rankings in it; "
        "skipped 1 not retrieval spans (first: line 1), 1 without documents (first: line 2)"
    )


def test_an_unknown_file_is_told_by_what_was_looked_at(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"its records have the keys a, b; known formats: trec, jsonl, .*, scores$"):
        read_rankings(put(tmp_path, "x.json", '[{"a": 1, "b": 2}]'))
    with pytest.raises(FormatError, match="it begins with 'one two'; known formats: trec"):
        read_labels(put(tmp_path, "x.dat", "one two\n"))
    with pytest.raises(FormatError, match="it has no records; known formats: trec"):
        read_rankings([])


BAD = {
    "a broken line": (b'{"run_type": "retriever"', "line 2: not JSON: "),
    "a list as id": (
        lines(langsmith_run(outputs={"documents": [{"id": ["a"], "text": "t"}]})),
        "line 2: document 1: the id",
    ),
    "a word as score": (
        lines(langsmith_run(outputs=[{"id": "a", "score": "high"}])),
        "line 2: document 1: the score must be a finite number, got 'high'",
    ),
    "an infinite score": (
        lines(langsmith_run(outputs=[{"id": "a", "score": float("inf")}])),
        "line 2: document 1: the score must be a finite number, got inf",
    ),
    "a number as text": (
        lines(langsmith_run(outputs=[{"page_content": 7}])),
        "line 2: document 1: the text must be a string, got 7",
    ),
    "neither id nor text": (
        lines(langsmith_run(outputs=[{"metadata": {}}])),
        "line 2: document 1: a document has neither an id nor a text",
    ),
    "half a character": (
        lines(langsmith_run(outputs=["\ud83d"])),
        "line 2: \\ud83d is half a character (an unpaired surrogate)",
    ),
    "a document twice": (
        lines(langsmith_run(id="s2", outputs=["a", "a"])),
        f"line 2: query 't1/s2': document '{'sha256:ca978112ca1bbdca'}' stands in the ranking twice",  # SHA-256 of "a"
    ),
}


@pytest.mark.parametrize(("second", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_with_a_record_names_its_place(second: bytes, message: str, tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", lines(langsmith_run()) + second)
    with pytest.raises(FormatError) as caught:
        read_rankings(path)
    assert f"{path}, {message}" in str(caught.value)


def test_problems_of_several_records_are_shown_together(tmp_path: Path) -> None:
    bad = langsmith_run(outputs=[{"id": "a", "score": "high"}])
    with pytest.raises(FormatError) as caught:
        read_rankings(put(tmp_path, "x.jsonl", lines(bad, langsmith_run(id="s2"), bad)))
    assert [problem.split(": ")[0].split(", ")[-1] for problem in caught.value.problems] == ["line 1", "line 3"]


def test_documents_that_repeat_are_kept_and_counted_where_that_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", lines(langsmith_run(outputs=["apple", "pear", "apple"])))
    reading = scan_rankings(path, duplicates="keep")
    assert reading.table["doc_ids"].to_pylist() == [[APPLE, PEAR, APPLE]]
    assert str(reading).endswith("1 ranking; 1 with a document more than once")


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_our_own_formats_keep_repeated_documents_too(name: str, tmp_path: Path) -> None:
    nothing = [None, None, None]
    row = {"query_id": "q1", "run": "r", "texts": nothing, "scores": nothing, "labels": nothing}
    table = pa.Table.from_pylist([{**row, "doc_ids": ["a", "b", "a"]}], schema=RANKINGS)
    documents = [{"doc_id": "a"}, {"doc_id": "b"}, {"doc_id": "a"}]
    put(tmp_path, "x.jsonl", lines({"query_id": "q1", "documents": documents}))
    write_table(table, tmp_path / "x.parquet")
    reading = scan_rankings(tmp_path / name, duplicates="keep")
    assert reading.table["doc_ids"].to_pylist() == [["a", "b", "a"]]
    assert str(reading).endswith(": 1 ranking; 1 with a document more than once")
    with pytest.raises(FormatError, match="document 'a' stands in the ranking twice"):
        read_rankings(tmp_path / name)


def test_a_query_asked_twice_without_an_id_is_two_queries(tmp_path: Path) -> None:
    record = {"user_input": "which fruit?", "retrieved_contexts": ["apple"]}
    first, second = rows(put(tmp_path, "x.jsonl", lines(record, record)))
    assert second[0] == f"{first[0]}#2"


def test_an_id_that_comes_twice_is_an_error(tmp_path: Path) -> None:
    record = {"id": "q1", "user_input": "?", "retrieved_contexts": ["apple"]}
    with pytest.raises(FormatError, match="line 2: query 'q1' of run 'x' stands at line 1 already"):
        read_rankings(put(tmp_path, "x.jsonl", lines(record, record)))


def test_a_retrieval_without_query_and_id_is_skipped(tmp_path: Path) -> None:
    record = {"outputs": ["apple"], "run_type": "retriever"}
    reading = scan_rankings(put(tmp_path, "x.jsonl", lines(langsmith_run(), record)))
    assert str(reading).endswith("skipped 1: 1 with neither a query nor an id (first: line 2)")


def test_labels_of_one_judge_must_agree_and_those_of_two_may_differ(tmp_path: Path) -> None:
    record = {"model": "m", "query": "?", "passage": "apple", "judgment": 3}
    other = {**record, "judgment": 1}
    with pytest.raises(FormatError, match=r"line 2: document '.*' of query '.*' is labelled 1 here and 3 at line 1"):
        read_labels(put(tmp_path, "x.jsonl", lines(record, other)))
    table = read_labels(put(tmp_path, "x.jsonl", lines(record, {**other, "model": "n"})))
    assert table.select(["label", "judge"]).to_pylist() == [{"label": 3, "judge": "m"}, {"label": 1, "judge": "n"}]


def test_a_judgment_that_failed_has_a_reason_and_no_label(tmp_path: Path) -> None:
    record = {"model": "m", "query": "?", "passage": "apple", "judgment": 0, "result_status": 0}
    row = read_labels(put(tmp_path, "x.jsonl", lines(record))).to_pylist()[0]
    assert (row["label"], row["reason"], row["judge"]) == (None, "judgment_failed", "m")


def test_json_lines_longer_than_what_is_looked_at_first_are_told_from_a_document(tmp_path: Path) -> None:
    long = langsmith_run(outputs=["apple " * 300_000])  # 1.8 MB; the first MB tells the format
    path = put(tmp_path, "x", lines(long, langsmith_run(id="s2")))
    assert read_rankings(path).num_rows == 2


def test_a_large_cell_of_a_table_is_read(tmp_path: Path) -> None:
    text = "apple " * 50_000  # 300,000 characters; the csv module stops at 131,072 by itself
    path = put(tmp_path, "x.csv", f'query_id,doc_id,rank,text\nq1,d1,1,"{text}"\n')
    assert read_rankings(path)["texts"].to_pylist() == [[text]]


def test_a_table_needs_a_query_and_a_document(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no column 'query_id' in .*x\.csv; found: a, b"):
        read_rankings(put(tmp_path, "x.csv", "a,b\n1,2\n"))
    with pytest.raises(FormatError, match=r"no column 'doc_id' in .*x\.csv; found: qid, b"):
        read_rankings(put(tmp_path, "x.csv", "qid,b\n1,2\n"))
    with pytest.raises(FormatError, match="query 'q1': some of its rows have a rank and some have none"):
        read_rankings(put(tmp_path, "x.csv", "qid,docno,rank\nq1,a,1\nq1,b,\n"))


def test_the_folder_of_a_beir_data_set_is_read(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    put(tmp_path, "corpus.jsonl", lines({"_id": "d1", "title": "t", "text": "apple"}))
    put(tmp_path, "queries.jsonl", lines({"_id": "q1", "text": "which fruit?"}))
    put(tmp_path, "qrels/train.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert read_corpus(tmp_path).to_pylist() == [{"doc_id": "d1", "title": "t", "text": "apple"}]
    assert read_queries(tmp_path)["query"].to_pylist() == ["which fruit?"]
    assert read_labels(tmp_path)["label"].to_pylist() == [1.0]
    put(tmp_path, "qrels/dev.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    with pytest.raises(FormatError, match=r"has qrels/ with dev\.tsv, train\.tsv; name one of them"):
        read_labels(tmp_path)
    put(tmp_path, "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t3\n")
    assert read_labels(tmp_path)["label"].to_pylist() == [3.0]


def test_collections_are_read_whatever_they_are_packed_in(tmp_path: Path) -> None:
    expected = [{"doc_id": "d1", "title": None, "text": "apple"}]
    path = put(tmp_path, "d.json", SAMPLES["llama-index-dataset"].content)
    assert read_corpus(path).to_pylist() == expected
    assert read_queries(path).to_pylist() == [{"query_id": "q1", "query": "?", "answer": None}]
    assert read_corpus(put(tmp_path, "c.csv", "doc_id,contents\nd1,apple\n")).to_pylist() == expected
    assert read_corpus(put(tmp_path, "c.json", '[{"id": "d1", "text": "apple"}]')).to_pylist() == expected
    with pytest.raises(FormatError, match="record 2: doc_id 'd1' stands on record 1 already"):
        read_corpus(put(tmp_path, "c.csv", "doc_id,contents\nd1,apple\nd1,pear\n"))


@pytest.mark.parametrize("key", ["data", "samples"])
def test_records_in_the_wrapping_of_an_answer_are_read(key: str, tmp_path: Path) -> None:
    path = put(tmp_path, "x.json", json.dumps({key: [langsmith_run(), langsmith_run(id="s2")], "meta": {"page": 1}}))
    assert [row[0] for row in rows(path)] == ["t1/s1", "t1/s2"]


EMPTY = {
    "ragas": {"user_input": "?", "retrieved_contexts": []},
    "deepeval": {"input": "?", "actual_output": "a", "retrieval_context": []},
    "umbrela": {"query": {"text": "?", "qid": "q"}, "candidates": []},
    "trec-rag": {"metadata": {"topic_id": "q"}, "references": []},
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_list_is_a_query_that_retrieved_nothing_and_no_list_is_none(name: str, tmp_path: Path) -> None:
    empty = EMPTY[name]
    (key,) = (key for key, value in empty.items() if value == [])
    reading = scan_rankings(put(tmp_path, "x.jsonl", lines(empty, {**empty, key: None})), format=name)
    assert (reading.table["doc_ids"].to_pylist(), [one.first for one in reading.skipped]) == ([[]], ["line 2"])


def test_what_a_trace_says_of_nothing_retrieved_counts(tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", lines(langsmith_run(outputs={"documents": []})))
    assert rows(path) == [("t1/s1", "which fruit?", [], [])]


def test_json_inside_strings_is_unpacked_and_texts_that_look_like_json_stay(tmp_path: Path) -> None:
    record = observation(input=json.dumps(json.dumps({"query": "which fruit?"})), output=[langchain('{"a": 1}')])
    row = read_rankings(put(tmp_path, "x.jsonl", lines(record))).to_pylist()[0]
    assert (row["query"], row["texts"]) == ("which fruit?", ['{"a": 1}'])


def test_columns_of_spans_may_be_packed_as_text(tmp_path: Path) -> None:
    packed = {**SPAN, "context": json.dumps(SPAN["context"]), "attributes": json.dumps(FLAT)}
    assert rows(put(tmp_path, "x.jsonl", lines(packed))) == list(TWO)
