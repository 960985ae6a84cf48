"""Traces with an envelope of their own: LangSmith, Langfuse, DeepEval, TruLens records, and Bedrock's answers."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragauge.io.attributes import lookup, unwrapped
from ragauge.io.documents import are_documents, documents, query_text, text_id
from ragauge.io.found import Retrieval, Skip
from ragauge.io.spans import NO_DOCUMENTS, NOT_RETRIEVAL, Kind, Span

__all__ = [
    "bedrock",
    "deepeval_spans",
    "is_bedrock",
    "is_deepeval_trace",
    "is_langfuse",
    "is_langsmith",
    "is_trulens_record",
    "langfuse_spans",
    "langsmith_spans",
    "trulens_calls",
]

Record = Mapping[str, Any]
_MAX_DEPTH = 50
"""Of runs inside runs."""


def is_langsmith(record: Record) -> bool:
    """A run has a run_type; exports may hold a list of runs."""
    return "run_type" in record or any("run_type" in run for run in _objects(record.get("runs")))


def langsmith_spans(record: Record, *, depth: int = 0) -> Iterator[Span]:
    """The runs of a record, with the child_runs that are loaded."""
    if "run_type" in record:
        yield _run(record)
    inner = [*_objects(record.get("runs")), *_objects(record.get("child_runs"))]
    for run in inner if depth < _MAX_DEPTH else ():
        yield from langsmith_spans(run, depth=depth + 1)


def is_langfuse(record: Record) -> bool:
    """An observation has type, and traceId in one of two spellings; a trace has observations."""
    return "observations" in record or _is_observation(record) or "observations" in _object(record.get("trace"))


def langfuse_spans(record: Record) -> Iterator[Span]:
    """The observations of a record: itself, or those of a trace; the list with inputs and outputs counts."""
    trace = _object(record.get("trace"))
    observations = _objects(record.get("observations")) or _objects(trace.get("observations"))
    trace_id = trace.get("id", record.get("id"))
    if _is_observation(record):
        yield _observation(record, record.get("traceId", record.get("trace_id")))
    elif not observations:
        yield Span(_id(trace_id), None, None)
    for one in observations:
        yield _observation(one, one.get("traceId", one.get("trace_id", trace_id)))


def is_deepeval_trace(record: Record) -> bool:
    """DeepEval sorts the spans of a trace into lists by type."""
    return "retrieverSpans" in record or "baseSpans" in record


def deepeval_spans(record: Record) -> Iterator[Span]:
    """The spans of a trace: retriever spans, and others whose output is a list of LangChain or LlamaIndex documents."""
    lists = [key for key in record if key.endswith("Spans")]
    for key in lists:
        for span in _objects(record[key]):
            output = span.get("output")
            retrieves = key == "retrieverSpans" or span.get("type") == "retriever" or are_documents(output)
            yield Span(
                _id(record.get("uuid")),
                _id(span.get("uuid")),
                _id(span.get("parentUuid")),
                "retriever" if retrieves else None,
                query_text(span.get("input")) if retrieves else None,
                documents(output) if retrieves else None,
            )


def is_trulens_record(record: Record) -> bool:
    """The older TruLens record: calls with their stacks."""
    return "calls" in record and ("record_id" in record or "main_input" in record)


def trulens_calls(record: Record) -> Iterator[Span]:
    """The calls of a TruLens record; a method called retrieve... or rerank... is a retrieval.

    A call has no type in this format, so the method's name decides. The query is the call's, else the record's input.
    """
    for call in _objects(record.get("calls")):
        stack = _objects(call.get("stack"))
        method = str(lookup(stack[-1], "method.name") if stack else "")
        kind = _kind_of_method(method)
        query = query_text(call.get("args")) or query_text(record.get("main_input"))
        found = documents(call.get("rets")) if kind else None
        yield Span(_id(record.get("record_id")), _id(call.get("call_id")), None, kind, query if kind else None, found)


def is_bedrock(record: Record) -> bool:
    """A request and response of Amazon Bedrock's Retrieve or RetrieveAndGenerate, or the response alone."""
    answer = _object(record.get("response")) or record
    return "retrievalResults" in answer or ("citations" in answer and "output" in answer)


def bedrock(record: Record) -> Iterator[Retrieval | Skip]:
    """Retrieve: the results in order. RetrieveAndGenerate: the references in the order of their first citation."""
    answer = _object(record.get("response")) or record
    request = _object(record.get("request")) or record
    query = query_text(request.get("retrievalQuery")) or query_text(request.get("input"))
    if isinstance(answer.get("retrievalResults"), list):
        yield Retrieval(_id(record.get("id")), query, documents(answer["retrievalResults"]))
        return
    cited = [item for part in _objects(answer.get("citations")) for item in _objects(part.get("retrievedReferences"))]
    if not cited:
        yield Skip(NO_DOCUMENTS if "citations" in answer else NOT_RETRIEVAL)
        return
    first = {document.key: document for document in reversed(documents(cited) or ())}
    order = dict.fromkeys(document.key for document in documents(cited) or ())
    yield Retrieval(_id(record.get("id")), query, tuple(first[key] for key in order))


def _run(run: Record) -> Span:
    """A LangSmith run as a span."""
    retrieves = run.get("run_type") == "retriever"
    outputs = unwrapped(run.get("outputs"))
    return Span(
        _id(run.get("trace_id")),
        _id(run.get("id")),
        _id(run.get("parent_run_id")),
        "retriever" if retrieves else None,
        query_text(run.get("inputs")) if retrieves else None,
        documents(outputs) if retrieves else None,
    )


def _is_observation(record: Record) -> bool:
    return "type" in record and ("traceId" in record or "trace_id" in record) and "output" in record


def _observation(one: Record, trace_id: Any) -> Span:
    """A Langfuse observation as a span; older ones have the type SPAN, and then a list of documents tells."""
    type_, output = str(one.get("type")).upper(), one.get("output")
    retrieves = type_ == "RETRIEVER" or (type_ == "SPAN" and are_documents(output))
    return Span(
        _id(trace_id),
        _id(one.get("id")),
        _id(one.get("parentObservationId", one.get("parent_observation_id"))),
        "retriever" if retrieves else None,
        query_text(one.get("input")) if retrieves else None,
        documents(output) if retrieves else None,
    )


def _kind_of_method(name: str) -> Kind | None:
    if "rerank" in name:
        return "reranker"
    return "retriever" if "retrieve" in name or "relevant_documents" in name else None


def _objects(value: Any) -> list[Record]:
    """The objects in a list, which may be JSON in a string."""
    items = unwrapped(value)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _object(value: Any) -> Record:
    inner = unwrapped(value)
    return inner if isinstance(inner, Mapping) else {}


def _id(value: Any) -> str | None:
    return text_id(value, "the id of a span")
