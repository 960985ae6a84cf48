"""The store under kill -9, two writers, and places it cannot live in."""

import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from postgres_server import PostgresServer, unprivileged_user

from ragauge.errors import InputError, StoreError
from ragauge.store import FinishedCall, Store, request_key

WRITER = """
import sys
from ragauge.store import FinishedCall, Store, request_key

where, count, *models = sys.argv[1:]
with Store.open(where) as store:
    for number in range(int(count)):
        for model in models:
            request = {"model": model, "number": number}
            key = request_key(request)
            store.put_replies([FinishedCall(key, request=request, reply={"text": "x" * 2000}, latency_s=0.1)])
            store.put_failure(key, "timeout", "")
            print(key, flush=True)
"""


def writer(where: Path | str, count: int, *models: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(where), str(count), *models]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def keys_of(model: str, count: int) -> list[str]:
    return [request_key({"model": model, "number": number}) for number in range(count)]


def test_killed_writer_leaves_everything_it_was_told_is_stored(tmp_path: Path) -> None:
    where = tmp_path / "labels.db"
    rng = random.Random(0)
    acknowledged: list[str] = []
    for life in range(3):
        with writer(where, 100_000, f"life {life}") as process:
            assert process.stdout is not None
            for _ in range(rng.randint(1, 40)):
                acknowledged.append(process.stdout.readline().strip())
            process.kill()
            acknowledged.extend(line.strip() for line in process.stdout if line.endswith("\n"))
        with Store.open(where) as store:
            found = store.replies(acknowledged)
        assert found.keys() == set(acknowledged)
        assert all(reply.reply["text"] == "x" * 2000 for reply in found.values())
    with sqlite3.connect(where) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_two_processes_and_the_threads_of_a_third_write_at_once_without_loss(where: str) -> None:
    if where == "sqlite://":
        pytest.skip("a store in memory belongs to one process")
    processes = [writer(where, 60, f"own {name}", "shared") for name in "ab"]
    own, shared = [*keys_of("own a", 60), *keys_of("own b", 60)], keys_of("shared", 60)
    with Store.open(where) as store:
        threads = [threading.Thread(target=write_and_read, args=(store, f"page {n}")) for n in range(4)]
        for thread in threads:
            thread.start()
        for process in processes:
            process.communicate(timeout=120)
            assert process.returncode == 0
        for thread in threads:
            thread.join()
        assert len(store.replies([*own, *shared])) == 180
        assert len(store.failures(shared)) == 120  # each of the two appended its own
        assert all(len(store.replies(keys_of(f"page {n}", 20))) == 20 for n in range(4))
        assert store.verify() == []


def write_and_read(store: Store, name: str) -> None:
    """What a page of a web application does: each request stores and looks up."""
    for key in keys_of(name, 20):
        request = {"model": name, "number": keys_of(name, 20).index(key)}
        store.put_replies([FinishedCall(key, request=request, reply={"text": "x"}, latency_s=0.1)])
        store.replies([key])


def test_killed_writer_and_crashed_server_leave_everything_stored(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with writer(url, 100_000, "life") as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(30)]
        process.kill()
        acknowledged.extend(line.strip() for line in process.stdout if line.endswith("\n"))
    with Store.open(url) as store:
        store.replies(acknowledged)
        postgres.stop(mode="immediate")
        with pytest.raises(StoreError, match=r"check that the server runs|start again"):
            store.replies(acknowledged)
        postgres.start()
        assert store.replies(acknowledged).keys() == set(acknowledged)
        assert store.verify() == []


def test_server_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="check that the server runs and may be reached"):
        Store.open(f"postgresql://ragauge@/name?host={tmp_path}")


