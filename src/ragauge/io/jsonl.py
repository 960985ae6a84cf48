"""JSON Lines: one record a line; rankings and labels as the command line exchanges them.

The keys of a record are looked up by name and checked; keys that are not named here are ignored. A missing id is the
hash of the text it would name (`text.content_id`).
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.rows import Duplicates, Rows, check_ranking, labels_table, parse, rankings_table
from ragauge.io.text import content_id, numbered_lines, stem, write_atomically

__all__ = [
    "DOC_ID",
    "QUERY_ID",
    "check_unicode",
    "decode_record",
    "identifier",
    "is_record",
    "labels_of",
    "number",
    "objects",
    "parse_records",
    "ranking_record",
    "rankings_of",
    "read_labels",
    "read_rankings",
    "string",
    "write_rankings",
]

Record = Mapping[str, Any]
Row = TypeVar("Row")

QUERY_ID = ("query_id", "_id", "id", "query-id")
DOC_ID = ("doc_id", "_id", "id", "corpus-id", "doc-id")
"""The spellings of an id; the first one found counts."""

_PAIR_QUERY_ID = ("query_id", "query-id")
_PAIR_DOC_ID = ("doc_id", "corpus-id", "doc-id")  # a bare "id" in a pair could mean either

_LIST_OF = {"doc_ids": "doc_id", "texts": "text", "scores": "score", "labels": "label"}


def read_rankings(path: str | Path, *, duplicates: Duplicates = "error") -> pa.Table:
    """RANKINGS from `{"query_id", "query", "run", "documents": [{"doc_id", "text", "score", "label"}]}` lines.

    Documents stand in rank order; scores are kept and reorder nothing. `run` is the file's name where it is absent.
    """
    run = stem(path)
    return rankings_table(parse_records(path, lambda record: _ranking(record, run, duplicates)))


def rankings_of(
    records: Iterable[tuple[int, Record]], name: str, run: str, *, duplicates: Duplicates = "error"
) -> pa.Table:
    """As `read_rankings`, from records that stand in a list; `name` is what messages call it."""
    return rankings_table(parse(name, records, lambda record: _ranking(record, run, duplicates), unit="record"))


def is_record(record: Record) -> bool:
    """Whether a record is a ranking or a label of ours: it has documents with our keys, or both ids and no score."""
    documents = record.get("documents")
    if "documents" in record:
        first = documents[0] if isinstance(documents, list) and documents else {}
        keys = first.keys() if isinstance(first, dict) else set()
        return isinstance(first, dict | str | float | None) and not {"page_content", "node", "lc"} & keys
    pair = any(key in record for key in _PAIR_QUERY_ID) and any(key in record for key in _PAIR_DOC_ID)
    return pair and ("label" in record or not {"score", "rank"} & record.keys())


def read_labels(path: str | Path) -> pa.Table:
    """LABELS from `{"query_id", "doc_id", "label", "reason", "judge"}` lines, or from rankings with labels inside."""
    return _flat(parse_records(path, _labels_of))


def labels_of(records: Iterable[tuple[int, Record]], name: str) -> pa.Table:
    """As `read_labels`, from records that stand in a list; `name` is what messages call it."""
    return _flat(parse(name, records, _labels_of, unit="record"))


def _flat(nested: Rows[list[dict[str, Any]]]) -> pa.Table:
    """The labels of all records."""
    rows = [(line, row) for line, found in zip(nested.lines, nested.rows, strict=True) for row in found]
    labels, lines = tuple(row for _, row in rows), tuple(line for line, _ in rows)
    return labels_table(Rows(nested.path, labels, lines, nested.problems, nested.unit))


def write_rankings(table: pa.Table, path: str | Path) -> None:
    """Writes RANKINGS one a line; what is null is left out."""
    with write_atomically(path) as file:
        for batch in table.to_batches(max_chunksize=1000):
            for row in batch.to_pylist():
                file.write(json.dumps(ranking_record(row), ensure_ascii=False).encode() + b"\n")


def parse_records(path: str | Path, read: Callable[[Record], Row]) -> Rows[Row]:
    """`read` called on the record of each line; what is wrong with a line becomes its problem."""
    return parse(path, numbered_lines(path), lambda line: read(decode_record(line)))


def decode_record(line: str) -> Record:
    """The JSON object on a line.

    Raises:
        FormatError: It is not one.
    """
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"JSON that cannot be read: {error}") from error
    if not isinstance(record, dict):
        raise FormatError(f"expected a JSON object, got {_kind(record)}")
    if "\\ud" in line or "\\uD" in line:  # the escapes of surrogates; json.loads lets single ones pass
        check_unicode(record)
    return record


def string(record: Record, key: str) -> str | None:
    """The text under `key`; None where it is null or absent."""
    value = record.get(key)
    if value is None or isinstance(value, str):
        return value
    raise FormatError(f"{key!r} must be a string or null, got {_kind(value)}")


def number(record: Record, key: str) -> float | None:
    """The finite number under `key`, true and false being 1 and 0; None where it is null or absent."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise FormatError(f"{key!r} must be a number or null, got {_kind(value)}")
    if not abs(value) <= sys.float_info.max:
        raise FormatError(f"{key!r} must be a finite number or null, got {_shown(value)}")
    return float(value)


