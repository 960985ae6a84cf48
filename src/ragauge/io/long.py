"""Rankings in long form, a row a retrieved document, and scores as {query: {document: score}}.

The order is the rank's where there is a rank. Else it is the score's, highest first, equal scores by document id, last
in byte order first, as in a TREC run. Else the rows stand in rank order.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragauge.errors import FormatError
from ragauge.io.documents import kind as kind_of
from ragauge.io.documents import label_number, number, text_id
from ragauge.io.found import Document, Found, Label, Retrieval
from ragauge.schema import POOLED_UNJUDGED

__all__ = [
    "Entry",
    "is_labelled",
    "is_long",
    "is_scores",
    "label_row",
    "label_tables",
    "long_row",
    "missing_column",
    "qrels_label",
    "rankings_of_rows",
    "score_tables",
]

Record = Mapping[str, Any]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query_id", "query-id", "qid", "q_id", "topic", "topic_id", "context.span_id"),
    "doc_id": ("doc_id", "doc-id", "docid", "docno", "corpus-id", "document_id"),
    "rank": ("rank", "position", "document_position"),
    "score": ("score", "document_score", "sim", "similarity"),
    "run": ("run", "run_id", "tag", "system"),
    "query": ("query", "question", "input"),
    "text": ("text", "content", "document", "reference"),
    "label": ("label", "relevance"),
}
"""Column -> its spellings; the first that is there counts."""

LABEL = ("label", "relevance", "rel", "score")

_MAX_DEPTH = 4
"""Result files put the scores a few layers down: {model: {task: {query: {document: score}}}}."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One retrieved document of one ranking."""

    query_id: str
    run: str | None
    query: str | None
    rank: float | None
    document: Document


def is_long(record: Record) -> bool:
    """A row with a query, a document, and its rank or score."""
    found = {column for column, names in COLUMNS.items() if any(name in record for name in names)}
    return {"query_id"} <= found and bool(found & {"doc_id", "text"}) and bool(found & {"rank", "score"})


def long_row(record: Record) -> Iterator[Entry]:
    """The document on a row.

    Raises:
        FormatError: It has no query_id, neither doc_id nor text, or a rank or score that is no finite number.
    """
    cells = {column: _cell(record, names) for column, names in COLUMNS.items()}
    query_id = text_id(cells["query_id"], "the query_id")
    if query_id is None:
        raise FormatError(f"no query_id; found: {', '.join(map(str, record))}")
    label = label_number(cells["label"], "the label")
    document = Document(
        text_id(cells["doc_id"], "the doc_id"),
        _text(cells["text"], "the text"),
        number(cells["score"], "the score"),
        () if label is None else (Label(label),),
    )
    run, query = _text(cells["run"], "the run"), _text(cells["query"], "the query")
    yield Entry(query_id, run, query, number(cells["rank"], "the rank"), document)


def rankings_of_rows(located: Sequence[tuple[str, Entry]]) -> Iterator[Found]:
    """The rankings of all rows, in the order of their first rows."""
    groups: dict[tuple[str, str | None], list[Entry]] = {}
    first: dict[tuple[str, str | None], str] = {}
    for place, entry in located:
        key = (entry.query_id, entry.run)
        groups.setdefault(key, []).append(entry)
        first.setdefault(key, place)
    for (query_id, run), entries in groups.items():
        query = next((entry.query for entry in entries if entry.query), None)
        documents = tuple(entry.document for entry in _ordered(entries))
        yield first[query_id, run], Retrieval(query_id, query, documents, run)


def missing_column(names: Collection[str]) -> str | None:
    """What a table with columns of these names lacks to be read as rankings; None if nothing."""
    found = {column for column, spellings in COLUMNS.items() if any(name in names for name in spellings)}
    if "query_id" not in found:
        return "query_id"
    return None if found & {"doc_id", "text"} else "doc_id"


def is_labelled(record: Record) -> bool:
    """A row with a query, a document and a label."""
    return all(any(name in record for name in names) for names in (COLUMNS["query_id"], COLUMNS["doc_id"], LABEL))


