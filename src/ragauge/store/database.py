"""One database connection that appends and finds rows: transactions, locks and clear errors.

SQLite runs in write-ahead mode with synchronous=FULL. NORMAL would survive a killed process but may lose the last
answers with the power; an answer costs about a second of a model, the fsync a few milliseconds.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, TypeVar

from sqlalchemy import Connection, Engine, Select, Table, create_engine, event, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from ragauge.errors import InputError, StoreError
from ragauge.store.tables import SCHEMA_VERSION, TABLES, about, metadata, replies

__all__ = ["Database"]

T = TypeVar("T")

BATCH = 500
"""Values in one IN list and rows in one INSERT: far below every database's limit on parameters."""

BUSY_TIMEOUT_S = 30.0
"""How long SQLite itself waits for another writer."""

LOCK_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""Pauses before trying again when SQLite reports a lock without waiting, as it does while another process recovers."""

SCHEMA_LOCK = 7_246_283
"""PostgreSQL's advisory lock for making the tables; any number that others are unlikely to use."""

_ADVICE = {
    "SQLITE_READONLY": "the file or its folder cannot be written; give a place you may write to",
    "SQLITE_CANTOPEN": "the file cannot be opened; check that its folder exists and may be written to",
    "SQLITE_PERM": "the file cannot be opened; check who may read and write it",
    "SQLITE_NOTADB": "the file is not an SQLite database; give another file, or move this one away",
    "SQLITE_CORRUPT": "the file is damaged; move it away, and recover what can be read with: sqlite3 FILE .recover",
    "SQLITE_FULL": "the disk is full; free some space and start again, what was stored is kept",
    "SQLITE_IOERR": "the disk cannot be read or written; check its free space, what was stored is kept",
    "SQLITE_BUSY": "another process holds it locked; wait for it to end, or stop it",
}


