"""Rankings and labels become judged rankings: each retrieved document gets its label by (query, document).

Millions of documents are matched without a Python loop (`ragauge.matching`). Labels of a query that stand together, as
files have them, are not moved.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.matching import LookUp, Repeats, changes, look_up, repeats
from ragauge.schema import JUDGED, LABELS, POOLED_UNJUDGED, RANKINGS, conform

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
        `schema.JUDGED` in the order of the rankings; -1 = pooled and not judged. `pool_labels` holds every non-null
        label of the query; null where N_p is unknown: `labels` is None, `complete` is "unknown", or the query has no
        label at all.

    Raises:
        InputError: A document stands twice in a ranking, a query has two rankings of one run, a pair is labelled
            twice, a label is not finite, or lists differ in length. All such problems are collected.
        SchemaError: A column is missing or has another type.
    """
    if complete not in ("pool", "unknown"):
        raise InputError(f"complete must be 'pool' or 'unknown', got {complete!r}")
    rankings = conform(rankings, RANKINGS, what="rankings")
    if labels is None:
        offsets = _offsets(_lengths(rankings.column("doc_ids")))
        _raise(_ranking_problems(rankings, repeats(pc.list_flatten(rankings.column("doc_ids")), offsets)))
        return _judged(rankings, rankings.column("labels"), None)
    pools = _Pools.of(_marked(conform(labels, LABELS, what="labels")))
    rows = _codes(rankings.column("query_id"), pools.queries)
    found = pools.look_up(rankings.column("doc_ids"), rows)
    all_seen = len(np.unique(rows[rows >= 0])) == len(pools.queries)
    twice = found.other_repeats if all_seen else repeats(pools.table.column("doc_id"), pools.offsets)
    _raise(_ranking_problems(rankings, found.repeats) + _label_problems(pools, twice))
    offsets = pa.array(_offsets(_lengths(rankings.column("doc_ids"))), pa.int32())
    matched = pa.ListArray.from_arrays(offsets, pa.array(found.values, from_pandas=True))  # NaN becomes null
    return _judged(rankings, matched, pools.rows(rows) if complete == "pool" else None)


def _raise(problems: list[str]) -> None:
    if problems:
        raise InputError.collect(problems)


def _marked(labels: pa.Table) -> pa.Table:
    """The labels, with -1 for what was pooled and not judged: as TREC writes it, and infAP reads it."""
    reasons, values = labels.column("reason"), labels.column("label")
    if reasons.null_count == len(reasons):
        return labels
    pooled = pc.and_(pc.fill_null(pc.equal(reasons, POOLED_UNJUDGED), False), pc.is_null(values))
    marked = pc.if_else(pooled, -1.0, values)
    return labels.set_column(LABELS.get_field_index("label"), LABELS.field("label"), marked)


def _judged(rankings: pa.Table, labels: pa.Array | pa.ChunkedArray, pools: pa.Array | None) -> pa.Table:
    columns = [rankings.column(name) if name != "labels" else labels for name in RANKINGS.names]
    pools = pa.nulls(rankings.num_rows, JUDGED.field("pool_labels").type) if pools is None else pools
    return pa.table([*columns, pools], schema=JUDGED)


@dataclass(frozen=True)
class _Pools:
    """Labels ordered by query; query i has rows offsets[i]:offsets[i + 1] of `table`."""

    table: pa.Table
    queries: pa.Array
    offsets: Ints

    @classmethod
    def of(cls, labels: pa.Table) -> "_Pools":
        query_ids = labels.column("query_id")
        starts = np.flatnonzero(np.append([True], changes(query_ids)))[: len(query_ids)]
        queries = query_ids.take(pa.array(starts)).combine_chunks()
        distinct = pc.unique(queries)
        if len(distinct) != len(queries):  # the labels of a query stand apart
            return cls.of(labels.take(np.argsort(_codes(query_ids, distinct), kind="stable")))
        return cls(labels, queries, np.append(starts, len(query_ids)))

    def look_up(self, documents: pa.ChunkedArray, rows: Ints) -> LookUp:
        """The label of each document of a list column, NaN where there is none; `rows`: the query here, -1 = none."""
        return look_up(
            pc.list_flatten(documents),
            _offsets(_lengths(documents)),
            others=self.table.column("doc_id"),
            other_offsets=self.offsets,
            other_rows=rows,
            values=self.table.column("label").to_numpy(),  # null becomes NaN
        )

    def rows(self, rows: Ints) -> pa.Array:
        """All known labels of each of the queries `rows`; null for one without any, and for -1."""
        column, offsets = self.table.column("label"), self.offsets
        if column.null_count:
            offsets = np.append([0], np.cumsum(column.is_valid().to_numpy()))[offsets]
        flat = column.drop_null().combine_chunks()
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)
        if np.array_equal(rows, np.arange(len(lists))) and (np.diff(offsets) > 0).all():
            return lists
        has_any = (rows >= 0) & (np.append(np.diff(offsets), 0)[rows] > 0)
        return lists.take(pa.array(rows, mask=~has_any))


