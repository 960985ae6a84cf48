"""Measures that are functions of counts: how many of the K documents are positive, how many are negative.

For one query and cutoff K, n_p documents of the top K are positive (label >= rel), n_n are judged and not positive, and
N_p documents of the whole knowledge base are positive. The functions `precision` and `recall` take the counts; the
kernels count them in rankings and call these functions. Ratios are taken first (n_p/K, N_p/K), as a quotient is rounded
correctly: (1, 3, 2) and (3, 9, 6) give the same float. Other exact ties, such as alpha K + (1 - alpha) N_p from two
different (K, N_p), may still differ in the last bit: round to 12 digits before comparing.

Where the label is a probability of relevance, the expected counts take the place of the counts: n_p is the sum of the
probabilities, n_n the sum of their complements. What is linear in the counts is then the expected measure.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError, MeasureError
from ragauge.measures.definition import Choice, Definition, Floats, Number, Values, always, format_value, unbounded
from ragauge.ragged import Ragged, head, segment_sum, slots

__all__ = [
    "DEFINITIONS",
    "LABELS",
    "NOT_RELEVANT",
    "PAPER",
    "REL",
    "UNJUDGED",
    "LabelKind",
    "Unjudged",
    "divide",
    "n_negative",
    "n_positive",
    "n_relevant",
    "precision",
    "recall",
]

LabelKind = Literal["grade", "probability"]
Unjudged = Literal["ignore", "negative"]
Counts = npt.NDArray[np.bool_] | Floats


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

    >>> recall([2, 0], [4, 0]).tolist()
    [0.5, nan]
    """
    return divide(np.asarray(n_p, dtype=np.float64), np.asarray(N_p, dtype=np.float64))


def n_positive(ranked: Ragged, *, cutoff: int | None, rel: float = 1.0, labels: LabelKind = "grade") -> Floats:
    """Documents of the top `cutoff` with label >= rel, one count a row; with probabilities, the expected count.

    >>> n_positive(Ragged.from_lists([[1, 0, 2], [None]]), cutoff=2).tolist()
    [1.0, 0.0]
    """
    top = slots(ranked, cutoff)
    return segment_sum(_positive(top, rel, labels), top.offsets)


def n_negative(
    ranked: Ragged,
    *,
    cutoff: int | None,
    rel: float = 1.0,
    labels: LabelKind = "grade",
    unjudged: Unjudged = "ignore",
) -> Floats:
    """Documents of the top `cutoff` that are not positive, one count a row; unjudged ones only when "negative".

    >>> n_negative(Ragged.from_lists([[1, 0, None]]), cutoff=3).tolist()
    [1.0]
    """
    top = slots(ranked, cutoff) if unjudged == "ignore" else head(ranked, cutoff)
    negative = _negative(top, rel, labels)
    return segment_sum(np.where(top.valid, negative, 1) if unjudged == "negative" else negative, top.offsets)


def n_relevant(pool: Ragged, rel: float) -> Floats:
    """N_p: positives among all that is judged."""
    return segment_sum(pool.valid & (pool.values >= rel), pool.offsets)


def divide(above: Floats, below: Floats) -> Floats:
    """above / below, and NaN where below is 0."""
    safe = np.where(below == 0, 1.0, below)
    return np.where(below == 0, np.nan, above / safe)


def _positive(top: Ragged, rel: float, labels: LabelKind) -> Counts:
    """What each document adds to n_p: 1 or 0, or its probability; an unjudged one adds 0."""
    if labels == "grade":
        return np.asarray(top.valid & (top.values >= rel))
    outside = top.values[top.valid & (top.values > 1)]
    if outside.size:
        raise InputError(
            f"labels=probability needs labels in 0..1, got a label of {format_value(float(outside[0]))}; "
            "leave it out where labels are grades"
        )
    return np.where(top.valid, top.values, 0.0)


