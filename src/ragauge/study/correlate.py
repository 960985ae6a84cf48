"""Which measure of the retrieved top K follows the grades of the answers that were written from it.

One idea: inside a segment (one data set, one embedder, one range of K against N_p) a measure is a function of few
counts, so each is computed once for each distinct state (n_p, n_n, K, N_p, positives in the top 2K) at every alpha of
the grid, and a segment is the table of how often each state got each grade.

What stands in the table, named as in `ragauge score` without the cutoff, which varies from row to row:

- n_p, P, R: the baselines. Inside a segment of constant K / N_p all of R, P and F order the queries alike.
- F, over alpha. Fe(x=2), over alpha, N_p replaced by the positives in the top 2K; rows that lack them are left out.
- T(form=count), over alpha. T itself is P - alpha where all K slots are filled, so it correlates as P, and is not
  repeated.
- nDCG(ideal=retrieved), which knows no N_p, and nDCG(ideal=qrels), whose ideal is min(K, N_p) positives at the top.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.measures import Measure, f_alpha, fe_alpha, precision, recall, t_alpha
from ragauge.ragged import Ragged, from_arrow, segment_sum
from ragauge.schema import CORRELATIONS, GRADED, check
from ragauge.stats import (
    COEFFICIENTS,
    MIN_ROWS,
    BestAlpha,
    ContingencyTable,
    best_alpha,
    table_association,
    table_intervals,
    tabulate,
)

__all__ = ["ALPHAS", "FIXED_ALPHA", "correlate"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ALPHAS = tuple(i / 100 for i in range(101))
"""The grid of alphas the in-sample maximum is taken over."""

FIXED_ALPHA = 0.5
"""The alpha fixed in advance, at which `value` and its interval are."""

_DECIMALS = (
    12  # measures are of order 1; differences such as (1 - a) n_p - a n_n / K cancel, and their errors do not scale
)
_NO_COUNT = -1  # stands for an unknown number of positives in the top 2K
_REASONS = {"x is constant": "the measure is constant", "y is constant": "the grade is constant"}


@dataclass(frozen=True)
class _Rows:
    """The graded rows as arrays, one entry a row."""

    n_p: Ints
    n_n: Ints
    K: Ints
    N_p: Ints
    n_2k: Ints
    labels: Ragged
    grade: Floats
    query: Ints
    dataset: npt.NDArray[np.str_]
    embedder: npt.NDArray[np.str_]


@dataclass(frozen=True)
class _Measured:
    """One measure: its values in each state at each alpha (A, S) and at the fixed one (S,), and each row's state."""

    name: str
    grid: Floats | None
    fixed: Floats
    state: Ints


@dataclass(frozen=True)
class _Segment:
    dataset: str
    embedder: str
    name: str
    ratio: float | None
    rows: Ints


def correlate(
    graded: pa.Table,
    *,
    by: Literal["ratio", "width"] = "ratio",
    alphas: Sequence[float] | None = None,
    level: float = 0.95,
    on_progress: Callable[[int], None] | None = None,
) -> pa.Table:
    """How each measure correlates with the grade, in each segment: Spearman, Pearson, Kendall's tau-b and tau-c.

    Intervals leave out one query at a time (`stats.correlation_interval`), so several rows of one query are no more
    than one query. `best_value` is an in-sample maximum: read it as an upper end, not as a finding.

    Args:
        graded: `schema.GRADED`. Rows without a grade are left out.
        by: What makes a segment, beside data set and embedder. "ratio": K / N_p rounded to one decimal, such as
            "K/N_p=0.5". "width": "narrow" (K < N_p) and "wide" (K >= N_p).
        alphas: The grid for `best_value`, each in 0..1; None = 0, 0.01, ..., 1. An alpha at which a measure is
            undefined in some row (Fe at 0, with no positive in the top 2K) is passed over.
        level: Confidence level of `low`..`high`, strictly between 0 and 1.
        on_progress: Called with 1 for each finished segment.

    Returns:
        `schema.CORRELATIONS`, by data set, embedder, segment, measure and coefficient. `value`, `low`, `high` at alpha
        = 0.5; `best_value` and `best_alpha` (of equals the one nearest 0.5) null where the measure has no alpha. NaN =
        undefined, with the reason: a constant measure or grade, fewer than 3 rows; for the interval fewer than 5
        queries. `n_rows` and `n_queries` are what the measure was computed on. The table's metadata say under
        "n_ungraded" how many rows had no grade.

    Raises:
        SchemaError: A column is missing or has another type.
        InputError: Counts that cannot be (more labels than K, more positives than N_p, ...), an alpha outside 0..1,
            an unknown `by`.

    Source:
        Schwartz, Vasilyev, Sawaya, "How important is Recall for Measuring Retrieval Quality?", arXiv 2512.20854 (2025).
    """
    grid = _checked_alphas(alphas)
    rows = _rows(check(graded, GRADED, what="graded answers"))
    measures = _measures(rows, grid)
    records: list[dict[str, Any]] = []
    for segment in _segments(rows, by):
        records += _correlations(segment, rows, measures, grid, level)
        if on_progress is not None:
            on_progress(1)
    table = pa.Table.from_pylist(records, schema=CORRELATIONS)
    return table.replace_schema_metadata({"n_ungraded": str(int(np.isnan(rows.grade).sum()))})


