"""Judgements: people's and models' side by side, the last word of each in force, the earlier ones kept."""

import math

import pyarrow as pa
import pytest

from ragauge.errors import InputError, SchemaError
from ragauge.schema import JUDGEMENTS, LABELS
from ragauge.store import FinishedCall, Store, request_key


def labels(*rows: tuple[str, str, float | None, str | None, str | None]) -> pa.Table:
    """Rows of (query id, document id, label, reason, judge)."""
    return pa.Table.from_pylist([dict(zip(LABELS.names, row, strict=True)) for row in rows], schema=LABELS)


def plain(table: pa.Table, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in table.to_pylist()]


def test_labels_come_back_as_they_went_in(store: Store) -> None:
    table = labels(("q1", "d1", 2.0, "names the price", "anna"), ("q1", "d2", None, "unreadable", "anna"))
    assert store.put_labels(table, kind="human", rubric="guide/1") == 2
    found = store.labels()
    assert found.schema == LABELS
    assert found.to_pylist() == table.to_pylist()


def test_people_and_models_stand_side_by_side(store: Store) -> None:
    store.put_labels(labels(("q", "d", 1.0, None, "anna")), kind="human")
    store.put_labels(labels(("q", "d", 0.3, None, "m label/1")), kind="model", rubric="label/1")
    assert plain(store.labels(), "judge", "label") == [("anna", 1.0), ("m label/1", 0.3)]
    assert plain(store.labels(kind="human"), "judge") == [("anna",)]
    assert plain(store.labels(judge="m label/1"), "label") == [(0.3,)]
    assert plain(store.labels(rubric="label/1"), "label") == [(0.3,)]


def test_a_later_judgement_supersedes_and_the_earlier_one_is_kept(store: Store) -> None:
    for label in (1.0, 0.0):
        store.put_labels(labels(("q", "d", label, None, "anna")), kind="human")
    assert plain(store.labels(), "label") == [(0.0,)]
    first, second = store.judgements().to_pylist()
    assert (first["label"], second["label"]) == (1.0, 0.0)
    assert (first["superseded_by"], first["superseded_at"]) == (second["id"], second["created_at"])
    assert (second["superseded_by"], second["superseded_at"]) == (None, None)
    assert store.judgements().schema == JUDGEMENTS


def test_a_judgement_can_be_withdrawn(store: Store) -> None:
    store.put_labels(labels(("q", "d", 1.0, None, "anna")), kind="human")
    store.put_labels(labels(("q", "d", None, "withdrawn", "anna")), kind="human")
    assert plain(store.labels(), "label", "reason") == [(None, "withdrawn")]


def test_another_judge_rubric_or_task_supersedes_nothing(store: Store) -> None:
    table = labels(("q", "d", 1.0, None, None))
    for judge, rubric, task in [("anna", "1", "label"), ("ben", "1", "label"), ("anna", "2", "label")]:
        store.put_labels(table, kind="human", judge=judge, rubric=rubric, task=task)
    store.put_labels(table, kind="human", judge="anna", rubric="1", task="grade")
    assert store.labels().num_rows == 3
    assert store.labels(task="grade").num_rows == 1
    assert store.judgements(history="in_force").num_rows == 4


def test_one_file_put_in_twice_adds_nothing(store: Store) -> None:
    table = labels(*((f"q{q}", f"d{d}", float(d), None, "anna") for q in range(30) for d in range(40)))
    assert store.put_labels(table, kind="human") == 1200
    assert store.put_labels(table, kind="human") == 0
    assert store.labels().num_rows == 1200


def test_of_two_rows_of_a_pair_in_one_table_the_last_is_in_force(store: Store) -> None:
    table = labels(("q", "d", 1.0, None, "anna"), ("q", "d", 2.0, None, "anna"))
    assert store.put_labels(table, kind="human") == 2
    assert plain(store.labels(), "label") == [(2.0,)]


def test_a_row_without_label_and_reason_is_no_judgement(store: Store) -> None:
    assert store.put_labels(labels(("q", "d", None, None, None)), kind="human") == 0


def test_labels_can_be_asked_for_by_query(store: Store) -> None:
    store.put_labels(labels(*((f"q{q}", "d", 1.0, None, "anna") for q in range(1100))), kind="human")
    wanted = [f"q{q}" for q in range(100, 800)]
    assert sorted(store.labels(query_ids=[*wanted, "unknown", "q100"]).column("query_id").to_pylist()) == sorted(wanted)
    assert store.labels(query_ids=[]).num_rows == 0


def test_a_models_judgement_names_the_reply_it_was_read_from(store: Store) -> None:
    request = {"model": "m"}
    key = request_key(request)
    store.put_replies([FinishedCall(key, request=request, reply={}, latency_s=0.1)])
    table = labels(("q", "d", 0.3, None, "m"), ("q", "e", 0.4, None, "m"))
    store.put_labels(table, kind="model", reply_keys=[key, None])
    assert plain(store.judgements(), "doc_id", "reply_key") == [("d", key), ("e", None)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("q", "d", 1.0, None, None), "document 'd' of query 'q': nobody is named as its judge"),
        (("q", "d", math.nan, None, "anna"), "a label must be a finite number, got nan"),
        (("q", "d\0", 1.0, None, "anna"), "must not hold the character NUL"),
    ],
)
def test_what_is_no_judgement_is_refused_and_nothing_is_stored(
    store: Store, row: tuple[str, str, float | None, str | None, str | None], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        store.put_labels(labels(("q", "other", 1.0, None, "anna"), row), kind="human")
    assert store.labels().num_rows == 0


def test_each_row_needs_one_reply_key(store: Store) -> None:
    with pytest.raises(InputError, match="reply_keys must be one a row, got 2 for 1 labels"):
        store.put_labels(labels(("q", "d", 1.0, None, "m")), kind="model", reply_keys=[None, None])


def test_a_table_of_something_else_is_refused(store: Store) -> None:
    with pytest.raises(SchemaError, match="no column 'query_id' in labels"):
        store.put_labels(pa.table({"a": [1]}), kind="human")


def test_stats_count_by_judge(store: Store) -> None:
    store.put_labels(labels(("q", "d", 1.0, None, "anna"), ("q", "e", None, "unreadable", "anna")), kind="human")
    store.put_labels(labels(("q", "d", 0.0, None, "anna")), kind="human")
    (count,) = store.stats().judges
    assert (count.judge, count.kind, count.task, count.rubric) == ("anna", "human", "label", "")
    assert (count.judgements, count.without_label) == (3, 1)
    assert count.first_at <= count.last_at
