"""Which measures may be the best: a set that holds the best one in at least `level` of all samples.

One idea: which of several close statistics is the largest is a lottery. So measures are struck out one at a time, the
one that trails most, as long as the bootstrap says that chance would hardly let anything trail so far. What is left
cannot be told apart, and a winner is one that is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.intervals import check_level

__all__ = ["MIN_DRAWS", "ConfidenceSet", "Elimination", "confidence_set", "default_level"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SMALL_SAMPLE = 100
"""Up to this many queries the 95 % set is taken, as a caution: the bootstrap of few rows is rough."""

MIN_DRAWS = 100
"""Fewest usable bootstrap draws: fewer cannot tell a p of 0.05 from one of 0.1."""

_SAME = 1e-9  # statistics that differ by no more in any draw are one measure under two names


@dataclass(frozen=True)
class Elimination:
    """One measure (or several that are the same here) struck out.

    Attributes:
        names: Its names.
        statistic: By how many standard errors it trails the measure furthest ahead of it.
        p: Chance that, were all still in the set equal, some measure would trail by that much.
    """

    names: tuple[str, ...]
    statistic: float
    p: float


@dataclass(frozen=True)
class ConfidenceSet:
    """The measures that may be the best.

    Attributes:
        groups: What is left, the largest statistic first. A group holds the names of measures whose statistics are the
            same in every draw, such as P, R and F at a constant K / N_p; nothing can tell those apart.
        eliminated: What was struck out, in order.
        p: Chance, were all that are left equal, of one trailing as far as the last of them does; 1 for a lone group.
        simplest: The first-named candidate of all that are left: the one to use when there is no winner.
        level: Confidence level of the set.
        n_draws: Bootstrap draws used.
        n_undefined: Draws left out because some statistic was undefined in them.
    """

    groups: tuple[tuple[str, ...], ...]
    eliminated: tuple[Elimination, ...]
    p: float
    simplest: str
    level: float
    n_draws: int
    n_undefined: int

    @property
    def members(self) -> tuple[str, ...]:
        """All names that are left, the largest statistic first."""
        return tuple(name for group in self.groups for name in group)

    @property
    def winner(self) -> str:
        """The one measure that is left, with its other names: "P = R = F"; "" when several are left."""
        return " = ".join(self.groups[0]) if len(self.groups) == 1 else ""

    def __str__(self) -> str:
        if self.winner:
            return f"best: {self.winner}"
        best, *others = (" = ".join(group) for group in self.groups)
        return f"no winner: {best} leads; not distinguishable: {', '.join(others)}; the simplest is {self.simplest}"


@dataclass(frozen=True)
class _Candidates:
    """Groups of names with the same statistics, their values (M,), and centred draws (B, M)."""

    groups: tuple[tuple[str, ...], ...]
    values: Floats
    centred: Floats


def confidence_set(
    statistics: npt.ArrayLike, draws: npt.ArrayLike, *, names: Sequence[str], level: float
) -> ConfidenceSet:
    """The measures that may be the best, by elimination on bootstrap draws.

    For the set that is left, with se_ij the standard deviation over draws of the difference of i and j:
    t_i = max_j (theta_j - theta_i) / se_ij, T = max_i t_i, and p = share of draws with
    max_ij ((theta*_j - theta_j) - (theta*_i - theta_i)) / se_ij >= T. While p < 1 - level the measure with the largest
    t_i is struck out. The set holds the best measure with probability `level` or more in large samples;
    `default_level` says which level to take.

    Args:
        statistics: What is to be large (a correlation with the grade), one a measure, shape (M,), finite.
        draws: The same in each bootstrap draw, queries drawn with replacement, shape (B, M). A draw with a NaN is left
            out and counted.
        names: One a measure, the simplest first: of those that are left the first is suggested.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        The set. Measures whose statistics are the same in all draws are one candidate under several names.

    Raises:
        InputError: The shapes do not fit, a name comes twice, a statistic is not finite, there are fewer than 100
            usable draws, or the level is not in (0, 1).

    Source:
        Hansen, Lunde and Nason, "The model confidence set", Econometrica 79 (2011), doi:10.3982/ECTA5771.

    >>> rng = np.random.default_rng(0)
    >>> theta = np.array([0.30, 0.31, 0.60])
    >>> print(confidence_set(theta, theta + 0.05 * rng.standard_normal((500, 3)), names=["n_p", "P", "R"], level=0.9))
    best: R
    """
    check_level(level)
    theta, drawn = _checked(statistics, draws, names)
    usable = drawn[np.isfinite(drawn).all(1)]
    if len(usable) < MIN_DRAWS:
        raise InputError(f"{len(usable)} usable bootstrap draws of {len(drawn)}; a confidence set needs {MIN_DRAWS}")
    candidates = _candidates(theta, usable, names)
    left, eliminated, p = _eliminate(candidates, 1 - level)
    groups = [candidates.groups[i] for i in left[np.argsort(-candidates.values[left], kind="stable")]]
    return ConfidenceSet(
        groups=tuple(groups),
        eliminated=tuple(eliminated),
        p=p,
        simplest=min((name for group in groups for name in group), key=list(names).index),
        level=level,
        n_draws=len(usable),
        n_undefined=len(drawn) - len(usable),
    )


def default_level(n_queries: int) -> float:
    """The level of a confidence set: 0.9, and 0.95 for up to 100 queries.

    >>> default_level(40), default_level(500)
    (0.95, 0.9)
    """
    return 0.95 if n_queries <= SMALL_SAMPLE else 0.9


def _checked(statistics: npt.ArrayLike, draws: npt.ArrayLike, names: Sequence[str]) -> tuple[Floats, Floats]:
    theta, drawn = np.asarray(statistics, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    if theta.ndim != 1 or not len(theta) or len(names) != len(theta) or drawn.shape[1:] != theta.shape:
        raise InputError(
            f"one name a statistic and draws x statistics are needed, got {len(names)} names, statistics "
            f"{theta.shape} and draws {drawn.shape}"
        )
    if len(set(names)) < len(names):
        raise InputError(f"each name may come once, got {', '.join(names)}")
    undefined = [name for name, value in zip(names, theta.tolist(), strict=True) if not np.isfinite(value)]
    if undefined:
        raise InputError(f"the statistic of {', '.join(undefined)} is not finite; leave it out of the comparison")
    return theta, drawn


def _candidates(theta: Floats, drawn: Floats, names: Sequence[str]) -> _Candidates:
    """Measures that never differ, put together."""
    every = np.vstack([theta, drawn])
    first_like = [int(np.flatnonzero((np.abs(every - every[:, [i]]) <= _SAME).all(0))[0]) for i in range(len(theta))]
    leaders = sorted(set(first_like))
    groups = tuple(tuple(names[i] for i, first in enumerate(first_like) if first == leader) for leader in leaders)
    return _Candidates(groups, theta[leaders], drawn[:, leaders] - theta[leaders])


def _eliminate(candidates: _Candidates, alpha: float) -> tuple[npt.NDArray[np.int64], list[Elimination], float]:
    """The indices that are left, what was struck out, and the p at which it ended."""
    errors = _pair_errors(candidates.centred)
    left = np.arange(len(candidates.groups))
    eliminated: list[Elimination] = []
    while len(left) > 1:
        scale = errors[np.ix_(left, left)]
        trailing = ((candidates.values[left][None, :] - candidates.values[left][:, None]) / scale).max(1)
        worst = int(trailing.argmax())
        p = float((_largest_gap(candidates.centred[:, left], scale) >= trailing[worst]).mean())
        if p >= alpha:
            return left, eliminated, p
        eliminated.append(Elimination(candidates.groups[left[worst]], float(trailing[worst]), p))
        left = np.delete(left, worst)
    return left, eliminated, 1.0


def _pair_errors(centred: Floats) -> Floats:
    """Standard deviation over draws of each pair's difference; infinite on the diagonal, which thus never counts."""
    covariance = np.atleast_2d(np.cov(centred, rowvar=False))
    variance = np.diagonal(covariance)
    errors: Floats = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    np.fill_diagonal(errors, np.inf)
    return np.maximum(errors, _SAME)


def _largest_gap(centred: Floats, scale: Floats) -> Floats:
    """In each draw, the largest difference of two centred statistics in standard errors."""
    return np.asarray((np.abs(centred[:, :, None] - centred[:, None, :]) / scale).max((1, 2)))
