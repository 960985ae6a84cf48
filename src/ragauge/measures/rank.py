"""Measures of where the positive documents stand: the first of them (RR), all of them (AP), those in the top N_p."""

import numpy as np

from ragauge.measures.counts import NOT_RELEVANT, REL, divide, n_relevant
from ragauge.measures.definition import Definition, Floats, always
from ragauge.ragged import Ragged, head, positions, segment_sum

__all__ = ["DEFINITIONS"]


def _rr(labels: Ragged, pool: Ragged, *, cutoff: int | None, rel: float) -> Floats:
    top = head(labels, cutoff)
    hits = np.flatnonzero(top.valid & (top.values >= rel))
    row = np.searchsorted(top.offsets, hits, side="right") - 1
    first = np.concatenate([[True], row[1:] != row[:-1]]) if row.size else np.zeros(0, dtype=np.bool_)
    value = np.zeros(top.n_rows)
    value[row[first]] = 1.0 / (hits[first] - top.offsets[row[first]] + 1)
    return value


def _ap(labels: Ragged, pool: Ragged, *, cutoff: int | None, rel: float) -> Floats:
    top = head(labels, cutoff)
    hits = np.flatnonzero(top.valid & (top.values >= rel))
    row = np.searchsorted(top.offsets, hits, side="right") - 1
    before = np.searchsorted(hits, top.offsets[:-1])
    precision_at_hit = (np.arange(1, len(hits) + 1) - before[row]) / (hits - top.offsets[row] + 1)
    total = np.bincount(row, weights=precision_at_hit, minlength=top.n_rows).astype(np.float64)
    return divide(total, n_relevant(pool, rel))


def _rprec(labels: Ragged, pool: Ragged, *, cutoff: None, rel: float) -> Floats:
    total = n_relevant(pool, rel)
    hit = labels.valid & (labels.values >= rel) & (positions(labels.offsets) < np.repeat(total, labels.lengths))
    return divide(segment_sum(hit, labels.offsets), total)


_RR = Definition(
    name="RR",
    title="reciprocal rank",
    summary="How near the top the first positive document stands; all others are ignored.",
    formula="1 / rank of the first positive document; 0 when there is none (in the top K)",
    zero="no positive document in the top K",
    one="the first document is positive",
    undefined="never",
    unjudged=NOT_RELEVANT,
    source="Voorhees, The TREC-8 question answering track report (1999); trec_eval recip_rank",
    kernel=_rr,
    labels="binary",
    parameters=(REL,),
    cutoff="optional",
    aliases=("MRR", "recip_rank", "reciprocal rank"),
    notes="MRR is its mean over queries: write RR.",
)

_AP_NOTES = """\
MAP is its mean over queries: write AP. The divisor is N_p at every cutoff, as in trec_eval; some tools divide by
min(K, N_p) or by the positives retrieved, and then score higher. With K < N_p the largest value of AP@K is K / N_p: a
query with many positives keeps AP@10 low where nDCG@10 is high."""

_AP = Definition(
    name="AP",
    title="average precision",
    summary="Precision at the rank of each positive document, averaged over all positives there are.",
    formula="(1 / N_p) sum over the ranks i = 1..K of positive documents of (positives in the top i) / i",
    zero="no positive document in the top K",
    one="the N_p positive documents stand first",
    undefined="N_p = 0",
    unjudged="not positive, in the ranking and in N_p",
    source="Buckley, Voorhees, Evaluating evaluation measure stability, SIGIR (2000), doi:10.1145/345508.345543; "
    "trec_eval map and map_cut_K",
    kernel=_ap,
    labels="binary",
    parameters=(REL,),
    cutoff="optional",
    needs_pool=always,
    aliases=("MAP", "mean average precision"),
    notes=_AP_NOTES,
)

_RPREC = Definition(
    name="Rprec",
    title="R-precision",
    summary="Precision, and recall, at the rank where both are the same: at N_p.",
    formula="(positives in the top N_p) / N_p",
    zero="no positive document in the top N_p",
    one="the N_p positive documents stand first",
    undefined="N_p = 0",
    unjudged="not positive, in the ranking and in N_p",
    source="Buckley, Voorhees, Evaluating evaluation measure stability, SIGIR (2000), doi:10.1145/345508.345543; "
    "trec_eval Rprec",
    kernel=_rprec,
    labels="binary",
    parameters=(REL,),
    cutoff="none",
    needs_pool=always,
    linear=always,
    capped=False,
    aliases=("R-Prec",),
)

DEFINITIONS = (_RR, _AP, _RPREC)
