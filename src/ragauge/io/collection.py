"""Collections as JSON Lines, in BEIR's layout or ours: the corpus and the queries."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import DOC_ID, QUERY_ID, Record, identifier, parse_records, string
from ragauge.io.rows import raise_problems, unique
from ragauge.schema import CORPUS, QUERIES

__all__ = ["read_corpus", "read_queries"]


def read_corpus(path: str | Path) -> pa.Table:
    """CORPUS from `{"doc_id" | "_id" | "id", "title", "text"}` lines; a missing id is the text's hash.

    Raises:
        FormatError: The file cannot be read, a document has no `text` (an empty one is a text), or an id stands twice.
    """
    rows = unique(parse_records(path, _document), lambda row: row["doc_id"], lambda row: f"doc_id {row['doc_id']!r}")
    raise_problems(rows.problems)
    return pa.Table.from_pylist(rows.rows, schema=CORPUS)


def read_queries(path: str | Path) -> pa.Table:
    """QUERIES from `{"query_id" | "_id" | "id", "query" | "text", "answer"}` lines; a missing id is the query's hash.

    Raises:
        FormatError: The file cannot be read, a query has no text, or an id stands twice.
    """
    rows = unique(parse_records(path, _query), lambda row: row["query_id"], lambda row: f"query_id {row['query_id']!r}")
    raise_problems(rows.problems)
    return pa.Table.from_pylist(rows.rows, schema=QUERIES)


def _document(record: Record) -> dict[str, Any]:
    """One row of CORPUS."""
    text = string(record, "text")
    if text is None:
        raise FormatError(f"no key 'text'; found: {', '.join(record)}")
    doc_id = identifier(record, DOC_ID, text, text_key="text")
    return {"doc_id": doc_id, "title": string(record, "title"), "text": text}


def _query(record: Record) -> dict[str, Any]:
    """One row of QUERIES."""
    query = string(record, "query") or string(record, "text")
    if not query:
        raise FormatError(f"no key 'query' or 'text' with a text; found: {', '.join(record)}")
    query_id = identifier(record, QUERY_ID, query, text_key="query")
    return {"query_id": query_id, "query": query, "answer": string(record, "answer")}
