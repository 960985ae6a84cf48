"""Asks many requests: what the store holds is not asked, what is asked is stored before it is used.

Requests are sent in the order given, those that failed in an earlier run last, as many at once as the endpoint allows.
The order matters to servers that keep the beginning of the last prompt: put next to each other what begins alike.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol, TypeVar

from ragauge.errors import EndpointError
from ragauge.llm.keeper import FailedCall, Keeper
from ragauge.llm.model import Model, Request
from ragauge.llm.readings import Readings
from ragauge.llm.reply import Reply, is_chat_reply, tokens
from ragauge.store import FinishedCall, Store, request_key
from ragauge.wire import Budget, Wire, run
from ragauge.wire.budget import used_by

__all__ = ["NOT_YET", "UNSENT", "Ask", "Asking", "ask_all"]

T = TypeVar("T")

UNSENT = frozenset({"not_asked", "budget"})
"""Why a request was never sent; nothing happened that the store would have to note."""

NOT_YET = UNSENT | {"batch_pending"}
"""Why there is no reply so far, which says nothing of what was asked about."""

_PATH = "/chat/completions"

_Job = tuple[str, Request]


class Ask(Protocol):
    """A way to get replies: `ask_all` asks at once; others may send a batch, or only count what would be asked."""

    def __call__(
        self,
        requests: Sequence[Request],
        *,
        model: Model,
        store: Store,
        read: Callable[[Reply], T],
        on_progress: Callable[[int], None] | None = None,
    ) -> list[T]:
        """What `read` makes of the reply to each request, in order."""


def ask_all(
    requests: Sequence[Request],
    *,
    model: Model,
    store: Store,
    read: Callable[[Reply], T],
    on_progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> list[T]:
    """What `read` makes of the reply to each request, in order; a call that failed is a reply that says so.

    Equal requests are asked once. A failed call is noted in the store and asked again by the next run; one that was
    never sent, because the endpoint was given up or the budget is spent, is not noted. Stopped at any point, by Ctrl-C
    or SIGKILL, nothing that was answered is lost, and nothing stored is asked again.

    Args:
        requests: Any number; equal ones are allowed.
        model: Whom to ask.
        store: Holds what was answered before, and keeps what is answered now.
        read: Called with each reply as it comes, from another thread than the caller's; the reply itself, which is
            large, is then let go.
        on_progress: Called with the number of requests just done, from another thread than the caller's.
        budget: What may be spent; None = any sum. Give one budget to several calls and they share it.

    Raises:
        InputError: The budget caps tokens or cost, and a request does not limit its reply.
        MissingExtraError: aiohttp is not installed, and something has to be asked.
        StoreError: The store cannot be read or written.
    """
    report = on_progress or (lambda done: None)
    keys = [request_key(model.stored_request(request)) for request in requests]
    readings = Readings(keys, read)
    if done := readings.take_stored(store):
        report(done)
    jobs = {key: request for key, request in zip(keys, requests, strict=True) if key not in readings}
    if jobs:
        with closing(Asking(model, store, budget)) as asking:
            run(asking.ask_each(_failed_last(jobs, store), lambda key, reply: report(readings.take(key, reply))))
    return readings.in_order()


def _failed_last(jobs: Mapping[str, Request], store: Store) -> list[_Job]:
    """In the order given, but first what never failed: calls that always fail must not end each run at its start."""
    failed = {failure.key for failure in store.failures(jobs)}
    return sorted(jobs.items(), key=lambda job: job[0] in failed)


class Asking:
    """Calls of one model, each kept in the store before it is used."""

    def __init__(self, model: Model, store: Store, budget: Budget | None = None) -> None:
        self._model = model
        self._keeper = Keeper(store)
        self._budget = budget or Budget()
        self._streams = False  # whether the endpoint answers in pieces only

    def close(self) -> None:
        """Returns when what was answered is stored, whoever asked for it."""
        self._keeper.close()

    async def ask_each(self, jobs: Sequence[_Job], on_reply: Callable[[str, Reply], None]) -> None:
        """Asks each job once; when one call raises, or the run is cancelled, all of them stop."""
        waiting = iter(jobs)
        async with Wire(self._model.endpoint, budget=self._budget) as wire:
            n_workers = min(self._model.endpoint.concurrency, len(jobs))
            workers = [asyncio.create_task(self._work(wire, waiting, on_reply)) for _ in range(n_workers)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, wire: Wire, waiting: Iterator[_Job], on_reply: Callable[[str, Reply], None]) -> None:
        for key, request in waiting:
            on_reply(key, await self.ask(wire, key, request))

    async def ask(self, wire: Wire, key: str, request: Request) -> Reply:
        """Asks, then stores, then returns."""
        started = time.monotonic()
        try:
            body = await self._post(wire, request)
        except EndpointError as error:
            return await self._fail(key, error.reason, error.raw or str(error))
        if not is_chat_reply(body):
            return await self._fail(key, "no_choices", json.dumps(body))
        await self._keeper.keep(
            FinishedCall(
                key,
                self._model.stored_request(request),
                body,
                latency_s=time.monotonic() - started,
                prompt_tokens=tokens(body, "prompt_tokens"),
                completion_tokens=tokens(body, "completion_tokens"),
                cost_usd=self._budget.cost_of(used_by(body)),
            )
        )
        return Reply(body, key=key)

    async def _post(self, wire: Wire, request: Request) -> dict[str, Any]:
        """The answer, whole or put together from pieces: how it comes changes nothing of what is asked."""
        if not self._streams:
            try:
                return await wire.post(_PATH, self._model.payload(request))
            except EndpointError as error:
                if error.reason != "refused" or "stream" not in error.raw:
                    raise
        body = await wire.post(_PATH, {**self._model.payload(request), "stream": True})
        self._streams = True
        return body

    async def _fail(self, key: str, reason: str, raw: str) -> Reply:
        if reason not in UNSENT:
            await self._keeper.keep(FailedCall(key, reason, raw))
        return Reply(failure=reason, raw=raw)
