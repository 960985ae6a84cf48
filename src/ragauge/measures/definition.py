"""What a measure is made of: its kernel, its parameters, its bounds and its documentation, in one record.

A family file (counts.py, gain.py, unjudged.py) holds each kernel beside its `Definition`; the registry lists them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ragauge.errors import MeasureError

__all__ = ["Choice", "Definition", "Floats", "Number", "Parameter", "Value", "always", "format_value"]

Floats = npt.NDArray[np.float64]
Value = float | str
Values = Mapping[str, Any]
"""Every parameter of a measure with its checked value."""


@dataclass(frozen=True)
class Number:
    """A parameter that is a finite number within [low, high], or (low, high] when `above_low`."""

    name: str
    meaning: str
    default: float | None = None
    low: float = -inf
    high: float = inf
    above_low: bool = False

    @property
    def allowed(self) -> str:
        if self.above_low:
            return f"a number above {format_value(self.low)}"
        return f"a number in [{format_value(self.low)}, {format_value(self.high)}]"

    def check(self, value: object, *, where: str) -> float:
        """`value` as a float.

        Raises:
            MeasureError: It is no finite number, or outside what is allowed.
        """
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
        if number is None or not self._holds(number):
            shown = format_value(number) if number is not None else repr(value)
            raise MeasureError(f"{self.name} must be {self.allowed}, got {shown} in {where!r}")
        return number + 0.0  # -0.0 becomes 0.0, so that equal measures print alike

    def _holds(self, number: float) -> bool:
        if not isfinite(number) or (self.above_low and number <= self.low):
            return False
        return self.low <= number <= self.high


@dataclass(frozen=True)
class Choice:
    """A parameter that is one of a few words; case does not matter on input."""

    name: str
    meaning: str
    options: tuple[str, ...]
    default: str

    @property
    def allowed(self) -> str:
        return " or ".join(repr(option) for option in self.options)

    def check(self, value: object, *, where: str) -> str:
        """`value` as one of the options.

        Raises:
            MeasureError: It is none of them.
        """
        word = value.lower() if isinstance(value, str) else value
        for option in self.options:
            if word == option:
                return option
        shown = format_value(value) if isinstance(value, float) else repr(value)
        raise MeasureError(f"{self.name} must be {self.allowed}, got {shown} in {where!r}")


Parameter = Number | Choice


def _unit_bounds(cutoff: int, values: Values) -> tuple[float, float]:
    return 0.0, 1.0


def _cutoff_depth(cutoff: int, values: Values) -> int:
    return cutoff


def _never(values: Values) -> bool:
    return False


def always(values: Values) -> bool:
    """For `Definition.needs_pool` of a measure that divides by N_p whatever its parameters."""
    return True


@dataclass(frozen=True)
class Definition:
    """One measure, as the registry lists it.

    Attributes:
        name: Canonical name, such as "nDCG".
        title: The words for it, such as "normalised discounted cumulative gain".
        summary: One sentence for someone deciding whether to use it.
        formula: As text, in the words of the documentation's first section.
        zero: What 0 means.
        one: What 1 means, or the largest value where that is not 1.
        undefined: When the value is NaN.
        unjudged: What an unjudged document counts as.
        source: Where the measure comes from.
        kernel: (labels: Ragged, pool: Ragged, *, cutoff, **parameters) -> one float64 a row.
        parameters: In the order they are printed.
        bounds: Smallest and largest value, from cutoff and parameters.
        depth: How many top documents the kernel reads.
        needs_pool: Whether it needs the labels of documents that were not retrieved.
        range: As text, in the words of the formula.
        aliases: Other names people write; they are not read, only answered with "did you mean".
        notes: Further paragraphs of the reference page, in Markdown.
    """

    name: str
    title: str
    summary: str
    formula: str
    zero: str
    one: str
    undefined: str
    unjudged: str
    source: str
    kernel: Callable[..., Floats]
    parameters: tuple[Parameter, ...] = ()
    bounds: Callable[[int, Values], tuple[float, float]] = _unit_bounds
    depth: Callable[[int, Values], int] = _cutoff_depth
    needs_pool: Callable[[Values], bool] = _never
    range: str = "0..1"
    aliases: tuple[str, ...] = ()
    notes: str = ""

    @property
    def without_pool(self) -> str | None:
        """How to write it so that it needs no pool: "P", "nDCG(ideal=retrieved)"; None when it always needs one."""
        defaults: dict[str, Any] = {parameter.name: parameter.default for parameter in self.parameters}
        if not self.needs_pool(defaults):
            return self.name
        for parameter in self.parameters:
            for option in parameter.options if isinstance(parameter, Choice) else ():
                if not self.needs_pool({**defaults, parameter.name: option}):
                    return f"{self.name}({parameter.name}={option})"
        return None

    def parameter(self, name: str, *, where: str) -> Parameter:
        """The parameter called `name`, whatever its case.

        Raises:
            MeasureError: There is none; the message lists those there are.
        """
        for parameter in self.parameters:
            if parameter.name == name.lower():
                return parameter
        allowed = ", ".join(parameter.name for parameter in self.parameters) or "none"
        raise MeasureError(f"{self.name} has no parameter {name!r} in {where!r}; its parameters: {allowed}")


def format_value(value: Value) -> str:
    """A parameter value as it is printed: whole numbers without a point, others in the fewest digits that read back.

    >>> format_value(2.0), format_value(0.3), format_value("count")
    ('2', '0.3', 'count')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))
