"""Caps: reserved before a try, settled after it, never passed by calls side by side."""

import asyncio
import threading
from typing import Any

import pytest

from ragauge.errors import EndpointError, InputError
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Budget, Endpoint, Load, Prices, Wire, run
from ragauge.wire.budget import load_of, used_by


def payload(number: int, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"number {number:04d}"}], "max_tokens": 1, **more}


SIZE = len('{"messages": [{"role": "user", "content": "number 0000"}], "max_tokens": 1}')
"""Bytes of one request, and so the most tokens it can have; the scripted model counts two words."""


async def ask_many(endpoint: Endpoint, budget: Budget, count: int, **more: Any) -> list[Any]:
    async with Wire(endpoint, budget=budget, seed=0) as wire:
        calls = [wire.post("/chat/completions", payload(number, **more)) for number in range(count)]
        return await asyncio.gather(*calls, return_exceptions=True)


def reasons(answers: list[Any]) -> dict[str, int]:
    found = [answer.reason if isinstance(answer, EndpointError) else "answered" for answer in answers]
    return {reason: found.count(reason) for reason in set(found)}


@pytest.mark.parametrize("concurrency", [1, 16])
def test_calls_stop_at_their_cap(concurrency: int) -> None:
    with ScriptedModel(lambda request: "yes") as model:
        answers = run(ask_many(Endpoint(model.base_url, concurrency=concurrency), Budget(max_calls=7), 40))
        assert len(model.requests) == 7
    assert reasons(answers) == {"answered": 7, "budget": 33}


@pytest.mark.parametrize("concurrency", [1, 16])
def test_tokens_never_pass_their_cap_and_what_was_reserved_in_vain_is_used(concurrency: int) -> None:
    # Each call reserves SIZE + 1 = 76 tokens and uses 2 + 1 = 3: the n-th may leave while 3 (n - 1) + 76 <= 300.
    budget = Budget(max_tokens=300)
    with ScriptedModel(lambda request: "yes") as model:
        answers = run(ask_many(Endpoint(model.base_url, concurrency=concurrency), budget, 200))
    assert SIZE == 75
    assert reasons(answers) == {"answered": 75, "budget": 125}
    assert budget.spent == Load(150, 75)


def test_cost_never_passes_its_cap() -> None:
    # A call reserves 75 read at $1 and 1 written at $2 a million: 77 micro-dollars; it costs 2 + 2 = 4 of them.
    budget = Budget(max_cost_usd=0.0002, prices=Prices(1, 2))
    with ScriptedModel(lambda request: "yes") as model:
        answers = run(ask_many(Endpoint(model.base_url, concurrency=16), budget, 100))
    assert reasons(answers)["answered"] == 31  # the largest n with 4 (n - 1) + 77 <= 200
    assert budget.cost_usd == pytest.approx(31 * 4e-6)


def test_calls_in_flight_together_cannot_pass_a_cap_that_each_alone_would_keep() -> None:
    together, n_now, most = threading.Lock(), 0, 0

    def reply(request: dict[str, Any]) -> ScriptedReply:
        nonlocal n_now, most
        with together:
            n_now += 1
            most = max(most, n_now)
        return ScriptedReply("yes", delay_s=0.02)

    with ScriptedModel(reply) as model:
        run(ask_many(Endpoint(model.base_url, concurrency=16), Budget(max_tokens=3 * 76 + 75), 3))
    assert most == 3
    with ScriptedModel(reply) as model:
        answers = run(ask_many(Endpoint(model.base_url, concurrency=16), Budget(max_tokens=75), 3))
        assert not model.requests
    assert reasons(answers) == {"budget": 3}


@pytest.mark.parametrize(
    ("fault", "used"),
    [
        (ScriptedReply("slow down", status=429), Load(0, 0)),  # refused before the model worked
        (ScriptedReply("oops", status=500), Load(0, 0)),
        (ScriptedReply(drop=True), Load(2 * SIZE, 2)),  # nobody knows, so that all that was reserved counts
        (ScriptedReply("yes", cut=True), Load(2 * SIZE, 2)),
    ],
)
def test_failed_tries_count_as_calls_and_cost_what_they_may_have(fault: ScriptedReply, used: Load) -> None:
    budget = Budget()
    with ScriptedModel(lambda request: fault) as model:
        run(ask_many(Endpoint(model.base_url, max_retries=1, backoff_s=0), budget, 1))
    assert budget.calls == 2
    assert budget.spent == used
    assert budget.is_settled


