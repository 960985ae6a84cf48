"""One ranking judged inside a deadline: what is in time, what is late, what is certain, and what is kept."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ragauge.errors import InputError, StoreError
from ragauge.llm import Judge, LiveAssessment, LiveJudge, Model
from ragauge.measures import Measure
from ragauge.stats import RelevanceModel, fit_relevance, rank_features
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Endpoint

AT_ONCE = 32  # more calls in flight than any ranking here has documents
LONG_S = 60.0  # a deadline that no test waits for


class Endpoints:
    """Scripts: "yes" for documents that hold "good", and a gate before those that hold "slow"."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = threading.Semaphore(0)

    def __call__(self, request: dict[str, Any]) -> ScriptedReply | str:
        text = str(request["messages"][-1]["content"])
        self.asked.release()
        if "slow" in text:
            self.gate.wait(LONG_S)
        if "broken" in text:
            return ScriptedReply("no such model", status=404)
        return "yes" if "good" in text else "no"


@pytest.fixture
def script() -> Iterator[Endpoints]:
    made = Endpoints()
    yield made
    made.gate.set()


@pytest.fixture
def server(script: Endpoints) -> Iterator[ScriptedModel]:
    with ScriptedModel(script) as opened:
        yield opened
        script.gate.set()


def model(server: ScriptedModel, *, concurrency: int = AT_ONCE) -> Model:
    endpoint = Endpoint(server.base_url, max_retries=0, backoff_s=0.0, timeout_s=LONG_S, concurrency=concurrency)
    return Model("judge", endpoint)


def values(found: LiveAssessment) -> dict[str, tuple[float, float]]:
    return {value.measure: (value.low, value.high) for value in found.values}


def test_everything_in_time_gives_labels_and_exact_values(server: ScriptedModel, store: Store) -> None:
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now("q", ["good a", "bad b", "good c", "bad d"], deadline_s=LONG_S)
    assert [label.label for label in found.labels] == [1, 0, 1, 0]
    assert {label.status for label in found.labels} == {"labelled"}
    assert found.stop == "complete"
    assert values(found) == {"T(rel=0.5)@4": (0.0, 0.0), "P(rel=0.5)@4": (0.5, 0.5)}  # T: (2 - 2) / 2 / 4
    assert [value.expected for value in found.values] == [0.0, 0.5]
    assert str(found).startswith("T(rel=0.5)@4 = 0.000; P(rel=0.5)@4 = 0.500 (4/4 labelled, complete, ")


def test_what_the_store_knows_is_there_at_once_and_not_asked_again(server: ScriptedModel, store: Store) -> None:
    with LiveJudge(model(server), store) as judge:
        first = judge.assess_now("q", ["good a", "bad b"], deadline_s=LONG_S)
        again = judge.assess_now("q", ["bad b", "good a", "good c"], deadline_s=LONG_S)
    assert len(server.requests) == 3
    assert [label.status for label in first.labels] == ["labelled", "labelled"]
    assert [(label.label, label.status) for label in again.labels] == [(0, "known"), (1, "known"), (1, "labelled")]


def test_late_documents_become_the_width_of_the_bounds_and_are_stored(
    server: ScriptedModel, script: Endpoints, store: Store
) -> None:
    documents = ["good a", "bad b", "slow good c", "good d"]
    with LiveJudge(model(server), store) as judge:
        judge.assess_now("q", ["good a", "bad b", "good d"], deadline_s=LONG_S)
        found = judge.assess_now("q", documents, deadline_s=0.3)
        script.gate.set()
    assert found.stop == "deadline"
    assert [label.status for label in found.labels] == ["known", "known", "late", "known"]
    assert values(found) == {"T(rel=0.5)@4": (0.0, 0.25), "P(rel=0.5)@4": (0.5, 0.75)}
    assert np.isnan(found.values[0].expected)
    assert found.elapsed_s >= 0.3
    with LiveJudge(model(server), store) as judge:
        later = judge.assess_now("q", documents, deadline_s=LONG_S)
    assert [label.status for label in later.labels] == ["known"] * 4
    assert len(server.requests) == 4


def test_it_stops_when_the_measure_is_certain_enough(server: ScriptedModel, script: Endpoints, store: Store) -> None:
    documents = [*(f"good {i}" for i in range(5)), *(f"bad {i}" for i in range(3)), "slow x", "slow y"]
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now("q", documents, deadline_s=LONG_S, within=0.1, measures=[Measure.of("P", 10, rel=0.5)])
        assert found.stop == "enough"
        assert values(found) == {"P(rel=0.5)@10": (0.5, 0.7)}  # 8 of 10 labelled, 5 positive
        assert [label.status for label in found.labels[8:]] == ["late", "late"]
        script.gate.set()


