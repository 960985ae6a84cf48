"""One small file of each format, written by hand, with what is to be read from it."""

import csv
import io
import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = tuple[str, str | None, list[str], list[float | None]]
"""query_id, query, documents, scores."""


@dataclass(frozen=True)
class Sample:
    """A file, and what it holds: rankings, labels by (query, document), and what `str` of the reading ends in."""

    name: str
    content: bytes
    rankings: tuple[Row, ...] = ()
    labels: dict[tuple[str, str], float | None] = field(default_factory=dict)
    said: str = ""


def lines(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def document(value: object) -> bytes:
    return json.dumps(value, indent=1).encode()


def table(*rows: dict[str, object]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def parquet(*rows: dict[str, object]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), out)
    return out.getvalue()


def langchain(text: str, **more: object) -> dict[str, object]:
    return {"page_content": text, "metadata": {"source": "a.md"}, "type": "Document", **more}


def node(name: str, text: str, score: float) -> dict[str, object]:
    inner = {"id_": name, "text": text, "metadata": {}, "relationships": {}, "class_name": "TextNode"}
    return {"node": inner, "score": score, "class_name": "NodeWithScore"}


def otlp(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(one) for one in value]}}
    return {"stringValue": value}


# SHA-256 of the texts below, first 16 hex digits, from `printf %s TEXT | sha256sum`
APPLE = "sha256:3a7bd3e2360a3d29"  # apple
PEAR = "sha256:97cfbe87531abe0c"  # pear
WHICH = "sha256:a7a9eacd1a61d551"  # which fruit?

TWO: tuple[Row, ...] = (("t1/s1", "which fruit?", ["d1", "2"], [0.9, 0.5]),)
HASHED: tuple[Row, ...] = (("t1/s1", "which fruit?", [APPLE, PEAR], [None, None]),)

FLAT = {
    "openinference.span.kind": "RETRIEVER",
    "input.value": "which fruit?",
    "retrieval.documents.0.document.id": "d1",
    "retrieval.documents.0.document.content": "apple",
    "retrieval.documents.0.document.score": 0.9,
    "retrieval.documents.0.document.metadata": '{"source": "a.md"}',
    "retrieval.documents.1.document.id": 2,
    "retrieval.documents.1.document.content": "pear",
    "retrieval.documents.1.document.score": 0.5,
}
SPAN: dict[str, Any] = {
    "name": "retrieve",
    "context": {"trace_id": "t1", "span_id": "s1"},
    "parent_id": "s0",
    "span_kind": "RETRIEVER",
}
ROOT = {
    "name": "chain",
    "context": {"trace_id": "t1", "span_id": "s0"},
    "parent_id": None,
    "attributes": {"openinference.span.kind": "CHAIN", "input.value": "which fruit?"},
}
NESTED = {
    "openinference": {"span": {"kind": "RETRIEVER"}},
    "input": {"value": "which fruit?", "mime_type": "text/plain"},
    "retrieval": {
        "documents": [
            {"document": {"id": "d1", "content": "apple", "score": 0.9}},
            {"document": {"id": 2, "content": "pear", "score": 0.5}},
        ]
    },
}
DOTTED = [
    {"document.id": "d1", "document.content": "apple", "document.score": 0.9},
    {"document.id": 2, "document.content": "pear", "document.score": 0.5},
]
ANNOTATED = {
    **FLAT,
    "retrieval.documents.0.document.annotations.0.annotation.name": "relevance",
    "retrieval.documents.0.document.annotations.0.annotation.score": 1,
    "retrieval.documents.1.document.evaluations.0.evaluation.name": "relevance",
    "retrieval.documents.1.document.evaluations.0.evaluation.label": "unrelated",
}
RERANKED = {
    "openinference.span.kind": "RERANKER",
    "reranker.query": "which fruit?",
    "reranker.output_documents.0.document.id": 2,
    "reranker.output_documents.0.document.score": 7.5,
}


def langsmith_run(**change: object) -> dict[str, object]:
    run = {"id": "s1", "trace_id": "t1", "parent_run_id": "s0", "name": "VectorStoreRetriever", "run_type": "retriever"}
    outputs = {"documents": [langchain("apple", id="d1"), langchain("pear", id="2")]}
    return {**run, "inputs": {"query": "which fruit?"}, "outputs": outputs, "dotted_order": "1", **change}