def test_database_that_is_not_there_is_an_error(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        Store.open(f"postgresql://ragauge@/nowhere?host={postgres.folder}")


def test_store_that_is_not_there_is_an_error_when_none_is_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no store .*a\.db; check its name"):
        Store.open(tmp_path / "a.db", missing="error")
    assert not (tmp_path / "a.db").exists()


def test_relative_path_with_odd_characters_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open("étude #1?.db"):
        pass
    assert (tmp_path / "étude #1?.db").is_file()


def test_url_names_the_same_file_as_its_path(tmp_path: Path) -> None:
    with Store.open(tmp_path / "deep" / "a.db") as store:
        store.put_failure("r1:a", "timeout", "")
    with Store.open(f"sqlite:///{tmp_path}/deep/a.db") as store:
        assert len(store.failures()) == 1


def test_database_is_in_write_ahead_mode(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db"):
        assert (tmp_path / "a.db-wal").exists()
    assert not (tmp_path / "a.db-wal").exists()  # closing leaves one file


def test_file_that_is_no_database_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    where = tmp_path / "notes.txt"
    where.write_text("not a database, but notes\n" * 200)
    before = where.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.txt: .*not an SQLite database; give another file"):
        Store.open(where)
    assert where.read_bytes() == before


def test_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it is a folder; give a file"):
        Store.open(tmp_path)


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"its folder cannot be made .*; give a place you may write to"):
        Store.open(tmp_path / "file" / "below" / "a.db")


OPENS_UNPRIVILEGED = """
import os, pwd, sys
from ragauge.errors import StoreError
from ragauge.store import Store

Store.open("sqlite://").close()  # imports what another user may not be able to read
if sys.argv[2]:
    os.setuid(pwd.getpwnam(sys.argv[2]).pw_uid)
try:
    Store.open(sys.argv[1])
except StoreError as error:
    print(error)
"""


def test_read_only_folder_is_an_error() -> None:
    """Root may write everywhere, so it becomes somebody else, whom pytest's own folder would not let in."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o555)
        command = [sys.executable, "-c", OPENS_UNPRIVILEGED, f"{folder}/a.db", unprivileged_user() or ""]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert f"cannot use the store {folder}/a.db: " in done.stdout
    assert "check that its folder exists and may be written to" in done.stdout


def test_read_only_database_is_an_error(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").close()
    with pytest.raises(StoreError, match="give a place you may write to"):
        Store.open(f"sqlite:///file:{tmp_path}/a.db?mode=ro&uri=true")


def test_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    where = tmp_path / "a.db"
    Store.open(where).close()
    connection = sqlite3.connect(where)
    with connection:
        connection.execute("UPDATE ragauge_store SET value = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"a\.db has schema version 99, this ragauge reads up to 2; upgrade ragauge"):
        Store.open(where)


FILLS_THE_DISK = """
import resource, sys
from ragauge.errors import StoreError
from ragauge.store import FinishedCall, Store, request_key

resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
with Store.open(sys.argv[1]) as store:
    for number in range(1000):
        request = {"number": number}
        try:
            store.put_replies([FinishedCall(request_key(request), request, {"text": "x" * 20_000}, latency_s=0.1)])
        except StoreError as error:
            print("ERROR", error)
            break
        print(request_key(request), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits a process's file size the Linux way")
def test_full_disk_is_an_error_and_loses_nothing_stored(tmp_path: Path) -> None:
    where = tmp_path / "a.db"
    command = [sys.executable, "-c", FILLS_THE_DISK, str(where)]
    *keys, last = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    assert last.startswith(f"ERROR cannot use the store {where}: ")
    assert "what was stored is kept" in last
    assert keys
    with Store.open(where) as store:
        assert store.replies(keys).keys() == set(keys)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("  ", "needs a file or a URL, got an empty name"),
        ("mysql://host/name", "can be SQLite or PostgreSQL, got 'mysql'"),
        ("://", "URL cannot be read"),
        ("postgresql://host:port/name", "URL cannot be read"),
    ],
)
def test_url_that_cannot_be_a_store_is_refused(where: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Store.open(where)


def test_password_of_a_url_is_not_shown() -> None:
    with pytest.raises(StoreError, match="its driver is not installed") as caught:
        Store.open("postgresql+nodriver://user:secret-word@host/name")
    assert "secret-word" not in str(caught.value)


def test_importing_store_and_wire_loads_neither_sqlalchemy_nor_aiohttp() -> None:
    code = "import sys, ragauge.store, ragauge.wire; print({'sqlalchemy', 'aiohttp'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "set()"
