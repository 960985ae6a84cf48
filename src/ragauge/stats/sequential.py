"""Intervals that may be looked at after every query: confidence sequences of the mean of a bounded measure.

One idea: a 95 % interval for a fixed number of queries, looked at again and again, misses the truth at some time in
half of the cases. A confidence sequence holds at all times at once: P(the mean lies in every interval) >= 1 - alpha,
so that one may stop, report or raise an alarm whenever one likes. It costs 2.5 to 4 times as many queries for the same
width: use `mean_interval` for a report whose size was planned, and this for the chart that people watch.

What enters must have the same mean given the past: one value a query or, where users ask many, one a user. Day cycles
and a deliberate change of the system break that; the sequence then becomes empty, which is itself the finding.
"""

from dataclasses import dataclass
from math import log, nan
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import check_level

__all__ = ["ConfidenceSequence", "confidence_sequence"]

Floats = npt.NDArray[np.float64]
Method = Literal["betting", "bernstein", "asymptotic"]

N_CANDIDATES = 1000
"""Means between the bounds that "betting" tries: its ends are right to a thousandth of the range, outwards."""

MIN_ASYMPTOTIC = 30
"""The asymptotic sequence says nothing before this many values."""

_TRUNCATION = 0.5  # a bet may lose at most this share of the capital
_BLOCK = 2_000  # values a block of bets has


@dataclass(frozen=True)
class ConfidenceSequence:
    """An interval after each value.

    Attributes:
        mean: Mean of the values so far, shape (n,).
        low: Lower bounds, shape (n,); NaN from where the sequence is empty.
        high: Upper bounds, shape (n,).
        level: Confidence level of all intervals together.
        method: How it was made.
        empty_from: Index of the first value after which no mean fits all that was seen: it has changed. None = never.
    """

    mean: Floats
    low: Floats
    high: Floats
    level: float
    method: str
    empty_from: int | None = None


def confidence_sequence(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    method: Method = "betting",
    planned_n: int = 500,
    level: float = 0.95,
) -> ConfidenceSequence:
    """An interval of the mean after each value, all of which hold together with probability `level`.

    "betting": for each candidate m, gamblers bet on and against values above m; m is out once their capital

        (1/2) max(prod(1 + min(l_t, c/m) (x_t - m)), prod(1 - min(l_t, c/(1-m)) (x_t - m)))

    reaches 1 / alpha; narrow from the start. "bernstein": sum l x / sum l +- (log(2/alpha) + sum v psi) / sum l with
    v_t = 4 (x_t - mean_{t-1})^2, psi = (-log(1 - l) - l) / 4; a closed form, a little wider. In both
    l_t = sqrt(2 log(2/alpha) / (s^2_{t-1} t log(1 + t))) from the values before t (at most 1/2 in "bernstein"), and
    each interval is cut with those before it. "asymptotic": mean +- s_t sqrt(2 (t r^2 + 1) / (t^2 r^2)
    log(sqrt(t r^2 + 1) / alpha)), r chosen to be narrowest at `planned_n`; holds for many values, as the central limit
    theorem does, so that it is not cut with earlier ones, and is the whole range before the 30th; s_t^2 counts one
    imagined value, as in "betting".

    Args:
        values: In the order they came, shape (n,), within the bounds.
        bounds: Smallest and largest value the measure can take: (0, 1) for P, (-alpha, 1 - alpha) for T.
        method: "betting", "bernstein" or "asymptotic".
        planned_n: Where "asymptotic" is to be narrowest.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: A value is missing or outside the bounds, or an option is out of range.

    Source:
        Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024),
        doi:10.1093/jrsssb/qkad009, theorems 2 and 3. Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform
        central limit theory and asymptotic confidence sequences", Annals of Statistics 52 (2024),
        doi:10.1214/24-AOS2408.

    >>> found = confidence_sequence([1, 0, 1, 1, 0, 1, 1, 1, 0, 1] * 20, method="bernstein")
    >>> round(float(found.low[-1]), 4), round(float(found.high[-1]), 4)
    (0.5853, 0.8127)
    """
    x, (low, high) = _unit_values(values, bounds), bounds
    _check_options(method, planned_n, level)
    alpha = 1 - level
    mean = np.cumsum(x) / np.arange(1, len(x) + 1)
    if method == "asymptotic":
        lower, upper = _asymptotic(x, mean, alpha, planned_n)
    else:
        bets = _bets(x, alpha)
        lower, upper = _betting(x, bets, alpha) if method == "betting" else _bernstein(x, bets, alpha)
    lower, upper = np.clip(lower, 0, 1), np.clip(upper, 0, 1)
    if method != "asymptotic":
        lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper)
    empty = np.flatnonzero(lower > upper)
    empty_from = int(empty[0]) if len(empty) else None
    if empty_from is not None:
        lower[empty_from:] = upper[empty_from:] = nan
    width = high - low
    return ConfidenceSequence(low + width * mean, low + width * lower, low + width * upper, level, method, empty_from)


