"""The mean of a measure over queries, from documents drawn out of strata that hold documents of all queries.

One idea: guess every document by the mean of its stratum, and correct each query's guess by its own drawn documents,

    z_q = sum_h N_qh m_h + sum over the drawn documents of q of (c - m_h) N_h / n_h,

where a document adds c to its query's value, N_qh documents of query q are in stratum h, N_h in all, n_h of them drawn
and m_h the mean of their c. The mean of z over queries is unbiased (the corrections of a stratum add up to 0), and as
queries are drawn independently its error is that of any mean over queries: what other queries would bring is inside.
`stats.stratified_mean` is the interval for exactly these documents instead.
"""

from math import nan, sqrt

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Estimate
from ragauge.stats.intervals import check_level, wilson_interval

__all__ = ["pair_sample_mean", "pair_sample_values"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def pair_sample_values(
    contributions: npt.ArrayLike, queries: npt.ArrayLike, strata: npt.ArrayLike, population: npt.ArrayLike
) -> Floats:
    """z of each query; their mean is the estimate, one of them alone says nothing.

    Args:
        contributions: What each drawn document adds to the value of its query: 1 / K or 0 for P@K.
        queries: The number 0..Q-1 of each one's query.
        strata: The number 0..H-1 of each one's stratum.
        population: How many documents each query has in each stratum, shape (Q, H).

    Raises:
        InputError: Columns differ in length, or a stratum that has documents has none drawn.

    Source:
        Cochran, "Sampling Techniques" (1977), chapters 5 and 7; Saerndal, Swensson and Wretman, "Model Assisted Survey
        Sampling" (1992), section 6.3: the difference estimator.

    >>> pair_sample_values([0.5, 0], [0, 1], [0, 0], [[2], [2]]).tolist()  # m = .25, N / n = 2
    [1.0, 0.0]
    """
    c, query = np.asarray(contributions, dtype=np.float64), np.asarray(queries, dtype=np.int64)
    stratum, sizes = np.asarray(strata, dtype=np.int64), np.asarray(population, dtype=np.float64)
    if not c.shape == query.shape == stratum.shape or sizes.ndim != 2:
        raise InputError("each drawn document needs a contribution, a query and a stratum")
    n_queries, n_strata = sizes.shape
    drawn = np.bincount(stratum, minlength=n_strata)
    total = sizes.sum(axis=0)
    if bare := int(((drawn == 0) & (total > 0)).sum()):
        raise InputError(f"{bare} of {n_strata} strata have no labelled document: take fewer strata or more labels")
    means = np.bincount(stratum, weights=c, minlength=n_strata) / np.maximum(drawn, 1)
    weight = total / np.maximum(drawn, 1)
    correction = np.bincount(query, weights=(c - means[stratum]) * weight[stratum], minlength=n_queries)
    return np.asarray(sizes @ means + correction)


def pair_sample_mean(
    contributions: npt.ArrayLike,
    queries: npt.ArrayLike,
    strata: npt.ArrayLike,
    population: npt.ArrayLike,
    *,
    measure: str,
    bounds: tuple[float, float],
    level: float = 0.95,
) -> Estimate:
    """The mean over queries and its interval: Wilson's with n* = x (1 - x) / se^2, as `mean_interval` has it.

    Student's t has as many degrees of freedom as there are queries or drawn documents, whichever is fewer, less one.

    Args:
        contributions: As in `pair_sample_values`, and so the next three.
        queries: See there.
        strata: See there.
        population: See there.
        measure: Printed form of the measure, for the record.
        bounds: Smallest and largest value of the measure.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: As for `pair_sample_values`, or fewer than two queries with documents drawn.

    >>> draws = [0.1, 0, 0.1, 0.1], [0, 1, 2, 3], [0, 0, 1, 1]
    >>> found = pair_sample_mean(*draws, [[5, 5]] * 4, measure="P@10", bounds=(0, 1))
    >>> round(found.mean, 6)  # 5 * .05 + 5 * .1
    0.75
    """
    check_level(level)
    values = pair_sample_values(contributions, queries, strata, population)
    n_labels = np.asarray(contributions).size
    n = min(len(values), n_labels)
    if n < 2:
        raise InputError(f"an interval needs at least 2 queries and labels, got {len(values)} and {n_labels}")
    low, high = bounds
    mean, error = float(values.mean()), float(values.std(ddof=1)) / sqrt(len(values))
    share = min(1.0, max(0.0, (mean - low) / (high - low)))
    trials = share * (1 - share) * (high - low) ** 2 / error**2 if error > 0 and 0 < share < 1 else n
    unit = wilson_interval(share, trials, level=level, degrees=n - 1)
    total = float(np.asarray(population).sum())
    return Estimate(
        measure=measure,
        mean=mean,
        low=low + unit.low * (high - low),
        high=low + unit.high * (high - low),
        level=level,
        n=len(values),
        n_undefined=0,
        judged=n_labels / total if total else nan,
        method="stratified",
    )
