"""The mean of a measure from many queries a model labelled and a few that people labelled as well.

One idea: take the model's mean, and correct it by what it got wrong on the queries people looked at. With Y the value
of the measure by people's labels, f by the model's, L the n queries that have both and U the M that have only f,

    theta = w mean_U(f) + mean_L(Y - w f).

It is unbiased whatever the model does, as long as L is a random sample of the queries; a good model (a high
correlation of Y and f *over queries*) makes the interval narrower, a useless one leaves it about as it was. The weight
w is tuned to the correlation, w = 0 being people's labels alone. Correcting by the model's error rates instead
(Rogan and Gladen 1978) is not offered: rates from elsewhere do not transport, and with rates estimated on the same few
queries its squared error is at least four times that of people's labels alone (docs/results/model_labels.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Corrected
from ragauge.stats.intervals import Labels, check_level, cluster_codes, t_quantile

__all__ = ["MIN_GAIN", "MIN_HUMAN_QUERIES", "Target", "corrected_difference", "corrected_mean"]

Floats = npt.NDArray[np.float64]
Target = Literal["new", "these"]

MIN_HUMAN_QUERIES = 30
"""With fewer queries labelled by people, coverage was seen to fall to 92 % at level 0.95."""

MIN_GAIN = 1.1
"""Below this, the model's labels are worth less than a tenth more queries labelled by people."""

_RARE = 0.001  # chance of calling a random sample of queries not random


@dataclass(frozen=True)
class _Part:
    """What one stratum gives: its estimate and variance, those of people's labels alone, the weight, and the sizes."""

    mean: float
    variance: float
    human_variance: float
    weight: float
    n: int
    n_model: int

    @property
    def size(self) -> int:
        return self.n + self.n_model


@dataclass(frozen=True)
class _Whole:
    """All strata together; NaN, with the reason, where there is no estimate or no error of it."""

    mean: float
    error: float
    degrees: float
    weight: float
    gain: float
    reason: str = ""


def corrected_mean(
    human: npt.ArrayLike,
    model: npt.ArrayLike,
    *,
    measure: str,
    bounds: tuple[float, float] | None = None,
    target: Target = "new",
    weight: float | None = None,
    strata: Labels | None = None,
    level: float = 0.95,
) -> Corrected:
    """The mean that people would have found, from the model's labels and people's on a random sample of the queries.

    target="new": the mean over all queries like these. theta as above, and

        w = cov_L(Y, f) / ((1 + n / M) var(f)), clipped to 0..1, with var(f) over all queries,
        se^2 = w^2 var_U(f) / M + var_L(Y - w f) / n.

    target="these": the mean over exactly these N = n + M queries, such as a fixed test set; then mean(f) is over all of
    them, w = cov_L(Y, f) / var(f), and se^2 = (1 - n / N) var_L(Y - w f) / n. Variances are over n - 1, the interval is
    theta +- t_{n-1} se. With strata, the same in each, put together by their shares of all queries; the degrees of
    freedom are then Satterthwaite's.

    `gain` is how many times as many queries people would have to label for an interval as narrow without the model:
    var(people alone) / se^2; about 1 / (1 - rho^2 M / N) with rho the correlation of Y and f over queries.

    Args:
        human: The measure by people's labels, one a query; NaN or None where people did not label the query.
        model: The measure by the model's labels, one a query, in the same order. A query where it is NaN is left out.
        measure: Printed form of the measure, for the record.
        bounds: Smallest and largest value of the measure; the interval is cut off there.
        target: "new" or "these", as above.
        weight: w; 1 is plain prediction-powered inference, 0 people alone; None = tuned.
        strata: What queries are grouped by (a data set, a kind of query), one a query; people must have labelled at
            least two of each group, drawn at random within the group.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The estimate, with rho, the gain, and warnings: fewer than 30 queries labelled by people, a gain below 1.1, or a
        mean of f over people's queries that is far from that over the others, as in a sample that is not random.
        NaN with a reason when people labelled fewer than two queries (of a stratum), or when Y - w f is the same for
        all of them.

    Raises:
        InputError: Lengths differ, a value is infinite, level or weight is out of range.

    Source:
        Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, "Prediction-powered inference", Science 382 (2023),
        doi:10.1126/science.adi6000. Angelopoulos, Duchi and Zrnic, "PPI++: Efficient prediction-powered inference",
        arXiv:2311.01453. Fisch et al., "Stratified prediction-powered inference", arXiv:2406.04291. The finite form is
        the difference estimator of survey sampling: Cochran, "Sampling Techniques" (1977), section 7.

    >>> people = [0.6, 0.2, 0.9, 0.4, 0.7] + [None] * 10
    >>> judge = [0.7, 0.3, 0.8, 0.6, 0.7, 0.5, 0.6, 0.8, 0.4, 0.9, 0.7, 0.3, 0.6, 0.8, 0.5]
    >>> found = corrected_mean(people, judge, measure="P@10")
    >>> round(found.mean, 6), round(found.error, 6), round(found.weight, 6)
    (0.550517, 0.07839, 0.948324)
    """
    y, f, groups = _columns(human, model, strata)
    _check_options(level, weight, target)
    labelled = ~np.isnan(y)
    combined = _combine([_part(y[groups == g], f[groups == g], target, weight) for g in np.unique(groups)])
    half = nan if combined.reason else t_quantile(level, combined.degrees) * combined.error
    low, high = bounds or (-np.inf, np.inf)
    n = int(labelled.sum())
    return Corrected(
        measure=measure,
        mean=combined.mean,
        low=nan if isnan(half) else max(low, combined.mean - half),
        high=nan if isnan(half) else min(high, combined.mean + half),
        error=combined.error,
        level=level,
        n_human=n,
        n_model=len(y) - n,
        human_mean=float(y[labelled].mean()) if n else nan,
        model_mean=float(f.mean()) if len(f) else nan,
        weight=combined.weight,
        correlation=_correlation(y[labelled], f[labelled]),
        gain=combined.gain,
        warnings=() if combined.reason else _warnings(y, f, groups, combined.gain),
        reason=combined.reason,
    )


