"""Two looks at the same documents: how many neither saw follows from how many both did.

If system A finds n1 relevant documents, B finds n2, and m are found by both, then B saw a share m / n1 of what A saw;
if that is its share of all, there are n1 n2 / m. Systems that find the same easy documents overlap more than chance
lets them, and then all of these are too small.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import check_level, t_quantile
from ragauge.stats.relevant_count import checked_counts

__all__ = ["Captured", "CapturedInterval", "captured_interval", "chao2", "chapman", "lincoln_petersen"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Captured:
    """Capture-recapture estimates, one a query.

    Attributes:
        values: Estimated number of relevant documents, at least what was seen; NaN where undefined.
        variances: Of the estimates; NaN where undefined.
        seen: Different relevant documents that were seen.
    """

    values: Floats
    variances: Floats
    seen: Floats


@dataclass(frozen=True)
class CapturedInterval:
    """Bounds, one a query; NaN where the estimate is undefined."""

    low: Floats
    high: Floats


def lincoln_petersen(n1: npt.ArrayLike, n2: npt.ArrayLike, both: npt.ArrayLike) -> Captured:
    """Relevant documents by n1 n2 / m, with variance n1 n2 (n1 - m) (n2 - m) / m^3.

    Undefined (NaN) where the systems share no relevant document; biased upwards where they share few: see `chapman`.

    Args:
        n1: Relevant documents that the first system found, one a query.
        n2: The same of the second.
        both: Those found by both.

    Raises:
        InputError: A count is negative, or more were found by both than by one.

    Source:
        Sekar and Deming, "On a method of estimating birth and death rates", JASA 44 (1949),
        doi:10.1080/01621459.1949.10483294.

    >>> lincoln_petersen([8], [6], [4]).values.tolist()
    [12.0]
    """
    first, second, shared = _two_lists(n1, n2, both)
    safe = np.where(shared > 0, shared, np.nan)
    variances = first * second * (first - shared) * (second - shared) / safe**3
    return Captured(first * second / safe, variances, first + second - shared)


def chapman(n1: npt.ArrayLike, n2: npt.ArrayLike, both: npt.ArrayLike) -> Captured:
    """Relevant documents by (n1 + 1) (n2 + 1) / (m + 1) - 1, which is defined also where nothing is shared.

    Variance (n1 + 1) (n2 + 1) (n1 - m) (n2 - m) / ((m + 1)^2 (m + 2)).

    Args:
        n1: Relevant documents that the first system found, one a query.
        n2: The same of the second.
        both: Those found by both.

    Raises:
        InputError: A count is negative, or more were found by both than by one.

    Source:
        Chapman, "Some properties of the hypergeometric distribution with applications to zoological censuses",
        University of California Publications in Statistics 1 (1951). Seber, "The effects of trap response on tag
        recapture estimates", Biometrics 26 (1970), doi:10.2307/2529281, for the variance.

    >>> found = chapman([8], [6], [4])
    >>> found.values.round(6).tolist(), found.variances.round(6).tolist()
    ([11.6], [3.36])
    """
    first, second, shared = _two_lists(n1, n2, both)
    product = (first + 1) * (second + 1)
    variances = product * (first - shared) * (second - shared) / ((shared + 1) ** 2 * (shared + 2))
    return Captured(product / (shared + 1) - 1, variances, first + second - shared)


def chao2(
    seen: npt.ArrayLike,
    once: npt.ArrayLike,
    twice: npt.ArrayLike,
    *,
    n_lists: int,
    form: Literal["corrected", "classic"] = "corrected",
) -> Captured:
    """A lower bound of the relevant documents from those that one list alone, and exactly two lists, hold.

    With t lists, A = (t - 1) / t, f1 and f2: classic S + A f1^2 / (2 f2), undefined where f2 = 0; corrected
    S + A f1 (f1 - 1) / (2 (f2 + 1)). It stays a lower bound (in expectation) where documents differ in how easily they
    are found.

    Args:
        seen: S, different relevant documents seen, one a query.
        once: f1, those in exactly one list.
        twice: f2, those in exactly two.
        n_lists: t, 2 or more.
        form: "corrected" for the bias of few documents, or "classic".

    Raises:
        InputError: A count is negative, f1 + f2 > S, or there are fewer than two lists.

    Source:
        Chao, "Estimating the population size for capture-recapture data with unequal catchability", Biometrics 43
        (1987), doi:10.2307/2531532.

    >>> [chao2([10], [6], [4], n_lists=2, form=form).values.tolist() for form in ("classic", "corrected")]
    [[12.25], [11.5]]
    """
    total, f1, f2 = (checked_counts(one, name) for one, name in ((seen, "seen"), (once, "once"), (twice, "twice")))
    if n_lists < 2 or (f1 + f2 > total).any():
        raise InputError("chao2 needs two lists or more, and no more documents seen once and twice than seen at all")
    share = (n_lists - 1) / n_lists
    if form == "classic":
        safe = np.where(f2 > 0, f2, np.nan)
        unseen, ratio = share * f1**2 / (2 * safe), f1 / safe
        variances = safe * (share / 2 * ratio**2 + share**2 * ratio**3 + share**2 / 4 * ratio**4)
    else:
        unseen, ratio = share * f1 * (f1 - 1) / (2 * (f2 + 1)), 1 / (f2 + 1)
        variances = share * f1 * (f1 - 1) * ratio / 2 + share**2 * f1 * (2 * f1 - 1) ** 2 * ratio**2 / 4
        variances += share**2 * f1**2 * f2 * (f1 - 1) ** 2 * ratio**4 / 4
    return Captured(total + unseen, np.maximum(variances, 0.0), total)


def captured_interval(captured: Captured, *, level: float = 0.95) -> CapturedInterval:
    """Of each query: what was not seen is taken as lognormal, what was seen is certain.

    S + (N - S) / C to S + (N - S) C, C = exp(z sqrt(ln(1 + variance / (N - S)^2))). It knows nothing of systems that
    find the same easy documents. For a mean over queries use `query_counts`.

    Args:
        captured: Estimates.
        level: Confidence level, strictly between 0 and 1.

    Source:
        Chao (1987), as `chao2`.

    >>> interval = captured_interval(chapman([8], [6], [4]))  # 10 seen, 1.6 unseen, variance 3.36
    >>> interval.low.round(2).tolist(), interval.high.round(2).tolist()
    ([10.27], [19.63])
    """
    check_level(level)
    unseen = captured.values - captured.seen
    safe = np.where(unseen > 0, unseen, 1.0)
    spread = np.exp(t_quantile(level, inf) * np.sqrt(np.log1p(captured.variances / safe**2)))
    return CapturedInterval(captured.seen + unseen / spread, captured.seen + unseen * spread)


def _two_lists(n1: npt.ArrayLike, n2: npt.ArrayLike, both: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    first, second, shared = checked_counts(n1, "n1"), checked_counts(n2, "n2"), checked_counts(both, "both")
    if (shared > np.minimum(first, second)).any():
        raise InputError("no more relevant documents can be found by both systems than by one of them")
    return first, second, shared
