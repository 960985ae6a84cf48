"""The store's tables. Rows are only ever added: nothing here is updated or deleted."""

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table, Text

__all__ = ["SCHEMA_VERSION", "TABLES", "about", "failures", "metadata", "replies", "vectors"]

SCHEMA_VERSION = 1
"""Raised by one whenever an older ragauge could no longer read what a newer one wrote."""

metadata = MetaData()

about = Table(
    "ragauge_store",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Integer, nullable=False),
)
"""One row: name "schema_version"."""

replies = Table(
    "replies",
    metadata,
    Column("key", String(80), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("model", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("prompt_id", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("reply", Text, nullable=False),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("latency_s", Float, nullable=False),
    Column("created_at", String(32), nullable=False),
)
"""One row a finished call. `request` and `reply` are JSON texts; tokens are null where the endpoint told none."""

failures = Table(
    "failures",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("key", String(80), nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("raw", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
)
"""One row a time a call failed or its answer could not be read."""

vectors = Table(
    "vectors",
    metadata,
    Column("model_id", String(200), primary_key=True),
    Column("text_hash", String(64), primary_key=True),
    Column("dimension", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)
"""One row an embedded text; `vector` is little-endian float32, 4 * dimension bytes."""

TABLES = {table.name: table for table in (about, replies, failures, vectors)}