def corrected_difference(
    human: tuple[npt.ArrayLike, npt.ArrayLike],
    model: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    measure: str,
    bounds: tuple[float, float] | None = None,
    target: Target = "new",
    weight: float | None = None,
    strata: Labels | None = None,
    level: float = 0.95,
) -> Corrected:
    """How much better one system is than another: `corrected_mean` of the differences first - second, query by query.

    Args:
        human: The measure of the first and of the second system by people's labels, one a query each; a query counts as
            labelled when both are known.
        model: The same by the model's labels.
        measure: Printed form of the measure, for the record.
        bounds: Smallest and largest value of the measure; a difference lies within +- (largest - smallest).
        target: As for `corrected_mean`.
        weight: As for `corrected_mean`.
        strata: As for `corrected_mean`.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The estimate of the difference; above 0 = the first is better.

    Raises:
        InputError: As for `corrected_mean`.

    >>> people = ([0.6, 0.4, 0.9, None], [0.4, 0.4, 0.5, None])
    >>> judge = ([0.7, 0.3, 0.8, 0.6], [0.5, 0.4, 0.4, 0.5])
    >>> round(corrected_difference(people, judge, measure="P@10", weight=0.0).mean, 3)
    0.2
    """
    span = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    y, f = (_difference(first, second) for first, second in (human, model))
    options = {"measure": measure, "target": target, "weight": weight, "strata": strata, "level": level}
    return corrected_mean(y, f, bounds=span, **options)  # type: ignore[arg-type]


