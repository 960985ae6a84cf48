"""How high a measure can get where positives are few, or many against K: its value for the best ranking there is."""

import numpy as np

from ragauge.measures.definition import Floats
from ragauge.measures.measure import Measure
from ragauge.ragged import Ragged, descending, head, segment_sum

__all__ = ["attainable"]


def attainable(measure: Measure, pool: Ragged) -> Floats | None:
    """The largest value the measure can reach for each query, given all labels of the query.

    It is the value of the ranking that returns the documents worth returning, best first, and no other: R@K reaches
    min(K, N_p) / N_p, P@K reaches min(K, N_p) / K. Unjudged documents are taken for not positive.

    Args:
        measure: Any.
        pool: All known labels of each query, one row a query.

    Returns:
        One value a row, NaN where the measure is undefined; None for a measure that reaches its upper bound whatever
        the number of positives (nDCG, Rprec, bpref, infAP), or of which more is not better (n_n, Judged, RBPres), and
        for UDCG, whose best ranking is one document.

    >>> from ragauge.measures import parse_measure
    >>> attainable(parse_measure("R@2"), Ragged.from_lists([[1, 1, 0, 1], [1]])).round(4).tolist()
    [0.6667, 1.0]
    """
    definition, values = measure.definition, dict(measure.parameters)
    if not definition.capped:
        return None
    worth = pool.valid & definition.worth(pool.values, measure.cutoff, values)
    kept = segment_sum(worth, pool.offsets).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(kept)])
    best = descending(Ragged(pool.values[worth], offsets, pool.valid[worth]))
    return definition.kernel(head(best, measure.cutoff), pool, cutoff=measure.cutoff, **values)
