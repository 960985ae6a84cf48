"""2K x c: what each query's top 2K holds, times one factor for all queries that a few random deep labels tell.

How many relevant documents stand below the top 2K cannot be learnt for one query with two labels. For all queries
together it can, and the number found in the top 2K says how to share them out. It is a ratio estimator.
"""

from math import nan

import numpy as np
import numpy.typing as npt

from ragauge.stats.relevant_count import CountDraws, checked_counts, draw_queries
from ragauge.stats.tail import HALF, DeepSample, tail_total

__all__ = ["calibrated_counts"]


def calibrated_counts(
    near: npt.ArrayLike, sample: DeepSample, *, n_draws: int | None = None, seed: int = 0
) -> CountDraws:
    """Relevant documents of each query by max(n_2K, 1/2) c, with c = 1 + T / sum n_2K.

    n_2K is what the fully labelled top holds, T the Horvitz-Thompson total of all queries' documents below it. The sum
    over queries is unbiased (but for the 1/2 of queries with nothing near) down to the depth that was sampled; what is
    further down is not counted. A single query's value is not accurate: print its interval, or none.

    Replicates draw the queries with replacement and, independently, the relevant documents of each stratum from
    Beta(y_h + .5 / H, m_h - y_h + .5 / H): T rests on few positives, and resampling those could not find that there are
    some in a stratum where none was drawn.

    Args:
        near: Relevant documents in the fully labelled top, one a query, shape (Q,).
        sample: Strata of the documents below it, of all queries together.
        n_draws: Replicates; None = as `draw_queries` has it.
        seed: Of all draws.

    Returns:
        The counts, and c as `factor`; all NaN, with the reason, where no query has a relevant document near.

    Source:
        Cochran, "Sampling Techniques" (1977), chapter 6: ratio estimators.

    >>> counts = calibrated_counts([5, 295], DeepSample([1000], [100], [12]))  # T = 120
    >>> counts.factor, counts.values.tolist()
    (1.4, [7.0, 413.0])
    """
    seen = checked_counts(near, "near")
    rng = np.random.default_rng(seed)
    weights = draw_queries(len(seen), n_draws=n_draws, rng=rng)
    if not seen.sum() > 0:
        nothing = np.full(weights.shape, np.nan)
        return CountDraws(nothing[0], nothing, weights, nan, "no relevant document in the top of any query")
    tail = sample.posterior(HALF / max(len(sample.sizes), 1), n_draws=len(weights), rng=rng).sum(axis=1)
    base = np.maximum(seen, HALF)
    factor = 1 + tail_total(sample).total / float(seen.sum())
    factors = 1 + tail / np.maximum(weights @ seen, HALF)
    return CountDraws(base * factor, base * factors[:, None], weights, factor)
