"""What a database's error means for whoever runs ragauge: what happened, and what to do."""

from sqlalchemy.exc import DBAPIError

from ragauge.errors import StoreError

__all__ = ["advised", "is_busy"]

_OF_SQLITE = {
    "SQLITE_READONLY": "the file or its folder cannot be written; give a place you may write to",
    "SQLITE_CANTOPEN": "the file cannot be opened; check that its folder exists and may be written to",
    "SQLITE_PERM": "the file cannot be opened; check who may read and write it",
    "SQLITE_NOTADB": "the file is not an SQLite database; give another file, or move this one away",
    "SQLITE_CORRUPT": "the file is damaged; copy what is sound to a new one: ragauge store merge NEW.db DAMAGED.db; "
    "if that cannot read it either: sqlite3 DAMAGED.db .recover",
    "SQLITE_FULL": "the disk is full; free some space and start again, what was stored is kept",
    "SQLITE_IOERR": "the disk cannot be read or written; check its free space, what was stored is kept",
    "SQLITE_BUSY": "another process holds it locked; wait for it to end, or stop it",
}

_OF_POSTGRESQL = {
    "08": "the connection broke; start again, what was stored is kept",
    "25006": "the database is read-only; give one you may write to",
    "28": "it refuses the user or password; check the URL, or set PGPASSWORD",
    "3D000": "there is no database of that name; make it with createdb",
    "42501": "the user may not do that; it needs to make tables and add rows",
    "53100": "the server's disk is full; free some space and start again, what was stored is kept",
    "53300": "the server takes no more connections; wait, or raise max_connections",
    "57P": "the server is stopping; start again when it is back, what was stored is kept",
}
"""SQLSTATE, or how it begins -> advice."""

_UNREACHED = "check that the server runs and may be reached; what was stored is kept"


def advised(error: DBAPIError, name: str) -> StoreError:
    """The error to raise: the store's name, the cause on one line, and what to do."""
    cause = " ".join(str(error.orig).split())
    return StoreError(f"cannot use the store {name}: {cause}; {_advice(error)}")


def is_busy(error: DBAPIError) -> bool:
    """Whether SQLite found the file locked, which passes."""
    return _sqlite_name(error) == "SQLITE_BUSY"


def _advice(error: DBAPIError) -> str:
    if name := _sqlite_name(error):
        return _OF_SQLITE.get(name, "check that the file is there and may be written to")
    state = getattr(error.orig, "sqlstate", None) or ""
    return next((advice for start, advice in _OF_POSTGRESQL.items() if state.startswith(start)), _UNREACHED)


def _sqlite_name(error: DBAPIError) -> str:
    """SQLite's primary error name, such as SQLITE_BUSY for SQLITE_BUSY_RECOVERY; "" elsewhere."""
    name = getattr(error.orig, "sqlite_errorname", "") or ""
    return "_".join(name.split("_")[:2])
