"""What the study report says of the best measure: a verdict a segment, and the measures pooled over segments."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from ragauge.report.content import Record, finite, number
from ragauge.report.correlation_rows import coefficient_name, segment_key
from ragauge.schema import CONTEST, check
from ragauge.stats import MIN_COMPARED
from ragauge.study import POOLED, verdicts

__all__ = ["PooledRow", "PooledTable", "Verdict", "Verdicts", "pooled_records", "verdict_content"]

Key = tuple[str, str, str]

_UNDECIDED = "not decided: "


@dataclass(frozen=True)
class Verdict:
    """What may be said of the best measure in one segment, in one sentence; `won`: whether there is a winner."""

    name: str
    n_queries: int
    won: bool
    text: str


@dataclass(frozen=True)
class PooledRow:
    """One measure over several segments, numbers as text; "" = there is none."""

    measure: str
    value: str
    interval: str
    standing: str
    difference: str
    p: str
    i2: str
    note: str


@dataclass(frozen=True)
class PooledTable:
    """The measures over several segments, the largest first."""

    name: str
    n_segments: int
    n_queries: int
    against: str
    verdict: Verdict
    rows: tuple[PooledRow, ...]


@dataclass(frozen=True)
class Verdicts:
    """All that is said of the best measure.

    Attributes:
        coefficient: What the measures are compared by.
        headline: The verdict over all segments, or of the only one.
        segments: Those that hold a contest.
        without: Why others of enough queries hold none, one sentence a reason.
        pooled: All segments first, then those of one name.
    """

    coefficient: str
    headline: str
    segments: tuple[Verdict, ...]
    without: tuple[str, ...]
    pooled: tuple[PooledTable, ...]


def verdict_content(contest: pa.Table) -> Verdicts | None:
    """What a `schema.CONTEST` says, or None when it is empty.

    Raises:
        SchemaError: The table is not what its name promises.
    """
    rows = check(contest, CONTEST, what="the contest").to_pylist()
    if not rows:
        return None
    places = {place: list(members) for place, members in groupby(rows, key=segment_key)}
    said = verdicts(contest)
    single = {place: members for place, members in places.items() if POOLED not in place}
    held = {place: members for place, members in single.items() if not said[place].startswith(_UNDECIDED)}
    segments = tuple(_verdict(" · ".join(place), members, said[place]) for place, members in held.items())
    pooled = sorted(set(places) - set(single), key=lambda place: (place[2] != POOLED, list(places).index(place)))
    tables = tuple(_pooled(place, places[place], said[place]) for place in pooled)
    return Verdicts(
        coefficient=coefficient_name(rows[0]["coefficient"]),
        headline=_headline(segments, tables),
        segments=segments,
        without=_without(single, said),
        pooled=tables,
    )


def pooled_records(contest: pa.Table) -> list[Record]:
    """One record a pool and measure that takes part, pools of all segments first: the data of the chart."""
    rows = [row for row in check(contest, CONTEST, what="the contest").to_pylist() if POOLED in segment_key(row)]
    records = [
        {
            "pool": _pool_name(row["segment"]),
            "measure": row["measure"],
            "value": finite(row["value"]),
            "low": finite(row["value_low"]),
            "high": finite(row["value_high"]),
            "standing": _standing(row),
            "n": row["n_queries"],
        }
        for row in sorted(rows, key=lambda row: row["segment"] != POOLED)
        if row["p_set"] is not None
    ]
    return [record for record in records if record["value"] is not None]


def _verdict(name: str, rows: Sequence[Record], text: str) -> Verdict:
    return Verdict(name, rows[0]["n_queries"], text.startswith("best: "), text)


def _headline(segments: Sequence[Verdict], pooled: Sequence[PooledTable]) -> str:
    if pooled:
        return f"Over all segments pooled, {pooled[0].verdict.text}."
    if len(segments) == 1:
        return f"In {segments[0].name}, {segments[0].text}."
    return "" if segments else "No segment holds a contest."


def _without(single: Mapping[Key, Sequence[Record]], said: Mapping[Key, str]) -> tuple[str, ...]:
    """How many segments of enough queries hold no contest, and why."""
    enough = [place for place, rows in single.items() if rows[0]["n_queries"] >= MIN_COMPARED]
    reasons = Counter(said[p].removeprefix(_UNDECIDED) for p in enough if said[p].startswith(_UNDECIDED))
    return tuple(f"{n} of {len(single)} segments hold no contest: {reason}." for reason, n in reasons.items())


def _pooled(place: Key, rows: Sequence[Record], text: str) -> PooledTable:
    name = _pool_name(place[2])
    return PooledTable(
        name=name,
        n_segments=max((row["n_segments"] or 0 for row in rows), default=0),
        n_queries=rows[0]["n_queries"],
        against=next((row["against"] for row in rows if row["against"]), ""),
        verdict=_verdict(name, rows, text),
        rows=tuple(_pooled_row(row) for row in rows),
    )


def _pool_name(segment: str) -> str:
    return "all segments" if segment == POOLED else segment


def _pooled_row(row: Record) -> PooledRow:
    return PooledRow(
        measure=row["measure"],
        value=number(finite(row["value"])),
        interval=_span(row["value_low"], row["value_high"], number),
        standing=f"same as {row['same_as']}" if row["same_as"] else _standing(row),
        difference=_difference(row),
        p=_p(row["p_holm"]),
        i2="" if row["i2"] is None else f"{100 * row['i2']:.0f} %",
        note=row["reason"] or "",
    )


def _p(value: float | None) -> str:
    return "< 0.001" if value is not None and value < 0.001 else number(value, missing="")


def _standing(row: Record) -> str:
    standing: str = row["standing"]
    return {"leader": "in the set, leads", "winner": "alone in the set"}.get(standing, standing)


def _difference(row: Record) -> str:
    if row["difference"] is None:
        return ""
    span = _span(row["low"], row["high"], _signed)
    return _signed(row["difference"]) + (f" ({span})" if span else "")


def _span(low: float | None, high: float | None, show: Callable[[float | None], str]) -> str:
    return "" if finite(low) is None or finite(high) is None else f"{show(low)} to {show(high)}"


def _signed(value: float | None) -> str:
    text = number(value)
    return f"+{text}" if value is not None and value > 0 and text[0].isdigit() else text
