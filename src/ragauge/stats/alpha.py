"""How the order of the states of a measure changes with alpha: exactly, from the alphas at which two of them swap.

One idea: seen by their order, F, Fe and T are lines in alpha, one a state (of F it is -1 / F). Two lines cross once, at
an alpha that is a quotient of whole numbers. Between two neighbouring crossings nothing moves, and at a crossing some
states are tied, so finitely many alphas stand for all of 0..1: the crossings, and one alpha between each two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError

__all__ = ["GRID_ALPHAS", "LOG_ALPHAS", "PREFERRED_ALPHA", "AlphaFamily", "AlphaPath", "alpha_path"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PREFERRED_ALPHA = 0.5
"""Among alphas that do equally well, the one nearest to this is taken: the least tuned."""

GRID_ALPHAS = tuple(i / 100 for i in range(101))
"""0, .01, ..., 1."""

LOG_ALPHAS = (0.0, *(0.95**k for k in range(350, 0, -1)), *(1 - 0.95**k for k in range(1, 351)), 1.0)
"""702 alphas, dense at both ends: 0, .95^k, 1 - .95^k, 1 for k = 1..350, those near 0 first."""

_EXACT = 2**53  # whole numbers below are exact in float64, and so is which of two quotients of them is larger
_BLOCK = 2_000_000  # pairs of states looked at together


@dataclass(frozen=True)
class AlphaFamily:
    """The values of a measure in S states, as functions of alpha.

    State s has the line L(alpha) = ((1 - alpha) start[s] + alpha end[s]) / scale[s]; its value is L ("linear"), or
    -1 / L ("reciprocal"), which has the same order as long as L is negative.

    Attributes:
        start: Whole numbers, shape (S,).
        end: Whole numbers, shape (S,).
        scale: Whole numbers >= 0, shape (S,). 0, with start = end = -1, is a line below all others: value 0.
        form: "linear" or "reciprocal".
        open_at_zero: Whether the measure is undefined at alpha = 0 in some state, so that 0 is no choice.
    """

    start: Ints
    end: Ints
    scale: Ints
    form: Literal["linear", "reciprocal"]
    open_at_zero: bool = False

    def at(self, alphas: npt.ArrayLike) -> Floats:
        """The values at each alpha, shape (A, S)."""
        alpha = np.asarray(alphas, dtype=np.float64)[:, None]
        line = (1 - alpha) * self.start + alpha * self.end
        if self.form == "linear":
            return np.asarray(line / self.scale)
        return np.asarray(np.divide(-self.scale, line, out=np.zeros_like(line), where=line != 0))

    def of(self, states: npt.NDArray[np.generic]) -> "AlphaFamily":
        """The same measure in some of its states (indices or a mask)."""
        return AlphaFamily(self.start[states], self.end[states], self.scale[states], self.form, self.open_at_zero)

    def ends(self) -> tuple[Floats, Floats]:
        """The lines at alpha = 0 and at 1, correctly rounded: equal exactly where the fractions are."""
        low = np.full(len(self.scale), -np.inf)
        start = np.divide(self.start, self.scale, out=low.copy(), where=self.scale > 0)
        return start, np.divide(self.end, self.scale, out=low, where=self.scale > 0)

    @property
    def alpha_moves_values(self) -> bool:
        """Whether two alphas give values that differ by more than a rising line."""
        if self.form == "reciprocal":  # proportional for all alphas exactly when start : end is one ratio
            start, end = self.start[self.scale > 0], self.end[self.scale > 0]
            return bool((start * end[:1] != end * start[:1]).any()) if len(start) else False
        first, last = self.ends()
        return not _rising_line(first, last)


@dataclass(frozen=True)
class AlphaPath:
    """The orders of the states for all alphas.

    States that are tied for every alpha are one class; classes are numbered in their order just above alpha = 0.

    Attributes:
        class_of: For each state, its class, shape (S,).
        breakpoints: The alphas at which classes are tied, ascending, shape (m,), in 0..1.
        first, second: Pairs of classes tied at a breakpoint, first < second, by breakpoint, shape (P,).
        pair_starts: Where each breakpoint's pairs begin, shape (m,).
        members: Classes tied at a breakpoint, by breakpoint and group of ties.
        group_starts: Where each group begins in `members`.
        group_of_breakpoint: Where each breakpoint's groups begin in `group_starts`, shape (m,).
        open_at_zero: As in `AlphaFamily`.
    """

    class_of: Ints
    breakpoints: Floats
    first: Ints
    second: Ints
    pair_starts: Ints
    members: Ints
    group_starts: Ints
    group_of_breakpoint: Ints
    open_at_zero: bool

    @property
    def alpha_moves_order(self) -> bool:
        """Whether two alphas order the states differently; all states tied, at 0 or 1, is no order."""
        sizes = np.diff(self.group_starts, append=len(self.members))
        return bool((sizes < self.n_classes).any())

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.class_of.max(initial=-1)) + 1

    def merged(self, cells: Floats) -> Floats:
        """Weights of the states, shape (S, ...), as those of the classes."""
        order = np.argsort(self.class_of, kind="stable")
        starts = _starts(self.class_of[order])
        return cells[order] if len(starts) == len(order) else np.add.reduceat(cells[order], starts, axis=0)

    @property
    def ties_at_zero(self) -> int:
        """1 when alpha = 0 is a breakpoint, else 0."""
        return int(self.breakpoints[:1].tolist() == [0.0])

    @property
    def ties_at_one(self) -> int:
        """1 when alpha = 1 is a breakpoint, else 0."""
        return int(self.breakpoints[-1:].tolist() == [1.0])

    @cached_property
    def positions(self) -> Floats:
        """One alpha for each order, ascending: the breakpoints, and between two of them .5, or else the middle."""
        inner = self.breakpoints[self.ties_at_zero :]
        edges = np.concatenate([[0.0], inner, [1.0][self.ties_at_one :]])
        between = (edges[:-1] + edges[1:]) / 2
        holds_half = (edges[:-1] < PREFERRED_ALPHA) & (edges[1:] > PREFERRED_ALPHA)
        found = np.empty(len(between) + len(inner))
        found[::2], found[1::2] = np.where(holds_half, PREFERRED_ALPHA, between), inner
        return np.concatenate([[0.0][: self.ties_at_zero], found])

    def position_of(self, alphas: Floats) -> Ints:
        """The index into `positions` of the order at each alpha; -1 at 0 when that is undefined."""
        inner = self.breakpoints[self.ties_at_zero :]
        place = np.searchsorted(inner, alphas, side="left")
        is_tie = np.isin(alphas, inner)
        found = 2 * place + is_tie + self.ties_at_zero
        at_zero = np.full(len(alphas), -1 if self.open_at_zero else 0)
        return np.where(alphas == 0, at_zero, found)


def alpha_path(family: AlphaFamily) -> AlphaPath:
    """The orders of the states of a measure for all alphas.

    Two states swap at alpha* = d0 / (d0 - d1), d0 and d1 the differences of their lines at alpha = 0 and 1: computed
    from whole numbers, so that equal alphas are equal floats.

    Raises:
        InputError: The counts are so large that their products are not exact in float64.
    """
    order, class_of = _classes(family)
    first, second, alphas = _crossings(family.of(order))
    if family.open_at_zero:
        first, second, alphas = first[alphas > 0], second[alphas > 0], alphas[alphas > 0]
    breakpoints, number = np.unique(alphas, return_inverse=True)
    by_breakpoint = np.argsort((number * len(order) + second) * len(order) + first)
    first, second, number = first[by_breakpoint], second[by_breakpoint], number[by_breakpoint]
    members, group_starts, group_of_breakpoint = _tie_groups(first, second, number)
    return AlphaPath(
        class_of=class_of,
        breakpoints=breakpoints,
        first=first,
        second=second,
        pair_starts=_starts(number),
        members=members,
        group_starts=group_starts,
        group_of_breakpoint=group_of_breakpoint,
        open_at_zero=family.open_at_zero,
    )


def _classes(family: AlphaFamily) -> tuple[Ints, Ints]:
    """One state of each class, in order just above alpha = 0; and the class of each state."""
    first, last = family.ends()
    order = np.lexsort((last, first))
    same = (first[order][1:] == first[order][:-1]) & (last[order][1:] == last[order][:-1])
    is_new = np.concatenate([[True], ~same])[: len(order)]
    class_of = np.empty(len(order), dtype=np.int64)
    class_of[order] = np.cumsum(is_new) - 1
    return order[is_new], class_of


def _crossings(family: AlphaFamily) -> tuple[Ints, Ints, Floats]:
    """Pairs of classes (lower first just above 0) whose lines meet somewhere in 0..1, and where."""
    start, end, scale = family.start, family.end, family.scale
    largest = int(np.abs(np.concatenate([start, end])).max(initial=0)) * int(scale.max(initial=0))
    if 4 * largest > _EXACT:
        raise InputError(f"counts are too large to decide ties exactly: products of {largest:.0e} above 2e15")
    found: list[tuple[Ints, Ints, Floats]] = []
    step = max(1, _BLOCK // max(1, len(scale)))
    for block in (slice(at, at + step) for at in range(0, len(scale), step)):
        at_zero = start * scale[block, None] - start[block, None] * scale
        at_one = end * scale[block, None] - end[block, None] * scale
        meets = ((at_zero > 0) & (at_one <= 0)) | ((at_zero == 0) & (at_one > 0))
        i, j = np.nonzero(meets & (np.arange(len(scale)) > np.arange(len(scale))[block, None]))
        d0, d1 = at_zero[i, j], at_one[i, j]
        found.append((i + block.start, j, d0 / (d0 - d1)))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    first, second, alphas = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first, second, np.abs(alphas)  # 0 / -d1 is -0.0


def _tie_groups(first: Ints, second: Ints, number: Ints) -> tuple[Ints, Ints, Ints]:
    """Members, group starts and first groups of each breakpoint; pairs sorted by breakpoint, second, first.

    All pairs of a group of ties are there, so the group of a class is named by the lowest it is tied with.
    """
    n_classes = int(second.max(initial=-1)) + 1
    is_lowest = np.concatenate([[True], (np.diff(second) != 0) | (np.diff(number) != 0)])[: len(first)]
    group = number[is_lowest] * n_classes + first[is_lowest]
    named = np.unique(group)
    keys = np.concatenate([group * n_classes + second[is_lowest], named * n_classes + named % max(1, n_classes)])
    group, member = np.divmod(np.sort(keys), max(1, n_classes))
    starts = _starts(group)
    return member, starts, _starts(group[starts] // max(1, n_classes))


def _starts(number: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    return np.flatnonzero(np.concatenate([[True], np.diff(number) != 0])[: len(number)])


def _rising_line(x: Floats, y: Floats) -> bool:
    """Whether y is a constant plus a positive multiple of x, to 7 digits; also when either is constant."""
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return bool(size == 0 or x @ y >= (1 - 1e-14) * size)