def observation(**change: object) -> dict[str, object]:
    one = {"id": "s1", "traceId": "t1", "type": "RETRIEVER", "name": "retrieve", "parentObservationId": "s0"}
    return {
        **one,
        "input": {"query": "which fruit?"},
        "output": [langchain("apple"), langchain("pear")],
        "metadata": {},
        **change,
    }


def trulens_row(span_id: str, parent_id: str, attributes: dict[str, object]) -> dict[str, object]:
    trace = {"trace_id": "t1", "parent_id": parent_id, "span_id": span_id}
    return {"event_id": span_id, "record_attributes": repr(attributes), "trace": repr(trace)}


TRULENS = {
    "ai.observability.span_type": "retrieval",
    "ai.observability.retrieval.query_text": "which fruit?",
    "ai.observability.retrieval.retrieved_contexts": ["apple", "pear"],
}
ONE_UNRELATED = "; skipped 1: 1 not retrieval spans (first: line 1)"

SAMPLES: dict[str, Sample] = {
    "trec": Sample(
        "x.txt",
        b"q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.5 t\n",
        (("q1", None, ["d1", "d2"], [0.9, 0.5]),),
        said="read as a TREC run: 1 ranking",
    ),
    "qrels": Sample("x.txt", b"q1 0 d1 2\nq1 0 d2 -1\n", labels={("q1", "d1"): 2, ("q1", "d2"): None}),
    "jsonl": Sample(
        "x",
        lines(
            {"query_id": "q1", "query": "which fruit?", "documents": [{"doc_id": "d1", "score": 0.9, "label": 1}]},
            {"query_id": "q2", "documents": []},
        ),
        (("q1", "which fruit?", ["d1"], [0.9]), ("q2", None, [], [])),
        {("q1", "d1"): 1},
        "read as JSON Lines: 2 rankings",
    ),
    "jsonl as a list": Sample(
        "x.json",
        document([{"query_id": "q1", "documents": [{"text": "apple", "label": 0}]}]),
        (("q1", None, [APPLE], [None]),),
        {("q1", APPLE): 0},
    ),
    "parquet": Sample(
        "x.parquet",
        parquet(
            {
                "query_id": "q1",
                "query": None,
                "run": "r",
                "doc_ids": ["d1"],
                "texts": ["apple"],
                "scores": [0.9],
                "labels": [1.0],
            }
        ),
        (("q1", None, ["d1"], [0.9]),),
        said="read as a table of rankings: 1 ranking",
    ),
    "openinference flat": Sample(
        "x.jsonl",
        lines(ROOT, {**SPAN, "attributes": FLAT}),
        TWO,
        said="read as OpenInference spans: 1 ranking" + ONE_UNRELATED,
    ),
    "openinference nested": Sample("x.json", document([{**SPAN, "attributes": NESTED}]), TWO),
    "openinference dotted": Sample(
        "x.json", document([{**SPAN, "attributes": {**NESTED, "retrieval": {"documents": DOTTED}}}]), TWO
    ),
    "openinference as text": Sample("x.csv", table({**SPAN, "attributes": json.dumps(FLAT)}), TWO),
    "openinference columns": Sample(
        "x.parquet",
        parquet(
            {
                "name": "retrieve",
                "span_kind": "RETRIEVER",
                "parent_id": "s0",
                "context.span_id": "s1",
                "context.trace_id": "t1",
                "attributes.input.value": "which fruit?",
                "attributes.retrieval.documents": [
                    {"document.id": "d1", "document.content": "apple", "document.score": 0.9},
                    {"document.id": "2", "document.content": "pear", "document.score": 0.5},
                ],
            }
        ),
        TWO,
    ),
    "openinference otlp": Sample(
        "x.json",
        document(
            {
                "resourceSpans": [
                    {
                        "resource": {},
                        "scopeSpans": [
                            {
                                "spans": [
                                    {
                                        "traceId": "t1",
                                        "spanId": "s1",
                                        "parentSpanId": "s0",
                                        "attributes": [{"key": key, "value": otlp(one)} for key, one in FLAT.items()],
                                    }
                                ]
                            }
                        ],
                    }
                ]
            }
        ),
        TWO,
    ),
    "openinference annotated": Sample(
        "x.jsonl", lines({**SPAN, "attributes": ANNOTATED}), TWO, {("t1/s1", "d1"): 1, ("t1/s1", "2"): 0}
    ),
    "openinference reranked": Sample(
        "x.jsonl",
        lines(
            {**SPAN, "attributes": FLAT},
            {**SPAN, "span_kind": "RERANKER", "context": {"trace_id": "t1", "span_id": "s2"}, "attributes": RERANKED},
        ),
        (("t1/s2", "which fruit?", ["2"], [7.5]),),
        said="1 ranking; skipped 1: 1 reranked later in the trace (first: line 1)",
    ),
    "otel-genai": Sample(
        "x.jsonl",
        lines(
            {
                "traceId": "t1",
                "spanId": "s1",
                "attributes": {
                    "gen_ai.operation.name": "retrieval",
                    "gen_ai.retrieval.query.text": "which fruit?",
                    "gen_ai.retrieval.documents": '[{"id": "d1", "score": 0.9}, {"id": 2, "score": 0.5}]',
                },
            },
            {"traceId": "t1", "spanId": "s2", "attributes": {"gen_ai.operation.name": "chat"}},
            {"traceId": "t1", "spanId": "s3", "attributes": {"gen_ai.operation.name": "retrieval"}},
        ),
        TWO,
        said=(
            "read as OpenTelemetry GenAI spans: 1 ranking; skipped 2: "
            "1 not retrieval spans (first: line 2), 1 without documents (first: line 3)"
        ),
    ),
    "openllmetry": Sample(
        "x.jsonl",
        lines(
            {
                "trace_id": "t1",
                "span_id": "s1",
                "attributes": {"db.vector.query.top_k": 2, "traceloop.entity.input": "which fruit?"},
                "events": [
                    {
                        "name": "db.query.result",
                        "attributes": {"db.query.result.id": "d1", "db.query.result.score": 0.9},
                    },
                    {
                        "name": "db.query.result",
                        "attributes": {"db.query.result.id": 2, "db.query.result.score": 0.5},
                    },
                ],
            }
        ),
        TWO,
    ),
    "mlflow": Sample(
        "x.json",
        document(
            {
                "info": {"trace_id": "t1"},
                "data": {
                    "spans": [
                        {
                            "trace_id": "t1",
                            "span_id": "s1",
                            "parent_id": "s0",
                            "attributes": {
                                "mlflow.spanType": '"RETRIEVER"',
                                "mlflow.spanInputs": '{"q": "which fruit?"}',
                                "mlflow.spanOutputs": json.dumps(
                                    [
                                        {"page_content": "apple", "metadata": {"doc_uri": "a.md", "chunk_id": "3"}},
                                        {"page_content": "pear", "metadata": {}, "id": "d2"},
                                    ]
                                ),
                            },
                        }
                    ]
                },
            }
        ),
        (("t1/s1", "which fruit?", ["a.md#3", "d2"], [None, None]),),
    ),
    "langfuse-otel": Sample(
        "x.jsonl",
        lines(
            {
                "traceId": "t1",
                "spanId": "s1",
                "attributes": {
                    "langfuse.observation.type": "retriever",
                    "langfuse.observation.input": '{"query": "which fruit?"}',
                    "langfuse.observation.output": '[{"page_content": "apple"}, {"page_content": "pear"}]',
                },
            }
        ),
        HASHED,
    ),
    "trulens": Sample(
        "x.csv",
        table(
            trulens_row("s0", "", {"ai.observability.span_type": "record_root"}),
            trulens_row("s1", "s0", TRULENS),
            trulens_row("s2", "s1", TRULENS),
        ),
        HASHED,
        said=(
            "read as TruLens spans: 1 ranking; skipped 2: 1 not retrieval spans (first: line 2), "
            "1 inside another retrieval (first: line 4)"
        ),
    ),
    "langsmith": Sample(
        "x.jsonl",
        lines(langsmith_run(id="s0", parent_run_id=None, run_type="chain", outputs=None), langsmith_run()),
        (("t1/s1", "which fruit?", ["d1", "2"], [None, None]),),
        said="read as LangSmith runs: 1 ranking" + ONE_UNRELATED,
    ),
    "langsmith as text": Sample(
        "x.parquet",
        parquet(
            langsmith_run(
                inputs='{"query": "which fruit?"}',
                outputs=json.dumps({"output": [langchain("apple"), langchain("pear")]}),
            )
        ),
        HASHED,
    ),
    "langfuse": Sample(
        "x.jsonl",
        lines(
            observation(),
            observation(id="s2", type="SPAN", output='{"answer": "apple"}'),
            observation(id="s3", output=None),
        ),
        HASHED,
        said=(
            "read as Langfuse observations: 1 ranking; skipped 2: 1 not retrieval spans (first: line 2), "
            "1 without documents (first: line 3)"
        ),
    ),
    "langfuse trace": Sample(
        "x.json",
        document(
            {
                "trace": {"id": "t1", "name": "rag", "observations": []},
                "observations": [observation(type="SPAN", output=json.dumps([langchain("apple"), langchain("pear")]))],
            }
        ),
        HASHED,
    ),
    "deepeval-traces": Sample(
        "x.json",
        document(
            {
                "uuid": "t1",
                "baseSpans": [{"uuid": "s0", "type": "base", "input": {}, "output": "apple"}],
                "retrieverSpans": [
                    {
                        "uuid": "s1",
                        "type": "retriever",
                        "parentUuid": "s0",
                        "input": "which fruit?",
                        "output": ["page_content='apple' metadata={'source': 'a.md'}", "pear"],
                    }
                ],
            }
        ),
        HASHED,
    ),
    "trulens-records": Sample(
        "x.json",
        document(
            {
                "record_id": "t1",
                "main_input": "which fruit?",
                "calls": [
                    {
                        "call_id": "s1",
                        "stack": [{"method": {"name": "retrieve"}}],
                        "args": {"k": 2},
                        "rets": ["apple", "pear"],
                    },
                    {"call_id": "s2", "stack": [{"method": {"name": "generate"}}], "args": {}, "rets": "apple"},
                ],
            }
        ),
        HASHED,
    ),
    "bedrock": Sample(
        "x.json",
        document(
            [
                {
                    "request": {"retrievalQuery": {"text": "which fruit?"}},
                    "response": {
                        "retrievalResults": [
                            {"content": {"text": "apple", "type": "TEXT"}, "score": 0.9, "location": {}},
                            {"content": {"text": "pear", "type": "TEXT"}, "score": 0.5, "location": {}},
                        ]
                    },
                }
            ]
        ),
        ((WHICH, "which fruit?", [APPLE, PEAR], [0.9, 0.5]),),
    ),
    "bedrock citations": Sample(
        "x.json",
        document(
            {
                "request": {"input": {"text": "which fruit?"}},
                "response": {
                    "output": {"text": "apples"},
                    "citations": [
                        {"retrievedReferences": [{"content": {"text": "pear"}}]},
                        {"retrievedReferences": [{"content": {"text": "apple"}}, {"content": {"text": "pear"}}]},
                    ],
                },
            }
        ),
        ((WHICH, "which fruit?", [PEAR, APPLE], [None, None]),),
    ),
    "umbrela": Sample(
        "x.jsonl",
        lines(
            {
                "query": {"text": "which fruit?", "qid": "q1"},
                "candidates": [
                    {"doc": {"segment": "apple"}, "docid": "d1", "score": 9.1, "judgment": 3},
                    {"doc": {"segment": "pear"}, "docid": "d2", "score": 8.0},
                ],
            }
        ),
        (("q1", "which fruit?", ["d1", "d2"], [9.1, 8.0]),),
        {("q1", "d1"): 3},
    ),
    "umbrela judgments": Sample(
        "x.jsonl",
        lines(
            {"model": "m", "query": "which fruit?", "passage": "apple", "prediction": "3", "judgment": 3},
            {"model": "m", "query": "which fruit?", "passage": "pear", "judgment": 0, "result_status": 0},
        ),
        labels={(WHICH, APPLE): 3, (WHICH, PEAR): None},
    ),
    "trec-rag": Sample(
        "x.jsonl",
        lines(
            {
                "metadata": {"run_id": "mine", "narrative_id": 7, "narrative": "which fruit?"},
                "references": ["d1", "d2"],
                "answer": [{"text": "apples", "citations": [0]}],
            }
        ),
        (("7", "which fruit?", ["d1", "d2"], [None, None]),),
        said="read as TREC RAG answers: 1 ranking",
    ),
    "autorag": Sample(
        "x.parquet",
        parquet(
            {
                "qid": "q1",
                "query": "which fruit?",
                "retrieval_gt": [["d1"], ["d9"]],
                "retrieved_ids": ["d2", "d1"],
                "retrieved_contents": ["pear", "apple"],
                "retrieve_scores": [0.9, 0.5],
                "retrieved_ids_semantic": ["d1", "d2"],
            }
        ),
        (("q1", "which fruit?", ["d2", "d1"], [0.9, 0.5]),),
        {("q1", "d1"): 1, ("q1", "d9"): 1},
        "1 ranking; skipped 1: 1 lists of an earlier stage (first: row 1, item 2)",
    ),
    "ragas": Sample(
        "x.jsonl",
        lines(
            {
                "user_input": "which fruit?",
                "retrieved_contexts": ["apple", "pear"],
                "retrieved_context_ids": ["d1", 2],
                "reference_context_ids": ["d1", "d9"],
                "response": "apple",
            },
            {"user_input": "why?", "response": "because"},
        ),
        ((WHICH, "which fruit?", ["d1", "2"], [None, None]),),
        {(WHICH, "d1"): 1, (WHICH, "d9"): 1},
        "read as ragas samples: 1 ranking; skipped 1: 1 without retrieved contexts (first: line 2)",
    ),
    "ragas before 0.2": Sample(
        "x.json",
        document([{"question": "which fruit?", "contexts": ["apple", "pear"], "ground_truth": "apple"}]),
        ((WHICH, "which fruit?", [APPLE, PEAR], [None, None]),),
    ),
    "deepeval": Sample(
        "x.json",
        document(
            [
                {
                    "input": "which fruit?",
                    "actualOutput": "a",
                    "retrievalContext": ["apple", {"context": "pear", "source": "b"}],
                }
            ]
        ),
        ((WHICH, "which fruit?", [APPLE, PEAR], [None, None]),),
    ),
    "retrieval-response": Sample(
        "x.json",
        document([{"id": "nq-1", "E": "e5", "Nc": 9, "Np": 2, "K": 2, "grade": 4, "inK": [1, 0]}]),
        (("nq-1", None, ["nq-1/1", "nq-1/2"], [None, None]),),
        {("nq-1", "nq-1/1"): 1, ("nq-1", "nq-1/2"): 0},
    ),
    "mteb top_ranked": Sample(
        "x.jsonl", lines({"query-id": "q1", "corpus-ids": ["d1", "d2"]}), (("q1", None, ["d1", "d2"], [None, None]),)
    ),
    "mteb qrels": Sample(
        "x.parquet",
        parquet({"query-id": "q1", "corpus-id": "d1", "score": 2}, {"query-id": "q1", "corpus-id": "d2", "score": 0}),
        labels={("q1", "d1"): 2, ("q1", "d2"): 0},
    ),
    "llama-index-dataset": Sample(
        "x.json",
        document({"queries": {"q1": "?"}, "corpus": {"d1": "apple"}, "relevant_docs": {"q1": ["d1"]}, "mode": "text"}),
        labels={("q1", "d1"): 1},
    ),
    "langchain": Sample(
        "x.json",
        document(
            [
                {
                    "query": "which fruit?",
                    "documents": [
                        [langchain("apple", id="d1"), 0.1],
                        {"lc": 1, "type": "constructor", "id": ["x", "Document"], "kwargs": {"page_content": "pear"}},
                    ],
                }
            ]
        ),
        ((WHICH, "which fruit?", ["d1", PEAR], [0.1, None]),),
    ),
    "llama-index": Sample(
        "x.jsonl",
        lines({"query_id": "q1", "source_nodes": [node("d1", "apple", 0.9), node("2", "pear", 0.5)]}),
        (("q1", None, ["d1", "2"], [0.9, 0.5]),),
    ),
    "csv by rank": Sample(
        "x.csv",
        table(
            {"qid": "q1", "docno": "d2", "rank": 2, "score": 0.5}, {"qid": "q1", "docno": "d1", "rank": 1, "score": 0.9}
        ),
        (("q1", None, ["d1", "d2"], [0.9, 0.5]),),
    ),
    "tsv by score": Sample(
        "x.tsv",
        b"query_id\tdoc_id\tscore\nq1\td2\t0.5\nq2\td1\t1\nq1\td1\t0.9\n",
        (("q1", None, ["d1", "d2"], [0.9, 0.5]), ("q2", None, ["d1"], [1.0])),
    ),
    "phoenix retrievals": Sample(
        "x.csv",
        table(
            {"context.span_id": "s1", "document_position": 0, "input": "?", "document": "apple", "document_score": 0.9},
            {"context.span_id": "s1", "document_position": 1, "input": "?", "document": "pear", "document_score": 0.5},
        ),
        (("s1", "?", [APPLE, PEAR], [0.9, 0.5]),),
    ),
    "scores": Sample(
        "x.json",
        document({"default": {"test": {"q1": {"d2": 0.5, "d1": 0.9}}}}),
        (("q1", None, ["d1", "d2"], [0.9, 0.5]),),
    ),
    "csv of labels": Sample("x.csv", b"query_id,doc_id,label\nq1,d1,1\n", labels={("q1", "d1"): 1}),
}
