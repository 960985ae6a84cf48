"""docs/measures.md is written from the registry and tells for each measure what a reader must know."""

import re
from pathlib import Path

import pytest
from measures_cases import value

from ragauge.measures import DEFINITIONS, Definition
from ragauge.measures.reference_page import reference_page

PAGE = Path(__file__).parents[2] / "docs/measures.md"


def test_the_page_is_not_stale() -> None:
    told = "docs/measures.md is stale; run: python -m ragauge.measures.reference_page > docs/measures.md"
    assert PAGE.read_text(encoding="utf-8") == reference_page(), told


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_each_measure_has_formula_range_meaning_and_source(definition: Definition) -> None:
    section = reference_page().split(f"\n## {definition.name}\n")[1].split("\n## ")[0]
    assert f"    {definition.formula}\n" in section
    facts = ("Written", "Range", "0 means", "1 means", "Undefined (NaN)", "Unjudged document", "Level", "Needs N_p")
    for fact in (*facts, "Source"):
        assert re.search(rf"^- {re.escape(fact)}: \S", section, re.MULTILINE)
    for parameter in (*definition.parameters, *(spelling.number for spelling in definition.spellings)):
        assert f"| {parameter.name} | {parameter.allowed} |" in section


def test_the_four_readings_of_f_say_what_is_computed() -> None:
    section = reference_page().split("\n## F\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "@10 |" in line]
    assert len(rows) == 4
    for _, text, shown in rows:
        assert value(text, [1, 1, None], [1, 1, 1, 1]) == pytest.approx(float(shown.split("=")[-1]), abs=5e-5)


def test_the_worked_example_of_t_says_what_is_computed() -> None:
    section = reference_page().split("\n## T\n")[1].split("\n## ")[0]
    for row, name in (([1] * 3, "3 good"), ([1] * 3 + [0] * 7, "3 good, 7 bad")):
        line = next(line for line in section.splitlines() if line.startswith(f"| {name} |"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        shown = [float(cell.split("=")[-1]) for cell in cells[3:]]
        assert shown == pytest.approx([value(text, row) for text in ("P@10", "T(alpha=0.3)@10", "T@10")])
