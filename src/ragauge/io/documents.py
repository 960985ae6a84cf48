"""The shapes that tools give a retrieved document and a query, read into one.

Known: a string (also the printed form of a LangChain document), `[document, score]` pairs, LangChain documents plain
and serialised, LlamaIndex nodes with and without score, OpenInference documents with dotted keys, Bedrock results,
Ragnarok candidates, and plain objects with an id, a text and a score under their usual names.
"""

import ast
import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from ragauge.errors import FormatError
from ragauge.io.attributes import lookup, numbered, unwrapped
from ragauge.io.found import Document, Label

__all__ = ["are_documents", "documents", "label_number", "number", "query_text", "same_length", "text_id"]

TEXT = ("page_content", "pageContent", "text", "content", "contents", "segment", "passage", "chunk", "document")
DOC_ID = ("doc_id", "docid", "_id", "id", "id_", "node_id", "document_id", "corpus-id", "corpus_id")
SCORE = ("score", "relevance_score", "similarity", "document_score")
LABEL = ("label", "judgment", "relevance")
QUERY = (
    *("query", "question", "user_input", "input", "query_text", "query_str", "search_query", "text", "value", "prompt"),
    *("str_or_query_bundle", "query_bundle", "retrievalQuery", "query_embedding_text"),
)
_WORDS = {"relevant": 1.0, "irrelevant": 0.0, "unrelated": 0.0, "not relevant": 0.0, "not_relevant": 0.0}


def documents(value: Any) -> tuple[Document, ...] | None:
    """The documents of a list, in its order; None where `value` holds no list.

    Raises:
        FormatError: An item has neither id nor text, or a field of another type than it may have.
    """
    items = unwrapped(value)
    if isinstance(items, Mapping):
        inner = next((items[key] for key in ("documents", "output", "result", "results") if key in items), None)
        items = unwrapped(inner)
    if not isinstance(items, list | tuple):
        return None
    return tuple(_placed(item, place) for place, item in enumerate(items, start=1))


def are_documents(value: Any) -> bool:
    """Whether a list holds LangChain or LlamaIndex documents and nothing else; an empty one holds none."""
    items = unwrapped(value)
    return isinstance(items, list) and bool(items) and all(_is_document(item) for item in items)


def query_text(value: Any, *, depth: int = 4) -> str | None:
    """The query in what a tool recorded as a retriever's input; None where none is found.

    >>> query_text('{"query": {"query_str": "who?"}}'), query_text("who?"), query_text({"k": 3})
    ('who?', 'who?', None)
    """
    inner = unwrapped(value)
    if isinstance(inner, str):
        return inner or None
    if isinstance(inner, Mapping) and depth:
        texts = (query_text(inner[key], depth=depth - 1) for key in QUERY if inner.get(key) is not None)
        return next((text for text in texts if text), None)
    return value if isinstance(value, str) and not isinstance(inner, Mapping) else None


def text_id(value: Any, what: str) -> str | None:
    """An id as a string: None, a string or a whole number.

    Raises:
        FormatError: It is something else.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        try:
            return str(int(value))
        except ValueError as error:  # more digits than Python turns into text
            raise FormatError(f"{what} is a number of too many digits") from error
    raise FormatError(f"{what} must be a string or a whole number, got {kind(value)}")


def number(value: Any, what: str) -> float | None:
    """A finite number, also one spelt as text; None where `value` is None or empty.

    Raises:
        FormatError: It is something else.
    """
    if value is None or value == "":
        return None
    try:
        found = float(value) if isinstance(value, Real | str) else math.nan
    except (ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or (isinstance(value, str) and "_" in value):
        raise FormatError(f"{what} must be a finite number, got {kind(value)}")
    return found


def label_number(value: Any, what: str) -> float | None:
    """A label: a number of 0 or more, true or false, or a word such as "relevant".

    Raises:
        FormatError: It is something else.
    """
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    found = number(value, what)
    if found is not None and found < 0:
        raise FormatError(f"{what} must be 0 or more, got {found:g}; write null for what is not judged")
    return found


def same_length(left: list[Any] | None, n: int, what: str) -> list[Any]:
    """`left`, or n times None where it is None.

    Raises:
        FormatError: It has not n items.
    """
    if left is None:
        return [None] * n
    if len(left) != n:
        raise FormatError(f"{what} has {len(left)} items, and there are {n} documents")
    return left


def kind(value: object) -> str:
    """What `value` is, for a message."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) >= 10**20:
        return "a number of more than 20 digits"
    return repr(value)[:60]


def _placed(item: Any, place: int) -> Document:
    try:
        return _document(item, None)
    except FormatError as error:
        raise FormatError(f"document {place}: {error}") from error


