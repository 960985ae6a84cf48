"""What a run may cost: reserved before each try, settled after it, so that calls side by side cannot overshoot."""

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from ragauge.errors import InputError

__all__ = ["Budget", "Load", "Prices", "load_of", "used_by"]


@dataclass(frozen=True)
class Load:
    """Tokens of one try.

    Attributes:
        prompt_tokens: Tokens read. Before the try: the bytes of its request, as a token takes at least one byte.
        completion_tokens: Tokens written. Before the try: the request's limit, None where it sets none.
    """

    prompt_tokens: int
    completion_tokens: int | None


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, in US dollars.

    Attributes:
        read_usd: A million tokens of prompts.
        written_usd: A million tokens of replies.

    Raises:
        InputError: A price is below 0 or not finite.
    """

    read_usd: float
    written_usd: float

    def __post_init__(self) -> None:
        for price in (self.read_usd, self.written_usd):
            if not (math.isfinite(price) and price >= 0):
                raise InputError(f"a price must be a number of dollars a million tokens, 0 or more, got {price}")

    def cost_usd(self, read: int, written: int) -> Fraction:
        """Exact, as prices are decimal fractions.

        >>> float(Prices(0.15, 0.6).cost_usd(1_000_000, 100_000))
        0.21
        """
        return (Fraction(str(self.read_usd)) * read + Fraction(str(self.written_usd)) * written) / 1_000_000


class Budget:
    """What one run may spend at most.

    Before a try leaves, the most it can take is reserved: one call, the bytes of its request as tokens read, and its
    token limit as tokens written. After it, tokens are settled by what the endpoint says it used; a try that was
    answered with an error cost none; one that timed out, broke off or told nothing is charged what was reserved. Calls
    count tries, failed ones as well. So no cap is passed unless the endpoint itself counts more tokens than bytes.

    Args:
        max_calls: Tries; None = any number.
        max_tokens: Tokens read and written; None = any number.
        max_cost_usd: Dollars; None = any sum.
        prices: Needed for `max_cost_usd`.

    Raises:
        InputError: A cap below 0, or a sum without prices.

    Example:
        >>> budget = Budget(max_tokens=100)
        >>> budget.reserve(Load(60, 1)), budget.reserve(Load(60, 1))
        (True, False)
        >>> budget.settle(Load(60, 1), Load(15, 1))
        >>> budget.reserve(Load(60, 1)), budget.spent.prompt_tokens
        (True, 15)
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        prices: Prices | None = None,
    ) -> None:
        _check_caps({"max_calls": max_calls, "max_tokens": max_tokens, "max_cost_usd": max_cost_usd})
        if max_cost_usd is not None and prices is None:
            raise InputError("a cap on cost needs the prices of a million tokens read and written")
        self._max_calls, self._max_tokens = max_calls, max_tokens
        self._max_cost = None if max_cost_usd is None else Fraction(str(max_cost_usd))
        self._prices = prices
        self._calls = self._pending = 0
        self._read = self._written = 0  # settled
        self._reserved_read = self._reserved_written = 0
        self._lock = threading.Lock()

    @property
    def calls(self) -> int:
        """Tries so far."""
        return self._calls

    @property
    def spent(self) -> Load:
        """Tokens of the tries that are over."""
        return Load(self._read, self._written)

    @property
    def cost_usd(self) -> float | None:
        """Cost of the tries that are over; None without prices."""
        return self.cost_of(self.spent)

    def cost_of(self, used: Load | None) -> float | None:
        """Cost of these tokens; None without prices, or where nobody knows how many there were."""
        if self._prices is None or used is None:
            return None
        return float(self._prices.cost_usd(used.prompt_tokens, used.completion_tokens or 0))

    @property
    def is_settled(self) -> bool:
        """Whether no try is under way, so that nothing more can be given back."""
        return self._pending == 0

    def reserve(self, load: Load) -> bool:
        """Sets aside what a try can take at most; False, and nothing is set aside, where a cap forbids it.

        Raises:
            InputError: There is a cap on tokens or cost, and the request sets no limit to its reply.
        """
        if load.completion_tokens is None and (self._max_tokens is not None or self._max_cost is not None):
            raise InputError("a cap on tokens or cost needs requests that limit their reply: set max_tokens")
        written = load.completion_tokens or 0
        with self._lock:
            if not self._fits(load.prompt_tokens, written):
                return False
            self._calls += 1
            self._pending += 1
            self._reserved_read += load.prompt_tokens
            self._reserved_written += written
            return True

    def settle(self, reserved: Load, used: Load) -> None:
        """Replaces what was reserved for a try by what it used."""
        with self._lock:
            self._pending -= 1
            self._reserved_read -= reserved.prompt_tokens
            self._reserved_written -= reserved.completion_tokens or 0
            self._read += used.prompt_tokens
            self._written += used.completion_tokens or 0

    def _fits(self, read: int, written: int) -> bool:
        read += self._read + self._reserved_read
        written += self._written + self._reserved_written
        if self._max_calls is not None and self._calls >= self._max_calls:
            return False
        if self._max_tokens is not None and read + written > self._max_tokens:
            return False
        return self._max_cost is None or self._prices is None or self._prices.cost_usd(read, written) <= self._max_cost


def load_of(payload: Mapping[str, object], size_bytes: int) -> Load:
    """The most that one try of a request can take."""
    if "messages" not in payload:
        return Load(size_bytes, 0)
    limits = [payload.get(name) for name in ("max_completion_tokens", "max_tokens")]
    known = [limit for limit in limits if isinstance(limit, int) and limit >= 0]
    return Load(size_bytes, max(known, default=None))


def used_by(reply: Mapping[str, object]) -> Load | None:
    """Tokens by the endpoint's own count; None where it told none."""
    usage = reply.get("usage")
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(read, int) or read < 0:
        return None
    return Load(read, written if isinstance(written, int) and written >= 0 else 0)


def _check_caps(caps: Mapping[str, float | None]) -> None:
    problems = [
        f"{name} must be a number of 0 or more, got {cap}"
        for name, cap in caps.items()
        if cap is not None and not (math.isfinite(cap) and cap >= 0)
    ]
    if problems:
        raise InputError.collect(problems)
