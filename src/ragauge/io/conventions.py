"""The conventions by which spans say that they are retrievals: one small reader of attributes each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragauge.io.attributes import lookup, numbered, otlp_attributes, unwrapped
from ragauge.io.documents import documents, query_text
from ragauge.io.found import Document
from ragauge.io.spans import Kind, Span, attributes_of, envelope, spans_in

__all__ = ["CONVENTIONS", "Convention"]

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the attributes of a span say; `kind` None = it is no retrieval."""

    kind: Kind | None
    query: str | None
    documents: tuple[Document, ...] | None


@dataclass(frozen=True)
class Convention:
    """One way of writing a retrieval into a span.

    Attributes:
        title: What messages call the spans.
        marks: Beginnings of attribute names by which a file is recognised.
        read: What a span's attributes say, given the span; None where it is no retrieval.
    """

    title: str
    marks: tuple[str, ...]
    read: Callable[[Attributes, Mapping[str, Any]], Evidence | None]

    def recognise(self, record: Mapping[str, Any]) -> bool:
        """Whether a span in the record has an attribute of this convention."""
        return any(self._is_marked(attributes_of(span)) for span in spans_in(record))

    def spans(self, record: Mapping[str, Any]) -> Iterator[Span]:
        """All spans in the record."""
        for span in spans_in(record):
            found = self.read(attributes_of(span), span) or Evidence(None, None, None)
            yield envelope(span, found.kind, found.query, found.documents)

    def _is_marked(self, attributes: Attributes) -> bool:
        starts = tuple(f"{mark}." for mark in self.marks)
        return any(key in self.marks or key.startswith(starts) or _holds(attributes, key, starts) for key in attributes)


def _holds(attributes: Attributes, key: str, starts: tuple[str, ...]) -> bool:
    """Whether nested attributes, such as {"mlflow": {"spanType": ..}}, spell one of `starts`."""
    value = attributes[key]
    return isinstance(value, Mapping) and any(f"{key}.{inner}.".startswith(starts) for inner in value)


def _openinference(attributes: Attributes, span: Mapping[str, Any]) -> Evidence | None:
    kind = str(lookup(attributes, "openinference.span.kind") or span.get("span_kind") or "").upper()
    if kind == "RERANKER":
        query = lookup(attributes, "reranker.query") or lookup(attributes, "input.value")
        return Evidence("reranker", query_text(query), _listed(attributes, "reranker.output_documents"))
    found = _listed(attributes, "retrieval.documents")
    if kind == "RETRIEVER" or found is not None:
        return Evidence("retriever", query_text(lookup(attributes, "input.value")), found)
    return None


def _genai(attributes: Attributes, span: Mapping[str, Any]) -> Evidence | None:
    found = _listed(attributes, "gen_ai.retrieval.documents")
    if lookup(attributes, "gen_ai.operation.name") != "retrieval" and found is None:
        return None
    return Evidence("retriever", query_text(lookup(attributes, "gen_ai.retrieval.query.text")), found)


def _openllmetry(attributes: Attributes, span: Mapping[str, Any]) -> Evidence | None:
    asked = any(key.startswith(("db.vector.query.", "vector_db_retrieve")) for key in attributes)
    results = list(_results(span))
    if not asked and not results and "vector_db_retrieve" not in str(span.get("name")):
        return None
    query = query_text(lookup(attributes, "traceloop.entity.input"))
    return Evidence("retriever", query, documents(results) if results else None)


def _results(span: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The documents in a span's events, where the instrumentation of the vector store writes them."""
    events = unwrapped(span.get("events"))
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, Mapping) or event.get("name") != "db.query.result":
            continue
        held = event.get("attributes")
        fields = otlp_attributes(held) if isinstance(held, list) else held if isinstance(held, Mapping) else {}
        names = ("id", "document", "score")
        yield {name: lookup(fields, f"db.query.result.{name}") for name in names}


def _mlflow(attributes: Attributes, span: Mapping[str, Any]) -> Evidence | None:
    type_ = unwrapped(lookup(attributes, "mlflow.spanType"))
    if type_ not in ("RETRIEVER", "RERANKER"):
        return None
    query = query_text(_first_argument(lookup(attributes, "mlflow.spanInputs")))
    found = documents(lookup(attributes, "mlflow.spanOutputs"))
    return Evidence("retriever" if type_ == "RETRIEVER" else "reranker", query, found)


def _langfuse(attributes: Attributes, span: Mapping[str, Any]) -> Evidence | None:
    if str(lookup(attributes, "langfuse.observation.type")).lower() != "retriever":
        return None
    query = query_text(_first_argument(lookup(attributes, "langfuse.observation.input")))
    return Evidence("retriever", query, documents(lookup(attributes, "langfuse.observation.output")))


def _trulens(attributes: Attributes, span: Mapping[str, Any]) -> Evidence | None:
    kind = lookup(attributes, "ai.observability.span_type")
    if kind == "reranking":
        found = _listed(attributes, "ai.observability.reranking.output_context_texts")
        return Evidence("reranker", query_text(lookup(attributes, "ai.observability.reranking.query_text")), found)
    if kind != "retrieval":
        return None
    query = lookup(attributes, "ai.observability.retrieval.query_text") or lookup(
        attributes, "gen_ai.retrieval.query.text"
    )
    found = _listed(attributes, "ai.observability.retrieval.retrieved_contexts")
    return Evidence(
        "retriever", query_text(query), _listed(attributes, "gen_ai.retrieval.documents") if found is None else found
    )


def _listed(attributes: Attributes, path: str) -> tuple[Document, ...] | None:
    items = numbered(attributes, path)
    return None if items is None else documents(items)


def _first_argument(value: Any) -> Any:
    """The query among a function's recorded arguments; a single argument is it, whatever its name."""
    inner = unwrapped(value)
    if isinstance(inner, Mapping) and query_text(inner) is None and len(inner) == 1:
        return next(iter(inner.values()))
    return value


CONVENTIONS: Mapping[str, Convention] = {
    "trulens": Convention("TruLens spans", ("ai.observability",), _trulens),
    "mlflow": Convention("MLflow spans", ("mlflow",), _mlflow),
    "langfuse-otel": Convention("Langfuse spans (OpenTelemetry)", ("langfuse.observation",), _langfuse),
    "openinference": Convention("OpenInference spans", ("openinference", "retrieval", "reranker"), _openinference),
    "otel-genai": Convention("OpenTelemetry GenAI spans", ("gen_ai",), _genai),
    "openllmetry": Convention("OpenLLMetry spans", ("db.vector", "traceloop", "vector_db_retrieve"), _openllmetry),
}
"""The order decides where a file has attributes of several conventions."""
