"""What the study report says: correlations by measure and segment, grades, and the answers that went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

import polars as pl
import pyarrow as pa

from ragauge.report.content import Example, Fact, Record, finite, number, span
from ragauge.schema import CORRELATIONS, GRADED, check

__all__ = [
    "COEFFICIENTS",
    "CoefficientCell",
    "MeasureRow",
    "Segment",
    "StudyContent",
    "cell_records",
    "coefficient_name",
    "coefficients_of",
    "examples_of",
    "grade_records",
    "study_content",
]

COEFFICIENTS = {"spearman": "Spearman", "pearson": "Pearson", "tau_b": "Kendall tau-b", "tau_c": "Stuart tau-c"}
"""Name in the table -> name on the page, in the order shown."""
BASELINES = ("n_p", "P", "R", "DCG")
WITH_ALPHA = ("F", "Fe", "T")
HIGH_PRECISION = 0.5
"""From this P on, a low grade is surprising: at least half of the documents were relevant."""
LOW_GRADE = 4
"""Below this an answer is not good."""
N_EXAMPLES = 5


@dataclass(frozen=True)
class CoefficientCell:
    """One coefficient of one measure, numbers as text; `best` is the in-sample maximum over alpha, "" without alpha."""

    value: str
    detail: str
    best: str
    reason: str


@dataclass(frozen=True)
class MeasureRow:
    """One measure with a cell a coefficient; `alpha` is "none", "matters", "some" or "cannot"."""

    measure: str
    baseline: bool
    alpha: str
    cells: tuple[CoefficientCell, ...]


@dataclass(frozen=True)
class Segment:
    """The whole table of one segment."""

    name: str
    n_rows: int
    n_queries: int
    rows: tuple[MeasureRow, ...]


@dataclass(frozen=True)
class StudyContent:
    """All that the study report shows."""

    title: str
    notes: tuple[str, ...]
    plan_text: str | None
    facts: tuple[Fact, ...]
    headline: str
    coefficients: tuple[tuple[str, str], ...]
    n_segments: int
    summary: tuple[MeasureRow, ...]
    coinciding: tuple[str, ...]
    segments: tuple[Segment, ...]
    has_ratio: bool
    n_graded: int
    ungraded: tuple[Record, ...]
    surprising: tuple[Example, ...]
    lowest: tuple[Example, ...]


def study_content(
    *,
    title: str,
    correlations: pa.Table,
    graded: pa.Table,
    notes: Sequence[str] = (),
    plan_text: str | None = None,
    examples: Sequence[Example] = (),
) -> StudyContent:
    """The content of a study report; arguments as in `ragauge.report.study_report`.

    Raises:
        SchemaError: A table is not what its name promises.
    """
    cells = cell_records(correlations)
    check(graded, GRADED, what="graded answers")
    coefficients = coefficients_of(cells)
    summary = _summary(cells, coefficients)
    surprising, lowest = _worst(examples or examples_of(graded))
    return StudyContent(
        title=title,
        notes=tuple(notes),
        plan_text=plan_text,
        facts=_facts(graded, cells),
        headline=_headline(cells, coefficients),
        coefficients=tuple((name, coefficient_name(name)) for name in coefficients),
        n_segments=len({_segment_key(cell) for cell in cells}),
        summary=summary,
        coinciding=_coinciding(cells, coefficients),
        segments=_segments(cells, coefficients),
        has_ratio=any(cell["ratio"] is not None for cell in cells),
        n_graded=len(grade_records(graded)["grade"]),
        ungraded=_ungraded(graded),
        surprising=surprising,
        lowest=lowest,
    )


def cell_records(correlations: pa.Table) -> list[Record]:
    """One record a row of `schema.CORRELATIONS`, undefined numbers as None, baselines last within their segment."""
    rows = check(correlations, CORRELATIONS, what="correlations").to_pylist()
    numbers = ("ratio", "value", "low", "high", "best_value", "best_alpha")
    cells = [row | {name: finite(row[name]) for name in numbers} | _about(row) for row in rows]
    return sorted(cells, key=lambda cell: cell["baseline"])


def coefficients_of(cells: Sequence[Record]) -> list[str]:
    """The coefficients there are, the known ones first and Spearman before all."""
    found = list(dict.fromkeys(cell["coefficient"] for cell in cells))
    return [name for name in COEFFICIENTS if name in found] + [name for name in found if name not in COEFFICIENTS]


def coefficient_name(coefficient: str) -> str:
    """How a page names it."""
    return COEFFICIENTS.get(coefficient, coefficient)


def grade_records(graded: pa.Table) -> pl.DataFrame:
    """The graded rows alone, with `group` (data set and retriever) added; a grade that is not finite is none."""
    frame = pl.DataFrame(pl.from_arrow(graded))
    group = pl.concat_str("dataset", "embedder", separator=" · ").alias("group")
    return frame.filter(pl.col("grade").is_not_null() & pl.col("grade").is_finite()).with_columns(group)


def examples_of(graded: pa.Table, *, limit: int = 2 * N_EXAMPLES) -> tuple[Example, ...]:
    """The answers most worth reading, from the table alone: low grade despite high P first, then the lowest grades.

    Args:
        graded: `schema.GRADED`.
        limit: How many of each kind.

    Returns:
        Examples without the texts of query and documents, which the table does not hold.
    """
    p = pl.col("labels").list.sum() / pl.col("cutoff")
    frame = grade_records(graded).with_columns(p.alias("p"))
    order = ["grade", "p", "dataset", "query_id", "embedder", "cutoff"]
    ranked = frame.sort(order, descending=[False, True, False, False, False, False])
    high = ranked.filter(pl.col("p") >= HIGH_PRECISION).head(limit)
    rest = ranked.filter(pl.col("p") < HIGH_PRECISION).head(limit)
    return tuple(_example(row) for row in [*high.iter_rows(named=True), *rest.iter_rows(named=True)])


def _example(row: Record) -> Example:
    documents = tuple((label, "") for label in row["labels"])
    names = ("query_id", "dataset", "embedder", "cutoff", "grade", "answer_ideal", "answer_topk")
    return Example(query="", documents=documents, **{name: row[name] for name in names})


def _about(row: Record) -> Record:
    name = row["measure"].partition("@")[0]
    baseline = name in BASELINES
    return {
        "group": f"{row['dataset']} · {row['embedder']}",
        "baseline": baseline,
        "has_alpha": name.partition("(")[0] in WITH_ALPHA,
        "shown": f"{row['measure']} (baseline)" if baseline else row["measure"],
    }


def _segment_key(cell: Record) -> tuple[str, str, str]:
    return cell["dataset"], cell["embedder"], cell["segment"]


def _facts(graded: pa.Table, cells: Sequence[Record]) -> tuple[Fact, ...]:
    n_graded = len(grade_records(graded))
    queries = {tuple(row.values()) for row in graded.select(["dataset", "query_id"]).to_pylist()}
    return (
        Fact("data sets", str(len(graded.column("dataset").unique()))),
        Fact("retrievers", str(len(graded.column("embedder").unique()))),
        Fact("queries", f"{len(queries):,}"),
        Fact("answers graded", f"{n_graded:,}"),
        Fact("not graded", f"{graded.num_rows - n_graded:,}"),
        Fact("segments", f"{len({_segment_key(cell) for cell in cells}):,}"),
        Fact("K", span(graded.column("cutoff").to_pylist())),
        Fact("N_p", span(graded.column("n_relevant").to_pylist())),
    )


def _headline(cells: Sequence[Record], coefficients: Sequence[str]) -> str:
    """The largest median over segments beside the best baseline's: figures, not a verdict."""
    if not coefficients:
        return ""
    medians = _medians([cell for cell in cells if cell["coefficient"] == coefficients[0]])
    if not medians:
        return f"{coefficient_name(coefficients[0])} is undefined in every segment."
    shown = [f"{name} {number(value)}" for name, value in medians[:3]]
    base = [f"{name} {number(value)}" for name, value in medians if name in BASELINES]
    text = f"Largest median {coefficient_name(coefficients[0])} over segments (alpha = 0.5): {', '.join(shown)}."
    return text + (f" Baselines: {', '.join(base)}." if base else "")


