"""What the study report says: correlations by measure and segment, grades, and the answers that went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from ragauge.report.content import Example, Fact, Record, finite, number, span
from ragauge.report.correlation_rows import (
    BASELINES,
    MeasureRow,
    Segment,
    cell_records,
    coefficient_name,
    coefficients_of,
    coinciding,
    medians,
    readable,
    segment_key,
    segment_rows,
    summary_rows,
)
from ragauge.report.verdict_content import Verdicts, verdict_content
from ragauge.schema import GRADED, check
from ragauge.stats import MIN_COMPARED

__all__ = ["StudyContent", "examples_of", "grade_records", "study_content"]

HIGH_PRECISION = 0.5
"""From this P on, a low grade is surprising: at least half of the documents were relevant."""
LOW_GRADE = 4
"""Below this an answer is not good."""
N_EXAMPLES = 5


@dataclass(frozen=True)
class StudyContent:
    """All that the study report shows."""

    title: str
    notes: tuple[str, ...]
    plan_text: str | None
    facts: tuple[Fact, ...]
    level: str
    verdicts: Verdicts | None
    headline: str
    few: str
    coefficients: tuple[tuple[str, str], ...]
    n_segments: int
    summary: tuple[MeasureRow, ...]
    columns: tuple[str, ...]
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
    contest: pa.Table | None = None,
    level: float = 0.95,
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
    read = readable(cells)
    summary = summary_rows(read, coefficients)
    surprising, lowest = _worst(examples or examples_of(graded))
    return StudyContent(
        title=title,
        notes=tuple(notes),
        plan_text=plan_text,
        facts=_facts(graded, cells),
        level=f"{100 * level:g} %",
        verdicts=None if contest is None else verdict_content(contest),
        headline=_headline(read, coefficients),
        few=_few(cells),
        coefficients=tuple((name, coefficient_name(name)) for name in coefficients),
        n_segments=len({segment_key(cell) for cell in read}),
        summary=summary,
        columns=tuple(dict.fromkeys(name for row in summary for cell in row.cells for name, _ in cell.lines)),
        coinciding=coinciding(read, coefficients[0]) if coefficients else (),
        segments=segment_rows(cells, coefficients),
        has_ratio=any(cell["ratio"] is not None for cell in cells),
        n_graded=len(grade_records(graded)["grade"]),
        ungraded=_ungraded(graded),
        surprising=surprising,
        lowest=lowest,
    )


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


def _facts(graded: pa.Table, cells: Sequence[Record]) -> tuple[Fact, ...]:
    n_graded = len(grade_records(graded))
    queries = {tuple(row.values()) for row in graded.select(["dataset", "query_id"]).to_pylist()}
    return (
        Fact("data sets", str(len(graded.column("dataset").unique()))),
        Fact("retrievers", str(len(graded.column("embedder").unique()))),
        Fact("queries", f"{len(queries):,}"),
        Fact("answers graded", f"{n_graded:,}"),
        Fact("not graded", f"{graded.num_rows - n_graded:,}"),
        Fact("segments", f"{len({segment_key(cell) for cell in cells}):,}"),
        Fact("K", span(graded.column("cutoff").to_pylist())),
        Fact("N_p", span(graded.column("n_relevant").to_pylist())),
    )


def _headline(cells: Sequence[Record], coefficients: Sequence[str]) -> str:
    """The largest median over segments beside the best baseline's: figures, not a verdict."""
    if not coefficients:
        return ""
    found = medians([cell for cell in cells if cell["coefficient"] == coefficients[0]])
    if not found:
        return f"{coefficient_name(coefficients[0])} is undefined in every segment."
    shown = [f"{name} {number(value)}" for name, value in found[:3]]
    base = [f"{name} {number(value)}" for name, value in found if name in BASELINES]
    text = f"Largest median {coefficient_name(coefficients[0])} over segments (alpha = 0.5): {', '.join(shown)}."
    return text + (f" Baselines: {', '.join(base)}." if base else "")


def _few(cells: Sequence[Record]) -> str:
    """How many segments have too few queries to be read, "" when none has."""
    n_few = len({segment_key(cell) for cell in cells if cell["few"]})
    n_segments = len({segment_key(cell) for cell in cells})
    if not n_few:
        return ""
    text = f"{n_few} of {n_segments} segments have fewer than {MIN_COMPARED} queries: their values are mostly chance."
    return text + (" They are in no median, no chart and no contest." if n_few < n_segments else "")


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
