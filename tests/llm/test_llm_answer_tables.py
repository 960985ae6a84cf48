"""Tables of answers: grades that the store keeps as judgements, and systems compared two by two."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.llm import Model, Survey, answer_pairs, ask_all, compare_answers, grade_answers
from ragauge.schema import ANSWERS
from ragauge.store import Store
from ragauge.testing import ScriptedModel
from ragauge.wire import Budget

ModelAt = Callable[[ScriptedModel], Model]


def answers(*rows: tuple[str, str, str]) -> pa.Table:
    """(query, system, answer); the id of an answer is its text."""
    records = [
        {"query_id": q, "query": f"{q}?", "ideal": f"ideal {q}", "answer_id": a or "none", "system": s, "answer": a}
        for q, s, a in rows
    ]
    return pa.Table.from_pylist(records, schema=ANSWERS)


TABLE = answers(("q1", "x", "good 1"), ("q2", "x", "bad 2"), ("q1", "y", "bad 1"), ("q2", "y", "bad 3"))


def by_words(request: dict[str, Any]) -> str:
    """5 for a good answer, else 2; of two the good one, else the first."""
    asked = request["messages"][-1]["content"]
    if "<answer A>" not in asked:
        return "5" if "<answer>good" in asked else "2"
    return "B" if "<answer B>good" in asked else "A"


def test_answers_to_one_query_stand_together_with_their_grades(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_words) as server:
        found = grade_answers(TABLE, model=model_at(server), store=store)
    rows = [(row["query_id"], row["system"], row["grade"], row["grades"]) for row in found.to_pylist()]
    assert rows == [("q1", "x", 5, [5]), ("q1", "y", 2, [2]), ("q2", "x", 2, [2]), ("q2", "y", 2, [2])]


def test_grades_are_kept_as_judgements_of_answers(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_words) as server:
        grade_answers(TABLE, model=model_at(server), store=store)
        grade_answers(TABLE, model=model_at(server), store=store, repeats=2)
    once, twice = (store.labels(task="grade", rubric=rubric).to_pylist() for rubric in ("grade/1", "grade/1 x2"))
    assert [(row["query_id"], row["doc_id"], row["label"]) for row in once][:2] == [
        ("q1", "bad 1", 2),
        ("q1", "good 1", 5),
    ]
    assert {row["judge"] for row in once} == {"judge grade/1"}
    assert {row["judge"] for row in twice} == {"judge grade/1 x2"}
    assert store.labels(task="label").num_rows == 0
    kept = store.judgements(rubric="grade/1").column("reply_key").to_pylist()
    assert len(store.replies(kept)) == 4  # each grade names the reply it was read from; a mean of two names none
    assert set(store.judgements(rubric="grade/1 x2").column("reply_key").to_pylist()) == {None}


def test_what_was_not_asked_is_no_judgement(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_words) as server:
        survey = Survey()
        planned = grade_answers(TABLE, model=model_at(server), store=store, repeats=3, ask=survey)
        assert survey.plan(model_at(server), store).calls == 12
        assert not server.requests
        assert store.labels(task="grade").num_rows == 0
        capped = partial(ask_all, budget=Budget(max_calls=3))
        grade_answers(TABLE, model=model_at(server), store=store, ask=capped)
        once_more = partial(ask_all, budget=Budget(max_calls=2))
        grade_answers(TABLE, model=model_at(server), store=store, repeats=2, ask=once_more)
    assert set(planned.column("reason").to_pylist()) == {"not_asked"}
    assert store.labels(rubric="grade/1", task="grade").num_rows == 3
    assert store.labels(rubric="grade/1 x2", task="grade").num_rows == 1  # one call for the fourth, one for a repeat


def test_an_empty_answer_has_no_grade_and_the_reason(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_words) as server:
        found = grade_answers(answers(("q", "x", "")), model=model_at(server), store=store, repeats=2)
        assert not server.requests
    row = found.to_pylist()[0]
    assert (row["grade"], row["grades"], row["reason"]) == (None, [None, None], "no_text")


def test_systems_are_compared_on_the_queries_both_answered(model_at: ModelAt, store: Store) -> None:
    table = pa.concat_tables([TABLE, answers(("q3", "x", "good 3"), ("q2", "z", "good 2"))])
    with ScriptedModel(by_words) as server:
        found = compare_answers(table, model=model_at(server), store=store)
    rows = [
        (row["query_id"], row["first"], row["second"], row["verdict"], row["by_order"]) for row in found.to_pylist()
    ]
    assert rows == [
        ("q1", "x", "y", "first", False),
        ("q2", "x", "y", "tie", True),  # both bad: whatever stands in front
        ("q2", "x", "z", "second", False),
        ("q2", "y", "z", "second", False),
    ]


BAD = [
    (answers(("q1", "x", "a"), ("q2", "y", "b")), "no query has answers of two systems; found: x, y"),
    (answers(("q1", "x", "a"), ("q1", "x", "b")), "query 'q1': system 'x' has two answers"),
    (
        pa.concat_tables(
            [answers(("q1", "x", "a")), answers(("q1", "y", "b")).set_column(2, ANSWERS.field(2), [["another"]])]
        ),
        "query 'q1' has two ideal answers",
    ),
]


@pytest.mark.parametrize(("table", "message"), BAD)
def test_what_cannot_be_compared_is_refused(table: pa.Table, message: str) -> None:
    with pytest.raises(InputError, match=message):
        answer_pairs(table)