def _medians(cells: Sequence[Record]) -> list[tuple[str, float]]:
    values: dict[str, list[float]] = {}
    for cell in cells:
        if cell["value"] is not None:
            values.setdefault(cell["measure"], []).append(cell["value"])
    return sorted(((name, median(found)) for name, found in values.items()), key=lambda pair: -pair[1])


def _summary(cells: Sequence[Record], coefficients: Sequence[str]) -> tuple[MeasureRow, ...]:
    """A row a measure: the median over segments of each coefficient, with its range."""
    by_measure = _by(cells, "measure")
    return tuple(
        MeasureRow(
            measure=measure,
            baseline=found[0]["baseline"],
            alpha=_alpha(found),
            cells=tuple(_summary_cell([c for c in found if c["coefficient"] == name]) for name in coefficients),
        )
        for measure, found in by_measure.items()
    )


def _by(cells: Sequence[Record], field: str) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for cell in cells:
        groups.setdefault(cell[field], []).append(cell)
    return groups


def _alpha(cells: Sequence[Record]) -> str:
    if not cells[0]["has_alpha"]:
        return "none"
    matters = [cell["alpha_matters"] for cell in cells]
    return "matters" if all(matters) else "some" if any(matters) else "cannot"


def _summary_cell(cells: Sequence[Record]) -> CoefficientCell:
    values = [cell["value"] for cell in cells if cell["value"] is not None]
    if not values:
        reasons = sorted({cell["reason"] for cell in cells if cell["reason"]})
        return CoefficientCell("–", "", "", "; ".join(reasons) or "not computed")
    detail = f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else ""
    best = [cell["best_value"] for cell in cells if _has_best(cell)]
    missing = f"undefined in {len(cells) - len(values)} of {len(cells)}" if len(values) < len(cells) else ""
    return CoefficientCell(number(median(values)), detail, number(median(best)) if best else "", missing)


