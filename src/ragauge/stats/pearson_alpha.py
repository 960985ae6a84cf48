"""Pearson's correlation of a measure with the grades as a function of alpha, and its maximum, for a batch of tables.

One idea: of a linear family the maximum over alpha is the multiple correlation of the grade on the measure at both ends
(where both slopes are positive), so that one regression finds it. A reciprocal family needs a search.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.stats.alpha import PREFERRED_ALPHA, AlphaFamily

__all__ = ["pearson_at", "pearson_maximum"]

Floats = npt.NDArray[np.float64]

_OPEN_ZERO = 1e-9  # stands for the alphas just above a 0 that is no choice
_NOTHING = 1e-13  # what is left of a sum of squares by rounding errors
_N_BRACKETS = 40  # where the maximum of a reciprocal family is looked for
_N_SECTIONS = 20  # each shrinks the bracket to .618 of itself: 2 / 40 to 3e-6, and the value, flat there, to 1e-11


@dataclass(frozen=True)
class _Moments:
    """Sums of squares and products of the ends of a linear family (0 and 1) and the grade, shape (B,) each."""

    at_0: Floats
    at_1: Floats
    both: Floats
    grade_0: Floats
    grade_1: Floats
    grade: Floats

    @classmethod
    def of(cls, family: AlphaFamily, grades: Floats, cells: Floats) -> "_Moments":
        first, last = (end - end.mean() for end in family.ends())
        rows = cells.sum(1)
        n = rows.sum(0)
        graded, spread = _graded(grades, cells)
        with np.errstate(invalid="ignore"):
            mean_0, mean_1 = _dot(first, rows) / n, _dot(last, rows) / n

        def about_mean(products: Floats, means: Floats) -> Floats:
            raw = _dot(products, rows)
            found = raw - n * means
            return np.where(np.abs(found) > _NOTHING * np.abs(raw), found, 0.0)

        return cls(
            at_0=about_mean(first**2, mean_0**2),
            at_1=about_mean(last**2, mean_1**2),
            both=about_mean(first * last, mean_0 * mean_1),
            grade_0=_dot(first, graded),
            grade_1=_dot(last, graded),
            grade=spread,
        )

    def correlation(self, alpha: Floats) -> Floats:
        """At each alpha, shape (A, 1) for all replicates alike, or (B,) for each its own."""
        product = (1 - alpha) * self.grade_0 + alpha * self.grade_1
        terms = ((1 - alpha) ** 2 * self.at_0, 2 * alpha * (1 - alpha) * self.both, alpha**2 * self.at_1)
        spread = terms[0] + terms[1] + terms[2]
        spread = np.where(spread > _NOTHING * (terms[0] + terms[2]), spread, 0.0)
        return _bounded(product, spread * self.grade)

    def best_alpha(self) -> Floats:
        """b1 / (b0 + b1) from the slopes b of the grade on both ends; the better end when a slope is negative."""
        determinant = self.at_0 * self.at_1 - self.both**2
        b0 = self.grade_0 * self.at_1 - self.grade_1 * self.both
        b1 = self.grade_1 * self.at_0 - self.grade_0 * self.both
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = b1 / (b0 + b1)
            better_end = (self.grade_1 / np.sqrt(self.at_1) > self.grade_0 / np.sqrt(self.at_0)).astype(np.float64)
        one_line = determinant <= _NOTHING * self.at_0 * self.at_1
        alpha = np.where((b0 >= 0) & (b1 >= 0) & (b0 + b1 > 0), inside, better_end)
        return np.where(one_line, np.where(self.both >= 0, PREFERRED_ALPHA, better_end), alpha)


def pearson_at(family: AlphaFamily, grades: Floats, cells: Floats, alphas: Floats) -> Floats:
    """Pearson's correlation of the values at each alpha with the grades, shape (A, B); NaN where undefined.

    Args:
        family: The measure in S states.
        grades: Ascending, shape (G,).
        cells: Weights, shape (S, G, B).
        alphas: Shape (A,).
    """
    if family.form == "linear":
        return _Moments.of(family, grades, cells).correlation(alphas[:, None])
    return _pearson(family.at(alphas)[:, :, None], grades, cells)


def pearson_maximum(family: AlphaFamily, grades: Floats, cells: Floats) -> tuple[Floats, Floats]:
    """The largest Pearson correlation over all alphas, and its alpha, shape (B,) each; NaN where undefined.

    Linear: the multiple correlation of the grade on the two ends, at alpha* = b1 / (b0 + b1), when both slopes b0, b1
    of the regression are >= 0; else the larger end. Reciprocal: the best of 41 alphas, then golden section around it.
    """
    if family.form == "linear":
        moments = _Moments.of(family, grades, cells)
        alpha = moments.best_alpha() if family.alpha_moves_values else np.full(cells.shape[2], PREFERRED_ALPHA)
        return moments.correlation(alpha), alpha
    if not family.alpha_moves_values:
        alpha = np.full(cells.shape[2], PREFERRED_ALPHA)
    else:
        alpha = _section_alpha(family, grades, cells)
    return _pearson(family.at(alpha).T[None], grades, cells)[0], alpha


def _pearson(x: Floats, grades: Floats, cells: Floats) -> Floats:
    """Correlation of x, shape (A, S, B) or (A, S, 1), with the grades, shape (A, B)."""
    rows = cells.sum(1)
    n = rows.sum(0)
    graded, grade_spread = _graded(grades, cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = x - np.einsum("asb,sb->ab", x, rows)[:, None] / n if x.shape[2] > 1 else x - x.mean(1, keepdims=True)
        raw = _weighted(x**2, rows)
        spread = raw - _weighted(x, rows) ** 2 / n
    spread = np.where(spread > _NOTHING * raw, spread, 0.0)
    return _bounded(_weighted(x, graded), spread * grade_spread)


def _graded(grades: Floats, cells: Floats) -> tuple[Floats, Floats]:
    """Sum of the centred grades of each state, shape (S, B), and of their squares, (B,), 0 where they are constant."""
    columns = cells.sum(0)
    with np.errstate(invalid="ignore"):
        y = grades[:, None] - _dot(grades, columns) / columns.sum(0)
    varied = (columns > 0).sum(0) > 1
    return (cells * y).sum(1), np.where(varied, (columns * y**2).sum(0), 0.0)


def _bounded(product: Floats, spreads: Floats) -> Floats:
    """product / sqrt(spreads) within -1..1; NaN where a spread is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(spreads > 0, product / np.sqrt(spreads), np.nan)
    return np.maximum(np.minimum(found, 1.0), -1.0)


