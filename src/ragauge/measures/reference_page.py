"""The reference page of the measures, written from the registry: `python -m ragauge.measures.reference_page`."""

import sys
from collections.abc import Iterator

from ragauge.measures.definition import Definition, Parameter, Spelling, format_value
from ragauge.measures.registry import DEFINITIONS

__all__ = ["reference_page"]

_HEAD = """\
# Measures

<!-- Written by `python -m ragauge.measures.reference_page > docs/measures.md`; change the registry, not this page. -->

A measure maps the labels of one ranking to one number. It is written `NAME@K` or `NAME(key=value,...)@K`, such as
`P@10` or `T(alpha=0.3)@10`. Names are read in any case; parameters that equal their default are left out when printed.
Where the cutoff is optional, the whole ranking counts without it: `RR`, `AP(rel=2)`, `nDCG`.

| word | meaning |
|---|---|
| K | the cutoff: how many top documents count |
| positive | a document whose label is at least `rel` (1 by default); labels may be fractions |
| n_p, n_n | positive documents, and judged documents that are not positive, in the top K |
| unjudged | a document whose label is null or negative: nobody knows; not the same as a label of 0 |
| pooled | a document with a negative label: chosen to be judged, and not judged (TREC's -1); only infAP reads that |
| N_p | positive documents in the whole knowledge base, retrieved or not; often unknown |

A score is a number, NaN where the measure is undefined, or null where it could not be computed because it needs N_p and
nobody knows it. Zero is a measurement.

**What a level touches.** Measures whose level is `rel` ask whether a document is positive; the others take the height
of the label, or only whether there is one. A level that would be ignored, as in `nDCG(rel=2)`, is an error.

Equal ratios give equal floats (2 of 4 and 3 of 6). Other exact ties may differ in the last bit: round to 12 digits
before comparing.
"""


def reference_page() -> str:
    """The page as Markdown, ending with a line break."""
    return "\n".join([_HEAD, *_overview(), *(line for definition in DEFINITIONS for line in _section(definition))])


def _overview() -> Iterator[str]:
    yield "| measure | what it tells | range | cutoff | level | needs N_p |"
    yield "|---|---|---|---|---|---|"
    for definition in DEFINITIONS:
        link = f"[{definition.name}](#{definition.name.lower()})"
        cells = (definition.summary, definition.range, definition.cutoff, _level(definition), _needs(definition))
        yield f"| {link} | {' | '.join(cells)} |"
    yield ""


def _level(definition: Definition) -> str:
    names = [parameter.name for parameter in definition.parameters]
    if definition.labels == "binary":
        return "`rel`"
    return "`rel` when gain=binary" if "gain" in names else "none"


def _written(definition: Definition) -> str:
    whole, cut = f"`{definition.name}`", f"`{definition.name}@K`"
    return {"required": cut, "optional": f"{cut}, or {whole} for the whole ranking", "none": whole}[definition.cutoff]


def _needs(definition: Definition) -> str:
    if definition.without_pool is None:
        return "yes"
    return "no" if definition.without_pool == definition.name else f"yes; {definition.without_pool} does not"


def _section(definition: Definition) -> Iterator[str]:
    yield f"## {definition.name}\n"
    yield f"{definition.title[0].upper()}{definition.title[1:]}. {definition.summary}\n"
    yield f"    {definition.formula}\n"
    facts = {
        "Written": _written(definition),
        "Range": definition.range,
        "0 means": definition.zero,
        "1 means": definition.one,
        "Undefined (NaN)": definition.undefined,
        "Unjudged document": definition.unjudged,
        "Level": _level(definition),
        "Needs N_p": _needs(definition),
        "Source": definition.source,
    }
    yield from (f"- {name}: {fact}" for name, fact in facts.items())
    yield ""
    if definition.parameters:
        yield "| parameter | allowed | default | meaning |"
        yield "|---|---|---|---|"
        for parameter in definition.parameters:
            yield _row(parameter)
            yield from (_spelling(other) for other in definition.spellings if other.of == parameter.name)
        yield ""
    if definition.notes:
        yield f"{definition.notes}\n"


def _row(parameter: Parameter) -> str:
    default = "must be given" if parameter.default is None else format_value(parameter.default)
    return f"| {parameter.name} | {parameter.allowed} | {default} | {parameter.meaning} |"


def _spelling(spelling: Spelling) -> str:
    number = spelling.number
    return f"| {number.name} | {number.allowed} | in place of {spelling.of} | {number.meaning} |"


if __name__ == "__main__":
    sys.stdout.write(reference_page())
