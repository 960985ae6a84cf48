"""Answers and grades: what is read from the reply, and what is said when nothing can be."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from ragauge.llm import AnswerTask, GradeTask, Model, answer_all, grade_all
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply

ModelAt = Callable[[ScriptedModel], Model]

TASK = GradeTask("why?", "because of a and b", "because of a")


def graded(reply: Any, model_at: ModelAt, store: Store, task: GradeTask = TASK) -> Any:
    with ScriptedModel(lambda request: reply) as server:
        return grade_all([task], model=model_at(server), store=store)[0]


def logs(probabilities: dict[str, float]) -> dict[str, float]:
    return {token: math.log(p) for token, p in probabilities.items()}


def test_grade_is_the_likeliest_digit_and_expected_the_mean(model_at: ModelAt, store: Store) -> None:
    # 2 has .3 + .2 = .5, 4 has .3; among the digits .5/.8 and .3/.8: 2 * .625 + 4 * .375 = 2.75
    reply = ScriptedReply("2", top_logprobs=logs({"2": 0.3, " 2": 0.2, "4": 0.3, "The": 0.2}), finish_reason="length")
    outcome = graded(reply, model_at, store)
    assert outcome.value == 2.0
    assert outcome.expected == pytest.approx(2.75, abs=1e-12)
    assert outcome.reason is None


def test_of_two_equally_likely_grades_the_lower_counts(model_at: ModelAt, store: Store) -> None:
    assert graded(ScriptedReply("4", top_logprobs=logs({"4": 0.5, "3": 0.5})), model_at, store).value == 3.0


@pytest.mark.parametrize(("text", "grade"), [("4", 4.0), (" 5.", 5.0), ('{"verdict": "1"}', 1.0), ("3: half", 3.0)])
def test_without_probabilities_the_digit_is_the_grade(text: str, grade: float, model_at: ModelAt, store: Store) -> None:
    outcome = graded(text, model_at, store)
    assert (outcome.value, outcome.expected) == (grade, grade)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ScriptedReply("It is quite good"), "no_verdict"),
        (ScriptedReply("7"), "no_verdict"),
        (ScriptedReply("45"), "no_verdict"),
        (ScriptedReply("The", finish_reason="length"), "cut_off"),
        (ScriptedReply(""), "empty"),
        (ScriptedReply("overloaded", status=503), "http_503"),
    ],
)
def test_what_is_no_grade_is_none_with_reason_and_raw(reply: Any, reason: str, model_at: ModelAt, store: Store) -> None:
    outcome = graded(reply, model_at, store)
    assert (outcome.value, outcome.reason) == (None, reason)
    assert reply.text in outcome.raw


def test_an_empty_answer_is_not_graded(model_at: ModelAt, store: Store) -> None:
    assert graded("5", model_at, store, GradeTask("why?", "because", " ")).reason == "no_text"


def test_equal_grade_tasks_are_asked_once(model_at: ModelAt, store: Store) -> None:
    done: list[int] = []
    with ScriptedModel(lambda request: "4") as server:
        outcomes = grade_all([TASK] * 3, model=model_at(server), store=store, on_progress=done.append)
        assert len(server.requests) == 1
    assert [outcome.from_store for outcome in outcomes] == [False, True, True]
    assert sum(done) == 3


def test_answer_is_the_text_with_its_tokens(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(lambda request: " It is blue. ") as server:
        outcome = answer_all([AnswerTask("which?", ("a", "b"))], model=model_at(server), store=store)[0]
    assert (outcome.value, outcome.reason) == ("It is blue.", None)
    assert outcome.completion_tokens == 3


def test_a_cut_off_answer_keeps_its_text_and_says_so(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(lambda request: ScriptedReply("It is", finish_reason="length")) as server:
        outcome = answer_all([AnswerTask("which?", ("a",))], model=model_at(server), store=store)[0]
    assert (outcome.value, outcome.reason) == ("It is", "cut_off")


def test_a_task_without_documents_is_not_asked(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server:
        outcomes = answer_all([AnswerTask("which?", ())], model=model_at(server), store=store)
        assert not server.requests
    assert (outcomes[0].value, outcomes[0].reason) == (None, "no_text")


def test_answers_keep_the_order_of_their_tasks(model_at: ModelAt, store: Store) -> None:
    def reply(request: dict[str, Any]) -> str:
        return str(request["messages"][-1]["content"].count("<doc "))

    tasks = [AnswerTask("which?", ("x",) * n) for n in (3, 1, 2, 3)]
    with ScriptedModel(reply) as server:
        outcomes = answer_all(tasks, model=model_at(server), store=store)
        assert len(server.requests) == 3
    assert [outcome.value for outcome in outcomes] == ["3", "1", "2", "3"]
