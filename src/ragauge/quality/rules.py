"""What a release must satisfy, in words: 'T(alpha=0.3)@10 >= 0.25', 'delta P@10 > -0.02 vs baseline.parquet'.

A rule is decided on the interval, not on the point: it passes when the whole interval satisfies it, fails when none of
it does, and is undecided between. A point estimate just above a threshold is below it half of the time.
"""

import operator
import re
from dataclasses import dataclass
from math import isnan
from typing import Literal

from ragauge.errors import InputError
from ragauge.measures import Measure, parse_measure

__all__ = ["OPERATORS", "On", "Operator", "Outcome", "Rule", "decide", "parse_rule"]

Operator = Literal[">=", ">", "<=", "<"]
Outcome = Literal["pass", "fail", "undecided"]
On = Literal["interval", "point"]

OPERATORS: dict[str, Operator] = {">=": ">=", ">": ">", "<=": "<=", "<": "<", "≥": ">=", "≤": "<="}
"""What people write -> what it means."""

_HOLDS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_ROUNDING = 1e-12

_SUBJECT = re.compile(r"\s*(delta\b)?\s*([^<>=!≤≥()]*(?:\([^()]*\))?[^<>=!≤≥()]*)", re.IGNORECASE)
_OPERATOR = re.compile(r"[<>=!≤≥]+")
_THRESHOLD = re.compile(r"\s*(\S*)")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_END = re.compile(r"\s*(?:vs\s+(\S|\S.*\S))?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """A bound on a measure, or on how far it may move against a baseline.

    Attributes:
        measure: What is bound.
        operator: ">=", ">", "<=" or "<".
        threshold: The bound.
        baseline: The file of the baseline, and then the difference (new - baseline) is bound; None = the mean is.
    """

    measure: Measure
    operator: Operator
    threshold: float
    baseline: str | None = None

    def __str__(self) -> str:
        bound = f"{self.measure} {self.operator} {self.threshold:g}"
        return bound if self.baseline is None else f"delta {bound} vs {self.baseline}"


def parse_rule(text: str) -> Rule:
    """The rule written as `text`: [delta] MEASURE OPERATOR NUMBER [vs FILE].

    Args:
        text: Such as "P@10 >= 0.4" or "delta P@10 > -0.02 vs baseline.parquet"; "delta" and "vs" go together.

    Raises:
        InputError: Not of that form (the message says at which character), or a bound outside the measure's range.
        MeasureError: The measure is not one there is.

    >>> str(parse_rule("delta p@10>-.02 vs last week.parquet"))
    'delta P@10 > -0.02 vs last week.parquet'
    """
    subject = _SUBJECT.match(text)
    assert subject is not None  # it matches nothing at the least
    written = _OPERATOR.match(text, subject.end())
    if written is None or written[0] not in OPERATORS:
        raise _wrong(text, subject.end(), "expected >=, >, <= or <")
    if not subject[2].strip():
        raise _wrong(text, subject.start(2), "expected a measure, such as P@10")
    threshold = _THRESHOLD.match(text, written.end())
    if threshold is None or not _NUMBER.fullmatch(threshold[1]):
        raise _wrong(text, threshold.start(1) if threshold else len(text), "expected a number, such as 0.25")
    end = _END.fullmatch(text, threshold.end())
    if end is None:
        raise _wrong(text, threshold.end() + 1, "expected the end of the rule, or 'vs FILE'")
    _check_baseline(text, delta=subject[1] is not None, vs=end[1] is not None, at=threshold.end())
    rule = Rule(parse_measure(subject[2].strip()), OPERATORS[written[0]], float(threshold[1]), end[1])
    return _meaningful(rule, text)


def decide(rule: Rule, *, value: float, low: float, high: float, on: On = "interval") -> Outcome:
    """Whether the rule holds for an estimate with its interval.

    Args:
        rule: What must hold.
        value: The estimate; NaN = undefined, which never passes.
        low: Lower bound of its interval; NaN = there is none.
        high: Upper bound.
        on: "interval": pass when all of it satisfies the rule, fail when none does; without an interval, undecided.
            "point": the estimate alone.

    >>> decide(parse_rule("P@10 >= 0.4"), value=0.45, low=0.38, high=0.52)
    'undecided'
    """
    if isnan(value):
        return "fail"
    if on == "point":
        return "pass" if _holds(rule, value) else "fail"
    if isnan(low) or isnan(high):
        return "undecided"
    held = {_holds(rule, low), _holds(rule, high)}
    return "undecided" if len(held) == 2 else "pass" if True in held else "fail"


def _holds(rule: Rule, value: float) -> bool:
    """Values within a rounding error of the threshold count as equal to it."""
    if abs(value - rule.threshold) <= _ROUNDING * max(1.0, abs(rule.threshold)):
        return "=" in rule.operator
    return bool(_HOLDS[rule.operator](value, rule.threshold))


def _check_baseline(text: str, *, delta: bool, vs: bool, at: int) -> None:
    if delta and not vs:
        raise _wrong(text, at, "expected 'vs FILE': delta is a difference to a baseline")
    if vs and not delta:
        raise _wrong(text, 0, "expected 'delta' at the beginning, as 'vs FILE' names a baseline")


def _meaningful(rule: Rule, text: str) -> Rule:
    """The rule, unless the measure's range decides it already."""
    low, high = rule.measure.bounds
    if rule.baseline is not None:
        low, high = low - high, high - low
    if not low <= rule.threshold <= high:
        what = "its difference lies" if rule.baseline else "it lies"
        raise InputError(f"{rule.threshold:g} says nothing of {rule.measure}: {what} in {low:g}..{high:g}, in {text!r}")
    return rule


def _wrong(text: str, at: int, expected: str) -> InputError:
    found = f"found {text[at:].strip()!r}" if text[at:].strip() else "the rule ends there"
    return InputError(f"cannot read the rule {text!r} at character {at + 1}: {expected}, {found}")
