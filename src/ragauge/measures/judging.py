"""Rankings and labels become judged rankings: each retrieved document gets its label by (query, document).

Pairs are turned into whole numbers once, so that millions of documents are matched without a Python loop.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.schema import JUDGED, LABELS, RANKINGS, conform

__all__ = ["judge"]

Ints = npt.NDArray[np.int64]


def judge(rankings: pa.Table, labels: pa.Table | None, *, complete: Literal["pool", "unknown"] = "pool") -> pa.Table:
    """Rankings with the label of each document: what `score` takes.

    Args:
        rankings: `schema.RANKINGS`, one row a ranking.
        labels: `schema.LABELS`. They replace all labels inside the rankings: a document without a row, or with a null
            label, is unjudged. None = use the labels inside the rankings; then nobody knows what else is relevant.
        complete: What the labels of a query are. "pool": all that is known to be judged for it, retrieved or not
            (qrels), so that N_p can be counted. "unknown": only what was looked at; N_p stays unknown.

    Returns:
        `schema.JUDGED` in the order of the rankings. `pool_labels` holds every non-null label of the query; null where
        N_p is unknown: `labels` is None, `complete` is "unknown", or the query has no label at all.

    Raises:
        InputError: A document stands twice in a ranking, a query has two rankings of one run, a pair is labelled
            twice, a label is not finite, or lists differ in length. All such problems are collected.
        SchemaError: A column is missing or has another type.
    """
    if complete not in ("pool", "unknown"):
        raise InputError(f"complete must be 'pool' or 'unknown', got {complete!r}")
    rankings = conform(rankings, RANKINGS, what="rankings")
    labels = None if labels is None else conform(labels, LABELS, what="labels")
    problems = _ranking_problems(rankings) + ([] if labels is None else _label_problems(labels))
    if problems:
        raise InputError.collect(problems)
    if labels is None:
        return _judged(rankings, rankings.column("labels"), None)
    known = labels.filter(pc.is_valid(labels.column("label")))
    pools = _pools(rankings, known) if complete == "pool" else None
    return _judged(rankings, _matched(rankings, known), pools)


def _judged(rankings: pa.Table, labels: pa.Array | pa.ChunkedArray, pools: pa.Array | None) -> pa.Table:
    columns = [rankings.column(name) if name != "labels" else labels for name in RANKINGS.names]
    pools = pa.nulls(rankings.num_rows, JUDGED.field("pool_labels").type) if pools is None else pools
    return pa.table([*columns, pools], schema=JUDGED)


def _matched(rankings: pa.Table, known: pa.Table) -> pa.Array:
    """The label of each document of each ranking as list column, null where there is none."""
    queries, documents = pc.unique(known.column("query_id")), pc.unique(known.column("doc_id"))
    lengths = _lengths(rankings.column("doc_ids"))
    query = np.repeat(_codes(rankings.column("query_id"), queries), lengths)
    document = _codes(pc.list_flatten(rankings.column("doc_ids")), documents)
    pair = np.where((query < 0) | (document < 0), -1, query * len(documents) + document)
    known_pair = _codes(known.column("query_id"), queries) * len(documents) + _codes(known.column("doc_id"), documents)
    row = pc.index_in(pa.array(pair), value_set=pa.array(known_pair))
    flat = pa.array(_flat_floats(known.column("label")), pa.float64()).take(row)
    return pa.ListArray.from_arrays(pa.array(_offsets(lengths), pa.int32()), flat)


def _pools(rankings: pa.Table, known: pa.Table) -> pa.Array:
    """All known labels of the query of each ranking; null for a query that has none."""
    queries = pc.unique(known.column("query_id"))
    query = _codes(known.column("query_id"), queries)
    flat = _flat_floats(known.column("label"))[np.argsort(query, kind="stable")]
    offsets = _offsets(np.bincount(query, minlength=len(queries)))
    pools = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat, pa.float64()))
    return pools.take(pc.index_in(_plain(rankings.column("query_id")), value_set=queries))


def _ranking_problems(rankings: pa.Table) -> list[str]:
    query_ids = rankings.column("query_id")
    lengths = _lengths(rankings.column("doc_ids"))
    problems = []
    for name in ("texts", "scores", "labels"):
        for row in np.flatnonzero(_lengths(rankings.column(name)) != lengths).tolist():
            problems.append(f"ranking of query {query_ids[row].as_py()!r}: {name} and doc_ids differ in length")
    for row in _repeated(_pair_codes(query_ids, rankings.column("run"))).tolist():
        run = rankings.column("run")[row].as_py()
        problems.append(f"query {query_ids[row].as_py()!r} has more than one ranking of run {run!r}; keep one")
    return [*problems, *_document_problems(rankings, lengths), *_infinite(rankings)]


def _document_problems(rankings: pa.Table, lengths: Ints) -> list[str]:
    """A document without an id, or twice in one ranking."""
    documents = pc.list_flatten(rankings.column("doc_ids"))
    rows = np.repeat(np.arange(rankings.num_rows), lengths)
    distinct = pc.unique(documents)
    codes = _codes(documents, distinct)
    query_ids = rankings.column("query_id")
    problems = [
        f"ranking of query {query_ids[int(rows[at])].as_py()!r} has a document without doc_id"
        for at in np.flatnonzero(pc.is_null(documents).to_numpy()).tolist()
    ]
    for at in _repeated(rows * max(len(distinct), 1) + codes).tolist():
        if documents[at].is_valid:
            query_id, doc_id = query_ids[int(rows[at])].as_py(), documents[at].as_py()
            problems.append(f"document {doc_id!r} stands more than once in the ranking of query {query_id!r}; keep one")
    return problems


def _infinite(rankings: pa.Table) -> list[str]:
    """Labels inside the rankings that are NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(_flat_floats(pc.list_flatten(rankings.column("labels")))))
    rows = np.repeat(np.arange(rankings.num_rows), _lengths(rankings.column("labels")))
    query_ids = rankings.column("query_id")
    return [
        f"ranking of query {query_ids[int(rows[at])].as_py()!r} has a label that is not finite; use null for unjudged"
        for at in bad.tolist()
    ]


