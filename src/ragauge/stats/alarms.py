"""Alarms when the mean of a measure has dropped below what it should be.

One idea: add up the evidence of a drop, let it fall back to nothing while all is well, and ring when it is too much. An
e-detector needs no calibration: it rings by chance at most once in `average_run_length` values, whatever the values
look like, as long as they lie in the bounds and their mean is at least the target. CUSUM is a little faster where the
drop is as planned, but its threshold has to be found by simulating values like yours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError

__all__ = ["Alarm", "cusum", "drop_alarm"]

Floats = npt.NDArray[np.float64]

BETS = (0.1, 0.2, 0.4, 0.8)
"""Shares of the largest bet that cannot lose everything; small ones find small drops."""


@dataclass(frozen=True)
class Alarm:
    """The evidence of a drop after each value, and when it first was too much.

    Attributes:
        evidence: Shape (n,); it goes on after the alarm as if there had been none.
        threshold: The alarm rings when the evidence reaches it (CUSUM: exceeds it).
        rang_at: Index of the first value at which it rang; None = never.
    """

    evidence: Floats
    threshold: float
    rang_at: int | None


def drop_alarm(
    values: npt.ArrayLike,
    *,
    target: float,
    bounds: tuple[float, float] = (0.0, 1.0),
    average_run_length: float = 1000,
    bets: Sequence[float] | None = None,
) -> Alarm:
    """Rings when the mean of a bounded measure has dropped below `target`: a Shiryaev-Roberts e-detector.

    For each bet l, M_t = (M_{t-1} + 1)(1 + l (m - x_t)), M_0 = 0, with x and the target m rescaled to 0..1; the
    evidence is the mean of M over the bets, the alarm rings when it reaches `average_run_length`. While the mean given
    the past is at least the target, the expected number of values until a false alarm is at least that long, for any
    values within the bounds (also dependent ones).

    Args:
        values: In the order they came, shape (n,), within the bounds.
        target: The mean that should not be undercut, strictly within the bounds.
        bounds: Smallest and largest value the measure can take.
        average_run_length: Values between false alarms, at least; above 1.
        bets: l, each in 0..1/(1 - m); None = .1 to .8 of the largest.

    Raises:
        InputError: A value is missing or outside the bounds, or an option is out of range.

    Source:
        Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", New England
        Journal of Statistics in Data Science 2 (2024), doi:10.51387/23-NEJSDS51.

    >>> found = drop_alarm([0.6, 0.5, 0.4, 0.7, 0.3, 0.2], target=0.6, bets=[1.0], average_run_length=10)
    >>> found.evidence.round(4).tolist(), found.rang_at
    ([1.0, 2.2, 3.84, 4.356, 6.9628, 11.1479], 5)
    """
    low, high = bounds
    x = _checked(values, bounds)
    if not low < target < high:
        raise InputError(f"target must lie strictly between the bounds {low:g} and {high:g}, got {target:g}")
    if not average_run_length > 1:
        raise InputError(f"average_run_length must be above 1, got {average_run_length:g}")
    unit, m = (x - low) / (high - low), (target - low) / (high - low)
    chosen = np.array([share / (1 - m) for share in BETS] if bets is None else list(bets), dtype=np.float64)
    if not len(chosen) or not ((chosen > 0) & (chosen <= 1 / (1 - m) + 1e-12)).all():
        raise InputError(f"bets must lie above 0 and at most at {1 / (1 - m):g}, got {chosen.tolist()}")
    state, evidence = np.zeros(len(chosen)), np.empty(len(unit))
    for t, factor in enumerate(1 + chosen * (m - unit[:, None])):
        state = np.minimum((state + 1) * factor, 1e300)  # stays a number, long after the alarm
        evidence[t] = state.mean()
    return _alarm(evidence, average_run_length, evidence >= average_run_length)


def cusum(values: npt.ArrayLike, *, target: float, slack: float, threshold: float) -> Alarm:
    """Page's cumulative sum of how far values fell short of the target: g_t = max(0, g_{t-1} + target - x_t - slack).

    It rings when g exceeds the threshold. With slack = half the drop to be found it is the fastest there is for that
    drop, at the false alarm rate that the threshold gives for values like these; find it by simulation.

    Args:
        values: In the order they came, shape (n,), finite.
        target: The mean while all is well.
        slack: Shortfall a value that is let pass, >= 0.
        threshold: Above 0.

    Raises:
        InputError: A value is missing, or an option is out of range.

    Source:
        Page, "Continuous inspection schemes", Biometrika 41 (1954), doi:10.1093/biomet/41.1-2.100.

    >>> found = cusum([0.6, 0.5, 0.4, 0.7, 0.3, 0.2], target=0.6, slack=0.05, threshold=0.5)
    >>> found.evidence.round(2).tolist(), found.rang_at
    ([0.0, 0.05, 0.2, 0.05, 0.3, 0.65], 5)
    """
    if not slack >= 0 or not threshold > 0:
        raise InputError(f"slack must be >= 0 and threshold above 0, got {slack:g} and {threshold:g}")
    total = np.concatenate([[0.0], np.cumsum(target - _checked(values, (-np.inf, np.inf)) - slack)])
    evidence = (total - np.minimum.accumulate(total))[1:]
    return _alarm(evidence, threshold, evidence > threshold)


def _alarm(evidence: Floats, threshold: float, rings: npt.NDArray[np.bool_]) -> Alarm:
    return Alarm(evidence, threshold, int(rings.argmax()) if rings.any() else None)


def _checked(values: npt.ArrayLike, bounds: tuple[float, float]) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    low, high = bounds
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError("values must be one column of finite numbers: leave out queries without a value")
    if not low < high:
        raise InputError(f"bounds must rise, got {low:g}..{high:g}")
    outside = int(((x < low) | (x > high)).sum())
    if outside:
        raise InputError(f"{outside} of {len(x)} values are outside {low:g}..{high:g}")
    return x
