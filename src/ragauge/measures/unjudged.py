"""Measures for rankings with unjudged documents: how many are judged at all (Judged), only judged ones (bpref), and
judged ones as a sample of the pool (infAP)."""

import numpy as np
import numpy.typing as npt

from ragauge.measures.counts import REL, divide, n_relevant
from ragauge.measures.definition import Definition, Floats, always
from ragauge.ragged import Ragged, head, positions, segment_cumsum, segment_sum

__all__ = ["DEFINITIONS"]

Bools = npt.NDArray[np.bool_]
_EPSILON = 0.00001  # trec_eval's, which keeps 0 of 0 judged documents at one half


def _judged_at_k(labels: Ragged, pool: Ragged, *, cutoff: int | None) -> Floats:
    top = head(labels, cutoff)
    return divide(segment_sum(top.valid, top.offsets), top.lengths.astype(np.float64))


def _bpref(labels: Ragged, pool: Ragged, *, cutoff: None, rel: float) -> Floats:
    """A positive below n of the negatives loses min(n, R) / min(N, R): [Buckley, Voorhees] as trec_eval counts it."""
    positive, negative = _judged(labels, rel)
    R = n_relevant(pool, rel)
    N = segment_sum(_judged(pool, rel)[1], pool.offsets)
    worst, most = (np.repeat(each, labels.lengths) for each in (np.maximum(np.minimum(N, R), 1.0), R))
    lost = np.minimum(segment_cumsum(negative, labels.offsets), most) / worst
    return divide(segment_sum(positive * (1 - lost), labels.offsets), R)


def _inf_ap(labels: Ragged, pool: Ragged, *, cutoff: None, rel: float) -> Floats:
    """Expected precision at a positive of rank i: itself, and those above that were pooled times their positive share.

    With r positives, n negatives and u pooled but unjudged documents above it:
    (1 + (r + n + u) (r + e) / (r + n + 2e)) / i.
    """
    positive, negative = _judged(labels, rel)
    pooled = ~labels.valid & (labels.values < 0)
    r, n, u = (segment_cumsum(each, labels.offsets) for each in (positive, negative, pooled))
    above = r - positive
    share = (above + _EPSILON) / (above + n + 2 * _EPSILON)
    expected = (1 + (above + n + u) * share) / (positions(labels.offsets) + 1)
    return divide(segment_sum(positive * expected, labels.offsets), n_relevant(pool, rel))


def _judged(labels: Ragged, rel: float) -> tuple[Bools, Bools]:
    """The positive and the negative documents; unjudged ones are neither."""
    positive = labels.valid & (labels.values >= rel)
    return positive, labels.valid & ~positive


_JUDGED = Definition(
    name="Judged",
    title="judged share",
    summary="Share of the returned documents of the top K that have a label: how far other measures can be trusted.",
    formula="(n_p + n_n) / min(K, documents returned)",
    zero="no document of the top K is judged",
    one="every document returned in the top K is judged",
    undefined="no document was returned",
    unjudged="what is counted; a negative grade of TREC qrels is unjudged too",
    source="ir_measures Judged@K; trec_eval's unj_K and BEIR's Hole@K divide by K instead",
    kernel=_judged_at_k,
    labels="judged",
    cutoff="optional",
    linear=always,
    capped=False,
    aliases=("Hole", "unj"),
)

_BPREF_NOTES = """\
It needs negative labels: where only positives are known, every ranking that holds them all scores 1. As in trec_eval,
the R first negatives count. ranx counts a grade of -1 as negative, and gives NaN where there is no negative at all."""

_BPREF = Definition(
    name="bpref",
    title="binary preference",
    summary="How seldom a negative document stands above a positive one; unjudged documents are passed over.",
    formula="(1 / N_p) sum over positive documents retrieved of 1 - min(n, N_p) / min(N_n, N_p); "
    "n = negatives above it, N_n = judged documents of the query that are not positive",
    zero="each positive stands below the first min(N_n, N_p) negatives, or none was retrieved",
    one="all positives are retrieved, none below a negative",
    undefined="N_p = 0",
    unjudged="passed over",
    source="Buckley, Voorhees, Retrieval evaluation with incomplete information, SIGIR (2004), "
    "doi:10.1145/1008992.1009000; trec_eval bpref",
    kernel=_bpref,
    labels="binary",
    parameters=(REL,),
    cutoff="none",
    needs_pool=always,
    capped=False,
    notes=_BPREF_NOTES,
)

_INF_AP_NOTES = """\
For pools of which a random sample was judged. TREC qrels say -1 for a document that was pooled and not judged: the
sample stands for it. A document without a line in the qrels was not pooled, and counts as not positive. Where nobody
wrote -1 and all that was retrieved is judged, it is AP but for e. It may fall when a positive moves up past a pooled
one, if much above was not pooled."""

_INF_AP = Definition(
    name="infAP",
    title="inferred average precision",
    summary="AP estimated from a random sample of the pool that was judged.",
    formula="(1 / N_p) sum over positive documents retrieved, at rank i, of (1 + (r + n + u) (r + e) / (r + n + 2e)) / "
    "i; r, n, u = positives, negatives and pooled but unjudged documents above it, e = 0.00001",
    zero="no positive document retrieved",
    one="the N_p positive documents stand first (but for e)",
    undefined="N_p = 0",
    unjudged="pooled (a negative grade): as the judged ones above it; not pooled: not positive",
    source="Yilmaz, Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM (2006), "
    "doi:10.1145/1183614.1183633; trec_eval infAP",
    kernel=_inf_ap,
    labels="binary",
    parameters=(REL,),
    cutoff="none",
    needs_pool=always,
    capped=False,
    aliases=("inferred AP",),
    notes=_INF_AP_NOTES,
)

DEFINITIONS = (_JUDGED, _BPREF, _INF_AP)
