"""Tables as Parquet, JSON Lines, CSV and TSV; labels with a header line.

A null and a NaN stay apart: JSON Lines has null and the string "NaN" (and "Infinity", "-Infinity") in columns of
numbers, CSV an empty cell and NaN. Parquet and JSON Lines give a table back as it was.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase, StringIO
from math import isfinite, isinf
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import Record, parse_records
from ragauge.io.rows import Duplicates, check_rankings, grade, labels_table, parse, raise_problems
from ragauge.io.text import extension, head, read_bytes, read_text, write_atomically
from ragauge.schema import LABELS, RANKINGS, conform

__all__ = [
    "delimited_rows",
    "delimiter",
    "is_parquet",
    "labels_in",
    "rankings_in",
    "read_delimited_labels",
    "read_parquet",
    "read_parquet_labels",
    "read_parquet_rankings",
    "read_table",
    "wide_cells",
    "write_parquet_rankings",
    "write_table",
]

_COLUMNS = {
    "query_id": ("query_id", "query-id", "qid"),
    "doc_id": ("doc_id", "corpus-id", "doc-id", "docid"),
    "label": ("label", "relevance", "score", "rel"),
}
_SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_PARQUET_MAGIC = b"PAR1"


def write_table(table: pa.Table, path: str | Path) -> None:
    """Writes any table of ours by the extension: .parquet, .jsonl, .csv or .tsv, each also with .gz.

    Raises:
        FormatError: Another extension, or CSV or TSV for a table with list columns.
    """
    write = _WRITERS.get(extension(path))
    if write is None:
        raise FormatError(f"cannot tell from the name of {path} how to write it; use one of {', '.join(_WRITERS)}")
    if write in (_write_csv, _write_tsv):
        _refuse_lists(table, path)
    with write_atomically(path) as file:
        write(table, file)


def read_table(path: str | Path, schema: pa.Schema) -> pa.Table:
    """The table with `schema` in a Parquet or JSON Lines file; the content decides. Further columns are dropped.

    Raises:
        FormatError: The file is neither, or a line has no value, or one of another kind, for a column.
        SchemaError: A Parquet file lacks a column or has another type.
    """
    if is_parquet(path):
        return conform(read_parquet(path), schema, what=str(path))
    decoders = [(field, _decoder(field.type)) for field in schema]
    rows = parse_records(path, lambda record: {field.name: _decode(record, field, read) for field, read in decoders})
    raise_problems(rows.problems)
    return pa.Table.from_pylist(rows.rows, schema=schema)


def is_parquet(path: str | Path) -> bool:
    """Whether the file begins as Parquet does.

    Raises:
        FormatError: It cannot be read.
    """
    return head(path).startswith(_PARQUET_MAGIC)


def read_parquet_rankings(path: str | Path, *, duplicates: Duplicates = "error") -> pa.Table:
    """RANKINGS from Parquet."""
    return rankings_in(read_parquet(path), str(path), duplicates=duplicates)


def rankings_in(table: pa.Table, name: str, *, duplicates: Duplicates = "error") -> pa.Table:
    """RANKINGS from a table that has their columns; `name` is what messages call it."""
    return check_rankings(conform(table, RANKINGS, what=name), name, duplicates=duplicates)


def write_parquet_rankings(table: pa.Table, path: str | Path) -> None:
    """Writes RANKINGS as Parquet.

    Raises:
        FormatError: A row is no ranking.
    """
    check_rankings(table, path)
    with write_atomically(path) as file:
        _write_parquet(table, file)


def read_parquet_labels(path: str | Path) -> pa.Table:
    """LABELS from Parquet."""
    return labels_in(read_parquet(path), str(path))


def labels_in(table: pa.Table, name: str) -> pa.Table:
    """LABELS from a table that has their columns; `name` is what messages call it."""
    table = conform(table, LABELS, what=name)
    return labels_table(parse(name, enumerate(table.to_pylist(), start=1), _finite_label, unit="row"))


def read_delimited_labels(path: str | Path) -> pa.Table:
    """LABELS from CSV or TSV with a header line; a tab in the header makes it TSV.

    Columns: query_id (query-id, qid), doc_id (corpus-id, doc-id, docid), label (relevance, score, rel), and where
    there are such, reason and judge. An empty label is null; a negative one is null with the reason "pooled_unjudged",
    as in the TREC qrels such files are made from.
    """
    rows = delimited_rows(path)
    names = [name.strip() for name in rows[0][1]]
    places = {column: _place(column, names, path) for column in _COLUMNS}
    optional = {column: names.index(column) for column in ("reason", "judge") if column in names}
    return labels_table(parse(path, rows[1:], lambda cells: _label_row(cells, names, places | optional)))


def delimited_rows(path: str | Path) -> list[tuple[int, list[str]]]:
    """The line number and cells of each row of CSV or TSV, the header first; rows of empty cells are blank lines.

    Raises:
        FormatError: The file cannot be read, or its quotes do not match.
    """
    text = read_text(path)
    header, _, _ = text.lstrip("\r\n").partition("\n")
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter(header), strict=True)
    try:
        with wide_cells():
            rows = [(reader.line_num, cells) for cells in reader if cells]
            return rows[:1] + [row for row in rows[1:] if any(row[1])]
    except csv.Error as error:
        raise FormatError(f"{path}, line {reader.line_num}: {error}") from error


def delimiter(header: str) -> Literal["\t", ";", ","]:
    """What parts the cells below `header`; spreadsheets write ";" where numbers have a decimal comma.

    >>> delimiter("query_id;grade"), delimiter("query_id,grade"), delimiter("query_id")
    (';', ',', ',')
    """
    if "\t" in header:
        return "\t"
    return ";" if header.count(";") > header.count(",") else ","


@contextmanager
def wide_cells() -> Iterator[None]:
    """Cells of any length: one may hold all the texts of a retrieval, and Python's csv stops at 128 KiB."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _place(column: str, names: Sequence[str], path: str | Path) -> int:
    """Where `column` stands under one of its names; the first spelling that is there counts."""
    for name in _COLUMNS[column]:
        if name in names:
            return names.index(name)
    raise FormatError(f"no column {column!r} in {path}; found: {', '.join(names)}")


