"""Documents that resemble each other are relevant together: labels spread within clusters of the candidates.

A baseline to know, not to trust: the labelled documents are the top of the ranking, not a random part of their cluster,
so a cluster is taken for as relevant as its best documents.
"""

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.tail import DeepSample, tail_counts

__all__ = ["cluster_vectors", "clustered_counts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_N_STEPS = 50


def clustered_counts(label: npt.ArrayLike, cluster: npt.ArrayLike, query: npt.ArrayLike, *, n_queries: int) -> Floats:
    """Relevant documents of each query, each labelled document standing for its part of its cluster.

    N_q = sum over the clusters g with a label of size_g * (relevant among the labelled of g / labelled of g). A cluster
    without a label adds nothing.

    Args:
        label: 1 relevant, 0 not, NaN unlabelled, one a candidate, shape (n,).
        cluster: The cluster of each candidate within its query, such as from `cluster_vectors`.
        query: The query of each candidate, 0..n_queries - 1.
        n_queries: Q.

    Raises:
        InputError: The columns differ in length, or a label is neither 0 nor 1 nor NaN.

    >>> nan = float("nan")  # clusters of 4 (one of two relevant), 2 (none of one) and 1 (no label)
    >>> clustered_counts([1, 0, nan, nan, 0, nan, nan], [0, 0, 0, 0, 1, 1, 2], [0] * 7, n_queries=1).tolist()
    [2.0]
    """
    labels, of = np.asarray(label, dtype=np.float64), np.asarray(query, dtype=np.int64)
    known = ~np.isnan(labels)
    code = np.unique(np.stack([of, np.asarray(cluster)]), axis=1, return_inverse=True)[1].ravel()
    if labels.shape != of.shape or not np.isin(labels[known], (0, 1)).all():
        raise InputError("label, cluster and query must be columns of one length, and a label 0, 1 or NaN")
    n = int(code.max(initial=-1)) + 1
    sizes, drawn, positives = (
        np.bincount(code, weights=each.astype(np.float64), minlength=n).astype(np.float64)
        for each in (np.ones(len(code)), known, np.where(known, labels, 0.0))
    )
    owner = np.zeros(n, dtype=np.int64)
    owner[code] = of
    seen = drawn > 0
    sample = DeepSample(sizes[seen], drawn[seen], positives[seen])
    return tail_counts(np.zeros(n_queries), sample, owner[seen])


def cluster_vectors(vectors: npt.ArrayLike, n_clusters: int) -> Ints:
    """Clusters of one query's candidates by the cosine of their vectors: spherical k-means.

    It starts from the first candidate and then, again and again, the one least like all centres so far; so it draws
    nothing, and equal input gives equal clusters.

    Args:
        vectors: One a candidate, shape (n, d), from any embedder.
        n_clusters: At most so many clusters; fewer where candidates coincide.

    Returns:
        The cluster of each candidate, shape (n,).

    Raises:
        InputError: `n_clusters` is below 1, or `vectors` is not a table of finite numbers.

    >>> cluster_vectors([[1, 0], [0, 1], [2, 0.1], [0, 3]], 2).tolist()
    [0, 1, 0, 1]
    """
    points = np.asarray(vectors, dtype=np.float64)
    if n_clusters < 1 or points.ndim != 2 or not np.isfinite(points).all():
        raise InputError(f"clusters need n_clusters >= 1 (got {n_clusters}) and a table of finite vectors")
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    centres = _first_centres(points, n_clusters)
    found = np.full(len(points), -1)
    for _ in range(_N_STEPS if len(points) else 0):
        nearest = (points @ centres.T).argmax(axis=1)
        if np.array_equal(nearest, found):
            break
        found = nearest
        centres = np.stack([_centre(points[found == g], centres[g]) for g in range(len(centres))])
    return found


def _first_centres(points: Floats, n: int) -> Floats:
    chosen = points[:1]
    while 0 < len(chosen) < n:
        likeness = (points @ chosen.T).max(axis=1)
        if likeness.min() > 1 - 1e-9:  # all coincide with a centre
            break
        chosen = np.concatenate([chosen, points[[likeness.argmin()]]])
    return chosen


def _centre(members: Floats, before: Floats) -> Floats:
    """The direction of the members' sum; an empty cluster stays where it was."""
    total = members.sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length > 0 else before
