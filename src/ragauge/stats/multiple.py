"""Many tests at once: p values raised so that "p <= 0.05" still means what it says.

Holm's keep the chance of *any* false finding at 5 %: for the few comparisons a decision hangs on. Benjamini-Hochberg's
keep the expected *share* of false ones among the findings at 5 %: for a search over many segments.
"""

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError

__all__ = ["benjamini_hochberg", "benjamini_yekutieli", "holm"]

Floats = npt.NDArray[np.float64]


def holm(p_values: npt.ArrayLike) -> Floats:
    """p values that control the chance of one or more false findings, however the tests depend on each other.

    The i-th smallest of m becomes max over j <= i of min(1, (m - j + 1) p_(j)). Never below the p value it came from,
    never above Bonferroni's m p.

    Args:
        p_values: Shape (m,), each in 0..1. NaN = no test was made: it stays NaN and does not count towards m.

    Returns:
        The adjusted values, in the order given.

    Raises:
        InputError: They are not one column, or one lies outside 0..1.

    Source:
        Holm, "A simple sequentially rejective multiple test procedure", Scandinavian J. Statistics 6 (1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _checked(p_values)
    order, m = _tested_ascending(p)
    raised = p[order] * np.arange(m, 0, -1)
    return _placed(p, order, np.maximum.accumulate(raised))


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """p values that control the expected share of false findings, for tests that are independent or positively so.

    The i-th smallest of m becomes min over j >= i of m p_(j) / j, at most 1.

    Args:
        p_values: Shape (m,), each in 0..1. NaN = no test was made: it stays NaN and does not count towards m.

    Returns:
        The adjusted values, in the order given.

    Raises:
        InputError: They are not one column, or one lies outside 0..1.

    Source:
        Benjamini and Hochberg, "Controlling the false discovery rate", J. Royal Statistical Society B 57 (1995),
        doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(_checked(p_values), penalty=1.0)


def benjamini_yekutieli(p_values: npt.ArrayLike) -> Floats:
    """As `benjamini_hochberg`, but right however the tests depend on each other: times 1 + 1/2 + ... + 1/m, at most 1.

    Args:
        p_values: Shape (m,), each in 0..1. NaN = no test was made: it stays NaN and does not count towards m.

    Returns:
        The adjusted values, in the order given.

    Raises:
        InputError: They are not one column, or one lies outside 0..1.

    Source:
        Benjamini and Yekutieli, "The control of the false discovery rate in multiple testing under dependency",
        Annals of Statistics 29 (2001), doi:10.1214/aos/1013699998.

    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(3).tolist()
    [0.055, 0.073, 0.073]
    """
    p = _checked(p_values)
    m = int((~np.isnan(p)).sum())
    return _step_up(p, penalty=float((1 / np.arange(1, m + 1)).sum()))


def _step_up(p: Floats, *, penalty: float) -> Floats:
    order, m = _tested_ascending(p)
    raised = penalty * m * p[order] / np.arange(1, m + 1)
    return _placed(p, order, np.minimum.accumulate(raised[::-1])[::-1])


def _tested_ascending(p: Floats) -> tuple[npt.NDArray[np.int64], int]:
    """Where the p values stand, smallest first, without NaN; and how many."""
    m = int((~np.isnan(p)).sum())
    return np.argsort(p, kind="stable")[:m], m  # NaN sorts last


def _placed(p: Floats, order: npt.NDArray[np.int64], adjusted: Floats) -> Floats:
    out = np.full(len(p), np.nan)
    out[order] = np.minimum(adjusted, 1.0)
    return out


def _checked(p_values: npt.ArrayLike) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise InputError(f"p values must be one column, got an array of shape {p.shape}")
    outside = p[(p < 0) | (p > 1)]
    if outside.size:
        raise InputError(f"{outside.size} of {len(p)} p values lie outside 0..1, such as {outside[0]:g}")
    return p
