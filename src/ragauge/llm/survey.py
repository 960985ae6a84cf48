"""Counts what a run would ask, read, write and cost, without asking anything."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ragauge.llm.model import Model, Request
from ragauge.llm.readings import Readings, stored_replies
from ragauge.llm.reply import Reply, tokens
from ragauge.store import Store, Usage, request_key
from ragauge.wire import Prices

__all__ = ["BYTES_A_TOKEN", "CallPlan", "Survey"]

T = TypeVar("T")

BYTES_A_TOKEN = 4.0
"""The rule of thumb for English text, used where no reply has told better."""


@dataclass(frozen=True)
class CallPlan:
    """What a run would do.

    Attributes:
        known: Requests that the store holds a reply to.
        calls: Requests that would be sent, each once, and those that are expected to be sent again because the first
            reply cannot be read.
        prompt_tokens: Tokens that would be read.
        completion_tokens: Tokens that would be written.
        counted_by: How the tokens were counted, in words.
        cost_usd: What they would cost; None without prices.
        seconds: How long it would take; None where nothing tells.
        timed_by: How the time was found, in words.
    """

    known: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    counted_by: str
    cost_usd: float | None
    seconds: float | None
    timed_by: str


@dataclass(frozen=True)
class _Counting:
    """Tokens of the calls to be made, and where the numbers come from."""

    read: float
    written: float
    by: str


class Survey:
    """An `Ask` that asks nothing: what the store holds is returned, all else is "not_asked" and counted.

    Example:
        >>> from ragauge.wire import Endpoint
        >>> model = Model("m", Endpoint("http://127.0.0.1:1/v1"))
        >>> request = Request("label/1", ({"role": "user", "content": "a question of 26 bytes"},), {"max_tokens": 1})
        >>> survey = Survey()
        >>> with Store.open("sqlite://") as store:
        ...     texts = survey([request, request], model=model, store=store, read=lambda reply: reply.text)
        ...     plan = survey.plan(model, store, prices=Prices(1.0, 2.0))
        >>> plan.known, plan.calls, plan.prompt_tokens, plan.completion_tokens, plan.counted_by
        (0, 1, 6, 1, '4 bytes a token, and the limit of each reply')
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int | None, int | None]] = {}  # bytes of the request, tokens of the call
        self._missing: dict[str, Request] = {}
        self._first: dict[tuple[str, ...], str] = {}  # question -> key of its first request
        self._again: set[str] = set()  # keys of further requests that ask the same

    def __call__(
        self,
        requests: Sequence[Request],
        *,
        model: Model,
        store: Store,
        read: Callable[[Reply], T],
        on_progress: Callable[[int], None] | None = None,
    ) -> list[T]:
        """What `read` makes of the stored reply to each request, or of one that says that nothing was asked."""
        keys = [request_key(model.stored_request(request)) for request in requests]
        asked = dict(zip(keys, requests, strict=True))
        readings = Readings(keys, read)
        for key, reply in stored_replies(list(asked), store):
            used = tokens(reply.body, "prompt_tokens"), tokens(reply.body, "completion_tokens")
            self._known[key] = (_size(asked[key]), *used)
            readings.take(key, reply)
        for key, request in asked.items():
            if self._first.setdefault(_question(request, model), key) != key:
                self._again.add(key)
            if key not in readings:
                self._missing[key] = request
                readings.take(key, Reply(failure="not_asked"))
        if on_progress:
            on_progress(len(keys))
        return readings.in_order()

    def plan(self, model: Model, store: Store, *, prices: Prices | None = None) -> CallPlan:
        """What is missing, in calls, tokens, dollars and seconds.

        Tokens are counted by the endpoint's own usage: of replies to the same set of requests, a byte, or else of all
        earlier replies of this model to this prompt, a call. Where there are none, four bytes count as a token and a
        reply is taken to use its limit. Where some of the known replies could not be read and took a second call, as
        many of those to come are taken to.

        Args:
            model: Who would be asked, and how hard.
            store: Tells how much and how long earlier calls took.
            prices: Of a million tokens.
        """
        n, (again, again_by) = len(self._missing), self._expected_again()
        calls = n + again
        earlier = _earlier(model, store, {request.prompt_id for request in self._missing.values()})
        counting = self._by_these() or _by_earlier(earlier, n) or self._by_rule()
        read, written = (round(total * calls / max(n, 1)) for total in (counting.read, counting.written))
        seconds, timed_by = _time(model, calls, read + written, earlier)
        cost = None if prices is None else float(prices.cost_usd(read, written))
        return CallPlan(len(self._known), calls, read, written, counting.by + again_by, cost, seconds, timed_by)

    def _expected_again(self) -> tuple[int, str]:
        """Second calls of what is missing, and in words how that is known."""
        n_known = len(self._known.keys() - self._again)
        if not n_known or not self._again:
            return 0, ""
        expected = round(len(self._again) / n_known * len(self._missing.keys() - self._again))
        return expected, f"; {len(self._again):,} of {n_known:,} took a second call, as {expected:,} more may"

    def _by_these(self) -> _Counting | None:
        used = [(size, read, written) for size, read, written in self._known.values() if read and written is not None]
        if not used:
            return None
        a_byte = sum(read for _, read, _ in used) / sum(size for size, _, _ in used)
        a_call = sum(written for _, _, written in used) / len(used)
        by = f"usage of {len(used):,} known replies: {a_byte:.3f} tokens a byte"
        return _Counting(a_byte * _sizes(self._missing.values()), a_call * len(self._missing), by)

    def _by_rule(self) -> _Counting:
        limits = [request.parameters.get("max_tokens") for request in self._missing.values()]
        written = sum(limit for limit in limits if isinstance(limit, int))
        by = f"{BYTES_A_TOKEN:g} bytes a token, and the limit of each reply"
        return _Counting(_sizes(self._missing.values()) / BYTES_A_TOKEN, written, by)


