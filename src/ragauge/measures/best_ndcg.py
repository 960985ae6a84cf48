"""The highest nDCG that unjudged documents allow, when they may have any label from 0 to the top of the scale.

With levels l of gain and steps s_l between them, m_l of the unjudged in the top K have at least level l: the first m_l
of them. Then DCG = sum_l s_l (judged_l + A(m_l)) and the ideal is sum_l s_l D(c_l + m_l), where judged_l sums the
discounts of judged documents of at least level l, A(m) those of the first m unjudged ranks, c_l counts the pool, and
D(n) sums the first n discounts, at most K. For a ratio t the best m_l maximises A(m) - t D(c_l + m), each level on its
own; the m_l then fall with l, as D is concave. Repeated with the ratio that results, t rises to the maximum.

Source: Dinkelbach, "On nonlinear fractional programming", Management Science 13 (1967), doi:10.1287/mnsc.13.7.492.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.measures.gain import dcg
from ragauge.measures.measure import Measure
from ragauge.ragged import Ragged, head, positions

__all__ = ["best_ndcg"]

Floats = npt.NDArray[np.float64]

_SETTLED = 1e-15  # a ratio that rises by less has reached its maximum


def best_ndcg(labels: Ragged, pool: Ragged, measure: Measure, *, top: float, start: Floats) -> Floats:
    """The highest value of nDCG for each ranking.

    Args:
        labels: In rank order; null = unjudged.
        pool: All known labels of each query.
        measure: nDCG with its parameters.
        top: The highest label an unjudged document may have; at least every known one.
        start: A value that is reached, one a row; NaN = none is defined, and stays.
    """
    shown = head(labels, measure.cutoff)
    values = dict(measure.parameters)
    ideal = shown if values["ideal"] == "retrieved" else pool
    levels = _levels(shown, ideal, measure, top)
    ratio = np.where(np.isnan(start), 0.0, start)
    rising = True
    while rising:
        found = np.maximum(levels.best_for(ratio), ratio)
        rising = bool((found > ratio + _SETTLED).any())
        ratio = found
    return np.where(np.isnan(start), np.nan, ratio)


@dataclass(frozen=True)
class _Levels:
    """The sums of the module's formula: one row a ranking, one column a level or (for `reach`) an m."""

    step: Floats
    """One a level; a level that no document of a ranking has changes nothing."""
    judged: Floats
    n_ideal: npt.NDArray[np.int64]
    reach: Floats
    """A(m), -inf where there are fewer than m."""
    most: Floats
    """D(n) for n = 0, 1, ..., the last one for all beyond."""

    def best_for(self, ratio: Floats) -> Floats:
        """nDCG of the m_l that maximise DCG - ratio * ideal."""
        ideal = self.most[np.minimum(self.n_ideal[:, :, None] + np.arange(self.reach.shape[1]), len(self.most) - 1)]
        m = np.argmax(self.reach[:, None, :] - ratio[:, None, None] * ideal, axis=2)
        gained = (self.step * (self.judged + np.take_along_axis(self.reach, m, axis=1))).sum(axis=1)
        best = (self.step * np.take_along_axis(ideal, m[:, :, None], axis=2)[:, :, 0]).sum(axis=1)
        return np.where(best > 0, np.minimum(gained / np.where(best > 0, best, 1.0), 1.0), 0.0)


def _levels(shown: Ragged, ideal: Ragged, measure: Measure, top: float) -> _Levels:
    gains, ideal_gains = _padded(shown, _gains(shown, measure)), _padded(ideal, _gains(ideal, measure))
    highest = _gains(Ragged.from_lists([[top]]), measure)
    level = np.unique(np.concatenate([ideal_gains[ideal_gains > 0], highest]))
    depth = gains.shape[1] + ideal_gains.shape[1] if measure.cutoff is None else measure.cutoff
    discounts = 1.0 / np.log2(np.arange(2, max(depth, gains.shape[1]) + 2))
    at_rank = discounts[: gains.shape[1]]
    return _Levels(
        step=np.diff(level, prepend=0.0),
        judged=np.stack([(gains >= each) @ at_rank for each in level], axis=1),
        n_ideal=np.stack([(ideal_gains >= each).sum(axis=1) for each in level], axis=1),
        reach=_first_sums(_padded(shown, (~shown.valid).astype(np.float64)) > 0, at_rank),
        most=np.concatenate([[0.0], np.cumsum(discounts[:depth])]),
    )


def _gains(labels: Ragged, measure: Measure) -> Floats:
    """What each document gains, -1 where unjudged: the DCG of a ranking of this document alone."""
    values = dict(measure.parameters)
    alone = Ragged(labels.values, np.arange(len(labels.values) + 1), labels.valid)
    gain = dcg(alone, cutoff=1, gain=values["gain"], rel=values["rel"])  # type: ignore[arg-type]
    return np.where(labels.valid, gain, -1.0)


def _padded(ragged: Ragged, values: Floats) -> Floats:
    """One row a ranking, as wide as the longest; -1 where it has ended."""
    table = np.full((ragged.n_rows, int(ragged.lengths.max(initial=0))), -1.0)
    table[np.repeat(np.arange(ragged.n_rows), ragged.lengths), positions(ragged.offsets)] = values
    return table


def _first_sums(marked: npt.NDArray[np.bool_], weights: Floats) -> Floats:
    """The sum of the weights of the first m marked columns, m = 0, 1, ...; -inf where fewer are marked."""
    count = np.cumsum(marked, axis=1)
    most = int(count[:, -1].max(initial=0)) if marked.shape[1] else 0
    sums = np.full((len(marked), most + 1), -np.inf)
    sums[:, 0] = 0.0
    row, column = np.nonzero(marked)
    sums[row, count[row, column]] = np.cumsum(marked * weights, axis=1)[row, column]
    return sums
