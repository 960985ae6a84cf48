"""How many labels the mean of a measure takes, and the cheapest way to get it: few documents a query, many queries.

One idea: documents of one query resemble each other (the intraclass correlation icc), so the second label of a query
tells less than the first. With m of the K documents of each query, drawn at random, the mean label has the variance

    p (1 - p) (1 + (m - 1) icc) / (n m)        over n queries,

which for a given number of labels n m is smallest at m = 1. One document a query gives the mean of P and T with 70 %
fewer labels than all K = 10 where icc = .28; it gives no value of a single query, and no F, nDCG or other measure that
is not a mean over documents.
"""

from dataclasses import dataclass
from math import ceil, inf, nan, sqrt

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Estimate
from ragauge.stats.intervals import Labels, mean_interval, t_quantile

__all__ = ["LabelPlan", "Spread", "draw_documents", "label_plans", "label_spread", "sampled_mean"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelPlan:
    """One way to reach the half width that was asked for.

    Attributes:
        design: What is labelled, in words.
        documents_per_query: Documents labelled of each query.
        queries: Queries needed.
        labels: Labels needed.
        cost: labels + queries * (cost of a query in labels).
    """

    design: str
    documents_per_query: int
    queries: int
    labels: int
    cost: float


@dataclass(frozen=True)
class Spread:
    """How labels vary within and between queries.

    Attributes:
        mean: Share of relevant documents.
        icc: Intraclass correlation; below 0 where documents of a query differ more than those of different queries.
        n_queries: Queries with at least two labels.
    """

    mean: float
    icc: float
    n_queries: int


def label_plans(
    half_width: float,
    *,
    cutoff: int,
    mean: float = 0.5,
    icc: float = 0.25,
    correlation: float = 0.0,
    query_cost: float = 0.0,
    level: float = 0.95,
) -> list[LabelPlan]:
    """The labels that mean P@K (or T@K) to within +-half_width takes, by design.

    n = z^2 p (1 - p) (1 + (m - 1) icc) (1 - r_m^2) / (m half_width^2) queries of m labels, for m = K, for m = 1 and,
    when a query costs something, for m* = sqrt(query_cost (1 - icc) / icc) rounded to the cheaper whole number; each
    also with a proxy known for every query (a model's labels, the overlap of two retrievers) when its correlation r
    with P@K is given: r_K = r, and r_m^2 = r^2 (1 + (K - 1) icc) m / (K (1 + (m - 1) icc)).

    Args:
        half_width: What the interval may be to either side, above 0.
        cutoff: K.
        mean: Expected share p of relevant documents, strictly between 0 and 1; 0.5 needs most labels.
        icc: Intraclass correlation of labels within a query, 0..1; .04 to .24 in seven public collections (K = 10).
        correlation: Of the proxy with P@K over queries; 0 = no proxy.
        query_cost: What a query costs besides its labels, in labels.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: A number is out of range.

    Source:
        Kish, "Survey Sampling" (1965), chapters 5 and 8: design effect and optimum cluster size.

    >>> all_k, one = label_plans(0.02, cutoff=10, mean=0.6, icc=0.2847)
    >>> all_k.labels, one.labels
    (8220, 2305)
    """
    _check_plan(half_width, cutoff, mean, icc, correlation, query_cost, level)
    sizes = {cutoff: f"all {cutoff} documents of each query", 1: "one random document of each query"}
    if query_cost > 0:
        best = _best_size(cutoff, icc, query_cost)
        sizes.setdefault(best, f"{best} random documents of each query")
    trials = t_quantile(level, inf) ** 2 * mean * (1 - mean) / half_width**2
    plans = []
    for size, design in sizes.items():
        effect = 1 + (size - 1) * icc
        explained = correlation**2 * (1 + (cutoff - 1) * icc) * size / (cutoff * effect)
        plans.append(_plan(design, size, trials * effect / size, query_cost))
        if correlation:
            plans.append(_plan(f"{design}, with the proxy", size, trials * effect / size * (1 - explained), query_cost))
    return plans


def label_spread(labels: npt.ArrayLike, queries: Labels) -> Spread:
    """The mean and the intraclass correlation of 0/1 labels, from documents that are labelled already.

    icc = (A - B) / (A + (m0 - 1) B) with A and B the mean squares between and within queries of a one-way analysis of
    variance, and m0 = (n - sum m_q^2 / n) / (Q - 1).

    Args:
        labels: 0 or 1, one a document, shape (n,).
        queries: The query of each document.

    Returns:
        icc is NaN with fewer than two queries of two labels, or when all labels are alike.

    Raises:
        InputError: The columns differ in length, or a label is neither 0 nor 1.

    Source:
        Fisher, "Statistical Methods for Research Workers" (1925), section 40; Donner, "A review of inference procedures
        for the intraclass correlation coefficient", International Statistical Review 54 (1986), doi:10.2307/1403259.

    >>> found = label_spread([1, 1, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3])
    >>> found.mean, round(found.icc, 3)  # A = 1 / 2, B = (1 / 2) / 3
    (0.5, 0.5)
    """
    y = np.asarray(labels, dtype=np.float64)
    if y.ndim != 1 or len(queries) != len(y) or not np.isin(y, (0, 1)).all():
        raise InputError("labels must be 0 or 1, with the query of each")
    _, code = np.unique(np.asarray(queries), return_inverse=True)
    sizes = np.bincount(code)
    n, n_queries = len(y), len(sizes)
    paired = int((sizes >= 2).sum())
    mean = float(y.mean()) if n else nan
    if paired < 2 or n == n_queries or y.min() == y.max():
        return Spread(mean, nan, paired)
    means = np.bincount(code, weights=y) / sizes
    between = float((sizes * (means - mean) ** 2).sum()) / (n_queries - 1)
    within = float(((y - means[code]) ** 2).sum()) / (n - n_queries)
    m0 = (n - float((sizes**2).sum()) / n) / (n_queries - 1)
    return Spread(mean, (between - within) / (between + (m0 - 1) * within), paired)


def draw_documents(n_documents: npt.ArrayLike, *, per_query: int = 1, seed: int = 0) -> list[Ints]:
    """Which documents of each query to label: `per_query` drawn at random without replacement, or all if fewer.

    Args:
        n_documents: Documents retrieved for each query, up to the cutoff, shape (Q,).
        per_query: Documents to draw of each query, positive.
        seed: Of the draw.

    Returns:
        For each query the ranks drawn, from 0, ascending.

    Raises:
        InputError: A number is negative, or per_query is not positive.

    >>> [ranks.tolist() for ranks in draw_documents([10, 1, 0], seed=1)]
    [[4], [0], []]
    """
    lengths = np.asarray(n_documents, dtype=np.int64)
    if per_query < 1 or (lengths < 0).any():
        raise InputError(f"per_query must be positive and no length negative, got {per_query} and {lengths.min()}")
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(length, min(per_query, length), replace=False)) for length in lengths]