def _negative(top: Ragged, rel: float, labels: LabelKind) -> Counts:
    """What each document adds to n_n: 1 or 0, or what its probability lacks to 1; an unjudged one adds 0."""
    if labels == "grade":
        return np.asarray(top.valid & (top.values < rel))
    return np.where(top.valid, 1 - _positive(top, rel, labels), 0.0)


def _n_p_at_k(ranked: Ragged, pool: Ragged, /, *, cutoff: int, labels: LabelKind, rel: float) -> Floats:
    return n_positive(ranked, cutoff=cutoff, rel=rel, labels=labels)


def _n_n_at_k(
    ranked: Ragged, pool: Ragged, /, *, cutoff: int, unjudged: Unjudged, labels: LabelKind, rel: float
) -> Floats:
    return n_negative(ranked, cutoff=cutoff, rel=rel, labels=labels, unjudged=unjudged)


def _p_at_k(ranked: Ragged, pool: Ragged, /, *, cutoff: int, labels: LabelKind, rel: float) -> Floats:
    return precision(n_positive(ranked, cutoff=cutoff, rel=rel, labels=labels), cutoff)


def _set_p(labels: Ragged, pool: Ragged, *, cutoff: int | None, rel: float) -> Floats:
    returned = head(labels, cutoff).lengths.astype(np.float64)
    return divide(n_positive(labels, cutoff=cutoff, rel=rel), returned)


def _r_at_k(labels: Ragged, pool: Ragged, *, cutoff: int | None, cap: Literal["none", "cutoff"], rel: float) -> Floats:
    total = n_relevant(pool, rel)
    reachable = np.minimum(total, unbounded(cutoff)) if cap == "cutoff" else total
    return recall(n_positive(labels, cutoff=cutoff, rel=rel), reachable)


def _success_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, rel: float) -> Floats:
    return (n_positive(labels, cutoff=cutoff, rel=rel) > 0).astype(np.float64)


def _count_bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    return 0.0, unbounded(cutoff)


def _cap_needs_cutoff(cutoff: int | None, values: Values, where: str) -> None:
    if cutoff is None and values["cap"] == "cutoff":
        raise MeasureError(f"R with cap=cutoff needs a cutoff in {where!r}; write for example 'R(cap=cutoff)@10'")


REL = Number("rel", "a label of at least this is positive", default=1.0, low=0.0, above_low=True)
LABELS = Choice(
    "labels",
    "what a label is: a grade, held against rel, or the probability that the document is relevant",
    ("grade", "probability"),
    "grade",
)
UNJUDGED = Choice("unjudged", "what an unjudged document counts as", ("ignore", "negative"), "ignore")
NOT_RELEVANT = "not positive (it fills a slot)"
PAPER = (
    'Schwartz, Vasilyev, Sawaya, "How important is Recall for Measuring Retrieval Quality?", arXiv 2512.20854 (2025)'
)
_EXPECTED = """\
labels=probability: labels are probabilities of relevance in 0..1 (a larger one is an error), `rel` is not used, and the
value is the expected one: n_p becomes the sum of the probabilities of the top K, n_n the sum of their complements."""

_N_P = Definition(
    name="n_p",
    title="number of positives",
    summary="How many of the top K documents are positive: the plainest baseline for any other measure.",
    formula="n_p",
    zero="no positive document in the top K",
    one="one positive document; the largest value is K",
    undefined="never",
    unjudged=NOT_RELEVANT,
    source="a count; the baseline in " + PAPER,
    kernel=_n_p_at_k,
    labels="binary",
    parameters=(LABELS, REL),
    bounds=_count_bounds,
    linear=always,
    range="0..K",
    aliases=("number of hits", "rel_ret", "num_rel_ret"),
    notes=_EXPECTED,
)

