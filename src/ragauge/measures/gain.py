"""Measures that discount by rank: each document gains its label, less the lower it stands.

DCG@K = sum over ranks i = 1..K of gain_i / log2(i + 1), where the gain is the label itself (linear); negative labels
and unjudged documents gain 0. The measures differ in the ideal that DCG is divided by.
"""

from typing import Literal

import numpy as np

from ragauge.errors import InputError
from ragauge.measures.definition import Choice, Definition, Floats, Number, Values, format_value
from ragauge.ragged import Ragged, head, positions, segment_sum

__all__ = ["DEFINITIONS", "dcg", "descending"]


def dcg(labels: Ragged, *, cutoff: int) -> Floats:
    """Discounted cumulative gain of the top `cutoff`, one a row; 0 for an empty row, unbounded above.

    >>> dcg(Ragged.from_lists([[1, 1], []]), cutoff=10).round(6).tolist()
    [1.63093, 0.0]
    """
    top = head(labels, cutoff)
    ranks = positions(top.offsets)
    return segment_sum(_gains(top) * _discounts(int(top.lengths.max(initial=0)))[ranks], top.offsets)


def descending(labels: Ragged) -> Ragged:
    """Each row's elements from the largest to the smallest, nulls last."""
    rows = np.repeat(np.arange(labels.n_rows), labels.lengths)
    order = np.lexsort((-labels.values, ~labels.valid, rows))
    return Ragged(labels.values[order], labels.offsets, labels.valid[order])


def _gains(labels: Ragged) -> Floats:
    """Linear gain: the label, 0 where negative or unjudged."""
    return np.where(labels.valid, np.maximum(labels.values, 0.0), 0.0)


def _discounts(n: int) -> Floats:
    """1 / log2(i + 1) for ranks i = 1..n."""
    return 1.0 / np.log2(np.arange(2, n + 2, dtype=np.float64))


def _ndcg_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, ideal: Literal["qrels", "retrieved"]) -> Floats:
    best_first = descending(head(labels, cutoff) if ideal == "retrieved" else pool)
    best = dcg(best_first, cutoff=cutoff)
    worst = 0.0 if ideal == "retrieved" else np.nan
    ratio = dcg(labels, cutoff=cutoff) / np.where(best > 0, best, 1.0)
    return np.where(best > 0, np.minimum(ratio, 1.0), worst)  # sums in another order may exceed 1 by one bit


def _sdcg_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, max_label: float) -> Floats:
    top = head(labels, cutoff)
    largest = float(top.values[top.valid].max(initial=0.0))
    if largest > max_label:
        raise InputError(
            f"a label of {format_value(largest)} exceeds max_label={format_value(max_label)} of SDCG; "
            "give the top of the label scale as max_label"
        )
    # summed in rank order, as segment_sum does: all labels at the top give exactly 1
    ideal = np.cumsum(max_label * _discounts(cutoff))[-1]
    return np.asarray(dcg(labels, cutoff=cutoff) / ideal)


def _needs_qrels(values: Values) -> bool:
    return bool(values["ideal"] == "qrels")


_GAIN_0 = "gains 0, as a label of 0 does"

_NDCG_NOTES = """\
The gain is linear (the label itself), as in trec_eval; other tools gain 2^label - 1. Negative labels gain 0.

ideal=qrels sorts all judged documents of the query. ideal=retrieved sorts only the K that were retrieved, needs no N_p,
and therefore cannot see what was missed: a lone positive at rank 1 scores 1."""

_NDCG = Definition(
    name="nDCG",
    title="normalised discounted cumulative gain",
    summary="How near the order of the top K comes to the best order of an ideal list.",
    formula="DCG / ideal DCG, DCG = sum over ranks i = 1..K of max(label_i, 0) / log2(i + 1)",
    zero="no document with a label above 0 in the top K",
    one="the top K stands in the best order there is",
    undefined="ideal=qrels: no judged document has a label above 0. ideal=retrieved: never; without a positive it is 0",
    unjudged=_GAIN_0,
    source="Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4) (2002), "
    "doi:10.1145/582415.582418; trec_eval ndcg_cut_K",
    kernel=_ndcg_at_k,
    parameters=(Choice("ideal", "which documents the ideal list is made of", ("qrels", "retrieved"), "qrels"),),
    needs_pool=_needs_qrels,
    notes=_NDCG_NOTES,
)

_SDCG_NOTES = """\
max_label has no default: taking the largest label seen would let one query change another's score. A label above
max_label is an error."""

_SDCG = Definition(
    name="SDCG",
    title="scaled discounted cumulative gain",
    summary="DCG against K documents of the top grade: graded, rank-aware, and needs no N_p.",
    formula="DCG / sum over ranks i = 1..K of max_label / log2(i + 1)",
    zero="no document with a label above 0 in the top K",
    one="all K slots hold a document of the top grade",
    undefined="never",
    unjudged=_GAIN_0,
    source="Scaled DCG of the C/W/L framework (cwl_eval NDCGCWLMetric); ir_measures SDCG(max_rel=..)@K",
    kernel=_sdcg_at_k,
    parameters=(Number("max_label", "the top of the label scale", low=0.0, above_low=True),),
    notes=_SDCG_NOTES,
)

DEFINITIONS = (_NDCG, _SDCG)