def _has_best(cell: Record) -> bool:
    return bool(cell["has_alpha"] and cell["alpha_matters"] and cell["best_value"] is not None)


def _segments(cells: Sequence[Record], coefficients: Sequence[str]) -> tuple[Segment, ...]:
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for cell in cells:
        groups.setdefault(_segment_key(cell), []).append(cell)
    return tuple(_segment(key, found, coefficients) for key, found in groups.items())


def _segment(key: tuple[str, str, str], cells: Sequence[Record], coefficients: Sequence[str]) -> Segment:
    rows = []
    for measure, found in _by(cells, "measure").items():
        by_name = {cell["coefficient"]: cell for cell in found}
        shown = tuple(_segment_cell(by_name.get(name)) for name in coefficients)
        rows.append(MeasureRow(measure, found[0]["baseline"], _alpha(found), shown))
    counts = max(cell["n_rows"] for cell in cells), max(cell["n_queries"] for cell in cells)
    return Segment(" · ".join(key), *counts, rows=tuple(rows))


def _segment_cell(cell: Record | None) -> CoefficientCell:
    if cell is None:
        return CoefficientCell("–", "", "", "not computed")
    if cell["value"] is None:
        return CoefficientCell("–", "", "", cell["reason"] or "undefined")
    known = cell["low"] is not None and cell["high"] is not None
    detail = f"{number(cell['low'])} to {number(cell['high'])}" if known else ""
    best = f"{number(cell['best_value'])} at {number(cell['best_alpha'], digits=2)}" if _has_best(cell) else ""
    return CoefficientCell(number(cell["value"]), detail, best, "")


def _coinciding(cells: Sequence[Record], coefficients: Sequence[str]) -> tuple[str, ...]:
    """Measures whose first coefficient is the same in every segment, as "P, R and F": their lines lie on each other."""
    series = {
        measure: tuple(cell["value"] for cell in found if cell["coefficient"] == coefficients[0])
        for measure, found in _by(cells, "measure").items()
    }
    defined = sorted(
        ((v, m) for m, v in series.items() if any(x is not None for x in v)), key=lambda pair: str(pair[0])
    )
    groups = [[measure for _, measure in same] for _, same in groupby(defined, key=lambda pair: pair[0])]
    return tuple(f"{', '.join(group[:-1])} and {group[-1]}" for group in groups if len(group) > 1)


def _ungraded(graded: pa.Table) -> tuple[Record, ...]:
    """Rows without a grade, counted by data set, retriever and reason; most frequent first."""
    frame = pl.DataFrame(pl.from_arrow(graded.select(["dataset", "embedder", "grade", "reason"])))
    missing = frame.filter(pl.col("grade").is_null() | ~pl.col("grade").is_finite())
    keys = ["dataset", "embedder", pl.col("reason").fill_null("no reason given")]
    counted = missing.group_by(keys).agg(pl.len().alias("count"))
    return tuple(
        counted.sort(["count", "dataset", "embedder", "reason"], descending=[True, False, False, False]).to_dicts()
    )


def _worst(examples: Sequence[Example]) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """(low grade despite P >= 0.5, lowest grades of the rest), each lowest grade first and at most `N_EXAMPLES`."""
    known = [(grade, e) for e in examples if (grade := finite(e.grade)) is not None]
    surprising = [pair for pair in known if pair[1].precision >= HIGH_PRECISION and pair[0] < LOW_GRADE]
    high = [e for _, e in sorted(surprising, key=lambda pair: (pair[0], -pair[1].precision))][:N_EXAMPLES]
    chosen = {id(e) for e in high}
    rest = sorted((pair for pair in known if id(pair[1]) not in chosen), key=lambda pair: (pair[0], pair[1].precision))
    return tuple(high), tuple(e for _, e in rest[:N_EXAMPLES])