def _difference(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise InputError(f"both systems need one value a query, got {a.size} and {b.size}")
    return a - b


def _part(y: Floats, f: Floats, target: Target, weight: float | None) -> _Part:
    """One stratum; without unlabelled queries the model has nothing to add."""
    labelled = ~np.isnan(y)
    n, n_model = int(labelled.sum()), int((~labelled).sum())
    if n < 2:
        return _Part(nan, nan, nan, nan, n, n_model)
    y_l, f_l, f_u = y[labelled], f[labelled], f[~labelled]
    ratio = n / n_model if target == "new" and n_model else 0.0
    w = (_tuned(y_l, f_l, f, ratio) if weight is None else weight) if n_model else 0.0
    rest = _variance(y_l - w * f_l) / n
    if target == "these":
        unseen = n_model / (n + n_model)
        mean = float(w * f.mean() + (y_l - w * f_l).mean())
        return _Part(mean, unseen * rest, unseen * _variance(y_l) / n, w, n, n_model)
    shift = float(w * f_u.mean()) if n_model else 0.0
    spread = w**2 * _variance(f_u if n_model > 1 else f) / n_model if n_model else 0.0
    return _Part(shift + float((y_l - w * f_l).mean()), spread + rest, _variance(y_l) / n, w, n, n_model)


def _tuned(y: Floats, f: Floats, f_all: Floats, ratio: float) -> float:
    """The weight with the smallest variance, within 0..1."""
    spread = (1 + ratio) * _variance(f_all)
    if spread == 0:
        return 0.0
    covariance = float(((y - y.mean()) * (f - f.mean())).sum()) / (len(y) - 1)
    return min(1.0, max(0.0, covariance / spread))


def _variance(values: Floats) -> float:
    """Over n - 1; exactly 0 for equal values, up to what subtraction leaves of them."""
    spread = float(values.var(ddof=1))
    return 0.0 if spread <= (1e-12 * max(1.0, float(np.abs(values).max()))) ** 2 else spread


def _combine(parts: Sequence[_Part]) -> _Whole:
    """The strata together, each with its share of all queries; Satterthwaite's degrees of freedom."""
    too_few = sum(part.n < 2 for part in parts)
    if too_few or not parts:
        where = f" in {too_few} of {len(parts)} strata" if len(parts) > 1 else ""
        return _Whole(nan, nan, nan, nan, nan, f"fewer than two queries labelled by people{where}")
    shares = np.array([part.size for part in parts]) / sum(part.size for part in parts)
    mean = float(shares @ [part.mean for part in parts])
    weight = float(shares @ [part.weight for part in parts])
    variances = shares**2 * [part.variance for part in parts]
    variance = float(variances.sum())
    if variance <= 0:
        return _Whole(mean, nan, nan, weight, nan, "no spread: what is left to correct is the same for all queries")
    degrees = variance**2 / float((variances**2 / [part.n - 1 for part in parts]).sum())
    human_variance = float(shares**2 @ [part.human_variance for part in parts])
    return _Whole(mean, sqrt(variance), degrees, weight, human_variance / variance)


def _correlation(y: Floats, f: Floats) -> float:
    if len(y) < 3 or _variance(y) == 0 or _variance(f) == 0:
        return nan
    return float(np.clip(np.corrcoef(y, f)[0, 1], -1, 1))


def _warnings(y: Floats, f: Floats, groups: npt.NDArray[np.int64], gain: float) -> tuple[str, ...]:
    found = []
    n = int((~np.isnan(y)).sum())
    if n < MIN_HUMAN_QUERIES:
        found.append(f"people labelled {n} queries; below {MIN_HUMAN_QUERIES} the interval is a little too narrow")
    if n == len(y):
        found.append("people labelled every query; the model's labels change nothing")
    elif gain < MIN_GAIN:
        found.append(f"the model's labels add little (gain {gain:.2f}); more queries labelled by people would")
    limit = t_quantile(1 - _RARE / len(np.unique(groups)), inf)
    if any(abs(_imbalance(y[groups == g], f[groups == g])) > limit for g in np.unique(groups)):
        found.append("the queries people labelled are unlike the others by the model's own labels: were they drawn?")
    return tuple(found)


def _imbalance(y: Floats, f: Floats) -> float:
    """How many standard errors the mean of f over people's queries is from that over the others; 0 = cannot tell."""
    labelled = ~np.isnan(y)
    n, n_model = int(labelled.sum()), int((~labelled).sum())
    spread = _variance(f) if len(f) > 1 else 0.0
    if not n or not n_model or spread == 0:
        return 0.0
    return float(f[labelled].mean() - f[~labelled].mean()) / sqrt(spread * (1 / n + 1 / n_model))


def _columns(
    human: npt.ArrayLike, model: npt.ArrayLike, strata: Labels | None
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Y, f and the number of each query's stratum, where f is defined."""
    y, f = np.asarray(human, dtype=np.float64), np.asarray(model, dtype=np.float64)
    if y.ndim != 1 or y.shape != f.shape:
        raise InputError(f"human and model need one value a query each, got shapes {y.shape} and {f.shape}")
    if np.isinf(y).any() or np.isinf(f).any():
        raise InputError("values must be finite; use NaN for a query that was not labelled")
    groups = np.zeros(len(y), dtype=np.int64) if strata is None else cluster_codes(strata, len(y), "strata")
    known = ~np.isnan(f)
    return y[known], f[known], groups[known]


def _check_options(level: float, weight: float | None, target: str) -> None:
    check_level(level)
    if weight is not None and not 0 <= weight <= 1:
        raise InputError(f"weight must lie in 0..1, got {weight:g}")
    if target not in ("new", "these"):
        raise InputError(f"target must be 'new' or 'these', got {target!r}")
