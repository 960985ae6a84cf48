"""One database: work done in transactions, locks waited for, errors made clear, tables read page by page."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, Row, Table, func, insert, inspect, literal, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from ragauge.errors import StoreError
from ragauge.store.engine import Missing, engine_of, name_of, url_of
from ragauge.store.faults import advised, is_busy
from ragauge.store.migrations import migrate
from ragauge.store.tables import SCHEMA_VERSION, about, metadata

__all__ = ["Database", "batches", "id_of", "insert_new"]

T = TypeVar("T")

BATCH = 500
"""Values in one IN list and rows in one INSERT: far below every database's limit on parameters."""

LOCK_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""Pauses before trying again when SQLite reports a lock without waiting, as it does while another process recovers."""

SCHEMA_LOCK = 7_246_283
"""PostgreSQL's advisory lock for making the tables; any number that others are unlikely to use."""


class Database:
    """Does work on the tables of `ragauge.store.tables`; safe to share between threads."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine
        self._closed = False
        # One connection and one user at a time: SQLite has one writer anyway, and a store in memory has one connection.
        self._lock = threading.RLock()

    @classmethod
    def open(cls, where: str | Path, *, missing: Missing) -> Self:
        """Connects, makes the tables that are missing, and brings an older store to the present version."""
        url = url_of(where)
        database = cls(engine_of(url, missing=missing), name_of(url))
        try:
            database.write(lambda connection: _prepare(connection, database.name))
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Ends the connection."""
        with self._lock:
            self._closed = True
            self._engine.dispose()

    @property
    def dialect(self) -> str:
        """ "sqlite" or "postgresql"."""
        return self._engine.dialect.name

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, done in one transaction that only reads."""
        return self._run(work, write=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, done in one transaction; on disk, whole, when this returns, or not done at all."""
        return self._run(work, write=True)

    def pages(self, table: Table, *, size: int = 1000) -> Iterator[Sequence[Row[Any]]]:
        """All rows in the order of the primary key, some at a time, so that others may work in between."""
        keys = list(table.primary_key.columns)
        statement = select(table).order_by(*keys).limit(size)
        page = self.read(lambda connection: connection.execute(statement).all())
        while page:
            yield page
            last = tuple_(*(literal(page[-1]._mapping[key], key.type) for key in keys))
            after = statement.where(tuple_(*keys) > last)
            page = self.read(lambda connection, after=after: connection.execute(after).all())  # type: ignore[misc]

    def _run(self, work: Callable[[Connection], T], *, write: bool) -> T:
        """`work` in one transaction, again after a pause when the database was locked."""
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.name} is closed; open it again")
            for pause_s in (*LOCK_PAUSES_S, None):
                try:
                    return self._transact(work, write=write)
                except DBAPIError as error:
                    if pause_s is None or not is_busy(error):
                        raise advised(error, self.name) from error
                time.sleep(pause_s)
            raise AssertionError("the last try returns or raises")

    def _transact(self, work: Callable[[Connection], T], *, write: bool) -> T:
        with self._engine.connect().execution_options(ragauge_write=write) as connection, connection.begin():
            return work(connection)


def _prepare(connection: Connection, name: str) -> None:
    if connection.dialect.name == "postgresql":  # where two processes that make the same table at once fail
        connection.execute(select(func.pg_advisory_xact_lock(SCHEMA_LOCK)))
    found = None
    if inspect(connection).has_table(about.name):
        found = connection.execute(select(about.c.value).where(about.c.name == "schema_version")).scalar()
    if found is None:
        metadata.create_all(connection)
        connection.execute(insert(about), [{"name": "schema_version", "value": SCHEMA_VERSION}])
    elif found > SCHEMA_VERSION:
        raise StoreError(
            f"the store {name} has schema version {found}, this ragauge reads up to {SCHEMA_VERSION}; upgrade ragauge"
        )
    elif found < SCHEMA_VERSION:
        migrate(connection, found)


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> int:
    """Appends the rows whose keys are not taken; how many they were."""
    if connection.dialect.name == "sqlite":
        statement = sqlite.insert(table).on_conflict_do_nothing()
        return sum(connection.execute(statement, list(batch)).rowcount for batch in batches(rows))
    # psycopg does not count the rows of many inserts, so they are returned
    returning = postgresql.insert(table).on_conflict_do_nothing().returning(*table.primary_key.columns)
    return sum(len(connection.execute(returning, list(batch)).all()) for batch in batches(rows))


def id_of(connection: Connection, table: Table, row: Mapping[str, object]) -> int:
    """The id of the row with these values, which is appended where there is none."""
    find = select(table.c.id).where(*(table.c[name] == value for name, value in row.items()))
    found = connection.execute(find).scalar()
    if found is None:
        insert_new(connection, table, [row])  # another process may have been faster
        found = connection.execute(find).scalar_one()
    return int(found)


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """`values` in runs of at most `BATCH`."""
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
