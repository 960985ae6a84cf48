"""An answer graded several times: each grade a reply of its own, and two spreads that are kept apart."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ragauge.errors import InputError
from ragauge.llm import GradeTask, Model, ask_all, grade_all, grade_repeatedly
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Budget

ModelAt = Callable[[ScriptedModel], Model]

TASKS = [GradeTask("why?", "because of a and b", answer) for answer in ("because of a", "because of c")]


def by_seed(request: dict[str, Any]) -> str:
    """3 without a seed, else 3 more or less."""
    return {None: "3", 1: "5", 2: "4"}[request.get("seed")]


def test_each_repeat_is_asked_with_a_seed_of_its_own(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_seed) as server:
        found = grade_repeatedly(TASKS, repeats=3, model=model_at(server), store=store)
        seeds = [request.body.get("seed") for request in server.requests]
    assert seeds == [None, None, 1, 1, 2, 2]  # all answers once before any of them again
    assert [one.grades for one in found] == [(3.0, 5.0, 4.0)] * 2


def test_the_grade_is_the_mean_and_its_spread_the_standard_deviation(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_seed) as server:
        found = grade_repeatedly(TASKS, repeats=3, model=model_at(server), store=store)[0]
    assert found.grade == 4.0
    assert found.repeat_sd == pytest.approx(1.0)  # sqrt((1 + 1 + 0) / 2)
    assert found.expected_sd is None  # without log-probabilities a single reply tells no spread


def test_more_repeats_ask_only_what_is_new_and_count_no_reply_twice(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(by_seed) as server:
        grade_all(TASKS, model=model_at(server), store=store)
        grade_repeatedly(TASKS, repeats=2, model=model_at(server), store=store)
        assert len(server.requests) == 4
        found = grade_repeatedly(TASKS, repeats=3, model=model_at(server), store=store)
        assert len(server.requests) == 6
    assert [outcome.from_store for outcome in found[0].outcomes] == [True, True, False]


def test_spread_under_the_probabilities_needs_one_reply(model_at: ModelAt, store: Store) -> None:
    # among the digits 2: .5, 4: .25, 5: .25; mean 3.25, variance .5 * 1.5625 + .25 * .5625 + .25 * 3.0625 = 1.6875
    logs = {token: math.log(p) for token, p in {"2": 0.4, "4": 0.2, "5": 0.2, "so": 0.2}.items()}
    with ScriptedModel(lambda request: ScriptedReply("2", top_logprobs=logs)) as server:
        once = grade_repeatedly(TASKS, repeats=1, model=model_at(server), store=store)[0]
        thrice = grade_repeatedly(TASKS, repeats=3, model=model_at(server), store=store)[0]
    assert once.expected == pytest.approx(3.25)
    assert once.expected_sd == pytest.approx(math.sqrt(1.6875))
    assert once.repeat_sd is None
    # the grade is read from the probabilities, so asking again tells nothing new
    assert (thrice.repeat_sd, thrice.grades) == (0.0, (2.0, 2.0, 2.0))
    assert thrice.expected_sd == pytest.approx(once.expected_sd)


def test_a_repeat_that_failed_is_left_out_and_said(model_at: ModelAt, store: Store) -> None:
    ask = partial(ask_all, budget=Budget(max_calls=3))
    with ScriptedModel(by_seed) as server:
        found = grade_repeatedly(TASKS, repeats=2, model=model_at(server), store=store, ask=ask)
    assert [(one.grades, one.reason) for one in found] == [((3.0, 5.0), None), ((3.0, None), "budget")]
    assert (found[1].grade, found[1].repeat_sd) == (3.0, None)


def test_seeds_count_from_the_models_own(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(lambda request: "4") as server:
        model = Model("judge", model_at(server).endpoint, parameters={"seed": 40, "temperature": 1})
        grade_repeatedly(TASKS[:1], repeats=3, model=model, store=store)
        bodies = [request.body for request in server.requests]
    assert [(body["seed"], body["temperature"]) for body in bodies] == [(40, 1), (41, 1), (42, 1)]


def test_progress_counts_every_grading(model_at: ModelAt, store: Store) -> None:
    done: list[int] = []
    tasks = [*TASKS, GradeTask("why?", "because", "")]
    with ScriptedModel(by_seed) as server:
        grade_repeatedly(tasks, repeats=2, model=model_at(server), store=store, on_progress=done.append)
    assert sum(done) == 6


def test_no_repeats_are_refused(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server, pytest.raises(InputError, match="repeats must be a positive number, got 0"):
        grade_repeatedly(TASKS, repeats=0, model=model_at(server), store=store)
