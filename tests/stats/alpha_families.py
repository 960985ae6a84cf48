"""Families of measures with alpha for the tests, and their exact values in fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from ragauge.stats.alpha import AlphaFamily


def t_count(n, K):
    """(1 - a) n - a (K - n) / K."""
    n, K = np.asarray(n), np.asarray(K)
    return AlphaFamily(n * K, n - K, K, "linear")


def f(n, K, N):
    """n / (a K + (1 - a) N)."""
    n, K, N = np.asarray(n), np.asarray(K), np.asarray(N)
    return AlphaFamily(np.where(n == 0, -1, -N), np.where(n == 0, -1, -K), n, "reciprocal")


def exact_values(family, alpha):
    """The lines of a family in fractions, None = below all others; they have the order of the values."""
    return [
        None if scale == 0 else ((1 - alpha) * start + alpha * end) / scale
        for start, end, scale in zip(
            map(Fraction, family.start.tolist()), map(Fraction, family.end.tolist()), family.scale.tolist(), strict=True
        )
    ]


def exact_ranks(family, alpha):
    """Dense ranks of the states at an alpha, ties exact."""
    values = exact_values(family, alpha)
    order = {value: rank for rank, value in enumerate(sorted({v for v in values if v is not None}), start=1)}
    return np.array([0 if value is None else order[value] for value in values], dtype=float)


def all_alphas(family):
    """Every alpha at which two states are tied, and one between each two of them, in fractions."""
    first, last = exact_values(family, Fraction(0)), exact_values(family, Fraction(1))
    known = [(x, y) for x, y in zip(first, last, strict=True) if x is not None]
    cuts = {Fraction(0), Fraction(1)}
    for x0, x1 in known:
        for y0, y1 in known:
            if x0 - y0 != x1 - y1:
                cuts.add((x0 - y0) / ((x0 - y0) - (x1 - y1)))
    inside = sorted(cut for cut in cuts if 0 <= cut <= 1)
    return sorted([*inside, *((a + b) / 2 for a, b in pairwise(inside))])


def one_row_a_state(grades):
    """Distinct grades, and the table where state i has one row, of grade i."""
    distinct, column = np.unique(grades, return_inverse=True)
    weights = np.zeros((len(grades), len(distinct)))
    weights[np.arange(len(grades)), column] = 1
    return distinct.astype(float), weights
