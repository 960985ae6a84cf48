"""Puts what was answered on the disk, in a thread of its own: what comes during one write goes into the next together.

A write waits some milliseconds for the disk and costs as much for one reply as for ten; answers come faster than that.
The thread belongs to no event loop, so what it was given is stored even when whoever asked has been cancelled.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue

from ragauge.store import FinishedCall, Store

__all__ = ["FailedCall", "Keeper"]

LINGER_S = 0.003
"""Between the first of some answers and their write: calls that left together are answered within it."""


@dataclass(frozen=True)
class FailedCall:
    """A call that brought no answer.

    Attributes:
        key: Of the request.
        reason: Why, in one word.
        raw: What the endpoint sent.
    """

    key: str
    reason: str
    raw: str


@dataclass(frozen=True)
class _Item:
    call: FinishedCall | FailedCall
    kept: "asyncio.Future[None]"


class Keeper:
    """Keeps calls in a store, in the order they came. Used from one event loop.

    Args:
        store: Where to.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._items: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="ragauge-keeper", daemon=True)
        self._thread.start()

    async def keep(self, call: FinishedCall | FailedCall) -> None:
        """Returns when the call is on the disk.

        Raises:
            InputError: It cannot be stored, or one that was to be stored with it.
            StoreError: The store cannot be written.
        """
        item = _Item(call, asyncio.get_running_loop().create_future())
        self._items.put(item)
        await item.kept

    def close(self) -> None:
        """Returns when all it was given is on the disk, or could not be stored."""
        self._items.put(None)
        self._thread.join()

    def _work(self) -> None:
        for items in self._waiting():
            error: Exception | None = None
            try:
                self._put([item.call for item in items])
            except Exception as raised:  # belongs to those who wait for it
                error = raised
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                items[0].kept.get_loop().call_soon_threadsafe(_tell, [item.kept for item in items], error)

    def _waiting(self) -> Iterator[list[_Item]]:
        """What has come since the last write, until the end is announced; nothing comes after it."""
        is_open = True
        while is_open:
            items = [self._items.get()]
            time.sleep(LINGER_S)
            while not self._items.empty():
                items.append(self._items.get())
            is_open = None not in items
            if calls := [item for item in items if item is not None]:
                yield calls

    def _put(self, calls: Sequence[FinishedCall | FailedCall]) -> None:
        answered = [call for call in calls if isinstance(call, FinishedCall)]
        if answered:
            self._store.put_replies(answered)
        for call in calls:
            if isinstance(call, FailedCall):
                self._store.put_failure(call.key, call.reason, call.raw)


def _tell(waiting: "Sequence[asyncio.Future[None]]", error: Exception | None) -> None:
    for future in waiting:
        if future.done():  # whoever waited was cancelled
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
