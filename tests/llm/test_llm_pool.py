"""The pool: nothing is asked twice, nothing answered is lost, and the order is kept."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragauge.errors import InputError, StoreError
from ragauge.llm import Model, Request, ask_all
from ragauge.llm.reply import Reply
from ragauge.store import FinishedCall, Store
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Endpoint

ModelAt = Callable[[ScriptedModel], Model]


def requests(*texts: str) -> list[Request]:
    return [Request("test/1", ({"role": "user", "content": text},), {"temperature": 0}) for text in texts]


def whole(reply: Reply) -> Reply:
    return reply


def echo(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def test_replies_stand_in_the_order_of_requests(model_at: ModelAt, store: Store) -> None:
    texts = [f"t{i}" for i in range(40)]
    with ScriptedModel(echo) as server:
        replies = ask_all(requests(*texts), model=model_at(server), store=store, read=whole)
    assert [reply.text for reply in replies] == texts


def test_one_slot_asks_in_the_order_given(store: Store) -> None:
    texts = ["c", "a", "b", "a"]
    with ScriptedModel(echo) as server:
        ask_all(requests(*texts), model=Model("m", Endpoint(server.base_url, concurrency=1)), store=store, read=whole)
        assert [echo(request.body) for request in server.requests] == ["c", "a", "b"]


def test_the_second_run_asks_nothing(model_at: ModelAt, store: Store) -> None:
    done: list[int] = []
    with ScriptedModel(echo) as server:
        ask_all(requests("a", "b"), model=model_at(server), store=store, read=whole)
        again = ask_all(
            requests("b", "a", "b"), model=model_at(server), store=store, read=whole, on_progress=done.append
        )
        assert len(server.requests) == 2
    assert [reply.text for reply in again] == ["b", "a", "b"]
    assert all(reply.from_store for reply in again)
    assert sum(done) == 3


def test_another_parameter_or_model_is_another_question(store: Store) -> None:
    with ScriptedModel(echo) as server:
        endpoint = Endpoint(server.base_url)
        for model in (Model("m", endpoint), Model("n", endpoint), Model("m", endpoint, {"seed": 1})):
            ask_all(requests("a"), model=model, store=store, read=whole)
        assert len(server.requests) == 3
        assert server.requests[2].body["seed"] == 1


def test_identity_makes_a_moved_server_the_same(store: Store) -> None:
    for n_expected in (1, 0):
        with ScriptedModel(echo) as server:
            model = Model("m", Endpoint(server.base_url), identity="local:m#0123")
            ask_all(requests("a"), model=model, store=store, read=whole)
            assert len(server.requests) == n_expected


def test_a_parameter_of_none_takes_the_prompts_away(store: Store) -> None:
    with ScriptedModel(echo) as server:
        ask_all(
            requests("a"), model=Model("m", Endpoint(server.base_url), {"temperature": None}), store=store, read=whole
        )
        assert "temperature" not in server.requests[0].body


@pytest.mark.parametrize("parameters", [{"messages": []}, {"stream": True, "n": 2}])
def test_parameters_that_are_ours_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="ragauge sets them itself"):
        Model("m", Endpoint("http://127.0.0.1:1/v1"), parameters)


def test_a_reply_that_cannot_be_read_is_stored_as_it_came(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(lambda request: "prose") as server:
        for _ in range(2):
            replies = ask_all(requests("a"), model=model_at(server), store=store, read=whole)
        assert len(server.requests) == 1
    assert replies[0].text == "prose"


def test_passing_failures_are_tried_again(model_at: ModelAt, store: Store) -> None:
    tries = iter([ScriptedReply("busy", status=500), ScriptedReply("x", cut=True), ScriptedReply("at last")])
    with ScriptedModel(lambda request: next(tries)) as server:
        replies = ask_all(requests("a"), model=model_at(server), store=store, read=whole)
    assert replies[0].text == "at last"


def test_a_server_that_is_down_fails_each_request_with_a_reason(store: Store) -> None:
    with ScriptedModel() as server:
        gone = server.base_url
    replies = ask_all(requests("a", "b"), model=Model("m", Endpoint(gone, backoff_s=0.0)), store=store, read=whole)
    assert [reply.failure for reply in replies] == ["unreachable", "unreachable"]


def test_calls_that_always_fail_do_not_keep_later_runs_from_the_rest(store: Store) -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        return ScriptedReply("oops", status=500) if echo(request).startswith("bad") else ScriptedReply("ok")

    texts = [*(f"bad {i}" for i in range(6)), "good"]  # five in a row end a run
    with ScriptedModel(reply) as server:
        model = Model("m", Endpoint(server.base_url, concurrency=1, max_retries=0))
        first, second = (ask_all(requests(*texts), model=model, store=store, read=whole) for _ in range(2))
    assert [reply.failure for reply in first[-2:]] == ["not_asked", "not_asked"]
    assert second[-1].text == "ok"


def test_works_where_an_event_loop_runs(model_at: ModelAt, store: Store) -> None:
    async def in_a_notebook(model: Model) -> str:
        return ask_all(requests("a"), model=model, store=store, read=lambda reply: reply.text)[0]

    with ScriptedModel(echo) as server:
        assert asyncio.run(in_a_notebook(model_at(server))) == "a"


def test_an_error_of_the_store_ends_the_run(model_at: ModelAt, tmp_path: Path) -> None:
    opened = Store.open(tmp_path / "s.db")
    closing = threading.Lock()

    def reply(request: dict[str, Any]) -> str:
        with closing:
            opened.close()
        return "late"

    with ScriptedModel(reply) as server, pytest.raises(StoreError, match="closed"):
        ask_all(requests(*"abcdefghijklmnop"), model=model_at(server), store=opened, read=whole)


class Stop(BaseException):
    """Stands for Ctrl-C, which a test cannot send without ending pytest."""


def test_a_run_stopped_half_way_keeps_what_is_finished(store: Store) -> None:
    n_done = 0

    def stop_after_three(done: int) -> None:
        nonlocal n_done
        n_done += done
        if n_done == 3:
            raise Stop

    texts = [f"t{i}" for i in range(10)]
    with ScriptedModel(echo) as server:
        model = Model("m", Endpoint(server.base_url, concurrency=1))
        with pytest.raises(Stop):
            ask_all(requests(*texts), model=model, store=store, read=whole, on_progress=stop_after_three)
        assert len(server.requests) == 3
        ask_all(requests(*texts), model=model, store=store, read=whole)
        assert [echo(request.body) for request in server.requests] == texts


def test_a_reply_is_on_the_disk_before_it_is_read(model_at: ModelAt, tmp_path: Path) -> None:
    path = tmp_path / "s.db"

    def kept(reply: Reply) -> bool:
        with Store.open(path) as other:
            return str(reply.key) in other.replies([str(reply.key)])

    with ScriptedModel(echo) as server, Store.open(path) as store:
        assert ask_all(requests(*"abcdef"), model=model_at(server), store=store, read=kept) == [True] * 6


def test_replies_that_come_while_one_is_written_are_written_together(model_at: ModelAt, store: Store) -> None:
    texts = [f"t{i}" for i in range(64)]
    sizes: list[int] = []

    class Counting(Store):
        def put_replies(self, calls: Iterable[FinishedCall]) -> None:
            new = list(calls)
            sizes.append(len(new))
            super().put_replies(new)

    with ScriptedModel(echo) as server, Counting.open("sqlite://") as counting:
        model = replace(model_at(server), endpoint=replace(model_at(server).endpoint, concurrency=32))
        assert len(ask_all(requests(*texts), model=model, store=counting, read=whole)) == 64
    assert sum(sizes) == 64
    assert len(sizes) < 64