def _label_row(cells: Sequence[str], names: Sequence[str], places: dict[str, int]) -> dict[str, Any]:
    """One row of LABELS."""
    if len(cells) != len(names):
        raise FormatError(f"{len(cells)} fields, the header has {len(names)}")
    row = {column: cells[place] for column, place in places.items()}
    for column in ("query_id", "doc_id"):
        if not row[column]:
            raise FormatError(f"the cell of {column!r} is empty")
    label, reason = grade(row["label"]) if row["label"] else (None, None)
    return {**row, "label": label, "reason": row.get("reason") or reason, "judge": row.get("judge") or None}


def _finite_label(row: dict[str, Any]) -> dict[str, Any]:
    if row["label"] is not None and not isfinite(row["label"]):
        raise FormatError(f"label {row['label']} is not a finite number; write null for what is not judged")
    return row


def read_parquet(path: str | Path) -> pa.Table:
    """Any table in a Parquet file, as it is.

    Raises:
        FormatError: It cannot be read.
    """
    import pyarrow.parquet as pq  # slow to import, and many runs read no Parquet

    try:
        table = pq.read_table(pa.BufferReader(read_bytes(path)))
        table.validate(full=True)  # text that is not UTF-8 comes to light here
        _check_names(table.schema)
        return table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not a Parquet file that can be read: {error}") from error


def _check_names(fields: Iterable[pa.Field]) -> None:
    """Names that are not UTF-8 raise when they are looked at: at the latest here."""
    for field in fields:
        _ = field.name
        if pa.types.is_nested(field.type):
            _check_names(field.type.field(place) for place in range(field.type.num_fields))


def _decode(record: Record, field: pa.Field, read: Callable[[Any], Any]) -> Any:
    """The value of `field` in a JSON record."""
    value = record.get(field.name)
    if value is None:
        if field.nullable:
            return None
        raise FormatError(f"no value for {field.name!r}; found: {', '.join(record) or 'no keys'}")
    try:
        return read(value)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise FormatError(f"{field.name!r} must be {field.type}, got {json.dumps(value)[:60]}") from error


def _decoder(type_: pa.DataType) -> Callable[[Any], Any]:
    """What turns a JSON value into one that Arrow takes for `type_`; it raises TypeError where there is none."""
    if pa.types.is_list(type_):
        item = _decoder(type_.value_type)
        return lambda value: [None if one is None else item(one) for one in _only(list, value)]
    if pa.types.is_struct(type_):
        fields = [(type_.field(place), _decoder(type_.field(place).type)) for place in range(type_.num_fields)]
        return lambda value: {field.name: _decode(_only(dict, value), field, read) for field, read in fields}
    if pa.types.is_floating(type_):
        return lambda value: _SPECIAL[value] if isinstance(value, str) else float(value)
    if pa.types.is_integer(type_):
        return lambda value: _in_range(_only(int, value), type_.bit_width)
    kind = bool if pa.types.is_boolean(type_) else str
    return lambda value: _only(kind, value)


def _only(kind: type, value: Any) -> Any:
    """`value`, if it is of that very kind: true is no whole number."""
    if type(value) is not kind:
        raise TypeError
    return value


def _in_range(value: int, bits: int) -> int:
    """`value`, if a signed integer of that width can hold it."""
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise OverflowError
    return value


def _refuse_lists(table: pa.Table, path: str | Path) -> None:
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if nested:
        raise FormatError(f"{path}: columns with lists ({', '.join(nested)}) do not fit; use .parquet or .jsonl")


def _write_parquet(table: pa.Table, file: BufferedIOBase) -> None:
    import pyarrow.parquet as pq  # slow to import, and many runs write no Parquet

    pq.write_table(table, file)


def _write_jsonl(table: pa.Table, file: BufferedIOBase) -> None:
    for batch in table.to_batches(max_chunksize=1000):
        for row in batch.to_pylist():
            file.write(_line(row).encode() + b"\n")


def _line(row: dict[str, Any]) -> str:
    """JSON has no NaN, so the rare row that holds one is spelt anew."""
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_spelt(row), ensure_ascii=False)


def _spelt(value: Any) -> Any:
    """`value` with NaN and infinities as strings."""
    if isinstance(value, dict):
        return {key: _spelt(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_spelt(one) for one in value]
    if isinstance(value, float) and not isfinite(value):
        return ("Infinity" if value > 0 else "-Infinity") if isinf(value) else "NaN"
    return value


def _write_csv(table: pa.Table, file: BufferedIOBase) -> None:
    import polars as pl  # slow to import

    file.write(pl.DataFrame(table).write_csv().encode())


def _write_tsv(table: pa.Table, file: BufferedIOBase) -> None:
    import polars as pl  # slow to import

    file.write(pl.DataFrame(table).write_csv(separator="\t").encode())


_WRITERS = {".parquet": _write_parquet, ".jsonl": _write_jsonl, ".csv": _write_csv, ".tsv": _write_tsv}
