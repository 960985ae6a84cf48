"""How fast an endpoint is asked: the pace that a user or the server sets, and how many calls are in flight."""

import asyncio
import math
import re
import time
from collections.abc import Mapping

from ragauge.wire.budget import Load

__all__ = ["FIRST_TOKENS_A_BYTE", "MAX_HOLD_S", "Pace", "Window", "seconds_of"]

MAX_HOLD_S = 60.0
"""The longest pause that a server's headers can ask for."""

FIRST_TOKENS_A_BYTE = 0.25
"""Tokens a byte of a request, until the first reply tells how many there were."""

_MEMORY = 0.1
"""Weight of the newest reply in the mean of tokens a byte."""

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")


class _Quota:
    """What the server's headers say is left until a time at which it is renewed."""

    def __init__(self) -> None:
        self._left = math.inf
        self._renewed_at = 0.0

    def learn(self, left: str | None, renewed: str | None) -> None:
        """Takes over one answer's headers; what cannot be read changes nothing."""
        amount, seconds = _number(left), seconds_of(renewed)
        if amount is not None and seconds is not None:
            self._left, self._renewed_at = amount, time.monotonic() + min(seconds, MAX_HOLD_S)

    def take(self, amount: float, at: float) -> float:
        """When the amount may be taken, `at` or later."""
        if at >= self._renewed_at:
            self._left = math.inf
        if self._left < amount:
            return self._renewed_at
        self._left -= amount
        return at


class Pace:
    """When the next try may leave.

    Tries leave evenly: with `rpm` requests a minute one every 60 / rpm s, so any t seconds see at most rpm t / 60 + 1
    of them. `tpm` works alike for tokens, which are estimated before a try and put right after it. Beyond this the
    server rules: a Retry-After holds everything, and where its x-ratelimit headers say that too little is left for the
    next try, that try waits until the time at which they say it is renewed.

    Args:
        rpm: Requests a minute; None = no limit of ours.
        tpm: Tokens a minute, read and written together; None = no limit of ours.
    """

    def __init__(self, rpm: float | None = None, tpm: float | None = None) -> None:
        self._request_s = 60.0 / rpm if rpm else 0.0
        self._token_s = 60.0 / tpm if tpm else 0.0
        self._requests_from = self._tokens_from = self._not_before = 0.0
        self._tokens_a_byte = FIRST_TOKENS_A_BYTE
        self._requests, self._tokens = _Quota(), _Quota()

    def tokens(self, load: Load) -> float:
        """How many tokens a try is expected to take, by those that came before it."""
        return load.prompt_tokens * self._tokens_a_byte + (load.completion_tokens or 0)

    def is_held(self) -> bool:
        """Whether nothing may leave now."""
        return time.monotonic() < self._not_before

    def turn(self, load: Load) -> float:
        """When a try may leave, on the clock of `time.monotonic`; the turn is taken."""
        tokens = self.tokens(load)
        earliest = max(time.monotonic(), self._not_before)
        at = max(earliest, self._requests_from, self._tokens_from)
        self._requests_from = max(earliest, self._requests_from) + self._request_s
        self._tokens_from = max(earliest, self._tokens_from) + tokens * self._token_s
        return max(self._requests.take(1, at), self._tokens.take(tokens, at))

    def settle(self, load: Load, used: Load | None) -> None:
        """Puts the estimate of a finished try right by the tokens it used; None = the endpoint did not tell."""
        if used is None:
            return
        used_tokens = used.prompt_tokens + (used.completion_tokens or 0)
        self._tokens_from += (used_tokens - self.tokens(load)) * self._token_s
        if load.prompt_tokens:
            self._tokens_a_byte += _MEMORY * (used.prompt_tokens / load.prompt_tokens - self._tokens_a_byte)

    def hold(self, seconds: float) -> None:
        """No try leaves within the next seconds, at most MAX_HOLD_S."""
        self._not_before = max(self._not_before, time.monotonic() + min(max(seconds, 0.0), MAX_HOLD_S))

    def learn(self, headers: Mapping[str, str]) -> None:
        """Takes over what the x-ratelimit headers of an answer say."""
        for quota, kind in ((self._requests, "requests"), (self._tokens, "tokens")):
            quota.learn(headers.get(f"x-ratelimit-remaining-{kind}"), headers.get(f"x-ratelimit-reset-{kind}"))


class Window:
    """How many calls may be in flight: halved when the server is overloaded, one more for each round that goes well.

    A failure halves it only if its try left after the last halving: one overload fails many calls at once.

    Args:
        most: Its size at first, never exceeded.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = float(most)
        self._free = asyncio.Semaphore(most)
        self._owed = 0  # slots to take back when calls end
        self._halved_at = 0.0

    @property
    def size(self) -> int:
        """Calls that may be in flight now."""
        return int(self._size)

    async def __aenter__(self) -> None:
        await self._free.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._give()

    def halve(self, sent_at: float) -> None:
        """A try that left at `sent_at` found the server overloaded."""
        if sent_at < self._halved_at:
            return
        self._halved_at = time.monotonic()
        before = self.size
        self._size = max(1.0, self._size / 2)
        self._owed += before - self.size

    def widen(self) -> None:
        """A call went well."""
        before = self.size
        self._size = min(float(self._most), self._size + 1.0 / self._size)
        if self.size > before:
            self._give()

    def _give(self) -> None:
        if self._owed:
            self._owed -= 1
        else:
            self._free.release()


def seconds_of(text: str | None) -> float | None:
    """A duration as rate limit headers write it, in seconds; None for what is none.

    >>> [seconds_of(text) for text in ("1s", "6m0s", "120ms", "2.5", "soon")]
    [1.0, 360.0, 0.12, 2.5, None]
    """
    found = _number(text)
    if found is not None:
        return found
    if text is None or not _DURATION.fullmatch(text.strip()):
        return None
    return sum(float(n) * _UNIT_S[unit] for n, unit in _PART.findall(text))


def _number(text: str | None) -> float | None:
    """A plain number of 0 or more."""
    return float(text) if text and re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None
