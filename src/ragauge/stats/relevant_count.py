"""How many relevant documents each query has, estimated, and how far the estimate can be off.

One idea: an estimate is a number for each query *and* replicates of those numbers. A replicate draws the queries anew
and, where the estimator has an error that all queries share (one factor from a few labels), draws that as well.
Whatever is computed from the counts, a total or a mean F, is computed in each replicate too; the quantiles are its
interval.
"""

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import RelevantCount
from ragauge.stats.intervals import Interval, check_level

__all__ = ["N_DRAWS", "CountDraws", "draw_queries", "drawn_mean", "query_counts", "relevant_count"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

N_DRAWS = 1000
"""Replicates: the ends of a 95 % interval then rest on 25 of them each."""

_FEWEST, _NUMBERS = 200, 20_000_000  # with very many queries fewer replicates, so that a table of them fits in memory


@dataclass(frozen=True)
class CountDraws:
    """The estimated number of relevant documents of each query, and replicates of it.

    Attributes:
        values: The estimate, one a query, 0 or more, shape (Q,); NaN where there is none.
        draws: The same in each replicate, shape (n, Q).
        weights: How often each query stands in each replicate, shape (n, Q); rows sum to Q.
        factor: By how much a count was scaled up (c of 2K x c); NaN where none was.
        reason: Why all values are NaN, else "".
    """

    values: Floats
    draws: Floats
    weights: Ints
    factor: float = nan
    reason: str = ""


def draw_queries(n_queries: int, *, n_draws: int | None, rng: np.random.Generator) -> Ints:
    """How often each query is drawn, with replacement, in each replicate: shape (n_draws, n_queries).

    `n_draws` None = 1,000, and from 20,000 queries on as many as make 20 million numbers, at least 200.
    """
    if n_draws is None:
        n_draws = max(_FEWEST, min(N_DRAWS, _NUMBERS // max(n_queries, 1)))
    return rng.multinomial(n_queries, np.full(n_queries, 1 / max(n_queries, 1)), size=n_draws)


def query_counts(values: npt.ArrayLike, *, n_draws: int | None = None, seed: int = 0) -> CountDraws:
    """Counts that come from each query by itself, with replicates that draw the queries.

    For what was found (the relevant documents in the top 2K of a ranking, or of all rankings together), a lower bound
    that no interval widens to what was not looked for; and for `capture` and `tail`, whose errors are independent
    between queries, so that drawing queries draws them too.

    Args:
        values: One a query, shape (Q,); NaN = no estimate.
        n_draws: Replicates; None = as `draw_queries` has it.
        seed: Of the draw of queries.

    Raises:
        InputError: A count is negative or infinite.

    >>> counts = query_counts([3, 0, 5])
    >>> counts.values.tolist(), counts.draws.shape
    ([3.0, 0.0, 5.0], (1000, 3))
    """
    column = np.asarray(values, dtype=np.float64)
    checked_counts(column[~np.isnan(column)], "counts")
    weights = draw_queries(len(column), n_draws=n_draws, rng=np.random.default_rng(seed))
    return CountDraws(column, np.broadcast_to(column, weights.shape), weights)


def relevant_count(
    counts: CountDraws, *, estimator: str, n_found: int, n_labels: int, n_unlabelled: int = 0, level: float = 0.95
) -> RelevantCount:
    """The number of relevant documents of all queries together, with its interval.

    Args:
        counts: From one of the estimators.
        estimator: Its name, for the record.
        n_found: Relevant documents that were seen.
        n_labels: Labels that were used.
        n_unlabelled: Documents that the estimator wanted a label of and has none.
        level: Confidence level, strictly between 0 and 1.

    >>> print(relevant_count(query_counts([3, 3]), estimator="union", n_found=6, n_labels=40))
    Relevant documents (union) = 6.0 [6.0, 6.0], 6 found with 40 labels, n = 2
    """
    check_level(level)
    total, low, high = nan, nan, nan
    known = ~np.isnan(counts.values)
    reason = counts.reason or ("" if known.any() else "no query has an estimate")
    if not reason:
        total = float(counts.values[known].sum())
        low, high = _ends((counts.weights * counts.draws)[:, known].sum(axis=1), level)
    return RelevantCount(
        estimator=estimator,
        total=total,
        low=low,
        high=high,
        level=level,
        n_queries=int(known.sum()),
        n_undefined=int((~known).sum()),
        n_found=n_found,
        n_labels=n_labels,
        n_unlabelled=n_unlabelled,
        factor=counts.factor,
        reason=reason,
    )


def drawn_mean(values: Floats, counts: CountDraws, *, level: float = 0.95) -> Interval:
    """The interval of a mean over queries of something that was computed in each replicate.

    Quantiles of sum_q w_q v_q / sum_q w_q, over the queries that have a value in the replicate.

    Args:
        values: One a replicate and query, shape (n, Q); NaN where undefined.
        counts: Whose weights the replicates have.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The interval; `n` is the number of queries. NaN, with the reason, with fewer than two queries or no value.

    >>> counts = query_counts([2.0] * 9)
    >>> interval = drawn_mean(np.full((1000, 9), 0.5), counts)
    >>> interval.low, interval.high
    (0.5, 0.5)
    """
    check_level(level)
    n = values.shape[1]
    if n < 2:
        return Interval(nan, nan, level, n, "no query" if n == 0 else "one query")
    known = ~np.isnan(values)
    below = (counts.weights * known).sum(axis=1)
    if not below.any():
        return Interval(nan, nan, level, n, counts.reason or "no query has a value")
    means = (counts.weights * np.where(known, values, 0.0)).sum(axis=1)[below > 0] / below[below > 0]
    low, high = _ends(means, level)
    return Interval(low, high, level, n)


def checked_counts(counts: npt.ArrayLike, name: str) -> Floats:
    """Counts as float64, if each is finite and 0 or more."""
    column = np.asarray(counts, dtype=np.float64)
    if not (np.isfinite(column) & (column >= 0)).all():
        raise InputError(f"{name} must be counts of 0 or more, got {column[~(column >= 0) | np.isinf(column)][0]:g}")
    return column


def _ends(replicates: Floats, level: float) -> list[float]:
    ends: list[float] = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return ends
