"""The measures that are held against the grade, as functions of the cells of a segment.

Named as in `ragauge score` without the cutoff, which varies from row to row:

- n_p, P, R, DCG: the baselines. Inside a segment of constant K / N_p all of R, P and F order the queries alike.
- F, over alpha. Fe(x=2), over alpha, N_p replaced by the positives in the top 2K; rows that lack them are left out.
- T(form=count), over alpha. T itself is P - alpha where all K slots are filled, so it correlates as P, and is not
  repeated.
- nDCG(ideal=retrieved), which knows no N_p, and nDCG(ideal=qrels), whose ideal is min(K, N_p) positives at the top.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.measures import precision, recall
from ragauge.stats.alpha import PREFERRED_ALPHA, AlphaFamily
from ragauge.study.cells import Cells
from ragauge.study.segments import SegmentCells

__all__ = ["BASELINES", "MEASURES", "Contestant", "fixed_values", "row_values"]

Floats = npt.NDArray[np.float64]

BASELINES = ("n_p", "P", "R", "DCG")
"""Measures without alpha that stand in every table."""

_DECIMALS = 12  # of order 1; differences such as (1 - a) n_p - a n_n / K cancel, and their errors do not scale


@dataclass(frozen=True)
class Contestant:
    """One measure.

    Attributes:
        name: Its printed form without the cutoff.
        values: Of each cell, NaN = undefined; None when it has an alpha.
        family: Of each cell, when it has an alpha.
        defined: Which cells have a value; the family is asked for these alone.
        note: Why no alpha can change any coefficient, when the cells show it at once; else "".
    """

    name: str
    values: Callable[[Cells], Floats] | None = None
    family: Callable[[Cells], AlphaFamily] | None = None
    defined: Callable[[Cells], npt.NDArray[np.bool_]] = lambda cells: np.ones(len(cells.K), dtype=np.bool_)
    note: Callable[[Cells], str] = lambda cells: ""


def fixed_values(measure: Contestant, cells: Cells) -> Floats:
    """The measure in each cell, at alpha = 0.5 if it has one, without the rounding errors that would break ties."""
    if measure.values is not None:
        return np.asarray(np.round(measure.values(cells), _DECIMALS))
    assert measure.family is not None
    return np.asarray(np.round(measure.family(cells).at([PREFERRED_ALPHA])[0], _DECIMALS))


def row_values(measure: Contestant, segment: SegmentCells) -> Floats:
    """`fixed_values` of each row of a segment, NaN where undefined."""
    defined = measure.defined(segment.cells)
    values = np.full(len(defined), np.nan)
    values[defined] = fixed_values(measure, segment.cells.at(defined))
    return values[segment.cell]


def _f_family(cells: Cells) -> AlphaFamily:
    return _harmonic(cells.n_p, cells.K, cells.N_p)


def _fe_family(cells: Cells) -> AlphaFamily:
    family = _harmonic(cells.n_p, cells.K, cells.n_2k)
    return AlphaFamily(family.start, family.end, family.scale, family.form, open_at_zero=bool((cells.n_2k == 0).any()))


def _harmonic(n_p: npt.NDArray[np.int64], K: npt.NDArray[np.int64], n_all: npt.NDArray[np.int64]) -> AlphaFamily:
    """n_p / (alpha K + (1 - alpha) n_all), which is 0 for n_p = 0."""
    none = n_p == 0
    return AlphaFamily(np.where(none, -1, -n_all), np.where(none, -1, -K), n_p, "reciprocal")


def _t_family(cells: Cells) -> AlphaFamily:
    return AlphaFamily(cells.n_p * cells.K, -cells.n_n, cells.K, "linear")


def _ndcg(cells: Cells, n_ideal: npt.NDArray[np.int64]) -> Floats:
    """DCG over that of so many positives at the top; 0 where that is 0."""
    ideals = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, int(n_ideal.max(initial=0)) + 2)))])
    ideal = ideals[n_ideal]
    return np.asarray(np.divide(cells.dcg, ideal, out=np.zeros_like(ideal), where=ideal > 0))


def _constant_ratio(cells: Cells) -> str:
    same = len(cells.K) > 0 and bool((cells.K * cells.N_p[0] == cells.N_p * cells.K[0]).all())
    return "K / N_p is the same in all rows: alpha only rescales F" if same else ""


def _constant_cutoff(cells: Cells) -> str:
    judged = cells.n_p + cells.n_n
    same = len(cells.K) > 0 and bool(((cells.K[0] == cells.K) & (judged == judged[0])).all())
    return "K is the same in all rows: T orders them as n_p for every alpha" if same else ""


MEASURES = (
    Contestant("n_p", values=lambda cells: cells.n_p.astype(np.float64)),
    Contestant("P", values=lambda cells: precision(cells.n_p, cells.K)),
    Contestant("R", values=lambda cells: recall(cells.n_p, cells.N_p)),
    Contestant("DCG", values=lambda cells: cells.dcg),
    Contestant("F", family=_f_family, note=_constant_ratio),
    Contestant("Fe(x=2)", family=_fe_family, defined=lambda cells: ~np.isnan(cells.n_deep)),
    Contestant("T(form=count)", family=_t_family, note=_constant_cutoff),
    Contestant("nDCG(ideal=retrieved)", values=lambda cells: _ndcg(cells, cells.n_p)),
    Contestant("nDCG(ideal=qrels)", values=lambda cells: _ndcg(cells, np.minimum(cells.K, cells.N_p))),
)
"""All of them, in the order of the table."""
