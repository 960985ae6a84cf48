"""Correlations as the study report says them: a row a measure, over all segments and in each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

import pyarrow as pa

from ragauge.report.content import Record, finite, number
from ragauge.schema import CORRELATIONS, check
from ragauge.stats import MIN_COMPARED

__all__ = [
    "BASELINES",
    "COEFFICIENTS",
    "CoefficientCell",
    "MeasureRow",
    "Segment",
    "cell_records",
    "coefficient_name",
    "coefficients_of",
    "coinciding",
    "medians",
    "readable",
    "segment_key",
    "segment_rows",
    "summary_rows",
]

COEFFICIENTS = {"spearman": "Spearman", "pearson": "Pearson", "tau_b": "Kendall tau-b", "tau_c": "Stuart tau-c"}
"""Name in the table -> name on the page, in the order shown."""
BASELINES = ("n_p", "P", "R", "DCG")
WITH_ALPHA = ("F", "Fe", "T")
_NUMBERS = (
    *("ratio", "value", "low", "high", "best_value", "best_alpha", "corrected_value", "corrected_low"),
    *("corrected_high", "held_out", "within", "within_low", "within_high"),
)


@dataclass(frozen=True)
class CoefficientCell:
    """One coefficient of one measure, numbers as text.

    Attributes:
        value: At alpha = 0.5; "–" = undefined.
        detail: Its interval, or over segments its range; "" = there is none.
        lines: What else is known, as (name, text): names are "in-sample max", "corrected", "held out", "same question"
            and "alpha".
        reason: Why there is no value or no interval, else "".
    """

    value: str
    detail: str
    lines: tuple[tuple[str, str], ...]
    reason: str


@dataclass(frozen=True)
class MeasureRow:
    """One measure with a cell a coefficient.

    Attributes:
        measure: Its name.
        baseline: Whether it is one.
        alpha: "none", "matters", "some" (in some cells) or "cannot".
        alpha_note: Why alpha cannot matter, else "".
        n_rows: Answers it is defined in, where that is fewer than others are; else None.
        cells: One a coefficient.
    """

    measure: str
    baseline: bool
    alpha: str
    alpha_note: str
    n_rows: int | None
    cells: tuple[CoefficientCell, ...]


@dataclass(frozen=True)
class Segment:
    """The whole table of one segment.

    Attributes:
        name: Data set, embedder and range of K against N_p.
        n_rows: Answers.
        n_queries: Queries.
        few: Whether they are too few for its measures to be compared.
        undefined: Why no measure is defined, "" where one is.
        rows: One a measure.
    """

    name: str
    n_rows: int
    n_queries: int
    few: bool
    undefined: str
    rows: tuple[MeasureRow, ...]


def cell_records(correlations: pa.Table) -> list[Record]:
    """One record a row of `schema.CORRELATIONS`, undefined numbers as None, baselines last within their segment."""
    rows = check(correlations, CORRELATIONS, what="correlations").to_pylist()
    cells = [row | {name: finite(row[name]) for name in _NUMBERS} | _about(row) for row in rows]
    most: dict[tuple[str, str, str], int] = {}
    for cell in cells:
        most[segment_key(cell)] = max(cell["n_queries"], most.get(segment_key(cell), 0))
    marked = [cell | {"few": most[segment_key(cell)] < MIN_COMPARED} for cell in cells]
    return sorted(marked, key=lambda cell: cell["baseline"])


def _about(row: Record) -> Record:
    name = row["measure"].partition("@")[0]
    baseline = name in BASELINES
    return {
        "group": f"{row['dataset']} · {row['embedder']}",
        "baseline": baseline,
        "has_alpha": name.partition("(")[0] in WITH_ALPHA,
        "shown": f"{row['measure']} (baseline)" if baseline else row["measure"],
    }


def readable(cells: Sequence[Record]) -> list[Record]:
    """Those of segments with queries enough, where there are any; else all."""
    return [cell for cell in cells if not cell["few"]] or list(cells)


def segment_key(cell: Record) -> tuple[str, str, str]:
    """What tells segments apart."""
    return cell["dataset"], cell["embedder"], cell["segment"]


def coefficients_of(cells: Sequence[Record]) -> list[str]:
    """The coefficients there are, the known ones first and Spearman before all."""
    found = list(dict.fromkeys(cell["coefficient"] for cell in cells))
    return [name for name in COEFFICIENTS if name in found] + [name for name in found if name not in COEFFICIENTS]


def coefficient_name(coefficient: str) -> str:
    """How a page names it."""
    return COEFFICIENTS.get(coefficient, coefficient)


def medians(cells: Sequence[Record]) -> list[tuple[str, float]]:
    """The median value of each measure, the largest first."""
    values: dict[str, list[float]] = {}
    for cell in cells:
        if cell["value"] is not None:
            values.setdefault(cell["measure"], []).append(cell["value"])
    return sorted(((name, median(found)) for name, found in values.items()), key=lambda pair: -pair[1])


def summary_rows(cells: Sequence[Record], coefficients: Sequence[str]) -> tuple[MeasureRow, ...]:
    """A row a measure: the median over segments of each coefficient, with its range."""
    return tuple(
        _row(found, [_summary_cell([c for c in found if c["coefficient"] == name]) for name in coefficients])
        for found in _by(cells, "measure").values()
    )


def segment_rows(cells: Sequence[Record], coefficients: Sequence[str]) -> tuple[Segment, ...]:
    """The table of each segment."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for cell in cells:
        groups.setdefault(segment_key(cell), []).append(cell)
    return tuple(_segment(key, found, coefficients) for key, found in groups.items())


