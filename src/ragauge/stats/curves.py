"""The rank coefficients of a measure at every alpha at once, for a batch of tables.

One idea: C - D and the numerator of Spearman are sums over pairs of states with the sign of their order. At a crossing
only the pairs that cross change theirs, so one table for the lowest alpha and a running sum over the crossings give
all orders: O(pairs that cross), not O(orders * states). Replicates are the last axis: a batch costs little more than
one.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.stats.alpha import AlphaPath
from ragauge.stats.association import Margin, RankSums, rank_coefficient, sign_sums

__all__ = ["rank_curves"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 65_536  # pairs times replicates worked on at once: half a megabyte, which the processor's cache holds


def rank_curves(path: AlphaPath, cells: Floats, names: Collection[str]) -> dict[str, Floats]:
    """The rank coefficients at each of `path.positions`.

    Args:
        path: The orders of the states.
        cells: Weights, shape (S, G, B): state, grade (ascending), replicate.
        names: Which ones.

    Returns:
        Arrays of shape (positions, B); NaN where undefined.
    """
    sums = _sums(path, path.merged(cells), set(names))
    return {name: rank_coefficient(sums, name) for name in names}


def _sums(path: AlphaPath, classes: Floats, names: set[str]) -> RankSums:
    """What the named coefficients are made of; what they do not need is one NaN."""
    rows, columns = classes.sum(1), classes.sum(0)
    n, nonempty = rows.sum(0), (rows > 0).astype(np.float64)
    by_sign, ties = bool(names - {"spearman"}), _Ties.of(path)
    unused = np.full((1, 1), np.nan)
    squares = _with_ties(path, ties, rows, np.square) if by_sign else unused
    cubes = _with_ties(path, ties, rows, _cube) if "spearman" in names else unused
    n_values = _with_ties(path, ties, nonempty, np.sign) if "tau_c" in names else nonempty.sum(0)
    decided = unused
    if "gamma" in names:
        cell_squares = sum(_with_ties(path, ties, classes[:, grade], np.square) for grade in range(classes.shape[1]))
        decided = (n**2 - squares - (columns**2).sum(0) + cell_squares) / 2
    return RankSums(
        n=n,
        excess=_excess(path, classes) if by_sign else unused,
        decided=decided,
        product=_product(path, classes) if "spearman" in names else unused,
        rows=Margin((n**2 - squares) / 2, (n**3 - cubes) / 12, n_values),
        columns=Margin(
            (n**2 - (columns**2).sum(0)) / 2, (n**3 - (columns**3).sum(0)) / 12, (columns > 0).sum(0).astype(np.float64)
        ),
    )


def _excess(path: AlphaPath, classes: Floats) -> Floats:
    """C - D at each position."""
    signs = sign_sums(classes, 1)
    lower, upper = (np.ascontiguousarray(array.transpose(1, 0, 2)) for array in (classes, signs))

    def of_pairs(i: Ints, j: Ints) -> Floats:
        total = np.zeros((len(i), classes.shape[2]))
        for grade in range(classes.shape[1]):
            term = lower[grade][i]
            term *= upper[grade][j]
            total += term
        return total

    below = classes.cumsum(0) - classes
    return _running(path, (below * signs).sum((0, 1)), of_pairs)


def _product(path: AlphaPath, classes: Floats) -> Floats:
    """Sum of the products of centred mid-ranks at each position."""
    rows = classes.sum(1)
    graded = (classes * -sign_sums(classes.sum(0), 0)).sum(1) / 4

    def of_pairs(i: Ints, j: Ints) -> Floats:
        total: Floats = rows[i]
        reverse = rows[j]
        total *= graded[j]
        reverse *= graded[i]
        total -= reverse
        return total

    return _running(path, -(sign_sums(rows, 0) * graded).sum(0), of_pairs)


def _running(path: AlphaPath, lowest: Floats, of_pairs: Callable[[Ints, Ints], Floats]) -> Floats:
    """A sum over pairs with the sign of their order, at each position: a pair counts +1 below its crossing, then 0, -1.

    Args:
        path: The orders of the states.
        lowest: The sum just above alpha = 0, shape (B,).
        of_pairs: What crossing pairs are worth, shape (pairs, B).
    """
    crossing = np.empty((len(path.breakpoints), len(lowest)))
    ends = np.append(path.pair_starts, len(path.first))
    for at in _blocks(ends, max(1, _BLOCK // max(1, len(lowest)))):
        pairs = slice(ends[at.start], ends[at.stop])
        worth = of_pairs(path.first[pairs], path.second[pairs])
        crossing[at] = _run_sums(ends[at.start : at.stop + 1] - ends[at.start]) @ worth
    inner = crossing[path.ties_at_zero :]
    after = lowest - 2 * inner.cumsum(0)
    sums = _interleaved(path, lowest, after + inner, after)
    if path.ties_at_zero:
        sums[0] = lowest - crossing[0]
    return sums


@dataclass(frozen=True)
class _Ties:
    """Sparse matrices that add up classes: over groups of ties, over breakpoints; and groups over breakpoints."""

    groups: Any
    members: Any
    breakpoints: Any

    @classmethod
    def of(cls, path: AlphaPath) -> "_Ties":
        group_ends = np.append(path.group_starts, len(path.members))
        breakpoint_ends = np.append(path.group_of_breakpoint, len(path.group_starts))
        return cls(
            groups=_run_sums(group_ends, path.members, path.n_classes),
            members=_run_sums(group_ends[breakpoint_ends], path.members, path.n_classes),
            breakpoints=_run_sums(breakpoint_ends),
        )


def _with_ties(path: AlphaPath, ties: _Ties, weights: Floats, of: Callable[[Floats], Floats]) -> Floats:
    """Sum of of(weight) over the groups of tied classes, at each position; `weights` of shape (classes, B)."""
    each = of(weights)
    apart = each.sum(0)
    tied = apart + ties.breakpoints @ of(ties.groups @ weights) - ties.members @ each
    inner = tied[path.ties_at_zero :]
    sums = _interleaved(path, apart, inner, apart)
    if path.ties_at_zero:
        sums[0] = tied[0]
    return sums


def _run_sums(ends: Ints, indices: Ints | None = None, n_values: int | None = None) -> Any:
    """A sparse matrix of ones: row k adds up indices[ends[k]:ends[k + 1]], all there are if None."""
    from scipy.sparse import csr_array  # here, because `import ragauge` must stay quick

    taken = np.arange(ends[-1]) if indices is None else indices
    return csr_array((np.ones(len(taken)), taken, ends), shape=(len(ends) - 1, n_values or len(taken)))


def _blocks(ends: Ints, size: int) -> list[slice]:
    """Runs of breakpoints with about `size` pairs together."""
    cuts = np.searchsorted(ends, np.arange(size, ends[-1] + size, size), side="left")
    edges = np.unique(np.concatenate([[0], np.minimum(cuts, len(ends) - 1)])).tolist()
    return [slice(low, high) for low, high in pairwise(edges)]


def _interleaved(path: AlphaPath, lowest: Floats, at: Floats, after: Floats) -> Floats:
    """An array (positions, B) from the values just above 0, at each crossing above 0, and after each."""
    found = np.empty((path.ties_at_zero + 1 + 2 * len(at), len(lowest)))
    inner = found[path.ties_at_zero :]
    inner[0], inner[1::2], inner[2::2] = lowest, at, after
    return found[: len(found) - path.ties_at_one]


def _cube(weights: Floats) -> Floats:
    return np.asarray(weights * weights * weights)
