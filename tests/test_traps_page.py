"""docs/traps.md: every trap has a row, and every test it names exists, and is of that trap."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "traps.md"

NUMBERS = (
    *("1", "2", "3", "4", "5", "6", "7", "9", "10", "12", "13", "14", "15", "16", "17", "18", "20", "21", "22", "24"),
    *("25", "26", "27", "29", "30", "31", "32", "33", "34", "36", "37", "38", "39", "40", "41", "42", "43", "44"),
    *("T1", "T2", "T4", "T5", "T6", "T7", "T8", "T9", "T10", "T11", "T13", "T14", "T16"),
    *("fact 1", "fact 2", "fact 3"),
)


def rows() -> dict[str, list[str]]:
    """Number -> the cells of its row."""
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text("utf-8").splitlines()]
    return {cells[0]: cells[1:] for cells in found if len(cells) == 4 and re.fullmatch(r"T?\d+|fact \d", cells[0])}


def named_tests(cells: list[str]) -> list[str]:
    return re.findall(r"`(test_\w+)`", cells[-1])


EXISTING = {
    name for path in TESTS.rglob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.M)
}


def test_every_trap_has_a_row_and_none_is_made_up() -> None:
    assert set(rows()) == set(NUMBERS)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_tests_of_a_trap_exist_and_one_bears_its_number(number: str) -> None:
    cells = rows()[number]
    named = named_tests(cells)
    assert all(cells), "a cell is empty"
    assert not set(named) - EXISTING
    assert any(f"_{number.replace(' ', '_')}_" in name for name in named)


def test_every_test_of_a_trap_is_on_the_page() -> None:
    named = {name for cells in rows().values() for name in named_tests(cells)}
    assert {name for name in EXISTING if re.match(r"test_(traps?|fact)_(T?\d)", name)} - named == set()
