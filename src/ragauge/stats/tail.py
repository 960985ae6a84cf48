"""What lies below the documents that were all labelled, from a few of them drawn at random.

The documents are in strata (ranks 21 to 40, 41 to 80, ...); of each, some were drawn and labelled. A drawn document
stands for N_h / m_h documents of its stratum, and how far that can be off is told by the posterior of the stratum's
share of relevant documents, Beta(y_h + a, m_h - y_h + a).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import Interval, check_level
from ragauge.stats.relevant_count import checked_counts

__all__ = ["DeepSample", "TailTotal", "query_count_interval", "tail_counts", "tail_total"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HALF = 0.5
"""Pseudo-positives that the prior adds to all strata together: .5 in each would find relevant documents everywhere."""


@dataclass(frozen=True)
class DeepSample:
    """Strata of documents, of which some were drawn at random and labelled.

    Args:
        sizes: N_h, documents of each stratum, shape (H,).
        drawn: m_h, how many of them were drawn and labelled, 1 or more where the stratum is not empty.
        positives: y_h, how many of those are relevant.

    Raises:
        InputError: Not y_h <= m_h <= N_h, or a stratum without a label.
    """

    sizes: Floats
    drawn: Floats
    positives: Floats

    def __post_init__(self) -> None:
        for name in ("sizes", "drawn", "positives"):
            object.__setattr__(self, name, checked_counts(getattr(self, name), name))
        if not ((self.positives <= self.drawn) & (self.drawn <= self.sizes)).all():
            raise InputError("each stratum needs positives <= drawn <= size")
        if ((self.drawn == 0) & (self.sizes > 0)).any():
            n_bare = int(((self.drawn == 0) & (self.sizes > 0)).sum())
            raise InputError(f"{n_bare} of {len(self.sizes)} strata have no label; label at least one document of each")

    def posterior(self, prior: float, *, n_draws: int, rng: np.random.Generator) -> Floats:
        """Relevant documents of each stratum in each replicate, shape (n_draws, H): N_h times a share drawn from
        Beta(y_h + prior, m_h - y_h + prior). A stratum that was drawn whole varies too: with other queries it would."""
        shape = (n_draws, len(self.sizes))
        share = rng.beta(self.positives + prior, self.drawn - self.positives + prior, size=shape)
        return np.asarray(self.sizes * share)


@dataclass(frozen=True)
class TailTotal:
    """A total and its standard error; NaN where a stratum that was not drawn whole has a single label."""

    total: float
    error: float


def tail_total(sample: DeepSample) -> TailTotal:
    """Relevant documents of all strata: the Horvitz-Thompson estimate sum N_h y_h / m_h.

    Unbiased. se^2 = sum N_h^2 (1 - m_h / N_h) p_h (1 - p_h) / (m_h - 1); one label of a larger stratum tells no
    variance, so se is NaN. With one stratum of uniformly drawn documents, it is the number of relevant documents
    that infAP's sampling implies.

    Args:
        sample: The strata.

    Source:
        Horvitz and Thompson, JASA 47 (1952), doi:10.1080/01621459.1952.10483446. Cochran, "Sampling Techniques" (1977),
        section 5.4. Yilmaz and Aslam, CIKM (2006), doi:10.1145/1183614.1183633.

    >>> found = tail_total(DeepSample([10, 20, 40], [2, 2, 2], [1, 1, 0]))
    >>> found.total, round(found.error, 2)
    (15.0, 10.49)
    """
    sizes, drawn, positives = sample.sizes, sample.drawn, sample.positives
    some = drawn > 0
    share = positives / np.where(some, drawn, 1.0)
    below = np.where(drawn > 1, drawn - 1, np.nan)
    variances = sizes**2 * (1 - drawn / np.where(some, sizes, 1.0)) * share * (1 - share) / below
    return TailTotal(float((sizes * share).sum()), float(np.sqrt(np.where(drawn < sizes, variances, 0.0).sum())))


def tail_counts(near: npt.ArrayLike, sample: DeepSample, query: npt.ArrayLike) -> Floats:
    """Relevant documents of each query: those seen where all was labelled, and N_h y_h / m_h of the query's own strata.

    Unbiased for each query, and rough: with ten labels below K = 10 it is off by four fifths of N on average.

    Args:
        near: Relevant documents among those all labelled, one a query, shape (Q,).
        sample: Strata, each of one query.
        query: The query of each stratum, 0..Q - 1, shape (H,).

    Raises:
        InputError: A query number is out of range, or the lengths differ.

    >>> tail_counts([6], DeepSample([10, 20, 40], [2, 2, 2], [1, 1, 0]), [0, 0, 0]).tolist()
    [21.0]
    """
    seen, of = checked_counts(near, "near"), np.asarray(query, dtype=np.int64)
    n = len(seen)
    if of.shape != sample.sizes.shape or (of.size and not 0 <= of.min() <= of.max() < n):
        raise InputError(f"query must give a number in 0..{n - 1} for each of the {len(sample.sizes)} strata")
    expected = sample.sizes * sample.positives / np.maximum(sample.drawn, 1.0)
    return np.asarray(seen + np.bincount(of, weights=expected, minlength=n))


def query_count_interval(near: int, sample: DeepSample, *, level: float = 0.95) -> Interval:
    """The interval of one query's number of relevant documents.

    Of the documents that were not drawn in stratum h, beta-binomially many are relevant: N_h - m_h trials,
    Beta(y_h + 1/2, m_h - y_h + 1/2) (Jeffreys' prior). The strata's distributions are convolved, exactly. n_p / high
    and n_p / low bound the query's recall.

    Args:
        near: Relevant documents among those all labelled.
        sample: The query's strata.
        level: Confidence level, strictly between 0 and 1.

    Source:
        Webber, "Approximate recall confidence intervals", ACM TOIS 31 (2013), doi:10.1145/2414782.2414784.

    >>> interval = query_count_interval(6, DeepSample([100], [20], [1]))
    >>> interval.low, interval.high
    (7.0, 25.0)
    """
    check_level(level)
    mass = np.ones(1)
    for size, drawn, positives in zip(sample.sizes, sample.drawn, sample.positives, strict=True):
        rest = _beta_binomial(int(size - drawn), positives + HALF, drawn - positives + HALF)
        mass = np.convolve(mass, rest)
    below = np.cumsum(mass)
    ends = np.searchsorted(below, [(1 - level) / 2, (1 + level) / 2]).clip(max=len(mass) - 1)
    seen = near + float(sample.positives.sum())
    return Interval(seen + float(ends[0]), seen + float(ends[1]), level, int(sample.drawn.sum()))


def _beta_binomial(n: int, a: float, b: float) -> Floats:
    """P(k of n), k = 0..n, when the probability of each is drawn from Beta(a, b) first."""
    from scipy.special import betaln, gammaln

    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + betaln(k + a, n - k + b) - betaln(a, b)))
