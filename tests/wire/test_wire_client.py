"""The client against a real server on loopback, with every fault it must live with."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from ragauge.errors import EndpointError, InputError
from ragauge.store import FinishedCall, Store, request_key
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Endpoint, Wire, run
from ragauge.wire.answers import Failure, read_answer

PAYLOAD = {"model": "m", "messages": [{"role": "user", "content": "Où ?"}]}
QUICK = {"backoff_s": 0.001, "api_key_env": "RAGAUGE_TEST_KEY"}


def script(*replies: ScriptedReply | str) -> Callable[[dict[str, Any]], ScriptedReply | str]:
    """Gives the replies one after the other, and the last one from then on."""
    left = list(replies)
    lock = threading.Lock()

    def reply(request: dict[str, Any]) -> ScriptedReply | str:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return reply


async def ask(endpoint: Endpoint, path: str = "/chat/completions") -> dict[str, Any]:
    async with Wire(endpoint, seed=0) as wire:
        return await wire.post(path, PAYLOAD)


async def ask_many(endpoint: Endpoint, count: int) -> list[Any]:
    async with Wire(endpoint, seed=0) as wire:
        calls = [wire.post("/chat/completions", {**PAYLOAD, "number": number}) for number in range(count)]
        return await asyncio.gather(*calls, return_exceptions=True)


def text_of(reply: dict[str, Any]) -> str:
    return str(reply["choices"][0]["message"]["content"])


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_answer_is_the_json_object_the_server_sent() -> None:
    with ScriptedModel(lambda request: request["messages"][0]["content"] + " Ici.") as model:
        assert text_of(run(ask(Endpoint(model.base_url)))) == "Où ? Ici."
        assert model.requests[0].body == PAYLOAD


PASSING = {
    "408": ScriptedReply("slow", status=408),
    "409": ScriptedReply("conflict", status=409),
    "425": ScriptedReply("early", status=425),
    "429": ScriptedReply("too many", status=429),
    "429, zero": ScriptedReply("too many", status=429, headers={"Retry-After": "0"}),
    "500": ScriptedReply("oops", status=500),
    "502": ScriptedReply(raw="<html>bad gateway</html>", status=502),
    "503": ScriptedReply("busy", status=503),
    "504": ScriptedReply("late", status=504),
    "half": ScriptedReply("yes", cut=True),
    "prose": ScriptedReply(raw="I would rather not."),
    "list": ScriptedReply(raw="[1]"),
    "empty": ScriptedReply(raw=""),
    "dropped": ScriptedReply(drop=True),
    "wrapped error": ScriptedReply(raw='{"error": {"message": "upstream", "code": 502}}'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_fault_that_passes_is_tried_again(fault: ScriptedReply) -> None:
    with ScriptedModel(script(fault, fault, "yes")) as model:
        assert text_of(run(ask(Endpoint(model.base_url, **QUICK)))) == "yes"
        assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("fault", "reason", "raw"),
    [
        ("408", "timeout", "slow"),
        ("429", "rate_limited", "too many"),
        ("500", "http_500", "oops"),
        ("502", "http_502", "<html>bad gateway</html>"),
        ("half", "not_json", '{"id": "scripted"'),
        ("prose", "not_json", "I would rather not."),
        ("list", "not_json", "[1]"),
        ("dropped", "disconnected", ""),
        ("wrapped error", "http_502", "upstream"),
    ],
)
def test_fault_that_stays_is_given_up_with_its_reason(fault: str, reason: str, raw: str) -> None:
    with ScriptedModel(script(PASSING[fault])) as model:
        with pytest.raises(EndpointError, match=re.escape(model.base_url)) as caught:
            run(ask(Endpoint(model.base_url, max_retries=2, **QUICK)))
        assert caught.value.reason == reason
        assert raw in caught.value.raw
        assert "(3 tries)" in str(caught.value)
        assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (301, "give that as base URL"),
        (400, ""),
        (401, "api_key_env"),
        (403, "api_key_env"),
        (404, "base URL"),
        (422, ""),
    ],
)
def test_refusal_is_not_tried_again_and_shows_the_servers_message(status: int, hint: str) -> None:
    refusal = ScriptedReply(raw='{"error": {"message": "no such\\n model"}}', status=status)
    with ScriptedModel(script(refusal)) as model:
        with pytest.raises(EndpointError, match=f"status {status}: no such model.*{hint}") as caught:
            run(ask(Endpoint(model.base_url, **QUICK)))
        assert caught.value.reason == "refused"
        assert len(model.requests) == 1


def test_long_message_is_trimmed_and_raw_holds_it() -> None:
    refusal = ScriptedReply("x" * 5000, status=400)
    with ScriptedModel(script(refusal)) as model, pytest.raises(EndpointError) as caught:
        run(ask(Endpoint(model.base_url, **QUICK)))
    assert len(str(caught.value)) < 400
    assert "x" * 5000 in caught.value.raw


def test_used_up_quota_is_not_tried_again() -> None:
    body = '{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    with ScriptedModel(script(ScriptedReply(raw=body, status=429))) as model:
        with pytest.raises(EndpointError, match="exceeded your quota") as caught:
            run(ask(Endpoint(model.base_url, **QUICK)))
        assert caught.value.reason == "refused"
        assert len(model.requests) == 1


def test_server_that_never_answers_times_out() -> None:
    release = threading.Event()

    def reply(request: dict[str, Any]) -> str:
        release.wait(30)
        return "too late"

    with ScriptedModel(reply) as model:
        with pytest.raises(EndpointError, match=r"no whole answer within 0\.1 s \(3 tries\)") as caught:
            run(ask(Endpoint(model.base_url, timeout_s=0.1, **QUICK)))
        release.set()
    assert caught.value.reason == "timeout"


def test_retry_after_in_seconds_is_waited_for() -> None:
    limit = ScriptedReply("slow down", status=429, headers={"Retry-After": "0.5"})
    with ScriptedModel(script(limit, "yes")) as model:
        start = time.monotonic()
        assert text_of(run(ask(Endpoint(model.base_url, **QUICK)))) == "yes"
        assert time.monotonic() - start >= 0.5


def test_retry_after_as_a_date_is_waited_for() -> None:
    until = (datetime.now(UTC) + timedelta(seconds=2)).replace(microsecond=0)  # HTTP dates have whole seconds
    limit = ScriptedReply("busy", status=503, headers={"Retry-After": format_datetime(until, usegmt=True)})
    with ScriptedModel(script(limit, "yes")) as model:
        assert text_of(run(ask(Endpoint(model.base_url, **QUICK)))) == "yes"
        assert datetime.now(UTC) >= until


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        ("7", 7),
        ("3600", 60),
        ("-5", 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("soon", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_is_capped_and_nonsense_is_ignored(asked: str, waited: float | None) -> None:
    outcome = read_answer(429, {"Retry-After": asked}, b"", "")
    assert isinstance(outcome, Failure)
    assert outcome.retry_after_s == waited


def test_as_many_calls_as_allowed_are_in_flight_and_no_more() -> None:
    # Each answer waits until four are asked at once, so fewer would never end; `most` catches more.
    together = threading.Barrier(4)
    lock = threading.Lock()
    now = most = 0

    def reply(request: dict[str, Any]) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(30)
        with lock:
            now -= 1
        return "yes"

    with ScriptedModel(reply) as model:
        assert all(text_of(reply) == "yes" for reply in run(ask_many(Endpoint(model.base_url, concurrency=4), 12)))
    assert most == 4


def test_server_that_is_down_fails_a_thousand_calls_at_once() -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    start = time.monotonic()
    errors = run(ask_many(Endpoint(url), 1000))
    # Pauses before giving up are at most 0.5 s and 1 s; waiting for each call would take minutes.
    assert time.monotonic() - start < 10
    assert {error.reason for error in errors} == {"unreachable", "not_asked"}
    assert all(url in str(error) for error in errors)
    assert sum("not asked" not in str(error) for error in errors) <= 8  # those that were in flight


def test_unknown_host_is_unreachable() -> None:
    with pytest.raises(EndpointError, match=r"http://no-such-host\.invalid/v1") as caught:
        run(ask(Endpoint("http://no-such-host.invalid/v1", **QUICK)))
    assert caught.value.reason == "unreachable"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (ScriptedReply("oops", status=500), "http_500"),
        (ScriptedReply("bad key", status=401), "refused"),
        (ScriptedReply(raw="<html>hello</html>"), "not_json"),
    ],
)
def test_five_calls_given_up_in_a_row_stop_the_rest(fault: ScriptedReply, reason: str) -> None:
    with ScriptedModel(script(fault)) as model:
        errors = run(ask_many(Endpoint(model.base_url, concurrency=1, max_retries=0, **QUICK), 50))
        assert len(model.requests) == 5
    assert [error.reason for error in errors] == [*[reason] * 5, *["not_asked"] * 45]
    assert sum("not asked, as earlier calls failed for good" in str(error) for error in errors) == 45


def test_refusals_due_to_content_stop_nothing() -> None:
    with ScriptedModel(script(ScriptedReply("content filter", status=400))) as model:
        errors = run(ask_many(Endpoint(model.base_url, concurrency=1, **QUICK), 20))
        assert len(model.requests) == 20
    assert {error.reason for error in errors} == {"refused"}


def test_one_good_answer_starts_the_count_anew() -> None:
    bad = ScriptedReply("oops", status=500)
    with ScriptedModel(script(*[bad] * 4, "yes", *[bad] * 4, "yes")) as model:
        answers = run(ask_many(Endpoint(model.base_url, concurrency=1, max_retries=0, **QUICK), 12))
    assert [isinstance(answer, dict) for answer in answers] == [*[False] * 4, True, *[False] * 4, True, True, True]


def test_one_failed_call_leaves_the_others_their_answers() -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply | str:
        return ScriptedReply("oops", status=500) if request["number"] == 3 else "yes"

    with ScriptedModel(reply) as model:
        answers = run(ask_many(Endpoint(model.base_url, max_retries=1, **QUICK), 8))
    assert [number for number, answer in enumerate(answers) if isinstance(answer, EndpointError)] == [3]


def test_payload_that_is_not_json_is_refused_unsent() -> None:
    async def send(payload: dict[str, object]) -> None:
        async with Wire(Endpoint(model.base_url)) as wire:
            await wire.post("/chat/completions", payload)

    with ScriptedModel() as model:
        with pytest.raises(InputError, match="JSON values only"):
            run(send({"temperature": float("nan")}))
        assert model.requests == []


def test_wire_outside_its_block_says_so() -> None:
    wire = Wire(Endpoint("http://127.0.0.1:1/v1"))
    with pytest.raises(InputError, match="async with Wire"):
        run(wire.post("/chat/completions", {}))


SECRET = "sk-d41d8cd98f00b204"


def test_key_is_sent_and_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def twice() -> None:
        async with Wire(Endpoint(model.base_url, api_key_env="RAGAUGE_TEST_KEY")) as wire:
            for value in (SECRET, "  other\n"):
                monkeypatch.setenv("RAGAUGE_TEST_KEY", value)
                await wire.post("/chat/completions", PAYLOAD)
            monkeypatch.delenv("RAGAUGE_TEST_KEY")
            await wire.post("/chat/completions", PAYLOAD)

    with ScriptedModel() as model:
        run(twice())
        sent = [request.headers.get("authorization") for request in model.requests]
    assert sent == [f"Bearer {SECRET}", "Bearer other", None]


def test_key_that_no_header_can_carry_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGAUGE_TEST_KEY", f"{SECRET}\nX-Other: 1")
    with ScriptedModel() as model, pytest.raises(InputError, match="RAGAUGE_TEST_KEY") as caught:
        run(ask(Endpoint(model.base_url, **QUICK)))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("status", [200, 401, 500])
def test_key_is_in_no_repr_no_error_and_no_store(status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGAUGE_TEST_KEY", SECRET)
    # the server sends the key back, and at a place where trimming the message would cut it in two
    echo = ScriptedReply(raw="x" * 290 + f"bad key {SECRET}", status=status)
    with ScriptedModel(script(echo)) as model:
        endpoint = Endpoint(model.base_url, max_retries=1, **QUICK)
        with pytest.raises(EndpointError) as caught:
            run(ask(endpoint))
        assert model.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    request = {"endpoint": endpoint.base_url, **PAYLOAD}
    with Store.open(tmp_path / "a.db") as store:
        store.put_failure(request_key(request), caught.value.reason, caught.value.raw)
        store.put_replies([FinishedCall(request_key(request), request=request, reply={}, latency_s=0.1)])
        written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"[API key]" in written
    for text in (repr(endpoint), repr(Wire(endpoint)), str(caught.value), repr(caught.value), caught.value.raw):
        assert SECRET[:8] not in text
    assert SECRET.encode() not in written
