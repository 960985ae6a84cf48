"""A measure on a segment as tables of states and grades, for the statistics to work on."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ragauge.stats.alpha import AlphaFamily
from ragauge.stats.association import MIN_ROWS, ContingencyTable
from ragauge.stats.bootstrap import QueryCells
from ragauge.study.cells import distinct_rows, numbered
from ragauge.study.contestants import Contestant, fixed_values
from ragauge.study.segments import SegmentCells

__all__ = ["AlphaTable", "MeasureTable", "alpha_table", "measure_table"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MeasureTable:
    """A measure (at its fixed alpha) against the grade in one segment.

    Attributes:
        segment: The segment, cells in which the measure is undefined left out.
        table: Values and grades; its rows are those of one query of each kind.
        kind: The kind of query of each of these rows.
        counts: Queries of each kind.
        reason: Why no coefficient is defined, else "".
    """

    segment: SegmentCells
    table: ContingencyTable
    kind: Ints
    counts: Ints
    reason: str

    @property
    def n_rows(self) -> int:
        return len(self.segment.cell)

    @property
    def shape_of_values(self) -> bytes:
        """Equal for measures that are rising lines of each other on the same rows, to 9 digits of their range."""
        values, rows = self.table.x_values, len(self.segment.cell).to_bytes(8, "little")
        if len(values) < 2:
            return rows
        scaled = np.round((values - values[0]) / (values[-1] - values[0]), 9)
        return b"".join([rows, scaled.tobytes(), self.table.row.astype(np.int32).tobytes()])

    @property
    def n_queries(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True)
class AlphaTable:
    """A measure with alpha in one segment.

    Attributes:
        family: Its distinct states.
        weights: Rows with each state and grade.
        segment: The segment.
        state: The state of each of its cells.
    """

    family: AlphaFamily
    weights: Floats
    segment: SegmentCells
    state: Ints

    @cached_property
    def queries(self) -> QueryCells:
        """The states and grades of each query; cell = state * grades + grade."""
        kinds, n_grades = self.segment.kinds, len(self.segment.grades)
        kept = self.segment.cell[kinds.kept]
        cell = self.state[kept] * n_grades + self.segment.grade_of_cell[kept]
        return QueryCells.of(cell, kinds.of_kept, self.weights.size, counts=kinds.counts)


def measure_table(measure: Contestant, segment: SegmentCells) -> MeasureTable:
    """The table of a measure in a segment."""
    segment = segment.where(measure.defined(segment.cells))
    values, number = numbered(fixed_values(measure, segment.cells))
    x_values, place = np.unique(values, return_inverse=True)
    row = place[number]
    grades, column = segment.grades, segment.grade_of_cell
    cells = _table(row, column, segment.weights, (len(x_values), len(grades)))
    kept = segment.cell[segment.kinds.kept]
    reason = ""
    if len(segment.cell) < MIN_ROWS:
        reason = f"fewer than {MIN_ROWS} rows"
    elif len(x_values) < 2 or len(grades) < 2:
        reason = "the measure is constant" if len(x_values) < 2 else "the grade is constant"
    return MeasureTable(
        segment=segment,
        table=ContingencyTable(x_values, grades, cells, row[kept], column[kept]),
        kind=segment.kinds.of_kept,
        counts=segment.kinds.counts,
        reason=reason,
    )


def alpha_table(family: AlphaFamily, segment: SegmentCells) -> AlphaTable:
    """The states of a measure with alpha; `family` has one a cell of the segment."""
    first, state = distinct_rows([family.start, family.end, family.scale])
    weights = _table(state, segment.grade_of_cell, segment.weights, (len(first), len(segment.grades)))
    return AlphaTable(family.of(first), weights, segment, state)


def _table(row: Ints, column: Ints, weights: Floats, shape: tuple[int, int]) -> Floats:
    flat = np.bincount(row * shape[1] + column, weights=weights, minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)
