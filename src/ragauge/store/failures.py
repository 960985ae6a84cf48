"""Failures in the tables: every time a call failed, and why."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, insert, select

from ragauge.store.database import batches
from ragauge.store.records import StoredFailure
from ragauge.store.tables import failures

__all__ = ["add_failure", "find_failures"]


def add_failure(connection: Connection, row: Mapping[str, object]) -> None:
    """Appends one."""
    connection.execute(insert(failures), [row])


def find_failures(connection: Connection, keys: Sequence[str] | None) -> list[StoredFailure]:
    """Those of the keys (None: all), oldest first."""
    columns = failures.c
    statement = select(columns.id, columns.key, columns.reason, columns.raw, columns.created_at)
    if keys is None:
        rows = [tuple(row) for row in connection.execute(statement)]
    else:
        rows = [
            tuple(row) for batch in batches(keys) for row in connection.execute(statement.where(columns.key.in_(batch)))
        ]
    return [StoredFailure(*row[1:]) for row in sorted(rows)]
