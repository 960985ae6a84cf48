"""How many relevant documents each query has: from rankings, labels, and a plan of what was labelled.

There is one number a query, shared by all systems: a system that is measured against what it found itself looks the
better the less it finds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.measures import Prepared, fe_depth
from ragauge.quality.label_plan import NEAR, Estimator, estimator_of
from ragauge.ragged import from_labels, positions, row_ids, segment_sum
from ragauge.results import RelevantCount
from ragauge.schema import LABEL_PLAN, LABELS, conform
from ragauge.stats import (
    CountDraws,
    DeepSample,
    calibrated_counts,
    chao2,
    chapman,
    lincoln_petersen,
    query_counts,
    rank_decay_counts,
    relevant_count,
    tail_counts,
)

__all__ = ["RelevantCounts", "count_relevant", "labels_of_plan"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RelevantCounts:
    """Estimated numbers of relevant documents.

    Attributes:
        query_ids: The queries, in the order of all arrays.
        by_run: Run -> its counts: the same for all runs, but for "own-list".
        records: Run -> the sum over queries; one entry named "" where it is the same for all runs.
    """

    query_ids: tuple[str, ...]
    by_run: Mapping[str, CountDraws]
    records: Mapping[str, RelevantCount]


def count_relevant(
    prepared: Prepared,
    *,
    estimator: str,
    cutoff: int | None,
    plan: pa.Table | None = None,
    rel: float = 1.0,
    level: float = 0.95,
    seed: int = 0,
) -> RelevantCounts:
    """The number of relevant documents of each query.

    Args:
        prepared: Judged rankings, from `measures.prepare` or `judge_systems`.
        estimator: A name of `label_plan.ESTIMATORS`.
        cutoff: K of the measures; "own-list" and those of overlaps look at the top 2K. None = whole rankings.
        plan: `schema.LABEL_PLAN` with labels, for "2k-x-c" and "horvitz-thompson".
        rel: A label of at least this is relevant.
        level: Confidence level of the records.
        seed: Of the replicates.

    Raises:
        InputError: An unknown estimator, a number of runs that does not suit it, no plan, or another's.
    """
    chosen = estimator_of(estimator)
    seen = _Seen(prepared.judged, rel)
    _check_runs(chosen, len(seen.runs))
    near = None if cutoff is None else fe_depth(cutoff, chosen.x)
    if estimator == "own-list":
        own = {run: _own_list(seen, code, near, seed) for code, run in enumerate(seen.runs)}
        counts = {run: evidence.counts for run, evidence in own.items()}
        records = {run: evidence.record(chosen, level) for run, evidence in own.items()}
        return RelevantCounts(seen.query_ids, counts, records)
    if estimator in ("2k-x-c", "horvitz-thompson"):
        shared = _planned(seen, _checked_plan(plan, chosen), chosen, rel, seed)
    elif estimator == "union":
        shared = _Evidence(seen.query_ids, query_counts(seen.found, seed=seed), int(seen.found.sum()), seen.n_labels)
    elif estimator == "rank-decay":
        shared = _by_rank(seen, seed)
    else:
        shared = _overlaps(seen, near, estimator, seed)
    by_run = dict.fromkeys(seen.runs, shared.counts)
    return RelevantCounts(shared.query_ids, by_run, {"": shared.record(chosen, level)})


def labels_of_plan(plan: pa.Table) -> pa.Table:
    """The labels that were filled into a plan, as `schema.LABELS`."""
    rows = conform(plan, LABEL_PLAN, what="label plan").filter(pc.is_valid(plan.column("label")))
    return conform(rows.select(["query_id", "doc_id", "label"]), LABELS, what="labels of the plan")


class _Seen:
    """Every document of every ranking: its query, run, rank and label."""

    def __init__(self, judged: pa.Table, rel: float) -> None:
        labels = from_labels(judged.column("labels"))
        row = row_ids(labels.offsets)
        queries, runs = pc.unique(judged.column("query_id")), pc.unique(judged.column("run"))
        self.judged, self.rel = judged, rel
        self.query_ids: tuple[str, ...] = tuple(queries.to_pylist())
        self.runs: tuple[str, ...] = tuple(runs.to_pylist())
        self.row_query = _codes(judged.column("query_id"), queries)
        self.query, self.run = self.row_query[row], _codes(judged.column("run"), runs)[row]
        self.rank = positions(labels.offsets) + 1
        documents = pc.list_flatten(judged.column("doc_ids"))
        distinct = pc.unique(documents)
        self.pair = self.query * max(len(distinct), 1) + _codes(documents, distinct)
        self.labelled = labels.valid
        self.positive = labels.valid & (labels.values >= rel)

    @cached_property
    def found(self) -> Floats:
        """Relevant documents known of each query: those among all its labels, or where only rankings have labels those
        that some run retrieved."""
        _, first = np.unique(self.pair[self.positive], return_index=True)
        retrieved = np.bincount(self.query[self.positive][first], minlength=len(self.query_ids)).astype(np.float64)
        pool = from_labels(self.judged.column("pool_labels"))
        known = np.asarray(pc.is_valid(self.judged.column("pool_labels")).to_numpy(), dtype=np.bool_)
        retrieved[self.row_query[known]] = segment_sum(pool.valid & (pool.values >= self.rel), pool.offsets)[known]
        return retrieved

    @cached_property
    def n_labels(self) -> int:
        """Labels of retrieved documents, each document once."""
        return len(np.unique(self.pair[self.labelled]))

    def in_top(self, near: int | None) -> Bools:
        return np.ones(len(self.rank), dtype=np.bool_) if near is None else self.rank <= near


def _codes(values: pa.ChunkedArray, distinct: pa.Array) -> Ints:
    return np.asarray(pc.index_in(values, value_set=distinct).to_numpy(), dtype=np.int64)


@dataclass(frozen=True)
class _Evidence:
    """Counts of queries, and what they rest on; the numbers as in `results.RelevantCount`."""

    query_ids: tuple[str, ...]
    counts: CountDraws
    n_found: int
    n_labels: int
    n_unlabelled: int = 0
    depth: int = 0

    def record(self, chosen: Estimator, level: float) -> RelevantCount:
        record = relevant_count(
            self.counts,
            estimator=chosen.title,
            n_found=self.n_found,
            n_labels=self.n_labels,
            n_unlabelled=self.n_unlabelled,
            level=level,
        )
        return replace(record, depth=self.depth)


def _check_runs(chosen: Estimator, n_runs: int) -> None:
    exactly = chosen.runs == 2 and chosen.name != "chao2"
    if n_runs < chosen.runs or (exactly and n_runs > 2):
        wanted = "exactly two systems" if exactly else f"{chosen.runs} systems or more"
        raise InputError(f"{chosen.title} needs rankings of {wanted}, got {n_runs}; union takes any number")


def _own_list(seen: _Seen, code: int, near: int | None, seed: int) -> _Evidence:
    """What one run found by itself."""
    own = (seen.run == code) & seen.in_top(near)
    found = np.bincount(seen.query[own & seen.positive], minlength=len(seen.query_ids))
    labelled, missing = (int((own & mask).sum()) for mask in (seen.labelled, ~seen.labelled))
    return _Evidence(seen.query_ids, query_counts(found, seed=seed), int(found.sum()), labelled, missing)


def _by_rank(seen: _Seen, seed: int) -> _Evidence:
    """Each document once, at its best rank."""
    order = np.lexsort((seen.rank, seen.pair))
    first = order[np.unique(seen.pair[order], return_index=True)[1]]
    label = np.where(seen.labelled[first], seen.positive[first].astype(np.float64), nan)
    counts = rank_decay_counts(seen.rank[first], label, seen.query[first], n_queries=len(seen.query_ids), seed=seed)
    return _Evidence(
        seen.query_ids, counts, int(seen.positive[first].sum()), seen.n_labels, depth=int(seen.rank.max(initial=0))
    )


def _overlaps(seen: _Seen, near: int | None, estimator: str, seed: int) -> _Evidence:
    """From which relevant documents of the top 2K one system found, and which several."""
    top, n = seen.in_top(near), len(seen.query_ids)
    _, first, times = np.unique(seen.pair[top & seen.positive], return_index=True, return_counts=True)
    query = seen.query[top & seen.positive][first]
    once, twice, total = (np.bincount(query[mask], minlength=n) for mask in (times == 1, times == 2, times > 0))
    if estimator == "chao2":
        captured = chao2(total, once, twice, n_lists=len(seen.runs))
    else:
        n1, n2 = (np.bincount(seen.query[top & seen.positive & (seen.run == r)], minlength=n) for r in (0, 1))
        captured = (chapman if estimator == "chapman" else lincoln_petersen)(n1, n2, twice)
    labelled, missing = (len(np.unique(seen.pair[top & mask])) for mask in (seen.labelled, ~seen.labelled))
    return _Evidence(seen.query_ids, query_counts(captured.values, seed=seed), int(total.sum()), labelled, missing)


def _checked_plan(plan: pa.Table | None, chosen: Estimator) -> pa.Table:
    if plan is None:
        raise InputError(f"{chosen.title} needs the plan of what was labelled; ragauge plan-labels makes it")
    table = conform(plan, LABEL_PLAN, what="label plan")
    if table.num_rows and pc.unique(table.column("scope")).to_pylist() != [chosen.scope]:
        raise InputError(
            f"the label plan was made for another estimator than {chosen.title}; "
            f"make one with ragauge plan-labels --estimator {chosen.name}"
        )
    return table


def _planned(seen: _Seen, plan: pa.Table, chosen: Estimator, rel: float, seed: int) -> _Evidence:
    """Of the queries that the plan has a label of."""
    labelled = plan.filter(pc.is_valid(plan.column("label")))
    query_ids = pc.unique(labelled.column("query_id"))
    if lost := sorted(set(seen.query_ids) - set(query_ids.to_pylist())):
        raise InputError(
            f"{len(lost)} of {len(seen.query_ids)} queries have no label in the plan, such as {lost[0]!r}; "
            "label the documents of the plan, or score only its queries"
        )
    plan = plan.filter(pc.is_in(plan.column("query_id"), value_set=query_ids))
    query = _codes(plan.column("query_id"), query_ids)
    label = plan.column("label").to_numpy()
    known, positive = ~np.isnan(label), label >= rel
    near = np.asarray(pc.equal(plan.column("stratum"), NEAR).to_numpy(), dtype=np.bool_)
    found = np.bincount(query[near & positive], minlength=len(query_ids))
    sample, owner = _strata(plan, query, known, positive, ~near, chosen.scope)
    if chosen.scope == "all":
        counts = calibrated_counts(found, sample, seed=seed)
    else:
        counts = query_counts(tail_counts(found, sample, owner), seed=seed)
    deepest = max((int(name.rpartition("-")[2]) for name in _names(plan) if name != NEAR), default=0)
    n_positive, n_known = int(positive.sum()), int(known.sum())
    return _Evidence(tuple(query_ids.to_pylist()), counts, n_positive, n_known, plan.num_rows - n_known, deepest)


def _names(plan: pa.Table) -> list[str]:
    """Its strata."""
    names: list[str] = pc.unique(plan.column("stratum")).to_pylist()
    return names


def _strata(
    plan: pa.Table, query: Ints, known: Bools, positive: Bools, deep: Bools, scope: str
) -> tuple[DeepSample, Ints]:
    """The strata below the top, and the query of each; one holds as many documents as its drawn ones stand for."""
    names = pc.unique(plan.column("stratum"))
    code = _codes(plan.column("stratum"), names) + (query * len(names) if scope == "query" else 0)
    kept, stratum = np.unique(code[deep], return_inverse=True)
    weight = 1 / plan.column("probability").to_numpy()[deep]
    sizes, drawn, positives = (
        np.bincount(stratum, weights=each.astype(np.float64), minlength=len(kept)).astype(np.float64)
        for each in (weight, known[deep], positive[deep])
    )
    return DeepSample(np.maximum(np.round(sizes), drawn), drawn, positives), kept // max(len(names), 1)
