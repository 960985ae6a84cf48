"""Collections: the corpus and the queries, in BEIR's layout or ours, MTEB's, AutoRAG's, or a LlamaIndex data set.

JSON Lines, a JSON list, CSV, TSV or Parquet; or the folder of a BEIR data set.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.attributes import unwrapped
from ragauge.io.beir import collection_file
from ragauge.io.content import Content, content_of, in_place
from ragauge.io.jsonl import DOC_ID, QUERY_ID, Record, identifier, parse_records, string
from ragauge.io.records import is_llama_dataset
from ragauge.io.rows import Rows, parse, raise_problems, unique
from ragauge.schema import CORPUS, QUERIES

__all__ = ["read_corpus", "read_queries"]


def read_corpus(path: str | Path) -> pa.Table:
    """CORPUS from `{"doc_id" | "_id" | "id", "title", "text" | "contents"}` records; a missing id is the text's hash.

    Args:
        path: A file of such records, a LlamaIndex EmbeddingQAFinetuneDataset, or a BEIR folder with corpus.jsonl.

    Raises:
        FormatError: The file cannot be read, a document has no `text` (an empty one is a text), or an id stands twice.
    """
    found = _records(collection_file(path, "corpus.jsonl"), _document, part="corpus")
    rows = unique(found, lambda row: row["doc_id"], lambda row: f"doc_id {row['doc_id']!r}")
    raise_problems(rows.problems)
    return pa.Table.from_pylist(rows.rows, schema=CORPUS)


def read_queries(path: str | Path) -> pa.Table:
    """QUERIES from `{"query_id" | "_id" | "id", "query" | "text", "answer"}` records; a missing id is the query's hash.

    Args:
        path: A file of such records, a LlamaIndex EmbeddingQAFinetuneDataset, or a BEIR folder with queries.jsonl.

    Raises:
        FormatError: The file cannot be read, a query has no text, or an id stands twice.
    """
    found = _records(collection_file(path, "queries.jsonl"), _query, part="queries")
    rows = unique(found, lambda row: row["query_id"], lambda row: f"query_id {row['query_id']!r}")
    raise_problems(rows.problems)
    return pa.Table.from_pylist(rows.rows, schema=QUERIES)


def _records(path: str | Path, read: Callable[[Record], dict[str, Any]], *, part: str) -> Rows[dict[str, Any]]:
    """`read` called on each record of the file, whatever it is packed in."""
    content = content_of(path)
    if content.kind in ("jsonl", "text"):
        return parse_records(path, read)
    return parse(content.name, _numbered(content, part), read, unit="record")


def _numbered(content: Content, part: str) -> Iterator[tuple[int, Record]]:
    """The records, those of a LlamaIndex data set made of its ids and texts."""
    problems: list[str] = []
    number = 0
    for _, record in in_place(content.records(), problems, content.name):
        for one in _texts(record, part) if is_llama_dataset(record) else (record,):
            number += 1
            yield number, one
    raise_problems(problems)


def _texts(dataset: Mapping[str, Any], part: str) -> Iterator[Record]:
    """{id: text}, or {id: node}, as records."""
    texts = unwrapped(dataset[part])
    if not isinstance(texts, Mapping):
        raise FormatError(f"{part!r} must be an object of ids and texts")
    plain = {name: text.get("text") if isinstance(text, Mapping) else text for name, text in texts.items()}
    return ({"id": name, "text": text} for name, text in plain.items())


def _document(record: Record) -> dict[str, Any]:
    """One row of CORPUS."""
    text = string(record, "text")
    text = string(record, "contents") if text is None else text
    if text is None:
        raise FormatError(f"no key 'text'; found: {', '.join(record)}")
    doc_id = identifier(record, DOC_ID, text, text_key="text")
    return {"doc_id": doc_id, "title": string(record, "title"), "text": text}


def _query(record: Record) -> dict[str, Any]:
    """One row of QUERIES."""
    query = string(record, "query") or string(record, "text")
    if not query:
        raise FormatError(f"no key 'query' or 'text' with a text; found: {', '.join(record)}")
    query_id = identifier(record, (*QUERY_ID, "qid"), query, text_key="query")
    return {"query_id": query_id, "query": query, "answer": string(record, "answer")}
