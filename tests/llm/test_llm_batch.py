"""Batch files: written, sent, collected; resumed after a crash at any point and never paid for twice."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ragauge.errors import EndpointError, InputError, StoreError
from ragauge.llm import BatchAsk, Model, Request, ask_all
from ragauge.llm.reply import Reply
from ragauge.store import Store
from ragauge.testing import ScriptedBatches, ScriptedModel, ScriptedReply
from ragauge.wire import Budget, Endpoint


def requests(*texts: str) -> list[Request]:
    parameters = {"temperature": 0, "max_tokens": 1}
    return [Request("test/1", ({"role": "user", "content": text},), parameters) for text in texts]


def echo(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def model_at(server: ScriptedModel) -> Model:
    return Model("m", Endpoint(server.base_url, max_retries=1, backoff_s=0.0), identity="batch:m")


def whole(reply: Reply) -> Reply:
    return reply


def batch(folder: Path, **how: Any) -> BatchAsk:
    return BatchAsk(folder, **{"poll_s": 0.001} | how)


def test_replies_come_in_the_order_of_requests_and_are_kept(tmp_path: Path, store: Store) -> None:
    texts = [f"t{i}" for i in range(30)] + ["t3"]
    with ScriptedModel(echo) as server:
        replies = batch(tmp_path)(requests(*texts), model=model_at(server), store=store, read=whole)
        assert [reply.text for reply in replies] == texts
        assert len(server.batches.asked) == 30
        assert list(server.batches.batches) == ["batch_1"]
        # what a batch answered, a call need not ask
        again = ask_all(requests(*texts), model=model_at(server), store=store, read=whole)
        assert [reply.text for reply in again] == texts
        assert not [r for r in server.requests if r.path.endswith("/chat/completions")]
    assert [(usage.kind, usage.calls, usage.prompt_tokens) for usage in store.usage()] == [("batch", 30, 30)]


def test_the_same_payload_is_sent_as_in_a_call(tmp_path: Path, store: Store) -> None:
    with ScriptedModel(echo) as server:
        model = model_at(server)
        batch(tmp_path)(requests("a"), model=model, store=store, read=whole)
        assert server.batches.asked == [model.payload(requests("a")[0])]


class Crash(BaseException):
    """Stands for a kill."""


CRASHES = ["after writing", "after uploading", "after making", "after noting", "while storing"]


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_anywhere_pays_for_nothing_twice(crash: str, tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "batches"
    texts = [f"t{i}" for i in range(10)]
    with ScriptedModel(echo, batches=ScriptedBatches(polls=0)) as server:
        model = model_at(server)
        if crash == "after noting":
            replies = batch(folder, wait_s=0)(requests(*texts), model=model, store=store, read=whole)
        else:
            batch(folder)(requests(*texts), model=model, store=Store.open("sqlite://"), read=whole)  # a lost machine
            _forget(folder, crash)
            if crash in ("after writing", "after uploading"):
                server.batches.batches.clear()
                server.batches.asked.clear()
            replies = batch(folder)(requests(*texts), model=model, store=store, read=whole)
        if crash == "after noting":
            replies = batch(folder)(requests(*texts), model=model, store=store, read=whole)
        assert [reply.text for reply in replies] == texts
        assert Counter(echo(body) for body in server.batches.asked) == Counter(texts)
        assert len(server.batches.batches) == 1


def _forget(folder: Path, crash: str) -> None:
    """Takes the folder back to what it held at the crash."""
    state = next(folder.glob("*/state.json"))
    noted = json.loads(state.read_text()) | {"collected": False}
    if crash != "while storing":
        noted |= {"batch_id": None, "status": "written"}
    state.write_text(json.dumps(noted))


def test_what_is_under_way_is_not_sent_again(tmp_path: Path, store: Store) -> None:
    with ScriptedModel(echo, batches=ScriptedBatches(polls=3)) as server:
        ask = partial(batch(tmp_path, wait_s=0), model=model_at(server), store=store, read=whole)
        assert [reply.failure for reply in ask(requests("a", "b"))] == ["batch_pending"] * 2
        assert [reply.failure for reply in ask(requests("b", "c"))] == ["batch_pending"] * 2
        assert [len(content.splitlines()) for content in server.batches.files.values()] == [2, 1]
        for _ in range(3):
            replies = ask(requests("a", "b", "c"))
        assert [reply.text for reply in replies] == ["a", "b", "c"]
        assert Counter(map(echo, server.batches.asked)) == {"a": 1, "b": 1, "c": 1}
    assert not store.failures()


@pytest.mark.parametrize("status", ["expired", "cancelled", "failed"])
def test_what_an_ended_batch_left_out_has_a_reason_and_is_sent_anew(status: str, tmp_path: Path, store: Store) -> None:
    batches = ScriptedBatches(ends_as=status, share_answered=0.5)
    with ScriptedModel(echo, batches=batches) as server:
        ask = partial(batch(tmp_path), model=model_at(server), store=store, read=whole)
        first = ask(requests(*"abcd"))
        assert [reply.failure for reply in first] == [None, None, f"batch_{status}", f"batch_{status}"]
        batches.ends_as, batches.share_answered = "completed", 1.0
        assert [reply.text for reply in ask(requests(*"abcd"))] == list("abcd")
        assert Counter(map(echo, batches.asked)) == {"a": 1, "b": 1, "c": 1, "d": 1}


def test_a_line_that_is_refused_is_a_failure_and_the_others_are_answers(tmp_path: Path, store: Store) -> None:
    def reply(request: dict[str, Any]) -> Any:
        if echo(request) == "b":
            return ScriptedReply("content management policy", status=400)
        return {"choices": []} if echo(request) == "c" else "yes"

    with ScriptedModel(reply) as server:
        replies = batch(tmp_path)(requests(*"abc"), model=model_at(server), store=store, read=whole)
    assert [reply.failure for reply in replies] == [None, "refused", "no_choices"]
    assert sorted(failure.reason for failure in store.failures()) == ["no_choices", "refused"]


def test_another_model_or_endpoint_has_its_own_batches(tmp_path: Path, store: Store) -> None:
    with ScriptedModel(echo, batches=ScriptedBatches(polls=9)) as server:
        for name in ("m", "n"):
            model = Model(name, Endpoint(server.base_url), identity=f"batch:{name}")
            batch(tmp_path, wait_s=0)(requests("a"), model=model, store=store, read=whole)
        assert len(server.batches.batches) == 2


def test_budget_sends_what_it_allows(tmp_path: Path, store: Store) -> None:
    with ScriptedModel(echo) as server:
        ask = batch(tmp_path, budget=Budget(max_calls=2))
        replies = ask(requests(*"abc"), model=model_at(server), store=store, read=whole)
        assert len(server.batches.asked) == 2
    assert [reply.failure for reply in replies] == [None, None, "budget"]


def test_an_endpoint_without_batches_is_refused_and_nothing_is_lost(tmp_path: Path, store: Store) -> None:
    with ScriptedModel() as server:
        url = server.base_url
        wrong = Model("m", Endpoint(f"{url}/none", max_retries=0), identity="batch:m")
        with pytest.raises(EndpointError, match="404"):
            batch(tmp_path)(requests("a"), model=wrong, store=store, read=whole)
        assert batch(tmp_path)(requests("a"), model=model_at(server), store=store, read=whole)[0].failure is None
        assert len(server.batches.batches) == 1


def test_nothing_is_sent_when_all_is_known(tmp_path: Path, store: Store) -> None:
    with ScriptedModel(echo) as server:
        ask_all(requests("a"), model=model_at(server), store=store, read=whole)
        assert batch(tmp_path)(requests("a"), model=model_at(server), store=store, read=whole)[0].from_store
        assert not server.batches.files


def test_a_folder_that_cannot_be_made_or_read_says_so(tmp_path: Path, store: Store) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        BatchAsk(tmp_path / "file")
    (tmp_path / "b" / "x").mkdir(parents=True)
    (tmp_path / "b" / "x" / "state.json").write_text("{")
    with ScriptedModel() as server, pytest.raises(StoreError, match="cannot read what batches"):
        batch(tmp_path / "b")(requests("a"), model=model_at(server), store=store, read=whole)


def test_no_key_is_in_the_folder(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-d41d8cd98f00b204e980"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    with ScriptedModel(lambda request: f"you sent {secret}") as server:
        batch(tmp_path)(requests("a"), model=model_at(server), store=store, read=whole)
        assert server.requests[0].headers["authorization"] == f"Bearer {secret}"
    assert all(secret not in path.read_text() for path in tmp_path.rglob("*") if path.is_file())
