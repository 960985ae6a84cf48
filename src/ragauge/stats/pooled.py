"""One effect over many segments, and how much the segments differ beyond chance.

One idea: segments (data sets, embedders, ranges of K) repeat each other's queries, so their estimates are not
independent. The delete-one-query jackknife gives each query's influence on each segment; its cross products are the
covariance of the segments, which goes into the pooled value's error and into the estimate of their true spread. For
segments without a common query all of it is the textbook's random-effects estimate of DerSimonian and Laird.
"""

from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import check_level, t_quantile

__all__ = ["PooledEffect", "pool_segments", "segment_covariance"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PooledEffect:
    """A random-effects estimate over segments.

    Attributes:
        value: Weighted mean over segments.
        error: Its standard error.
        low: Lower bound of the interval.
        high: Upper bound.
        level: Confidence level.
        p: Chance of a value at least this far from 0 if the true one were 0.
        tau2: Variance of the true effects between segments, >= 0; 0 = the segments differ by chance alone.
        i2: Share of the variation between segments that is not chance, (Q - E) / Q, 0..1, where E is the Q that chance
            alone gives on average.
        q: Cochran's Q: weighted squared deviations of the segments from their weighted mean, summed.
        degrees: Degrees of freedom of the t distribution behind the interval and p; infinite = normal.
        n_segments: Segments pooled.
        n_queries: Queries behind them; 0 = not known.
        reason: Why there is no pooled value, else "".
    """

    value: float
    error: float
    low: float
    high: float
    level: float
    p: float
    tau2: float
    i2: float
    q: float
    degrees: float
    n_segments: int
    n_queries: int
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"not pooled ({self.reason})"
        return (
            f"{self.value:+.3f} [{self.low:.3f}, {self.high:.3f}], p = {self.p:.3g}, "
            f"tau^2 = {self.tau2:.3g}, I^2 = {self.i2:.0%}, {self.n_segments} segments"
        )


@dataclass(frozen=True)
class _Spread:
    """How much the segments differ: as in `PooledEffect`."""

    tau2: float
    i2: float
    q: float


def pool_segments(
    effects: npt.ArrayLike,
    covariance: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    n_queries: int = 0,
    level: float = 0.95,
) -> PooledEffect:
    """One effect from several segments that may share queries.

    With v the variances (the diagonal of C), weights w = 1 / v unless given, m = sum w x / sum w and
    Q = sum w (x - m)^2: tau2 = max(0, (Q - E) / (sum w - sum w^2 / sum w)), where chance alone gives on average
    E = sum w v - sum_st w_s w_t C_st / sum w, which is S - 1 for independent segments and w = 1 / v. The value is the
    mean weighted by u (the weights given, else 1 / (v + tau2)), its variance
    (sum_st u_s u_t C_st + tau2 sum u^2) / (sum u)^2, for independent segments and u = 1 / (v + tau2) just 1 / sum u.
    Put in Fisher's z = atanh r, or differences of them; the value is then on that scale.

    Give weights (queries - 3, for Fisher's z) to pool differences of two measures: their variance is tiny in a segment
    where the two are nearly the same, and 1 / v would let that segment decide alone.

    The interval is value +- t error. The first term of the variance rests on the queries (n_queries - 1 degrees of
    freedom), the second on the segments (S - 1), and t has their Satterthwaite mixture.

    Args:
        effects: One a segment, shape (S,), finite.
        covariance: Their variances, shape (S,), for independent segments; else their covariance, shape (S, S), as
            `segment_covariance` gives it. Without weights the variances must be positive; with weights one may be 0.
        weights: Fixed in advance, one a segment, shape (S,), positive; None = 1 / variance.
        n_queries: Distinct queries behind all segments; 0 = many (the first term counts as known).
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The pooled effect. One segment is its own pooled value, with tau2 = 0. Effects that are all 0 for certain give
        0, p = 1. NaN, with the reason, for no segments.

    Raises:
        InputError: Shapes do not fit, a value is not finite, a variance or weight is not positive, or effects that
            differ have no variance.

    Source:
        DerSimonian and Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7 (1986),
        doi:10.1016/0197-2456(86)90046-2. DerSimonian and Kacker, "Random-effects model for meta-analysis of clinical
        trials: an update", Contemporary Clinical Trials 28 (2007), doi:10.1016/j.cct.2006.04.004. Higgins and Thompson,
        "Quantifying heterogeneity in a meta-analysis", Statistics in Medicine 21 (2002), doi:10.1002/sim.1186.

    >>> print(pool_segments([0.2, 0.2, 0.2], [0.01, 0.01, 0.01]))  # error = sqrt(.01 / 3) = .0577
    +0.200 [0.087, 0.313], p = 0.000532, tau^2 = 0, I^2 = 0%, 3 segments
    """
    check_level(level)
    x, c, w = _checked(effects, covariance, weights)
    if not len(x):
        return PooledEffect(
            nan, nan, nan, nan, level, nan, nan, nan, nan, nan, 0, n_queries, "no segment has an effect"
        )
    spread = _spread(x, c, w)
    u = w if weights is not None else 1 / (np.diagonal(c) + spread.tau2)
    u = u / u.sum()
    within, between = max(0.0, float(u @ c @ u)), spread.tau2 * float((u**2).sum())
    value, error = float(u @ x), sqrt(within + between)
    if error == 0 and value != 0:
        raise InputError("the covariance leaves the pooled value without an error; it is not one of real segments")
    degrees = _satterthwaite(within, n_queries - 1 if n_queries else inf, between, len(x) - 1)
    half = t_quantile(level, degrees) * error
    return PooledEffect(
        value=value,
        error=error,
        low=value - half,
        high=value + half,
        level=level,
        p=_two_sided(value / error, degrees) if error else 1.0,
        tau2=spread.tau2,
        i2=spread.i2,
        q=spread.q,
        degrees=degrees,
        n_segments=len(x),
        n_queries=n_queries,
    )


def segment_covariance(effects: npt.ArrayLike, without: npt.ArrayLike, *, present: npt.ArrayLike) -> Floats:
    """The covariance of segments' effects, from the effects with one query left out at a time.

    C_st = sum_q e_qs e_qt, e_qs = sqrt((Q_s - 1) / Q_s) (x_s(q) - mean over the queries of s), 0 where q is not in s.
    The diagonal is the jackknife variance of each segment; segments without a common query have 0.

    Args:
        effects: The effect of each segment over all its queries, shape (S,); a segment may be NaN, and is then NaN in
            the result.
        without: The effect of each segment without each query, shape (Q, S); read where `present`.
        present: Whether the query has rows in the segment, shape (Q, S), bool.

    Returns:
        Shape (S, S).

    Raises:
        InputError: The shapes do not fit each other, or a segment has fewer than two queries.
    """
    x, left = np.asarray(effects, dtype=np.float64), np.asarray(without, dtype=np.float64)
    inside = np.asarray(present, dtype=np.bool_)
    if x.ndim != 1 or left.shape != inside.shape or left.shape[1:] != x.shape:
        raise InputError(
            f"without and present must be queries x {len(x)} segments, got {left.shape} and {inside.shape}"
        )
    counts = inside.sum(0)
    if (counts < 2).any():
        raise InputError(f"segment {int(np.argmin(counts))} has {counts.min()} queries; a variance needs 2")
    filled = np.where(inside, left, 0.0)
    influence = np.where(inside, left - filled.sum(0) / counts, 0.0) * np.sqrt((counts - 1) / counts)
    influence[:, np.isnan(x)] = nan
    covariance: Floats = influence.T @ influence
    return covariance


def _checked(
    effects: npt.ArrayLike, covariance: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    x, c = np.asarray(effects, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    c = np.diag(c) if c.ndim == 1 else c
    if x.ndim != 1 or c.shape != (len(x), len(x)):
        raise InputError(f"covariance must be ({len(x)},) or ({len(x)}, {len(x)}) for {len(x)} effects, got {c.shape}")
    if not (np.isfinite(x).all() and np.isfinite(c).all()):
        raise InputError("effects and their covariance must be finite; leave out the segments without one")
    variance = np.diagonal(c)
    if (variance < 0).any() or (weights is None and (variance == 0).any()):
        raise InputError(f"variances must be positive, got {variance.min():g}; one may be 0 where weights are given")
    if weights is None:
        return x, c, 1 / variance
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != x.shape or not (np.isfinite(w) & (w > 0)).all():
        raise InputError(f"weights must be positive, one for each of {len(x)} segments, got {w.tolist()}")
    return x, c, w


def _spread(x: Floats, c: Floats, w: Floats) -> _Spread:
    """By moments: Q less what chance alone gives on average."""
    q = float(w @ (x - w @ x / w.sum()) ** 2)
    expected = float(w @ np.diagonal(c)) - float(w @ c @ w) / float(w.sum())
    excess = max(0.0, q - expected) if len(x) > 1 else 0.0
    per_tau2 = float(w.sum() - (w**2).sum() / w.sum())
    return _Spread(excess / per_tau2 if excess else 0.0, excess / q if excess else 0.0, q)


def _satterthwaite(within: float, within_degrees: float, between: float, between_degrees: float) -> float:
    """Degrees of freedom of the sum of two variances, each with its own."""
    below = within**2 / within_degrees + (between**2 / between_degrees if between else 0.0)
    return (within + between) ** 2 / below if below else inf


def _two_sided(statistic: float, degrees: float) -> float:
    from scipy.special import ndtr, stdtr  # here, because `import ragauge` must stay quick

    return float(2 * (ndtr(-abs(statistic)) if degrees == inf else stdtr(degrees, -abs(statistic))))