def sampled_mean(
    values: npt.ArrayLike,
    queries: Labels,
    n_documents: npt.ArrayLike,
    *,
    cutoff: int,
    measure: str,
    bounds: tuple[float, float],
    clusters: Labels | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of P@K or T@K over queries, from a few random documents of each.

    A query's value is estimated without bias by (documents it has / K) * (mean over those that were drawn); the mean of
    these, and its interval, are `mean_interval`'s, with the query as unit (or its cluster).

    Args:
        values: What each labelled document adds to K times the measure: 1 or 0 for P, 1 - alpha or -alpha for T.
        queries: The number 0..Q-1 of each labelled document's query.
        n_documents: Documents retrieved for each query, up to the cutoff, shape (Q,). A query without any counts as 0;
            one with documents and no label is left out and counted as undefined.
        cutoff: K.
        measure: Printed form of the measure, for the record.
        bounds: Smallest and largest value of the measure.
        clusters: What queries belong together, one a query.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The estimate; `judged` is the share of the retrieved documents that are labelled.

    Raises:
        InputError: Columns differ in length, a query number or a list is longer than allowed.

    Source:
        Horvitz and Thompson, JASA 47 (1952), doi:10.1080/01621459.1952.10483446, with inclusion probability m_q / r_q.

    >>> print(sampled_mean([1, 0, 1, 1], [0, 1, 2, 3], [10] * 4, cutoff=10, measure="P@10", bounds=(0, 1)))
    P@10 = 0.750 [0.131, 0.984], n = 4, judged 10%
    """
    y, query = np.asarray(values, dtype=np.float64), np.asarray(queries, dtype=np.int64)
    lengths = np.asarray(n_documents, dtype=np.int64)
    if y.shape != query.shape or y.ndim != 1:
        raise InputError(f"each labelled document needs a value and a query, got {y.size} and {query.size}")
    if ((query < 0) | (query >= len(lengths))).any() or ((lengths < 0) | (lengths > cutoff)).any():
        raise InputError(f"queries must be numbered 0..{len(lengths) - 1}, each with 0..{cutoff} documents")
    drawn = np.bincount(query, minlength=len(lengths))
    if (drawn > lengths).any():
        raise InputError(f"query {int((drawn > lengths).argmax())} has more labelled documents than it has documents")
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(query, weights=y, minlength=len(lengths)) / drawn
    per_query = np.where(lengths == 0, 0.0, lengths / cutoff * means)
    judged = float(drawn.sum() / lengths.sum()) if lengths.sum() else nan
    options = {"measure": measure, "bounds": bounds, "clusters": clusters, "level": level, "judged": judged}
    return mean_interval(per_query, **options)  # type: ignore[arg-type]


def _plan(design: str, size: int, queries: float, query_cost: float) -> LabelPlan:
    whole = ceil(queries - 1e-9)
    return LabelPlan(design, size, whole, whole * size, whole * (size + query_cost))


def _best_size(cutoff: int, icc: float, query_cost: float) -> int:
    """The cheaper of the two whole numbers about m*, within 1..K."""
    best = min(float(cutoff), sqrt(query_cost * (1 - icc) / icc)) if icc > 0 else cutoff
    whole = [max(1, int(best)), min(cutoff, ceil(best))]
    return min(whole, key=lambda m: (query_cost + m) * (1 + (m - 1) * icc) / m)


def _check_plan(
    half_width: float, cutoff: int, mean: float, icc: float, correlation: float, query_cost: float, level: float
) -> None:
    rules = [
        (half_width > 0, f"half_width must be above 0, got {half_width:g}"),
        (cutoff >= 1, f"cutoff must be positive, got {cutoff}"),
        (0 < mean < 1, f"mean must lie strictly between 0 and 1, got {mean:g}"),
        (0 <= icc <= 1, f"icc must lie in 0..1, got {icc:g}"),
        (-1 < correlation < 1, f"correlation must lie strictly between -1 and 1, got {correlation:g}"),
        (query_cost >= 0, f"query_cost must be >= 0, got {query_cost:g}"),
        (0 < level < 1, f"level must lie strictly between 0 and 1, got {level:g}"),
    ]
    problems = [message for holds, message in rules if not holds]
    if problems:
        raise InputError.collect(problems)
