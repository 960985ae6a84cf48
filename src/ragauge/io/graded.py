"""Graded answers: our own tables, and the JSON list of the public retrieval-response data (samples_graded.json).

The public file holds one record an answer: `id` (its part before the first "-" names the data set), `E` embedder, `Nc`
candidates, `Np` relevant ones among them, `K` cutoff, `grade` 1..5, `answer_ideal`, `answer_topK`, `inK` the 0/1 labels
of the top K in rank order, and the derived `P`, `R` and `rank`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from ragauge.errors import FormatError, InputError
from ragauge.io.rows import raise_problems
from ragauge.io.tabular import read_table
from ragauge.io.text import head, read_bytes, read_text, write_atomically
from ragauge.ragged import from_arrow, segment_sum
from ragauge.schema import GRADED, check, conform

__all__ = ["graded_batches", "read_graded", "write_graded_json"]

_REQUIRED = ("id", "E", "Nc", "Np", "K", "grade", "inK")
_KEY_OF = {
    "query_id": "id",
    "embedder": "E",
    "n_candidates": "Nc",
    "n_relevant": "Np",
    "cutoff": "K",
    "grade": "grade",
    "labels": "inK",
    "answer_ideal": "answer_ideal",
    "answer_topk": "answer_topK",
}
_MARK = b"\xef\xbb\xbf"  # some editors begin UTF-8 with it
_BATCH_ROWS = 65_536
NOT_GRADED = "not_graded"
"""The reason of a row whose grade is null in a public file, which says no more."""


def read_graded(path: str | Path) -> pa.Table:
    """GRADED from a public samples_graded.json, or from our Parquet or JSON Lines; the content decides.

    From a public file, `n_positive_2k` is the number of positives in the top 2K where the file has that row (same id,
    E, Nc and Np); it is Np where 2K >= Nc, since everything is then retrieved; else null. `P`, `R` and `rank` are
    derived and not read. A null or NaN grade is null with the reason "not_graded".

    Raises:
        FormatError: The file is not one of the three, or a record lacks a key or has a value of another kind.
        SchemaError: A Parquet file lacks a column of GRADED.
    """
    if head(path).removeprefix(_MARK).lstrip()[:1] != b"[":
        return read_table(path, GRADED)
    columns = _plain_columns(read_bytes(path))
    if columns is None:
        records = _records(path)
        columns = {name: _column(records, key, GRADED.field(name), path) for name, key in _KEY_OF.items()}
    _check_lengths(columns, path)
    columns["grade"] = _nan_to_null(columns["grade"])
    columns["dataset"] = pc.struct_field(pc.extract_regex(columns["query_id"], r"^(?P<name>[^-]*)"), "name")
    columns["n_positive_2k"] = _positives_in_2k(columns)
    columns["reason"] = pc.if_else(pc.is_null(columns["grade"]), NOT_GRADED, pa.scalar(None, pa.string()))
    return pa.table([columns[name].cast(GRADED.field(name).type) for name in GRADED.names], schema=GRADED)


def graded_batches(path: str | Path, columns: Sequence[str] = tuple(GRADED.names)) -> Iterator[pa.RecordBatch]:
    """GRADED from a Parquet file, 65,536 rows at a time: for files larger than memory.

    Args:
        path: The file.
        columns: The columns wanted, in this order.

    Raises:
        FormatError: The file is not Parquet or cannot be read.
        SchemaError: It lacks one of the columns, or one has another type.
    """
    wanted = pa.schema([GRADED.field(name) for name in columns])
    try:
        with pq.ParquetFile(path) as file:
            present = [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(_BATCH_ROWS, columns=present):
                yield from conform(pa.Table.from_batches([batch]), wanted, what=str(path)).combine_chunks().to_batches()
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path} cannot be read as Parquet: {error}") from error


def write_graded_json(graded: pa.Table, path: str | Path) -> None:
    """Writes GRADED as a public samples_graded.json, one record a line.

    `id` is the query_id where its part before the first "-" is the data set's name already; else it is made of both,
    "-" in the data set's name becoming "_", so that readers find the data set. P = n_p/K; R = n_p/Np, null when
    Np = 0; `rank` lists the ranks, from 1, of the positives within the top K. `n_positive_2k` and `reason` have no
    place in that file: the first is found again on reading where the row at 2K stands in the file.

    Raises:
        SchemaError: `graded` is not GRADED.
    """
    check(graded, GRADED, what="the graded table")
    with write_atomically(path) as file:
        for place, row in enumerate(graded.to_pylist()):
            line = json.dumps(_public(row), ensure_ascii=False, allow_nan=False)
            file.write((",\n" if place else "[\n").encode() + line.encode())
        file.write(b"\n]\n" if graded.num_rows else b"[]\n")


def _plain_columns(raw: bytes) -> dict[str, pa.Array] | None:
    """The columns of a file without any peculiarity, read by Arrow; None = look again, record by record.

    A list is read as lines: the comma between two records becomes a line break. Where that breaks something else (a
    text, a list in a record), the reader, which is strict, refuses the file. It is also None for a null grade, which
    cannot be told from a missing one here.
    """
    inner = raw.removeprefix(_MARK).strip()
    if not (re.match(rb"\[\s*\{", inner) and inner.endswith(b"]")):  # Arrow's reader crashes where null comes first
        return None
    schema = pa.schema([pa.field(key, GRADED.field(name).type) for name, key in _KEY_OF.items()])
    options = pj.ParseOptions(explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="ignore")
    try:
        table = pj.read_json(pa.py_buffer(re.sub(rb"\},\s*\{", b"}\n{", inner[1:-1])), parse_options=options)
        table = table.combine_chunks()
        table.validate(full=True)
    except pa.ArrowException:
        return None
    if any(table.column(key).null_count for key in _REQUIRED):
        return None
    return {name: table.column(key).combine_chunks() for name, key in _KEY_OF.items()}


def _records(path: str | Path) -> list[dict[str, Any]]:
    """The records of a JSON list, each with the keys that are needed."""
    try:
        records = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}, line {error.lineno}: not JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: JSON that cannot be read: {error}") from error
    raise_problems([problem for number, record in enumerate(records, 1) for problem in _missing(record, number, path)])
    return records  # type: ignore[no-any-return]


def _missing(record: Any, number: int, path: str | Path) -> list[str]:
    """One message when the record lacks something."""
    if not isinstance(record, dict):
        return [f"{path}, record {number}: expected a JSON object, got {type(record).__name__}"]
    absent = [key for key in _REQUIRED if key not in record]
    if not absent:
        return []
    names = ", ".join(map(repr, absent))
    return [f"{path}, record {number}: no key {names}; found: {', '.join(record) or 'no keys'}"]


def _column(records: Sequence[dict[str, Any]], key: str, field: pa.Field, path: str | Path) -> pa.Array:
    """One column over all records; on failure, the records that spoil it are named."""
    values = [record.get(key) for record in records]
    try:
        column = _array(values, field)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise_problems(_spoilers(values, key, field, path))
        raise FormatError(f"{path}: {key!r} cannot be read as {field.type}: {error}") from error
    return column


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    """As `pa.array`, which would cut 1.5 to 1 in silence and let null pass where none may be."""
    if not pa.types.is_integer(field.type):
        column = pa.array(values, field.type)
    else:
        column = pa.array(values, pa.float64()).cast(field.type)
    if column.null_count and not field.nullable:
        raise pa.ArrowInvalid("null where a value is needed")
    return column


def _spoilers(values: list[Any], key: str, field: pa.Field, path: str | Path) -> list[str]:
    """One message a value that is no `field.type`."""
    problems = []
    for number, value in enumerate(values, start=1):
        try:
            _array([value], field)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            shown = json.dumps(value)[:60]
            problems.append(f"{path}, record {number}: {key!r} must be {field.type}, got {shown}")
    return problems


def _check_lengths(columns: dict[str, pa.Array], path: str | Path) -> None:
    """inK holds at most K labels, and there is a K."""
    lengths = columns["labels"].value_lengths().to_numpy(zero_copy_only=False)
    cutoffs = columns["cutoff"].to_numpy()
    wrong = np.flatnonzero((lengths > cutoffs) | (cutoffs < 1))
    raise_problems(
        [
            f"{path}, record {place + 1}: 'inK' has {lengths[place]} labels and K = {cutoffs[place]}; "
            "K must be 1 or more and inK no longer than K"
            for place in wrong
        ]
    )


def _nan_to_null(column: pa.Array) -> pa.Array:
    """JSON written by Python spells a missing grade NaN."""
    values = column.to_numpy(zero_copy_only=False)
    return pa.array(values, pa.float64(), mask=np.isnan(values))


def _positives_in_2k(columns: dict[str, pa.Array]) -> pa.Array:
    """n_p of the row at 2K of the same query, embedder and pool; Np once all candidates are in; else null."""
    labels = from_arrow(columns["labels"])
    n_p = segment_sum(labels.valid & (labels.values >= 1), labels.offsets).astype(np.int64)
    cutoffs, n_candidates, n_relevant = (columns[name].to_numpy() for name in ("cutoff", "n_candidates", "n_relevant"))
    pool = np.zeros(len(cutoffs), dtype=np.int64)
    for name in ("query_id", "embedder", "n_candidates", "n_relevant"):
        code = _codes(columns[name])
        pool = _codes(pa.array(pool * (code.max(initial=0) + 1) + code))
    known = np.unique(cutoffs)
    last_first = np.arange(len(cutoffs))[::-1]  # of two rows at one K the later one counts
    keys, place = np.unique((pool * len(known) + np.searchsorted(known, cutoffs))[last_first], return_index=True)
    at = np.minimum(np.searchsorted(known, 2 * cutoffs), len(known) - 1)
    wanted = pool * len(known) + at
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    exists = (known[at] == 2 * cutoffs) & (keys[found] == wanted)
    all_in = 2 * cutoffs >= n_candidates
    return pa.array(np.where(all_in, n_relevant, n_p[last_first[place[found]]]), mask=~(exists | all_in))


def _codes(values: pa.Array) -> npt.NDArray[np.int64]:
    """A number for each distinct value, in the order of first appearance."""
    return np.asarray(values.dictionary_encode().indices.to_numpy().astype(np.int64))


def _public(row: dict[str, Any]) -> dict[str, Any]:
    """One row of GRADED as a record of the public file."""
    ranks = [rank for rank, label in enumerate(row["labels"], start=1) if label is not None and label >= 1]
    return {
        "id": _public_id(row["dataset"], row["query_id"]),
        "E": row["embedder"],
        "Nc": row["n_candidates"],
        "Np": row["n_relevant"],
        "K": row["cutoff"],
        "grade": _whole(row["grade"]),
        "answer_ideal": row["answer_ideal"],
        "answer_topK": row["answer_topk"],
        "P": len(ranks) / _positive(row["cutoff"]),
        "R": len(ranks) / row["n_relevant"] if row["n_relevant"] else None,
        "rank": ranks,
        "inK": [_whole(label) for label in row["labels"]],
    }


def _public_id(dataset: str, query_id: str) -> str:
    """An id from which the rule "before the first hyphen" gives the data set back."""
    name = dataset.replace("-", "_")
    return query_id if query_id.partition("-")[0] == name else f"{name}-{query_id}"


def _positive(cutoff: int) -> int:
    if cutoff < 1:
        raise InputError(f"cutoff must be 1 or more, got {cutoff}")
    return cutoff


def _whole(value: float | None) -> float | int | None:
    """2 rather than 2.0, as people write grades; NaN is no JSON and becomes null."""
    if value is None or value != value:
        return None
    return int(value) if value.is_integer() else value
