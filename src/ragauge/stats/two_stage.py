"""How far to go on, from what a pilot showed: a sample that stops where it promised to, with an interval that is right.

One idea (Stein 1945): label n_0 queries, take their spread s_0, and from it alone fix the final number

    N = max(n_0, ceil((t_{n_0-1} s_0 / half_width)^2)).

As N is fixed before the other N - n_0 values are seen, the mean of all N +- t_{n_0-1} s_0 / sqrt(N) keeps its level: it
is exact for normal values, and never wider than asked. Looking at an ordinary interval until it is narrow enough is
not: it stops where the spread happens to look small.

s_0 counts two imagined values, one at each end of the scale, so that a pilot of equal values does not stop at once.
"""

from math import ceil, nan, sqrt

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Estimate
from ragauge.stats.intervals import check_level, t_quantile

__all__ = ["MIN_PILOT", "queries_needed", "two_stage_mean"]

Floats = npt.NDArray[np.float64]

MIN_PILOT = 10
"""With fewer pilot values their spread is a guess."""


def queries_needed(pilot: npt.ArrayLike, *, half_width: float, bounds: tuple[float, float], level: float = 0.95) -> int:
    """N: how many values it takes in all, from those of the pilot.

    Args:
        pilot: The first values, in random order, shape (n_0,), within the bounds; at least `MIN_PILOT`.
        half_width: What the interval may be to either side, above 0.
        bounds: Smallest and largest value the measure can take.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: Too few values, one missing or outside the bounds, or an option out of range.

    Source:
        Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance", Annals of
        Mathematical Statistics 16 (1945), doi:10.1214/aoms/1177731088.

    >>> queries_needed([0, 1] * 10, half_width=0.2, bounds=(0, 1))  # (2.093 * .5118 / .2)^2 = 28.7
    29
    """
    values = _checked(pilot, bounds, level)
    if not half_width > 0:
        raise InputError(f"half_width must be above 0, got {half_width:g}")
    wide = t_quantile(level, len(values) - 1) * _spread(values, bounds)
    return max(len(values), ceil((wide / half_width) ** 2 - 1e-9))


def two_stage_mean(
    values: npt.ArrayLike,
    *,
    n_pilot: int,
    measure: str,
    bounds: tuple[float, float],
    level: float = 0.95,
    judged: float = nan,
) -> Estimate:
    """The mean of a sample whose size its pilot fixed: mean +- t_{n_0-1} s_0 / sqrt(N), cut at the bounds.

    Args:
        values: In the order they were labelled; NaN = that query has none, left out and counted.
        n_pilot: The pilot is the first so many of them.
        measure: Printed form of the measure, for the record.
        bounds: Smallest and largest value of the measure.
        level: Confidence level, strictly between 0 and 1.
        judged: Share of judged documents, for the record.

    Raises:
        InputError: As for `queries_needed`.

    >>> found = two_stage_mean([0, 1] * 10 + [1] * 9, n_pilot=20, measure="P@10", bounds=(0, 1))
    >>> round(found.mean, 3), round(found.high - found.mean, 3)  # 2.093 * .5118 / sqrt(29)
    (0.655, 0.199)
    """
    column = np.asarray(values, dtype=np.float64)
    known = column[~np.isnan(column)]
    pilot = _checked(column[:n_pilot][~np.isnan(column[:n_pilot])], bounds, level)
    _within(known, bounds)
    mean = float(known.mean())
    half = t_quantile(level, len(pilot) - 1) * _spread(pilot, bounds) / sqrt(len(known))
    return Estimate(
        measure=measure,
        mean=mean,
        low=max(bounds[0], mean - half),
        high=min(bounds[1], mean + half),
        level=level,
        n=len(known),
        n_undefined=len(column) - len(known),
        judged=judged,
        method="two-stage",
    )


def _spread(values: Floats, bounds: tuple[float, float]) -> float:
    """Standard deviation with one imagined value at each bound."""
    return float(np.concatenate([values, bounds]).std(ddof=1))


def _checked(pilot: npt.ArrayLike, bounds: tuple[float, float], level: float) -> Floats:
    values = np.asarray(pilot, dtype=np.float64)
    check_level(level)
    if len(values) < MIN_PILOT:
        raise InputError(f"a pilot needs at least {MIN_PILOT} values, got {len(values)}")
    _within(values, bounds)
    return values


def _within(values: Floats, bounds: tuple[float, float]) -> None:
    low, high = bounds
    outside = int((~((values >= low - 1e-9) & (values <= high + 1e-9))).sum())
    if not -np.inf < low < high < np.inf or outside:
        raise InputError(f"{outside} of {len(values)} values are outside {low:g}..{high:g}")
