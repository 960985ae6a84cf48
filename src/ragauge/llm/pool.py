"""Asks many requests: what the store holds is not asked, what is asked is stored before it is used.

Requests are sent in the order given, as many at once as the endpoint allows. The order matters to servers that keep
the beginning of the last prompt: put next to each other what begins alike.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from ragauge.errors import EndpointError
from ragauge.llm.model import Model, Request
from ragauge.llm.reply import Reply, is_chat_reply, tokens
from ragauge.store import Store, request_key
from ragauge.wire import Budget, Wire, run
from ragauge.wire.budget import used_by

__all__ = ["UNSENT", "Ask", "Asking", "ask_all", "in_order", "stored_replies"]

UNSENT = frozenset({"not_asked", "budget"})
"""Why a request was never sent; nothing happened that the store would have to note."""

STORING_THREADS = 64
"""Replies that are put on the disk in one transaction, at most: measured, more save nothing."""

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
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Reply]:
        """The reply to each request, in order."""


def ask_all(
    requests: Sequence[Request],
    *,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> list[Reply]:
    """The reply to each request, in order; a call that failed is a reply that says so, and the others go on.

    Equal requests are asked once. A failed call is noted in the store and asked again by the next run; one that was
    never sent, because the endpoint was given up or the budget is spent, is not noted. Stopped at any point, by Ctrl-C
    or SIGKILL, nothing that was answered is lost, and nothing stored is asked again.

    Args:
        requests: Any number; equal ones are allowed.
        model: Whom to ask.
        store: Holds what was answered before, and keeps what is answered now.
        on_progress: Called with the number of requests just done, from another thread than the caller's.
        budget: What may be spent; None = any sum. Give one budget to several calls and they share it.

    Raises:
        InputError: The budget caps tokens or cost, and a request does not limit its reply.
        MissingExtraError: aiohttp is not installed, and something has to be asked.
        StoreError: The store cannot be read or written.
    """
    report = on_progress or (lambda done: None)
    keys = [request_key(model.stored_request(request)) for request in requests]
    replies = stored_replies(keys, store)
    how_often = Counter(keys)
    if done := sum(how_often[key] for key in replies):
        report(done)
    jobs = {key: request for key, request in zip(keys, requests, strict=True) if key not in replies}
    if jobs:
        asking = Asking(model, store, budget, lambda key: report(how_often[key]))
        replies.update(run(asking.answers(list(jobs.items()))))
    return in_order(keys, replies)


def stored_replies(keys: Sequence[str], store: Store) -> dict[str, Reply]:
    """What the store holds already, by key."""
    found = store.replies(dict.fromkeys(keys))
    return {key: Reply(stored.reply, from_store=True) for key, stored in found.items()}


def in_order(keys: Sequence[str], replies: Mapping[str, Reply]) -> list[Reply]:
    """One reply a key; where equal requests were asked once, the later ones count as from the store."""
    seen: set[str] = set()
    out = []
    for key in keys:
        out.append(replace(replies[key], from_store=True) if key in seen else replies[key])
        seen.add(key)
    return out


class Asking:
    """One run of calls: workers that share a list of jobs and a wire."""

    def __init__(self, model: Model, store: Store, budget: Budget | None, on_done: Callable[[str], None]) -> None:
        self._model = model
        self._store = store
        self._threads = ThreadPoolExecutor(
            min(model.endpoint.concurrency, STORING_THREADS), thread_name_prefix="ragauge-store"
        )
        self._budget = budget or Budget()
        self._on_done = on_done
        self._streams = False  # whether the endpoint answers in pieces only

    async def answers(self, jobs: Sequence[_Job]) -> dict[str, Reply]:
        """The reply of each job; when one worker fails, or the run is cancelled, all of them stop."""
        replies: dict[str, Reply] = {}
        waiting = iter(jobs)
        async with Wire(self._model.endpoint, budget=self._budget) as wire:
            n_workers = min(self._model.endpoint.concurrency, len(jobs))
            workers = [asyncio.create_task(self._work(wire, waiting, replies)) for _ in range(n_workers)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                self._threads.shutdown()  # waits until what was answered is stored, whoever asked for it
        return replies

    async def _work(self, wire: Wire, waiting: Iterator[_Job], replies: dict[str, Reply]) -> None:
        for key, request in waiting:
            replies[key] = await self.ask(wire, key, request)
            self._on_done(key)

    async def ask(self, wire: Wire, key: str, request: Request) -> Reply:
        """Asks, then stores, then returns."""
        started = time.monotonic()
        try:
            body = await self._post(wire, request)
        except EndpointError as error:
            return await self._fail(key, error.reason, error.raw or str(error))
        if not is_chat_reply(body):
            return await self._fail(key, "no_choices", json.dumps(body))
        put_reply = partial(
            self._store.put_reply,
            key,
            request=self._model.stored_request(request),
            reply=body,
            latency_s=time.monotonic() - started,
            prompt_tokens=tokens(body, "prompt_tokens"),
            completion_tokens=tokens(body, "completion_tokens"),
            cost_usd=self._budget.cost_of(used_by(body)),
        )
        await self._stored(put_reply)
        return Reply(body)

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
            await self._stored(partial(self._store.put_failure, key, reason, raw))
        return Reply(failure=reason, raw=raw)

    async def _stored(self, put: Callable[[], None]) -> None:
        """Puts it on the disk; that waits, so it is done in another thread, and those at it together share one wait."""
        await asyncio.get_running_loop().run_in_executor(self._threads, put)
