"""Measures that discount by rank: each document gains by its label, less the lower it stands.

DCG@K = sum over ranks i = 1..K of gain_i / log2(i + 1). The gain is the label itself (linear), 2^label - 1
(exponential), or 1 for a positive document (binary); unjudged documents gain 0. The measures differ in the ideal that
DCG is divided by. ERR discounts by what stands above instead: a reader who is satisfied does not read on.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError, MeasureError
from ragauge.measures.counts import REL
from ragauge.measures.definition import Choice, Definition, Floats, Number, Values, always, format_value
from ragauge.ragged import Ragged, descending, head, segment_dot, slots

__all__ = ["DEFINITIONS", "dcg", "err"]

Gain = Literal["linear", "exponential", "binary"]
_HIGHEST_EXPONENT = 1000.0


def dcg(labels: Ragged, *, cutoff: int | None, gain: Gain = "linear", rel: float = 1.0) -> Floats:
    """Discounted cumulative gain of the top `cutoff`, one a row; 0 for an empty row, unbounded above.

    Raises:
        InputError: gain="exponential" and a label above 1000, whose gain no float holds.

    >>> dcg(Ragged.from_lists([[1, 1], []]), cutoff=10).round(6).tolist()
    [1.63093, 0.0]
    """
    top = slots(labels, cutoff)
    return _discounted(_gains(top, gain, rel), top.offsets)


def err(labels: Ragged, *, cutoff: int | None, max_label: float) -> Floats:
    """Expected reciprocal rank at which a reader is satisfied, one a row; 0 for an empty row.

    A document of label g satisfies with probability (2^g - 1) / 2^max_label.

    >>> err(Ragged.from_lists([[1], [0, 1]]), cutoff=10, max_label=4).tolist()
    [0.0625, 0.03125]
    """
    top = head(labels, cutoff)
    _check_top(top, max_label, "ERR")
    satisfied = np.where(top.valid, np.exp2(top.values - max_label) - np.exp2(-max_label), 0.0)
    value, reads_on = np.zeros(top.n_rows), np.ones(top.n_rows)
    lengths, rows = top.lengths, np.arange(top.n_rows)
    for rank in range(int(lengths.max(initial=0))):  # rank by rank, all rows at once
        rows = rows[lengths[rows] > rank]
        chance = satisfied[top.offsets[rows] + rank]
        value[rows] += reads_on[rows] * chance / (rank + 1)
        reads_on[rows] *= 1 - chance
    return value


def _gains(labels: Ragged, gain: Gain, rel: float) -> Floats:
    """What each document gains; 0 where unjudged."""
    if gain == "binary":
        return (labels.valid & (labels.values >= rel)).astype(np.float64)
    if gain == "linear":
        return np.where(labels.valid, labels.values, 0.0)
    largest = float(labels.values.max(initial=0.0, where=labels.valid))
    if largest > _HIGHEST_EXPONENT:
        raise InputError(
            f"gain=exponential takes labels up to {format_value(_HIGHEST_EXPONENT)}, got {format_value(largest)}; "
            "use gain=linear"
        )
    return np.where(labels.valid, np.exp2(labels.values) - 1, 0.0)


def _discounted(gains: Floats, offsets: npt.NDArray[np.int64]) -> Floats:
    """The sum of each row, discounted by rank."""
    return segment_dot(gains, _discounts(int(np.diff(offsets).max(initial=0))), offsets)


def _discounts(n: int) -> Floats:
    """1 / log2(i + 1) for ranks i = 1..n."""
    return 1.0 / np.log2(np.arange(2, n + 2, dtype=np.float64))


def _check_top(labels: Ragged, max_label: float, name: str) -> None:
    """No label above the top of the scale."""
    largest = float(labels.values[labels.valid].max(initial=0.0))
    if largest > max_label:
        raise InputError(
            f"a label of {format_value(largest)} exceeds max_label={format_value(max_label)} of {name}; "
            "give the top of the label scale as max_label"
        )


def _dcg_at_k(labels: Ragged, pool: Ragged, *, cutoff: int | None, gain: Gain = "linear", rel: float = 1.0) -> Floats:
    return dcg(labels, cutoff=cutoff, gain=gain, rel=rel)


def _ndcg_at_k(
    labels: Ragged,
    pool: Ragged,
    *,
    cutoff: int | None,
    ideal: Literal["qrels", "retrieved"],
    gain: Gain = "linear",
    rel: float = 1.0,
) -> Floats:
    top = slots(labels, cutoff)
    gains = _gains(top, gain, rel)
    known = top if ideal == "retrieved" else pool
    gained = gains if ideal == "retrieved" else _gains(pool, gain, rel)
    most = head(descending(Ragged(gained, known.offsets, np.ones(len(gained), dtype=np.bool_))), cutoff)
    best = _discounted(most.values, most.offsets)
    worst = 0.0 if ideal == "retrieved" else np.nan
    ratio = _discounted(gains, top.offsets) / np.where(best > 0, best, 1.0)
    return np.where(best > 0, np.minimum(ratio, 1.0), worst)  # sums in another order may exceed 1 by one bit


def _sdcg_at_k(labels: Ragged, pool: Ragged, *, cutoff: int, max_label: float, gain: Gain, rel: float) -> Floats:
    _check_top(head(labels, cutoff), max_label, "SDCG")
    top = float(_gains(Ragged.from_lists([[max_label]]), gain, rel)[0])
    # summed in rank order, as segment_sum does: all labels at the top give exactly 1
    ideal = np.cumsum(top * _discounts(cutoff))[-1]
    return np.asarray(dcg(labels, cutoff=cutoff, gain=gain, rel=rel) / ideal)


def _err_at_k(labels: Ragged, pool: Ragged, *, cutoff: int | None, max_label: float) -> Floats:
    return err(labels, cutoff=cutoff, max_label=max_label)


def _dcg_bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    bounded = values["gain"] == "binary" and cutoff is not None
    return 0.0, float(np.cumsum(_discounts(cutoff))[-1]) if bounded and cutoff else np.inf


def _err_bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    """Every slot of the top grade, satisfied with p each: sum of p (1 - p)^(i-1) / i, and p log(1/p) / (1 - p) for all
    ranks."""
    p = float(1 - np.exp2(-values["max_label"]))
    if cutoff is None:
        return 0.0, 1.0 if p == 1 else -p * float(np.log(p)) / (1 - p)
    i = np.arange(1, cutoff + 1)
    return 0.0, float(np.cumsum(p * (1 - p) ** (i - 1) / i)[-1])


def _needs_qrels(values: Values) -> bool:
    return bool(values["ideal"] == "qrels")


def _top_is_positive(cutoff: int | None, values: Values, where: str) -> None:
    if values["gain"] == "binary" and values["max_label"] < values["rel"]:
        got = f"{format_value(values['max_label'])} and {format_value(values['rel'])}"
        raise MeasureError(
            f"max_label must be at least rel when gain=binary, got {got} in {where!r}; "
            "max_label is the top of the label scale"
        )


_GAIN = Choice(
    "gain",
    "what a document gains: its label, 2^label - 1, or 1 when its label is at least rel",
    ("linear", "exponential", "binary"),
    "linear",
)
_MAX_LABEL = Number("max_label", "the top of the label scale", low=0.0, above_low=True)
_GAIN_0 = "gains 0, as a label of 0 does"
_GAIN_NOTES = """\
gain=linear is trec_eval's; gain=exponential (2^label - 1) is that of Burges and of gdeval: the same ranking 1, 2, 3, 0
scores nDCG 0.7900 with the first and 0.6806 with the second, so the gain stands in the name. A level `rel` touches
gain=binary only, and giving it otherwise is an error: trec_eval ignores `-l` here."""

_DCG = Definition(
    name="DCG",
    title="discounted cumulative gain",
    summary="Gain of the top K, less the lower a document stands; grows with the number of positives there are.",
    formula="sum over ranks i = 1..K of gain_i / log2(i + 1)",
    zero="no document that gains anything in the top K",
    one="as much as one document of gain 1 at rank 1; there is no largest value, save for gain=binary",
    undefined="never",
    unjudged=_GAIN_0,
    source="Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4) (2002), "
    "doi:10.1145/582415.582418; exponential: Burges et al., Learning to rank using gradient descent (2005), "
    "doi:10.1145/1102351.1102363",
    kernel=_dcg_at_k,
    labels="graded",
    parameters=(_GAIN, REL),
    cutoff="optional",
    bounds=_dcg_bounds,
    linear=always,
    range="0..; gain=binary: 0..sum over ranks i = 1..K of 1 / log2(i + 1)",
    notes=_GAIN_NOTES,
)

_NDCG_NOTES = f"""\
{_GAIN_NOTES}

