"""The client: slots, tries, pauses and the stop-loss."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Self
from urllib.parse import urlsplit

from ragauge._optional import optional_import
from ragauge.errors import EndpointError, InputError
from ragauge.wire.answers import Failure, one_line, read_answer
from ragauge.wire.endpoint import Endpoint, api_key

__all__ = ["Wire"]

MAX_BACKOFF_S = 30.0
"""The longest pause between two tries that we choose ourselves."""

CONNECT_TIMEOUT_S = 10.0
"""How long a connection may take to open; a whole call has `Endpoint.timeout_s`."""

TIMEOUT_RETRIES = 2
"""A call that timed out is tried again at most this often: each try costs the whole timeout."""

FIRST_CONTACT_RETRIES = 2
"""While the server has never answered at all, a refused connection is tried again at most this often."""

STOP_AFTER_CALLS = 5
"""After this many calls in a row were given up for the same reason, the rest are not sent."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Wire:
    """Asks one endpoint: one connection pool, at most `endpoint.concurrency` calls in flight, retries inside.

    Tried again: connections that fail or break, timeouts, status 408, 409, 425, 429 and 5xx, and answers that are not
    a JSON object. A server's Retry-After (seconds or a date, at most 60 s) holds back all calls. Not tried again: any
    other status, and a quota that is used up. A server that was never reached is given up after two retries, and
    after five calls in a row were given up for one reason the rest are refused unsent, until a new Wire is opened.

    Args:
        endpoint: Where and how hard.
        seed: Seed of the random pauses.
    """

    def __init__(self, endpoint: Endpoint, *, seed: int | None = None) -> None:
        self.endpoint = endpoint
        self._rng = random.Random(seed)
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._session: Any = None
        self._reached = False
        self._not_before = 0.0
        self._given_up: list[str] = []
        self._stopped: EndpointError | None = None
        self._stop = asyncio.Event()

    async def __aenter__(self) -> Self:
        aiohttp = optional_import("aiohttp", purpose="ask a model's endpoint")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.endpoint.concurrency),
            timeout=aiohttp.ClientTimeout(
                total=self.endpoint.timeout_s, sock_connect=min(CONNECT_TIMEOUT_S, self.endpoint.timeout_s)
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=urlsplit(self.endpoint.base_url).hostname not in _LOOPBACK,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        await session.close()

    async def post(self, path: str, payload: Mapping[str, object]) -> dict[str, Any]:
        """The JSON object the endpoint answers.

        Args:
            path: Below the base URL, such as "/chat/completions".
            payload: The request's body, JSON values only.

        Raises:
            InputError: The payload is not JSON, or the API key cannot stand in a header.
            EndpointError: The call was given up; `reason` says why in one word and `raw` holds what came.
        """
        if self._session is None:
            raise InputError("a Wire is used inside `async with Wire(endpoint) as wire:`")
        body = _body_of(payload)
        url = self.endpoint.base_url + "/" + path.lstrip("/")
        async with self._slots:
            return await self._ask(url, body)

    async def _ask(self, url: str, body: bytes) -> dict[str, Any]:
        """Tries until there is an answer, a failure that would not pass, or no try left."""
        tries = 0
        while True:
            await self._wait_for_turn()
            outcome = await self._try(url, body)
            if not isinstance(outcome, Failure):
                self._given_up.clear()
                return outcome
            tries += 1
            if not outcome.passing or tries > self._retries_for(outcome.reason):
                self._give_up(url, outcome, tries)
            await self._pause(outcome, tries)

    async def _try(self, url: str, body: bytes) -> dict[str, Any] | Failure:
        aiohttp = optional_import("aiohttp", purpose="ask a model's endpoint")
        key = api_key(self.endpoint.api_key_env)
        try:
            async with self._session.post(url, data=body, headers=_headers(key), allow_redirects=False) as response:
                self._reached = True
                content = await response.read()
                return read_answer(response.status, response.headers, content, key)
        except aiohttp.ConnectionTimeoutError:
            return Failure("unreachable", "no connection in time")
        except TimeoutError:
            return Failure("timeout", f"no whole answer within {self.endpoint.timeout_s:g} s")
        except aiohttp.ClientConnectorError as error:
            return Failure("unreachable", one_line(str(error)))
        except (aiohttp.ClientError, OSError) as error:
            return Failure("disconnected", f"the connection broke: {one_line(str(error))}")

    def _retries_for(self, reason: str) -> int:
        if reason == "unreachable" and not self._reached:
            return min(FIRST_CONTACT_RETRIES, self.endpoint.max_retries)
        return min(TIMEOUT_RETRIES, self.endpoint.max_retries) if reason == "timeout" else self.endpoint.max_retries

    async def _pause(self, failure: Failure, tries: int) -> None:
        """A full-jitter pause; what the server asked for holds back every call, not just this one."""
        if failure.retry_after_s is not None:
            self._not_before = max(self._not_before, time.monotonic() + failure.retry_after_s)
        bound = min(MAX_BACKOFF_S, self.endpoint.backoff_s * 2 ** (tries - 1))
        await self._sleep(self._rng.uniform(0, bound))

    async def _sleep(self, seconds: float) -> None:
        """Sleeps, and wakes early when the stop-loss opens."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stop.wait()

    def _give_up(self, url: str, failure: Failure, tries: int) -> NoReturn:
        often = f" ({tries} tries)" if tries > 1 else ""
        error = EndpointError(f"{url}: {failure.message}{often}", reason=failure.reason, raw=failure.raw)
        self._count(failure, error)
        raise error

    def _count(self, failure: Failure, error: EndpointError) -> None:
        """Opens the stop-loss after enough calls given up in a row for one reason."""
        if not failure.endpoint_wide or (self._given_up and self._given_up[-1] != failure.reason):
            self._given_up.clear()
        if failure.endpoint_wide:
            self._given_up.append(failure.reason)
        never_reached = failure.reason == "unreachable" and not self._reached
        if never_reached or len(self._given_up) >= STOP_AFTER_CALLS:
            self._stopped = self._stopped or error
            self._stop.set()

    async def _wait_for_turn(self) -> None:
        """Waits while the server asked for a pause; raises when the stop-loss is open."""
        while self._stopped is None and (wait_s := self._not_before - time.monotonic()) > 0:
            await self._sleep(wait_s)
        if self._stopped is not None:
            raise EndpointError(
                f"not asked, as earlier calls failed for good: {self._stopped}", reason=self._stopped.reason
            )


def _body_of(payload: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(payload, allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InputError(f"the request's body must hold JSON values only: {error}") from error


def _headers(key: str) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers
