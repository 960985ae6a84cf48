"""Who stands where: the measures of each place in order, which may be the best there, how far the others lie behind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from ragauge.stats import (
    MIN_COMPARED,
    MIN_DRAWS,
    ConfidenceSet,
    benjamini_hochberg,
    confidence_set,
    default_level,
    holm,
)
from ragauge.study.field import Field
from ragauge.study.heat import Place

__all__ = ["ABSENT", "IN", "LEADER", "OUT", "WINNER", "standings"]

Group = tuple[str, ...]

WINNER, LEADER, IN, OUT, ABSENT = "winner", "leader", "in the set", "struck out", "not compared"


def standings(fields: Iterable[tuple[Place, Field]], *, against: str | None) -> list[dict[str, Any]]:
    """One record a measure and place, named as the columns of `schema.CONTEST`.

    p is adjusted over the measures of a place and over all places, measures that are one and the same counted once.

    Args:
        fields: The places, each with the measures that meet there.
        against: The measure that differences are taken from; None = the leader of each place.
    """
    records = [record for place, field in fields for record in _records(place, field, against)]
    tests = [record for record in records if record.get("p") is not None and record["same_as"] is None]
    adjusted = benjamini_hochberg([record["p"] for record in tests])
    p_bh = {(_place(record), record["measure"]): float(p) for record, p in zip(tests, adjusted, strict=True)}
    return [record | {"p_bh": p_bh.get((_place(record), record["same_as"] or record["measure"]))} for record in records]


def _place(record: Mapping[str, Any]) -> tuple[str, str, str]:
    return record["dataset"], record["embedder"], record["segment"]


def _records(place: Place, field: Field, against: str | None) -> Iterator[dict[str, Any]]:
    """One record a measure, the leader first, those that do not take part last."""
    shared = {**vars(place), "same_as": None, "n_rows": field.n_rows, "n_queries": field.n_queries}
    reason = _why_not(field)
    if reason:
        for name, value in zip(field.names, field.values.tolist(), strict=True):
            yield shared | _not_compared(name, reason, value)
    else:
        yield from (shared | record for record in _ranked(field, against))
    for name, why in field.absent.items():
        yield shared | _not_compared(name, reason or why, nan)


def _why_not(field: Field) -> str:
    if field.n_queries < MIN_COMPARED:
        return f"too few queries: {field.n_queries}; a contest needs {MIN_COMPARED}"
    if not field.names:
        return next(iter(field.absent.values()))
    n_usable = int(np.isfinite(field.draws).all(1).sum())
    if n_usable < MIN_DRAWS:
        return f"a correlation is undefined in {len(field.draws) - n_usable} of {len(field.draws)} bootstrap draws"
    return ""


def _not_compared(measure: str, reason: str, value: float) -> dict[str, Any]:
    return {"measure": measure, "standing": ABSENT, "value": value, "reason": reason}


def _ranked(field: Field, against: str | None) -> Iterator[dict[str, Any]]:
    """The measures from the largest value down, those that are one and the same together."""
    names = list(field.names)
    found = confidence_set(field.statistics, field.draws, names=names, level=default_level(field.n_queries))
    groups = [*found.groups, *(step.names for step in found.eliminated)]
    groups.sort(key=lambda group: -field.statistics[names.index(group[0])])
    differences = _differences(field, groups, against or groups[0][0])
    for group in groups:
        interval = field.interval(names.index(group[0]))
        record = _standing(group, found) | differences[group]
        record |= {"value_low": interval.low, "value_high": interval.high}
        for name in group:
            same_as = None if name == group[0] else group[0]
            yield record | {"measure": name, "value": float(field.values[names.index(name)]), "same_as": same_as}


def _differences(field: Field, groups: Sequence[Group], against: str) -> dict[Group, dict[str, Any]]:
    """Each group's difference from the one that holds `against`, with p adjusted over them."""
    names = list(field.names)
    if against not in names:
        return {group: {"reason": f"{against} does not take part here"} for group in groups}
    others = [group for group in groups if against not in group]
    found = [field.difference(names.index(group[0]), names.index(against)) for group in others]
    adjusted = holm([difference.p for difference in found])
    records: dict[Group, dict[str, Any]] = {group: {} for group in groups}
    for group, difference, p_holm in zip(others, found, adjusted.tolist(), strict=True):
        columns = vars(difference) | {"p_holm": p_holm, "against": against, "reason": difference.reason or None}
        records[group] = columns | {"difference": columns.pop("value")}
    return records


def _standing(group: Group, found: ConfidenceSet) -> dict[str, Any]:
    """Where a group of measures ended, and the p that decided it."""
    for number, step in enumerate(found.eliminated, start=1):
        if step.names == group:
            return {"standing": OUT, "eliminated": number, "p_set": step.p}
    if group == found.groups[0]:
        return {"standing": WINNER if found.winner else LEADER, "p_set": found.p}
    return {"standing": IN, "p_set": found.p}
