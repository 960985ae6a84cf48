"""The best alpha of a measure, in sample, and whether alpha can matter at all.

The maximum over alpha is optimistic: by .02 to .07 with 200 rows or fewer and a weak association, and by nothing that
counts from 1,000 rows on. Show it as what it is, an in-sample maximum, beside the value at an alpha fixed in advance
and the value corrected for the choice (`stats.optimism`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.alpha import GRID_ALPHAS, LOG_ALPHAS, PREFERRED_ALPHA, AlphaFamily, AlphaPath, alpha_path
from ragauge.stats.association import COEFFICIENTS, Coefficients
from ragauge.stats.curves import rank_curves
from ragauge.stats.pearson_alpha import pearson_at, pearson_maximum

__all__ = ["AlphaSearch", "Alphas", "BestAlpha", "Selected", "alpha_curve", "best_alpha", "checked_alphas"]

Floats = npt.NDArray[np.float64]
Alphas = Literal["exact", "grid", "log"] | Sequence[float]
"""Which alphas compete: all of 0..1, 0..1 in steps of .01, 702 dense at both ends, or those given."""

_EQUAL = 1e-12  # coefficients this near are equal: rounding errors do not choose an alpha
_BATCH = 2_000_000  # pairs of states times replicates held at once
_MAX_REPLICATES = 128  # more at once leave the processor's cache


@dataclass(frozen=True)
class BestAlpha:
    """The in-sample maximum of one coefficient over alpha.

    Attributes:
        value: The largest coefficient; NaN when none is defined.
        alpha: An alpha it is reached at (of several, one nearest to 0.5); NaN with it.
        alpha_matters: False when no alpha can change the coefficient, whatever the grades are: the states have the same
            order for all alphas (rank coefficients), or the same values up to a rising line (Pearson).
    """

    value: float
    alpha: float
    alpha_matters: bool


@dataclass(frozen=True)
class Selected:
    """One coefficient of each of a batch of tables at the alpha that is best for it, shape (B,) each.

    Attributes:
        trained: The maximum, on the table that chose.
        tested: The coefficient of the other table at that alpha.
        alpha: That alpha.
        at_reference: The coefficient of the table that chose at the reference alpha; NaN without one.
    """

    trained: Floats
    tested: Floats
    alpha: Floats
    at_reference: Floats


@dataclass(frozen=True)
class AlphaSearch:
    """A measure and the alphas that compete, prepared once for any number of tables.

    Attributes:
        family: The measure in S states.
        grades: Distinct grades, ascending, shape (G,).
        path: The orders of its states.
        alphas: The competing alphas, those nearest to 0.5 first.
        positions: The order of `path` at each of them.
        exact: Whether they stand for all of 0..1.
    """

    family: AlphaFamily
    grades: Floats
    path: AlphaPath
    alphas: Floats
    positions: npt.NDArray[np.int64]
    exact: bool

    @classmethod
    def of(cls, family: AlphaFamily, grades: Floats, alphas: Alphas = "exact") -> "AlphaSearch":
        """Prepare the search.

        Raises:
            InputError: An alpha is outside 0..1, there is none, or counts are too large for exact ties.
        """
        path = alpha_path(family)
        exact = isinstance(alphas, str) and alphas == "exact"
        competing = path.positions if exact else checked_alphas(alphas)
        competing = competing[np.argsort(np.abs(competing - PREFERRED_ALPHA), kind="stable")]
        positions = path.position_of(competing)
        return cls(family, grades, path, competing[positions >= 0], positions[positions >= 0], exact)

    @cached_property
    def matters(self) -> dict[str, bool]:
        """For each coefficient, whether alpha can change it."""
        rank, values = self.path.alpha_moves_order, self.family.alpha_moves_values
        return dict.fromkeys(COEFFICIENTS, rank) | {"pearson": values}

    @property
    def batch(self) -> int:
        """How many replicates to give to one call."""
        size = max(len(self.path.first), len(self.path.class_of) * len(self.grades), 1)
        return int(np.clip(_BATCH // size, 1, _MAX_REPLICATES))

    def curves(self, cells: Floats, names: Sequence[str]) -> dict[str, Floats]:
        """Coefficients at each competing alpha, shape (A, B); of "pearson" at these alphas alone.

        Args:
            cells: Weights, shape (S, G, B).
            names: Names of `COEFFICIENTS`.
        """
        ranked = rank_curves(self.path, cells, [name for name in names if name != "pearson"])
        found = {name: curve[self.positions] for name, curve in ranked.items()}
        if "pearson" in names:
            found["pearson"] = pearson_at(self.family, self.grades, cells, self.alphas)
        return found

    def select(
        self, trained: Floats, tested: Floats, names: Sequence[str], *, reference: Mapping[str, float] | None = None
    ) -> dict[str, Selected]:
        """The alpha that is best for each table of `trained`, and how `tested` does at it.

        Args:
            trained: Weights, shape (S, G, B).
            tested: Weights, shape (S, G, B), or (S, G, 1): one table for all.
            names: Names of `COEFFICIENTS`.
            reference: For each name an alpha that an earlier call chose.
        """
        on_curves = [name for name in names if not (self.exact and name == "pearson")]
        chosen = self.curves(trained, on_curves)
        other = chosen if tested is trained else self.curves(tested, on_curves)
        fixed = reference or {}
        found = {name: self._pick(chosen[name], other[name], fixed.get(name, nan)) for name in on_curves}
        if len(on_curves) < len(names):
            found["pearson"] = self._exact_pearson(trained, tested, fixed.get("pearson", nan))
        return {name: found[name] for name in names}

    def _pick(self, chosen: Floats, other: Floats, reference: float) -> Selected:
        n_replicates = chosen.shape[1]
        if not len(self.alphas):
            return Selected(*np.full((4, n_replicates), nan))
        height = np.where(np.isnan(chosen), -2.0, chosen)
        best = (height >= height.max(0) - _EQUAL).argmax(0)
        each = np.arange(n_replicates)
        value = chosen[best, each]
        undefined = np.isnan(value)
        at = other[best, 0] if other.shape[1] == 1 else other[best, each]
        place = np.flatnonzero(self.alphas == reference)[:1]
        at_reference = chosen[place[0]] if len(place) else np.full(n_replicates, nan)
        return Selected(value, np.where(undefined, nan, at), np.where(undefined, nan, self.alphas[best]), at_reference)

    def _exact_pearson(self, trained: Floats, tested: Floats, reference: float) -> Selected:
        value, alpha = pearson_maximum(self.family, self.grades, trained)
        at = pearson_at(self.family, self.grades, tested, alpha)
        at_reference = pearson_at(self.family, self.grades, trained, np.array([reference]))[0]
        return Selected(value, at[:, 0] if tested.shape[2] == 1 else np.diagonal(at), alpha, at_reference)


def best_alpha(
    family: AlphaFamily,
    grades: Floats,
    weights: Floats,
    alphas: Alphas = "exact",
    *,
    names: Sequence[str] = COEFFICIENTS,
) -> dict[str, BestAlpha]:
    """The in-sample maximum of each coefficient over alpha.

    Of rank coefficients it is exact: every order that the states have at some alpha is looked at, ties included. Of
    Pearson it is exact for a linear family (closed form), and within 1e-9 of a local maximum, the best of 41, for a
    reciprocal one.

    Args:
        family: The measure in S states.
        grades: Distinct grades, ascending, shape (G,).
        weights: Rows with each state and grade, shape (S, G). States without rows are left out.
        alphas: "exact", all of 0..1; "grid", 0, .01, ..., 1; "log", 702 alphas dense at both ends; or those given.
        names: The coefficients wanted.

    Returns:
        One record a name.

    Raises:
        InputError: The shapes do not fit each other, or an alpha is outside 0..1.

    >>> t = AlphaFamily(np.array([8, 30, 0]), np.array([-2, -7, -4]), np.array([4, 10, 4]), "linear")
    >>> best_alpha(t, np.array([1.0, 2, 3]), np.eye(3)[[2, 1, 0]])["spearman"].value
    1.0
    """
    seen = _checked_weights(family, grades, weights).sum(1) > 0
    if not seen.any():
        return dict.fromkeys(names, BestAlpha(nan, nan, alpha_matters=False))
    search = AlphaSearch.of(family.of(seen), grades, alphas)
    cells = weights[seen][:, :, None]
    found = search.select(cells, cells, names)
    return {
        name: BestAlpha(float(one.trained[0]), float(one.alpha[0]), search.matters[name]) for name, one in found.items()
    }


def alpha_curve(family: AlphaFamily, grades: Floats, weights: Floats, alphas: Alphas = "grid") -> Coefficients:
    """Each coefficient at each alpha, ascending, shape (A,); NaN where undefined.

    Alphas at which a state has no value ("open_at_zero") are left out. Args and Raises as for `best_alpha`.
    """
    search = AlphaSearch.of(family, grades, alphas)
    curves = search.curves(_checked_weights(family, grades, weights)[:, :, None], COEFFICIENTS)
    ascending = np.argsort(search.alphas)
    return Coefficients(**{name: curves[name][ascending, 0] for name in COEFFICIENTS})


def checked_alphas(alphas: Alphas) -> Floats:
    """The competing alphas as numbers; none for "exact", whose alphas the states decide.

    Raises:
        InputError: An unknown name, no alpha, or one outside 0..1.
    """
    named = {"exact": (), "grid": GRID_ALPHAS, "log": LOG_ALPHAS}
    if isinstance(alphas, str):
        if alphas not in named:
            raise InputError(f"alphas must be 'exact', 'grid', 'log' or numbers in 0..1, got {alphas!r}")
        return np.array(named[alphas])
    grid = np.asarray(alphas, dtype=np.float64)
    if grid.ndim != 1 or not grid.size or not ((grid >= 0) & (grid <= 1)).all():
        raise InputError(f"alphas must be at least one number in 0..1, got {grid.tolist()}")
    return grid


def _checked_weights(family: AlphaFamily, grades: Floats, weights: Floats) -> Floats:
    if weights.shape != (len(family.scale), len(grades)):
        raise InputError(
            f"weights must be states x grades, got {weights.shape} for {len(family.scale)} states, {len(grades)} grades"
        )
    return weights
