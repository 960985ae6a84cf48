"""Measures that are functions of counts: how many of the K documents are positive, how many are negative.

For one query and cutoff K, n_p documents of the top K are positive (label >= rel), n_n are judged and not positive, and
N_p documents of the whole knowledge base are positive. The functions `precision` ... `t_alpha` take the counts; the
kernels count them in rankings and call these functions. Ratios are taken first (n_p/K, N_p/K), as a quotient is rounded
correctly: (1, 3, 2) and (3, 9, 6) give the same float. Other exact ties, such as alpha K + (1 - alpha) N_p from two
different (K, N_p), may still differ in the last bit: round to 12 digits before comparing.
"""

from math import floor
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.measures.definition import Choice, Definition, Floats, Number, Values, always
from ragauge.ragged import Ragged, head, segment_sum

__all__ = [
    "DEFINITIONS",
    "f_alpha",
    "fe_alpha",
    "fe_depth",
    "n_negative",
    "n_positive",
    "precision",
    "recall",
    "t_alpha",
]

Form = Literal["paper", "count"]
Unjudged = Literal["ignore", "negative"]


def precision(n_p: npt.ArrayLike, K: npt.ArrayLike) -> Floats:
    """Share of the K slots filled with a positive document: n_p / K.

    0..1; 0 = no positive, 1 = every slot positive. Never undefined for K > 0. The arguments broadcast.

    >>> float(precision(3, 10))
    0.3
    """
    return np.asarray(np.asarray(n_p, dtype=np.float64) / np.asarray(K, dtype=np.float64))


