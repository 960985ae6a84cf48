"""What the score report says: estimates, labels, labels by rank, and the queries that did worst."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.led import CanaryResult
from ragauge.measures import parse_measure
from ragauge.ragged import Ragged, from_labels, positions
from ragauge.report.content import Document, Fact, Record, finite, number, whole
from ragauge.report.judge_canaries import CanarySection, canary_sections
from ragauge.results import Estimate
from ragauge.schema import JUDGED, check

__all__ = [
    "EstimateRow",
    "QueryCard",
    "ScoreContent",
    "interval_records",
    "label_records",
    "rank_records",
    "score_content",
]

MAX_BARS = 12
"""Labels with more distinct values than this are drawn in bins."""
N_BINS = 20
MAX_RANKS = 50
"""Deeper ranks than this would be bars too thin to read."""
KEYS = ("query_id", "run")


@dataclass(frozen=True)
class EstimateRow:
    """One row of the table of estimates, numbers as text, "" = there is none; `note` says what is undefined and why."""

    source: str
    mean: str
    interval: str
    n: str
    n_undefined: str
    judged: str
    tied: str
    largest: str
    bounds: str
    note: str


@dataclass(frozen=True)
class QueryCard:
    """One query with its retrieved documents; `value` is its score, "undefined" where it has none."""

    query_id: str
    run: str
    query: str
    value: str
    counts: str
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class ScoreContent:
    """All that the score report shows."""

    title: str
    notes: tuple[str, ...]
    facts: tuple[Fact, ...]
    level: str
    estimates: Mapping[str, Sequence[EstimateRow]]
    rel: str
    labels_note: str
    ranks_note: str
    worst_by: str
    worst_note: str
    worst: tuple[QueryCard, ...]
    canaries: tuple[CanarySection, ...]


def score_content(
    *,
    title: str,
    estimates: Mapping[str, Sequence[Estimate]],
    judged: pa.Table,
    scores: pa.Table,
    rel: float,
    notes: Sequence[str] = (),
    worst_by: str | None = None,
    n_worst: int = 10,
    canaries: Mapping[str, Sequence[CanaryResult]] | None = None,
) -> ScoreContent:
    """The content of a score report; arguments as in `ragauge.report.score_report`.

    Raises:
        InputError: `worst_by` is not a column of `scores`.
        SchemaError: `judged` is not a `schema.JUDGED` table.
    """
    check(judged, JUDGED, what="judged rankings")
    labels = _labels(judged)
    measure = _worst_by(scores, worst_by)
    ordered, n_undefined = _worst_rows(scores, measure)
    return ScoreContent(
        title=title,
        notes=tuple(notes),
        facts=_facts(judged, labels, rel),
        level=_level(estimates),
        estimates=_estimate_rows(estimates),
        rel=whole(rel),
        labels_note=_labels_note(labels),
        ranks_note=_ranks_note(labels),
        worst_by=measure or "",
        worst_note=_worst_note(measure, len(ordered), n_undefined, n_worst),
        worst=_cards(judged, ordered[:n_worst], rel),
        canaries=canary_sections(canaries or {}, rel=rel),
    )


def interval_records(estimates: Mapping[str, Sequence[Estimate]]) -> list[Record]:
    """One record an estimate; `unit` is "share" for measures inside -1..1, else "count"."""
    return [
        {
            "measure": estimate.measure,
            "source": source,
            "mean": finite(estimate.mean),
            "low": finite(estimate.low),
            "high": finite(estimate.high),
            "largest": finite(estimate.attainable),
            "worst": finite(estimate.bound_low),
            "best": finite(estimate.bound_high),
            "n": estimate.n,
            "tied": estimate.n_tied,
            "unit": _unit(estimate.measure),
        }
        for source, column in estimates.items()
        for estimate in column
    ]


def label_records(judged: pa.Table, rel: float) -> list[Record]:
    """How often each label (or bin of labels) was given, split at `rel`; the shares add to 1."""
    labels = _labels(judged)
    values = labels.values[labels.valid]
    if not len(values):
        return []
    distinct = np.unique(values)
    if len(distinct) <= MAX_BARS and bool(np.all(distinct == np.round(distinct))):
        return [_bar(float(v), float(v), int(np.sum(values == v)), len(values), v >= rel) for v in distinct]
    return _bins(values, rel)


def rank_records(judged: pa.Table, rel: float) -> list[Record]:
    """At each rank, how many rankings hold a relevant, a not relevant and an unjudged document there."""
    labels = _labels(judged)
    rank = positions(labels.offsets) + 1
    kinds = {
        "relevant": labels.valid & (labels.values >= rel),
        "not relevant": labels.valid & (labels.values < rel),
        "unjudged": ~labels.valid,
    }
    depth = min(MAX_RANKS, int(rank.max(initial=0)))
    total = np.bincount(rank, minlength=depth + 1)
    return [
        {"rank": r, "kind": kind, "count": int(count[r]), "of": int(total[r]), "share": finite(count[r] / total[r])}
        for kind, mask in kinds.items()
        for count in [np.bincount(rank[mask], minlength=depth + 1)]
        for r in range(1, depth + 1)
    ]


def _labels(judged: pa.Table) -> Ragged:
    """The labels; one that is not a finite number counts as unjudged."""
    labels = from_labels(judged.column("labels"))
    return Ragged(labels.values, labels.offsets, labels.valid & np.isfinite(labels.values))


def _unit(measure: str) -> str:
    low, high = parse_measure(measure.partition(" (N_p")[0]).bounds  # less how N_p was estimated
    return "share" if low >= -1 and high <= 1 else "count"


def _bar(low: float, high: float, count: int, total: int, relevant: bool) -> Record:
    name = whole(low) if low == high else f"{number(low, digits=2)} to {number(high, digits=2)}"
    kind = "relevant" if relevant else "not relevant"
    return {"label": name, "low": low, "high": high, "count": count, "share": finite(count / total), "kind": kind}


def _bins(values: npt.NDArray[np.float64], rel: float) -> list[Record]:
    """Equal bins over 0..1 (probabilities) or over what there is; a bin that holds `rel` inside is split by colour."""
    inside = bool(values.min() >= 0 and values.max() <= 1)
    edges = np.linspace(0, 1, N_BINS + 1) if inside else np.histogram_bin_edges(values, N_BINS)
    sides = [
        (side, np.histogram(values[mask], edges)[0]) for side, mask in ((False, values < rel), (True, values >= rel))
    ]
    return [
        _bar(round(float(edges[i]), 6), round(float(edges[i + 1]), 6), int(counts[i]), len(values), side)
        for side, counts in sides
        for i in range(N_BINS)
        if counts[i]
    ]


def _facts(judged: pa.Table, labels: Ragged, rel: float) -> tuple[Fact, ...]:
    n_judged = int(labels.valid.sum())
    n_relevant = int((labels.valid & (labels.values >= rel)).sum())
    n_runs = len(judged.column("run").unique())
    figures = [
        ("queries", len(judged.column("query_id").unique())),
        *([("runs", n_runs)] if n_runs > 1 else []),
        ("documents retrieved", len(labels.values)),
        ("judged", n_judged),
        ("unjudged", len(labels.values) - n_judged),
        ("relevant", n_relevant),
    ]
    return tuple(Fact(name, f"{count:,}") for name, count in figures)


def _level(estimates: Mapping[str, Sequence[Estimate]]) -> str:
    levels = sorted({estimate.level for column in estimates.values() for estimate in column})
    return " / ".join(f"{100 * level:g} %" for level in levels)


def _estimate_rows(estimates: Mapping[str, Sequence[Estimate]]) -> dict[str, list[EstimateRow]]:
    rows: dict[str, list[EstimateRow]] = {}
    for source, column in estimates.items():
        for estimate in column:
            rows.setdefault(estimate.measure, []).append(_estimate_row(source, estimate))
    return rows


def _estimate_row(source: str, estimate: Estimate) -> EstimateRow:
    return EstimateRow(
        source=source,
        mean=number(estimate.mean, missing="undefined"),
        interval=_range(estimate.low, estimate.high) or "none",
        n=f"{estimate.n:,}",
        n_undefined=f"{estimate.n_undefined:,}",
        judged=f"{100 * estimate.judged:.0f} %" if isfinite(estimate.judged) else "–",
        tied=f"{estimate.n_tied:,}" if estimate.n_tied else "",
        largest=number(estimate.attainable) if isfinite(estimate.attainable) else "",
        bounds=_range(estimate.bound_low, estimate.bound_high),
        note=estimate.reason,
    )


def _range(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}" if isfinite(low) and isfinite(high) else ""


def _labels_note(labels: Ragged) -> str:
    n_judged = int(labels.valid.sum())
    if not n_judged:
        return "No retrieved document is judged, so there is nothing to draw."
    return f"{n_judged:,} judged documents; {len(labels.values) - n_judged:,} unjudged ones are left out."


def _ranks_note(labels: Ragged) -> str:
    deepest = int(labels.lengths.max(initial=0))
    if not deepest:
        return "No document was retrieved, so there is nothing to draw."
    return f"Ranks 1 to {MAX_RANKS} of {deepest:,}." if deepest > MAX_RANKS else ""


def _worst_by(scores: pa.Table, worst_by: str | None) -> str | None:
    measures = [name for name in scores.column_names if name not in KEYS]
    if worst_by is not None and worst_by not in measures:
        raise InputError(f"worst_by must be a column of the scores, got {worst_by!r}; found: {', '.join(measures)}")
    return worst_by or next(iter(measures), None)


def _worst_rows(scores: pa.Table, measure: str | None) -> tuple[list[Record], int]:
    """The rows where the measure is defined, lowest first (ties by query id), and how many are left out."""
    if measure is None:
        return [], 0
    rows = scores.select([*KEYS, measure]).rename_columns([*KEYS, "value"]).to_pylist()
    defined = [row for row in rows if finite(row["value"]) is not None]
    return sorted(defined, key=lambda row: (row["value"], row["query_id"], row["run"])), len(rows) - len(defined)


def _worst_note(measure: str | None, n_defined: int, n_undefined: int, n_worst: int) -> str:
    if measure is None:
        return "No measure was computed a query."
    if not n_defined:
        return f"{measure} is defined for no query."
    shown = f"The {min(n_worst, n_defined):,} lowest of {n_defined:,} by {measure}."
    return shown + (f" Undefined, and so left out: {n_undefined:,}." if n_undefined else "")


def _cards(judged: pa.Table, rows: Sequence[Record], rel: float) -> tuple[QueryCard, ...]:
    keys = zip(judged.column("query_id").to_pylist(), judged.column("run").to_pylist(), strict=True)
    place = {key: i for i, key in enumerate(keys)}
    found = [(row, place[row["query_id"], row["run"]]) for row in rows if (row["query_id"], row["run"]) in place]
    return tuple(_card(judged.slice(i, 1).to_pylist()[0], row["value"], rel) for row, i in found)


def _card(ranking: Record, value: float, rel: float) -> QueryCard:
    columns = zip(ranking["labels"], ranking["scores"], ranking["texts"], ranking["doc_ids"], strict=True)
    documents = tuple(_document(i, *column, rel=rel) for i, column in enumerate(columns, 1))
    n_relevant = sum(document.relevant is True for document in documents)
    return QueryCard(
        query_id=ranking["query_id"],
        run=ranking["run"],
        query=ranking["query"] or "",
        value=number(value),
        counts=f"{n_relevant} of {len(documents)} relevant",
        documents=documents,
    )


def _document(
    rank: int, label: float | None, score: float | None, text: str | None, doc_id: str | None, *, rel: float
) -> Document:
    known = None if label is None or label < 0 else finite(label)
    relevant = None if known is None else known >= rel
    shown = text or (f"(text not in the file; document id {doc_id})" if text is None else "")
    return Document(rank, whole(known, missing="unjudged"), number(score), shown, relevant)
