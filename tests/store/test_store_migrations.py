"""Stores that older versions wrote are read by this one without loss; `golden/` holds one of each version."""

import gzip
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.make import N_REPLIES, reply_of, request_of
from postgres_server import PostgresServer
from sqlalchemy import create_engine, text

from ragauge.store import FinishedCall, Store, request_key
from ragauge.store.tables import SCHEMA_VERSION

GOLDEN = Path(__file__).parent / "golden"
KEYS = [request_key(request_of(number)) for number in range(N_REPLIES)]

TABLES_OF_1 = {
    "ragauge_store": "name VARCHAR(32) PRIMARY KEY, value INTEGER NOT NULL",
    "replies": "key VARCHAR(80) PRIMARY KEY, kind VARCHAR(32) NOT NULL, model TEXT NOT NULL, endpoint TEXT NOT NULL, "
    "prompt_id TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL, prompt_tokens INTEGER, "
    "completion_tokens INTEGER, latency_s FLOAT NOT NULL, created_at VARCHAR(32) NOT NULL",
    "failures": "id SERIAL PRIMARY KEY, key VARCHAR(80) NOT NULL, reason TEXT NOT NULL, raw TEXT NOT NULL, "
    "created_at VARCHAR(32) NOT NULL",
    "vectors": "model_id VARCHAR(200), text_hash VARCHAR(64), dimension INTEGER NOT NULL, vector BYTEA NOT NULL, "
    "PRIMARY KEY (model_id, text_hash)",
}
"""As the first version made them in PostgreSQL."""


def golden(version: int, path: Path) -> Path:
    """The store that `golden/make.py` made with the ragauge of that version, at `path`."""
    path.write_bytes(gzip.decompress((GOLDEN / f"v{version}.db.gz").read_bytes()))
    return path


def assert_whole(store: Store) -> None:
    """Everything that `golden/make.py` put in is there."""
    found = store.replies(KEYS)
    for number, key in enumerate(KEYS):
        reply = found[key]
        assert reply.reply == reply_of(number)
        assert reply.latency_s == number / 4
        assert (reply.kind, reply.model, reply.prompt_id) == ("chat", "m", "label/1")
        tokens = (100 + number, 1) if number % 2 else (None, None)
        assert (reply.prompt_tokens, reply.completion_tokens) == tokens
        assert reply.created_at.startswith("20") and reply.created_at.endswith("+00:00")
    assert [(failure.reason, failure.raw) for failure in store.failures()] == [("timeout", ""), ("http_500", "oops é")]
    vectors = store.vectors("e/1", ["one", "zwei"])
    np.testing.assert_array_equal([vectors["one"], vectors["zwei"]], [[1, 2, 3], [4, 5, 6]])
    assert store.usage()[0].calls == N_REPLIES
    assert store.verify() == []


def test_each_version_has_its_golden_store() -> None:
    assert {path.name for path in GOLDEN.glob("*.gz")} == {f"v{n}.db.gz" for n in range(1, SCHEMA_VERSION + 1)}


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_an_older_store_is_read_without_loss(tmp_path: Path, version: int) -> None:
    path = golden(version, tmp_path / "a.db")
    for _ in range(2):
        with Store.open(path) as store:
            assert_whole(store)


def test_times_of_the_first_version_are_kept(tmp_path: Path) -> None:
    path = golden(1, tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        before = dict(connection.execute("SELECT key, created_at FROM replies").fetchall())
    with Store.open(path) as store:
        assert {key: reply.created_at for key, reply in store.replies(KEYS).items()} == before


def test_a_migrated_store_takes_new_rows(tmp_path: Path) -> None:
    path = golden(1, tmp_path / "a.db")
    request = {"model": "new"}
    with Store.open(path) as store:
        store.put_replies([FinishedCall(request_key(request), request=request, reply={"a": 1}, latency_s=0.1)])
        assert store.replies([request_key(request)])[request_key(request)].reply == {"a": 1}


def test_the_first_version_in_postgresql_is_read_without_loss(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with closing(sqlite3.connect(golden(1, tmp_path / "old.db"))) as old, engine.begin() as new:
        for table, columns in TABLES_OF_1.items():
            new.execute(text(f"CREATE TABLE {table} ({columns})"))
            cursor = old.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in cursor]
            marks = ", ".join(f":{name}" for name in names)
            new.execute(text(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"), rows)
        new.execute(text("SELECT setval('failures_id_seq', 10)"))
    engine.dispose()
    with Store.open(url) as store:
        assert_whole(store)


MANY = 1500

OPENS = "import sys; from ragauge.store import Store; print('go', flush=True); Store.open(sys.argv[1]).close()"


def test_a_migration_killed_at_any_moment_is_done_by_the_next_opening(tmp_path: Path) -> None:
    source = golden(1, tmp_path / "source.db")
    with closing(sqlite3.connect(source)) as connection, connection:
        columns = "kind, model, endpoint, prompt_id, request, reply, prompt_tokens, completion_tokens, latency_s"
        connection.execute(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) INSERT INTO replies "
            f"SELECT 'x' || i, {columns}, created_at FROM replies, n WHERE latency_s = 0.25"
        )
    for delay_s in (0.2, 0.3, 0.45):
        path = Path(shutil.copy(source, tmp_path / "a.db"))
        with subprocess.Popen([sys.executable, "-c", OPENS, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"go\n"
            time.sleep(delay_s)  # what is tested is the moment of the kill
            process.send_signal(signal.SIGKILL)
        with Store.open(path) as store:
            assert len(store.replies([*KEYS, *(f"x{i}" for i in range(1, MANY + 1))])) == N_REPLIES + MANY
        for left in tmp_path.glob("a.db*"):
            left.unlink()


def test_two_processes_may_migrate_one_store_at_once(tmp_path: Path) -> None:
    path = golden(1, tmp_path / "a.db")
    processes = [subprocess.Popen([sys.executable, "-c", OPENS, str(path)], stdout=subprocess.DEVNULL) for _ in "ab"]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    with Store.open(path) as store:
        assert_whole(store)
