"""UDCG: the label it takes, and its value against the formula of its authors' code, written out again."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import same, value

from ragauge.errors import InputError
from ragauge.measures import help_label

PASSAGE = st.tuples(st.booleans(), st.floats(0, 1))


def authors(passages: list[tuple[bool, float]], weight: float) -> float:
    """The sigmoid of the mean utility, that of passages without the answer weighted by -weight."""
    utilities = [(1 - abstention) * (1.0 if relevant else -weight) for relevant, abstention in passages]
    return 1 / (1 + math.exp(-sum(utilities) / len(utilities)))


@settings(max_examples=100, deadline=None)
@given(st.lists(PASSAGE, min_size=1, max_size=8), st.sampled_from([0.0, 1 / 3, 1.0]))
def test_udcg_is_what_its_authors_compute(passages: list[tuple[bool, float]], weight: float) -> None:
    labels = help_label([relevant for relevant, _ in passages], [abstention for _, abstention in passages])
    assert same(value(f"UDCG(distraction={weight})", labels.tolist()), authors(passages, weight))


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("UDCG", [1, 0.5, 0], 0.555328),  # (1 + 0 - 1/3) / 3 = .222222
        ("UDCG", [1, None, 0], 0.555328),  # unjudged does nothing, and is counted
        ("UDCG@1", [1, 0, 0], 0.731059),  # sigmoid(1)
        ("UDCG", [0, 0], 0.417430),  # sigmoid(-1/3)
        ("UDCG(distraction=0)", [0, 0], 0.5),
        ("UDCG", [], 0.5),
    ],
)
def test_udcg_by_hand(text: str, row: list[float | None], expected: float) -> None:
    assert same(value(text, row), expected, tolerance=1e-6)


def test_the_order_does_not_matter_within_the_cutoff() -> None:
    assert value("UDCG", [0.9, 0.1, 0.6]) == pytest.approx(value("UDCG", [0.1, 0.6, 0.9]))


def test_the_label_of_help_puts_relevance_and_utility_on_one_scale() -> None:
    labels = help_label([True, True, True, False, False], [0, 0.5, 1, 0.5, 0])
    assert labels.tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]


@pytest.mark.parametrize("abstention", [-0.1, 1.1, math.nan])
def test_an_abstention_that_is_no_probability_is_refused(abstention: float) -> None:
    with pytest.raises(InputError, match=r"abstention must be a probability in 0\.\.1"):
        help_label(True, abstention)