class Database:
    """Rows of the tables of `ragauge.store.tables`, appended and found; safe to share between threads."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine
        self._closed = False
        # One connection and one user at a time: SQLite has one writer anyway, and a store in memory has one connection.
        self._lock = threading.RLock()

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Connects, makes the tables that are missing and checks the schema's version."""
        url = _url_of(where)
        database = cls(_engine_of(url), _name_of(url))
        try:
            database._run(_prepare, write=True)
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Ends the connection."""
        with self._lock:
            self._closed = True
            self._engine.dispose()

    def find(
        self, table: str, columns: Sequence[str], *, by: str, among: Sequence[str] | None, **equal: str
    ) -> list[tuple[Any, ...]]:
        """Rows whose column `by` is `among` the values (None: any) and whose other columns `equal` what is given."""
        source = TABLES[table]
        statement = select(*(source.c[name] for name in columns)).where(*_conditions(source, equal))

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            if among is None:
                return _rows(connection, statement)
            return [
                row for batch in _batches(among) for row in _rows(connection, statement.where(source.c[by].in_(batch)))
            ]

        return self._run(work, write=False)

    def first(self, table: str, column: str, **equal: str) -> Any:
        """One value of the column among the matching rows; None when there is no row."""
        source = TABLES[table]
        statement = select(source.c[column]).where(*_conditions(source, equal)).limit(1)
        return self._run(lambda connection: connection.execute(statement).scalar(), write=False)

    def insert(self, table: str, rows: Sequence[Mapping[str, object]], *, existing: Literal["keep", "error"]) -> None:
        """Appends the rows in one transaction; a row whose primary key is taken is skipped, or an error."""
        statement = insert(TABLES[table]) if existing == "error" else _insert_new(self._engine, TABLES[table])

        def work(connection: Connection) -> None:
            for batch in _batches(rows):
                connection.execute(statement, list(batch))

        self._run(work, write=True)

    def usage(self) -> list[tuple[Any, ...]]:
        """Kind, model, endpoint, prompt id; calls, tokens read and written, calls without tokens, seconds."""
        by = (replies.c.kind, replies.c.model, replies.c.endpoint, replies.c.prompt_id)
        statement = (
            select(
                *by,
                func.count().label("calls"),
                func.sum(replies.c.prompt_tokens).label("prompt_tokens"),
                func.sum(replies.c.completion_tokens).label("completion_tokens"),
                (func.count() - func.count(replies.c.prompt_tokens)).label("calls_without_tokens"),
                func.sum(replies.c.latency_s).label("seconds"),
            )
            .group_by(*by)
            .order_by(*by)
        )
        return self._run(lambda connection: _rows(connection, statement), write=False)

    def _run(self, work: Callable[[Connection], T], *, write: bool) -> T:
        """`work` in one transaction, again after a pause when the database was locked."""
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.name} is closed; open it again")
            for pause_s in LOCK_PAUSES_S:
                try:
                    return self._transact(work, write=write)
                except DBAPIError as error:
                    if _code_of(error) != "SQLITE_BUSY":
                        self._fail(error)
                time.sleep(pause_s)
            try:
                return self._transact(work, write=write)
            except DBAPIError as error:
                self._fail(error)

    def _transact(self, work: Callable[[Connection], T], *, write: bool) -> T:
        with self._engine.connect().execution_options(ragauge_write=write) as connection, connection.begin():
            return work(connection)

    def _fail(self, error: DBAPIError) -> NoReturn:
        advice = _ADVICE.get(_code_of(error), "check that the database is there and may be written to")
        cause = " ".join(str(error.orig).split())
        raise StoreError(f"cannot use the store {self.name}: {cause}; {advice}") from error


def _prepare(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":  # where two processes that make the same table at once fail
        connection.execute(select(func.pg_advisory_xact_lock(SCHEMA_LOCK)))
    metadata.create_all(connection)
    name = _name_of(connection.engine.url)
    found = connection.execute(select(about.c.value).where(about.c.name == "schema_version")).scalar()
    if found is None:
        statement = _insert_new(connection.engine, about)
        connection.execute(statement, [{"name": "schema_version", "value": SCHEMA_VERSION}])
    elif found > SCHEMA_VERSION:
        raise StoreError(
            f"the store {name} has schema version {found}, this ragauge reads up to {SCHEMA_VERSION}; upgrade ragauge"
        )


def _url_of(where: str | Path) -> URL:
    if isinstance(where, str) and "://" in where:
        try:
            return make_url(where)
        except (ArgumentError, ValueError) as error:
            raise InputError("the store's URL cannot be read; write it like sqlite:///labels.db") from error
    if not str(where).strip():
        raise InputError("the store needs a file or a URL, got an empty name")
    return URL.create("sqlite", database=str(Path(where).expanduser()))


def _name_of(url: URL) -> str:
    """How messages name the store: the file, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ":memory:"
    return url.render_as_string(hide_password=True)


def _engine_of(url: URL) -> Engine:
    backend = url.get_backend_name()
    if backend == "sqlite":
        return _sqlite_engine(url)
    if backend != "postgresql":
        raise InputError(f"a store can be SQLite or PostgreSQL, got {backend!r}; write it like sqlite:///labels.db")
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"cannot use the store {_name_of(url)}: its driver is not installed ({error})") from error


def _sqlite_engine(url: URL) -> Engine:
    _make_folder(url)
    engine = create_engine(
        url.set(drivername="sqlite"),
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_S},
        hide_parameters=True,
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_folder(url: URL) -> None:
    if url.database in (None, "", ":memory:") or url.query.get("uri"):
        return
    path = Path(str(url.database))
    if path.is_dir():
        raise StoreError(f"cannot use the store {path}: it is a folder; give a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot use the store {path}: its folder cannot be made ({error.strerror}); give a place you may write to"
        ) from error


def _configure_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite`, not by the driver
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes the lock at once: one that starts as a reader cannot wait for it and fails."""
    write = connection.get_execution_options().get("ragauge_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _insert_new(engine: Engine, table: Table) -> Any:
    dialect = sqlite if engine.dialect.name == "sqlite" else postgresql
    return dialect.insert(table).on_conflict_do_nothing()


def _conditions(table: Table, equal: Mapping[str, str]) -> list[Any]:
    return [table.c[name] == value for name, value in equal.items()]


def _rows(connection: Connection, statement: Select[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(statement)]


def _batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]


def _code_of(error: DBAPIError) -> str:
    """SQLite's primary error name, such as SQLITE_BUSY for SQLITE_BUSY_RECOVERY; "" elsewhere."""
    name = getattr(error.orig, "sqlite_errorname", "") or ""
    return "_".join(name.split("_")[:2])
