"""Spans: one meaning however attributes are written, and which of a trace's retrievals is the ranking."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_samples import lines, otlp

from ragauge.io import Reading, scan_rankings


def span(name: str, parent: str | None, kind: str, *ids: str, trace: str = "t", query: str = "?") -> dict[str, Any]:
    where = "reranker.output_documents" if kind == "RERANKER" else "retrieval.documents"
    documents = {f"{where}.{place}.document.id": id_ for place, id_ in enumerate(ids)}
    return {
        "context": {"trace_id": trace, "span_id": name},
        "parent_id": parent,
        "attributes": {"openinference.span.kind": kind, "input.value": query, **documents},
    }


def scan(folder: Path, *records: object) -> Reading:
    path = folder / "x.jsonl"
    path.write_bytes(lines(*records))
    return scan_rankings(path)


def kept(reading: Reading) -> list[tuple[str, list[str]]]:
    return list(zip(*(reading.table[name].to_pylist() for name in ("query_id", "doc_ids")), strict=True))


def reasons(reading: Reading) -> dict[str, int]:
    return {one.reason: one.count for one in reading.skipped}


A, B, C = (span(name, None, "RETRIEVER", doc) for name, doc in (("a", "d1"), ("b", "d2"), ("c", "d1")))

SETTLED: dict[str, tuple[list[dict[str, Any]], list[str], dict[str, int]]] = {
    "all retrievals of a trace are kept": ([A, B, C], ["t/a", "t/b", "t/c"], {}),
    "the outermost of nested retrievals counts": (
        [A, span("b", "a", "RETRIEVER", "d2"), span("c", "b", "RETRIEVER", "d3")],
        ["t/a"],
        {"inside another retrieval": 2},
    ),
    "also with another span between them and after them in the file": (
        [span("c", "b", "RETRIEVER", "d2"), span("b", "a", "CHAIN"), A],
        ["t/a"],
        {"inside another retrieval": 1, "not retrieval spans": 1},
    ),
    "a retriever without documents hides nothing": (
        [span("a", None, "RETRIEVER"), span("b", "a", "RETRIEVER", "d1")],
        ["t/b"],
        {"without documents": 1},
    ),
    "a reranker's list replaces those it was made of": (
        [A, B, span("r", None, "RERANKER", "d2", "d1")],
        ["t/r"],
        {"reranked later in the trace": 2},
    ),
    "a reranker of other documents replaces nothing": ([A, span("r", None, "RERANKER", "d7")], ["t/a", "t/r"], {}),
    "a reranker of another query replaces nothing": (
        [A, span("r", None, "RERANKER", "d1", query="other")],
        ["t/a", "t/r"],
        {},
    ),
    "a reranker of another trace replaces nothing": (
        [A, span("r", None, "RERANKER", "d1", trace="u")],
        ["t/a", "u/r"],
        {},
    ),
    "a reranker around its retriever counts": (
        [span("r", None, "RERANKER", "d9"), span("a", "r", "RETRIEVER", "d1")],
        ["t/r"],
        {"inside another retrieval": 1},
    ),
    "a span exported twice is read once": ([A, A], ["t/a"], {"read before (same span)": 1}),
    "spans that are their own ancestors are kept": (
        [span("a", "b", "RETRIEVER", "d1"), span("b", "a", "CHAIN")],
        ["t/a"],
        {"not retrieval spans": 1},
    ),
}


@pytest.mark.parametrize(("spans", "ids", "skipped"), SETTLED.values(), ids=SETTLED.keys())
def test_which_retrievals_of_a_trace_are_rankings(
    spans: list[dict[str, Any]], ids: list[str], skipped: dict[str, int], tmp_path: Path
) -> None:
    reading = scan(tmp_path, *spans)
    assert ([query_id for query_id, _ in kept(reading)], reasons(reading)) == (ids, skipped)


def test_a_chain_of_20000_spans_is_settled_at_once(tmp_path: Path) -> None:
    chain = [span(str(n), str(n - 1), "CHAIN") for n in range(1, 20_000)]
    reading = scan(tmp_path, span("0", None, "RETRIEVER", "d1"), *chain, span("x", "19999", "RETRIEVER", "d2"))
    assert reasons(reading) == {"not retrieval spans": 19_999, "inside another retrieval": 1}


NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
DOCUMENTS = st.lists(
    st.fixed_dictionaries({"id": NAME, "score": st.floats(-1e9, 1e9), "content": NAME}),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one["id"],
)


def spellings(query: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """One retrieval, each way its attributes are written."""
    flat = {
        f"retrieval.documents.{place}.document.{key}": value
        for place, one in enumerate(documents)
        for key, value in one.items()
    }
    head = {"openinference.span.kind": "RETRIEVER", "input.value": query}
    wrapped = [{"document": one} for one in documents]
    dotted = [{f"document.{key}": value for key, value in one.items()} for one in documents]
    return {
        "flat": {**head, **flat},
        "nested": {
            "openinference": {"span": {"kind": "RETRIEVER"}},
            "input": {"value": query},
            "retrieval": {"documents": wrapped},
        },
        "dotted": {**head, "retrieval.documents": dotted},
        "numbered": {**head, "retrieval": {"documents": {str(place): one for place, one in enumerate(wrapped)}}},
        "text": json.dumps({**head, "retrieval": {"documents": json.dumps(dotted)}}),
        "otlp": [{"key": key, "value": otlp(value)} for key, value in {**head, **flat}.items()],
    }


def test_attributes_mean_the_same_however_they_are_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("spans")

    @settings(max_examples=60, deadline=None)
    @given(NAME.map(lambda text: f"q {text}"), DOCUMENTS)
    def one_meaning(query: str, documents: list[dict[str, Any]]) -> None:
        for how, attributes in spellings(query, documents).items():
            record = {"context": {"trace_id": "t", "span_id": "s"}, "attributes": attributes}
            row = scan(folder, record).table.to_pylist()[0]
            assert (how, row["query"], row["doc_ids"]) == (how, query, [one["id"] for one in documents])
            assert (row["scores"], row["texts"]) == (
                [one["score"] for one in documents],
                [one["content"] for one in documents],
            )

    one_meaning()
