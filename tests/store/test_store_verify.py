"""`Store.verify` finds what was changed behind the store's back, and says what is wrong with it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ragauge.errors import StoreError
from ragauge.schema import LABELS
from ragauge.store import Damage, FinishedCall, Store, request_key
from ragauge.store.engine import PAGE_SIZE_BYTES

N = 5
KEYS = [request_key({"model": "m", "n": n}) for n in range(N)]


def fill(where: Path | str) -> None:
    with Store.open(where) as store:
        for n in range(N):
            for answer in ("first", "later") if n == 0 else ("first",):
                store.put_replies(
                    [FinishedCall(KEYS[n], request={"model": "m", "n": n}, reply={"text": answer}, latency_s=0.1)]
                )
        store.put_failure(KEYS[0], "timeout", "")
        rows = [{"query_id": "q", "doc_id": "d", "label": 1.0, "reason": None, "judge": "m"}]
        store.put_labels(pa.Table.from_pylist(rows, schema=LABELS), kind="model", reply_keys=[KEYS[0]])
        store.put_vectors("e", ["t", "u"], np.ones((2, 3)))


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


def damage_of(path: Path) -> list[str]:
    with Store.open(path) as store:
        return [str(damage) for damage in store.verify()]


def test_sound_store_has_no_damage(where: str) -> None:
    if where == "sqlite://":
        pytest.skip("a store in memory is gone when it is closed")
    fill(where)
    seen: list[int] = []
    with Store.open(where) as store:
        assert store.verify(on_progress=seen.append) == []
        assert sum(seen) == store.count_rows() == N + 1 + 1 + 1 + 2


TABLE = [
    ("UPDATE replies SET reply = substr(reply, 1, 9) WHERE id = 2", f"replies {KEYS[1]}: cannot be unpacked"),
    ("UPDATE replies SET reply = x'09' WHERE id = 2", f"replies {KEYS[1]}: packed in a way this ragauge does not know"),
    (
        "UPDATE replies SET request = (SELECT request FROM replies WHERE id = 1) WHERE id = 2",
        f"replies {KEYS[1]}: its request is not the one its key was made of",
    ),
    ("UPDATE replies SET source_id = 7 WHERE id = 2", f"replies {KEYS[1]}: its source 7 is not there"),
    ("UPDATE replies SET created_at = 'noon' WHERE id = 2", f"replies {KEYS[1]}: its time cannot be read ('noon')"),
    ("DELETE FROM replies WHERE id = 1", f"later_replies {KEYS[0]}: there is no first reply to its request"),
    ("UPDATE failures SET created_at = ''", "failures 1: its time cannot be read ('')"),
    ("UPDATE judgements SET label = 9e999", "judgements 1: its label is inf"),
    ("UPDATE judgements SET label = NULL", "judgements 1: it has neither a label nor a reason"),
    ("UPDATE judgements SET judge_id = 7", "judgements 1: its judge 7 is not there"),
    ("DELETE FROM replies WHERE id = 1", f"judgements 1: the reply {KEYS[0]} that it was read from is not there"),
    ("UPDATE vectors SET vector = x'00' WHERE dimension = 3 AND rowid = 1", "it has 1 bytes, a vector of dimension 3"),
    ("UPDATE vectors SET vector = x'0000c07f0000c07f0000c07f' WHERE rowid = 1", "it is not finite"),
    ("UPDATE vectors SET vector = x'00000000', dimension = 1 WHERE rowid = 2", "its dimension is"),
    ("UPDATE sources SET model = 'n'", f"replies {KEYS[1]}: its source is not the model, endpoint and prompt"),
]


@pytest.mark.parametrize(("statement", "message"), TABLE, ids=[message[-40:] for _, message in TABLE])
def test_what_was_changed_is_found(tmp_path: Path, statement: str, message: str) -> None:
    path = tmp_path / "a.db"
    fill(path)
    change(path, statement)
    assert any(message in damage for damage in damage_of(path)), damage_of(path)


def test_a_damaged_reply_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    fill(path)
    change(path, "UPDATE replies SET reply = x'01' WHERE id = 2")
    with Store.open(path) as store:
        assert store.replies([KEYS[0]])
        with pytest.raises(
            StoreError, match=r"the reply r1:.* is damaged: it cannot be unpacked .* ragauge store merge"
        ):
            store.replies(KEYS)


def test_overwritten_pages_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store.open(path) as store:
        for n in range(300):
            store.put_failure(f"r1:{n}", "timeout", "x" * 500)
    content = bytearray(path.read_bytes())
    content[60_000:90_000] = b"\x55" * 30_000
    path.write_bytes(content)
    with Store.open(path) as store:
        found = store.verify()
    assert {damage.table for damage in found} >= {"file"}
    assert all(isinstance(damage, Damage) for damage in found)


def test_what_stands_outside_of_damaged_pages_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    requests = [{"model": "m", "n": n} for n in range(600)]
    with Store.open(path) as store:
        store.put_replies(
            [FinishedCall(request_key(one), one, {"text": f"{one['n']} " * 50}, latency_s=0.1) for one in requests]
        )
    page = page_of_row(path, 300)
    content = bytearray(path.read_bytes())
    content[page * PAGE_SIZE_BYTES : (page + 1) * PAGE_SIZE_BYTES] = b"\x55" * PAGE_SIZE_BYTES
    path.write_bytes(content)
    with Store.open(path) as damaged, Store.open(tmp_path / "new.db") as new:
        merged = new.merge(damaged)
        saved = new.replies([request_key(one) for one in requests])
        assert new.verify() == []
    lost = [n for n, one in enumerate(requests) if request_key(one) not in saved]
    assert 299 in lost and lost == list(range(lost[0], lost[-1] + 1))  # what stood on one page
    assert len(lost) < 100
    assert merged.replies == 600 - len(lost)
    assert f"rows {lost[0] + 1} to {lost[-1] + 1}" in {damage.row for damage in merged.damaged}


def page_of_row(path: Path, row: int) -> int:
    """The page that holds the reply of a row, counted from 0."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (reply,) = connection.execute("SELECT reply FROM replies WHERE id = ?", (row,)).fetchone()
    return path.read_bytes().index(reply) // PAGE_SIZE_BYTES