def test_calls_that_have_not_begun_are_not_made(server: ScriptedModel, store: Store) -> None:
    with LiveJudge(model(server, concurrency=1), store) as judge:
        found = judge.assess_now("q", ["good a", "bad b", "good c", "good d"], deadline_s=LONG_S, within=0.25)
    assert [label.status for label in found.labels] == ["labelled", "labelled", "not asked", "not asked"]
    assert len(server.requests) == 2  # 4 (1 - 2 / 4)


@pytest.mark.parametrize(("within", "n_asked"), [(0.0, 10), (0.05, 9), (0.1, 8), (0.2, 6)])
def test_few_calls_makes_no_more_of_them_than_may_be_enough(
    server: ScriptedModel, store: Store, within: float, n_asked: int
) -> None:
    documents = [*(f"good {i}" for i in range(5)), *(f"bad {i}" for i in range(5))]
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now("q", documents, deadline_s=LONG_S, within=within, prefer="few calls")
    assert len(server.requests) == found.n_labelled == n_asked
    assert found.values[0].half_width == pytest.approx(within)


def test_few_calls_makes_another_for_one_that_brought_no_label(server: ScriptedModel, store: Store) -> None:
    documents = [*(f"good {i}" for i in range(4)), "broken x", *(f"bad {i}" for i in range(5))]
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now("q", documents, deadline_s=LONG_S, within=0.1, prefer="few calls")
    assert (len(server.requests), found.n_labelled, found.stop) == (9, 8, "enough")


def test_few_calls_knows_that_the_first_ranks_count_most(server: ScriptedModel, store: Store) -> None:
    rbp = Measure.of("RBP", 10, p=0.5, rel=0.5)
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now(
            "q", [f"bad {i}" for i in range(10)], deadline_s=LONG_S, within=0.05, measures=[rbp], prefer="few calls"
        )
    assert [label.label for label in found.labels] == [0, 0, 0, 0, *[None] * 6]  # 2^-4 - 2^-10 = .0615, half of it .03


@pytest.mark.parametrize(("n", "n_asked"), [(19, 19), (20, 16)])
def test_twenty_documents_and_more_are_known_to_a_tenth_by_default(
    server: ScriptedModel, store: Store, n: int, n_asked: int
) -> None:
    with LiveJudge(model(server, concurrency=1), store) as judge:
        judge.assess_now("q", [f"bad {i}" for i in range(n)], deadline_s=LONG_S)
    assert len(server.requests) == n_asked


def test_documents_without_a_label_say_why(server: ScriptedModel, store: Store) -> None:
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now("q", ["good a", "", "broken c", {"text": "good a"}], deadline_s=LONG_S)
    assert [(label.label, label.status) for label in found.labels] == [
        (1, "labelled"),
        (None, "unlabelled"),
        (None, "unlabelled"),
        (1, "labelled"),
    ]
    assert found.labels[1].reason == "no_text"
    assert found.labels[2].reason is not None
    assert found.stop == "complete"
    assert values(found)["P(rel=0.5)@4"] == (0.5, 1.0)
    assert len(server.requests) == 2  # equal texts are asked about once


def test_it_is_awaited_on_a_running_loop_many_at_once(server: ScriptedModel, store: Store) -> None:
    async def many(judge: LiveJudge) -> list[LiveAssessment]:
        return await asyncio.gather(*(judge.assess(f"q{i}", ["good a", "bad b"], deadline_s=LONG_S) for i in range(10)))

    with LiveJudge(model(server), store) as judge:
        found = asyncio.run(many(judge))
    assert [[label.label for label in one.labels] for one in found] == [[1, 0]] * 10


def test_it_is_awaited_on_uvloop(server: ScriptedModel, store: Store) -> None:
    uvloop = pytest.importorskip("uvloop")
    with LiveJudge(model(server), store) as judge, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(judge.assess("q", ["good a", "bad b"], deadline_s=LONG_S))
    assert found.n_labelled == 2


def test_it_is_called_where_a_loop_is_running(server: ScriptedModel, store: Store) -> None:
    async def notebook_cell(judge: LiveJudge) -> LiveAssessment:
        return judge.assess_now("q", ["good a", "bad b"], deadline_s=LONG_S)

    with LiveJudge(model(server), store) as judge:
        assert asyncio.run(notebook_cell(judge)).n_labelled == 2


def test_who_stops_waiting_leaves_what_was_sent_to_be_stored(
    server: ScriptedModel, script: Endpoints, store: Store
) -> None:
    async def impatient(judge: LiveJudge) -> None:
        waiting = asyncio.create_task(judge.assess("q", ["slow good a", "good b"], deadline_s=LONG_S))
        await asyncio.to_thread(script.asked.acquire)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        script.gate.set()

    with LiveJudge(model(server, concurrency=1), store) as judge:
        asyncio.run(impatient(judge))
    assert len(server.requests) == 1
    with LiveJudge(model(server), store) as judge:
        found = judge.assess_now("q", ["slow good a"], deadline_s=LONG_S)
    assert found.labels[0].status == "known"


