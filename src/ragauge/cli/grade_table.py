"""What `ragauge grade` prints: grades of systems, wins of systems, and the rubric for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.terminal import echo_json, echo_records

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.quality.answers import SystemGrades, WinShare
    from ragauge.results import Estimate

__all__ = ["echo_grades", "echo_rubric", "echo_wins"]

WIDTH = 80


def echo_grades(grades: "pa.Table", *, level: float, format: str) -> None:
    """Each system's mean grade with its interval, its spreads, and how many grades stand at the ends of the scale."""
    from ragauge.quality.answers import system_grades

    found = system_grades(grades, level=level)
    if format == "table":
        repeated = any(not isnan(one.repeat_sd) for one in found)
        title = f"Mean grade, 1 to 5, with its {level:.0%} interval over queries"
        echo_records([_grade_row(one, repeated) for one in found], format="table", title=title)
    else:
        _echo_plain(found, format)


def echo_wins(preferences: "pa.Table", *, level: float, format: str) -> None:
    """Each two systems: who won how often, and how much of it the order decided."""
    from ragauge.quality.answers import win_shares

    found = win_shares(preferences, level=level)
    if format == "table":
        title = f"Share of wins and half the ties, with its {level:.0%} interval over queries"
        echo_records([_win_row(one) for one in found], format="table", title=title)
    else:
        _echo_plain(found, format)


def echo_rubric() -> None:
    """What the model is told, for people: the rubric and its examples."""
    from ragauge.llm import GRADE, GRADE_RUBRIC

    first, *scale = GRADE_RUBRIC.splitlines()
    click.echo(f"Rubric {GRADE.id}, which models are given too.\n")
    click.echo("\n".join([fill(first, WIDTH), *scale, "", "Examples"]))
    shown: Mapping[str, Any] = {}
    for fields, grade in sorted(GRADE.examples, key=lambda example: (str(example[0]["query"]), example[1])):
        if fields["query"] != shown.get("query"):
            click.echo(_indented(f"Question: {fields['query']}", 2) + "\n" + _indented(f"Ideal: {fields['ideal']}", 2))
        click.echo(_indented(f"{grade}  {fields['answer']}", 4, hang=3))
        shown = fields


def _echo_plain(found: "Sequence[SystemGrades | WinShare]", format: str) -> None:
    """All there is as JSON; as CSV with an estimate's mean, low and high in its place."""
    records = [asdict(one) for one in found]
    if format == "json":
        echo_json(records)
        return
    for record in records:
        name = "grade" if "grade" in record else "share"
        estimate = record.pop(name)
        record |= {name: estimate["mean"], "low": estimate["low"], "high": estimate["high"]}
    echo_records(records, format="csv")


def _indented(text: str, n: int, *, hang: int = 2) -> str:
    return fill(text, WIDTH, initial_indent=" " * n, subsequent_indent=" " * (n + hang))


def _grade_row(one: "SystemGrades", repeated: bool) -> dict[str, Any]:
    over_repeats = {"repeat sd": _number(one.repeat_sd), "same": _share(one.same)} if repeated else {}
    return {
        "system": one.system,
        "n": one.grade.n,
        "grade": _number(one.grade.mean),
        "interval": _interval(one.grade),
        "expected": _number(one.expected),
        "sd": _number(one.expected_sd),
        **over_repeats,
        "at 1": _share(one.at_lowest),
        "at 5": _share(one.at_highest),
    }


def _win_row(one: "WinShare") -> dict[str, Any]:
    return {
        "systems": f"{one.first} - {one.second}",
        "won/tied/lost": f"{one.n_wins}/{one.n_ties}/{one.n_losses}",
        "share": _number(one.share.mean),
        "interval": _interval(one.share),
        "by order": _share(one.by_order),
        "first place": _share(one.first_place),
    }


def _interval(estimate: "Estimate") -> str:
    return "" if isnan(estimate.low) else f"{estimate.low:.2f}..{estimate.high:.2f}"


def _number(value: float) -> str:
    return "" if isnan(value) else f"{value:.2f}"


def _share(share: float) -> str:
    return "" if isnan(share) else f"{share:.0%}"
