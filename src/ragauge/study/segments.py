"""Segments of graded answers: one data set, one embedder, one range of K against N_p."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.kinds import QueryKinds, query_kinds
from ragauge.study.cells import Cells, GradedCells, Numbers, distinct_cells, numbered, small_type

__all__ = ["By", "SegmentCells", "SegmentRows", "segments_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
By = Literal["ratio", "width", "all"]


@dataclass(frozen=True)
class SegmentCells:
    """The graded rows of one segment.

    Attributes:
        dataset: Its data set.
        embedder: Its embedder.
        name: Its range of K against N_p, such as "K/N_p=0.5".
        ratio: K / N_p, where the segment has one.
        cells: Its distinct cells.
        cell: The cell of each row.
        query: The query of each row, numbered from 0.
        query_number: The number of each of these queries among all rows.
    """

    dataset: str
    embedder: str
    name: str
    ratio: float | None
    cells: Cells
    cell: Ints
    query: Ints
    query_number: Ints

    @cached_property
    def weights(self) -> Floats:
        """Rows in each cell."""
        return np.bincount(self.cell, minlength=len(self.cells.grade)).astype(np.float64)

    @cached_property
    def kinds(self) -> QueryKinds:
        """Its queries, those with the same single cell together."""
        return query_kinds(self.cell, self.query, len(self.cells.grade))

    @cached_property
    def grades(self) -> Floats:
        """Distinct grades, ascending."""
        return np.unique(self.cells.grade)

    @cached_property
    def grade_of_cell(self) -> Ints:
        """The place of each cell's grade in `grades`."""
        return np.searchsorted(self.grades, self.cells.grade)

    def where(self, kept: npt.NDArray[np.bool_]) -> "SegmentCells":
        """Its rows in some of the cells, a mask."""
        if kept.all():
            return self
        rows = kept[self.cell]
        number = np.cumsum(kept) - 1
        left, query = np.unique(self.query[rows], return_inverse=True)
        cell = number[self.cell[rows]]
        return replace(self, cells=self.cells.at(kept), cell=cell, query=query, query_number=self.query_number[left])


@dataclass(frozen=True)
class SegmentRows:
    """Which rows are a segment's: data set, embedder, name and ratio as in `SegmentCells`."""

    dataset: str
    embedder: str
    name: str
    ratio: float | None
    graded: GradedCells
    rows: Ints

    def load(self) -> SegmentCells:
        """Its graded rows."""
        cell_of_row = self.graded.cell[self.rows]
        kept = ~np.isnan(self.graded.cells.grade[cell_of_row])
        listed, number = numbered(cell_of_row[kept])
        cells = self.graded.cells.at(listed).widened()
        first, of_listed = distinct_cells(cells)
        queries, query = numbered(self.graded.query[self.rows[kept]])
        return SegmentCells(
            dataset=self.dataset,
            embedder=self.embedder,
            name=self.name,
            ratio=self.ratio,
            cells=cells.at(first),
            cell=of_listed[number],
            query=query,
            query_number=queries,
        )


def segments_of(graded: GradedCells, by: By) -> list[SegmentRows]:
    """The segments in order, also those without a graded row.

    Raises:
        InputError: An unknown `by`.
    """
    names, ratios, range_of_cell = _ranges(graded.cells, by)
    shape = (len(graded.datasets), len(graded.embedders), len(names))
    if not len(graded.cell):
        return []
    small = small_type(int(np.prod(shape)))
    place = range_of_cell.astype(small)[graded.cell]
    place = place + (graded.dataset.astype(small) * shape[1] + graded.embedder.astype(small)) * shape[2]
    order = np.argsort(place, kind="stable")
    sizes = np.bincount(place)
    numbers = np.flatnonzero(sizes)
    found = []
    for number, rows in zip(numbers, np.split(order, np.cumsum(sizes[numbers])[:-1]), strict=True):
        d, e, r = map(int, np.unravel_index(number, shape))
        found.append(SegmentRows(graded.datasets[d], graded.embedders[e], names[r], ratios[r], graded, rows))
    return found


def _ranges(cells: Cells, by: By) -> tuple[list[str], Sequence[float | None], Numbers]:
    """Names and ratios of the ranges of K against N_p, and which one each cell lies in."""
    if by == "all":
        return ["all"], [None], np.zeros(len(cells.K), dtype=np.int16)
    if by == "width":
        return ["narrow", "wide"], [None, None], (cells.N_p <= cells.K).astype(np.int16)
    if by != "ratio":
        raise InputError(f"by must be 'ratio', 'width' or 'all', got {by!r}")
    quotients, number = numbered(cells.K / cells.N_p)
    rounded = np.array([round(quotient, 1) for quotient in quotients.tolist()], dtype=np.float64)
    ratios, of_quotient = np.unique(rounded, return_inverse=True)
    of_cell = of_quotient.astype(small_type(len(ratios)))
    return [f"K/N_p={ratio:.1f}" for ratio in ratios], ratios.tolist(), np.asarray(of_cell[number])
