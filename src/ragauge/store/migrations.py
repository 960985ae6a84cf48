"""From each older schema version to the next, in one transaction: a store is migrated whole, or stays as it was."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import Column, Connection, Float, Integer, MetaData, String, Table, Text, insert, select, text, update

from ragauge.store.keys import key_bytes
from ragauge.store.packing import pack
from ragauge.store.tables import SCHEMA_VERSION, about, metadata, replies, sources

__all__ = ["migrate"]


def migrate(connection: Connection, found: int) -> None:
    """Brings the tables from version `found` to the present one."""
    for version in range(found + 1, SCHEMA_VERSION + 1):
        _STEPS[version](connection)
    connection.execute(update(about).where(about.c.name == "schema_version").values(value=SCHEMA_VERSION))


def _to_2(connection: Connection) -> None:
    """Replies are packed and name their source; tables for judgements and for second replies come in."""
    connection.execute(text("ALTER TABLE replies RENAME TO replies_1"))
    metadata.create_all(connection)
    ids: dict[tuple[str, ...], int] = {}
    rows = select(_replies_1).order_by(_replies_1.c.created_at, _replies_1.c.key).execution_options(yield_per=500)
    for page in connection.execute(rows).mappings().partitions():
        _add_sources(connection, page, ids)
        connection.execute(insert(replies), [_row_2(row, ids) for row in page])
    _replies_1.drop(connection)


_replies_1 = Table(
    "replies_1",
    MetaData(),
    Column("key", String(80), primary_key=True),
    Column("kind", String(32)),
    Column("model", Text),
    Column("endpoint", Text),
    Column("prompt_id", Text),
    Column("request", Text),
    Column("reply", Text),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("latency_s", Float),
    Column("created_at", String(32)),
)

_SOURCE = ("kind", "model", "endpoint", "prompt_id")


def _add_sources(connection: Connection, page: Iterable[Mapping[Any, Any]], ids: dict[tuple[str, ...], int]) -> None:
    for row in page:
        source = tuple(row[name] for name in _SOURCE)
        if source not in ids:
            values = dict(zip(_SOURCE, source, strict=True))
            ids[source] = connection.execute(insert(sources).values(values).returning(sources.c.id)).scalar_one()


def _row_2(row: Mapping[Any, Any], ids: Mapping[tuple[str, ...], int]) -> dict[str, object]:
    kept = ("prompt_tokens", "completion_tokens", "latency_s", "created_at")
    return {
        "key": key_bytes(row["key"]),
        "source_id": ids[tuple(row[name] for name in _SOURCE)],
        "request": pack(row["request"]),
        "reply": pack(row["reply"]),
        **{name: row[name] for name in kept},
    }


_STEPS: Mapping[int, Callable[[Connection], None]] = MappingProxyType({2: _to_2})
"""Version -> how to reach it from the one before."""
