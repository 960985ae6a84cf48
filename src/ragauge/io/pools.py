"""Pools: queries with all their candidates, relevant ones and others, as JSON Lines."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import DOC_ID, QUERY_ID, Record, identifier, objects, parse_records, string
from ragauge.io.rows import raise_problems, repeated, unique
from ragauge.schema import POOLS

__all__ = ["Pools", "read_pools", "scan_pools"]


@dataclass(frozen=True)
class Pools:
    """The pools of a file that can be used, and why the others cannot.

    Attributes:
        table: POOLS, in the file's order.
        problems: One message a line that was left out, naming file and line.
    """

    table: pa.Table
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.table.num_rows} pools, {len(self.problems)} left out"


def read_pools(path: str | Path, *, dataset: str | None = None) -> pa.Table:
    """The POOLS of a file, all of which must be right.

    Each line is `{"query_id", "dataset" | "source", "query", "answer", "positives": [{"doc_id", "text", "title"}],
    "negatives": [...]}`; `answer`, `title` and the ids may be absent (a missing id is the text's hash). A title is put
    before the text, as "title", a line feed, "text": what is retrieved and read is one string.

    Args:
        path: JSON Lines, gzip or not.
        dataset: The data set's name for every row, in place of the records' own.

    Raises:
        FormatError: The file cannot be read, or a pool has no positive document, a document no text, or an id stands
            twice; the first problems are shown together.
    """
    pools = scan_pools(path, dataset=dataset)
    raise_problems(pools.problems)
    return pools.table


def scan_pools(path: str | Path, *, dataset: str | None = None) -> Pools:
    """As `read_pools`, and a wrong line is left out and told of in `problems` instead of being an error.

    Raises:
        FormatError: The file as a whole cannot be read.
    """
    rows = unique(
        parse_records(path, lambda record: _pool(record, dataset)),
        lambda row: (row["dataset"], row["query_id"]),
        lambda row: f"query {row['query_id']!r} of data set {row['dataset']!r}",
    )
    return Pools(pa.Table.from_pylist(rows.rows, schema=POOLS), rows.problems)


def _pool(record: Record, dataset: str | None) -> dict[str, Any]:
    """One row of POOLS."""
    query = string(record, "query")
    if not query:
        raise FormatError(f"no text under 'query'; found: {', '.join(record)}")
    row = {
        "query_id": identifier(record, QUERY_ID, query, text_key="query"),
        "dataset": dataset or _dataset(record),
        "query": query,
        "answer": string(record, "answer"),
        "positives": [_document(item) for item in objects(record, "positives")],
        "negatives": [_document(item) for item in objects(record, "negatives")],
    }
    _check(row)
    return row


def _dataset(record: Record) -> str:
    name = string(record, "dataset") or string(record, "source")
    if not name:
        raise FormatError(
            f"no key 'dataset' or 'source'; found: {', '.join(record)}; or name the data set for all rows"
        )
    return name


def _document(item: Record) -> dict[str, str]:
    """Id and text of a candidate."""
    text, title = string(item, "text"), string(item, "title")
    if not text or text.isspace():
        raise FormatError(f"document {identifier(item, DOC_ID, 'no id', text_key='text')!r} has no text")
    whole = f"{title}\n{text}" if title else text
    return {"doc_id": identifier(item, DOC_ID, whole, text_key="text"), "text": whole}


def _check(row: dict[str, Any]) -> None:
    """What no pool can do without."""
    if not row["positives"]:
        raise FormatError(f"query {row['query_id']!r} has no positive document, so nothing can be found or missed")
    ids = [document["doc_id"] for document in row["positives"] + row["negatives"]]
    if len(set(ids)) != len(ids):
        raise FormatError(f"query {row['query_id']!r}: document {repeated(ids)!r} stands in the pool twice")