ideal=qrels sorts all judged documents of the query. ideal=retrieved sorts only the K that were retrieved, needs no N_p,
and therefore cannot see what was missed: a lone positive at rank 1 scores 1. SDCG is the N_p-free one that can."""

_NDCG = Definition(
    name="nDCG",
    title="normalised discounted cumulative gain",
    summary="How near the order of the top K comes to the best order of an ideal list.",
    formula="DCG / ideal DCG, DCG = sum over ranks i = 1..K of gain_i / log2(i + 1)",
    zero="no document that gains anything in the top K",
    one="the top K stands in the best order there is",
    undefined="ideal=qrels: no judged document gains anything. ideal=retrieved: never; without a positive it is 0",
    unjudged=_GAIN_0,
    source="Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4) (2002), "
    "doi:10.1145/582415.582418; trec_eval ndcg_cut_K, and ndcg without a cutoff",
    kernel=_ndcg_at_k,
    labels="graded",
    parameters=(
        Choice("ideal", "which documents the ideal list is made of", ("qrels", "retrieved"), "qrels"),
        _GAIN,
        REL,
    ),
    cutoff="optional",
    needs_pool=_needs_qrels,
    linear=_needs_qrels,
    capped=False,
    notes=_NDCG_NOTES,
)

_SDCG_NOTES = f"""\
max_label has no default: taking the largest label seen would let one query change another's score. A label above
max_label is an error. With fewer than K documents of the top grade in the knowledge base, 1 cannot be reached.