def identifier(record: Record, names: tuple[str, ...], text: str | None, *, text_key: str) -> str:
    """The id under the first of `names` that is there, else the hash of `text`.

    Raises:
        FormatError: The id is neither a string nor a whole number, or there is neither id nor text.
    """
    for name in names:
        value = record.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise FormatError(f"{name!r} must be a non-empty string or a whole number, got {_kind(value)}")
        return str(value)
    if text:
        return content_id(text)
    raise FormatError(f"no key {names[0]!r} or {text_key!r}; found: {', '.join(record) or 'no keys'}")


def objects(record: Record, key: str) -> list[Record]:
    """The list of JSON objects under `key`, which must be there."""
    if key not in record:
        raise FormatError(f"no key {key!r}; found: {', '.join(record) or 'no keys'}")
    value = record[key]
    if not isinstance(value, list):
        raise FormatError(f"{key!r} must be a list, got {_kind(value)}")
    for place, item in enumerate(value, start=1):
        if not isinstance(item, dict):
            raise FormatError(f"item {place} of {key!r} must be an object, got {_kind(item)}")
    return value


def _ranking(record: Record, run: str, duplicates: Duplicates) -> dict[str, Any]:
    """One row of RANKINGS."""
    query = string(record, "query")
    documents = objects(record, "documents")
    return check_ranking(
        {
            "query_id": identifier(record, QUERY_ID, query, text_key="query"),
            "query": query,
            "run": string(record, "run") or run,
            "doc_ids": [identifier(item, DOC_ID, string(item, "text"), text_key="text") for item in documents],
            "texts": [string(document, "text") for document in documents],
            "scores": [number(document, "score") for document in documents],
            "labels": [_label(document) for document in documents],
        },
        duplicates=duplicates,
    )


def _labels_of(record: Record) -> list[dict[str, Any]]:
    """The rows of LABELS in one record: one, or those of a ranking's documents that have a label or a reason."""
    if "documents" in record:
        found = [_label_row(record, QUERY_ID, document, DOC_ID) for document in objects(record, "documents")]
        return [row for row in found if row["label"] is not None or row["reason"] is not None]
    if "label" not in record:
        raise FormatError(f"no key 'label' or 'documents'; found: {', '.join(record) or 'no keys'}")
    return [_label_row(record, _PAIR_QUERY_ID, record, _PAIR_DOC_ID)]


def _label_row(query: Record, query_id: tuple[str, ...], document: Record, doc_id: tuple[str, ...]) -> dict[str, Any]:
    """One row of LABELS; query and document are the same record where each line is a pair."""
    return {
        "query_id": identifier(query, query_id, string(query, "query"), text_key="query"),
        "doc_id": identifier(document, doc_id, string(document, "text"), text_key="text"),
        "label": _label(document),
        "reason": string(document, "reason"),
        "judge": string(document, "judge"),
    }


def _label(document: Record) -> float | None:
    """The label; a negative one is refused, since it would count as judged and not relevant."""
    label = number(document, "label")
    if label is not None and label < 0:
        raise FormatError(f"'label' must be 0 or more, got {label:g}; write null for what is not judged")
    return label


def ranking_record(row: dict[str, Any]) -> dict[str, Any]:
    """One row of RANKINGS as the JSON object that is written for it; what is null is left out."""
    check_ranking(row)
    columns = [row[column] for column in _LIST_OF]
    documents = [_without_nulls(zip(_LIST_OF.values(), values, strict=True)) for values in zip(*columns, strict=True)]
    top = _without_nulls((key, row[key]) for key in ("query_id", "query", "run"))
    return {**top, "documents": documents}


def _without_nulls(items: Any) -> dict[str, Any]:
    return {key: value for key, value in items if value is not None}


def check_unicode(record: Record) -> None:
    """UTF-8 cannot hold half of a surrogate pair.

    Raises:
        FormatError: There is one in the record, which must be made of JSON's values.
    """
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except RecursionError as error:
        raise FormatError("JSON that cannot be read: nested too deeply") from error
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise FormatError(f"\\u{ord(half):04x} is half a character (an unpaired surrogate)") from error


def _shown(value: float) -> str:
    """A number that may have more digits than a float has room for."""
    return f"{value:g}" if isinstance(value, float) else "a number of more than 300 digits"


def _kind(value: object) -> str:
    """What `value` is, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    return f"{'the string ' if isinstance(value, str) else ''}{json.dumps(value, default=repr)[:60]}"