def _weighted(x: Floats, weights: Floats) -> Floats:
    """Sum over states of x, shape (A, S, B or 1), times weights, shape (S, B)."""
    if x.shape[2] == 1:
        return np.asarray(np.einsum("as,sb->ab", x[:, :, 0], weights))
    return np.asarray(np.einsum("asb,sb->ab", x, weights))


def _dot(values: Floats, weights: Floats) -> Floats:
    """values @ weights, without the threads of a matrix library, which would fight with our own."""
    return np.asarray(np.einsum("s,sb->b", values, weights))


def _section_alpha(family: AlphaFamily, grades: Floats, cells: Floats) -> Floats:
    """Where Pearson is largest, shape (B,): the best of 41 alphas, then golden section between its neighbours."""
    kept = family.scale > 0
    ratio = float(np.exp(np.log(family.end[kept] / family.start[kept]).mean())) if kept.any() else 1.0

    def alpha_at(t: Floats) -> Floats:  # even steps of t are even steps between recall and precision
        return np.asarray(np.clip(t / (t + (1 - t) * ratio), _OPEN_ZERO if family.open_at_zero else 0.0, 1.0))

    def height(t: Floats) -> Floats:
        found = _pearson(family.at(alpha_at(t)).T[None], grades, cells)[0]
        return np.where(np.isnan(found), -2.0, found)

    grid = np.linspace(0, 1, _N_BRACKETS + 1)
    coarse = np.nan_to_num(pearson_at(family, grades, cells, alpha_at(grid)), nan=-2.0)
    best = grid[coarse.argmax(0)]
    low, high = np.maximum(best - grid[1], 0), np.minimum(best + grid[1], 1)
    step = (np.sqrt(5) - 1) / 2
    left, right = high - step * (high - low), low + step * (high - low)
    at_left, at_right = height(left), height(right)
    for _ in range(_N_SECTIONS):
        to_left = at_left >= at_right
        low, high = np.where(to_left, low, left), np.where(to_left, right, high)
        left, right, at_left, at_right = (
            np.where(to_left, high - step * (high - low), right),
            np.where(to_left, left, low + step * (high - low)),
            np.where(to_left, 0.0, at_right),
            np.where(to_left, at_left, 0.0),
        )
        new = height(np.where(to_left, left, right))
        at_left, at_right = np.where(to_left, new, at_left), np.where(to_left, at_right, new)
    found = (low + high) / 2
    return alpha_at(np.where(height(found) >= coarse.max(0), found, best))
