"""A measure is a value: checked where it is written, equal when it means the same, printed so that it reads back."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ragauge.errors import MeasureError
from ragauge.measures.definition import Definition, Floats, Parameter, Spelling, Value, format_value
from ragauge.measures.registry import definition_of
from ragauge.ragged import Ragged, blocks, slice_rows

__all__ = ["MAX_CUTOFF", "Measure"]

_AT_ONCE = 1 << 17
"""Labels that a kernel gets at a time."""

MAX_CUTOFF = 1_000_000
"""Nobody reads further; beyond it a cutoff is a mistyped one."""


@dataclass(frozen=True)
class Measure:
    """One measure with its cutoff and parameters, such as T(alpha=0.3)@10.

    `str(m)` is the canonical form, without parameters that equal their default; `parse_measure(str(m)) == m`.

    Args:
        name: Name of the measure, in any case; kept in its canonical one.
        cutoff: K, the number of top documents that count, 1..1000000; None = the whole ranking, where the measure
            allows that (`Definition.cutoff`).
        parameters: (name, value) pairs; those not given get their default. Kept complete and in the printed order.

    Raises:
        MeasureError: An unknown name or parameter, a value that is not allowed, one given twice or missing, parameters
            that do not go together, a cutoff missing or given where there is none.

    >>> str(Measure.of("ndcg", 5, ideal="retrieved"))
    'nDCG(ideal=retrieved)@5'
    """

    name: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        where = _printed(self.name, self.cutoff, self.parameters)
        definition = definition_of(self.name, where=where)
        object.__setattr__(self, "name", definition.name)
        object.__setattr__(self, "parameters", _complete(definition, self.parameters, where))
        object.__setattr__(self, "cutoff", _checked_cutoff(definition, self.cutoff, where))
        definition.check(self.cutoff, dict(self.parameters), where=where)

    @classmethod
    def of(cls, name: str, cutoff: int | None = None, **parameters: Value) -> "Measure":
        """`Measure.of("T", 10, alpha=0.3)`: the parameters as keywords."""
        return cls(name, cutoff, tuple(parameters.items()))

    @property
    def definition(self) -> Definition:
        """Kernel and documentation."""
        return definition_of(self.name, where=self.name)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value the measure can take."""
        return self.definition.bounds(self.cutoff, dict(self.parameters))

    @property
    def depth(self) -> int | None:
        """How many top documents it reads: K, round(xK) for Fe; None = all."""
        return self.definition.depth(self.cutoff, dict(self.parameters))

    @property
    def needs_pool(self) -> bool:
        """Whether it needs to know the labels of documents that were not retrieved."""
        return self.definition.needs_pool(dict(self.parameters))

    @property
    def uses_rel(self) -> bool:
        """Whether the level `rel` matters to it."""
        return self.definition.uses_rel(dict(self.parameters))

    @property
    def linear(self) -> bool:
        """Whether the value is a sum over slots, see `Definition.linear`."""
        return self.definition.linear(dict(self.parameters))

    def values(self, labels: Ragged, pool: Ragged) -> Floats:
        """What the kernel computes, one value a row; rows are taken in blocks that fit the processor's cache."""
        values = np.empty(labels.n_rows)
        for rows in blocks(labels.offsets + pool.offsets, size=_AT_ONCE):
            part = slice_rows(labels, rows), slice_rows(pool, rows)
            values[rows] = self.definition.kernel(*part, cutoff=self.cutoff, **dict(self.parameters))
        return values

    def __str__(self) -> str:
        defaults = {parameter.name: parameter.default for parameter in self.definition.parameters}
        return _printed(self.name, self.cutoff, [pair for pair in self.parameters if pair[1] != defaults[pair[0]]])


def _printed(name: object, cutoff: object, parameters: Iterable[tuple[str, Value]]) -> str:
    """NAME(key=value,...)@K, also of what is not valid, for messages."""
    pairs = ",".join(f"{key}={format_value(value) if _is_plain(value) else value}" for key, value in parameters)
    return f"{name}{f'({pairs})' if pairs else ''}{'' if cutoff is None else f'@{cutoff}'}"


def _is_plain(value: object) -> bool:
    """A string or a finite number, which `format_value` can print."""
    return isinstance(value, str) or (isinstance(value, float | int) and value - value == 0)


def _complete(
    definition: Definition, given: tuple[tuple[str, Value], ...], where: str
) -> tuple[tuple[str, Value], ...]:
    """Every parameter of the measure with its checked value, in the order of its definition."""
    values: dict[str, Value] = {}
    for name, value in given:
        key, checked = _checked_pair(definition.parameter(name, where=where), value, where)
        if key in values:
            same = [key, *(other.number.name for other in definition.spellings if other.of == key)]
            raise MeasureError(f"parameter {' or '.join(map(repr, same))} is given twice in {where!r}; give it once")
        values[key] = checked
    for parameter in definition.parameters:
        if parameter.name not in values:
            if parameter.default is None:
                raise MeasureError(
                    f"{definition.name} needs {parameter.name} in {where!r}; "
                    f"write for example '{definition.name}({parameter.name}=3)@10'"
                )
            values[parameter.name] = parameter.default
    return tuple((parameter.name, values[parameter.name]) for parameter in definition.parameters)


def _checked_pair(parameter: Parameter | Spelling, value: object, where: str) -> tuple[str, Value]:
    """Name and value of a parameter, also where it is given in its other spelling."""
    if isinstance(parameter, Spelling):
        return parameter.of, parameter.convert(parameter.number.check(value, where=where))
    return parameter.name, parameter.check(value, where=where)


def _checked_cutoff(definition: Definition, cutoff: object, where: str) -> int | None:
    name = definition.name
    if cutoff is None:
        if definition.cutoff == "required":
            raise MeasureError(f"no cutoff in {where!r}; write for example '{name}@10'")
        return None
    if definition.cutoff == "none":
        raise MeasureError(f"{name} takes no cutoff, got @{cutoff} in {where!r}; write '{name}'")
    whole = int(cutoff) if isinstance(cutoff, Integral) and not isinstance(cutoff, bool) else 0
    if whole < 1:
        raise MeasureError(f"cutoff must be a positive integer, got {cutoff} in {where!r}")
    if whole > MAX_CUTOFF:
        raise MeasureError(f"cutoff must be at most {MAX_CUTOFF}, got {cutoff} in {where!r}")
    return whole
