"""What a file or an object holds, told by its content: a stream of records, whatever it is packed in.

Records come from JSON Lines, a JSON list or object, CSV or TSV with a header, Parquet, Arrow tables, data frames, and
lists and dicts of Python. Every adapter sees the same: numbered mappings.
"""

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from ragauge.errors import FormatError, InputError
from ragauge.io.found import check_text
from ragauge.io.jsonl import check_unicode, decode_record
from ragauge.io.tabular import delimited_rows, delimiter, read_parquet, wide_cells
from ragauge.io.text import extension, first_lines, head, numbered_lines, read_text, stem

__all__ = ["Content", "content_of", "in_place", "is_trec"]

Record = Mapping[str, Any]
Numbered = tuple[str, Callable[[], Record]]
"""Where a record stands, and what decodes it; the call raises a FormatError where the record is broken."""

_MAX_DEPTH = 100
_WRAPPINGS = ("data", "items", "rows", "samples", "test_cases", "testCases")
"""Where the answers of web interfaces and saved data sets keep their records."""

_SAMPLE = 20
"""Records looked at to tell the format."""


@dataclass(frozen=True)
class Content:
    """A file or object, opened far enough to tell its format.

    Attributes:
        name: What messages call it.
        stem: The run of rankings that name none.
        kind: How the records are packed; "text" = no records, as in a TREC file.
        first_line: The first line that is not blank; "" where there are no lines.
        sample: The first records.
        records: All records, from the start.
        table: The table, where there is one already.
        path: The file, where it is one.
    """

    name: str
    stem: str
    kind: Literal["jsonl", "json", "csv", "table", "text"]
    first_line: str
    sample: tuple[Record, ...]
    records: Callable[[], Iterator[Numbered]]
    table: pa.Table | None = None
    path: str | Path | None = None


def content_of(source: object) -> Content:
    """What a path, an Arrow table, a data frame, a dict or a list of dicts holds.

    A data frame is known by `__arrow_c_stream__` or `__dataframe__`, which pandas and Polars have; neither is imported.

    Raises:
        FormatError: A file cannot be read, or is a list or object of JSON that is broken.
        InputError: The object is none of these.
    """
    if isinstance(source, str | Path):
        _check_name(str(source))
        return _file(source)
    if isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__"):
        return _table(_arrow(source), "the table", "table")
    if isinstance(source, Mapping):
        return _decoded([source], "the dict", "dict", _plain_record)
    if isinstance(source, Sequence) and not isinstance(source, bytes | bytearray):
        return _decoded(source, "the list", "list", _plain_record)
    kinds = "a path, an Arrow table, a pandas or Polars data frame, a dict, or a list of dicts"
    raise InputError(f"rankings and labels are read from {kinds}; got {type(source).__name__}")


def is_trec(line: str) -> bool:
    """Whether a line can be of a TREC run (six fields, the fifth a number) or of qrels (four, the last a number)."""
    fields = line.split()
    return (len(fields) == 6 and _is_number(fields[4])) or (len(fields) == 4 and _is_number(fields[3]))


def in_place(records: Iterator[Numbered], problems: list[str], name: str) -> Iterator[tuple[str, Record]]:
    """The records that are right; what is wrong with the others goes to `problems`."""
    for place, decode in records:
        try:
            record = decode()
        except InputError as error:
            problems.append(f"{name}, {place}: {error}")
            continue
        yield place, record


def _check_name(name: str) -> None:
    """No file has a name with a zero byte or half a character."""
    try:
        fits = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise InputError(f"{name!r} is no name that a file can have")


def _file(path: str | Path) -> Content:
    if head(path, 4) == b"PAR1":
        return replace(_table(read_parquet(path), str(path), stem(path)), path=path)
    lines = first_lines(path, _SAMPLE)
    first = lines[0]
    if extension(path) in (".jsonl", ".ndjson"):
        return _lines(path, lines)
    if first.lstrip()[:1] in ("{", "["):
        return _lines(path, lines) if len(lines) > 1 and _is_object(first) else _document(path, first)
    line = next((line for line in lines if not line.startswith("#")), first)  # comments stand before some TREC runs
    if is_trec(line) or not any(mark in first for mark in ",;\t"):
        return Content(str(path), stem(path), "text", line, (), lambda: iter(()), path=path)
    return Content(str(path), stem(path), "csv", first, _first_rows(lines), lambda: _cells(path), path=path)


def _lines(path: str | Path, lines: Sequence[str]) -> Content:
    """JSON Lines."""

    def records() -> Iterator[Numbered]:
        for number, line in numbered_lines(path):
            yield f"line {number}", partial(decode_record, line)

    sample = tuple(_decodable((str(number), partial(decode_record, line)) for number, line in enumerate(lines)))
    return Content(str(path), stem(path), "jsonl", lines[0], sample, records, path=path)


def _document(path: str | Path, first_line: str) -> Content:
    """One JSON value: a list of records, or an object that is one."""
    text = read_text(path)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}, line {error.lineno}: not JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: JSON that cannot be read: {error}") from error
    read = _checked if "\\ud" in text or "\\uD" in text else _mapping  # as in jsonl.decode_record
    content = _decoded(_records_in(value), str(path), stem(path), read)
    return replace(content, first_line=first_line, path=path)


