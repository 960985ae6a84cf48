"""Numbers as options: finite ones, as to click NaN and infinity are numbers and NaN lies in every range; and ranks."""

from math import isfinite
from typing import Any

import click

__all__ = ["NUMBER", "RANK", "NumberIn", "level_option", "rel_option"]


class Number(click.types.FloatParamType):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return _finite(self, super().convert(value, param, ctx), param, ctx)


class NumberIn(click.FloatRange):
    """A finite number in a range; the arguments are those of `click.FloatRange`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return _finite(self, super().convert(value, param, ctx), param, ctx)


def _finite(
    kind: click.ParamType[float], number: float, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    if not isfinite(number):
        kind.fail(f"{number} is not a finite number.", param, ctx)
    return number


NUMBER = Number()

RANK = click.IntRange(1, 1_000_000)
"""A cutoff or a depth, up to `measures.MAX_CUTOFF`, written out so that --help imports nothing."""

rel_option = click.option(
    "--rel", type=NUMBER, help="A label this high is relevant. Default: 1; 0.5 if labels are probabilities."
)
level_option = click.option(
    "--level", type=NumberIn(0, 1, True, True), default=0.95, show_default=True, help="Confidence."
)
