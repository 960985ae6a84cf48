"""An open line to a model: connections that stay open between calls, on an event loop of its own.

Opening a connection to a server far away takes longer than many a reply. And calls that nobody waits for any more must
be able to end, and be stored, after the loop of whoever asked has gone on to other things.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from ragauge.errors import InputError
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import Asking
from ragauge.llm.readings import Readings
from ragauge.llm.reply import Reply
from ragauge.store import Store, request_key
from ragauge.wire import Wire

__all__ = ["Line"]

T = TypeVar("T")


class Line:
    """Asks one model as `ask_all` does, over connections that stay open. Safe to use from any number of threads.

    Where the wire has given the endpoint up, the next call begins with a new one.

    Args:
        model: Whom to ask.
        store: Holds and keeps all replies.

    Raises:
        MissingExtraError: aiohttp is not installed.
    """

    def __init__(self, model: Model, store: Store) -> None:
        self._asking = Asking(model, store)
        self._model, self._store = model, store
        self._wire: Wire | None = None
        self._n_calls: Counter[Wire] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ragauge-line", daemon=True)
        self._thread.start()
        try:
            self._run(self._open_wire())  # now, so that the first call does not wait for it
        except BaseException:
            self.close()
            raise

    def ask(
        self,
        requests: Sequence[Request],
        *,
        model: Model,
        store: Store,
        read: Callable[[Reply], T],
        on_progress: Callable[[int], None] | None = None,
    ) -> list[T]:
        """What `read` makes of each reply, in order: an `llm.Ask`. Blocks; call it from a thread that may wait."""
        if model is not self._model or store is not self._store:
            raise InputError("a line asks the model, and keeps replies in the store, that it was opened with")
        keys = [request_key(model.stored_request(request)) for request in requests]
        readings = Readings(keys, read)
        readings.take_stored(store)
        jobs = {key: request for key, request in zip(keys, requests, strict=True) if key not in readings}
        if jobs:
            for key, reply in self._run(self._answers(jobs)).items():
                readings.take(key, reply)
        if on_progress is not None:
            on_progress(len(keys))
        return readings.in_order()

    def close(self) -> None:
        """Closes the connections; calls still on their way are lost, so wait for those who asked first."""
        if self._loop.is_closed():
            return
        self._run(self._hang_up())
        self._asking.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _answers(self, jobs: dict[str, Request]) -> dict[str, Reply]:
        wire = await self._open_wire()
        self._n_calls[wire] += 1
        try:
            found = await asyncio.gather(*(self._asking.ask(wire, key, request) for key, request in jobs.items()))
            if wire is self._wire and any(reply.failure == "not_asked" for reply in found):
                self._wire = None  # it has given up
            return dict(zip(jobs, found, strict=True))
        finally:
            self._n_calls[wire] -= 1
            if wire is not self._wire and not self._n_calls[wire]:
                del self._n_calls[wire]
                await _close(wire)

    async def _open_wire(self) -> Wire:
        if self._wire is None:
            self._wire = await Wire(self._model.endpoint).__aenter__()
        return self._wire

    async def _hang_up(self) -> None:
        if self._wire is not None:
            await _close(self._wire)


async def _close(wire: Wire) -> None:
    await wire.__aexit__(None, None, None)
