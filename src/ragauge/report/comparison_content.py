"""What the reports of comparisons and of tuning say, without HTML."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import isfinite

import numpy as np

from ragauge.measures import parse_measure
from ragauge.quality.compare import Compared, comparison_warnings
from ragauge.quality.systems import pairs
from ragauge.quality.tune import Candidate, Tuned
from ragauge.report.content import Fact, Record, finite, number
from ragauge.results import Comparison
from ragauge.stats.association import merge_ties

__all__ = [
    "ComparisonContent",
    "ComparisonRow",
    "TuningContent",
    "TuningRow",
    "candidate_records",
    "comparison_content",
    "difference_records",
    "query_records",
    "tuning_content",
]

N_BINS = 100
"""Differences are drawn to this share of their range."""
OUTCOMES = {1: "won", 0: "tied", -1: "lost"}


@dataclass(frozen=True)
class ComparisonRow:
    """One row of the table of comparisons, numbers as text."""

    system: str
    mean_baseline: str
    mean: str
    difference: str
    interval: str
    p: str
    p_holm: str
    outcomes: str
    n: str
    judged: str
    detectable: str
    n_needed: str
    note: str


@dataclass(frozen=True)
class ComparisonContent:
    """All that the report of a comparison shows."""

    title: str
    notes: tuple[str, ...]
    facts: tuple[Fact, ...]
    level: str
    baseline: str
    rows: Mapping[str, Sequence[ComparisonRow]]


@dataclass(frozen=True)
class TuningRow:
    """One candidate, numbers as text."""

    cut: str
    mean: str
    documents: str
    precision: str
    mark: str


@dataclass(frozen=True)
class TuningContent:
    """All that the report of tuning shows."""

    title: str
    notes: tuple[str, ...]
    facts: tuple[Fact, ...]
    measure: str
    summary: str
    rows: tuple[TuningRow, ...]


def comparison_content(*, title: str, found: Compared) -> ComparisonContent:
    """The content of `ragauge.report.comparison_report`."""
    rows: dict[str, list[ComparisonRow]] = {}
    for one in found.comparisons:
        rows.setdefault(one.measure, []).append(_row(one))
    facts = [
        ("queries", max((one.n + one.n_undefined for one in found.comparisons), default=0)),
        ("systems", len(found.systems)),
        ("measures", len(rows)),
        ("tests corrected together", sum(isfinite(one.p) for one in found.comparisons)),
    ]
    return ComparisonContent(
        title=title,
        notes=tuple(comparison_warnings(found.comparisons)),
        facts=(Fact("baseline", found.baseline.name), *(Fact(name, f"{count:,}") for name, count in facts)),
        level=" / ".join(f"{100 * level:g} %" for level in sorted({one.level for one in found.comparisons})),
        baseline=found.baseline.name,
        rows=rows,
    )


def difference_records(comparisons: Sequence[Comparison]) -> list[Record]:
    """One record a comparison; `unit` is "share" for measures inside -1..1, else "count"."""
    return [
        {
            "measure": one.measure,
            "system": one.system,
            "difference": finite(one.difference),
            "low": finite(one.low),
            "high": finite(one.high),
            "p": finite(one.p_holm),
            "unit": _unit(one.measure),
        }
        for one in comparisons
    ]


def query_records(found: Compared) -> list[Record]:
    """How many queries differ by how much, for each measure and system."""
    records: list[Record] = []
    for one, system in zip(found.comparisons, cycle(found.systems), strict=False):
        values = pairs(found.baseline, system, one.measure)
        differences = values.system - values.baseline
        step = float(np.abs(differences[np.isfinite(differences)]).max(initial=0)) / N_BINS or 1.0
        won = np.where(merge_ties(values.system) == merge_ties(values.baseline), 0, np.sign(differences))
        bins = Counter(
            (OUTCOMES[int(sign)], round(difference / step))
            for sign, difference in zip(won, differences, strict=True)
            if isfinite(difference)
        )
        records += [
            {"measure": one.measure, "system": one.system, "outcome": outcome}
            | {"difference": finite(at * step), "queries": queries}
            for (outcome, at), queries in sorted(bins.items())
        ]
    return records


def tuning_content(*, title: str, found: Tuned) -> TuningContent:
    """The content of `ragauge.report.tuning_report`."""
    figures = [
        ("gain to expect", _signed(found.gain)),
        (f"{100 * found.level:g} % interval", f"{_signed(found.low)} to {_signed(found.high)}"),
        ("in-sample gain", _signed(found.gain_in_sample)),
        ("queries", f"{found.n:,}"),
        ("undefined", f"{found.n_undefined:,}"),
        ("judged", _percent(found.judged)),
    ]
    chosen = ", ".join(f"{value:.6g}" for value in found.chosen)
    return TuningContent(
        title=title,
        notes=(),
        facts=tuple(Fact(name, value) for name, value in figures),
        measure=found.measure,
        summary=f"Best on all queries: {_cut(found.best)}. Today: {_cut(found.today)}. Chosen in the folds: {chosen}.",
        rows=tuple(_tuning_row(one, found) for one in _with_today(found)),
    )


def candidate_records(found: Tuned) -> list[Record]:
    """One record a candidate; `mark` names the best one and today's, `line` says whether it is on the curve."""
    return [
        {
            "cut": _cut(one),
            "mean": finite(one.mean),
            "documents": finite(one.n_returned),
            "precision": finite(one.precision),
            "mark": _mark(one, found),
            "line": one in found.candidates,
        }
        for one in _with_today(found)
    ]


def _with_today(found: Tuned) -> list[Candidate]:
    return [*([] if found.today in found.candidates else [found.today]), *found.candidates]


def _mark(one: Candidate, found: Tuned) -> str:
    return "best here" if one == found.best else "today" if one == found.today else ""


def _tuning_row(one: Candidate, found: Tuned) -> TuningRow:
    return TuningRow(
        cut=_cut(one),
        mean=number(one.mean),
        documents=number(one.n_returned, digits=1),
        precision=number(one.precision),
        mark=_mark(one, found),
    )


def _cut(one: Candidate) -> str:
    return f"top {one.value:g}" if one.by == "cutoff" else f"score ≥ {one.value:.6g}"


def _row(one: Comparison) -> ComparisonRow:
    known = isfinite(one.low) and isfinite(one.high)
    undefined = f", {one.n_undefined:,} undefined" if one.n_undefined else ""
    return ComparisonRow(
        system=one.system,
        mean_baseline=number(one.mean_baseline, missing="undefined"),
        mean=number(one.mean_system, missing="undefined"),
        difference=_signed(one.difference),
        interval=f"{_signed(one.low)} to {_signed(one.high)}" if known else "none",
        p=_p(one.p),
        p_holm=_p(one.p_holm),
        outcomes=f"{one.wins:,} / {one.ties:,} / {one.losses:,}",
        n=f"{one.n:,}{undefined}",
        judged=f"{_percent(one.judged_baseline)}, {_percent(one.judged_system)}",
        detectable=number(one.detectable),
        n_needed=f"{one.n_needed:,.0f}" if isfinite(one.n_needed) else "–",
        note=one.reason,
    )


def _unit(measure: str) -> str:
    low, high = parse_measure(measure).bounds
    return "share" if low >= -1 and high <= 1 else "count"


def _signed(value: float) -> str:
    return f"+{number(value)}" if isfinite(value) and value > 0 else number(value)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else number(value)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if isfinite(share) else "–"
