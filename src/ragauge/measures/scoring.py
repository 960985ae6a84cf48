"""Judged rankings become scores: one row a ranking, one column a measure.

A score is a number, NaN where the measure is undefined for that ranking (its reference page says when), or null where
it could not be computed, as it needs the pool and the query has none. Only rankings are scored: a labelled query for
which a run returned no ranking at all has no row here, and whoever takes the mean decides what it counts as.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError, MeasureError
from ragauge.measures.attainable import attainable
from ragauge.measures.bounds import has_bounds, label_bounds
from ragauge.measures.definition import format_value
from ragauge.measures.expected import expected_values
from ragauge.measures.measure import Measure
from ragauge.measures.registry import DEFINITIONS
from ragauge.measures.ties import order_matters
from ragauge.ragged import (
    Ragged,
    blocks,
    descending,
    from_arrow,
    from_labels,
    head,
    known,
    positions,
    row_ids,
    slice_rows,
    take_rows,
)
from ragauge.schema import JUDGED, conform

__all__ = ["ScoreBounds", "attainable_values", "judged_share", "score", "score_bounds", "tied_rankings"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoreBounds:
    """The lowest and the highest values that missing labels allow; tables shaped like that of `score`.

    Attributes:
        low: Null where a measure has no such bounds (Judged, RBPres), or needs the pool and the query has none.
        high: The same.
    """

    low: pa.Table
    high: pa.Table


def score(judged: pa.Table, measures: Sequence[Measure], *, ties: Literal["given", "expected"] = "given") -> pa.Table:
    """The value of each measure for each ranking.

    Args:
        judged: `schema.JUDGED`, as `judge` makes it.
        measures: At least one; one that is given twice becomes one column.
        ties: "given": documents count in the order they stand. "expected": the mean over all orders of neighbours with
            equal scores, exactly.

    Returns:
        Columns query_id, run, and a float64 column a measure, named by `str(measure)`; rows in the order of `judged`.
        NaN = undefined, null = needs the pool and the query has none.

    Raises:
        MeasureError: No measure, or one that needs the pool while no row has one.
        InputError: A label is not finite, retrieved labels are missing from the pool of their query, or a mean over
            ties would need too many orders to be gone through.
        SchemaError: A column is missing or has another type.

    >>> from ragauge import judge, parse_measure, read_labels, read_rankings
    >>> judged = judge(read_rankings({"q1": {"a": 0.5, "b": 0.5}}), read_labels({"q1": {"a": 1, "b": 0}}))
    >>> [score(judged, [parse_measure("RR")], ties=t).column("RR").to_pylist() for t in ("given", "expected")]
    [[0.5], [0.75]]
    """
    if ties not in ("given", "expected"):
        raise InputError(f"ties must be 'given' or 'expected', got {ties!r}")
    rows = _Rows(judged, measures)
    columns = {}
    for measure in rows.measures:
        part = rows.part(measure)
        if ties == "given":
            values = measure.values(part.labels, part.pool)
        else:
            values = expected_values(part.labels, part.pool, part.of(rows.scores), measure)
        columns[measure] = part.spread(values)
    return rows.table(columns)


def score_bounds(judged: pa.Table, measures: Sequence[Measure], *, max_label: float | None = None) -> ScoreBounds:
    """The lowest and highest value of each measure for each ranking, over all labels its unjudged documents could have.

    What was not retrieved stays as it is. `ragauge.measures.bounds` says which labellings are the extreme ones.

    Args:
        judged: `schema.JUDGED`.
        measures: As for `score`.
        max_label: Top of the label scale; None = the highest label there is, at least 1.

    Raises:
        InputError: As `score`; or a label above `max_label`.
        MeasureError: As `score`.

    >>> from ragauge import judge, parse_measure, read_labels, read_rankings
    >>> judged = judge(read_rankings({"q1": {"a": 0.9, "b": 0.5}}), read_labels({"q1": {"a": 1}}))
    >>> found = score_bounds(judged, [parse_measure("P@2")])
    >>> found.low.column("P@2").to_pylist(), found.high.column("P@2").to_pylist()
    ([0.5], [1.0])
    """
    rows = _Rows(judged, measures)
    top = rows.top_of_scale(max_label)
    low, high = {}, {}
    for measure in rows.measures:
        part = rows.part(measure)
        if has_bounds(measure):
            found = label_bounds(part.labels, part.pool, measure, max_label=top)
            low[measure], high[measure] = part.spread(found.low), part.spread(found.high)
        else:
            low[measure] = high[measure] = pa.nulls(rows.labels.n_rows, pa.float64())
    return ScoreBounds(rows.table(low), rows.table(high))


def judged_share(judged: pa.Table, measure: Measure) -> float:
    """Share of the documents a measure reads that are judged, over all rankings together.

    0..1; 0 = none has a label, 1 = every one has; NaN when no document was retrieved. Unlike the mean of Judged@K, each
    document weighs the same. Fe reads down to round(xK).

    Args:
        judged: `schema.JUDGED`.
        measure: Whose depth limits what is counted.
    """
    judged = conform(judged, JUDGED, what="judged rankings")
    top = head(from_labels(judged.column("labels")), measure.depth)
    return float(top.valid.mean()) if top.valid.size else float("nan")


def tied_rankings(judged: pa.Table, measure: Measure) -> Bools:
    """Whether each ranking has documents with equal scores and different labels within the measure's depth.

    Where none has, the order of ties changes nothing. A tie counts when it begins above the cutoff.

    Args:
        judged: `schema.JUDGED`.
        measure: Whose depth limits what is looked at.
    """
    judged = conform(judged, JUDGED, what="judged rankings")
    labels, scores = from_labels(judged.column("labels")), from_arrow(judged.column("scores"))
    return order_matters(labels, scores, depth=measure.depth)


def attainable_values(judged: pa.Table, measure: Measure) -> Floats | None:
    """The largest value the measure can reach for the query of each ranking, NaN where N_p is unknown.

    Returns:
        One a ranking; None for a measure that can always reach its upper bound, or of which more is not better.
    """
    rows = _Rows(judged, [measure])
    found = attainable(measure, rows.pool)
    return None if found is None else np.where(rows.has_pool, found, np.nan)


@dataclass(frozen=True)
class _Part:
    """The rankings a measure can be computed for, as its kernel takes them, and where they stand among all."""

    labels: Ragged
    pool: Ragged
    among: Bools

    def of(self, all_rows: Ragged) -> Ragged:
        """The rows of these rankings."""
        return all_rows if self.among.all() else take_rows(all_rows, np.flatnonzero(self.among))

    def spread(self, values: Floats) -> pa.Array:
        """One value a ranking, null for the others."""
        if self.among.all():
            return pa.array(values)
        column = np.zeros(len(self.among))
        column[self.among] = values
        return pa.array(column, mask=~self.among)


class _Rows:
    """Judged rankings, checked, as arrays; each column is read when it is first needed."""

    def __init__(self, judged: pa.Table, measures: Sequence[Measure]) -> None:
        self.judged = conform(judged, JUDGED, what="judged rankings")
        self.measures = list(dict.fromkeys(measures))
        self.has_pool = np.asarray(pc.is_valid(self.judged.column("pool_labels")).to_numpy(), dtype=np.bool_)
        _check_measures(self.measures, self.has_pool)
        self.labels = _checked(from_labels(self.judged.column("labels")), self.judged)

    @cached_property
    def pool(self) -> Ragged:
        return _checked(from_labels(self.judged.column("pool_labels")), self.judged)

    @cached_property
    def scores(self) -> Ragged:
        return from_arrow(self.judged.column("scores"))

    @cached_property
    def with_pool(self) -> _Part:
        """The rankings whose query has a pool."""
        everywhere = _Part(self.labels, self.pool, self.has_pool)
        part = _Part(everywhere.of(self.labels), everywhere.of(self.pool), self.has_pool)
        _check_contained(part.labels, part.pool, self.judged.column("query_id").filter(pa.array(self.has_pool)))
        return part

    @cached_property
    def without_pool(self) -> _Part:
        """All rankings, for measures that read nothing else: their pools stay empty."""
        n_rows = self.labels.n_rows
        nothing = Ragged(np.zeros(0), np.zeros(n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.bool_))
        return _Part(self.labels, nothing, np.ones(n_rows, dtype=np.bool_))

    def part(self, measure: Measure) -> _Part:
        return self.with_pool if measure.needs_pool else self.without_pool

    def table(self, columns: dict[Measure, pa.Array]) -> pa.Table:
        """Query, run and a column a measure."""
        keys = {name: self.judged.column(name) for name in ("query_id", "run")}
        return pa.table(keys | {str(measure): values for measure, values in columns.items()})

    def top_of_scale(self, max_label: float | None) -> float:
        highest = float(max(self.labels.values.max(initial=0.0), self.pool.values.max(initial=0.0)))
        if max_label is None:
            return max(highest, 1.0)
        if highest > max_label:
            raise InputError(f"a label of {format_value(highest)} exceeds max_label={format_value(max_label)}")
        return max_label


def _check_measures(measures: list[Measure], has_pool: Bools) -> None:
    if not measures:
        raise MeasureError("no measure given; give at least one, such as 'P@10'")
    needing = [str(measure) for measure in measures if measure.needs_pool]
    if needing and has_pool.size and not has_pool.any():
        free = ", ".join(definition.without_pool for definition in DEFINITIONS if definition.without_pool)
        raise MeasureError(
            f"{', '.join(needing)} must know the labels of documents that were not retrieved, and no query has them; "
            f"give complete labels (qrels), or use what works without: {free}"
        )


def _checked(ragged: Ragged, rows: pa.Table) -> Ragged:
    """`ragged`, if every label is finite."""
    if not np.isfinite(ragged.values).all():
        bad = row_ids(ragged.offsets)[~np.isfinite(ragged.values)]
        names = [f"a label of query {rows.column('query_id')[at].as_py()!r} is not finite" for at in np.unique(bad)]
        raise InputError.collect(names)
    return ragged


def _check_contained(labels: Ragged, pool: Ragged, query_ids: pa.ChunkedArray) -> None:
    """Retrieved labels are among those of the pool: the j-th largest of a row is at most the pool's j-th largest.

    It is what keeps n_p <= N_p for every `rel`, and DCG below its ideal.
    """
    bad = [
        rows.start + _not_contained(slice_rows(labels, rows), slice_rows(pool, rows))
        for rows in blocks(labels.offsets + pool.offsets)
    ]
    if any(rows.size for rows in bad):
        raise InputError.collect(
            [
                f"query {query_ids[at].as_py()!r}: labels of its ranking are not all in pool_labels; "
                "pool_labels must hold every label of the query"
                for at in np.concatenate(bad).tolist()
            ]
        )


def _not_contained(labels: Ragged, pool: Ragged) -> npt.NDArray[np.int64]:
    mine, theirs = descending(known(labels)), descending(known(pool))
    short = mine.lengths > theirs.lengths
    row, rank = row_ids(mine.offsets), positions(mine.offsets)
    inside = ~short[row]
    above = mine.values[inside] > theirs.values[theirs.offsets[row[inside]] + rank[inside]]
    return np.union1d(np.flatnonzero(short), row[inside][above])