def test_an_endpoint_that_was_given_up_is_tried_again_by_the_next_ranking(store: Store) -> None:
    well = threading.Event()

    def reply(request: dict[str, Any]) -> ScriptedReply | str:
        return "yes" if well.is_set() else ScriptedReply("overloaded", status=500)

    with ScriptedModel(reply) as server, LiveJudge(model(server, concurrency=1), store) as judge:
        ill = judge.assess_now("q", [f"d{i}" for i in range(8)], deadline_s=LONG_S)
        well.set()
        found = judge.assess_now("q", [f"d{i}" for i in range(8)], deadline_s=LONG_S)
    assert ill.n_labelled == 0
    assert {label.status for label in ill.labels} == {"unlabelled"}
    assert found.n_labelled == 8


def test_a_batched_judge_asks_once_for_several(store: Store) -> None:
    def reply(request: dict[str, Any]) -> str:
        text = str(request["messages"][-1]["content"])
        documents = [part for part in text.split("<doc ") if "</doc>" in part]
        return '{"verdicts": [' + ", ".join('"yes"' if "good" in part else '"no"' for part in documents) + "]}"

    with ScriptedModel(reply) as server, LiveJudge(model(server), store, judge=Judge(batch_size=2)) as judge:
        found = judge.assess_now("q", ["good a", "bad b", "bad c"], deadline_s=LONG_S)
        again = judge.assess_now("q", ["good a", "bad b", "bad c"], deadline_s=LONG_S)
    assert [label.label for label in found.labels] == [1, 0, 0]
    assert {label.status for label in again.labels} == {"known"}
    assert len(server.requests) == 2


def separating(*, n_queries: int) -> RelevanceModel:
    """High scores are relevant, low ones are not, but for two in the middle."""
    features = np.tile(rank_features([9, 8, 7, 5.5, 4.5, 3, 2, 1]), (n_queries, 1))
    flips = np.arange(n_queries) % 2
    labels = np.stack([np.array([1, 1, 1, flip, 1 - flip, 0, 0, 0]) for flip in flips])
    return fit_relevance(features, labels.ravel().astype(float), np.repeat(np.arange(n_queries), 8))


def test_a_trusted_relevance_model_asks_the_doubtful_first_and_stops_earlier(
    server: ScriptedModel, store: Store
) -> None:
    documents = [
        {"text": f"{'good' if at < 4 else 'bad'} {at}", "score": s} for at, s in enumerate([9, 8, 7, 5.5, 4.5, 3, 2, 1])
    ]
    relevance = separating(n_queries=60)
    assert relevance.trusted
    with LiveJudge(model(server, concurrency=1), store, relevance=relevance) as judge:
        found = judge.assess_now("q", documents, deadline_s=LONG_S, within=0.1, prefer="few calls")
    asked = [at for at, label in enumerate(found.labels) if label.status == "labelled"]
    assert 3 in asked or 4 in asked
    assert len(asked) < 6  # the certain bound needs 8 (1 - .2) = 6.4, so 7
    assert found.stop == "enough"
    value = found.values[1]
    assert value.low <= value.likely_low <= 0.5 <= value.likely_high <= value.high
    assert value.expected == pytest.approx(0.5, abs=0.1)


def test_a_relevance_model_that_is_not_trusted_changes_nothing(server: ScriptedModel, store: Store) -> None:
    documents = [{"text": f"bad {at}", "score": float(-at)} for at in range(8)]
    with LiveJudge(model(server, concurrency=1), store, relevance=separating(n_queries=20)) as judge:
        found = judge.assess_now("q", documents, deadline_s=LONG_S, within=0.1)
    assert found.n_labelled == 7
    assert np.isnan(found.values[0].likely_low)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": " "}, "the query has no text"),
        ({"documents": []}, "there is no document"),
        ({"documents": [{"text": 3}]}, "a document is a text"),
        ({"deadline_s": 0}, "deadline_s must be above 0"),
        ({"within": -0.1}, "within must be 0 or more"),
        ({"prefer": "luck"}, "prefer must be one of speed, few calls, got 'luck'"),
        ({"measures": [Measure.of("R", 5)]}, r"R@5 needs the number of relevant documents"),
    ],
)
def test_bad_input_is_refused(server: ScriptedModel, store: Store, change: dict[str, Any], message: str) -> None:
    with LiveJudge(model(server), store) as judge, pytest.raises(InputError, match=message):
        judge.assess_now(**{"query": "q", "documents": ["a"], "deadline_s": 1.0} | change)


def test_a_store_that_cannot_be_read_is_an_error_and_no_empty_result(server: ScriptedModel) -> None:
    with Store.open("sqlite://") as closed:
        pass
    with LiveJudge(model(server), closed) as judge, pytest.raises(StoreError):
        judge.assess_now("q", ["a"], deadline_s=LONG_S)


def test_a_judge_may_be_closed_twice(server: ScriptedModel, store: Store, model_at: Callable[..., Model]) -> None:
    judge = LiveJudge(model_at(server), store)
    judge.close()
    judge.close()
