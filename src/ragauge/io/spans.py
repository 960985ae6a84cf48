"""Spans of traces: which of them are retrievals, and which of several lists is the one a reader saw.

All retrievals of a trace are kept, each as its own ranking with the query_id "trace/span". Left out, and counted:

- a retrieval inside another one: the outermost counts (a retriever that calls a vector store is one retrieval);
- a retrieval whose documents a reranker of the same trace put into a new order: the reranker's list counts;
- a span that was read before, as in overlapping exports.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragauge.io.attributes import lookup, otlp_attributes, unwrapped
from ragauge.io.documents import text_id
from ragauge.io.found import Document, Found, Retrieval, Skip

__all__ = ["Kind", "Span", "attributes_of", "envelope", "settle", "spans_in"]

NOT_RETRIEVAL = "not retrieval spans"
NO_DOCUMENTS = "without documents"
NESTED = "inside another retrieval"
RERANKED = "reranked later in the trace"
REPEATED = "read before (same span)"

Kind = Literal["retriever", "reranker"]
_MAX_DEPTH = 8
"""Exports wrap spans in a few layers of lists and objects; deeper ones are not looked into."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span, as far as rankings are concerned.

    Attributes:
        kind: None = not a retrieval.
        documents: None = the list was not recorded; () = nothing was retrieved.
    """

    trace_id: str | None
    span_id: str | None
    parent_id: str | None
    kind: Kind | None = None
    query: str | None = None
    documents: tuple[Document, ...] | None = None

    @property
    def query_id(self) -> str | None:
        """ "trace/span", or what there is of it."""
        return "/".join(name for name in (self.trace_id, self.span_id) if name) or None


def settle(located: Sequence[tuple[str, Span]]) -> Iterator[Found]:
    """The rankings among the spans of a file, and why the others are none."""
    retrievals = {_name(span) for _, span in located if span.kind and span.documents is not None}
    nested = _inside(located, retrievals)
    reranked = _Reranked(span for _, span in located)
    seen: set[tuple[str | None, str]] = set()
    for place, span in located:
        reason = _reason(span, nested, reranked, seen)
        if reason:
            yield place, Skip(reason)
        else:
            yield place, Retrieval(span.query_id, span.query, span.documents)
        if span.span_id:
            seen.add((span.trace_id, span.span_id))


def spans_in(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans in a record: itself, or those in OTLP's resourceSpans, in a trace, in a list of spans."""
    yield from _spans_in(record, depth=0)


def attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span: an object, OTLP's list, JSON in a string, or columns named "attributes...."."""
    found = unwrapped(span.get("attributes", span.get("record_attributes")))
    if isinstance(found, list):
        return otlp_attributes(found)
    columns = {key.removeprefix("attributes."): one for key, one in span.items() if key.startswith("attributes.")}
    return columns | found if isinstance(found, dict) else columns


def envelope(span: Mapping[str, Any], kind: Kind | None, query: str | None, documents: Any) -> Span:
    """The span with its ids, under any of their usual names; tables hold them as a literal in a cell."""
    packed = {key: unwrapped(span[key]) for key in ("context", "trace") if isinstance(span.get(key), str)}
    span = {**span, **packed}
    return Span(
        _id(span, ("context.trace_id", "trace_id", "traceId", "traceID", "trace.trace_id")),
        _id(span, ("context.span_id", "span_id", "spanId", "spanID", "trace.span_id", "id")),
        _id(span, ("parent_id", "parentId", "parentSpanId", "parent_span_id", "trace.parent_id")),
        kind,
        query,
        documents,
    )


def _spans_in(value: Any, *, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value if depth < _MAX_DEPTH else ():
            yield from _spans_in(one, depth=depth + 1)
        return
    if not isinstance(value, Mapping):
        return
    if depth >= _MAX_DEPTH or any(key.startswith(("attributes", "record_attributes")) for key in value):
        yield dict(value)
        return
    inner = [unwrapped(value[key]) for key in _CONTAINERS if isinstance(value.get(key), list | Mapping | str)]
    held = [one for one in inner if isinstance(one, list | Mapping)]
    if not held:
        yield dict(value)
    for one in held:
        yield from _spans_in(one, depth=depth + 1)


_CONTAINERS = (
    *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans"),
    *("spans", "data", "trace", "traces", "batches"),
)


def _id(span: Mapping[str, Any], paths: Iterable[str]) -> str | None:
    """The first id there is; objects and the like are none."""
    wanted = (lookup(span, path) for path in paths)
    found = next((one for one in wanted if isinstance(one, str | int) and one != ""), None)
    return text_id(None if isinstance(found, bool) else found, "the id of a span")


def _name(span: Span) -> tuple[str | None, str | None]:
    return (span.trace_id, span.span_id)


def _inside(
    located: Sequence[tuple[str, Span]], retrievals: set[tuple[str | None, str | None]]
) -> dict[tuple[str | None, str | None], bool]:
    """For each span, whether one of its ancestors is a retrieval. Each is walked to once; a cycle ends the walk."""
    parent = {_name(span): (span.trace_id, span.parent_id) for _, span in located if span.span_id}
    inside: dict[tuple[str | None, str | None], bool] = {}
    for start in parent:
        path, on_path, at = [], set(), start
        while at in parent and at not in inside and at not in on_path:
            path.append(at)
            on_path.add(at)
            at = parent[at]
        below = (at in retrievals and at in inside) or inside.get(at, False)
        for name in reversed(path):
            inside[name] = below
            below = below or name in retrievals
    return inside


class _Reranked:
    """What the rerankers of each trace returned."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.lists: dict[str, list[tuple[str | None, set[str]]]] = defaultdict(list)
        for span in spans:
            if span.kind == "reranker" and span.trace_id and span.documents:
                self.lists[span.trace_id].append((span.query, {document.key for document in span.documents}))

    def __contains__(self, span: Span) -> bool:
        """Whether a reranker of the same trace and query returned a document of this span."""
        if not span.trace_id or span.trace_id not in self.lists:
            return False
        keys = {document.key for document in span.documents or ()}
        return any(
            not keys.isdisjoint(returned) and (query is None or span.query is None or query == span.query)
            for query, returned in self.lists[span.trace_id]
        )


def _reason(
    span: Span,
    nested: Mapping[tuple[str | None, str | None], bool],
    reranked: _Reranked,
    seen: set[tuple[str | None, str]],
) -> str | None:
    """Why a span is no ranking; None where it is one."""
    if span.kind is None:
        return NOT_RETRIEVAL
    if span.documents is None:
        return NO_DOCUMENTS
    if span.span_id and (span.trace_id, span.span_id) in seen:
        return REPEATED
    if nested.get(_name(span), False):
        return NESTED
    if span.kind == "retriever" and span in reranked:
        return RERANKED
    return None
