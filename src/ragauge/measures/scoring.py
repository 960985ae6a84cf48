"""Judged rankings become scores: one row a ranking, one column a measure.

A score is a number, NaN where the measure is undefined for that ranking (its reference page says when), or null where
it could not be computed, as it needs the pool and the query has none. Only rankings are scored: a labelled query for
which a run returned no ranking at all has no row here, and whoever takes the mean decides what it counts as.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError, MeasureError
from ragauge.measures.gain import descending
from ragauge.measures.measure import Measure
from ragauge.measures.registry import DEFINITIONS
from ragauge.ragged import Ragged, from_arrow, head, positions, segment_sum
from ragauge.schema import JUDGED, conform

__all__ = ["judged_share", "score"]

Bools = npt.NDArray[np.bool_]


def score(judged: pa.Table, measures: Sequence[Measure]) -> pa.Table:
    """The value of each measure for each ranking.

    Args:
        judged: `schema.JUDGED`, as `judge` makes it.
        measures: At least one; one that is given twice becomes one column.

    Returns:
        Columns query_id, run, and a float64 column a measure, named by `str(measure)`; rows in the order of `judged`.
        NaN = undefined, null = needs the pool and the query has none.

    Raises:
        MeasureError: No measure, or one that needs the pool while no row has one.
        InputError: A label is not finite, or retrieved labels are missing from the pool of their query.
        SchemaError: A column is missing or has another type.
    """
    judged = conform(judged, JUDGED, what="judged rankings")
    measures = list(dict.fromkeys(measures))
    has_pool = np.asarray(pc.is_valid(judged.column("pool_labels")).to_numpy(), dtype=np.bool_)
    _check_measures(measures, has_pool)
    labels = _checked(from_arrow(judged.column("labels")), judged)
    columns = {name: judged.column(name) for name in ("query_id", "run")}
    pooled = _Pooled(judged, has_pool) if any(measure.needs_pool for measure in measures) else None
    for measure in measures:
        columns[str(measure)] = pooled.values(measure) if measure.needs_pool and pooled else _values(labels, measure)
    return pa.table(columns)


def judged_share(judged: pa.Table, measure: Measure) -> float:
    """Share of the documents a measure reads that are judged, over all rankings together.

    0..1; 0 = none has a label, 1 = every one has; NaN when no document was retrieved. Unlike the mean of Judged@K, each
    document weighs the same. Fe reads down to round(xK).

    Args:
        judged: `schema.JUDGED`.
        measure: Whose depth limits what is counted.
    """
    judged = conform(judged, JUDGED, what="judged rankings")
    top = head(from_arrow(judged.column("labels")), measure.depth)
    return float(top.valid.mean()) if top.valid.size else float("nan")


class _Pooled:
    """The rankings whose query has a pool, and how their values spread over all rankings."""

    def __init__(self, judged: pa.Table, has_pool: Bools) -> None:
        rows = judged.filter(pa.array(has_pool))
        self.has_pool = has_pool
        self.labels = from_arrow(rows.column("labels"))
        self.pool = _checked(from_arrow(rows.column("pool_labels")), rows)
        _check_contained(self.labels, self.pool, rows)

    def values(self, measure: Measure) -> pa.Array:
        values = np.zeros(len(self.has_pool))
        values[self.has_pool] = _kernel(self.labels, self.pool, measure)
        return pa.array(values, mask=~self.has_pool)


def _values(labels: Ragged, measure: Measure) -> pa.Array:
    """For a measure that reads the ranking alone: its pool stays empty."""
    no_pool = Ragged(np.zeros(0), np.zeros(labels.n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    return pa.array(_kernel(labels, no_pool, measure))


def _kernel(labels: Ragged, pool: Ragged, measure: Measure) -> npt.NDArray[np.float64]:
    return measure.definition.kernel(labels, pool, cutoff=measure.cutoff, **dict(measure.parameters))


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
        bad = _rows_of(ragged)[~np.isfinite(ragged.values)]
        names = [f"a label of query {rows.column('query_id')[at].as_py()!r} is not finite" for at in np.unique(bad)]
        raise InputError.collect(names)
    return ragged


def _check_contained(labels: Ragged, pool: Ragged, rows: pa.Table) -> None:
    """Retrieved labels are among those of the pool: the j-th largest of a row is at most the pool's j-th largest.

    It is what keeps n_p <= N_p for every `rel`, and DCG below its ideal.
    """
    n_judged = segment_sum(labels.valid, labels.offsets).astype(np.int64)
    n_pool = segment_sum(pool.valid, pool.offsets).astype(np.int64)
    short = n_judged > n_pool
    mine, theirs = descending(labels), descending(pool)
    row, rank = _rows_of(labels), positions(labels.offsets)
    inside = mine.valid & ~short[row]
    above = mine.values[inside] > theirs.values[theirs.offsets[row[inside]] + rank[inside]]
    bad = np.union1d(np.flatnonzero(short), row[inside][above])
    if bad.size:
        raise InputError.collect(
            [
                f"query {rows.column('query_id')[at].as_py()!r}: labels of its ranking are not all in pool_labels; "
                "pool_labels must hold every label of the query"
                for at in bad.tolist()
            ]
        )


def _rows_of(ragged: Ragged) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(ragged.n_rows), ragged.lengths)
