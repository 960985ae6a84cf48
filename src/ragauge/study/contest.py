"""Which measure follows the grades best: which may be the best in each segment, and over all of them.

One idea: the largest correlation of a table is no finding. In each segment the measures meet on the same answers, the
bootstrap over queries says which of them may be the best (`stats.confidence_set`), and the jackknife over queries how
far each lies behind the leader. Segments are then pooled on Fisher's scale, a query that comes in several of them being
one query still.

All measures are taken at alpha = 0.5, fixed in advance: nothing is tuned, so nothing is flattered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.schema import CONTEST, check
from ragauge.stats import COEFFICIENTS, MIN_COMPARED, MIN_DRAWS
from ragauge.stats.intervals import Labels, cluster_codes
from ragauge.study.cells import graded_cells
from ragauge.study.contestants import MEASURES, row_values
from ragauge.study.field import pooled_field, segment_field
from ragauge.study.heat import Heat, Place, draw_queries, run_heat
from ragauge.study.segments import By, segments_of
from ragauge.study.standings import IN, LEADER, WINNER, standings

__all__ = ["BY_COST", "POOLED", "Place", "contest", "contest_values", "verdicts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POOLED = "*"
"""Stands for data set, embedder or segment in a row that is pooled over them."""

BY_COST = (
    *("n_p", "P", "T(form=count)"),  # labels of the top K
    *("DCG", "nDCG(ideal=retrieved)"),  # and their order
    "Fe(x=2)",  # labels of the top 2K
    *("R", "F", "nDCG(ideal=qrels)"),  # N_p
)
"""The measures, those that need to know least first; of measures that cannot be told apart, take the first."""


def contest(
    graded: pa.Table,
    *,
    by: By = "ratio",
    coefficient: str = "spearman",
    against: str | None = None,
    n_draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    on_progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """Which measure may be the best at following the grade, in each segment and pooled.

    In a segment: the correlation of each measure with the grade; the confidence set by bootstrap over queries, at the
    level `stats.default_level` gives; the difference of each other measure from the leader, its p adjusted over the
    measures of the segment (Holm) and over the whole table (Benjamini-Hochberg). The intervals of correlation and
    difference are those of the jackknife over queries. The leader is chosen by the same data, so a small p beside it is
    optimistic; the set is not, nor is a difference from a measure named in advance with `against`.

    Pooled, over the segments of one name and over all, where two or more have at least 20 queries: the value is the
    mean of z = atanh(correlation) weighted by queries less 3, turned back; the set is that of this mean; the difference
    is that of two such means, in z, with the random-effects error and the tau^2 and I^2 of `stats.pool_segments`.

    Args:
        graded: `schema.GRADED`. Answers without a grade are left out.
        by: What makes a segment, as in `correlate`.
        coefficient: A name of `stats.COEFFICIENTS`.
        against: The measure that differences are taken from, such as "F"; None = the leader of each segment.
        n_draws: Bootstrap draws, 100 or more.
        seed: Where the draws start; the same seed gives the same table.
        level: Confidence level of the intervals.
        on_progress: Called after each segment with how many are finished, and of how many.

    Returns:
        `schema.CONTEST`, by segment, then by value, the leader first; pooled rows, with "*" for what they are pooled
        over, last. A measure that is undefined in an answer or constant is "not compared", as are all in a segment of
        fewer than 20 queries; `reason` says so.

    Raises:
        SchemaError: A column is missing or has another type.
        InputError: As `correlate`; an unknown coefficient; fewer than 100 draws.
    """
    segments = [segment.load() for segment in segments_of(graded_cells(graded), by)]
    measures = sorted(MEASURES, key=lambda measure: _cost(measure.name))
    return contest_values(
        {measure.name: _join([row_values(measure, segment) for segment in segments]) for measure in measures},
        _join([segment.cells.grade[segment.cell] for segment in segments]),
        _join([segment.query_number[segment.query] for segment in segments]),
        [Place(s.dataset, s.embedder, s.name, s.ratio) for s in segments for _ in s.cell],
        coefficient=coefficient,
        against=against,
        n_draws=n_draws,
        seed=seed,
        level=level,
        on_progress=on_progress,
    )


def contest_values(
    values: Mapping[str, npt.ArrayLike],
    grade: npt.ArrayLike,
    queries: Labels,
    places: Sequence[Place],
    *,
    coefficient: str = "spearman",
    against: str | None = None,
    n_draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    on_progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """`contest` of any measures: their values in each answer beside its grade.

    Args:
        values: By name, the measure that is simplest to have first, one value an answer; NaN = undefined.
        grade: One an answer; NaN = not graded: the answer is left out.
        queries: The query of each answer.
        places: The segment of each answer.
        coefficient: As in `contest`, like what follows.
        against: As in `contest`.
        n_draws: As in `contest`.
        seed: As in `contest`.
        level: As in `contest`.
        on_progress: As in `contest`.

    Returns:
        `schema.CONTEST`, places in the order they first come in.

    Raises:
        InputError: The columns differ in length; a value is infinite; `against` is no measure given; an unknown
            coefficient; fewer than 100 draws.
    """
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    grades = np.asarray(grade, dtype=np.float64)
    _check(columns, grades, queries, places, coefficient, against, n_draws)
    names = np.unique([place.dataset for place in places], return_inverse=True)[1]
    pairs, query = np.unique(
        np.stack([names, cluster_codes(queries, len(grades), "queries")]), axis=1, return_inverse=True
    )
    counts = draw_queries(pairs[0], n_draws, np.random.default_rng(seed))
    heats: dict[Place, Heat] = {}
    rows_of = _rows_of(places)
    for finished, (place, rows) in enumerate(rows_of.items(), start=1):
        members = rows[~np.isnan(grades[rows])]
        here = {name: column[members] for name, column in columns.items()}
        heats[place] = run_heat(
            here, grades[members], query.reshape(-1)[members], coefficient=coefficient, counts=counts
        )
        if on_progress is not None:
            on_progress(finished, len(rows_of))
    single = standings(((place, segment_field(heat, level=level)) for place, heat in heats.items()), against=against)
    pooled = standings(((p, pooled_field(members, level=level)) for p, members in _pools(heats)), against=against)
    records = [record | {"coefficient": coefficient} for record in [*single, *pooled]]
    return pa.Table.from_pylist(records, schema=CONTEST)


def _check(
    values: Mapping[str, Floats],
    grade: Floats,
    queries: Labels,
    places: Sequence[Place],
    coefficient: str,
    against: str | None,
    n_draws: int,
) -> None:
    lengths = {len(grade), len(queries), len(places), *(column.size for column in values.values())}
    if len(lengths) > 1:
        raise InputError(f"values, grade, queries and places must be equally long, got {sorted(lengths)}")
    if coefficient not in COEFFICIENTS:
        raise InputError(f"coefficient must be one of {', '.join(COEFFICIENTS)}, got {coefficient!r}")
    if against is not None and against not in values:
        raise InputError(f"against must be one of {', '.join(values)}, got {against!r}")
    if n_draws < MIN_DRAWS:
        raise InputError(f"n_draws must be {MIN_DRAWS} or more, got {n_draws}")


def _join(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0)


def _rows_of(places: Sequence[Place]) -> dict[Place, Ints]:
    """The rows of each place, in the order the places first come in."""
    numbers: dict[Place, int] = {}
    code = np.array([numbers.setdefault(place, len(numbers)) for place in places], dtype=np.int64)
    return {place: np.flatnonzero(code == number) for place, number in numbers.items()}


def verdicts(contested: pa.Table) -> dict[tuple[str, str, str], str]:
    """What may be said of each segment, in one sentence, by (data set, embedder, segment).

    A winner is named only where all others are struck out; else the leader, what cannot be told from it, and the
    measure among them that needs to know least.

    Raises:
        SchemaError: The table is not `schema.CONTEST`.
    """
    rows = check(contested, CONTEST, what="the contest").to_pylist()
    key = itemgetter("dataset", "embedder", "segment")
    return {place: _verdict(list(members)) for place, members in groupby(rows, key=key)}


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    names: dict[str, list[str]] = {}
    for row in rows:
        if row["standing"] in (WINNER, LEADER, IN):
            names.setdefault(row["same_as"] or row["measure"], []).append(row["measure"])
    if not names:
        return f"not decided: {rows[0]['reason']}"
    first, *others = (" = ".join(group) for group in names.values())
    if not others:
        return f"best: {first}"
    simplest = min((name for group in names.values() for name in group), key=_cost)
    return f"no winner: {first} leads; not distinguishable: {', '.join(others)}; the simplest is {simplest}"


def _cost(measure: str) -> int:
    return BY_COST.index(measure) if measure in BY_COST else len(BY_COST)


def _pools(heats: Mapping[Place, Heat]) -> Iterator[tuple[Place, list[Heat]]]:
    """What is pooled: the segments of one name, then all; only those that hold a contest, and two at least."""
    held = {place: heat for place, heat in heats.items() if heat.entrants and len(heat.queries) >= MIN_COMPARED}
    names = {place.segment: place.ratio for place in held}
    for name in sorted(names, key=lambda name: (names[name] or 0.0, name)):
        members = [heat for place, heat in held.items() if place.segment == name]
        if len(members) > 1:
            yield Place(POOLED, POOLED, name, names[name]), members
    if len(names) > 1:
        yield Place(POOLED, POOLED, POOLED, None), list(held.values())
