"""F: precision and recall in one number, with precision over the K slots (F), over what was returned (SetF), or with
the number of positives estimated from deeper in the ranking (Fe).

alpha is the weight of precision. The beta of the literature is another way to write it: alpha = 1 / (1 + beta^2).
"""

from math import floor

import numpy as np
import numpy.typing as npt

from ragauge.measures.counts import NOT_RELEVANT, PAPER, REL, divide, n_positive, n_relevant, precision
from ragauge.measures.definition import Definition, Floats, Number, Spelling, Values, always
from ragauge.ragged import Ragged, head

__all__ = ["DEFINITIONS", "f_alpha", "fe_alpha", "fe_depth"]


def f_alpha(n_p: npt.ArrayLike, K: npt.ArrayLike, N_p: npt.ArrayLike, alpha: npt.ArrayLike) -> Floats:
    """Weighted harmonic mean of precision and recall: n_p / (alpha K + (1 - alpha) N_p).

    0..1; 0 = nothing found, 1 = the top K is exactly what is positive; NaN when N_p = 0. alpha = 0 is recall, 1 is
    precision (up to the last bit). The arguments broadcast.

    >>> f_alpha(2, 10, 4, [0, 0.5, 1]).round(6).tolist()
    [0.5, 0.285714, 0.2]
    """
    total = np.asarray(N_p, dtype=np.float64)
    return np.where(total > 0, fe_alpha(n_p, K, total, alpha), np.nan)


def fe_alpha(n_p: npt.ArrayLike, K: npt.ArrayLike, n_deep: npt.ArrayLike, alpha: npt.ArrayLike) -> Floats:
    """F(alpha) with N_p replaced by the positives n_deep counted deeper in the ranking.

    0..1. With n_deep = 0 it is 0 for alpha > 0, and NaN (0/0) for alpha = 0. The arguments broadcast.

    >>> fe_alpha(1, 2, 3, [0, 0.5, 1]).round(6).tolist()
    [0.333333, 0.4, 0.5]
    """
    slots, share = np.asarray(K, dtype=np.float64), np.asarray(alpha, dtype=np.float64)
    return divide(precision(n_p, slots), share + (1 - share) * (np.asarray(n_deep, dtype=np.float64) / slots))


def fe_depth(K: int, x: float) -> int:
    """How many top documents Fe(x) reads: round(xK), half rounds up.

    >>> fe_depth(5, 2), fe_depth(5, 1.5)
    (10, 8)
    """
    return floor(round(x * K, 9) + 0.5)  # 1.005 * 100 is 100.49999999999999 in binary: nine digits mend that


def _f_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, alpha: float, rel: float) -> Floats:
    return f_alpha(n_positive(labels, cutoff=cutoff, rel=rel), cutoff, n_relevant(pool, rel), alpha)


def _set_f(labels: Ragged, pool: Ragged, *, cutoff: int | None, alpha: float, rel: float) -> Floats:
    """F with the number of documents returned in place of K; nothing returned finds nothing: 0, unless alpha = 1."""
    returned = head(labels, cutoff).lengths.astype(np.float64)
    total = n_relevant(pool, rel)
    value = divide(n_positive(labels, cutoff=cutoff, rel=rel), alpha * returned + (1 - alpha) * total)
    return np.where(total > 0, value, np.nan)


def _fe_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, alpha: float, x: float, rel: float) -> Floats:
    deep = n_positive(labels, cutoff=fe_depth(cutoff, x), rel=rel)
    return fe_alpha(n_positive(labels, cutoff=cutoff, rel=rel), cutoff, deep, alpha)


def _fe_reads(cutoff: int | None, values: Values) -> int | None:
    return None if cutoff is None else fe_depth(cutoff, float(values["x"]))


def _of_beta(beta: float) -> float:
    """The weight of precision that the textbook's beta stands for."""
    return 1.0 / (1.0 + beta**2)


_WEIGHT = Number("alpha", "weight of precision: 0 is recall, 1 is precision", default=0.5, low=0.0, high=1.0)
_BETA = Spelling(
    Number("beta", "how many times recall weighs as much as precision", low=0.0, high=1e6), "alpha", _of_beta
)
_ALIASES = ("F1", "F-score", "F-beta")

