"""One database: work done in transactions, locks waited for, errors made clear, tables read page by page."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    Insert,
    Row,
    Select,
    Table,
    bindparam,
    func,
    insert,
    inspect,
    literal,
    select,
    tuple_,
)
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

RUN = 100
"""Ids that are read at once where the file is damaged."""

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

    def pages(self, table: Table, *, size: int = 1000, lost: list[int] | None = None) -> Iterator[Sequence[Row[Any]]]:
        """All rows in the order of the primary key, some at a time, so that others may work in between.

        Args:
            table: Whose rows.
            size: Of a page, at most.
            lost: Where the ids of rows go that cannot be read, as a part of the file is damaged; the others are read
                all the same. None, or a table without ids: an error ends it.
        """
        keys = list(table.primary_key.columns)
        statement = select(table).order_by(*keys).limit(size)
        after, last_id = statement, 0
        try:
            while page := self._rows(after):
                yield page
                last = tuple_(*(literal(page[-1]._mapping[key], key.type) for key in keys))
                after = statement.where(tuple_(*keys) > last)
                last_id = page[-1].id if "id" in table.c else 0
        except StoreError:
            if lost is None or "id" not in table.c:
                raise
            yield from self._readable(table, last_id + 1, lost)

    def _rows(self, statement: Select[Any]) -> Sequence[Row[Any]]:
        return self.read(lambda connection: connection.execute(statement).all())

    def _readable(self, table: Table, first: int, lost: list[int]) -> Iterator[Sequence[Row[Any]]]:
        """Pages of the rows from an id on that can be read: in runs of ids, one by one where a run cannot be read."""
        last = self.read(lambda connection: connection.execute(select(func.max(table.c.id))).scalar_one())
        for start in range(first, last + 1, RUN):
            try:
                yield self._rows(select(table).where(table.c.id.between(start, start + RUN - 1)).order_by(table.c.id))
            except StoreError:
                yield list(self._one_by_one(table, range(start, min(start + RUN, last + 1)), lost))

    def _one_by_one(self, table: Table, ids: range, lost: list[int]) -> Iterator[Row[Any]]:
        for id_ in ids:
            try:
                yield from self._rows(select(table).where(table.c.id == id_))
            except StoreError:
                lost.append(id_)

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
    statement = _insert_new(table, connection.dialect.name)
    if connection.dialect.name == "sqlite":
        return sum(connection.execute(statement, list(batch)).rowcount for batch in batches(rows))
    return sum(len(connection.execute(statement, list(batch)).all()) for batch in batches(rows))


@cache  # building a statement takes longer than executing it
def _insert_new(table: Table, dialect: str) -> Insert:
    if dialect == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    # psycopg does not count the rows of many inserts, so they are returned
    return postgresql.insert(table).on_conflict_do_nothing().returning(*table.primary_key.columns)


def id_of(connection: Connection, table: Table, row: Mapping[str, object]) -> int:
    """The id of the row with these values, which is appended where there is none."""
    find = _find_id(table, tuple(row))
    found = connection.execute(find, row).scalar()
    if found is None:
        insert_new(connection, table, [row])  # another process may have been faster
        found = connection.execute(find, row).scalar_one()
    return int(found)


@cache
def _find_id(table: Table, names: tuple[str, ...]) -> Select[int]:
    return select(table.c.id).where(*(table.c[name] == bindparam(name) for name in names))


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """`values` in runs of at most `BATCH`."""
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
