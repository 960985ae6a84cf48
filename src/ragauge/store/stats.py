"""What a store holds, in numbers."""

from sqlalchemy import Connection, func, select, text

from ragauge.store.database import Database
from ragauge.store.judgements import count_judgements
from ragauge.store.records import StoreStats
from ragauge.store.replies import sum_usage
from ragauge.store.tables import failures, later_replies, metadata, vectors

__all__ = ["store_stats"]


def store_stats(database: Database) -> StoreStats:
    """All counts as of one moment."""
    return database.read(_stats)


def _stats(connection: Connection) -> StoreStats:
    by_reason = select(failures.c.reason, func.count()).group_by(failures.c.reason)
    by_model = select(vectors.c.model_id, func.count()).group_by(vectors.c.model_id).order_by(vectors.c.model_id)
    reasons = [(row[0], int(row[1])) for row in connection.execute(by_reason)]
    return StoreStats(
        usage=tuple(sum_usage(connection)),
        judges=tuple(count_judgements(connection)),
        later_replies=connection.execute(select(func.count()).select_from(later_replies)).scalar_one(),
        failures=tuple(sorted(reasons, key=lambda reason: (-reason[1], reason[0]))),
        vectors=tuple((row[0], int(row[1])) for row in connection.execute(by_model)),
        size_bytes=_size_bytes(connection),
    )


def _size_bytes(connection: Connection) -> int:
    """SQLite's pages, those still in the write-ahead log included; PostgreSQL's tables with their indexes."""
    if connection.dialect.name == "sqlite":
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        return int(pages) * int(connection.exec_driver_sql("PRAGMA page_size").scalar_one())
    size = text("SELECT pg_total_relation_size(to_regclass(:name))")
    return sum(int(connection.execute(size, {"name": name}).scalar_one()) for name in metadata.tables)
