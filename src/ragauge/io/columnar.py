"""The columns of a run or of qrels, one row a line, become RANKINGS or LABELS without a Python object a line.

None stands for "not right, or not to be said without the lines": whoever asked reads the file again line by line.
Sorted input, as nearly all of it is, is found to be sorted and left where it stands.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.io.fields import NAME, Columns, Names
from ragauge.io.rows import Duplicates
from ragauge.matching import changes, repeats
from ragauge.ragged import blocks, row_ids
from ragauge.schema import LABELS, POOLED_UNJUDGED, RANKINGS

__all__ = ["LABEL_TYPES", "RUN_TYPES", "Order", "labels_of", "rankings_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Order = Literal["trec", "input"]
"""How a ranking's documents stand: as trec_eval sorts them, or as the file has them."""

RUN_TYPES = {"query_id": NAME, "doc_id": pa.string(), "score": pa.float64(), "run": NAME}
LABEL_TYPES = {"query_id": pa.string(), "doc_id": pa.string(), "label": pa.float64()}
"""The columns that `rankings_of` and `labels_of` take."""


def rankings_of(columns: Columns, *, order: Order, duplicates: Duplicates) -> pa.Table | None:
    """RANKINGS, one a query and run, in the order of their first lines.

    None when a score is not finite, or a document stands twice in a ranking (with duplicates="error").

    Args:
        columns: Of `RUN_TYPES`. Documents and scores are put in order where they are, and become the table's.
        order: Whether documents are sorted.
        duplicates: Whether a document may stand in a ranking twice.
    """
    documents, scores = columns["doc_id"], np.frombuffer(columns["score"].buffers()[1])
    groups = _Groups.of(columns["query_id"], columns["run"], len(scores))
    if not np.isfinite(scores).all():
        return None
    apart = groups.joined()
    if apart is not None:
        groups, order_of_lines = apart
        scores, documents = scores[order_of_lines], documents.take(pa.array(order_of_lines))
    if order == "trec":
        _put_in_order(scores, documents, groups.offsets)
    if duplicates == "error" and len(repeats(documents, groups.offsets).places):
        return None
    lists = {"doc_ids": documents, "scores": pa.array(scores)}
    lists |= {"texts": _nulls_like(documents), "labels": _nulls_like(lists["scores"])}
    offsets = pa.array(groups.offsets, pa.int32())
    found = {name: pa.ListArray.from_arrays(offsets, flat) for name, flat in lists.items()}
    found |= {"query_id": groups.queries, "run": groups.runs, "query": pa.nulls(len(groups.queries), pa.string())}
    return pa.table([found[name] for name in RANKINGS.names], schema=RANKINGS)


def labels_of(columns: Columns) -> pa.Table | None:
    """LABELS in the order of the lines; a negative label is null, and its reason "pooled_unjudged".

    None when a label is not finite, or a document stands twice with a query.

    Args:
        columns: Of `LABEL_TYPES`.
    """
    queries, documents, known = (columns[name] for name in LABEL_TYPES)
    labels = known.to_numpy()
    if not np.isfinite(labels).all() or _has_repeats(queries, documents):
        return None
    nothing = pa.nulls(len(labels), pa.string())
    if not (labels < 0).any():
        return pa.table([queries, documents, known, nothing, nothing], schema=LABELS)
    known, reasons = pa.array(labels, mask=labels < 0), pc.if_else(pa.array(labels < 0), POOLED_UNJUDGED, nothing)
    return pa.table([queries, documents, known, reasons, nothing], schema=LABELS)


def _has_repeats(queries: pa.Array, documents: pa.Array) -> bool:
    """Whether a document stands twice with a query."""
    starts = np.flatnonzero(np.append(True, changes(queries)))
    names = queries.take(pa.array(starts))
    distinct = pc.unique(names)
    if len(distinct) < len(names):  # the lines of a query stand apart
        codes = pc.index_in(queries, value_set=distinct).to_numpy()
        order = np.argsort(codes, kind="stable")
        starts, documents = np.searchsorted(codes[order], np.arange(len(distinct))), documents.take(pa.array(order))
    return bool(len(repeats(documents, np.append(starts, len(queries))).places))


