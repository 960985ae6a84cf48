"""Canaries on a page: one table and one chart, for the judge card and for the report of a labelling run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from ragauge.llm.led import CanaryResult, meanings
from ragauge.report import judge_charts as draw
from ragauge.report.content import Record, finite, number, whole
from ragauge.report.look import Chart
from ragauge.results import Estimate

__all__ = [
    "CanarySection",
    "Row",
    "canary_charts",
    "canary_records",
    "canary_row",
    "canary_sections",
    "interval_text",
    "rate_text",
]


@dataclass(frozen=True)
class Row:
    """A line of a table: its name and its cells."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class CanarySection:
    """The canaries of one labelling run; `chart` is the name of its chart, `source` is "" where there is but one."""

    source: str
    chart: str
    lead: str
    meanings: tuple[str, ...]
    rows: tuple[Row, ...]


def canary_records(canaries: Sequence[CanaryResult]) -> list[Record]:
    """One record a kind of canary."""
    return [
        {
            "kind": one.kind,
            "what": one.what,
            "led": finite(one.flipped.mean),
            "low": finite(one.flipped.low),
            "high": finite(one.flipped.high),
            "label": finite(one.label),
            "control": finite(one.control),
            "of": one.n,
        }
        for one in canaries
    ]


def canary_row(one: CanaryResult) -> Row:
    """What it is, share led, of how many, how many were left out, label."""
    change = number(one.label) if not isfinite(one.control) else f"{number(one.control)} → {number(one.label)}"
    n_left_out = one.n_control_wrong + one.n_unlabelled
    return Row(
        one.kind, (one.what, rate_text(one.flipped), f"{one.n:,}", f"{n_left_out:,}" if n_left_out else "–", change)
    )


def canary_sections(canaries: Mapping[str, Sequence[CanaryResult]], *, rel: float) -> tuple[CanarySection, ...]:
    """One section a source of labels.

    Args:
        canaries: Source -> what became of its canaries.
        rel: The label from which on they count as judged relevant.
    """
    return tuple(
        CanarySection(
            source=source if len(canaries) > 1 else "",
            chart=_chart_name(place),
            lead=_lead(results, rel),
            meanings=meanings(results),
            rows=tuple(canary_row(one) for one in results),
        )
        for place, (source, results) in enumerate(canaries.items())
    )


def canary_charts(canaries: Mapping[str, Sequence[CanaryResult]]) -> dict[str, Chart]:
    """The chart of each section."""
    return {
        _chart_name(place): draw.led_shares(canary_records(results)) for place, results in enumerate(canaries.values())
    }


def _chart_name(place: int) -> str:
    return f"canaries{place or ''}"


def _lead(results: Sequence[CanaryResult], rel: float) -> str:
    n, n_led = sum(one.n for one in results), sum(one.n_led for one in results)
    own = " “buried” hides the passage that this judge itself labelled highest."
    return (
        f"{n_led:,} of {n:,} documents made to lead the judge did so: it labelled them {whole(rel)} or more, "
        f"or a relevant one less.{own if any(one.kind == 'buried' for one in results) else ''} "
        "Counted are those whose control, the same document without the bait, was judged right."
    )


def rate_text(one: Estimate) -> str:
    """A share with its interval."""
    known = f" ({interval_text(one.low, one.high, digits=2)})" if isfinite(one.low) else ""
    return number(one.mean, digits=2) + known


def interval_text(low: float | None, high: float | None, *, digits: int = 3) -> str:
    """From where to where, or "–"."""
    known = low is not None and high is not None and isfinite(low) and isfinite(high)
    return f"{number(low, digits=digits)} to {number(high, digits=digits)}" if known else "–"
