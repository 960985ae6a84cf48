"""Which documents a ranking holds, and in which order, before any label is looked at: rankings in, rankings out.

Files hold the same document twice (fusion, several chunks of one text), the query itself among its results (collections
in which queries are documents), or documents with equal scores. What to do with each is a named choice, made here once,
so that every measure reads the same ranking; what was changed is counted.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.matching import repeats
from ragauge.schema import RANKINGS, conform

__all__ = ["Arranged", "Collapse", "Duplicates", "IdenticalIds", "Order", "arrange"]

Order = Literal["input", "trec"]
Duplicates = Literal["error", "first", "max"]
Collapse = Literal["none", "first", "max"]
IdenticalIds = Literal["keep", "drop"]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_LISTS = ("doc_ids", "texts", "scores", "labels")


@dataclass(frozen=True)
class Arranged:
    """Rankings as they will be judged, and what was done to get them.

    Attributes:
        rankings: `schema.RANKINGS`, rows as they were given.
        n_reordered: Rankings whose documents were put in another order.
        n_unscored: Rankings left in their order by order="trec", as a document has no score.
        n_duplicates: Documents dropped because they stood in their ranking already.
        n_collapsed: Chunks dropped because another chunk of their document stands for it.
        n_identical: Documents dropped because their id is that of the query.
    """

    rankings: pa.Table
    n_reordered: int = 0
    n_unscored: int = 0
    n_duplicates: int = 0
    n_collapsed: int = 0
    n_identical: int = 0


@dataclass(frozen=True)
class _Documents:
    """The documents of all rankings as flat columns of one length; row = the ranking each stands in, ascending."""

    row: Ints
    at: Ints
    """Where it stood in the flattened lists that were given."""
    doc_id: pa.Array
    score: npt.NDArray[np.float64]
    """NaN = no score."""

    def take(self, places: npt.NDArray[np.generic]) -> "_Documents":
        """Those at `places` (whole numbers, or a mask)."""
        index = np.flatnonzero(places) if places.dtype == np.bool_ else places
        return _Documents(self.row[index], self.at[index], self.doc_id.take(pa.array(index)), self.score[index])


def arrange(
    rankings: pa.Table,
    *,
    order: Order = "input",
    duplicates: Duplicates = "error",
    collapse: Collapse = "none",
    doc_id_rule: str | None = None,
    identical_ids: IdenticalIds = "keep",
    depth: int | None = None,
) -> Arranged:
    """Rankings with the chosen documents in the chosen order, for `judge`.

    The choices are applied in this order: identical ids, order, duplicates, chunks, depth.

    Args:
        rankings: `schema.RANKINGS`.
        order: "input": as the documents stand. "trec": score, highest first, then document id, last in byte order
            first, as trec_eval does; a ranking in which a document has no score stays as it is.
        duplicates: A document that stands in a ranking more than once. "error": refused. "first": where it stands
            first. "max": where its score is highest (the first of these).
        collapse: Chunks of one document, told by `doc_id_rule`, become one document with that id. "none": they stay
            apart. "first": it stands where its first chunk stood. "max": where its highest-scored chunk stood (MaxP).
            The labels are then looked up by the id of the document.
        doc_id_rule: How to find the document a chunk belongs to. A text such as "#": what stands before its first
            occurrence. A regular expression with one group, such as r"(.*)-\\d+": the group, where the whole id
            matches. An id that the rule does not fit is a document of its own.
        identical_ids: A document whose id is that of the query: "keep", or "drop" as BEIR does.
        depth: How many documents of each ranking are kept, for measures without a cutoff of their own; None = all.

    Raises:
        InputError: A document stands twice and duplicates="error"; a score is needed and missing or is not finite; the
            lists of a ranking differ in length; a rule without collapse, or collapse without a rule.
        SchemaError: A column is missing or has another type.

    Source:
        The order is trec_eval's. MaxP: Dai, Callan, "Deeper text understanding for IR with contextual neural language
        modeling", SIGIR (2019), doi:10.1145/3331184.3331303.

    >>> from ragauge import read_rankings
    >>> chunks = read_rankings({"q1": {"d1#1": 0.2, "d2#1": 0.5, "d1#7": 0.9}})
    >>> found = arrange(chunks, collapse="max", doc_id_rule="#")
    >>> found.rankings.column("doc_ids").to_pylist(), found.n_collapsed
    ([['d1', 'd2']], 1)
    """
    _check_choices(order, duplicates, collapse, identical_ids)
    _check_rule(collapse, doc_id_rule)
    if depth is not None and depth < 1:
        raise InputError(f"depth must be a positive integer, got {depth}")
    table = conform(rankings, RANKINGS, what="rankings")
    given = _documents(table)
    result = Arranged(table)
    kept = given
    if identical_ids == "drop":
        kept = given.take(~_is_query(table, given))
        result = replace(result, n_identical=len(given.row) - len(kept.row))
    if order == "trec":
        rows = _unsorted_rows(kept)
        kept = _by_score(kept, rows)
        result = replace(result, n_reordered=len(rows), n_unscored=len(_unscored_rows(kept)))
    before = len(kept.row)
    kept = _once(table, kept, duplicates, "document")
    result = replace(result, n_duplicates=before - len(kept.row))
    if doc_id_rule is not None and collapse != "none":
        before = len(kept.row)
        kept = _once(table, replace(kept, doc_id=_parents(kept.doc_id, doc_id_rule)), collapse, "chunk of document")
        kept = _by_score(kept, _unsorted_rows(kept)) if order == "trec" else kept
        result = replace(result, n_collapsed=before - len(kept.row))
    if depth is not None:
        kept = _top(kept, depth)
    return result if kept is given else replace(result, rankings=_table(table, kept))


def _check_choices(order: str, duplicates: str, collapse: str, identical_ids: str) -> None:
    choices = (
        ("order", order, ("input", "trec")),
        ("duplicates", duplicates, ("error", "first", "max")),
        ("collapse", collapse, ("none", "first", "max")),
        ("identical_ids", identical_ids, ("keep", "drop")),
    )
    for name, value, allowed in choices:
        if value not in allowed:
            raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def _check_rule(collapse: str, rule: str | None) -> None:
    if (collapse == "none") != (rule is None):
        raise InputError(
            "collapse and doc_id_rule belong together: collapse='max', doc_id_rule='#' makes of d1#1 and d1#2 the "
            f"document d1; got collapse={collapse!r}, doc_id_rule={rule!r}"
        )
    if rule == "":
        raise InputError("doc_id_rule must not be empty; give a separator such as '#', or a pattern with one group")


def _documents(table: pa.Table) -> _Documents:
    lengths = _lengths(table, "doc_ids")
    for name in _LISTS[1:]:
        differing = np.flatnonzero(_lengths(table, name) != lengths)
        if differing.size:
            query_id = table.column("query_id")[int(differing[0])].as_py()
            raise InputError(f"ranking of query {query_id!r}: {name} and doc_ids differ in length")
    row = np.repeat(np.arange(table.num_rows), lengths)
    scores = _flat(table, "scores").cast(pa.float64())
    values = np.asarray(scores.to_numpy(zero_copy_only=False), dtype=np.float64)
    known = np.asarray(scores.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    bad = np.flatnonzero(known & ~np.isfinite(values))
    if bad.size:
        query_id = table.column("query_id")[int(row[bad[0]])].as_py()
        raise InputError(f"ranking of query {query_id!r} has a score that is not finite; give a number, or null")
    return _Documents(row, np.arange(len(row)), _flat(table, "doc_ids"), np.where(known, values, np.nan))


def _top(documents: _Documents, depth: int) -> _Documents:
    """The first `depth` of each ranking."""
    first = np.searchsorted(documents.row, documents.row)
    return documents.take(np.arange(len(first)) - first < depth)


def _is_query(table: pa.Table, documents: _Documents) -> Bools:
    """Whether the document's id is that of its query."""
    query_id = _plain(table.column("query_id")).take(pa.array(documents.row))
    return np.asarray(pc.fill_null(pc.equal(documents.doc_id, query_id), False).to_numpy(zero_copy_only=False))


