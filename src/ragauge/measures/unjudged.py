"""Measures of how much of a ranking has been judged at all: read them beside every other one."""

import numpy as np

from ragauge.measures.definition import Definition, Floats
from ragauge.ragged import Ragged, head, segment_sum

__all__ = ["DEFINITIONS"]


def _judged_at_k(labels: Ragged, pool: Ragged, *, cutoff: int) -> Floats:
    top = head(labels, cutoff)
    retrieved = top.lengths.astype(np.float64)
    share = segment_sum(top.valid, top.offsets) / np.maximum(retrieved, 1.0)
    return np.where(retrieved > 0, share, np.nan)


_JUDGED = Definition(
    name="Judged",
    title="judged share",
    summary="Share of the returned documents of the top K that have a label: how far other measures can be trusted.",
    formula="(n_p + n_n) / min(K, documents returned)",
    zero="no document of the top K is judged",
    one="every document returned in the top K is judged",
    undefined="no document was returned",
    unjudged="what is counted",
    source="ir_measures Judged@K; trec_eval's unj_K and BEIR's Hole@K divide by K instead",
    kernel=_judged_at_k,
)

DEFINITIONS = (_JUDGED,)
