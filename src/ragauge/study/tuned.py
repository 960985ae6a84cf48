"""What the choice of alpha does to each coefficient of a measure: its maximum, and what that costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from ragauge.stats.alpha import PREFERRED_ALPHA
from ragauge.stats.best import Alphas, AlphaSearch
from ragauge.stats.intervals import Interval
from ragauge.stats.optimism import corrected_maximum, cross_validated
from ragauge.study.contestants import Contestant
from ragauge.study.tables import AlphaTable, MeasureTable, alpha_table

__all__ = ["Plan", "tuned_records"]

Record = dict[str, Any]

_N_FOLDS = 5

_NOTES = (
    "the states of the measure keep their order for every alpha",
    "alpha moves the values of the measure along a rising line",
)


@dataclass(frozen=True)
class Plan:
    """What is asked of every segment.

    Attributes:
        names: Names of `stats.COEFFICIENTS`.
        alphas: The competing alphas.
        level: Confidence level.
        n_draws: Replicates of the bootstrap; 0 = none.
        seed: Of replicates and folds.
        folds: Whether to choose alpha on other queries.
    """

    names: tuple[str, ...]
    alphas: Alphas
    level: float
    n_draws: int
    seed: int
    folds: bool


def tuned_records(
    number: int,
    measure: Contestant,
    table: MeasureTable,
    values: Mapping[str, float],
    intervals: Mapping[str, Interval],
    plan: Plan,
) -> dict[str, Record]:
    """What alpha does to each coefficient, as columns of `schema.CORRELATIONS`; nothing for a measure without one.

    Args:
        number: Of the segment, for the seed.
        measure: The measure.
        table: It in the segment.
        values: Its coefficients at the fixed alpha.
        intervals: Their intervals.
        plan: What is asked.
    """
    if measure.family is None:
        return {}
    if table.reason.startswith("fewer"):
        return {name: {"best_value": nan, "best_alpha": nan, "alpha_note": table.reason} for name in plan.names}
    note = measure.note(table.segment.cells)
    if note:
        return _untouched(note, values, intervals, plan)
    states = alpha_table(measure.family(table.segment.cells), table.segment)
    search = AlphaSearch.of(states.family, table.segment.grades, plan.alphas)
    weights = states.weights[:, :, None]
    found: dict[str, Record] = {}
    for name, best in search.select(weights, weights, plan.names).items():
        found[name] = {
            "best_value": float(best.trained[0]),
            "best_alpha": float(best.alpha[0]),
            "alpha_matters": search.matters[name],
            "alpha_note": None if search.matters[name] else _NOTES[name == "pearson"],
        }
    _correct(found, number, search, states, values, intervals, plan)
    return found


def _untouched(
    note: str, values: Mapping[str, float], intervals: Mapping[str, Interval], plan: Plan
) -> dict[str, Record]:
    """Where alpha changes nothing, its maximum is the value itself, and nothing was chosen."""
    found: dict[str, Record] = {}
    for name, value in values.items():
        found[name] = {
            "best_value": value,
            "best_alpha": PREFERRED_ALPHA if value == value else nan,
            "alpha_note": note,
        }
        if plan.n_draws:
            low, high = intervals[name].low, intervals[name].high
            found[name] |= {"corrected_value": value, "corrected_low": low, "corrected_high": high}
        if plan.folds:
            found[name]["held_out"] = value
    return found


def _correct(
    found: dict[str, Record],
    number: int,
    search: AlphaSearch,
    states: AlphaTable,
    values: Mapping[str, float],
    intervals: Mapping[str, Interval],
    plan: Plan,
) -> None:
    """Adds what the choice of alpha costs. Where alpha cannot matter nothing is chosen: value and interval stand."""
    names = [name for name in found if found[name]["alpha_matters"]]
    if plan.n_draws:
        rng = np.random.default_rng([plan.seed, number])
        corrected = corrected_maximum(
            search, states.queries, names=names, n_draws=plan.n_draws, rng=rng, level=plan.level
        )
        for name, record in found.items():
            one = corrected.get(name)
            record["corrected_value"] = one.value if one else values[name]
            record["corrected_low"] = one.low if one else intervals[name].low
            record["corrected_high"] = one.high if one else intervals[name].high
    if plan.folds and states.queries.n_queries >= _N_FOLDS:
        rng = np.random.default_rng([plan.seed, number])
        for name, held_out in cross_validated(
            search, states.queries, names=plan.names, rng=rng, n_folds=_N_FOLDS
        ).items():
            found[name]["held_out"] = held_out.value
