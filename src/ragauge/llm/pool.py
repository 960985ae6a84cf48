"""Asks many requests: what the store holds is not asked, what is asked is stored before it is used.

Requests are sent in the order given, as many at once as the endpoint allows. The order matters to servers that keep
the beginning of the last prompt: put next to each other what begins alike.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ragauge.errors import EndpointError
from ragauge.llm.model import Model, Request
from ragauge.llm.reply import Reply, is_chat_reply, tokens
from ragauge.store import Store, request_key
from ragauge.wire import Wire, run

__all__ = ["ask_all"]

_PATH = "/chat/completions"

_Job = tuple[str, Request]


def ask_all(
    requests: Sequence[Request], *, model: Model, store: Store, on_progress: Callable[[int], None] | None = None
) -> list[Reply]:
    """The reply to each request, in order; a call that failed is a reply that says so, and the others go on.

    Equal requests are asked once. A failed call is noted in the store and asked again by the next run. Stopped at any
    point, by Ctrl-C or SIGKILL, nothing that was answered is lost, and nothing stored is asked again.

    Args:
        requests: Any number; equal ones are allowed.
        model: Whom to ask.
        store: Holds what was answered before, and keeps what is answered now.
        on_progress: Called with the number of requests just done, from another thread than the caller's.

    Raises:
        MissingExtraError: aiohttp is not installed, and something has to be asked.
        StoreError: The store cannot be read or written.
    """
    report = on_progress or (lambda done: None)
    keys = [request_key(model.stored_request(request)) for request in requests]
    stored = store.replies(dict.fromkeys(keys))
    replies = {key: Reply(found.reply, from_store=True) for key, found in stored.items()}
    how_often = Counter(keys)
    if done := sum(how_often[key] for key in replies):
        report(done)
    jobs = {key: request for key, request in zip(keys, requests, strict=True) if key not in replies}
    if jobs:
        asking = _Asking(model, store, lambda key: report(how_often[key]))
        replies.update(run(asking.answers(list(jobs.items()))))
    return _first_is_asked(keys, replies)


def _first_is_asked(keys: Sequence[str], replies: Mapping[str, Reply]) -> list[Reply]:
    """One reply a key; where equal requests were asked once, the later ones count as from the store."""
    seen: set[str] = set()
    out = []
    for key in keys:
        out.append(replace(replies[key], from_store=True) if key in seen else replies[key])
        seen.add(key)
    return out


class _Asking:
    """One run of calls: workers that share a list of jobs and a wire."""

    def __init__(self, model: Model, store: Store, on_done: Callable[[str], None]) -> None:
        self._model = model
        self._store = store
        self._on_done = on_done

    async def answers(self, jobs: Sequence[_Job]) -> dict[str, Reply]:
        """The reply of each job; when one worker fails, or the run is cancelled, all of them stop."""
        replies: dict[str, Reply] = {}
        waiting = iter(jobs)
        async with Wire(self._model.endpoint) as wire:
            n_workers = min(self._model.endpoint.concurrency, len(jobs))
            workers = [asyncio.create_task(self._work(wire, waiting, replies)) for _ in range(n_workers)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        return replies

    async def _work(self, wire: Wire, waiting: Iterator[_Job], replies: dict[str, Reply]) -> None:
        for key, request in waiting:
            replies[key] = await self._ask(wire, key, request)
            self._on_done(key)

    async def _ask(self, wire: Wire, key: str, request: Request) -> Reply:
        """Asks, then stores, then returns; the store waits for the disk, so it works in another thread."""
        started = time.monotonic()
        try:
            body = await wire.post(_PATH, self._model.payload(request))
        except EndpointError as error:
            return await self._fail(key, error.reason, error.raw or str(error))
        if not is_chat_reply(body):
            return await self._fail(key, "no_choices", json.dumps(body))
        await asyncio.to_thread(
            self._store.put_reply,
            key,
            request=self._model.stored_request(request),
            reply=body,
            latency_s=time.monotonic() - started,
            prompt_tokens=tokens(body, "prompt_tokens"),
            completion_tokens=tokens(body, "completion_tokens"),
        )
        return Reply(body)

    async def _fail(self, key: str, reason: str, raw: str) -> Reply:
        await asyncio.to_thread(self._store.put_failure, key, reason, raw)
        return Reply(failure=reason, raw=raw)