def _predictable(x: Floats) -> tuple[Floats, Floats]:
    """Mean and variance after each value, drawn towards 1/2 and 1/4 by one imagined value."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    return mean, (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)


def _before(values: Floats, first: float) -> Floats:
    """What was known before each value."""
    return np.concatenate([[first], values[:-1]])


def _bets(x: Floats, alpha: float) -> Floats:
    t = np.arange(1, len(x) + 1)
    variance = _before(_predictable(x)[1], 0.25)
    return np.asarray(np.sqrt(2 * log(2 / alpha) / (variance * t * np.log1p(t))))


def _bernstein(x: Floats, bets: Floats, alpha: float) -> tuple[Floats, Floats]:
    bets = np.minimum(bets, _TRUNCATION)
    v = 4 * (x - _before(_predictable(x)[0], 0.5)) ** 2
    psi = (-np.log1p(-bets) - bets) / 4
    total = np.cumsum(bets)
    centre, half = np.cumsum(bets * x) / total, (log(2 / alpha) + np.cumsum(v * psi)) / total
    return centre - half, centre + half


def _betting(x: Floats, bets: Floats, alpha: float) -> tuple[Floats, Floats]:
    """The first and the last candidate whose capital stayed small, moved outwards by one step."""
    m = np.arange(1, N_CANDIDATES) / N_CANDIDATES
    up, down = np.zeros(len(m)), np.zeros(len(m))
    alive = np.ones(len(m), dtype=np.bool_)
    low, high = np.zeros(len(x)), np.ones(len(x))
    limit = log(2 / alpha)
    for start in range(0, len(x), _BLOCK):
        part, bet = x[start : start + _BLOCK, None], bets[start : start + _BLOCK, None]
        log_up = up + np.cumsum(np.log1p(np.minimum(bet, _TRUNCATION / m) * (part - m)), axis=0)
        log_down = down + np.cumsum(np.log1p(-np.minimum(bet, _TRUNCATION / (1 - m)) * (part - m)), axis=0)
        stays = np.logical_and.accumulate(np.maximum(log_up, log_down) < limit, axis=0) & alive
        up, down, alive = log_up[-1], log_down[-1], stays[-1]
        some = stays.any(1)
        first = stays.argmax(1) / N_CANDIDATES  # candidate number argmax + 1, less one step
        last = 1 - stays[:, ::-1].argmax(1) / N_CANDIDATES
        low[start : start + _BLOCK] = np.where(some, first, 1)
        high[start : start + _BLOCK] = np.where(some, last, 0)
    return low, high


def _asymptotic(x: Floats, mean: Floats, alpha: float, planned_n: int) -> tuple[Floats, Floats]:
    t = np.arange(1, len(x) + 1)
    squares = np.maximum(0, np.cumsum(x**2) - t * mean**2)
    deviation = np.sqrt((0.25 + squares) / (t + 1))  # one imagined value, so that equal values prove nothing
    half = deviation * _asymptotic_factor(t.astype(np.float64), alpha, planned_n)
    early = t < MIN_ASYMPTOTIC
    return np.where(early, 0, mean - half), np.where(early, 1, mean + half)


def _asymptotic_factor(t: Floats, alpha: float, planned_n: int) -> Floats:
    """Half width a unit of standard deviation."""
    r2 = (-2 * log(alpha) + log(-2 * log(alpha) + 1)) / planned_n
    return np.asarray(np.sqrt(2 * (t * r2 + 1) / (t**2 * r2) * np.log(np.sqrt(t * r2 + 1) / alpha)))


def _unit_values(values: npt.ArrayLike, bounds: tuple[float, float]) -> Floats:
    """The values rescaled to 0..1."""
    x = np.asarray(values, dtype=np.float64)
    low, high = bounds
    if not -np.inf < low < high < np.inf:
        raise InputError(f"bounds must be finite and rise, got {low:g}..{high:g}")
    if x.ndim != 1 or np.isnan(x).any():
        raise InputError("values must be one column without NaN: leave out queries where the measure is undefined")
    unit = (x - low) / (high - low)
    outside = int(((unit < -1e-9) | (unit > 1 + 1e-9)).sum())
    if outside:
        raise InputError(f"{outside} of {len(x)} values are outside {low:g}..{high:g}")
    return np.clip(unit, 0, 1)


def _check_options(method: str, planned_n: int, level: float) -> None:
    if method not in ("betting", "bernstein", "asymptotic"):
        raise InputError(f"method must be 'betting', 'bernstein' or 'asymptotic', got {method!r}")
    if planned_n < 1:
        raise InputError(f"planned_n must be positive, got {planned_n}")
    check_level(level)
