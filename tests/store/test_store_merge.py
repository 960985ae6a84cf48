"""One store into another: nothing twice, nothing overwritten, nothing damaged taken over."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ragauge.schema import LABELS
from ragauge.store import FinishedCall, Store, request_key


@pytest.fixture
def other() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def put(store: Store, n: int, answer: str) -> str:
    request = {"model": f"m{n % 2}", "prompt_id": "label/1", "n": n}
    key = request_key(request)
    store.put_replies([FinishedCall(key, request=request, reply={"text": answer}, latency_s=0.1, prompt_tokens=n)])
    return key


def put_label(store: Store, label: float, judge: str = "anna", doc_id: str = "d") -> None:
    rows = [{"query_id": "q", "doc_id": doc_id, "label": label, "reason": None, "judge": judge}]
    store.put_labels(pa.Table.from_pylist(rows, schema=LABELS), kind="human", rubric="guide/1")


def test_merge_brings_everything_and_a_second_one_nothing(store: Store, other: Store) -> None:
    keys = [put(other, n, "a") for n in range(1100)]
    other.put_failure(keys[0], "timeout", "")
    put_label(other, 1.0)
    put_label(other, 0.0)
    other.put_vectors("e", ["t"], np.ones((1, 3)))
    merged = store.merge(other)
    assert (merged.replies, merged.later_replies, merged.failures) == (1100, 0, 1)
    assert (merged.judgements, merged.vectors, merged.damaged) == (2, 1, ())
    assert store.replies(keys) == other.replies(keys)
    assert store.judgements().drop_columns(["id", "superseded_by"]) == other.judgements().drop_columns(
        ["id", "superseded_by"]
    )
    assert store.usage() == other.usage()
    again = store.merge(other)
    assert (again.replies, again.later_replies, again.failures, again.judgements, again.vectors) == (0, 0, 0, 0, 0)


def test_an_answer_that_differs_is_kept_beside_the_one_in_use(store: Store, other: Store) -> None:
    key = put(store, 1, "ours")
    put(other, 1, "theirs")
    for expected in (1, 0):
        merged = store.merge(other)
        assert (merged.replies, merged.later_replies) == (0, expected)
    assert store.replies([key])[key].reply == {"text": "ours"}
    assert store.stats().later_replies == 1
    assert store.usage()[0].calls == 2


def test_of_two_stores_judgements_the_later_one_is_in_force(store: Store, other: Store) -> None:
    put_label(other, 0.0)
    put_label(store, 1.0)
    put_label(store, 2.0, doc_id="e")
    put_label(other, 3.0, doc_id="e")
    store.merge(other)
    in_force = {row["doc_id"]: row["label"] for row in store.labels().to_pylist()}
    newest = max(store.judgements().to_pylist(), key=lambda row: (row["created_at"], row["id"]))
    assert in_force[newest["doc_id"]] == newest["label"]
    assert store.judgements().num_rows == 4


def test_two_stores_merged_both_ways_are_in_force_alike(store: Store, other: Store) -> None:
    put_label(store, 1.0, "anna")
    put_label(other, 0.0, "ben")
    put_label(other, 1.0, "anna", "e")
    store.merge(other)
    other.merge(store)
    assert store.labels() == other.labels()


def test_a_damaged_store_gives_what_is_sound(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    with Store.open(path) as filled:
        keys = [put(filled, n, "a") for n in range(4)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET reply = x'01' WHERE id = 2")
    with Store.open(path) as damaged:
        merged = store.merge(damaged)
    assert merged.replies == 3
    assert [damage.row for damage in merged.damaged] == [keys[1]]
    assert store.replies(keys).keys() == {keys[0], keys[2], keys[3]}
    assert store.verify() == []
