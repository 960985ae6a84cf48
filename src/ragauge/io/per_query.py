"""Files with a row a query: its scores, as `ragauge score --per-query` writes them, or what it belongs to.

Parquet by content, JSON Lines by its first character, else CSV or TSV with a header line. The column query_id (or qid)
names the query.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import decode_record, parse_records
from ragauge.io.long import COLUMNS
from ragauge.io.rows import Rows, parse, raise_problems, unique
from ragauge.io.tabular import delimited_rows, delimiter, is_parquet, read_parquet, wide_cells
from ragauge.io.text import head, numbered_lines

__all__ = ["is_per_query", "read_clusters", "read_scores"]

_QUERY_ID = ("query_id", "qid")
_RUN = "run"
_RANKING = ("documents", "doc_ids", "text", *COLUMNS["doc_id"])
"""A file with one of these holds rankings, and so does one with lists."""

Record = Mapping[str, Any]


def is_per_query(path: str | Path) -> bool:
    """Whether the file is one with a row a query, and not rankings.

    Raises:
        FormatError: It cannot be read.
    """
    if is_parquet(path):
        schema = read_parquet(path).schema
        names: Sequence[str] = ["documents" if pa.types.is_nested(field.type) else field.name for field in schema]
    else:
        line = _first_line(path)
        names = _keys(path) if line.startswith("{") else _header(line)
    return any(name in names for name in _QUERY_ID) and not any(name in names for name in _RANKING)


def read_scores(path: str | Path) -> pa.Table:
    """Scores of queries: columns query_id, run and a float64 column for each other one, named as in the file.

    Null (an empty cell) = not computed, NaN = undefined. Without a column run, run is "".

    Raises:
        FormatError: The file cannot be read, has no column query_id or no other column, a value is no number, or a
            query has two rows of one run.
    """
    rows = unique(_rows(path, _scores), lambda row: (row["query_id"], row[_RUN]), _described)
    raise_problems(rows.problems)
    names = list(dict.fromkeys(name for row in rows.rows for name in row["scores"]))
    if not names:
        raise FormatError(f"{path} has no column of scores beside query_id and run")
    columns = {name: [row["scores"].get(name) for row in rows.rows] for name in names}
    keys = {key: pa.array([row[key] for row in rows.rows], pa.string()) for key in ("query_id", _RUN)}
    return pa.table(keys | {name: pa.array(values, pa.float64()) for name, values in columns.items()})


def read_clusters(path: str | Path, column: str | None = None) -> dict[str, str]:
    """What each query belongs to (a conversation, a user): query id -> value of `column`.

    Args:
        path: The file.
        column: Which column; None = the only one beside query_id.

    Raises:
        FormatError: The file cannot be read, the column is not there or cannot be told, a query has no value, or two.
    """
    rows = unique(_rows(path, lambda record: _cluster(record, column)), lambda row: row["query_id"], _described)
    raise_problems(rows.problems)
    return {row["query_id"]: row["cluster"] for row in rows.rows}


def _scores(record: Record) -> dict[str, Any]:
    query_id = _query_id(record)
    values = {name: _number(name, value) for name, value in record.items() if name not in (*_QUERY_ID, _RUN)}
    return {"query_id": query_id, _RUN: str(record.get(_RUN) or ""), "scores": values}


def _cluster(record: Record, column: str | None) -> dict[str, Any]:
    query_id = _query_id(record)
    others = [name for name in record if name not in _QUERY_ID]
    if column is None and len(others) != 1:
        raise FormatError(f"name the column to cluster by (--cluster-by); found: {', '.join(others) or 'none'}")
    value = record.get(column or others[0])
    if value is None or value == "":
        raise FormatError(f"no value for {column or others[0]!r}; found: {', '.join(record)}")
    return {"query_id": query_id, "cluster": str(value)}


def _query_id(record: Record) -> str:
    value = next((record[name] for name in _QUERY_ID if record.get(name) not in (None, "")), None)
    if value is None:
        raise FormatError(f"no value for 'query_id'; found: {', '.join(record) or 'no keys'}")
    return str(value)


def _number(name: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{name!r} must be a number, got {value!r}") from error


def _described(row: Record) -> str:
    return f"query {row['query_id']!r}" + (f" of run {row[_RUN]!r}" if row.get(_RUN) else "")


def _rows(path: str | Path, read: Any) -> Rows[dict[str, Any]]:
    if is_parquet(path):
        return parse(path, enumerate(read_parquet(path).to_pylist(), start=1), read, unit="row")
    if _first_line(path).startswith("{"):
        return parse_records(path, read)
    return _delimited(path, read)


def _delimited(path: str | Path, read: Any) -> Rows[dict[str, Any]]:
    (_, header), *rows = delimited_rows(path)
    names = [cell.strip() for cell in header]
    return parse(path, rows, lambda cells: read(_record(names, cells)))


def _record(names: Sequence[str], cells: Sequence[str]) -> Record:
    if len(cells) != len(names):
        raise FormatError(f"{len(cells)} fields, the header has {len(names)}")
    return dict(zip(names, cells, strict=True))


def _first_line(path: str | Path) -> str:
    lines = head(path).decode("utf-8-sig", errors="replace").split("\n")
    return next((line.strip() for line in lines if line.strip()), "")


def _header(line: str) -> list[str]:
    with wide_cells():
        cells = next(csv.reader([line], delimiter=delimiter(line)), [])
    return [cell.strip() for cell in cells]


def _keys(path: str | Path) -> list[str]:
    """The keys of the first record, of lists and objects as of the documents that they hold."""
    try:
        record = decode_record(next(line for _, line in numbered_lines(path)))
    except FormatError:  # a record over several lines, or none: what is wrong with it, the readers of rankings know
        return []
    return ["documents" if isinstance(value, list | dict) else key for key, value in record.items()]
