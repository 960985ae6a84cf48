"""What grades and preferences say of systems: mean grades and win shares with intervals over queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import pyarrow as pa

from ragauge.results import Estimate
from ragauge.schema import ANSWER_GRADES, PREFERENCES, check
from ragauge.stats import mean_interval

__all__ = ["SystemGrades", "WinShare", "system_grades", "win_shares"]

Row = Mapping[str, Any]

LOWEST, HIGHEST = 1.0, 5.0


@dataclass(frozen=True)
class SystemGrades:
    """The grades of one system's answers. Shares are 0..1, of the graded answers; NaN = not known.

    Attributes:
        system: Its name.
        n_ungraded: Answers without a grade.
        n_queries: Queries of those with one.
        grade: Mean grade, 1..5, with its interval over queries; `n` counts answers.
        expected: Mean over answers of the mean grade under the model's probabilities.
        expected_sd: Root mean square of its standard deviation in each answer: how unsure single replies are.
        repeat_sd: Root mean square of the standard deviation over repeats: how far replies to one question differ.
        same: Share of answers to which all repeats gave one grade.
        at_lowest: Share with the grade 1.
        at_highest: Share with the grade 5.
    """

    system: str
    n_ungraded: int
    n_queries: int
    grade: Estimate
    expected: float
    expected_sd: float
    repeat_sd: float
    same: float
    at_lowest: float
    at_highest: float


@dataclass(frozen=True)
class WinShare:
    """How often one system's answer is nearer to the ideal one than another's.

    Attributes:
        first: One system.
        second: The other one.
        n_wins: Queries that the first won.
        n_ties: Ties.
        n_losses: Queries that the second won.
        n_missing: Queries without a preference.
        share: Wins and half the ties over all three, 0..1, with its interval over queries.
        by_order: Share of preferences that the order decided, 0..1; these are among the ties.
        first_place: Mean probability of the answer in the first place, 0..1: above 0.5 the model favours it.
    """

    first: str
    second: str
    n_wins: int
    n_ties: int
    n_losses: int
    n_missing: int
    share: Estimate
    by_order: float
    first_place: float


def system_grades(grades: pa.Table, *, level: float = 0.95) -> list[SystemGrades]:
    """Each system's grades, in the order of the table.

    Args:
        grades: `schema.ANSWER_GRADES`.
        level: Confidence level of the intervals, strictly between 0 and 1.

    Raises:
        InputError: The level is out of its range.
        SchemaError: The table is not as its schema says.
    """
    systems: dict[str, list[Row]] = {}
    for row in check(grades, ANSWER_GRADES, what="grades").to_pylist():
        systems.setdefault(row["system"], []).append(row)
    return [_system(name, rows, level) for name, rows in systems.items()]


def win_shares(preferences: pa.Table, *, level: float = 0.95) -> list[WinShare]:
    """Each pair of systems, in the order of the table.

    Args:
        preferences: `schema.PREFERENCES`.
        level: Confidence level of the intervals, strictly between 0 and 1.

    Raises:
        InputError: The level is out of its range.
        SchemaError: The table is not as its schema says.
    """
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in check(preferences, PREFERENCES, what="preferences").to_pylist():
        pairs.setdefault((row["first"], row["second"]), []).append(row)
    return [_win_share(pair, rows, level) for pair, rows in pairs.items()]


def _system(name: str, rows: Sequence[Row], level: float) -> SystemGrades:
    graded = [row for row in rows if row["grade"] is not None]
    repeated = [set(row["grades"]) - {None} for row in graded if row["repeat_sd"] is not None]
    return SystemGrades(
        system=name,
        n_ungraded=len(rows) - len(graded),
        n_queries=len({row["query_id"] for row in graded}),
        grade=_mean(name, [(row["grade"], row["query_id"]) for row in graded], (LOWEST, HIGHEST), level),
        expected=_average([row["expected"] for row in graded]),
        expected_sd=_root_mean_square([row["expected_sd"] for row in graded]),
        repeat_sd=_root_mean_square([row["repeat_sd"] for row in graded]),
        same=_average([float(len(given) == 1) for given in repeated]),
        at_lowest=_average([float(row["grade"] == LOWEST) for row in graded]),
        at_highest=_average([float(row["grade"] == HIGHEST) for row in graded]),
    )


def _win_share(pair: tuple[str, str], rows: Sequence[Row], level: float) -> WinShare:
    worth = {"first": 1.0, "tie": 0.5, "second": 0.0}
    known = [row for row in rows if row["verdict"] is not None]
    said = [row["verdict"] for row in known]
    return WinShare(
        *pair,
        n_wins=said.count("first"),
        n_ties=said.count("tie"),
        n_losses=said.count("second"),
        n_missing=len(rows) - len(known),
        share=_mean("win share", [(worth[row["verdict"]], row["query_id"]) for row in known], (0.0, 1.0), level),
        by_order=_average([float(row["by_order"]) for row in known]),
        first_place=_average([(row["as_a"] + 1 - row["as_b"]) / 2 for row in known]),
    )


def _mean(name: str, values: Sequence[tuple[float, str]], bounds: tuple[float, float], level: float) -> Estimate:
    numbers, queries = [value for value, _ in values], [query for _, query in values]
    return mean_interval(numbers, measure=name, bounds=bounds, clusters=queries, level=level)


def _average(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else nan


def _root_mean_square(values: Sequence[float | None]) -> float:
    return sqrt(_average([None if value is None else value**2 for value in values]))
