"""What is read from replies, one by one as they come: a reply is some kilobytes, what is read from it a few words."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from ragauge.llm.reply import Reply
from ragauge.store import Store

__all__ = ["Readings", "stored_replies"]

T = TypeVar("T")

_PART = 1000
"""Stored replies that are in memory at once."""


class Readings(Generic[T]):
    """What was read from the reply to each of some requests; equal requests share one reply.

    Args:
        keys: Of the requests, in order; a key that stands there again counts as from the store.
        read: Makes of a reply what is kept.
    """

    def __init__(self, keys: Sequence[str], read: Callable[[Reply], T]) -> None:
        self._keys = keys
        self._how_often = Counter(keys)
        self._read = read
        self._found: dict[str, Iterator[T]] = {}

    def take(self, key: str, reply: Reply) -> int:
        """Reads the reply to `key`, and returns how many of the requests it answers."""
        n = self._how_often[key]
        readings = [self._read(reply)]
        if n > 1:
            readings += [self._read(replace(reply, from_store=True))] * (n - 1)
        self._found[key] = iter(readings)
        return n

    def take_stored(self, store: Store) -> int:
        """Reads what the store holds and was not read yet, and returns how many of the requests that answers."""
        missing = [key for key in self._how_often if key not in self._found]
        return sum(self.take(key, reply) for key, reply in stored_replies(missing, store))

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def in_order(self) -> list[T]:
        """One a request; to be called once, when each key has its reply."""
        return [next(self._found[key]) for key in self._keys]


def stored_replies(keys: Sequence[str], store: Store) -> Iterator[tuple[str, Reply]]:
    """Key and reply of what the store holds."""
    for start in range(0, len(keys), _PART):
        for key, stored in store.replies(keys[start : start + _PART]).items():
            yield key, Reply(stored.reply, from_store=True, key=key)