def _label_problems(labels: pa.Table) -> list[str]:
    query_ids, doc_ids = labels.column("query_id"), labels.column("doc_id")
    problems = [
        f"query {query_ids[row].as_py()!r}, document {doc_ids[row].as_py()!r} has more than one label; keep one"
        for row in _repeated(_pair_codes(query_ids, doc_ids)).tolist()
    ]
    bad = np.flatnonzero(~np.isfinite(_flat_floats(labels.column("label"))))
    return problems + [
        f"the label of query {query_ids[row].as_py()!r}, document {doc_ids[row].as_py()!r} is not finite; "
        "use null for unjudged"
        for row in bad.tolist()
    ]


def _repeated(codes: Ints) -> Ints:
    """Where a code stands that an earlier element has as well, ascending."""
    ordered = np.sort(codes)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    return np.sort(order[1:][codes[order][1:] == codes[order][:-1]])


def _pair_codes(first: pa.ChunkedArray, second: pa.ChunkedArray) -> Ints:
    """One whole number a pair: equal where both parts are."""
    distinct = pc.unique(second)
    return _codes(first, pc.unique(first)) * max(len(distinct), 1) + _codes(second, distinct)


def _codes(values: pa.ChunkedArray, distinct: pa.Array) -> Ints:
    """Where each value stands in `distinct`; -1 = nowhere."""
    found = pc.index_in(_plain(values), value_set=distinct)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _plain(values: pa.ChunkedArray) -> pa.Array:
    """One array of all chunks."""
    return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)


def _lengths(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.list_value_length(column).to_numpy(), dtype=np.int64)


def _flat_floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Numbers with 0 for null."""
    return np.asarray(pc.fill_null(column, 0.0).to_numpy(), dtype=np.float64)


def _offsets(lengths: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