def _question(request: Request, model: Model) -> tuple[str, ...]:
    """What is asked, however the reply is wanted; with another seed it is a repeat, asked for its own sake."""
    return (
        request.prompt_id,
        str(model.parameters.get("seed")),
        *(message["content"] for message in request.messages),
    )


def _size(request: Request) -> int:
    return sum(len(message["content"].encode("utf-8", "replace")) for message in request.messages)


def _sizes(requests: Iterable[Request]) -> int:
    return sum(_size(request) for request in requests)


def _earlier(model: Model, store: Store, prompts: set[str]) -> list[Usage]:
    """What earlier calls of this model to these prompts took; batches tell nothing about time, but about tokens."""
    endpoint = model.identity or model.endpoint.base_url
    return [
        usage
        for usage in store.usage()
        if (usage.model, usage.endpoint) == (model.name, endpoint) and usage.prompt_id in prompts
    ]


def _by_earlier(earlier: Sequence[Usage], calls: int) -> _Counting | None:
    sums: Counter[str] = Counter()
    for usage in earlier:
        sums["calls"] += usage.calls - usage.calls_without_tokens
        sums["read"] += usage.prompt_tokens or 0
        sums["written"] += usage.completion_tokens or 0
    n = sums["calls"]
    if not n:
        return None
    by = f"usage of {n:,} earlier replies: {sums['read'] / n:,.0f} tokens a call"
    return _Counting(calls * sums["read"] / n, calls * sums["written"] / n, by)


def _time(model: Model, calls: int, n_tokens: int, earlier: Sequence[Usage]) -> tuple[float | None, str]:
    """The longest of what latency, requests a minute and tokens a minute demand."""
    if not calls:
        return 0.0, ""
    endpoint = model.endpoint
    n = sum(usage.calls for usage in earlier if usage.kind == "chat")
    found: list[tuple[float, str]] = []
    if n:
        latency_s = sum(usage.seconds for usage in earlier if usage.kind == "chat") / n
        how = f"{latency_s:.2f} s a call in {n:,} earlier ones, {endpoint.concurrency} at once"
        found.append((calls * latency_s / endpoint.concurrency, how))
    if endpoint.rpm:
        found.append((calls * 60.0 / endpoint.rpm, f"{endpoint.rpm:g} requests a minute"))
    if endpoint.tpm:
        found.append((n_tokens * 60.0 / endpoint.tpm, f"{endpoint.tpm:g} tokens a minute"))
    return max(found) if found else (None, "no earlier call tells how long one takes")
