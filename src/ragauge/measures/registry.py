"""Every measure there is, by name. A new one is a kernel and a `Definition` in a family file, and a line here."""

from difflib import get_close_matches

from ragauge.errors import MeasureError
from ragauge.measures import context, counts, f_measure, gain, persistence, rank, unjudged, worth
from ragauge.measures.definition import Definition

__all__ = ["DEFINITIONS", "definition_of"]

DEFINITIONS: tuple[Definition, ...] = (
    *counts.DEFINITIONS,
    *f_measure.DEFINITIONS,
    *worth.DEFINITIONS,
    *rank.DEFINITIONS,
    *gain.DEFINITIONS,
    *persistence.DEFINITIONS,
    *unjudged.DEFINITIONS,
    *context.DEFINITIONS,
)
"""In the order of the reference page."""

_BY_NAME = {definition.name.lower(): definition for definition in DEFINITIONS}
_MEANT = {
    word.lower(): definition
    for definition in DEFINITIONS
    for word in (definition.title, *definition.aliases, definition.name)
}


def definition_of(name: str, *, where: str) -> Definition:
    """The measure called `name`, whatever its case.

    Args:
        name: Such as "nDCG".
        where: The text it stands in, for the message.

    Raises:
        MeasureError: There is none; the message names the nearest, if any is near, and all there are.
    """
    definition = _BY_NAME.get(name.lower())
    if definition is None:
        near = get_close_matches(name.lower(), _MEANT, n=1, cutoff=0.7)
        hint = f"did you mean {_MEANT[near[0]].name!r}? " if near else ""
        known = ", ".join(known.name for known in DEFINITIONS)
        raise MeasureError(f"unknown measure {name!r} in {where!r}; {hint}known: {known}")
    return definition
