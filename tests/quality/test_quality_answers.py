"""What grades and preferences say of systems, by hand."""

import math
from typing import Any

import pyarrow as pa
import pytest

from ragauge.quality.answers import system_grades, win_shares
from ragauge.schema import ANSWER_GRADES, PREFERENCES


def grades(*rows: tuple[str, str, list[float | None]], sd: float | None = None) -> pa.Table:
    """(system, query, the grade of each repeat)."""
    return pa.Table.from_pylist([_row(*row, sd) for row in rows], schema=ANSWER_GRADES)


def _row(system: str, query: str, given: list[float | None], sd: float | None) -> dict[str, Any]:
    known = [grade for grade in given if grade is not None]
    mean = sum(known) / len(known) if known else None
    spread = math.dist(known, [mean or 0.0] * len(known)) / math.sqrt(len(known) - 1) if len(known) > 1 else None
    numbers = {"grade": mean, "expected": mean, "expected_sd": sd, "repeat_sd": spread, "grades": given}
    return {"query_id": query, "answer_id": f"{system} {query}", "system": system, **numbers}


def test_each_system_has_its_mean_and_the_ends_of_the_scale() -> None:
    table = grades(
        ("a", "1", [5]), ("b", "1", [1]), ("a", "2", [4]), ("a", "3", [1]), ("b", "2", [None]), ("a", "4", [5])
    )
    a, b = system_grades(table)
    assert (a.system, a.grade.mean, a.grade.n, a.n_queries, a.n_ungraded) == ("a", 3.75, 4, 4, 0)
    assert (a.at_lowest, a.at_highest) == (0.25, 0.5)
    assert 1 <= a.grade.low < 3.75 < a.grade.high <= 5
    assert (b.grade.mean, b.grade.n, b.n_ungraded, b.at_lowest) == (1.0, 1, 1, 1.0)
    assert math.isnan(a.repeat_sd) and math.isnan(a.same) and math.isnan(a.expected_sd)


def test_answers_to_one_query_are_one_cluster() -> None:
    apart = system_grades(grades(*(("a", str(n), [1 + n % 5]) for n in range(10))))[0]
    together = system_grades(grades(*(("a", str(n % 5), [1 + n % 5]) for n in range(10))))[0]
    assert apart.grade.mean == together.grade.mean == 3.0
    assert together.grade.high - together.grade.low > apart.grade.high - apart.grade.low
    assert together.n_queries == 5


def test_spreads_are_root_mean_squares_and_kept_apart() -> None:
    table = grades(("a", "1", [2, 4]), ("a", "2", [3, 3]), ("a", "3", [5, None]), sd=0.5)
    found = system_grades(table)[0]
    assert found.repeat_sd == pytest.approx(1.0)  # variances 2 and 0; one grade has none
    assert found.same == 0.5
    assert found.expected_sd == pytest.approx(0.5)


def preferences(*rows: tuple[str, float | None, float | None, str | None]) -> pa.Table:
    """(query, as_a, as_b, verdict) of the systems x and y."""
    records = [
        {"query_id": q, "first": "x", "second": "y", "as_a": a, "as_b": b, "verdict": v}
        | {"by_order": None if a is None or b is None else (a - 0.5) * (b - 0.5) < 0}
        for q, a, b, v in rows
    ]
    return pa.Table.from_pylist(records, schema=PREFERENCES)


def test_ties_are_half_a_win_and_what_the_order_decided_is_told() -> None:
    table = preferences(
        *(("1", 0.9, 0.7, "first"), ("2", 0.8, 0.2, "tie"), ("3", 0.55, 0.5, "tie"), ("4", 0.3, 0.1, "second")),
        *(("5", 0.9, 0.9, "first"), ("6", None, 0.5, None)),
    )
    found = win_shares(table)[0]
    assert (found.first, found.second) == ("x", "y")
    assert (found.n_wins, found.n_ties, found.n_losses, found.n_missing) == (2, 2, 1, 1)
    assert found.share.mean == pytest.approx(3 / 5)
    assert 0 <= found.share.low < 0.6 < found.share.high <= 1
    assert found.by_order == pytest.approx(1 / 5)
    # as A and, behind, as the one that is not A: (.9 + .3, .8 + .8, .55 + .5, .3 + .9, .9 + .1) / 10
    assert found.first_place == pytest.approx(0.605)


def test_without_any_preference_the_share_is_undefined() -> None:
    found = win_shares(preferences(("1", None, None, None)))[0]
    assert math.isnan(found.share.mean) and math.isnan(found.by_order)
    assert found.n_missing == 1
