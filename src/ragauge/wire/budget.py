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


@dataclass(frozen=True)
class _Taken:
    """Tokens of one try or several, and their exact cost."""

    read: int = 0
    written: int = 0
    cost: Fraction | int = 0

    def __add__(self, other: "_Taken") -> "_Taken":
        return _Taken(self.read + other.read, self.written + other.written, self.cost + other.cost)

    def __sub__(self, other: "_Taken") -> "_Taken":
        return _Taken(self.read - other.read, self.written - other.written, self.cost - other.cost)


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
        within: A budget that what is spent here counts in as well, at the prices of this one: so several models share
            its caps.

    Raises:
        InputError: A cap below 0, a sum without prices, or prices of only one of this budget and the one it is within.

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
        within: "Budget | None" = None,
    ) -> None:
        _check_caps({"max_calls": max_calls, "max_tokens": max_tokens, "max_cost_usd": max_cost_usd})
        if max_cost_usd is not None and prices is None:
            raise InputError("a cap on cost needs the prices of a million tokens read and written")
        if within is not None and (within._prices is None) != (prices is None):
            raise InputError("a budget within another needs prices if that one has them, and none if it has none")
        self._max_calls, self._max_tokens = max_calls, max_tokens
        self._max_cost = None if max_cost_usd is None else Fraction(str(max_cost_usd))
        self._prices: Prices | None = prices
        self._calls = self._pending = 0
        self._settled = self._reserved = _Taken()
        self._all: tuple[Budget, ...] = (self,) if within is None else (self, *within._all)  # what a try counts in
        self._lock: threading.Lock = threading.Lock() if within is None else within._lock

    @property
    def calls(self) -> int:
        """Tries so far."""
        return self._calls

    @property
    def spent(self) -> Load:
        """Tokens of the tries that are over."""
        return Load(self._settled.read, self._settled.written)

    @property
    def cost_usd(self) -> float | None:
        """Cost of the tries that are over; None without prices."""
        return None if self._prices is None else float(self._settled.cost)

    def cost_of(self, used: Load | None) -> float | None:
        """Cost of these tokens; None without prices, or where nobody knows how many there were."""
        return None if self._prices is None or used is None else float(self._taken(used).cost)

    @property
    def is_settled(self) -> bool:
        """Whether no try is under way, so that nothing more can be given back."""
        return all(budget._pending == 0 for budget in self._all)

    def reserve(self, load: Load) -> bool:
        """Sets aside what a try can take at most; False, and nothing is set aside, where a cap forbids it.

        Raises:
            InputError: There is a cap on tokens or cost, and the request sets no limit to its reply.
        """
        if load.completion_tokens is None and any(budget._caps_replies for budget in self._all):
            raise InputError("a cap on tokens or cost needs requests that limit their reply: set max_tokens")
        taken = self._taken(load)
        with self._lock:
            if not all(budget._fits(taken) for budget in self._all):
                return False
            for budget in self._all:
                budget._calls += 1
                budget._pending += 1
                budget._reserved += taken
            return True

    def settle(self, reserved: Load, used: Load) -> None:
        """Replaces what was reserved for a try by what it used."""
        given_back, taken = self._taken(reserved), self._taken(used)
        with self._lock:
            for budget in self._all:
                budget._pending -= 1
                budget._reserved -= given_back
                budget._settled += taken

    @property
    def _caps_replies(self) -> bool:
        return self._max_tokens is not None or self._max_cost is not None

    def _taken(self, load: Load) -> _Taken:
        """What a load takes from this budget and those it is within; without prices it costs 0."""
        read, written = load.prompt_tokens, load.completion_tokens or 0
        return _Taken(read, written, self._prices.cost_usd(read, written) if self._prices else 0)

    def _fits(self, taken: _Taken) -> bool:
        after = self._settled + self._reserved + taken
        if self._max_calls is not None and self._calls >= self._max_calls:
            return False
        if self._max_tokens is not None and after.read + after.written > self._max_tokens:
            return False
        return self._max_cost is None or after.cost <= self._max_cost


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