@dataclass(frozen=True)
class _Groups:
    """Lines that follow one another with the same query and run: group i has lines offsets[i]:offsets[i + 1]."""

    queries: pa.Array
    runs: pa.Array
    offsets: Ints

    @classmethod
    def of(cls, queries: Names, runs: Names, n_lines: int) -> "_Groups":
        starts = np.union1d(queries.starts, runs.starts)
        query_ids, run_ids = queries.at(starts), runs.at(starts)
        new = np.append(True, changes(query_ids) | changes(run_ids))  # a block may begin inside a group
        return cls(query_ids.filter(pa.array(new)), run_ids.filter(pa.array(new)), np.append(starts[new], n_lines))

    def joined(self) -> "tuple[_Groups, Ints] | None":
        """One group a query and run, by their first lines, and the order of lines it takes; None when there is."""
        codes = [pc.dictionary_encode(names).indices.to_numpy().astype(np.int64) for names in (self.queries, self.runs)]
        _, first, which = np.unique(codes[0] * (codes[1].max() + 1) + codes[1], return_index=True, return_inverse=True)
        if len(first) == len(which):
            return None
        lengths = np.diff(self.offsets)
        order = np.argsort(np.repeat(first[which], lengths), kind="stable")
        sizes = np.bincount(first[which], weights=lengths).astype(np.int64)
        firsts = np.sort(first)
        offsets = np.append(0, np.cumsum(sizes[firsts]))
        return _Groups(self.queries.take(pa.array(firsts)), self.runs.take(pa.array(firsts)), offsets), order


def _nulls_like(values: pa.Array) -> pa.Array:
    """As many nulls of the same type, over the same memory: what stands under a null is not read."""
    nothing = pa.nulls(len(values), pa.bool_()).buffers()[0]
    return pa.Array.from_buffers(values.type, len(values), [nothing, *values.buffers()[1:]], null_count=len(values))


def _put_in_order(scores: Floats, documents: pa.Array, offsets: Ints) -> None:
    """Each ranking by score, highest first, and where it is equal by id, last in byte order first."""
    for block in blocks(offsets):
        mine = offsets[block.start : block.stop + 1]
        here = slice(int(mine[0]), int(mine[-1]))
        falls = scores[here][1:] < scores[here][:-1]
        falls[mine[1:-1] - mine[0] - 1] = True  # from one ranking to the next
        if not falls.all():
            order = _trec_order(scores[here], documents[here], mine)
            scores[here] = scores[here][order]
            _overwrite(documents, here.start, documents[here].take(pa.array(order)))


def _overwrite(documents: pa.Array, start: int, others: pa.Array) -> None:
    """Puts ids where others with as many bytes in all stand, from place `start` on."""
    (ends, data), (new_ends, new_data) = (
        (np.frombuffer(ids.buffers()[1], dtype=np.int32), np.frombuffer(ids.buffers()[2], dtype=np.uint8))
        for ids in (documents, others)
    )
    n, first = len(others), ends[start]
    ends[start + 1 : start + n + 1] = first + new_ends[1 : n + 1]
    data[first : ends[start + n]] = new_data[: new_ends[n]]


def _trec_order(scores: Floats, documents: pa.Array, offsets: Ints) -> Ints:
    """The order of a few rankings that are not empty."""
    rows = row_ids(offsets)
    inside = rows[1:] == rows[:-1]
    rises = (inside & (scores[1:] > scores[:-1])).any()
    order = np.lexsort((-scores, rows)) if rises else np.arange(len(scores))
    scores = scores[order]
    same = inside & (scores[1:] == scores[:-1])
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        tie = np.cumsum(np.append(True, ~same))[tied]
        ids = pa.table({"tie": tie, "doc_id": documents.take(pa.array(order[tied]))})
        by_id = pc.sort_indices(ids, sort_keys=[("tie", "ascending"), ("doc_id", "descending")])
        order[tied] = order[tied][by_id.to_numpy()]
    return order