def coinciding(cells: Sequence[Record], coefficient: str) -> tuple[str, ...]:
    """Measures whose coefficient is the same in every segment, as "P, R and F": their lines lie on each other."""
    own = [cell for cell in cells if cell["coefficient"] == coefficient]
    series = {measure: tuple(cell["value"] for cell in found) for measure, found in _by(own, "measure").items()}
    defined = [(str(v), m) for m, v in series.items() if any(x is not None for x in v)]
    groups = [
        [measure for _, measure in same]
        for _, same in groupby(sorted(defined, key=lambda pair: pair[0]), key=lambda pair: pair[0])
    ]
    return tuple(f"{', '.join(group[:-1])} and {group[-1]}" for group in groups if len(group) > 1)


def _by(cells: Iterable[Record], field: str) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for cell in cells:
        groups.setdefault(cell[field], []).append(cell)
    return groups


def _row(found: Sequence[Record], cells: Sequence[CoefficientCell], most: int = 0) -> MeasureRow:
    alpha = _alpha(found)
    notes = dict.fromkeys(cell["alpha_note"] for cell in found if cell["alpha_note"])
    n_rows = max(cell["n_rows"] for cell in found)
    return MeasureRow(
        measure=found[0]["measure"],
        baseline=found[0]["baseline"],
        alpha=alpha,
        alpha_note="; ".join(notes) if alpha == "cannot" else "",
        n_rows=n_rows if n_rows < most else None,
        cells=tuple(cells),
    )


def _alpha(cells: Sequence[Record]) -> str:
    if not cells[0]["has_alpha"]:
        return "none"
    matters = [cell["alpha_matters"] for cell in cells if cell["value"] is not None]
    if not matters:
        return "none"
    return "matters" if all(matters) else "some" if any(matters) else "cannot"


def _summary_cell(cells: Sequence[Record]) -> CoefficientCell:
    values = [cell["value"] for cell in cells if cell["value"] is not None]
    if not values:
        reasons = sorted({cell["reason"] for cell in cells if cell["reason"]})
        return CoefficientCell("–", "", (), "; ".join(reasons) or "not computed")
    detail = f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else ""
    tuned = [cell for cell in cells if _has_best(cell)]
    columns = [
        ("in-sample max", [cell["best_value"] for cell in tuned]),
        ("corrected", [cell["corrected_value"] for cell in tuned]),
        ("held out", [cell["held_out"] for cell in tuned]),
        ("same question", [cell["within"] for cell in cells]),
    ]
    known = [(name, [value for value in column if value is not None]) for name, column in columns]
    lines = tuple((name, number(median(column))) for name, column in known if column)
    missing = f"undefined in {len(cells) - len(values)} of {len(cells)}" if len(values) < len(cells) else ""
    return CoefficientCell(number(median(values)), detail, lines, missing)


def _has_best(cell: Record) -> bool:
    return bool(cell["has_alpha"] and cell["alpha_matters"] and cell["best_value"] is not None)


def _segment(key: tuple[str, str, str], cells: Sequence[Record], coefficients: Sequence[str]) -> Segment:
    n_rows, n_queries = max(cell["n_rows"] for cell in cells), max(cell["n_queries"] for cell in cells)
    rows = []
    for found in _by(cells, "measure").values():
        by_name = {cell["coefficient"]: cell for cell in found}
        partly = _alpha(found) == "some"
        rows.append(_row(found, [_segment_cell(by_name.get(name), partly) for name in coefficients], n_rows))
    return Segment(" · ".join(key), n_rows, n_queries, cells[0]["few"], _undefined(cells), tuple(rows))


def _undefined(cells: Sequence[Record]) -> str:
    if any(cell["value"] is not None for cell in cells):
        return ""
    return "; ".join(dict.fromkeys(cell["reason"] or "undefined" for cell in cells))


def _segment_cell(cell: Record | None, partly: bool) -> CoefficientCell:
    """`partly`: alpha matters to some coefficients of the row, so the others have to say that it cannot to them."""
    if cell is None:
        return CoefficientCell("–", "", (), "not computed")
    if cell["value"] is None:
        return CoefficientCell("–", "", (), cell["reason"] or "undefined")
    detail = _span(cell["low"], cell["high"])
    lines = []
    if _has_best(cell):
        lines.append(("in-sample max", f"{number(cell['best_value'])} at {number(cell['best_alpha'], digits=2)}"))
        lines += _with_interval(cell, "corrected", "corrected_value", "corrected_low", "corrected_high")
        lines += _with_interval(cell, "held out", "held_out")
    elif partly:
        lines.append(("alpha", "cannot matter"))
    lines += _with_interval(cell, "same question", "within", "within_low", "within_high")
    return CoefficientCell(number(cell["value"]), detail, tuple(lines), "" if detail else _no_interval(cell["reason"]))


def _with_interval(cell: Record, name: str, value: str, low: str = "", high: str = "") -> list[tuple[str, str]]:
    if cell[value] is None:
        return []
    span = _span(cell[low], cell[high]) if low else ""
    return [(name, number(cell[value]) + (f" ({span})" if span else ""))]


def _span(low: float | None, high: float | None) -> str:
    return f"{number(low)} to {number(high)}" if low is not None and high is not None else ""


def _no_interval(reason: str | None) -> str:
    return f"no interval: {reason}" if reason else "no interval"
