"""Who meets whom: the measures of one segment, or of several pooled, with how far each lies from another.

One idea: a contest needs of its place no more than the statistics, their bootstrap draws and a way to take the
difference of two. Pooled, all three are means over segments on Fisher's scale.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.stats import PooledEffect, jackknife_difference, pool_segments, segment_covariance
from ragauge.stats.intervals import Interval, jackknife_interval
from ragauge.study.heat import Entrant, Heat

__all__ = ["Difference", "Field", "pooled_field", "segment_field"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Difference:
    """How far one measure lies from another.

    Attributes:
        value: In a segment the difference of the coefficients; pooled, that of Fisher's z.
        low: Lower bound of the interval; NaN with a reason.
        high: Upper bound.
        p: As in `stats.CorrelationDifference` or `stats.PooledEffect`.
        tau2: Pooled only: variance of the true difference between segments.
        i2: Pooled only: share of the variation between segments that is not chance.
        n_segments: Pooled only: segments pooled.
        reason: Why there is no interval, else "".
    """

    value: float
    low: float
    high: float
    p: float
    tau2: float | None = None
    i2: float | None = None
    n_segments: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Field:
    """The measures that meet in one place, in a segment or pooled.

    Attributes:
        names: Those that take part.
        values: Their correlations, to show.
        statistics: What they are compared by.
        draws: The same in each bootstrap draw, shape (B, M).
        absent: Why each other measure does not take part.
        interval: That of a measure's correlation.
        difference: How far the first measure lies from the second.
        n_rows: Answers.
        n_queries: Queries.
    """

    names: tuple[str, ...]
    values: Floats
    statistics: Floats
    draws: Floats
    absent: Mapping[str, str]
    interval: Callable[[int], Interval]
    difference: Callable[[int, int], Difference]
    n_rows: int
    n_queries: int


def segment_field(heat: Heat, *, level: float) -> Field:
    """The field of one segment; differences by the jackknife over queries."""
    entrants = heat.entrants

    def interval(i: int) -> Interval:
        return jackknife_interval(entrants[i].whole, entrants[i].without, level)

    def difference(i: int, j: int) -> Difference:
        one, other = entrants[i], entrants[j]
        found = jackknife_difference(one.whole, other.whole, one.without, other.without, level=level)
        return Difference(found.difference, found.low, found.high, found.p, reason=found.reason)

    whole = np.array([entrant.whole for entrant in entrants])
    draws = np.array([entrant.drawn for entrant in entrants]).T
    names = tuple(entrant.measure for entrant in entrants)
    return Field(names, whole, whole, draws, heat.absent, interval, difference, heat.n_rows, len(heat.queries))


def pooled_field(heats: Sequence[Heat], *, level: float) -> Field:
    """The field of several segments: means of Fisher's z, weighted by queries less 3, of measures that meet in all."""
    taking_part = [{entrant.measure: entrant for entrant in heat.entrants} for heat in heats]
    absent = _absent(heats, taking_part)
    names = tuple(name for name in taking_part[0] if name not in absent)
    weights = np.array([len(heat.queries) - 3.0 for heat in heats])  # 1 / variance of Fisher's z
    weights /= weights.sum()
    with np.errstate(divide="ignore"):  # a draw of -1 or 1 is infinite, and is left out by the confidence set
        z = np.arctanh([[members[name].whole for name in names] for members in taking_part])
        drawn = sum(
            w * np.arctanh([members[name].drawn for name in names])
            for w, members in zip(weights, taking_part, strict=True)
        )
    queries = [heat.queries for heat in heats]
    n_queries = len(np.unique(np.concatenate(queries)))

    def pooled(effects: Sequence[float], without: Sequence[Floats]) -> PooledEffect:
        return _pooled(effects, without, queries, weights, level)

    def interval(i: int) -> Interval:
        own = [members[names[i]] for members in taking_part]
        found = pooled([np.arctanh(one.whole) for one in own], [np.arctanh(one.without) for one in own])
        return Interval(float(np.tanh(found.low)), float(np.tanh(found.high)), level, n_queries, found.reason)

    def difference(i: int, j: int) -> Difference:
        pairs = [(members[names[i]], members[names[j]]) for members in taking_part]
        found = pooled(
            [np.arctanh(one.whole) - np.arctanh(other.whole) for one, other in pairs],
            [np.arctanh(one.without) - np.arctanh(other.without) for one, other in pairs],
        )
        return Difference(found.value, found.low, found.high, found.p, found.tau2, found.i2, found.n_segments)

    return Field(
        names=names,
        values=np.tanh(weights @ z),
        statistics=weights @ z,
        draws=np.asarray(drawn).T,
        absent=absent,
        interval=interval,
        difference=difference,
        n_rows=sum(heat.n_rows for heat in heats),
        n_queries=n_queries,
    )


def _absent(heats: Sequence[Heat], taking_part: Sequence[Mapping[str, Entrant]]) -> dict[str, str]:
    """Measure -> why it is not pooled."""
    every = [*taking_part[0], *heats[0].absent]
    perfect = {name for members in taking_part for name, entrant in members.items() if not _on_scale(entrant)}
    missing = [name for name in every if not all(name in members for members in taking_part)]
    found = dict.fromkeys(missing, f"takes no part, as it is missing in some of the {len(heats)} segments")
    return found | dict.fromkeys(perfect, "correlates by exactly -1 or 1 in a segment")


def _on_scale(entrant: Entrant) -> bool:
    return abs(entrant.whole) < 1 and bool((np.abs(entrant.without) < 1).all())


def _pooled(
    effects: Sequence[float], without: Sequence[Floats], queries: Sequence[Ints], weights: Floats, level: float
) -> PooledEffect:
    """The mean over segments of what is on Fisher's scale, from it and what it is without each query."""
    distinct = np.unique(np.concatenate(queries))
    left = np.zeros((len(distinct), len(effects)))
    present = np.zeros(left.shape, dtype=np.bool_)
    for column, members in enumerate(queries):
        place = np.searchsorted(distinct, members)
        left[place, column] = without[column]
        present[place, column] = True
    covariance = segment_covariance(effects, left, present=present)
    return pool_segments(effects, covariance, weights=weights, n_queries=len(distinct), level=level)
