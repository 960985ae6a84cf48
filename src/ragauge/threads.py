"""The same work on many blocks, on as many processors as this process may use; the results are those of a plain loop.

Threads suffice: numpy and Arrow let go of the interpreter while they compute.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["each"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_THREADS = 4
"""Beyond it memory, and what is done in Python between two steps, are what threads wait for."""


def each(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`work` of each item, in the order of the items; where several fail, the error of the first is raised.

    Args:
        work: Must not change what the work on another item reads or changes.
        items: Worth about a millisecond each, or more; one alone is done without a thread.

    >>> list(each(abs, [3, -1, -2]))
    [3, 1, 2]
    """
    items = list(items)
    n_threads = min(len(items), _n_processors(), _MOST_THREADS)
    if n_threads < 2:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor  # needed by much work only, and not free to import

    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(work, items)


def _n_processors() -> int:
    """Those this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
