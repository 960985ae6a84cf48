"""R, F and nDCG by a number of relevant documents: equal to the measures themselves where the number is right."""

from math import log2, nan

import numpy as np
import pytest

from ragauge.errors import MeasureError
from ragauge.measures import counted_values, parse_measure
from ragauge.ragged import Ragged

LABELS = Ragged.from_lists([[1, 0, 1, 0], [0, 0], [1, None, 1, 1, 1]])
POOL = Ragged.from_lists([[1, 1, 1, 1, 1, 0], [1, 0], [1, 1, 1, 1]])
TOTALS = [5.0, 1.0, 4.0]
NAMES = [
    "R@2",
    "R@4",
    "R",
    "R(cap=cutoff)@3",
    "F@4",
    "F(alpha=0.2)@4",
    "F(alpha=0)@4",
    "F(alpha=1)@4",
    "nDCG@4",
    "nDCG",
]


@pytest.mark.parametrize("name", [*NAMES, "nDCG(gain=binary)@3"])
def test_a_right_number_gives_the_measure_itself(name):
    measure = parse_measure(name)
    assert counted_values(measure, LABELS, TOTALS) == pytest.approx(measure.values(LABELS, POOL))


def test_replicates_are_rows():
    found = counted_values(parse_measure("R@4"), LABELS, [TOTALS, [10.0, 2.0, 8.0]])
    assert found == pytest.approx(np.array([[0.4, 0, 0.75], [0.2, 0, 0.375]]))


def test_ideal_gain_between_whole_numbers_is_interpolated():
    # ideal DCG of 2.5 positives: 1 + 1 / log2 3 + .5 / log2 4
    found = counted_values(parse_measure("nDCG@4"), Ragged.from_lists([[1, 0, 0, 0]]), [2.5])
    assert found == pytest.approx([1 / (1 + 1 / log2(3) + 0.25)])


def test_what_was_found_is_there():
    assert counted_values(parse_measure("R@4"), Ragged.from_lists([[1, 1, 1, 0]]), [1.5]).tolist() == [1.0]


def test_a_number_of_nought_or_unknown():
    nothing = Ragged.from_lists([[0, 0], [0, 0]])
    for name, expected in (("R@2", [nan, nan]), ("F@2", [0.0, nan]), ("nDCG@2", [nan, nan])):
        assert counted_values(parse_measure(name), nothing, [0.0, nan]) == pytest.approx(expected, nan_ok=True)


def test_grades_that_nobody_saw_are_not_made_up():
    graded = Ragged.from_lists([[2, 0, 1]])
    with pytest.raises(MeasureError, match="grades of documents nobody saw"):
        counted_values(parse_measure("nDCG@3"), graded, [4.0])
    assert counted_values(parse_measure("nDCG(gain=binary,rel=2)@3"), graded, [1.0]).tolist() == [1.0]


@pytest.mark.parametrize("name", ["AP", "P@3", "nDCG(ideal=retrieved)@3", "bpref"])
def test_other_measures_need_more_than_a_number(name):
    with pytest.raises(MeasureError, match="cannot be had from an estimated number"):
        counted_values(parse_measure(name), LABELS, TOTALS)
