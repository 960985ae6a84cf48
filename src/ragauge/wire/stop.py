"""The stop-loss: after calls that were given up again and again for one reason, the rest are not sent."""

import asyncio
from contextlib import suppress

from ragauge.errors import EndpointError
from ragauge.wire.answers import Failure

__all__ = ["STOP_AFTER_CALLS", "StopLoss"]

STOP_AFTER_CALLS = 5
"""After this many calls in a row were given up for the same reason, the rest are not sent."""


class StopLoss:
    """Counts calls given up, and opens when asking on would be pointless."""

    def __init__(self) -> None:
        self.cause: EndpointError | None = None
        self._given_up: list[str] = []
        self._opened = asyncio.Event()

    def went_well(self) -> None:
        """An answer came; what failed before it counts no more."""
        self._given_up.clear()

    def gave_up(self, failure: Failure, error: EndpointError) -> None:
        """A call was given up."""
        if not failure.endpoint_wide or (self._given_up and self._given_up[-1] != failure.reason):
            self._given_up.clear()
        if failure.endpoint_wide:
            self._given_up.append(failure.reason)
        if failure.hopeless or len(self._given_up) >= STOP_AFTER_CALLS:
            self.cause = self.cause or error
            self._opened.set()

    def refusal(self) -> EndpointError | None:
        """Why a call that was never sent is not sent; None while calls may be."""
        if self.cause is None:
            return None
        return EndpointError(f"not asked, as earlier calls failed for good: {self.cause}", reason="not_asked")

    async def sleep(self, seconds: float) -> None:
        """Sleeps, and wakes early when the stop-loss opens."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._opened.wait()
