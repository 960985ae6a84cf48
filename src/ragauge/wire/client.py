"""The client: tries, pauses, and what a call has to pass before it leaves."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from ragauge._optional import optional_import
from ragauge.errors import EndpointError, InputError
from ragauge.wire.answers import Failure, one_line, read_answer, read_text
from ragauge.wire.budget import Budget, Load, load_of, used_by
from ragauge.wire.endpoint import Endpoint, api_key
from ragauge.wire.rate import Pace, Window
from ragauge.wire.stop import StopLoss

__all__ = ["Wire"]

MAX_BACKOFF_S = 30.0
"""The longest pause between two tries that we choose ourselves."""

CONNECT_TIMEOUT_S = 10.0
"""How long a connection may take to open; a whole call has `Endpoint.timeout_s`."""

TIMEOUT_RETRIES = 2
"""A call that timed out is tried again at most this often: each try costs the whole timeout."""

FIRST_CONTACT_RETRIES = 2
"""While the server has never answered at all, a refused connection is tried again at most this often."""

SETTLE_S = 0.5
"""How often a call that waits for budget looks again, should another Wire share the budget."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class _Call:
    """One call, as often as it is tried; without a load it asks no model, and no budget is charged."""

    method: Literal["GET", "POST"]
    url: str
    body: bytes | None = None
    content_type: str = "application/json"
    reads: Literal["json", "text"] = "json"
    load: Load | None = None
    once: bool = False