def recall(n_p: npt.ArrayLike, N_p: npt.ArrayLike) -> Floats:
    """Share of all positive documents that stand in the top K: n_p / N_p.

    0..1; 0 = none found, 1 = all found; NaN when N_p = 0. The arguments broadcast.
    """
    return _divide(np.asarray(n_p, dtype=np.float64), np.asarray(N_p, dtype=np.float64))


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
    """
    slots, share = np.asarray(K, dtype=np.float64), np.asarray(alpha, dtype=np.float64)
    return _divide(precision(n_p, slots), share + (1 - share) * (np.asarray(n_deep, dtype=np.float64) / slots))


def fe_depth(K: int, x: float) -> int:
    """How many top documents Fe(x) reads: round(xK), half rounds up.

    >>> fe_depth(5, 2), fe_depth(5, 1.5)
    (10, 8)
    """
    return floor(round(x * K, 9) + 0.5)  # 1.005 * 100 is 100.49999999999999 in binary: nine digits mend that


def t_alpha(
    n_p: npt.ArrayLike, n_n: npt.ArrayLike, K: npt.ArrayLike, alpha: npt.ArrayLike, form: Form = "paper"
) -> Floats:
    """What the K slots are worth when a positive document gains 1 - alpha and a negative one costs alpha.

    form "paper": ((1 - alpha) n_p - alpha n_n) / K, -alpha..1 - alpha. form "count": (1 - alpha) n_p - alpha n_n / K,
    -alpha..(1 - alpha) K. 0 = worth as much as returning nothing. Never undefined for K > 0. The arguments broadcast.

    >>> float(t_alpha(2, 1, 10, 0.5)), float(t_alpha(6, 4, 10, 0.5, "count"))
    (0.05, 2.8)
    """
    cost = np.asarray(alpha, dtype=np.float64)
    gained = np.asarray(n_p, dtype=np.float64) if form == "count" else precision(n_p, K)
    return np.asarray((1 - cost) * gained - cost * precision(n_n, K))


def n_positive(labels: Ragged, *, cutoff: int, rel: float = 1.0) -> Floats:
    """Documents of the top `cutoff` with label >= rel, one count a row."""
    top = head(labels, cutoff)
    return segment_sum(top.valid & (top.values >= rel), top.offsets)


def n_negative(labels: Ragged, *, cutoff: int, rel: float = 1.0, unjudged: Unjudged = "ignore") -> Floats:
    """Documents of the top `cutoff` that are not positive, one count a row; unjudged ones only when "negative"."""
    top = head(labels, cutoff)
    below = top.valid & (top.values < rel)
    return segment_sum(below | ~top.valid if unjudged == "negative" else below, top.offsets)


def _divide(above: Floats, below: Floats) -> Floats:
    """above / below, and NaN where below is 0."""
    safe = np.where(below == 0, 1.0, below)
    return np.where(below == 0, np.nan, above / safe)


def _n_relevant(pool: Ragged, rel: float) -> Floats:
    """N_p: positives among all that is judged."""
    return segment_sum(pool.valid & (pool.values >= rel), pool.offsets)


def _n_p_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, rel: float) -> Floats:
    return n_positive(labels, cutoff=cutoff, rel=rel)


def _p_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, rel: float) -> Floats:
    return precision(n_positive(labels, cutoff=cutoff, rel=rel), cutoff)


def _r_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, rel: float) -> Floats:
    return recall(n_positive(labels, cutoff=cutoff, rel=rel), _n_relevant(pool, rel))


def _f_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, alpha: float, rel: float) -> Floats:
    return f_alpha(n_positive(labels, cutoff=cutoff, rel=rel), cutoff, _n_relevant(pool, rel), alpha)


def _fe_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, alpha: float, x: float, rel: float) -> Floats:
    deep = n_positive(labels, cutoff=fe_depth(cutoff, x), rel=rel)
    return fe_alpha(n_positive(labels, cutoff=cutoff, rel=rel), cutoff, deep, alpha)


def _t_at_k(
    labels: Ragged, pool: Ragged, *, cutoff: int, alpha: float, form: Form, unjudged: Unjudged, rel: float
) -> Floats:
    positive = n_positive(labels, cutoff=cutoff, rel=rel)
    negative = n_negative(labels, cutoff=cutoff, rel=rel, unjudged=unjudged)
    return t_alpha(positive, negative, cutoff, alpha, form)


def _success_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, rel: float) -> Floats:
    return (n_positive(labels, cutoff=cutoff, rel=rel) > 0).astype(np.float64)


def _n_p_bounds(cutoff: int, values: Values) -> tuple[float, float]:
    return 0.0, float(cutoff)


def _t_bounds(cutoff: int, values: Values) -> tuple[float, float]:
    alpha = float(values["alpha"])
    return 0.0 - alpha, (1 - alpha) * (cutoff if values["form"] == "count" else 1)


def _fe_reads(cutoff: int, values: Values) -> int:
    return fe_depth(cutoff, float(values["x"]))


_REL = Number("rel", "a label of at least this is positive", default=1.0, low=0.0, above_low=True)
_WEIGHT = Number("alpha", "weight of precision: 0 is recall, 1 is precision", default=0.5, low=0.0, high=1.0)
_NOT_RELEVANT = "not positive (it fills a slot)"
_PAPER = (
    'Schwartz, Vasilyev, Sawaya, "How important is Recall for Measuring Retrieval Quality?", arXiv 2512.20854 (2025)'
)

_N_P = Definition(
    name="n_p",
    title="number of positives",
    summary="How many of the top K documents are positive: the plainest baseline for any other measure.",
    formula="n_p",
    zero="no positive document in the top K",
    one="one positive document; the largest value is K",
    undefined="never",
    unjudged=_NOT_RELEVANT,
    source="a count; the baseline in " + _PAPER,
    kernel=_n_p_at_k,
    parameters=(_REL,),
    bounds=_n_p_bounds,
    range="0..K",
    aliases=("number of hits", "rel_ret"),
)

_P_NOTES = """\
The divisor is K, also when fewer than K documents were returned: an empty slot costs as much as a negative document.
With fewer than K positives in the knowledge base, 1 cannot be reached."""

_P = Definition(
    name="P",
    title="precision",
    summary="Share of the K slots that hold a positive document.",
    formula="n_p / K",
    zero="no positive document in the top K",
    one="all K slots hold a positive document",
    undefined="never",
    unjudged=_NOT_RELEVANT,
    source="Cleverdon, Mills, Keen, Factors Determining the Performance of Indexing Systems (1966); trec_eval P_K",
    kernel=_p_at_k,
    parameters=(_REL,),
    aliases=("precision", "prec"),
    notes=_P_NOTES,
)

_R_NOTES = """With K < N_p, 1 cannot be reached: the largest value is K / N_p."""

_R = Definition(
    name="R",
    title="recall",
    summary="Share of all positive documents that stand in the top K; needs to know how many there are.",
    formula="n_p / N_p",
    zero="no positive document in the top K",
    one="every positive document is in the top K",
    undefined="N_p = 0",
    unjudged="not positive, in the ranking and in N_p",
    source="Kent, Berry, Luehrs, Perry, Machine literature searching VIII, American Documentation 6 (1955); "
    "trec_eval recall_K",
    kernel=_r_at_k,
    parameters=(_REL,),
    needs_pool=always,
    aliases=("recall", "rec"),
    notes=_R_NOTES,
)

_F_NOTES = """\
F(alpha=0) is R, F(alpha=1) is P, F (alpha = 0.5) is F1 with precision over K. `set_F` of trec_eval takes precision over
the documents returned instead, and differs when fewer than K were.

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
    source="van Rijsbergen, Information Retrieval (1979), chapter 7; in this form " + _PAPER,
    kernel=_f_at_k,
    parameters=(_WEIGHT, _REL),
    needs_pool=always,
    aliases=("F1", "F-score", "F-beta"),
    notes=_F_NOTES,
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
    unjudged="not positive, in n_p and in N_e: label down to round(xK)",
    source=_PAPER,
    kernel=_fe_at_k,
    parameters=(
        _WEIGHT,
        Number("x", "how deep N_e is counted, in multiples of K", default=2.0, low=1.0, high=1000.0),
        _REL,
    ),
    depth=_fe_reads,
    aliases=("Fest",),
    notes=_FE_NOTES,
)