def _document(item: Any, score: Any, *, depth: int = 6) -> Document:
    """One document, peeled out of its wrappings."""
    if isinstance(item, str):
        return Document(None, _printed(item) or item, number(score, "the score"))
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[1], Real | None) and depth:
        return _document(item[0], item[1], depth=depth - 1)
    if not isinstance(item, Mapping):
        raise FormatError(f"a document must be an object or a text, got {kind(item)}")
    score = _first(item, SCORE) if score is None else score
    inner = _inner(item)
    if inner is not None and depth:
        return _with_outer(item, _document(inner, score, depth=depth - 1))
    return _plain(item, score)


def _inner(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The document inside a wrapping: LangChain's serialised form, a scored node, OpenInference, Ragnarok."""
    if "lc" in item and isinstance(item.get("kwargs"), Mapping):
        return dict(item["kwargs"])
    for key in ("node", "document", "doc"):
        if isinstance(item.get(key), Mapping):
            return dict(item[key])
    dotted = {key.removeprefix("document."): one for key, one in item.items() if key.startswith("document.")}
    return dotted or None


def _with_outer(item: Mapping[str, Any], inner: Document) -> Document:
    """`inner`, with the id and the labels that stand outside of it."""
    doc_id = inner.doc_id if "lc" in item else inner.doc_id or text_id(_first(item, DOC_ID), "the id")
    labels = inner.labels or _labels(item)
    return Document(doc_id, inner.text, inner.score, labels)


def _plain(item: Mapping[str, Any], score: Any) -> Document:
    """A document whose fields stand side by side."""
    text = _first(item, TEXT)
    if isinstance(text, Mapping):
        text = text.get("text")
    if text is None and isinstance(item.get("text_resource"), Mapping):
        text = item["text_resource"].get("text")
    if text is not None and not isinstance(text, str):
        raise FormatError(f"the text must be a string, got {kind(text)}")
    doc_id = text_id(_first(item, DOC_ID), "the id") or _chunk_id(item.get("metadata"), text)
    return Document(doc_id, text, number(score, "the score"), _labels(item))


def _chunk_id(metadata: Any, text: str | None) -> str | None:
    """The id of a chunk in its metadata, with the address of the document it was cut from.

    An address alone names a document and not a chunk: it is the id only where there is no text to tell chunks apart.
    """
    fields = unwrapped(metadata)
    if not isinstance(fields, Mapping):
        return None
    chunk = fields.get("chunk_id", fields.get("x-amz-bedrock-kb-chunk-id"))
    address = fields.get("doc_uri", fields.get("source"))
    if chunk is None:
        return None if text else text_id(address, "the source")
    name = text_id(chunk, "the chunk_id")
    return f"{address}#{name}" if isinstance(address, str) and address else name


def _labels(item: Mapping[str, Any]) -> tuple[Label, ...]:
    """The labels on a document: plain, or OpenInference annotations and evaluations."""
    plain = _first(item, LABEL)
    if plain is not None:
        return (Label(label_number(plain, "the label"), judge=_judge(item)),)
    marks = [("annotations", "annotation"), ("evaluations", "evaluation")]
    if not any(key.startswith(group) for key in item for group, _ in marks):
        return ()
    notes = [note for group, name in marks for note in _notes(numbered(item, group), name)]
    return tuple(label for label in map(_note_label, notes) if label.value is not None)


def _notes(items: Iterable[Any] | None, name: str) -> list[dict[str, Any]]:
    """Annotations without their wrapping."""
    mappings = [item for item in items or () if isinstance(item, Mapping)]
    inner = [item[name] if isinstance(item.get(name), Mapping) else item for item in mappings]
    return [{str(key).removeprefix(name + "."): one for key, one in item.items()} for item in inner]


def _note_label(note: Mapping[str, Any]) -> Label:
    """The score of an annotation, else its word; its name is the judge's."""
    judge = note.get("name")
    value = note.get("score")
    if value is None and str(note.get("label")).strip().lower() in _WORDS:
        value = note["label"]
    return Label(label_number(value, "the annotation"), judge=judge if isinstance(judge, str) and judge else None)


def _judge(item: Mapping[str, Any]) -> str | None:
    judge = item.get("judge")
    return judge if isinstance(judge, str) and judge else None


def _first(item: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """The value under the first of `keys` that has one."""
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _is_document(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    if "lc" in item:
        return isinstance(lookup(item, "kwargs.page_content"), str)
    return isinstance(item.get("page_content"), str) or isinstance(item.get("node"), Mapping)


def _printed(text: str) -> str | None:
    """The text in the printed form of a LangChain document, `page_content='...' metadata={...}`."""
    if not text.startswith("page_content="):
        return None
    quoted, metadata, _ = text.removeprefix("page_content=").rpartition(" metadata={")
    try:
        found = ast.literal_eval(quoted) if metadata else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, str) else None
