"""Pace and window: how fast an endpoint is asked, by our limits, by its headers and by how it bears up."""

import asyncio
import threading
import time
from itertools import pairwise
from typing import Any

import pytest

from ragauge.errors import InputError
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Endpoint, Load, Wire, run
from ragauge.wire.rate import MAX_HOLD_S, Pace, Window, seconds_of

LOAD = Load(100, 1)


def payload(number: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"{number}"}], "max_tokens": 1}


async def ask_many(endpoint: Endpoint, count: int) -> list[Any]:
    async with Wire(endpoint, seed=0) as wire:
        calls = [wire.post("/chat/completions", payload(number)) for number in range(count)]
        return await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("7m12s", 432), ("120ms", 0.12), ("1h", 3600), ("2.5", 2.5), (" 3 ", 3), ("0s", 0)],
)
def test_duration_of_a_header_is_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", [None, "", "soon", "-1", "nan", "1 s", "1s!", "1y"])
def test_what_is_no_duration_is_none(text: str | None) -> None:
    assert seconds_of(text) is None


def test_requests_leave_at_the_rate_that_was_asked_for() -> None:
    # 1,200 a minute is one every 0.05 s, so that twelve take at least eleven times that.
    with ScriptedModel(lambda request: "yes") as model:
        start = time.monotonic()
        answers = run(ask_many(Endpoint(model.base_url, rpm=1200, concurrency=12), 12))
        assert time.monotonic() - start >= 11 * 0.05
    assert all(isinstance(answer, dict) for answer in answers)


def test_turns_are_an_interval_apart() -> None:
    pace = Pace(rpm=600)
    turns = [pace.turn(LOAD) for _ in range(4)]
    assert [later - turn for turn, later in pairwise(turns)] == pytest.approx([0.1] * 3, abs=1e-3)


def test_tokens_a_minute_are_kept_and_put_right_by_the_usage() -> None:
    # 100 bytes at a quarter of a token each and one written: 26 tokens, which at 600 a minute take 2.6 s.
    pace = Pace(tpm=600)
    first, second = pace.turn(LOAD), pace.turn(LOAD)
    assert second - first == pytest.approx(2.6, abs=1e-3)
    pace.settle(LOAD, Load(45, 1))  # 20 more than expected: 2 s
    assert pace.turn(LOAD) - second == pytest.approx(4.6, abs=1e-3)
    assert pace.tokens(LOAD) == pytest.approx(28)  # 0.25 + 0.1 (0.45 - 0.25) = 0.27 a byte


def test_headers_that_say_nothing_is_left_hold_until_it_is_renewed() -> None:
    pace = Pace()
    pace.learn({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "20s"})
    now = time.monotonic()
    assert pace.turn(LOAD) - now < 1
    assert pace.turn(LOAD) - now == pytest.approx(20, abs=1)
    assert pace.turn(LOAD) - now == pytest.approx(20, abs=1)


def test_headers_that_leave_too_few_tokens_hold_and_long_waits_are_capped() -> None:
    pace = Pace()
    pace.learn({"x-ratelimit-remaining-tokens": "25", "x-ratelimit-reset-tokens": "24h"})
    assert pace.turn(LOAD) - time.monotonic() == pytest.approx(MAX_HOLD_S, abs=1)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-remaining-requests": "0"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "later"},
        {"x-ratelimit-remaining-requests": "none", "x-ratelimit-reset-requests": "20s"},
    ],
)
def test_headers_that_cannot_be_read_hold_nothing(headers: dict[str, str]) -> None:
    pace = Pace()
    pace.learn(headers)
    assert pace.turn(LOAD) <= time.monotonic()


def test_limits_in_headers_are_obeyed_without_a_single_429() -> None:
    # Two requests a window of 0.3 s; whoever asks a third gets a 429.
    lock = threading.Lock()
    opened, n_used, n_refused = 0.0, 0, 0

    def reply(request: dict[str, Any]) -> ScriptedReply:
        nonlocal opened, n_used, n_refused
        with lock:
            if time.monotonic() - opened >= 0.3:
                opened, n_used = time.monotonic(), 0
            n_used += 1
            n_refused += n_used > 2
            left = {"x-ratelimit-remaining-requests": str(max(0, 2 - n_used)), "x-ratelimit-reset-requests": "320ms"}
        return ScriptedReply("yes", headers=left) if n_used <= 2 else ScriptedReply("no", status=429, headers=left)

    with ScriptedModel(reply) as model:
        answers = run(ask_many(Endpoint(model.base_url, concurrency=1), 6))
    assert all(isinstance(answer, dict) for answer in answers)
    assert n_refused == 0


def test_window_halves_once_an_overload_and_grows_by_one_a_round() -> None:
    async def sizes() -> list[int]:
        window = Window(8)
        sent_at = time.monotonic()
        window.halve(sent_at)
        window.halve(sent_at)  # left before the first halving: the same overload
        found = [window.size]
        for _ in range(4):
            window.widen()
        found.append(window.size)
        window.halve(time.monotonic())
        found.append(window.size)
        for _ in range(10):
            window.halve(time.monotonic())
        return [*found, window.size]

    # 4; four answers add 1/4 + 1/4.25 + ... = 0.94, so that a fifth makes it 5; half of 4.94 is 2.47; never below 1
    assert run(sizes()) == [4, 4, 2, 1]


def test_window_never_lets_in_more_than_its_size() -> None:
    async def most() -> list[int]:
        window, inside, seen = Window(6), 0, []

        async def one() -> None:
            nonlocal inside
            async with window:
                inside += 1
                seen.append(inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(one() for _ in range(30)))
        at_first = max(seen)
        window.halve(time.monotonic())
        await asyncio.gather(*(one() for _ in range(6)))  # slots that are owed are taken back as calls end
        seen.clear()
        await asyncio.gather(*(one() for _ in range(30)))
        halved = max(seen)
        for _ in range(60):
            window.widen()
        seen.clear()
        await asyncio.gather(*(one() for _ in range(30)))
        return [at_first, halved, max(seen)]

    assert run(most()) == [6, 3, 6]


def test_a_server_that_bears_four_calls_at_once_gets_all_answered() -> None:
    lock = threading.Lock()
    now = n_refused = 0

    def reply(request: dict[str, Any]) -> ScriptedReply:
        nonlocal now, n_refused
        with lock:
            now += 1
            over = now > 4
            n_refused += over
        time.sleep(0.01)
        with lock:
            now -= 1
        return ScriptedReply("too many", status=429) if over else ScriptedReply("yes")

    with ScriptedModel(reply) as model:
        endpoint = Endpoint(model.base_url, concurrency=32, backoff_s=0.02, max_retries=8)
        answers = run(ask_many(endpoint, 200))
    assert all(isinstance(answer, dict) for answer in answers)
    assert n_refused < 200  # 32 at once and no less would be refused seven times of eight


@pytest.mark.parametrize(("name", "value"), [("rpm", 0), ("rpm", -1), ("tpm", float("nan")), ("tpm", float("inf"))])
def test_pace_that_is_none_is_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} must be a number a minute above 0"):
        Endpoint("http://host/v1", **{name: value})
