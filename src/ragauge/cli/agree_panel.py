"""The part of `ragauge agree` that sets one rater, mostly a model, against all others taken together."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.terminal import echo_records

if TYPE_CHECKING:
    from ragauge.results import Agreement
    from ragauge.stats import AgainstPanel

__all__ = ["against_others", "echo_panel"]

SHOWN = ("kappa_quadratic", "alpha_ordinal")
MAX_GRADES = 20
"""More different ratings than this are no grades, and their means too many to be categories."""


def against_others(
    columns: tuple[Sequence[Any], Sequence[str], Sequence[Any]], options: Mapping[str, Any], judge: str | None
) -> "list[AgainstPanel]":
    """The judge against the median and the mean of the others, and each of these against the mean of the rest.

    Args:
        columns: Units, raters and ratings, one entry a rating.
        options: Of `ragauge.stats.against_panel`.
        judge: The rater on trial; None = none is.

    Returns:
        [] where nobody is on trial, where fewer than two others rated, or where ratings are words or no grades.
    """
    from ragauge.stats import against_panel

    _, raters, ratings = columns
    others = sorted(set(raters) - {judge})
    if judge is None or len(others) < 2 or not _are_grades(ratings):
        return []
    found = [against_panel(*columns, rater=judge, panel=others, by=by, **options) for by in ("median", "mean")]
    for one in others if len(others) > 2 else []:
        rest = [other for other in others if other != one]
        found.append(against_panel(*columns, rater=one, panel=rest, by="mean", **options))
    return [one for one in found if one.agreement.n_units]


def _are_grades(ratings: Sequence[Any]) -> bool:
    return len(set(ratings)) <= MAX_GRADES and not any(isinstance(rating, str) for rating in ratings)


def echo_panel(panel: "Sequence[AgainstPanel]") -> None:
    """One line a comparison; nothing where there is none."""
    if panel:
        judge = panel[0].rater
        click.echo(f"Against others taken together. The judge: {judge}")
        echo_records([_row(one, "the judge" if one.rater == judge else one.rater) for one in panel], format="table")


def _row(one: "AgainstPanel", rater: str) -> dict[str, Any]:
    shown = {name: _value(one.agreement, name) for name in SHOWN}
    return {
        "rater": rater,
        "others": one.by,
        "units": one.agreement.n_units,
        **shown,
        "bias": f"{one.difference.mean:+.2f}",
    }


def _value(found: "Agreement", name: str) -> str:
    one = found.coefficient(name)
    interval = "" if isnan(one.low) else f" {one.low:.2f}..{one.high:.2f}"
    return "undefined" if isnan(one.value) else f"{one.value:.2f}{interval}"
