"""Real trace and log files of five tools: what is read from each, and why from some nothing is."""

from pathlib import Path
from typing import Any

import pytest
import write_fixture_table as fixtures

from ragauge.errors import FormatError
from ragauge.io import read_corpus, read_labels, read_queries, scan_rankings

pytestmark = pytest.mark.data

# file: rankings, documents, skipped. Counted in listings of the files' spans, made without these readers.
READ = {
    "autorag/passage_reranker.parquet": (10, 50, {"lists of an earlier stage": 20}),
    "autorag/semantic_retrieval.parquet": (20, 200, {}),
    "bedrock/test_retrieve.json": (1, 5, {}),
    "bedrock/test_retrieve_and_generate_with_knowledge_base.json": (1, 1, {}),  # one passage, cited twice
    "deepeval/langchain_retriever_langchain_schema.json": (1, 2, {"not retrieval spans": 2}),
    "deepeval/langgraph_retriever_langchain_schema.json": (1, 2, {"not retrieval spans": 4}),
    "deepeval/llama_index_async_rag_schema.json": (1, 1, {"not retrieval spans": 10, "inside another retrieval": 1}),
    "deepeval/llama_index_rag_llama_schema.json": (1, 1, {"not retrieval spans": 11, "inside another retrieval": 1}),
    "deepeval/llama_index_rag_python_schema.json": (1, 1, {"not retrieval spans": 11, "inside another retrieval": 1}),
    "trulens/customapp_record.json": (1, 2, {"not retrieval spans": 13, "reranked later in the trace": 1}),
    "trulens/test_otel_feedback_computation__test_feedback_computation.csv": (1, 4, {"not retrieval spans": 13}),
    "trulens/test_otel_tru_chain__test_smoke.csv": (1, 4, {"not retrieval spans": 12, "inside another retrieval": 1}),
    "trulens/test_otel_tru_llama__test_smoke.csv": (1, 3, {"not retrieval spans": 4, "inside another retrieval": 2}),
}
REFUSED = {
    "autorag/corpus.parquet": "its records have the keys contents, doc_id, metadata",  # a collection
    "autorag/qa.parquet": "skipped 10 with labels and no ranking",
    "deepeval/crewai_knowledge_retrieval.json": "skipped 5 not retrieval spans",  # a tool span with one text
    "langfuse/beeai-2025-08-01.trace.json": "skipped 29 not retrieval spans",
    "langfuse/langgraph-js-2025-10-30.trace.json": "skipped 20 not retrieval spans",
    "langfuse/langgraph-python-2025-08-22.trace.json": "skipped 9 not retrieval spans",
    "langfuse/llamaindex-2025-06-05.trace.json": "skipped 2 not retrieval spans",
    "langfuse/vercel-aisdk-2025-11-17.trace.json": "skipped 3 not retrieval spans",
    "trulens/test_otel_tru_custom__test_smoke.csv": "skipped 8 not retrieval spans",
}


def fixture(name: str) -> Path:
    path = fixtures.FIXTURES / name
    if not path.exists():
        pytest.skip(f"no {path}")
    return path


@pytest.mark.parametrize(("name", "expected"), READ.items(), ids=READ.keys())
def test_a_real_file_is_read(name: str, expected: tuple[int, int, dict[str, int]]) -> None:
    reading = scan_rankings(fixture(name), duplicates="keep")
    n_documents = sum(map(len, reading.table["doc_ids"].to_pylist()))
    assert (reading.n_read, n_documents, {one.reason: one.count for one in reading.skipped}) == expected


@pytest.mark.parametrize(("name", "reason"), REFUSED.items(), ids=REFUSED.keys())
def test_a_real_file_without_rankings_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        scan_rankings(fixture(name))
    assert reason in str(caught.value)


def test_there_is_no_file_that_is_not_told_of() -> None:
    fixture("autorag")
    names = {f"{path.parent.name}/{path.name}" for path in fixtures.files()}
    assert names == READ.keys() | REFUSED.keys()


def test_the_table_in_the_docs_is_not_stale() -> None:
    fixture("autorag")
    _, _, rest = fixtures.PAGE.read_text().partition(fixtures.BEGIN)
    assert rest.partition(fixtures.END)[0] == fixtures.table(), "run tests/io/write_fixture_table.py"


def first(name: str) -> dict[str, Any]:
    return dict(scan_rankings(fixture(name), duplicates="keep").table.to_pylist()[0])


def test_a_retriever_of_deepeval_gives_texts_without_their_printed_form() -> None:
    row = first("deepeval/langchain_retriever_langchain_schema.json")
    assert row["query"] == "What is LangChain framework?"
    assert row["texts"][0] == "LangChain is a framework for developing applications powered by language models."


def test_a_reranked_list_keeps_its_order_though_its_scores_rise() -> None:
    row = first("trulens/customapp_record.json")
    assert row["texts"] == ["Relevant chunk: HELLO", "Relevant chunk: olleholleholleh"]
    assert row["scores"] == [16.0, 26.0]


def test_autorag_repeats_documents_in_a_ranking_and_that_is_an_error_unless_asked_for() -> None:
    path = fixture("autorag/semantic_retrieval.parquet")
    with pytest.raises(FormatError, match=r"row 1, item 1: query '1oy5tc': document '.*' stands in the ranking twice"):
        scan_rankings(path)
    reading = scan_rankings(path, duplicates="keep")
    assert reading.table["run"].unique().to_pylist() == ["lexical", "semantic"]
    assert str(reading).endswith("20 rankings; 20 with a document more than once")


def test_autorag_questions_hold_labels_and_its_corpus_is_a_collection() -> None:
    assert read_labels(fixture("autorag/qa.parquet"))["label"].to_pylist() == [1.0] * 10
    assert read_queries(fixture("autorag/qa.parquet")).num_rows == 10
    assert read_corpus(fixture("autorag/corpus.parquet")).num_rows == 30