def _unscored_rows(documents: _Documents) -> Ints:
    """Rankings in which a document has no score."""
    return np.unique(documents.row[np.isnan(documents.score)])


def _unsorted_rows(documents: _Documents) -> Ints:
    """Fully scored rankings that are not in order; only neighbours with equal scores have their ids compared."""
    score, inside = documents.score, documents.row[1:] == documents.row[:-1]
    wrong = inside & (score[1:] > score[:-1])
    tied = np.flatnonzero(inside & (score[1:] == score[:-1]))
    above, below = documents.doc_id.take(pa.array(tied)), documents.doc_id.take(pa.array(tied + 1))
    wrong[tied] = pc.fill_null(pc.less(above, below), False).to_numpy(zero_copy_only=False)
    return np.setdiff1d(documents.row[1:][wrong], _unscored_rows(documents))


def _by_score(documents: _Documents, rows: Ints) -> _Documents:
    """These rankings by score, highest first, then id, last in byte order first."""
    if not len(rows):
        return documents
    places = np.flatnonzero(np.isin(documents.row, rows))
    ids = documents.doc_id.take(pa.array(places))
    tie = np.asarray(pc.rank(ids, "descending", tiebreaker="dense").to_numpy(), dtype=np.int64)
    order = np.arange(len(documents.row))
    order[places] = places[np.lexsort((tie, -documents.score[places], documents.row[places]))]
    return documents.take(order)


