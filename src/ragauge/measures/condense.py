"""Condensed lists: the judged documents of a ranking, moved up into the places of the unjudged ones."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.ragged import from_labels
from ragauge.schema import JUDGED, conform

__all__ = ["condense"]


def condense(judged: pa.Table) -> pa.Table:
    """The rankings without their unjudged documents; K then counts judged ones.

    A measure of a condensed list is the value over the documents somebody looked at. It is steadier than the usual one
    when few labels are missing, and kinder to a system whose documents nobody pooled.

    Args:
        judged: `schema.JUDGED`. Negative labels (pooled, not judged) are unjudged.

    Source:
        Sakai, "Alternatives to bpref", SIGIR (2007), doi:10.1145/1277741.1277756; trec_eval's option -J.

    >>> from ragauge import judge, read_labels, read_rankings
    >>> judged = judge(read_rankings({"q1": {"a": 0.9, "b": 0.5}}), read_labels({"q1": {"b": 1}}))
    >>> condense(judged).column("doc_ids").to_pylist()
    [['b']]
    """
    table = conform(judged, JUDGED, what="judged rankings")
    labels = from_labels(table.column("labels"))
    if labels.valid.all():
        return table
    kept = pa.array(np.flatnonzero(labels.valid))
    ends = np.concatenate([[0], np.cumsum(labels.valid)])[labels.offsets]
    offsets = pa.array(ends, pa.int32())
    for name in ("doc_ids", "texts", "scores", "labels"):
        flat = pa.concat_arrays(pc.list_flatten(table.column(name)).chunks)
        place = table.schema.get_field_index(name)
        table = table.set_column(place, JUDGED.field(name), pa.ListArray.from_arrays(offsets, flat.take(kept)))
    return table