def test_a_call_that_cannot_be_tried_again_has_the_reason_of_its_failure() -> None:
    with ScriptedModel(lambda request: ScriptedReply("oops", status=500)) as model:
        answers = run(ask_many(Endpoint(model.base_url, backoff_s=0, concurrency=1), Budget(max_calls=1), 2))
    assert [answer.reason for answer in answers] == ["http_500", "budget"]


def test_an_endpoint_that_tells_no_usage_is_charged_what_was_reserved() -> None:
    budget = Budget()
    with ScriptedModel(lambda request: {"choices": [{"message": {"content": "yes"}}]}) as model:
        run(ask_many(Endpoint(model.base_url), budget, 1))
    assert budget.spent == Load(SIZE, 1)


def test_a_reply_without_a_limit_cannot_be_capped() -> None:
    with ScriptedModel() as model:
        answers = run(ask_many(Endpoint(model.base_url), Budget(max_tokens=1000), 1, max_tokens=None))
        assert not model.requests
    assert isinstance(answers[0], InputError)
    assert "set max_tokens" in str(answers[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_calls": -1}, "max_calls must be a number of 0 or more, got -1"),
        ({"max_cost_usd": float("nan"), "prices": Prices(1, 1)}, "max_cost_usd"),
        ({"max_cost_usd": 1.0}, "needs the prices"),
    ],
)
def test_cap_that_is_none_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Budget(**arguments)


@pytest.mark.parametrize("price", [-0.1, float("inf"), float("nan")])
def test_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(InputError, match="a price must be"):
        Prices(price, 1)


@pytest.mark.parametrize(
    ("request_body", "written"),
    [
        ({"messages": [], "max_tokens": 5}, 5),
        ({"messages": [], "max_tokens": 5, "max_completion_tokens": 9}, 9),
        ({"messages": []}, None),
        ({"input": ["a"]}, 0),
    ],
)
def test_load_is_bytes_and_the_limit(request_body: dict[str, Any], written: int | None) -> None:
    assert load_of(request_body, 40) == Load(40, written)


@pytest.mark.parametrize(
    ("usage", "used"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, Load(3, 2)),
        ({"prompt_tokens": 3}, Load(3, 0)),
        ({"prompt_tokens": -3}, None),  # would give back what was never spent
        ({"prompt_tokens": float("nan")}, None),
        ([1], None),
        (None, None),
    ],
)
def test_usage_is_read_where_it_makes_sense(usage: Any, used: Load | None) -> None:
    assert used_by({"usage": usage}) == used


def test_budgets_within_one_share_its_caps_at_prices_of_their_own() -> None:
    # A call takes 2 tokens read and 1 written: 4 micro-dollars at the whole's prices, 12 at the dear one's, 0 at 0.
    whole = Budget(max_calls=9, prices=Prices(1, 2))
    cheap, dear = Budget(prices=Prices(0, 0), within=whole), Budget(prices=Prices(1, 10), within=whole)
    with ScriptedModel(lambda request: "yes") as model:
        run(ask_many(Endpoint(model.base_url), cheap, 5))
        answers = run(ask_many(Endpoint(model.base_url), dear, 7))
        assert len(model.requests) == 9
    assert reasons(answers) == {"answered": 4, "budget": 3}
    assert (cheap.calls, dear.calls, whole.calls) == (5, 4, 9)
    assert whole.spent == Load(18, 9)
    assert (cheap.cost_usd, dear.cost_usd, whole.cost_usd) == pytest.approx((0, 48e-6, 48e-6))


def test_a_sum_caps_budgets_of_different_prices_together() -> None:
    # Each call costs 4 micro-dollars at the cheap price, and the dear one reserves 75 x 10 + 1 x 20 = 770 of them.
    whole = Budget(max_cost_usd=0.001, prices=Prices(10, 20))
    cheap, dear = Budget(prices=Prices(1, 2), within=whole), Budget(prices=Prices(10, 20), within=whole)
    with ScriptedModel(lambda request: "yes") as model:
        run(ask_many(Endpoint(model.base_url), cheap, 50))
        answers = run(ask_many(Endpoint(model.base_url), dear, 9))
    assert cheap.cost_usd == pytest.approx(200e-6)
    assert reasons(answers) == {"answered": 1, "budget": 8}  # 200 + 40 + 770 is more than 1000


def test_a_budget_within_another_has_prices_if_that_one_has() -> None:
    with pytest.raises(InputError, match="needs prices if that one has them"):
        Budget(within=Budget(prices=Prices(1, 1)))
