"""Runs a coroutine to its end from ordinary code, whether or not an event loop is running there."""

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of `coroutine`, run on an event loop of its own in a thread of its own.

    So it works where a loop is running already (a notebook, a web server) and changes nothing of it. The caller waits.
    Ctrl-C cancels the coroutine, waits for its clean-up and is raised again.

    Example:
        >>> async def two() -> int:
        ...     return 2
        >>> run(two())
        2
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    left = threading.Event()

    async def announced() -> T:
        task = asyncio.current_task()
        if task is not None:
            started.set_result((asyncio.get_running_loop(), task))
            if left.is_set():
                task.cancel()
        return await coroutine

    with ThreadPoolExecutor(1, thread_name_prefix="ragauge-wire") as thread:
        try:  # Ctrl-C may come as early as inside submit, when the coroutine runs already
            return _wait(thread.submit(contextvars.copy_context().run, _alone, announced()))
        finally:
            left.set()
            if started.done():
                loop, task = started.result()
                with suppress(RuntimeError):  # the loop has ended in the meantime: nothing is left to cancel
                    loop.call_soon_threadsafe(task.cancel)


def _alone(coroutine: Coroutine[Any, Any, T]) -> T:
    """On a loop that is made and closed here; packages that patch `asyncio.run` have no say in it."""
    with asyncio.Runner() as runner:
        return runner.run(coroutine)


def _wait(result: "Future[T]") -> T:
    """Waits in short turns: on Windows a wait without an end does not see Ctrl-C."""
    while True:
        try:
            return result.result(timeout=0.2)
        except TimeoutError:
            if result.done():
                return result.result()