def _records_in(value: Any) -> list[Any]:
    """The records of a JSON value: a list, the list in a wrapping such as {"data": [...], "meta": {...}}, or itself."""
    if isinstance(value, list):
        return value
    wrapped = [value[key] for key in _WRAPPINGS if isinstance(value, dict) and isinstance(value.get(key), list)]
    return wrapped[0] if wrapped and all(isinstance(one, dict) for one in wrapped[0]) else [value]


def _decoded(values: Sequence[Any], name: str, stem: str, read: Callable[[Any], Record]) -> Content:
    """Values that stand in memory; `read` makes a record of one."""

    def records() -> Iterator[Numbered]:
        return ((f"record {number}", partial(read, value)) for number, value in enumerate(values, 1))

    return Content(name, stem, "json", "", tuple(_decodable(islice(records(), _SAMPLE))), records)


def _table(table: pa.Table, name: str, stem: str) -> Content:
    """The rows of a table, a batch at a time; a time is a whole number, since Python has not all that Arrow has."""
    table = table.cast(pa.schema([field.with_type(_without_times(field.type)) for field in table.schema]))

    def records() -> Iterator[Numbered]:
        number = 0
        for batch in table.to_batches(max_chunksize=500):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", partial(_mapping, row)

    sample = tuple(table.slice(0, _SAMPLE).to_pylist())
    return Content(name, stem, "table", "", sample, records, table)


def _without_times(type_: pa.DataType) -> pa.DataType:
    """The type with whole numbers in place of times."""
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return pa.int32() if type_.bit_width == 32 else pa.int64()
    if pa.types.is_struct(type_):
        fields = [type_.field(place) for place in range(type_.num_fields)]
        return pa.struct([field.with_type(_without_times(field.type)) for field in fields])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        field = type_.value_field.with_type(_without_times(type_.value_type))
        return pa.list_(field) if pa.types.is_list(type_) else pa.large_list(field)
    return type_


def _cells(path: str | Path) -> Iterator[Numbered]:
    """The rows of CSV or TSV; an empty cell is nothing."""
    rows = delimited_rows(path)
    names = [name.strip() for name in rows[0][1]]
    for line, cells in rows[1:]:
        yield f"line {line}", partial(_row, names, cells)


def _first_rows(lines: Sequence[str]) -> tuple[Record, ...]:
    """The rows that begin the file; one that goes on behind these lines may come out cut."""
    reader = csv.reader(StringIO("\n".join(lines), newline=""), delimiter=delimiter(lines[0]))
    try:
        with wide_cells():
            rows = list(islice(reader, _SAMPLE))
    except csv.Error:
        rows = [lines[0].split(delimiter(lines[0]))]
    names = [name.strip() for name in rows[0]]
    rest = rows[1:] or [[""] * len(names)]
    return tuple(dict(zip(names, row, strict=False)) for row in rest)


def _row(names: Sequence[str], cells: Sequence[str]) -> Record:
    if len(cells) != len(names):
        raise FormatError(f"{len(cells)} fields, the header has {len(names)}")
    return {name: cell or None for name, cell in zip(names, cells, strict=True)}


def _arrow(source: Any) -> pa.Table:
    try:
        if isinstance(source, pa.Table):
            return source
        if hasattr(source, "__arrow_c_stream__"):
            return pa.table(source)
        from pyarrow.interchange import from_dataframe  # seldom needed: newer frames have the stream

        return from_dataframe(source)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise InputError(f"{type(source).__name__} cannot be read as an Arrow table: {error}") from error


def _plain_record(value: Any) -> Record:
    return _mapping(_plain(value))


def _plain(value: Any, *, depth: int = 0) -> Any:
    """Python's own kinds in place of others: pydantic objects dump their fields, arrays become lists of numbers."""
    if isinstance(value, str):
        check_text(value)
        return value
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth > _MAX_DEPTH:
        raise InputError(f"a record is nested more than {_MAX_DEPTH} levels deep")
    for method in ("model_dump", "tolist"):
        if not isinstance(value, type) and callable(convert := getattr(value, method, None)):
            return _plain(convert(), depth=depth + 1)
    if isinstance(value, Mapping):
        return {str(key): _plain(one, depth=depth + 1) for key, one in value.items()}
    return [_plain(one, depth=depth + 1) for one in value] if isinstance(value, list | tuple) else value


def _checked(value: Any) -> Record:
    """`value`, if it is an object and UTF-8 can hold its texts."""
    record = _mapping(value)
    check_unicode(record)
    return record


def _mapping(value: Any) -> Record:
    """`value`, if it is an object."""
    if not isinstance(value, Mapping):
        raise FormatError(f"expected an object, got {type(value).__name__}")
    return value


def _is_object(line: str) -> bool:
    """Whether the line is a JSON object by itself."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _decodable(records: Iterator[Numbered]) -> Iterator[Record]:
    """The records that are right."""
    for _, decode in records:
        try:
            yield decode()
        except InputError:
            continue


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