_T_NOTES = """\
**What alpha is** (form=paper). Returning one more document raises the expected T exactly when its chance of being
relevant is above alpha; at exactly alpha it is worth nothing on average. So alpha is the break-even probability. At
alpha = 0.3 a document with a chance of 40 % is worth returning, and one with 20 % is not.

**Full rankings.** With all K slots filled and judged, T = P - alpha (form=paper): it ranks queries and systems as P
does, whatever alpha. It says something new when fewer than K documents may be returned.

**Empty slots count neither way.** Three good documents returned, against the same three padded with seven bad ones to
K = 10:

| returned | n_p | n_n | P@10 | T(alpha=0.3)@10 | T@10 (alpha = 0.5) |
|---|---|---|---|---|---|
| 3 good | 3 | 0 | 0.30 | (0.7 * 3 - 0.3 * 0) / 10 = 0.21 | (0.5 * 3 - 0.5 * 0) / 10 = 0.15 |
| 3 good, 7 bad | 3 | 7 | 0.30 | (0.7 * 3 - 0.3 * 7) / 10 = 0.00 | (0.5 * 3 - 0.5 * 7) / 10 = -0.20 |

P cannot tell them apart; T can.

**form=count** is what the public code of the paper computes: a mix of the count n_p and P, in which alpha
is a weight and no break-even probability. At a constant K with all slots filled it ranks like P.

**trec_eval.** `trec_eval -M K -m utility.<1-alpha>,<-alpha>,0,0`, divided by K, is T(alpha=..,unjudged=negative)@K."""

_T = Definition(
    name="T",
    title="net worth of the slots",
    summary="Rewards positive documents, charges negative ones, and needs no N_p: good for a live system.",
    formula="paper: ((1 - alpha) n_p - alpha n_n) / K;  count: (1 - alpha) n_p - alpha n_n / K",
    zero="worth as much as returning nothing",
    one="never reached by form=paper for alpha > 0: with all K slots positive it is 1 - alpha",
    undefined="never; with nothing returned it is 0",
    unjudged="neither way by default (unjudged=ignore); unjudged=negative counts it as negative, as trec_eval does",
    source=_PAPER + "; the linear utility of TREC Filtering (Hull, The TREC-7 Filtering Track, 1998), over K",
    kernel=_t_at_k,
    parameters=(
        Number("alpha", "break-even probability of being relevant", default=0.5, low=0.0, high=1.0),
        Choice("form", "what the first term is: a share of K or a count", ("paper", "count"), "paper"),
        Choice("unjudged", "what an unjudged document counts as", ("ignore", "negative"), "ignore"),
        _REL,
    ),
    bounds=_t_bounds,
    range="-alpha..1 - alpha (form=paper); -alpha..(1 - alpha) K (form=count)",
    aliases=("utility",),
    notes=_T_NOTES,
)

_SUCCESS = Definition(
    name="Success",
    title="success (hit rate)",
    summary="Whether at least one positive document stands in the top K.",
    formula="1 if n_p > 0, else 0",
    zero="no positive document in the top K",
    one="at least one",
    undefined="never",
    unjudged=_NOT_RELEVANT,
    source="trec_eval success_K",
    kernel=_success_at_k,
    parameters=(_REL,),
    aliases=("success rate", "hit", "hits", "hit rate"),
)

DEFINITIONS = (_N_P, _P, _R, _F, _FE, _T, _SUCCESS)
