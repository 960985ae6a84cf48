"""Ratings as people keep them (one a line: what, who, which grade) become numbered codes, checked once."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError

__all__ = ["MAX_CATEGORIES", "Column", "Ratings", "collect_ratings", "show_category"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Column = Sequence[Hashable] | npt.NDArray[np.generic]

MAX_CATEGORIES = 200
"""More distinct ratings than this are no grades: round or cut them first."""


@dataclass(frozen=True)
class Ratings:
    """Ratings that are not missing, sorted by unit and rater.

    Attributes:
        unit: Number of the unit, one a rating.
        rater: Number of the rater, one a rating.
        category: Number of the category, one a rating.
        cluster_of_unit: Number of the cluster, one a unit.
        raters: Their names, sorted.
        categories: The different ratings, ascending: all numbers or all words.
    """

    unit: Ints
    rater: Ints
    category: Ints
    cluster_of_unit: Ints
    raters: tuple[str, ...]
    categories: tuple[float | str, ...]

    @property
    def are_numbers(self) -> bool:
        """Whether categories have an order and a distance."""
        return not any(isinstance(one, str) for one in self.categories)

    @property
    def values(self) -> Floats:
        """The number each category stands for; its place when it is a word."""
        return np.array(self.categories if self.are_numbers else range(len(self.categories)), dtype=np.float64)

    @property
    def n_of_unit(self) -> Ints:
        """Ratings a unit."""
        return np.bincount(self.unit, minlength=len(self.cluster_of_unit))

    def of(self, raters: Sequence[int]) -> "Ratings":
        """The ratings by these raters alone, categories as before."""
        keep = np.isin(self.rater, raters)
        units, unit = np.unique(self.unit[keep], return_inverse=True)
        names = tuple(self.raters[rater] for rater in raters)
        rater = np.searchsorted(raters, self.rater[keep])
        return Ratings(unit, rater, self.category[keep], self.cluster_of_unit[units], names, self.categories)

    def at_least(self, n: int) -> "Ratings":
        """The units with at least n ratings."""
        keep = self.n_of_unit[self.unit] >= n
        units, unit = np.unique(self.unit[keep], return_inverse=True)
        clusters = self.cluster_of_unit[units]
        return Ratings(unit, self.rater[keep], self.category[keep], clusters, self.raters, self.categories)


def collect_ratings(
    units: Column, raters: Column, ratings: Sequence[Any] | npt.NDArray[Any], clusters: Column | None
) -> Ratings:
    """The ratings that are there (not None, NaN or ""), as codes.

    Args:
        units: What was rated, one a rating.
        raters: Who rated, one a rating.
        ratings: Numbers or words, one a rating.
        clusters: What units belong together, one a rating; None = each unit on its own.

    Raises:
        InputError: Columns differ in length, a rater rated a unit twice, a unit is in two clusters, ratings mix words
            and numbers, are infinite, or there are more than 200 different ones.
    """
    columns = [list(column) for column in (units, raters, ratings, units if clusters is None else clusters)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise InputError(f"units, raters, ratings and clusters need one entry a rating, got {lengths}")
    rows = [row for row in zip(*columns, strict=True) if not _missing(row[2])]
    categories, category = _categories([row[2] for row in rows])
    raters_found = sorted({str(row[1]) for row in rows})
    place = {name: at for at, name in enumerate(raters_found)}
    unit, cluster = _codes([row[0] for row in rows]), _codes([row[3] for row in rows])
    rater = np.array([place[str(row[1])] for row in rows], dtype=np.int64)
    order = np.lexsort((rater, unit))
    unit, rater, category, cluster = unit[order], rater[order], category[order], cluster[order]
    _check_rows(unit, rater, cluster, [rows[at] for at in order])
    _, first = np.unique(unit, return_index=True)
    return Ratings(unit, rater, category, cluster[first], tuple(raters_found), categories)


def show_category(category: float | str) -> str:
    """As people write it: 2, not 2.0."""
    return category if isinstance(category, str) else f"{category:g}"


def _missing(rating: Any) -> bool:
    return rating is None or rating == "" or rating != rating


def _categories(ratings: Sequence[Any]) -> tuple[tuple[float | str, ...], Ints]:
    """The different ratings, ascending, and which of them each rating is."""
    words = sum(isinstance(one, str) for one in ratings)
    if words not in (0, len(ratings)):
        raise InputError(f"{words} of {len(ratings)} ratings are words, the others numbers; use one or the other")
    plain = [str(one) if words else float(one) for one in ratings]
    categories = tuple(sorted(set(plain)))
    if len(categories) > MAX_CATEGORIES:
        raise InputError(f"{len(categories)} different ratings; at most {MAX_CATEGORIES} are grades: round or cut them")
    if not words and not np.isfinite(np.array(categories, dtype=np.float64)).all():
        raise InputError("ratings must be finite; leave out or write NaN for what was not rated")
    place = {one: at for at, one in enumerate(categories)}
    return categories, np.array([place[one] for one in plain], dtype=np.int64)


def _codes(names: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _check_rows(unit: Ints, rater: Ints, cluster: Ints, rows: Sequence[tuple[Any, ...]]) -> None:
    """Ratings being sorted by unit and rater: no rater twice for a unit, no unit in two clusters."""
    same = unit[1:] == unit[:-1]
    twice = np.flatnonzero(same & (rater[1:] == rater[:-1])) + 1
    torn = np.flatnonzero(same & (cluster[1:] != cluster[:-1])) + 1
    repeats = dict.fromkeys((rows[at][1], rows[at][0]) for at in twice.tolist())
    problems = [f"{rater} rated {unit!r} more than once; keep one, or name units finer" for rater, unit in repeats]
    problems += [
        f"{rows[at][0]!r} is in more than one cluster: {rows[at - 1][3]!r}, {rows[at][3]!r}" for at in torn.tolist()
    ]
    if problems:
        raise InputError.collect(problems)
