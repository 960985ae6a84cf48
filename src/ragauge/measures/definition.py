"""What a measure is made of: its kernel, its parameters, its bounds and its documentation, in one record.

A family file (counts.py, gain.py, unjudged.py) holds each kernel beside its `Definition`; the registry lists them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ragauge.errors import MeasureError

__all__ = [
    "Choice",
    "CutoffUse",
    "Definition",
    "Floats",
    "Number",
    "Parameter",
    "Spelling",
    "Value",
    "Values",
    "always",
    "format_value",
    "unbounded",
]

Floats = npt.NDArray[np.float64]
Value = float | str
Values = Mapping[str, Any]
"""Every parameter of a measure with its checked value."""
CutoffUse = Literal["required", "optional", "none"]
"""Whether a measure is written with @K. "optional": without it the whole ranking counts."""


@dataclass(frozen=True)
class Number:
    """A parameter that is a finite number in [low, high]; `above_low` and `below_high` leave the end out."""

    name: str
    meaning: str
    default: float | None = None
    low: float = -inf
    high: float = inf
    above_low: bool = False
    below_high: bool = False

    @property
    def allowed(self) -> str:
        if self.high == inf:
            return f"a number {'above' if self.above_low else 'of at least'} {format_value(self.low)}"
        first, last = "(" if self.above_low else "[", ")" if self.below_high else "]"
        return f"a number in {first}{format_value(self.low)}, {format_value(self.high)}{last}"

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
        above = number > self.low if self.above_low else number >= self.low
        below = number < self.high if self.below_high else number <= self.high
        return isfinite(number) and above and below


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


@dataclass(frozen=True)
class Spelling:
    """Another way to give a parameter: it is converted where it is read, and printed as the parameter."""

    number: Number
    of: str
    convert: Callable[[float], float]


def _unit_bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    return 0.0, 1.0


def _cutoff_depth(cutoff: int | None, values: Values) -> int | None:
    return cutoff


def _never(values: Values) -> bool:
    return False


def _fits(cutoff: int | None, values: Values, where: str) -> None:
    return None


def _uses_rel(values: Values) -> bool:
    return "rel" in values and values.get("gain", "binary") == "binary" and values.get("labels", "grade") == "grade"


def _positive_labels(labels: Floats, cutoff: int | None, values: Values) -> npt.NDArray[np.bool_]:
    return np.asarray(labels >= values["rel"] if _uses_rel(values) else labels > 0)


def always(values: Values) -> bool:
    """For what holds of a measure whatever its parameters."""
    return True


def unbounded(cutoff: int | None) -> float:
    """The cutoff as a number: infinite where the whole ranking counts."""
    return inf if cutoff is None else float(cutoff)


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
        kernel: (labels: Ragged, pool: Ragged, *, cutoff, **parameters) -> one float64 a row; cutoff None = all.
        labels: What it takes from a label: whether it is positive ("binary", a level `rel` matters), how high it is
            ("graded", a level does not matter), or only whether there is one ("judged").
        parameters: In the order they are printed.
        spellings: Other ways to give one of the parameters.
        cutoff: Whether it is written with @K.
        check_together: (cutoff, parameters, where) raises a MeasureError where values that are each allowed do not go
            together.
        bounds: Smallest and largest value, from cutoff and parameters; infinite where there is none.
        depth: How many top documents the kernel reads; None = all.
        needs_pool: Whether it needs the labels of documents that were not retrieved.
        linear: Whether the value is a sum over slots, each adding what its own document is worth there, times
            something that does not depend on the order. Then the mean over orders is that of the slots.
        capped: Whether the number of positives may keep the value below its upper bound (`attainable`).
        worth: (labels, cutoff, parameters) -> which of these labels raise the value when returned.
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
    labels: Literal["binary", "graded", "judged"]
    parameters: tuple[Parameter, ...] = ()
    spellings: tuple[Spelling, ...] = ()
    cutoff: CutoffUse = "required"
    check_together: Callable[[int | None, Values, str], None] = _fits
    bounds: Callable[[int | None, Values], tuple[float, float]] = _unit_bounds
    depth: Callable[[int | None, Values], int | None] = _cutoff_depth
    needs_pool: Callable[[Values], bool] = _never
    linear: Callable[[Values], bool] = _never
    capped: bool = True
    worth: Callable[[Floats, int | None, Values], npt.NDArray[np.bool_]] = _positive_labels
    range: str = "0..1"
    aliases: tuple[str, ...] = ()
    notes: str = ""

    def uses_rel(self, values: Values) -> bool:
        """Whether the level `rel` matters, given the parameters: not to graded gains, nor to probabilities."""
        return _uses_rel(values)

    def check(self, cutoff: int | None, values: Values, *, where: str) -> None:
        """Raises MeasureError unless the parameters go together: none is given that would be ignored."""
        if values.get("rel", 1.0) != 1.0 and not _uses_rel(values):
            switch = next(f"{name}={values[name]}" for name in ("gain", "labels") if name in values)
            raise MeasureError(f"rel is not used by {self.name} with {switch} in {where!r}; leave it out")
        self.check_together(cutoff, values, where)

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

    def parameter(self, name: str, *, where: str) -> Parameter | Spelling:
        """The parameter called `name`, or the other spelling of one, whatever its case.

        Raises:
            MeasureError: There is none; the message lists those there are.
        """
        known: dict[str, Parameter | Spelling] = {parameter.name: parameter for parameter in self.parameters}
        known |= {spelling.number.name: spelling for spelling in self.spellings}
        if name.lower() not in known:
            allowed = ", ".join(known) or "none"
            raise MeasureError(f"{self.name} has no parameter {name!r} in {where!r}; its parameters: {allowed}")
        return known[name.lower()]


def format_value(value: Value) -> str:
    """A parameter value as it is printed: whole numbers without a point, others in the fewest digits that read back.

    >>> format_value(2.0), format_value(0.3), format_value("count")
    ('2', '0.3', 'count')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))
