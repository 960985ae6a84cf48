"""One rater against all others taken together: their median or mean of each unit, as one rater more.

A judge can agree poorly with each person and well with what they say together, as the errors of one are not those of
the next. How each person does against the rest is the yardstick: no judge needs to do better.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.results import Agreement, Estimate
from ragauge.stats.agreement import joint_agreement
from ragauge.stats.intervals import mean_interval
from ragauge.stats.ratings import Column, collect_ratings

__all__ = ["AgainstPanel", "By", "against_panel"]

By = Literal["median", "mean"]

MIN_PANEL = 2
"""Raters that the others must be to be called a panel."""


@dataclass(frozen=True)
class AgainstPanel:
    """How one rater agrees with the others taken together.

    Attributes:
        rater: The one.
        panel: The names of the others.
        by: How their ratings of a unit became one.
        agreement: Of the two, over the units that the rater and at least two of the panel rated.
        difference: Mean of the rater's rating less the panel's, with its interval over clusters: above 0 = lenient.
    """

    rater: str
    panel: tuple[str, ...]
    by: By
    agreement: Agreement
    difference: Estimate


def against_panel(
    units: Column,
    raters: Column,
    ratings: Sequence[Any] | npt.NDArray[Any],
    *,
    rater: str,
    panel: Sequence[str],
    by: By = "median",
    clusters: Column | None = None,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> AgainstPanel:
    """How far one rater agrees with the median, or the mean, of others.

    Args:
        units: What was rated, one a rating.
        raters: Who rated, one a rating.
        ratings: Numbers, one a rating; None and NaN = no rating.
        rater: Who is compared.
        panel: With whom, two or more.
        by: "median" stays on the scale with an odd number of raters; "mean" keeps more.
        clusters: What units belong together (the query), one a rating; None = each unit on its own.
        resamples: Bootstrap replicates.
        seed: Of the resampling.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The record; coefficients are NaN where no unit was rated by the rater and two of the panel.

    Raises:
        InputError: The panel has fewer than two raters or holds the rater, `by` is neither, ratings are words, or what
            `joint_agreement` refuses.

    >>> who, ratings = list("abmabm"), [4, 4, 5, 2, 3, 2]
    >>> found = against_panel([1, 1, 1, 2, 2, 2], who, ratings, rater="m", panel=["a", "b"], by="mean")
    >>> found.difference.mean, found.agreement.n_units
    (0.25, 2)
    """
    if by not in get_args(By):
        raise InputError(f"by must be one of {', '.join(get_args(By))}, got {by!r}")
    if len(set(panel)) < MIN_PANEL or rater in panel:
        raise InputError(f"a panel needs two raters other than {rater!r}, got {', '.join(panel) or 'none'}")
    if not collect_ratings(units, raters, ratings, clusters).are_numbers:
        raise InputError("a median or mean needs ratings that are numbers, got words")
    kin = units if clusters is None else clusters
    rows = [row for row in zip(units, raters, ratings, kin, strict=True) if row[2] is not None and row[2] == row[2]]
    own = {unit: (float(rating), cluster) for unit, who, rating, cluster in rows if who == rater}
    theirs: dict[Hashable, list[float]] = {}
    for unit, who, rating, _ in rows:
        if who in panel and unit in own:
            theirs.setdefault(unit, []).append(float(rating))
    together = {unit: _as_one(given, by) for unit, given in theirs.items() if len(given) >= MIN_PANEL}
    common = list(together)
    of_units = [own[unit][1] for unit in common]
    agreement = joint_agreement(
        common * 2,
        [rater] * len(common) + [f"{by} of others"] * len(common),
        [own[unit][0] for unit in common] + list(together.values()),
        clusters=of_units * 2,
        resamples=resamples,
        seed=seed,
        level=level,
    )
    differences = np.array([own[unit][0] - together[unit] for unit in common])
    difference = mean_interval(differences, measure="difference", bounds=None, clusters=of_units, level=level)
    return AgainstPanel(rater, tuple(panel), by, agreement, difference)


def _as_one(ratings: Sequence[float], by: By) -> float:
    return float(median(ratings) if by == "median" else fmean(ratings))
