"""Further down the ranking fewer documents are relevant: the labels of the top, extrapolated by rank.

A baseline to know, not to trust: fitted to labels of the top alone it may find several times too many.
"""

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.relevant_count import CountDraws, draw_queries

__all__ = ["rank_decay_counts"]

Floats = npt.NDArray[np.float64]

_RIDGE = 0.01  # keeps the fit finite where all labels are alike
_N_STEPS = 50
_DONE = 1e-9


def rank_decay_counts(
    rank: npt.ArrayLike,
    label: npt.ArrayLike,
    query: npt.ArrayLike,
    *,
    n_queries: int,
    n_draws: int | None = None,
    seed: int = 0,
) -> CountDraws:
    """Relevant documents of each query by a logistic regression of the label on the logarithm of the rank.

    One regression for all queries, p(r) = 1 / (1 + exp(-(a + b ln r))). N_q = y_q + lambda_q sum p over the unlabelled,
    where y_q are the relevant documents seen, e_q = sum p over the labelled, lambda_q = (y_q + k) / (e_q + k) and
    1 / k = max(0, sum_q ((y_q - e_q)^2 - e_q) / sum_q e_q^2): a query with more positives than its ranks predict has
    more of them further down as well. Replicates draw queries and fit anew.

    Args:
        rank: Rank of each document, 1 = first, shape (n,).
        label: 1 relevant, 0 not, NaN unlabelled.
        query: The query of each document, 0..n_queries - 1.
        n_queries: Q.
        n_draws: Replicates; None = as `draw_queries` has it.
        seed: Of the draw of queries.

    Raises:
        InputError: The columns differ in length, a label is neither 0 nor 1 nor NaN, or nothing is labelled.

    Source:
        Efron and Morris, "Stein's estimation rule and its competitors", JASA 68 (1973), for the shrinkage of lambda.

    >>> rank, label = [1, 2, 3, 4] * 2, [1, 1, 0, 0, 1, 0, 0, float("nan")]
    >>> counts = rank_decay_counts(rank, label, [0] * 4 + [1] * 4, n_queries=2)
    >>> counts.values.round(2).tolist()  # at rank 4 hardly anything is left
    [2.0, 1.01]
    """
    ranks, labels, of = np.asarray(rank), np.asarray(label, dtype=np.float64), np.asarray(query, dtype=np.int64)
    known = ~np.isnan(labels)
    if not ranks.shape == labels.shape == of.shape or not np.isin(labels[known], (0, 1)).all():
        raise InputError("rank, label and query must be columns of one length, and a label 0, 1 or NaN")
    if not known.any():
        raise InputError("rank-decay needs labels, and no document has one")
    levels, column = np.unique(ranks, return_inverse=True)
    shape = (n_queries, len(levels))
    positive, labelled, unlabelled = (
        _table(of[mask], column[mask], shape) for mask in (known & (labels == 1), known, ~known)
    )
    weights = draw_queries(n_queries, n_draws=n_draws, rng=np.random.default_rng(seed))
    log_rank = np.log(levels.astype(np.float64))
    values, draws = (
        _counts(times, positive, labelled, unlabelled, log_rank)
        for times in (np.ones((1, n_queries), np.int64), weights)
    )
    return CountDraws(values[0], draws, weights)


def _table(row: npt.NDArray[np.int64], column: npt.NDArray[np.int64], shape: tuple[int, int]) -> Floats:
    """How many documents of each query stand at each rank."""
    flat = np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)


def _counts(
    weights: npt.NDArray[np.int64], positive: Floats, labelled: Floats, unlabelled: Floats, log_rank: Floats
) -> Floats:
    """N of each query in each replicate, shape (n, Q)."""
    p = _fit(weights @ positive, weights @ labelled, log_rank)
    y, e = positive.sum(axis=1), p @ labelled.T
    excess = (weights * ((y - e) ** 2 - e)).sum(axis=1) / np.maximum((weights * e**2).sum(axis=1), 1e-12)
    shrink = np.maximum(excess, 0.0)[:, None]  # 1 / k, so that k = infinity is 0
    return np.asarray(y + (shrink * y + 1) / (shrink * e + 1) * (p @ unlabelled.T))


def _fit(positive: Floats, trials: Floats, x: Floats) -> Floats:
    """The fitted probability at each rank, shape (n, ranks): Newton steps, all replicates at once."""
    design = np.stack([np.ones_like(x), x], axis=1)
    total = positive.sum(axis=1) / np.maximum(trials.sum(axis=1), 1)
    beta = np.stack([np.log((total + 0.01) / (1.01 - total)), np.zeros_like(total)], axis=1)
    for _ in range(_N_STEPS):
        p = _expit(beta @ design.T)
        slope = (positive - trials * p) @ design - _RIDGE * beta
        curve = np.einsum("nr,ri,rj->nij", trials * p * (1 - p), design, design) + _RIDGE * np.eye(2)
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < _DONE:
            break
    return _expit(beta @ design.T)


def _expit(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -50, 50))))