_F_NOTES = """\
F(alpha=0) is R, F(alpha=1) is P, F (alpha = 0.5) is F1 with precision over K. beta is another way to write alpha =
1 / (1 + beta^2): F(beta=2) is read, and printed, as F(alpha=0.2). Give one of the two.

Four numbers go by the name of F at K. With 2 positives among 3 returned, 4 positives in all and K = 10:

| what | here | value |
|---|---|---|
| F1, precision over the K slots (ranx `f1@10`) | F@10 | 2 / (0.5 * 10 + 0.5 * 4) = 0.2857 |
| F1, precision over the 3 returned (trec_eval `-M 10 -m set_F`) | SetF@10 | 2 / (0.5 * 3 + 0.5 * 4) = 0.5714 |
| the textbook's F2 over the 3 returned | SetF(beta=2)@10 | 2 / (0.2 * 3 + 0.8 * 4) = 0.5263 |
| trec_eval `set_F.2.0`: its parameter is beta^2 | SetF(alpha=0.3333333333333333)@10 | 2 / (3/3 + 2 * 4/3) = 0.5455 |

Where K / N_p is the same for all queries, alpha only rescales F: its correlations are those of P and R."""

_F = Definition(
    name="F",
    title="F-measure",
    summary="Weighted harmonic mean of P@K and R@K; needs to know how many positive documents there are.",
    formula="n_p / (alpha K + (1 - alpha) N_p)",
    zero="no positive document in the top K",
    one="the top K is exactly the set of positive documents",
    undefined="N_p = 0",
    unjudged="not positive, in the ranking and in N_p",
    source="van Rijsbergen, Information Retrieval (1979), chapter 7; in this form " + PAPER,
    kernel=_f_at_k,
    labels="binary",
    parameters=(_WEIGHT, REL),
    spellings=(_BETA,),
    needs_pool=always,
    linear=always,
    aliases=_ALIASES,
    notes=_F_NOTES,
)

_SET_F_NOTES = """\
F charges for slots left empty, SetF does not; they agree where K documents were returned. SetF(beta=2) is read, and
printed, as SetF(alpha=0.2): alpha = 1 / (1 + beta^2).

The parameter of trec_eval's `set_F.x` and of ir_measures' `SetF(beta=x)` is beta^2, not beta: theirs at x is
SetF(alpha=1/(1+x)) here."""

_SET_F = Definition(
    name="SetF",
    title="set F-measure",
    summary="Weighted harmonic mean of recall and of precision over the documents returned.",
    formula="n_p / (alpha min(K, documents returned) + (1 - alpha) N_p)",
    zero="no document returned is positive",
    one="what was returned is exactly the set of positive documents",
    undefined="N_p = 0; alpha = 1 and nothing returned",
    unjudged="not positive (it was returned)",
    source="van Rijsbergen, Information Retrieval (1979), chapter 7; trec_eval set_F",
    kernel=_set_f,
    labels="binary",
    parameters=(_WEIGHT, REL),
    spellings=(_BETA,),
    cutoff="optional",
    needs_pool=always,
    linear=always,
    aliases=("set_F", "set F1"),
    notes=_SET_F_NOTES,
)

_FE_NOTES = """\
N_e is a lower bound of N_p, so Fe(alpha=0) is an upper bound of R. When fewer than round(xK) documents were returned,
those that were get counted: retrieve, and label, down to round(xK)."""

_FE = Definition(
    name="Fe",
    title="F-measure with estimated number of relevant documents",
    summary="F when nobody knows N_p: the positives in the top xK stand in for it.",
    formula="n_p / (alpha K + (1 - alpha) N_e), N_e = positives in the top round(xK), half rounds up",
    zero="no positive document in the top K",
    one="the top K is all positive and no further positive stands in the top round(xK)",
    undefined="alpha = 0 and no positive in the top round(xK); for alpha > 0 that is 0",
    unjudged=f"{NOT_RELEVANT}, nor counted in N_e: label down to round(xK)",
    source=PAPER,
    kernel=_fe_at_k,
    labels="binary",
    parameters=(
        _WEIGHT,
        Number("x", "how deep N_e is counted, in multiples of K", default=2.0, low=1.0, high=1000.0),
        REL,
    ),
    spellings=(_BETA,),
    depth=_fe_reads,
    aliases=("Fest",),
    notes=_FE_NOTES,
)

DEFINITIONS = (_F, _SET_F, _FE)
