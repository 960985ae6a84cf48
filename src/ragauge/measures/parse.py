"""The written form of a measure: NAME[(key=value[,key=value]...)][@K]."""

import re

from ragauge.errors import MeasureError
from ragauge.measures.definition import Value
from ragauge.measures.measure import MAX_CUTOFF, Measure
from ragauge.measures.registry import definition_of

__all__ = ["parse_measure"]

_FORM = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\)\s*)?(?:@(.*))?", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]+")
_MOST_DIGITS = 18
"""A number of more digits is above every cutoff; Python's int() refuses one of more than 4300."""


def parse_measure(text: str) -> Measure:
    """The measure written as `text`.

    Args:
        text: Such as "P@10", "F(alpha=0.3)@10" or "RR". Case and spaces do not matter.

    Raises:
        MeasureError: Not of that form, an unknown name or parameter, or a value that is not allowed.

    >>> str(parse_measure("t( alpha = 0.50, form=count ) @10"))
    'T(form=count)@10'
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise MeasureError(
            f"cannot read the measure {text!r}; write NAME@K or NAME(key=value,...)@K, such as 'T(alpha=0.3)@10'"
        )
    name, parameters, cutoff = match.groups()
    definition = definition_of(name, where=text)
    pairs = _pairs(parameters or "", text)
    if cutoff is None:
        return Measure(name, None, pairs)
    if not cutoff.strip():
        raise MeasureError(f"no cutoff in {text!r}; write for example '{definition.name}@10'")
    return Measure(name, _cutoff(cutoff.strip(), text), pairs)


def _pairs(parameters: str, text: str) -> tuple[tuple[str, Value], ...]:
    """The (name, value) pairs between the brackets."""
    if not parameters.strip():
        return ()
    return tuple(_pair(item, text) for item in parameters.split(","))


def _pair(item: str, text: str) -> tuple[str, Value]:
    name, equals, value = (part.strip() for part in item.partition("="))
    if not (name and equals and value):
        raise MeasureError(f"expected key=value, got {item.strip()!r} in {text!r}")
    return name, float(value) if _NUMBER.fullmatch(value) else value


def _cutoff(cutoff: str, text: str) -> int:
    if not _WHOLE.fullmatch(cutoff):
        raise MeasureError(f"cutoff must be a positive integer, got {cutoff} in {text!r}")
    digits = cutoff.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        raise MeasureError(f"cutoff must be at most {MAX_CUTOFF}, got a number of {len(digits)} digits in {text!r}")
    return int(digits)
