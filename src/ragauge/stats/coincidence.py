"""Coefficients of agreement from counts: of how often two ratings of one unit were c and k.

One idea: every coefficient is a function of sums over units (a confusion matrix, a coincidence matrix, the share of
each category), so it is computed from the sums of a whole sample as from those of each bootstrap replicate. All
functions here take such sums with any number of leading dimensions, and give one value for each.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Scale", "Weights", "cohen_kappa", "gwet_ac1", "krippendorff_alpha"]

Floats = npt.NDArray[np.float64]
Scale = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]


def krippendorff_alpha(coincidences: Floats, categories: Floats, *, scale: Scale) -> Floats:
    """Krippendorff's alpha: 1 less the disagreement found over that expected if ratings were shuffled over units.

    alpha = 1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck, where o_ck = sum over units of (ordered pairs of ratings
    c, k of that unit by different raters) / (ratings of the unit - 1), n_c = sum_k o_ck, n = sum_c n_c, and d is

        nominal   d_ck = 1 if c != k
        ordinal   d_ck = (mid-rank of c - mid-rank of k)^2, the ranks those of all n ratings
        interval  d_ck = (c - k)^2

    1 = full agreement, 0 = as by chance, below 0 = raters avoid agreeing. NaN when all ratings are of one category.

    Args:
        coincidences: o, shape (..., C, C).
        categories: The value of each category, ascending, shape (C,); read by "interval" alone.
        scale: What the distance of two categories is.

    Source:
        Krippendorff, "Content Analysis" (2004), chapter 11. Hayes and Krippendorff, "Answering the call for a standard
        reliability measure for coding data", Communication Methods and Measures 1 (2007),
        doi:10.1080/19312450709336664.

    >>> o = np.array([[2.0, 1.0], [1.0, 4.0]])  # units rated 0 0, 0 1, 1 1, 1 1
    >>> float(krippendorff_alpha(o, np.array([0.0, 1.0]), scale="nominal"))  # 1 - 7 * 2 / (2 * 3 * 5)
    0.5333333333333333
    """
    n_c = coincidences.sum(-1)
    n = n_c.sum(-1)
    distance = _distance(n_c, categories, scale)
    found = (coincidences * distance).sum((-1, -2))
    expected = (n_c[..., :, None] * n_c[..., None, :] * distance).sum((-1, -2))
    return _one_minus_ratio((n - 1) * found, expected)


def cohen_kappa(confusion: Floats, categories: Floats, *, weights: Weights) -> Floats:
    """Cohen's kappa of two raters: 1 less the weighted disagreement over that of independent raters with these margins.

    kappa = 1 - sum_ij w_ij O_ij / sum_ij w_ij (row_i column_j / n), w_ij = 1 if i != j ("none"), |i - j| ("linear"), or
    (i - j)^2 ("quadratic"), i and j being the values of the categories. 1 = full agreement, 0 = as by chance. NaN when
    both raters used one and the same category throughout.

    Args:
        confusion: O, rows the first rater's categories, columns the second's, shape (..., C, C).
        categories: The value of each category, ascending, shape (C,).
        weights: What a disagreement counts.

    Source:
        Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960),
        doi:10.1177/001316446002000104; "Weighted kappa", Psychological Bulletin 70 (1968), doi:10.1037/h0026256.

    >>> o = np.array([[1.0, 1.0], [0.0, 2.0]])
    >>> float(cohen_kappa(o, np.array([0.0, 1.0]), weights="none"))  # 1 - 1 / ((2 * 3 + 2 * 1) / 4)
    0.5
    """
    gap = np.abs(categories[:, None] - categories)
    w = {"none": (gap > 0).astype(np.float64), "linear": gap, "quadratic": gap**2}[weights]
    found = (confusion * w).sum((-1, -2))
    margins = confusion.sum(-1)[..., :, None] * confusion.sum(-2)[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (margins * w).sum((-1, -2)) / confusion.sum((-1, -2))
    return _one_minus_ratio(found, expected)


def gwet_ac1(agreement: Floats, shares: Floats) -> Floats:
    """Gwet's AC1: agreement beyond a chance that is small when one category prevails.

    AC1 = (p_a - p_e) / (1 - p_e), p_e = sum_c s_c (1 - s_c) / (C - 1), with p_a the raw agreement, s_c the mean share
    of category c, and C the number of categories. With two categories p_e = 2 s (1 - s). 1 = full agreement, 0 = p_e.
    It stays high where kappa falls because nearly all ratings are alike, and depends on which categories are counted.
    NaN with a single category.

    Args:
        agreement: p_a, shape (...).
        shares: s, shape (..., C).

    Source:
        Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", British Journal
        of Mathematical and Statistical Psychology 61 (2008), doi:10.1348/000711006X126600.

    >>> round(float(gwet_ac1(np.array(0.9), np.array([0.8, 0.2]))), 6)  # (.9 - .32) / .68
    0.852941
    """
    n_categories = shares.shape[-1]
    if n_categories < 2:
        return np.full(np.shape(agreement), np.nan)
    chance = (shares * (1 - shares)).sum(-1) / (n_categories - 1)
    return np.asarray((agreement - chance) / (1 - chance))


def _distance(n_c: Floats, categories: Floats, scale: Scale) -> Floats:
    """Squared distances, shape (..., C, C); those of ranks depend on how many ratings each category has."""
    if scale == "nominal":
        return 1.0 - np.eye(len(categories))
    position = n_c.cumsum(-1) - n_c / 2 if scale == "ordinal" else categories
    return np.asarray((position[..., :, None] - position[..., None, :]) ** 2)


def _one_minus_ratio(found: Floats, expected: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - found / expected, np.nan)