def _ranking_problems(rankings: pa.Table, twice: Repeats) -> list[str]:
    query_ids = rankings.column("query_id")
    lengths = _lengths(rankings.column("doc_ids"))
    problems = []
    for name in ("texts", "scores", "labels"):
        for row in np.flatnonzero(_lengths(rankings.column(name)) != lengths).tolist():
            problems.append(f"ranking of query {query_ids[row].as_py()!r}: {name} and doc_ids differ in length")
    for row in _repeated(_pair_codes(query_ids, rankings.column("run"))).tolist():
        run = rankings.column("run")[row].as_py()
        problems.append(f"query {query_ids[row].as_py()!r} has more than one ranking of run {run!r}; keep one")
    return [*problems, *_document_problems(rankings, twice), *_infinite(rankings)]


def _document_problems(rankings: pa.Table, twice: Repeats) -> list[str]:
    """A document without an id, or twice in one ranking."""
    flat = pc.list_flatten(rankings.column("doc_ids"))
    missing = np.flatnonzero(flat.is_null().to_numpy()) if flat.null_count else np.zeros(0, dtype=np.int64)
    problems = [f"ranking of query {name!r} has a document without doc_id" for name in _queries_of(rankings, missing)]
    for place, query_id in zip(twice.places.tolist(), _queries_of(rankings, twice.places), strict=True):
        if flat[place].is_valid:
            doc_id = flat[place].as_py()
            problems.append(f"document {doc_id!r} stands more than once in the ranking of query {query_id!r}; keep one")
    return problems


def _queries_of(rankings: pa.Table, places: Ints) -> list[str]:
    """The query of each of these documents."""
    offsets = _offsets(_lengths(rankings.column("doc_ids")))
    rows = np.searchsorted(offsets, places, side="right") - 1
    return [str(name) for name in rankings.column("query_id").take(pa.array(rows)).to_pylist()]


def _infinite(rankings: pa.Table) -> list[str]:
    """Labels inside the rankings that are NaN or infinite."""
    column = rankings.column("labels")
    flat = pc.list_flatten(column)
    if flat.null_count == len(flat):
        return []
    bad = np.flatnonzero(~np.isfinite(_flat_floats(flat)))
    rows = np.searchsorted(_offsets(_lengths(column)), bad, side="right") - 1
    query_ids = rankings.column("query_id")
    return [
        f"ranking of query {query_ids[row].as_py()!r} has a label that is not finite; use null for unjudged"
        for row in rows.tolist()
    ]


def _label_problems(pools: _Pools, twice: Repeats) -> list[str]:
    query_ids, doc_ids = pools.table.column("query_id"), pools.table.column("doc_id")
    problems = [
        f"query {query_ids[row].as_py()!r}, document {doc_ids[row].as_py()!r} has more than one label; keep one"
        for row in twice.places.tolist()
    ]
    bad = np.flatnonzero(~np.isfinite(_flat_floats(pools.table.column("label"))))
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
    found = pc.index_in(values.combine_chunks(), value_set=distinct)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _lengths(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.list_value_length(column).to_numpy(), dtype=np.int64)


def _flat_floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Numbers with 0 for null."""
    return np.asarray(pc.fill_null(column, 0.0).to_numpy(), dtype=np.float64)


def _offsets(lengths: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
