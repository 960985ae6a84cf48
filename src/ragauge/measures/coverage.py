"""Which queries a mean is over: those that have labels, whether a run answered them or not.

A run that returns nothing for a hard query must not gain by it, and averages over different queries cannot be compared.
So every run is brought to one set of queries before it is scored: the labelled ones.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.schema import LABELS, POOLED_UNJUDGED, RANKINGS, conform

__all__ = ["Covered", "Extra", "Missing", "RunCoverage", "cover"]

Missing = Literal["zero", "worst", "skip", "error"]
Extra = Literal["skip", "zero", "error"]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_N_SHOWN = 3


@dataclass(frozen=True)
class RunCoverage:
    """How the queries of one run and the labelled queries overlap.

    Attributes:
        run: The run.
        n_ranked: Labelled queries it has a ranking for.
        n_missing: Labelled queries it has none for.
        n_extra: Queries it has a ranking for that have no label.
    """

    run: str
    n_ranked: int
    n_missing: int
    n_extra: int


@dataclass(frozen=True)
class Covered:
    """Rankings of the queries that count.

    Attributes:
        rankings: `schema.RANKINGS`; the rankings given that count, in their order, then an empty one for each missing.
        missing: bool, one a ranking: it was added, since the run had none.
        extra: bool, one a ranking: its query has no label.
        runs: The counts of each run, in the order of their first rankings.
    """

    rankings: pa.Table
    missing: Bools
    extra: Bools
    runs: tuple[RunCoverage, ...]


def cover(rankings: pa.Table, labels: pa.Table, *, missing: Missing = "zero", extra: Extra = "skip") -> Covered:
    """The rankings of the labelled queries, one for each run and query.

    A query is labelled when it has at least one label that is not null, or a document that was pooled. trec_eval leaves
    out missing queries unless it is given -c, and always leaves out extra ones.

    Args:
        rankings: `schema.RANKINGS`.
        labels: `schema.LABELS`.
        missing: A labelled query for which a run has no ranking. "zero": an empty ranking is added and scored as such
            (T and P are 0, recall and nDCG 0 where there is something to find). "worst": the same ranking, which
            callers then give the lowest value of each measure (T: -alpha). "skip": left out, so that runs may be
            averaged over different queries. "error": refused.
        extra: A ranking whose query has no label. "skip": left out. "zero": kept, and its value is 0. "error": refused.

    Raises:
        InputError: What "error" refuses, or not one query of the rankings has a label.
        SchemaError: A column is missing or has another type.

    >>> from ragauge import read_labels, read_rankings
    >>> found = cover(read_rankings({"q1": {"a": 0.9}}), read_labels({"q1": {"a": 1}, "q2": {"b": 1}}))
    >>> found.rankings.column("query_id").to_pylist(), found.missing.tolist()
    (['q1', 'q2'], [False, True])
    """
    _check_choice("missing", missing, ("zero", "worst", "skip", "error"))
    _check_choice("extra", extra, ("skip", "zero", "error"))
    table = conform(rankings, RANKINGS, what="rankings")
    known = conform(labels, LABELS, what="labels")
    counts = pc.or_kleene(pc.is_valid(known.column("label")), pc.equal(known.column("reason"), POOLED_UNJUDGED))
    labelled = pc.unique(known.filter(counts).column("query_id"))
    runs = pc.unique(table.column("run"))
    query, run = _codes(table.column("query_id"), labelled), _codes(table.column("run"), runs)
    _check_overlap(table, labelled, query)
    present = np.zeros(len(runs) * len(labelled), dtype=np.bool_)
    present[(run * len(labelled) + query)[query >= 0]] = True
    absent = np.flatnonzero(~present)
    if missing == "error" and absent.size:
        raise InputError.collect([_without_ranking(labelled, runs, code) for code in absent.tolist()])
    if extra == "error" and (query < 0).any():
        raise InputError.collect([_without_label(table, at) for at in np.flatnonzero(query < 0).tolist()])
    kept = np.flatnonzero(query >= 0) if extra == "skip" else np.arange(len(query))
    added = absent if missing in ("zero", "worst") else absent[:0]
    return Covered(
        rankings=pa.concat_tables([table.take(pa.array(kept)), _empty_rankings(labelled, runs, added)]),
        missing=np.repeat([False, True], [len(kept), len(added)]),
        extra=np.concatenate([query[kept] < 0, np.zeros(len(added), dtype=np.bool_)]),
        runs=_counts(runs, run, query, absent // max(len(labelled), 1)),
    )


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def _check_overlap(table: pa.Table, labelled: pa.Array, query: Ints) -> None:
    if not table.num_rows or (query >= 0).any():
        return
    if not len(labelled):
        raise InputError("the labels hold no label that is not null, so there is nothing to score against")
    raise InputError(
        f"not one query of the rankings has a label; the rankings are of {_sample(table.column('query_id'))}, "
        f"the labels of {_sample(labelled)}; query ids must be the same in both files"
    )


def _sample(ids: pa.Array | pa.ChunkedArray) -> str:
    """The first ids, and how many more there are."""
    distinct = pc.unique(ids)
    shown = ", ".join(repr(id_) for id_ in distinct[:_N_SHOWN].to_pylist())
    return shown if len(distinct) <= _N_SHOWN else f"{shown} and {len(distinct) - _N_SHOWN:,} more"


def _without_ranking(labelled: pa.Array, runs: pa.Array, code: int) -> str:
    run, query = divmod(code, len(labelled))
    return f"query {labelled[query].as_py()!r} has labels and no ranking in run {runs[run].as_py()!r}"


def _without_label(table: pa.Table, at: int) -> str:
    query_id, run = table.column("query_id")[at].as_py(), table.column("run")[at].as_py()
    return f"query {query_id!r} of run {run!r} has no label"


def _empty_rankings(labelled: pa.Array, runs: pa.Array, codes: Ints) -> pa.Table:
    """Rankings without documents for (run, query) pairs."""
    run, query = np.divmod(codes, max(len(labelled), 1))
    columns = {"query_id": labelled.take(pa.array(query)), "run": runs.take(pa.array(run))}
    nothing = pa.array(np.zeros(len(codes) + 1), pa.int32())
    for field in RANKINGS:
        if pa.types.is_list(field.type):
            columns[field.name] = pa.ListArray.from_arrays(nothing, pa.array([], field.type.value_type))
    columns["query"] = pa.nulls(len(codes), pa.string())
    return pa.table([columns[name] for name in RANKINGS.names], schema=RANKINGS)


def _counts(runs: pa.Array, run: Ints, query: Ints, absent_run: Ints) -> tuple[RunCoverage, ...]:
    n = len(runs)
    ranked, extra = np.bincount(run[query >= 0], minlength=n), np.bincount(run[query < 0], minlength=n)
    absent = np.bincount(absent_run, minlength=n)
    return tuple(
        RunCoverage(name, int(ranked[at]), int(absent[at]), int(extra[at])) for at, name in enumerate(runs.to_pylist())
    )


def _codes(values: pa.ChunkedArray, distinct: pa.Array) -> Ints:
    """Where each value stands in `distinct`; -1 = nowhere."""
    found = pc.index_in(values.combine_chunks() if values.num_chunks else values, value_set=distinct)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