def _checked_alphas(alphas: Sequence[float] | None) -> Floats:
    grid = np.asarray(ALPHAS if alphas is None else alphas, dtype=np.float64)
    if grid.ndim != 1 or not grid.size or not ((grid >= 0) & (grid <= 1)).all():
        raise InputError(f"alphas must be at least one number in 0..1, got {grid.tolist()}")
    return grid


def _rows(graded: pa.Table) -> _Rows:
    labels = from_arrow(graded.column("labels"))
    positive = labels.valid & (labels.values >= 1)
    rows = _Rows(
        n_p=segment_sum(positive, labels.offsets).astype(np.int64),
        n_n=segment_sum(labels.valid & ~positive, labels.offsets).astype(np.int64),
        K=_integers(graded, "cutoff"),
        N_p=_integers(graded, "n_relevant"),
        n_2k=_integers(graded, "n_positive_2k"),
        labels=Ragged(positive.astype(np.float64), labels.offsets, labels.valid),
        grade=graded.column("grade").to_numpy().astype(np.float64),
        query=np.unique(_strings(graded, "query_id"), return_inverse=True)[1],
        dataset=_strings(graded, "dataset"),
        embedder=_strings(graded, "embedder"),
    )
    _check_counts(rows, graded)
    return rows


def _integers(graded: pa.Table, name: str) -> Ints:
    values: Ints = graded.column(name).fill_null(_NO_COUNT).to_numpy().astype(np.int64)
    return values


def _strings(graded: pa.Table, name: str) -> npt.NDArray[np.str_]:
    return np.array(graded.column(name).to_pylist(), dtype=np.str_)


def _check_counts(rows: _Rows, graded: pa.Table) -> None:
    """Every row in which a count contradicts another, at once."""
    known = rows.n_2k != _NO_COUNT
    rules = {
        "cutoff is below 1": rows.K < 1,
        "n_relevant is below 1": rows.N_p < 1,
        "there are more labels than the cutoff": rows.labels.lengths > rows.K,
        "there are more positive labels than n_relevant": rows.n_p > rows.N_p,
        "n_positive_2k is less than the positives in the top K": known & (rows.n_2k < rows.n_p),
    }
    problems = [_problem(graded, int(row), text) for text, broken in rules.items() for row in np.flatnonzero(broken)]
    if problems:
        raise InputError.collect(problems)


def _problem(graded: pa.Table, row: int, text: str) -> str:
    query, embedder, cutoff = (graded.column(name)[row].as_py() for name in ("query_id", "embedder", "cutoff"))
    return f"graded answers, row {row + 1} (query {query!r}, {embedder}, K={cutoff}): {text}"


def _measures(rows: _Rows, grid: Floats) -> list[_Measured]:
    n_e = np.where(rows.n_2k == _NO_COUNT, nan, rows.n_2k)
    each_row = np.arange(len(rows.K))
    return [
        _plain("n_p", lambda n_p: n_p, rows.n_p),
        _plain("P", precision, rows.n_p, rows.K),
        _plain("R", recall, rows.n_p, rows.N_p),
        _over_alpha("F", f_alpha, grid, rows.n_p, rows.K, rows.N_p),
        _over_alpha("Fe(x=2)", fe_alpha, grid, rows.n_p, rows.K, n_e),
        _over_alpha("T(form=count)", _t_count, grid, rows.n_p, rows.n_n, rows.K),
        *(_Measured(f"nDCG(ideal={ideal})", None, _ndcg(rows, ideal), each_row) for ideal in ("retrieved", "qrels")),
    ]


def _plain(name: str, at: Callable[..., Floats], *counts: npt.NDArray[Any]) -> _Measured:
    states, state = _states(counts)
    return _Measured(name, None, _decided(at(*states)), state)


def _over_alpha(name: str, at: Callable[..., Floats], grid: Floats, *counts: npt.NDArray[Any]) -> _Measured:
    states, state = _states(counts)
    return _Measured(name, _decided(at(*states, grid[:, None])), _decided(at(*states, FIXED_ALPHA)), state)


def _states(counts: tuple[npt.NDArray[Any], ...]) -> tuple[Floats, Ints]:
    """The distinct combinations of the counts, one row a count, and which one each row has."""
    code = np.zeros(len(counts[0]), dtype=np.int64)
    for count in counts:
        values, index = np.unique(count, return_inverse=True)
        code = code * max(1, len(values)) + index
    _, first, state = np.unique(code, return_index=True, return_inverse=True)
    return np.stack(counts)[:, first].astype(np.float64), state


