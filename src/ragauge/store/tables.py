"""The store's tables. Rows are only ever added; what supersedes a row is another row."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy import UniqueConstraint as Unique

__all__ = [
    "SCHEMA_VERSION",
    "about",
    "failures",
    "judgements",
    "judges",
    "later_replies",
    "metadata",
    "replies",
    "sources",
    "vectors",
]

SCHEMA_VERSION = 2
"""Raised by one with every step in `migrations`, and whenever an older ragauge could not read what this one writes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(TypeDecorator[str]):
    """A time, as ISO 8601 in UTC outside and as milliseconds since 1970 in the table, where it takes a fifth."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: object) -> int | None:
        return None if value is None else (datetime.fromisoformat(value) - _EPOCH) // timedelta(milliseconds=1)

    def process_result_value(self, value: Any, dialect: object) -> str | None:
        if value is None:
            return None
        try:
            return (_EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds")
        except (TypeError, OverflowError):  # a damaged row, which `verify` reports
            return str(value)


metadata = MetaData()

about = Table(
    "ragauge_store",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Integer, nullable=False),
)
"""One row: name "schema_version"."""

sources = Table(
    "sources",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", String(32), nullable=False),
    Column("model", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("prompt_id", Text, nullable=False),
    Unique("kind", "model", "endpoint", "prompt_id"),
)
"""Who was asked with which prompt; stands apart so that a million replies do not repeat it."""


def _reply_columns() -> tuple[Column[object], ...]:
    return (
        Column("source_id", Integer, ForeignKey("sources.id"), nullable=False),
        Column("request", LargeBinary, nullable=False),
        Column("reply", LargeBinary, nullable=False),
        Column("prompt_tokens", Integer),
        Column("completion_tokens", Integer),
        Column("cost_usd", Float),
        Column("latency_s", Float, nullable=False),
        Column("created_at", Moment, nullable=False),
    )


replies = Table(
    "replies",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("key", LargeBinary, nullable=False, unique=True),
    *_reply_columns(),
)
"""One row a request: the first finished call. `key` is `keys.key_bytes`; `request` and `reply` are JSON texts, packed
as `packing` does; tokens are null where the endpoint told none, cost where no price was known."""

later_replies = Table(
    "later_replies",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("digest", String(64), primary_key=True),
    *_reply_columns(),
)
"""Other replies to a request that had one: of two processes that asked at once, or of a store that was merged in. They
were paid for, so they are kept; they are not used. `digest` is the SHA-256 of the reply's text."""

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

judges = Table(
    "judges",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("judge", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("task", String(16), nullable=False),
    Column("rubric", Text, nullable=False),
    Unique("judge", "kind", "task", "rubric"),
)
"""Who judges ("human" or "model") what ("label" or "grade") by which version of which rubric or prompt."""

judgements = Table(
    "judgements",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("judge_id", Integer, ForeignKey("judges.id"), nullable=False),
    Column("query_id", Text, nullable=False),
    Column("doc_id", Text, nullable=False),
    Column("label", Float),
    Column("reason", Text),
    Column("reply_key", LargeBinary),
    Column("created_at", Moment, nullable=False),
    Index("judgements_of_pair", "query_id", "doc_id"),
)
"""One row a time a judge judged a pair. Of one judge's rows for a pair the last (by time, then id) is in force.
`label` null = not labelled; then `reason` says why. `reply_key`: the reply that a model's judgement was read from."""