_N_N = Definition(
    name="n_n",
    title="number of negatives",
    summary="How many of the top K documents were judged and found not positive.",
    formula="n_n",
    zero="no document of the top K is known to be negative",
    one="one negative document; the largest value is K",
    undefined="never",
    unjudged="not counted by default (unjudged=ignore); unjudged=negative counts it",
    source="a count; num_nonrel_judged_ret of trec_eval",
    kernel=_n_n_at_k,
    labels="binary",
    parameters=(UNJUDGED, LABELS, REL),
    bounds=_count_bounds,
    linear=always,
    capped=False,
    range="0..K",
    aliases=("number of negatives", "num_nonrel_judged_ret"),
    notes=_EXPECTED,
)

_P_NOTES = f"""\
The divisor is K, also when fewer than K documents were returned: an empty slot costs as much as a negative document.
SetP divides by what was returned. With fewer than K positives in the knowledge base, 1 cannot be reached.

{_EXPECTED}"""

_P = Definition(
    name="P",
    title="precision",
    summary="Share of the K slots that hold a positive document.",
    formula="n_p / K",
    zero="no positive document in the top K",
    one="all K slots hold a positive document",
    undefined="never",
    unjudged=NOT_RELEVANT,
    source="Cleverdon, Mills, Keen, Factors Determining the Performance of Indexing Systems (1966); trec_eval P_K",
    kernel=_p_at_k,
    labels="binary",
    parameters=(LABELS, REL),
    linear=always,
    aliases=("precision", "prec"),
    notes=_P_NOTES,
)

_SET_P = Definition(
    name="SetP",
    title="set precision",
    summary="Share of the documents returned that are positive, however few they are.",
    formula="n_p / min(K, documents returned)",
    zero="no document returned is positive",
    one="every document returned is positive",
    undefined="no document was returned (trec_eval says 0)",
    unjudged="not positive (it was returned)",
    source="trec_eval set_P, and -M K for the cutoff; ir_measures SetP",
    kernel=_set_p,
    labels="binary",
    parameters=(REL,),
    cutoff="optional",
    linear=always,
    aliases=("set_P", "set precision", "exact precision"),
)

_R_NOTES = """\
With K < N_p, 1 cannot be reached: the largest value is K / N_p, so R@1 of a query with four positives is at most 0.25.
cap=cutoff divides by min(K, N_p) instead: then 1 means that the K slots could not hold more. BEIR calls that capped
recall (R_cap)."""

_R = Definition(
    name="R",
    title="recall",
    summary="Share of all positive documents that stand in the top K; needs to know how many there are.",
    formula="n_p / N_p;  cap=cutoff: n_p / min(K, N_p)",
    zero="no positive document in the top K",
    one="every positive document is in the top K; cap=cutoff: the top K holds as many as it can",
    undefined="N_p = 0",
    unjudged="not positive, in the ranking and in N_p",
    source="Kent, Berry, Luehrs, Perry, Machine literature searching VIII, American Documentation 6 (1955), "
    "doi:10.1002/asi.5090060209; trec_eval recall_K; cap=cutoff: Thakur et al., BEIR (2021), arXiv 2104.08663",
    kernel=_r_at_k,
    labels="binary",
    parameters=(
        Choice("cap", "whether the divisor is capped at what K slots can hold", ("none", "cutoff"), "none"),
        REL,
    ),
    cutoff="optional",
    check_together=_cap_needs_cutoff,
    needs_pool=always,
    linear=always,
    aliases=("recall", "rec", "R_cap", "set_recall"),
    notes=_R_NOTES,
)

_SUCCESS = Definition(
    name="Success",
    title="success (hit rate)",
    summary="Whether at least one positive document stands in the top K.",
    formula="1 if n_p > 0, else 0",
    zero="no positive document in the top K",
    one="at least one",
    undefined="never",
    unjudged=NOT_RELEVANT,
    source="trec_eval success_K",
    kernel=_success_at_k,
    labels="binary",
    parameters=(REL,),
    aliases=("success rate", "hit", "hits", "hit rate"),
)

DEFINITIONS = (_N_P, _N_N, _P, _SET_P, _R, _SUCCESS)
