"""Where stores live in the tests: a file, memory, and a PostgreSQL server when its programs are found."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer, find_programs, unprivileged_user

from ragauge.store import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ragauge[postgres]'")
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server on this machine (initdb not found): apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path may have 107 characters
    server = PostgresServer(programs, folder, unprivileged_user())
    try:
        if server.user:
            shutil.chown(folder, server.user)
        options = ("--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        server.run("initdb", "-D", str(folder / "data"), "-U", "ragauge", *options)
        server.start()
        yield server
        server.stop(mode="immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["file", "memory", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a store that is not there yet."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.new_database()
    return str(tmp_path / "new" / "folder" / "labels.db") if request.param == "file" else "sqlite://"


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with Store.open(where) as opened:
        yield opened