def _once(table: pa.Table, documents: _Documents, keep: str, what: str) -> _Documents:
    """Each document of a ranking once: the first, or the one with the highest score."""
    offsets = np.searchsorted(documents.row, np.arange(table.num_rows + 1))
    again = repeats(documents.doc_id, offsets).places
    if not again.size:
        return documents
    if keep == "error":
        raise InputError.collect(_repeated_messages(table, documents, again))
    row, code = documents.row, _codes(documents.doc_id)
    place = np.arange(len(row))
    order = np.lexsort((place, code, row))
    same = (np.diff(row[order]) == 0) & (np.diff(code[order]) == 0)
    if keep == "max":
        _check_scores(table, documents, np.union1d(order[1:][same], order[:-1][same]), what)
        order = np.lexsort((place, -documents.score, code, row))
    keeps = np.ones(len(row), dtype=np.bool_)
    keeps[order[1:][same]] = False
    return documents.take(keeps)


def _repeated_messages(table: pa.Table, documents: _Documents, places: Ints) -> list[str]:
    return [
        f"document {documents.doc_id[at].as_py()!r} stands more than once in the ranking of query "
        f"{table.column('query_id')[int(documents.row[at])].as_py()!r}; keep one, or choose duplicates='first' or 'max'"
        for at in places.tolist()
    ]


def _check_scores(table: pa.Table, documents: _Documents, places: Ints, what: str) -> None:
    missing = places[np.isnan(documents.score[places])]
    if missing.size:
        at = int(missing[0])
        query_id = table.column("query_id")[int(documents.row[at])].as_py()
        raise InputError(
            f"{what} {documents.doc_id[at].as_py()!r} of query {query_id!r} stands more than once and has no score, so "
            "there is no highest one; choose 'first'"
        )


def _parents(doc_ids: pa.Array, rule: str) -> pa.Array:
    """The document each chunk belongs to; each distinct id is looked at once."""
    pattern = _pattern(rule)
    encoded = doc_ids.dictionary_encode()
    found = [pattern.fullmatch(doc_id) for doc_id in encoded.dictionary.to_pylist()]
    parents = [
        (match.group(1) or doc_id) if match else doc_id
        for match, doc_id in zip(found, encoded.dictionary.to_pylist(), strict=True)
    ]
    return pa.array(parents, pa.string()).take(encoded.indices)


def _pattern(rule: str) -> re.Pattern[str]:
    """A rule with a bracket is a regular expression; any other is a text that ends the document's id."""
    if "(" not in rule:
        return re.compile(f"(.+?){re.escape(rule)}.*", re.DOTALL)
    try:
        pattern = re.compile(rule, re.DOTALL)
    except re.error as error:
        raise InputError(f"doc_id_rule {rule!r} is not a regular expression: {error}") from error
    if pattern.groups != 1:
        raise InputError(f"doc_id_rule must have exactly one group, got {pattern.groups} in {rule!r}")
    return pattern


def _table(table: pa.Table, documents: _Documents) -> pa.Table:
    """`table` with the documents that were kept, in their order."""
    lengths = np.bincount(documents.row, minlength=table.num_rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    at = pa.array(documents.at)
    for name in _LISTS:
        values = documents.doc_id if name == "doc_ids" else _flat(table, name).take(at)
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), pa.ListArray.from_arrays(offsets, values))
    return table


def _codes(doc_ids: pa.Array) -> Ints:
    """A whole number a document, -1 where there is no id."""
    indices = pc.fill_null(doc_ids.dictionary_encode().indices, -1)
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _lengths(table: pa.Table, name: str) -> Ints:
    lengths = pc.fill_null(pc.list_value_length(table.column(name)), 0)
    return np.asarray(lengths.to_numpy(), dtype=np.int64)


def _flat(table: pa.Table, name: str) -> pa.Array:
    return _plain(pc.list_flatten(table.column(name)))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """One array of all chunks."""
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