def label_row(record: Record) -> Iterator[Retrieval]:
    """The label on a row."""
    cells = {column: _cell(record, COLUMNS[column]) for column in ("query_id", "doc_id", "query")}
    query_id, doc_id = (text_id(cells[column], f"the {column}") for column in ("query_id", "doc_id"))
    if query_id is None or doc_id is None:
        raise FormatError(f"no query_id or no doc_id; found: {', '.join(map(str, record))}")
    reason, judge = (_text(record.get(key), f"the {key}") for key in ("reason", "judge"))
    value = next((record[name] for name in LABEL if name in record), None)  # a null label is not the score beside it
    label = qrels_label(value, reason, judge)
    yield Retrieval(query_id, _text(cells["query"], "the query"), None, relevant=((doc_id, label),))


def qrels_label(value: Any, reason: str | None = None, judge: str | None = None) -> Label:
    """A label as it stands in qrels, where a negative one says that the document was pooled and nobody judged it."""
    label = number(value, "the label")
    if label is not None and label < 0:
        return Label(None, reason or POOLED_UNJUDGED, judge)
    return Label(label, reason, judge)


def is_scores(record: Record, *, depth: int = _MAX_DEPTH) -> bool:
    """{query: {document: score}}, possibly a few layers down."""
    inner = [value for value in record.values() if isinstance(value, Mapping)]
    if inner and len(inner) == len(record) and all(map(_is_list_of_scores, inner)) and any(inner):
        return True
    return depth > 0 and any(is_scores(value, depth=depth - 1) for value in inner)


def score_tables(record: Record) -> Iterator[Retrieval]:
    """The rankings of {query: {document: score}}; of several such tables some layers down, each is a run."""
    tables = list(_leaves(record, (), _MAX_DEPTH))
    for path, table in tables:
        run = "/".join(path) if len(tables) > 1 else None
        for query_id, scores in table.items():
            documents = [Document(_key(doc_id), score=number(score, "a score")) for doc_id, score in scores.items()]
            yield Retrieval(_key(query_id), None, tuple(sorted(documents, key=_trec_key, reverse=True)), run)


def label_tables(record: Record) -> Iterator[Retrieval]:
    """The labels of {query: {document: label}}."""
    for query_id, labels in record.items():
        if not isinstance(labels, Mapping):
            raise FormatError(f"query {query_id!r}: expected {{document: label}}, got {kind_of(labels)}")
        pairs = tuple((_key(doc_id), qrels_label(label)) for doc_id, label in labels.items())
        yield Retrieval(_key(query_id), None, None, relevant=pairs)


def _leaves(
    record: Record, path: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Mapping[str, Any]]]]:
    """The tables of scores in a record, each with the keys that lead to it."""
    inner = {key: value for key, value in record.items() if isinstance(value, Mapping)}
    if len(inner) == len(record) and all(map(_is_list_of_scores, inner.values())):
        yield path, inner
        return
    for key, value in inner.items() if depth > 0 else ():
        yield from _leaves(value, (*path, key), depth - 1)


def _ordered(entries: list[Entry]) -> list[Entry]:
    if all(entry.rank is not None for entry in entries):
        return sorted(entries, key=lambda entry: entry.rank or 0.0)
    if any(entry.rank is not None for entry in entries):
        raise FormatError(f"query {entries[0].query_id!r}: some of its rows have a rank and some have none")
    if all(entry.document.score is not None for entry in entries):
        return sorted(entries, key=lambda entry: _trec_key(entry.document), reverse=True)
    return entries


def _trec_key(document: Document) -> tuple[float, str]:
    return (document.score or 0.0, document.key)


def _is_list_of_scores(value: Mapping[str, Any]) -> bool:
    return all(isinstance(score, int | float) and not isinstance(score, bool) for score in value.values())


def _key(value: Any) -> str:
    name = text_id(value, "the id")
    if name is None:
        raise FormatError("an id is empty")
    return name


def _cell(record: Record, names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _text(value: Any, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise FormatError(f"{what} must be a string, got {kind_of(value)}")