class Wire:
    """Asks one endpoint: one connection pool, at most `endpoint.concurrency` calls in flight, retries inside.

    Tried again: connections that fail or break, timeouts, status 408, 409, 425, 429 and 5xx, and answers that are not
    a JSON object. A server's Retry-After (seconds or a date, at most 60 s) and its x-ratelimit headers hold back all
    calls; one that is overloaded (429, 503, a timeout) is asked half as many at once, and more again as answers come.
    Not tried again: any other status, a quota that is used up, a certificate that cannot be trusted. A server that was
    never reached is given up after two retries, and after five calls in a row were given up for one reason the rest
    are refused unsent, until a new Wire is opened.

    Args:
        endpoint: Where and how hard.
        budget: What may be spent; None = any sum. Several Wires may share one.
        seed: Seed of the random pauses.
    """

    def __init__(self, endpoint: Endpoint, *, budget: Budget | None = None, seed: int | None = None) -> None:
        self.endpoint = endpoint
        self._budget = budget or Budget()
        self._rng = random.Random(seed)
        self._window = Window(endpoint.concurrency)
        self._pace = Pace(endpoint.rpm, endpoint.tpm)
        self._stop = StopLoss()
        self._session: Any = None
        self._reached = False
        self._settled = asyncio.Event()

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

    async def post(
        self, path: str, payload: Mapping[str, object], *, tries: Literal["several", "one"] = "several"
    ) -> dict[str, Any]:
        """The JSON object the endpoint answers.

        Args:
            path: Below the base URL, such as "/chat/completions".
            payload: The request's body, JSON values only.
            tries: "one" for what must not happen twice.

        Raises:
            InputError: The payload is not JSON, the API key cannot stand in a header, or there is a cap on tokens and
                the payload does not limit the reply.
            EndpointError: The call was given up; `reason` says why in one word and `raw` holds what came. A call that
                was never sent has the reason "not_asked" (the stop-loss is open) or "budget" (a cap is reached).
        """
        body = _body_of(payload)
        load = load_of(payload, len(body))
        return await self._send(_Call("POST", self._url(path), body, load=load, once=tries == "one"))

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON object at `path`; raises as `post` does."""
        return await self._send(_Call("GET", self._url(path)))

    async def get_text(self, path: str) -> str:
        """The text at `path`, whatever it is; raises as `post` does."""
        return str((await self._send(_Call("GET", self._url(path), reads="text")))["text"])

    async def upload(self, path: str, body: bytes, *, content_type: str) -> dict[str, Any]:
        """What the endpoint answers to a body that is no JSON; raises as `post` does."""
        return await self._send(_Call("POST", self._url(path), body, content_type))

    def _url(self, path: str) -> str:
        return self.endpoint.base_url + "/" + path.lstrip("/")

    async def _send(self, call: _Call) -> dict[str, Any]:
        if self._session is None:
            raise InputError("a Wire is used inside `async with Wire(endpoint) as wire:`")
        async with self._window:
            return await self._ask(call)

    async def _ask(self, call: _Call) -> dict[str, Any]:
        """Tries until there is an answer, a failure that would not pass, or no try left."""
        tries, failure = 0, None
        while True:
            refusal = await self._wait_for_turn(call.load)
            if refusal is not None:
                raise refusal if failure is None else _error(call.url, failure, tries)
            outcome = await self._counted_try(call)
            if not isinstance(outcome, Failure):
                return outcome
            failure, tries = outcome, tries + 1
            if call.once or not outcome.passing or tries > self._retries_for(outcome.reason):
                error = _error(call.url, outcome, tries)
                self._stop.gave_up(self._judged(outcome), error)
                raise error
            bound = min(MAX_BACKOFF_S, self.endpoint.backoff_s * 2 ** (tries - 1))
            await self._stop.sleep(self._rng.uniform(0, bound))

    async def _wait_for_turn(self, load: Load | None) -> EndpointError | None:
        """Waits for the pace and takes from the budget; what forbids to ask at all, or None."""
        while True:
            await self._stop.sleep(self._pace.turn(load or Load(0, 0)) - time.monotonic())
            if self._stop.cause is not None:
                return self._stop.refusal()
            if not self._pace.is_held():
                break
        while load is not None and not self._budget.reserve(load):
            if self._budget.is_settled:
                return EndpointError("not asked: a cap of the budget is reached", reason="budget")
            self._settled.clear()
            try:
                await asyncio.wait_for(self._settled.wait(), SETTLE_S)
            except TimeoutError:
                continue
        return None

    async def _counted_try(self, call: _Call) -> dict[str, Any] | Failure:
        """One try, and what window, pace, budget and stop-loss learn from it."""
        sent_at = time.monotonic()
        outcome: dict[str, Any] | Failure | None = None
        try:
            outcome = await self._try(call)
        finally:  # a try that was cancelled may have been paid for
            if call.load is not None:
                self._budget.settle(call.load, _charge(call.load, outcome))
                self._settled.set()
        if isinstance(outcome, Failure):
            if outcome.overload:
                self._window.halve(sent_at)
            if outcome.retry_after_s is not None:
                self._pace.hold(outcome.retry_after_s)
            return outcome
        if call.load is not None:
            self._pace.settle(call.load, used_by(outcome))
        self._window.widen()
        self._stop.went_well()
        return outcome

    async def _try(self, call: _Call) -> dict[str, Any] | Failure:
        aiohttp = optional_import("aiohttp", purpose="ask a model's endpoint")
        key = api_key(self.endpoint.api_key_env)
        try:
            async with self._session.request(
                call.method, call.url, data=call.body, headers=_headers(key, call), allow_redirects=False
            ) as response:
                self._reached = True
                self._pace.learn(response.headers)
                content = await response.read()
                read = read_answer if call.reads == "json" else read_text
                return read(response.status, response.headers, content, key)
        except aiohttp.ConnectionTimeoutError:
            return Failure("unreachable", "no connection in time", unpaid=True)
        except TimeoutError:
            return Failure("timeout", f"no whole answer within {self.endpoint.timeout_s:g} s", overload=True)
        except aiohttp.ClientSSLError as error:
            message = f"no secure connection: {one_line(str(error))}; check the certificate and the https:// of the URL"
            return Failure("certificate", message, passing=False, hopeless=True, unpaid=True)
        except aiohttp.ClientConnectorError as error:
            return Failure("unreachable", one_line(str(error)), unpaid=True)
        except (aiohttp.ClientError, OSError) as error:
            return Failure("disconnected", f"the connection broke: {one_line(str(error))}")

    def _retries_for(self, reason: str) -> int:
        if reason == "unreachable" and not self._reached:
            return min(FIRST_CONTACT_RETRIES, self.endpoint.max_retries)
        return min(TIMEOUT_RETRIES, self.endpoint.max_retries) if reason == "timeout" else self.endpoint.max_retries

    def _judged(self, failure: Failure) -> Failure:
        """A server that was never reached will not be."""
        never_reached = failure.reason == "unreachable" and not self._reached
        return replace(failure, hopeless=True) if never_reached else failure


def _charge(load: Load, outcome: dict[str, Any] | Failure | None) -> Load:
    """What a try is held to have used; all that was reserved where nobody knows."""
    if isinstance(outcome, Failure):
        return Load(0, 0) if outcome.unpaid else load
    return load if outcome is None else used_by(outcome) or load


def _error(url: str, failure: Failure, tries: int) -> EndpointError:
    often = f" ({tries} tries)" if tries > 1 else ""
    return EndpointError(f"{url}: {failure.message}{often}", reason=failure.reason, raw=failure.raw)


def _body_of(payload: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(payload, allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InputError(f"the request's body must hold JSON values only: {error}") from error


def _headers(key: str, call: _Call) -> dict[str, str]:
    headers = {"Accept": "application/json" if call.reads == "json" else "*/*"}
    headers |= {"Content-Type": call.content_type} if call.body is not None else {}
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers
