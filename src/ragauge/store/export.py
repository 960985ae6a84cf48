"""Replies written to a file that needs no ragauge to be read: JSON Lines or Parquet, page by page, without secrets."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Row, Table

from ragauge.errors import InputError
from ragauge.store.database import Database
from ragauge.store.keys import key_text, without_secrets
from ragauge.store.packing import unpack
from ragauge.store.replies import SOURCE, Source, named_sources
from ragauge.store.tables import later_replies, replies

__all__ = ["export_replies"]

_COPIED = ("prompt_tokens", "completion_tokens", "cost_usd", "latency_s", "created_at")

_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("key", *SOURCE)),
        pa.field("used", pa.bool_(), nullable=False),
        pa.field("prompt_tokens", pa.int64()),
        pa.field("completion_tokens", pa.int64()),
        pa.field("cost_usd", pa.float64()),
        pa.field("latency_s", pa.float64(), nullable=False),
        pa.field("created_at", pa.string(), nullable=False),
        pa.field("request", pa.string(), nullable=False),
        pa.field("reply", pa.string(), nullable=False),
    ]
)
"""`used` false: a later reply to a request that had one. Parquet has `request` and `reply` as JSON texts."""

Write = Callable[[Sequence[Mapping[str, Any]]], None]


def export_replies(database: Database, path: Path) -> int:
    """Writes all replies, those in use first; how many they were."""
    writers = {".jsonl": _jsonl_writer, ".parquet": _parquet_writer}
    if path.suffix not in writers:
        raise InputError(f"replies can be written as .jsonl or .parquet, got {str(path)!r}")
    named = database.read(named_sources)
    temporary = path.with_name(path.name + ".tmp")
    n_written = 0
    try:
        with writers[path.suffix](temporary) as write:
            for table in (replies, later_replies):
                for page in database.pages(table):
                    write([_record(table, row, named) for row in page])
                    n_written += len(page)
        os.replace(temporary, path)  # noqa: PTH105 - what was written is put in its place whole
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
    finally:
        temporary.unlink(missing_ok=True)
    return n_written


def _record(table: Table, row: Row[Any], named: Mapping[int, Source]) -> dict[str, Any]:
    return {
        "key": key_text(row.key),
        **dict(zip(SOURCE, named[row.source_id], strict=True)),
        "used": table is replies,
        **{name: row._mapping[name] for name in _COPIED},
        "request": without_secrets(json.loads(unpack(row.request))),
        "reply": without_secrets(json.loads(unpack(row.reply))),
    }


@contextmanager
def _jsonl_writer(path: Path) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda records: file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Write]:
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as file:
        yield lambda records: file.write_table(
            pa.Table.from_pylist(
                [
                    {**record, **{name: json.dumps(record[name], ensure_ascii=False) for name in ("request", "reply")}}
                    for record in records
                ],
                schema=_SCHEMA,
            )
        )
