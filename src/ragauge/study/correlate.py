"""Which measure of the retrieved top K follows the grades of the answers that were written from it.

One idea: inside a segment (one data set, one embedder, one range of K against N_p) a measure is a function of few
counts, so a segment is the table of how often each state of a measure got each grade. What is said of a measure: its
correlation at an alpha fixed in advance, with an interval; its maximum over alpha, which is in-sample; that maximum
corrected for the choice; and its correlation inside queries.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.schema import CORRELATIONS
from ragauge.stats.alpha import PREFERRED_ALPHA
from ragauge.stats.association import COEFFICIENTS
from ragauge.stats.best import Alphas, checked_alphas
from ragauge.stats.intervals import Interval, check_level, jackknife_interval
from ragauge.stats.jackknife import jackknife
from ragauge.stats.within import WITHIN_COEFFICIENTS, associate_within
from ragauge.study.cells import graded_cells
from ragauge.study.contestants import MEASURES, Contestant
from ragauge.study.held_out import alphas_of_other_data_sets
from ragauge.study.segments import By, SegmentCells, SegmentRows, segments_of
from ragauge.study.tables import MeasureTable, measure_table
from ragauge.study.tuned import Plan, tuned_records

__all__ = ["DEFAULT_COEFFICIENTS", "FIXED_ALPHA", "correlate"]

DEFAULT_COEFFICIENTS = ("spearman", "pearson", "tau_b", "tau_c")
"""The coefficients of the paper."""

FIXED_ALPHA = PREFERRED_ALPHA
"""The alpha fixed in advance, at which `value` and its interval are."""

_ROWS_FOR_THREADS = 1_000_000

Record = dict[str, Any]


def correlate(
    graded: pa.Table | Iterable[pa.RecordBatch],
    *,
    by: By = "ratio",
    alphas: Alphas = "exact",
    coefficients: Sequence[str] = DEFAULT_COEFFICIENTS,
    level: float = 0.95,
    bootstrap: int = 0,
    held_out: Literal["folds", "datasets"] | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """How each measure correlates with the grade, in each segment.

    Intervals leave out one query at a time (`stats.correlation_interval`), so several rows of one query are no more
    than one query. `best_value` is an in-sample maximum: read it as an upper end, not as a finding; `corrected_value`
    is what is left of it once the choice of alpha is paid for.

    Args:
        graded: `schema.GRADED`, a table or batches of one (of a file larger than memory). Rows without a grade are left
            out.
        by: What makes a segment, beside data set and embedder. "ratio": K / N_p rounded to one decimal, such as
            "K/N_p=0.5". "width": "narrow" (K < N_p) and "wide" (K >= N_p). "all": nothing else.
        alphas: What `best_value` is the maximum over. "exact": all of 0..1. "grid": 0, 0.01, ..., 1. "log": 702 alphas
            dense at both ends. Or numbers in 0..1. An alpha at which a measure is undefined in some row (Fe at 0, with
            no positive in the top 2K) is passed over.
        coefficients: Names of `stats.COEFFICIENTS`.
        level: Confidence level of the intervals, strictly between 0 and 1.
        bootstrap: Replicates (draws of queries) for `corrected_value` and its interval, such as 1000; 0 = not computed.
        held_out: "folds": alpha chosen on four fifths of the queries, the coefficient on the rest, in turn. "datasets":
            alpha chosen on the other data sets (same embedder and range). None = not computed.
        seed: Of the bootstrap and the folds.
        on_progress: Called after each segment with how many are finished, and of how many.

    Returns:
        `schema.CORRELATIONS`, by data set, embedder, segment, measure and coefficient. `value`, `low`, `high` at alpha
        = 0.5; `best_value` and `best_alpha` (of equals one nearest 0.5) null where the measure has no alpha. NaN =
        undefined, with the reason: a constant measure or grade, fewer than 3 rows; for the interval fewer than 5
        queries. `within` compares rows of one query alone (null where no query has two, and for tau_c). `n_rows` and
        `n_queries` are what the measure was computed on. The table's metadata say under "n_ungraded" how many rows had
        no grade.

    Raises:
        SchemaError: A column is missing or has another type.
        InputError: Counts that cannot be (more labels than K, more positives than N_p, ...), an alpha outside 0..1,
            an unknown `by`, coefficient or way to hold out.

    Source:
        Schwartz, Vasilyev, Sawaya, "How important is Recall for Measuring Retrieval Quality?", arXiv 2512.20854 (2025).
    """
    _check(alphas, coefficients, bootstrap, held_out, level)
    plan = Plan(tuple(coefficients), alphas, level, bootstrap, seed, held_out == "folds")
    cells = graded_cells(graded)
    segments = segments_of(cells, by)
    records: list[Record] = []
    for finished, found in enumerate(_each(segments, plan), start=1):
        records += found
        if on_progress is not None:
            on_progress(finished, len(segments))
    if held_out == "datasets":
        _add_held_out(records, [segment.load() for segment in segments], plan)
    table = pa.Table.from_pylist(records, schema=CORRELATIONS)
    return table.replace_schema_metadata({"n_ungraded": str(cells.n_ungraded)})


def _check(alphas: Alphas, coefficients: Sequence[str], bootstrap: int, held_out: str | None, level: float) -> None:
    check_level(level)
    checked_alphas(alphas)
    unknown = [name for name in coefficients if name not in COEFFICIENTS]
    if unknown or not coefficients:
        raise InputError(f"coefficients must be among {', '.join(COEFFICIENTS)}, got {', '.join(unknown) or 'none'}")
    if bootstrap < 0:
        raise InputError(f"bootstrap must be 0 (none) or a number of replicates such as 1000, got {bootstrap}")
    if held_out not in (None, "folds", "datasets"):
        raise InputError(f"held_out must be 'folds', 'datasets' or None, got {held_out!r}")


def _each(segments: list[SegmentRows], plan: Plan) -> Iterator[list[Record]]:
    """The records of each segment, in order. Large arrays are worth threads: numpy works on them outside the lock."""
    if not plan.n_draws and sum(len(segment.rows) for segment in segments) < _ROWS_FOR_THREADS:
        yield from (_segment_records(number, segment, plan) for number, segment in enumerate(segments))
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda number: _segment_records(number, segments[number], plan), range(len(segments)))


def _segment_records(number: int, rows: SegmentRows, plan: Plan) -> list[Record]:
    segment = rows.load()
    about = {
        "dataset": segment.dataset,
        "embedder": segment.embedder,
        "segment": segment.name,
        "ratio": segment.ratio,
    }
    done: dict[bytes, _Fixed] = {}
    return [about | record for measure in MEASURES for record in _measure_records(number, measure, segment, plan, done)]


@dataclass(frozen=True)
class _Fixed:
    """What is said of a measure at its fixed alpha."""

    values: dict[str, float]
    intervals: dict[str, Interval]
    within: dict[str, Record]


def _fixed(table: MeasureTable, plan: Plan) -> _Fixed:
    within = _within(table, plan)
    if table.reason:
        none = Interval(nan, nan, plan.level, table.n_queries, table.reason)
        return _Fixed(dict.fromkeys(plan.names, nan), dict.fromkeys(plan.names, none), within)
    found = jackknife(table.table, table.kind)
    values = {name: float(getattr(found.whole, name)) for name in plan.names}
    intervals = {
        name: jackknife_interval(values[name], getattr(found.without, name), plan.level, counts=table.counts)
        for name in plan.names
    }
    return _Fixed(values, intervals, within)


def _measure_records(
    number: int, measure: Contestant, segment: SegmentCells, plan: Plan, done: dict[bytes, _Fixed]
) -> Iterator[Record]:
    table = measure_table(measure, segment)
    key = table.shape_of_values  # P, R and F are multiples of each other where K / N_p is constant
    if key not in done:
        done[key] = _fixed(table, plan)
    values, intervals, within = done[key].values, done[key].intervals, done[key].within
    tuned = tuned_records(number, measure, table, values, intervals, plan)
    for name in plan.names:
        yield {
            "measure": measure.name,
            "coefficient": name,
            "value": values[name],
            "low": intervals[name].low,
            "high": intervals[name].high,
            "alpha_matters": False,
            **tuned.get(name, {}),
            **within.get(name, {}),
            "n_rows": table.n_rows,
            "n_queries": table.n_queries,
            "reason": table.reason or intervals[name].reason or None,
        }


def _within(table: MeasureTable, plan: Plan) -> dict[str, Record]:
    """Coefficients inside queries; a query of one row has nothing to compare."""
    rows_of_kind = np.bincount(table.kind, minlength=len(table.counts))
    several = rows_of_kind[table.kind] > 1
    if not several.any():
        return {}
    x, y = table.table.x_values[table.table.row[several]], table.table.y_values[table.table.column[several]]
    found = associate_within(x, y, table.kind[several], level=plan.level)
    return {
        name: {
            "within": found.values[name],
            "within_low": found.intervals[name].low,
            "within_high": found.intervals[name].high,
        }
        for name in plan.names
        if name in WITHIN_COEFFICIENTS
    }


def _add_held_out(records: list[Record], segments: list[SegmentCells], plan: Plan) -> None:
    """The coefficient of each data set at the alpha that the others chose."""
    found = alphas_of_other_data_sets(segments, plan.alphas, plan.names)
    for record in records:
        key = (record["embedder"], record["segment"], record["measure"], record["coefficient"], record["dataset"])
        record["held_out"] = found.get(key)
