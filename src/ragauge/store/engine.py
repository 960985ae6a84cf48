"""From a file's name or a URL to an engine: SQLite in write-ahead mode, or PostgreSQL through psycopg.

SQLite runs with synchronous=FULL. NORMAL would survive a killed process but may lose the last answers with the power;
an answer costs about a second of a model, the fsync a few milliseconds.
"""

from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from ragauge._optional import optional_import
from ragauge.errors import InputError, StoreError

__all__ = ["engine_of", "name_of", "url_of"]

BUSY_TIMEOUT_S = 30.0
"""How long SQLite itself waits for another writer."""

PAGE_SIZE_BYTES = 8192
"""A row of about 700 bytes wastes half as much of these as of SQLite's usual 4096."""

CACHE_KB = 65_536
"""Memory for pages read: enough for most of the index of a million keys."""

Missing = Literal["make", "error"]


def url_of(where: str | Path) -> URL:
    """The database's URL; what holds no "://" is a file.

    Raises:
        InputError: It is empty or cannot be read.
    """
    if isinstance(where, str) and "://" in where:
        try:
            return _with_driver(make_url(where))
        except (ArgumentError, ValueError) as error:
            raise InputError("the store's URL cannot be read; write it like sqlite:///labels.db") from error
    if not str(where).strip():
        raise InputError("the store needs a file or a URL, got an empty name")
    return URL.create("sqlite", database=str(Path(where).expanduser()))


def name_of(url: URL) -> str:
    """How messages name the store: the file, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ":memory:"
    return url.render_as_string(hide_password=True)


def engine_of(url: URL, *, missing: Missing) -> Engine:
    """An engine that has not connected yet.

    Args:
        url: As `url_of` returns it.
        missing: What to do where there is no file: "make" one and the folders above it, or raise an "error".

    Raises:
        InputError: Neither SQLite nor PostgreSQL, or there is no such file and none is to be made.
        MissingExtraError: psycopg is not installed.
        StoreError: The folder cannot be made, or another driver that the URL names is not installed.
    """
    backend = url.get_backend_name()
    if backend == "sqlite":
        _find_file(url, missing)
        return _sqlite_engine(url)
    if backend != "postgresql":
        raise InputError(f"a store can be SQLite or PostgreSQL, got {backend!r}; write it like sqlite:///labels.db")
    if url.drivername == "postgresql+psycopg":
        optional_import("psycopg", purpose="use a PostgreSQL store")
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"cannot use the store {name_of(url)}: its driver is not installed ({error})") from error


def _with_driver(url: URL) -> URL:
    """PostgreSQL without a driver's name means psycopg, whatever this SQLAlchemy would take."""
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url


def _find_file(url: URL, missing: Missing) -> None:
    if url.database in (None, "", ":memory:") or url.query.get("uri"):
        return
    path = Path(str(url.database))
    if path.is_dir():
        raise StoreError(f"cannot use the store {path}: it is a folder; give a file")
    if missing == "error" and not path.exists():
        raise InputError(f"there is no store {path}; check its name, it is what --store was when labels were made")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot use the store {path}: its folder cannot be made ({error.strerror}); give a place you may write to"
        ) from error


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(
        url.set(drivername="sqlite"),
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_S},
        hide_parameters=True,
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite`, not by the driver
    connection.execute(f"PRAGMA page_size = {PAGE_SIZE_BYTES}")  # of a file that is new
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes the lock at once: one that starts as a reader cannot wait for it and fails."""
    write = connection.get_execution_options().get("ragauge_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