nDCG and SDCG are not the same number: with 2 positives at the top of 3 returned, 4 positives in all and K = 10, nDCG is
1.6309 / 2.5616 = 0.6367 and SDCG 1.6309 / 4.5436 = 0.3590.

{_GAIN_NOTES}"""

_SDCG = Definition(
    name="SDCG",
    title="scaled discounted cumulative gain",
    summary="DCG against K documents of the top grade: graded, rank-aware, and needs no N_p.",
    formula="DCG / sum over ranks i = 1..K of gain(max_label) / log2(i + 1)",
    zero="no document that gains anything in the top K",
    one="all K slots hold a document of the top grade",
    undefined="never",
    unjudged=_GAIN_0,
    source="Scaled DCG of the C/W/L framework (cwl_eval NDCGCWLMetric), Azzopardi, Thomas, Moffat, cwl_eval, SIGIR "
    "(2019), doi:10.1145/3331184.3331398; ir_measures SDCG(max_rel=..)@K",
    kernel=_sdcg_at_k,
    labels="graded",
    parameters=(_MAX_LABEL, _GAIN, REL),
    check_together=_top_is_positive,
    linear=always,
    aliases=("scaled DCG",),
    notes=_SDCG_NOTES,
)

_ERR_NOTES = """\
The satisfaction of a label does not depend on the labels seen: max_label has no default. gdeval uses max_label=4
whatever the scale, so that one document of grade 1 at rank 1 scores 1/16 = 0.0625.

The largest value is below 1: the top grade satisfies with probability 1 - 2^-max_label only. A level `rel` does not
matter."""

_ERR = Definition(
    name="ERR",
    title="expected reciprocal rank",
    summary="How soon a reader who stops when satisfied gets there; the first good documents count most.",
    formula="sum over ranks r = 1..K of (1/r) R_r (1 - R_1) ... (1 - R_(r-1)), R_i = (2^label_i - 1) / 2^max_label",
    zero="no document with a label above 0 in the top K",
    one="never reached: with p = 1 - 2^-max_label the largest value is the sum of p (1 - p)^(r-1) / r",
    undefined="never",
    unjudged="satisfies nobody, as a label of 0 does",
    source="Chapelle, Metzler, Zhang, Grinspan, Expected reciprocal rank for graded relevance, CIKM (2009), "
    "doi:10.1145/1645953.1646033; gdeval.pl",
    kernel=_err_at_k,
    labels="graded",
    parameters=(_MAX_LABEL,),
    cutoff="optional",
    bounds=_err_bounds,
    range="0..sum over ranks r = 1..K of p (1 - p)^(r-1) / r, p = 1 - 2^-max_label",
    notes=_ERR_NOTES,
)

DEFINITIONS = (_DCG, _NDCG, _SDCG, _ERR)
