"""The best alpha of a measure, in sample, and whether alpha can matter at all.

One idea: alpha only changes the values of few states (distinct counts), and a rank correlation only their order. Over a
grid of 101 alphas there are 20 to 200 distinct orders at most, often one, so each order is computed once.

The maximum over alpha is optimistic: by .02 to .07 with 200 rows or fewer and a weak association, and by nothing that
counts from 1,000 rows on. Show it as what it is, an in-sample maximum, beside the value at an alpha fixed in advance.
"""

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.association import COEFFICIENTS, Coefficients, merge_ties, table_coefficients

__all__ = ["BestAlpha", "alpha_curve", "best_alpha"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PREFERRED_ALPHA = 0.5
"""Among alphas that do equally well, the one nearest to this is taken: the least tuned."""

_EQUAL = 1e-12  # coefficients this near are equal: rounding errors do not choose an alpha
_SAME_SHAPE = 1e-9  # values rescaled to 0..1 that differ by less are the same up to a rising line
_CHUNK = 2_000_000  # cells a batch of tables may have


@dataclass(frozen=True)
class BestAlpha:
    """The in-sample maximum of one coefficient over a grid of alphas.

    Attributes:
        value: The largest coefficient; NaN when none is defined.
        alpha: The alpha it is reached at (of several, the one nearest to 0.5); NaN with it.
        alpha_matters: False when no alpha can change the coefficient, whatever the grades are: the states have the same
            order for all alphas (rank coefficients), or the same values up to a rising line (Pearson).
    """

    value: float
    alpha: float
    alpha_matters: bool


@dataclass(frozen=True)
class _Orders:
    """The distinct orders of the states, as dense ranks (O, S), and which of them each alpha has (A,)."""

    ranks: Ints
    of_alpha: Ints


def best_alpha(values: Floats, grades: Floats, weights: Floats, alphas: npt.ArrayLike) -> dict[str, BestAlpha]:
    """The in-sample maximum of each coefficient over alpha.

    Args:
        values: The measure in each state at each alpha, shape (A, S). NaN = undefined: that alpha is passed over.
        grades: Distinct grades, ascending, shape (G,).
        weights: Rows with each state and grade, shape (S, G).
        alphas: The grid, shape (A,).

    Returns:
        One record a name of `COEFFICIENTS`.

    Raises:
        InputError: The shapes do not fit each other.
    """
    grid = np.asarray(alphas, dtype=np.float64)
    if grid.ndim != 1 or len(grid) != len(values):
        raise InputError(f"values must have one row an alpha, got {len(values)} rows for {grid.size} alphas")
    seen = weights.sum(1) > 0
    orders = _distinct_orders(_checked(values, grades, weights)[:, seen])
    curve = _curve(values[:, seen], grades, weights[seen], orders)
    matters = dict.fromkeys(COEFFICIENTS, len(orders.ranks) > 1) | {"pearson": _shape_matters(values[:, seen])}
    return {name: _best(getattr(curve, name), grid, matters[name]) for name in COEFFICIENTS}


def alpha_curve(values: Floats, grades: Floats, weights: Floats) -> Coefficients:
    """Each coefficient at each alpha, shape (A,); NaN where undefined.

    Args and Raises as for `best_alpha`.
    """
    return _curve(values, grades, weights, _distinct_orders(_checked(values, grades, weights)))


def _checked(values: Floats, grades: Floats, weights: Floats) -> Floats:
    if values.ndim != 2 or weights.shape != (values.shape[1], len(grades)):
        raise InputError(
            f"weights must be states x grades, got {weights.shape} for values {values.shape}, {len(grades)} grades"
        )
    return values


def _curve(values: Floats, grades: Floats, weights: Floats, orders: _Orders) -> Coefficients:
    ranked = _by_order(orders.ranks, grades, weights)
    undefined = np.isnan(values).any(1)
    found = {name: np.where(undefined, nan, getattr(ranked, name)[orders.of_alpha]) for name in COEFFICIENTS}
    found["pearson"] = np.where(np.isnan(found["spearman"]), nan, _pearson(values, grades, weights))
    return Coefficients(**found)


def _distinct_orders(values: Floats) -> _Orders:
    order = np.argsort(values, axis=1, kind="stable")
    ascending = np.take_along_axis(merge_ties(values), order, axis=1)
    steps = np.zeros(order.shape, dtype=np.int64)
    steps[:, 1:] = np.cumsum(np.diff(ascending, axis=1) > 0, axis=1)
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    numbers: dict[bytes, int] = {}
    of_alpha = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in ranks], dtype=np.int64)
    _, first = np.unique(of_alpha, return_index=True)
    return _Orders(ranks[first], of_alpha)


def _by_order(orders: Ints, grades: Floats, weights: Floats) -> Coefficients:
    """The coefficients of each order, tables in batches; what Pearson says of ranks is of no use and not read."""
    step = max(1, _CHUNK // max(1, weights.size))
    parts = [_tables(orders[i : i + step], weights) for i in range(0, len(orders), step)]
    found = [table_coefficients(np.arange(weights.shape[0], dtype=np.float64), grades, part) for part in parts]
    return Coefficients(*(np.concatenate([getattr(part, name) for part in found]) for name in COEFFICIENTS))


def _tables(orders: Ints, weights: Floats) -> Floats:
    """For each order the table with its states' rows at their ranks, tied states added up, the rest empty."""
    n_states, n_grades = weights.shape
    rows = orders + n_states * np.arange(len(orders))[:, None]
    cells = rows[:, :, None] * n_grades + np.arange(n_grades)
    every = np.broadcast_to(weights, cells.shape)
    tables = np.bincount(cells.ravel(), weights=every.ravel(), minlength=cells.size)
    return tables.reshape(cells.shape).astype(np.float64)


def _pearson(values: Floats, grades: Floats, weights: Floats) -> Floats:
    """Weighted correlation of values and grades at each alpha, shape (A,)."""
    rows, columns = weights.sum(1), weights.sum(0)
    x = values - (values @ rows / rows.sum())[:, None]
    y = grades - grades @ columns / columns.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson: Floats = np.clip(x @ (weights @ y) / np.sqrt((x**2 @ rows) * (columns @ y**2)), -1, 1)
    return pearson


def _shape_matters(values: Floats) -> bool:
    """Whether the states' values at some alphas differ by more than a rising line."""
    defined = values[~np.isnan(values).any(1)]
    if defined.size == 0:
        return False
    low, high = defined.min(1, keepdims=True), defined.max(1, keepdims=True)
    shape = (defined - low) / np.where(high > low, high - low, 1)
    return bool((np.abs(shape - shape[0]) > _SAME_SHAPE).any())


def _best(curve: Floats, alphas: Floats, matters: bool) -> BestAlpha:
    if np.isnan(curve).all():
        return BestAlpha(nan, nan, matters)
    value = np.nanmax(curve)
    as_good = alphas[curve >= value - _EQUAL]
    return BestAlpha(float(value), float(as_good[np.argmin(np.abs(as_good - PREFERRED_ALPHA))]), matters)
