"""What `ragauge correlate` prints of many segments: a row a measure, over all segments large enough to compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from operator import itemgetter
from statistics import median
from typing import Any

import click

from ragauge.cli.terminal import echo_records

__all__ = ["echo_overview"]

Record = Mapping[str, Any]

_PLACE = itemgetter("dataset", "embedder", "segment")
_IN_SET = ("winner", "leader", "in the set")
_SAME = 1e-9
"""Values closer than this are equal: measures that rank alike differ by rounding."""

_BEST = "best    segments where it is the largest, alone or with others"
_NEAR = "near    segments where its interval reaches the largest (--contest tests it)"
_SET = "in set  segments in whose confidence set it is: it may be the best there"


@dataclass(frozen=True)
class _Column:
    """One measure over the segments.

    Attributes:
        values: Its correlation, a segment each.
        n_best: Segments where it is the largest, alone or with others.
        n_near: Segments where it may be: by its interval, or by the confidence set.
    """

    values: tuple[float, ...]
    n_best: int
    n_near: int


def echo_overview(rows: Sequence[Record], contest: Sequence[Record] | None) -> bool:
    """A table on stdout a coefficient, the measure with the highest median first; nothing for fewer than two segments.

    Args:
        rows: Of `schema.CORRELATIONS`.
        contest: Of `schema.CONTEST`, where there was one.

    Returns:
        Whether anything was printed.
    """
    from ragauge.stats import MIN_COMPARED

    groups = [list(members) for _, members in groupby(rows, key=_PLACE)]
    large = [group for group in groups if max(row["n_queries"] for row in group) >= MIN_COMPARED]
    if len(large) < 2:
        return False
    smaller = f"; {len(groups) - len(large)} have fewer" if len(groups) > len(large) else ""
    title = f"over {len(large)} segments of {MIN_COMPARED} queries or more{smaller}"
    for name in dict.fromkeys(row["coefficient"] for row in rows):
        mine = [[row for row in group if row["coefficient"] == name] for group in large]
        met = [row for row in contest or () if row["coefficient"] == name]
        _echo(f"{name} {title}", mine, _sets(met))
    return True


def _sets(contest: Sequence[Record]) -> dict[tuple[str, ...], set[str]]:
    """Segment -> the measures in its confidence set."""
    found: dict[tuple[str, ...], set[str]] = {}
    for row in contest:
        if row["standing"] in _IN_SET:
            found.setdefault(_PLACE(row), set()).add(row["measure"])
    return found


def _echo(title: str, segments: Sequence[Sequence[Record]], sets: Mapping[tuple[str, ...], set[str]]) -> None:
    names = dict.fromkeys(row["measure"] for segment in segments for row in segment)
    columns = {name: _column(name, segments, sets) for name in names}
    columns = dict(sorted(columns.items(), key=lambda item: -median(item[1].values or (-2,))))
    echo_records([_row(name, column, bool(sets)) for name, column in columns.items()], format="table", title=title)
    click.echo(f"{_BEST}\n{_SET if sets else _NEAR}\n")


def _column(name: str, segments: Sequence[Sequence[Record]], sets: Mapping[tuple[str, ...], set[str]]) -> _Column:
    values, n_best, n_near = [], 0, 0
    for segment in segments:
        mine = next((row for row in segment if row["measure"] == name), None)
        if mine is None or isnan(mine["value"]):
            continue
        largest = max(row["value"] for row in segment if not isnan(row["value"]))
        values.append(mine["value"])
        is_best = mine["value"] >= largest - _SAME
        n_best += is_best
        n_near += name in sets.get(_PLACE(mine), ()) if sets else is_best or mine["high"] >= largest
    return _Column(tuple(values), n_best, n_near)


def _row(name: str, column: _Column, tested: bool) -> dict[str, Any]:
    return {
        "measure": name,
        "median": median(column.values) if column.values else None,
        "from": min(column.values, default=None),
        "to": max(column.values, default=None),
        "segments": len(column.values),
        "best": column.n_best,
        ("in set" if tested else "near"): column.n_near,
    }