def _t_count(n_p: Floats, n_n: Floats, K: Floats, alpha: npt.ArrayLike) -> Floats:
    return t_alpha(n_p, n_n, K, alpha, form="count")


def _decided(values: Floats) -> Floats:
    """Values without the rounding errors that would break ties."""
    return np.round(values, _DECIMALS)


def _ndcg(rows: _Rows, ideal: str) -> Floats:
    """nDCG of every row at once: no row has more than its own K labels, so that one large cutoff serves all."""
    depth = int(rows.K.max(initial=1))
    n_ideal = np.minimum(rows.K, rows.N_p)
    pool = Ragged(
        np.ones(n_ideal.sum()), np.concatenate([[0], np.cumsum(n_ideal)]), np.ones(n_ideal.sum(), dtype=np.bool_)
    )
    kernel = Measure.of("nDCG", depth, ideal=ideal).definition.kernel
    return _decided(kernel(rows.labels, pool, cutoff=depth, ideal=ideal))


def _segments(rows: _Rows, by: str) -> Iterator[_Segment]:
    """The segments in order, each with its rows, graded or not."""
    names, ratios, number = _ranges(rows, by)
    datasets, dataset = np.unique(rows.dataset, return_inverse=True)
    embedders, embedder = np.unique(rows.embedder, return_inverse=True)
    keys, segment = np.unique(np.stack([dataset, embedder, number]), axis=1, return_inverse=True)
    order = np.argsort(segment.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(segment.reshape(-1), minlength=keys.shape[1]))
    for (d, e, r), members in zip(keys.T, np.split(order, ends)[:-1], strict=True):
        yield _Segment(str(datasets[d]), str(embedders[e]), names[r], ratios[r], members)


def _ranges(rows: _Rows, by: str) -> tuple[list[str], Sequence[float | None], Ints]:
    """Names and ratios of the ranges of K against N_p, and which one each row lies in."""
    if by == "width":
        return ["narrow", "wide"], [None, None], (rows.N_p <= rows.K).astype(np.int64)
    if by != "ratio":
        raise InputError(f"by must be 'ratio' or 'width', got {by!r}")
    pairs, pair = np.unique(np.stack([rows.K, rows.N_p]), axis=1, return_inverse=True)
    rounded = np.array([round(K / N_p, 1) for K, N_p in pairs.T.tolist()], dtype=np.float64)
    ratios, of_pair = np.unique(rounded, return_inverse=True)
    return [f"K/N_p={ratio:.1f}" for ratio in ratios], ratios.tolist(), of_pair[pair.reshape(-1)]


def _correlations(
    segment: _Segment, rows: _Rows, measures: list[_Measured], grid: Floats, level: float
) -> Iterator[dict[str, Any]]:
    members = segment.rows[~np.isnan(rows.grade[segment.rows])]
    for measure in measures:
        kept = members[~np.isnan(measure.fixed[measure.state[members]])]
        for found in _one_measure(measure, kept, rows, grid, level):
            yield {
                "dataset": segment.dataset,
                "embedder": segment.embedder,
                "segment": segment.name,
                "ratio": segment.ratio,
                "measure": measure.name,
                **found,
            }


def _one_measure(measure: _Measured, kept: Ints, rows: _Rows, grid: Floats, level: float) -> Iterator[dict[str, Any]]:
    table = tabulate(measure.fixed[measure.state[kept]], rows.grade[kept])
    whole = table_association(table)
    intervals = table_intervals(table, rows.query[kept], whole=whole, level=level)
    best = {} if measure.grid is None else _best(measure.grid, measure.state[kept], table, grid)
    for name in COEFFICIENTS:
        reason = whole.reason or intervals[name].reason
        yield {
            "coefficient": name,
            "value": getattr(whole, name),
            "low": intervals[name].low,
            "high": intervals[name].high,
            "best_value": best[name].value if best else None,
            "best_alpha": best[name].alpha if best else None,
            "alpha_matters": best[name].alpha_matters if best else False,
            "n_rows": len(kept),
            "n_queries": intervals[name].n,
            "reason": _REASONS.get(reason, reason) or None,
        }


def _best(values: Floats, state: Ints, table: ContingencyTable, grid: Floats) -> dict[str, BestAlpha]:
    """The maxima over the grid, from the table of the segment's states and grades."""
    if len(state) < MIN_ROWS:
        return dict.fromkeys(COEFFICIENTS, BestAlpha(nan, nan, alpha_matters=False))
    states, row = np.unique(state, return_inverse=True)
    shape = (len(states), len(table.y_values))
    weights = np.bincount(row * shape[1] + table.column, minlength=shape[0] * shape[1]).reshape(shape)
    return best_alpha(values[:, states], table.y_values, weights.astype(np.float64), grid)
