"""Rank-biased precision: a reader goes on to the next document with probability p; and what its value leaves open."""

import numpy as np
import numpy.typing as npt

from ragauge.measures.counts import REL
from ragauge.measures.definition import Definition, Floats, Number, Values, always
from ragauge.ragged import Ragged, head, segment_dot, slots

__all__ = ["DEFINITIONS"]


def _rbp(labels: Ragged, pool: Ragged, *, cutoff: int | None, p: float, rel: float) -> Floats:
    top = slots(labels, cutoff)
    return _read(top, top.valid & (top.values >= rel), p)


def _residual(labels: Ragged, pool: Ragged, *, cutoff: int | None, p: float) -> Floats:
    """The weight of the unjudged documents, and p^n for all that stands below the n documents."""
    top = head(labels, cutoff)
    return np.minimum(_read(top, ~top.valid, p) + p**top.lengths, 1.0)  # the sum may exceed 1 by one bit


def _read(top: Ragged, which: npt.NDArray[np.bool_], p: float) -> Floats:
    """Share of the reader's attention that goes to `which`: sum of (1 - p) p^(i - 1)."""
    weights = np.power(p, np.arange(int(top.lengths.max(initial=0))), dtype=np.float64)
    return (1 - p) * segment_dot(which, weights, top.offsets)


def _rbp_bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    return 0.0, 1.0 if cutoff is None else 1 - float(values["p"]) ** cutoff


_P = Number("p", "probability that the reader goes on to the next document", 0.8, low=0.0, high=1.0, below_high=True)
_SOURCE = (
    "Moffat, Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1) (2008), "
    "doi:10.1145/1416950.1416952"
)

_RBP_NOTES = """\
The reader looks at 1 / (1 - p) documents on average: 5 at p = 0.8, 10 at p = 0.9. The default is that of ir_measures;
trec_eval's is 0.9: write p. It needs no N_p. Read it beside RBPres with the same p and cutoff: RBP is the least the
value can be, RBP + RBPres the most."""

_RBP = Definition(
    name="RBP",
    title="rank-biased precision",
    summary="Share of what a reader looks at that is positive; how patient the reader is, is the parameter.",
    formula="(1 - p) sum over the ranks i = 1..K of positive documents of p^(i - 1)",
    zero="no positive document in the top K",
    one="only an endless ranking of positives reaches it; at K the largest value is 1 - p^K",
    undefined="never",
    unjudged="not positive; RBPres says what that leaves open",
    source=_SOURCE + "; ir_measures RBP, trec_eval 10 rbp",
    kernel=_rbp,
    labels="binary",
    parameters=(_P, REL),
    cutoff="optional",
    bounds=_rbp_bounds,
    linear=always,
    range="0..1 - p^K",
    aliases=("rank-biased precision",),
    notes=_RBP_NOTES,
)

_RBP_RES_NOTES = """\
What stands below the last document counts as unjudged: with all n documents judged it is p^n, not 0. With p = 0.9,
three documents and the second unjudged: 0.1 * 0.9 + 0.9^3 = 0.819. trec_eval 10's rbp_resid leaves the tail out when
every document is judged, and prints 0 for 0.729."""

_RBP_RES = Definition(
    name="RBPres",
    title="residual of rank-biased precision",
    summary="How much RBP could still rise if all that is unjudged or not retrieved were positive.",
    formula="(1 - p) sum over the ranks i = 1..K of unjudged documents of p^(i - 1), plus p^n, n = min(K, returned)",
    zero="nothing is open; only p = 0 reaches it",
    one="nothing is known: no document was returned, or none is judged",
    undefined="never",
    unjudged="what is measured",
    source=_SOURCE + "; trec_eval 10 rbp_resid (but see below)",
    kernel=_residual,
    labels="judged",
    parameters=(_P,),
    cutoff="optional",
    linear=always,
    capped=False,
    aliases=("rbp_resid", "residual"),
    notes=_RBP_RES_NOTES,
)

DEFINITIONS = (_RBP, _RBP_RES)
