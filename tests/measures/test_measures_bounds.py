"""The lowest and highest value over all labels that unjudged documents could have: every labelling tried."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import judged

from ragauge.errors import InputError
from ragauge.measures import parse_measure, score, score_bounds
from ragauge.measures.bounds import has_bounds, label_bounds
from ragauge.measures.registry import DEFINITIONS
from ragauge.ragged import Ragged

Labels = Sequence[float | None]

GRADED = (
    *("n_p@3", "n_n@3", "n_n(unjudged=negative)@2", "P@3", "P(rel=2)@2", "R@2", "R(rel=2)@3", "F@3", "F(alpha=0)@2"),
    *("SetF@3", "SetP@3", "T@3", "T(form=count)@3", "T(alpha=0.3,unjudged=negative)@2", "Success@2", "Fe@2"),
    *("Fe(alpha=0,x=1.5)@2", "RR", "RR@2", "AP", "AP@2", "AP(rel=2)", "Rprec", "DCG@3", "DCG(gain=exponential)"),
    *("nDCG", "nDCG@1", "nDCG@2", "nDCG(gain=exponential)@3", "nDCG(gain=binary)@3", "nDCG(ideal=retrieved)@2"),
    *("nDCG(ideal=retrieved)", "nDCG(ideal=retrieved,gain=exponential)@3", "SDCG(max_label=2)@3", "ERR(max_label=2)"),
    *("ERR(max_label=2)@2", "RBP", "RBP@2", "bpref", "infAP"),
)
"""On grades 0, 1, 2."""
PROBABILITY = ("UDCG", "UDCG@2", "P(labels=probability)@2", "T(labels=probability)@3", "n_p(labels=probability)@2")


def bounds(text: str, labels: Labels, pool: Labels, max_label: float) -> tuple[float, float]:
    rows = (Ragged.from_lists([list(row)]) for row in (labels, pool))
    found = label_bounds(*rows, parse_measure(text), max_label=max_label)
    return float(found.low[0]), float(found.high[0])


def of_every_labelling(text: str, labels: Labels, pool: Labels, grades: Sequence[float]) -> list[float]:
    """The defined values, one labelling after the other."""
    measure = parse_measure(text)
    found = []
    for given_labels in product(grades, repeat=labels.count(None)):
        left = iter(given_labels)
        row = [next(left) if label is None else label for label in labels]
        found.append(float(measure.values(Ragged.from_lists([row]), Ragged.from_lists([[*pool, *given_labels]]))[0]))
    return [value for value in found if not math.isnan(value)]


@st.composite
def rankings(draw: st.DrawFn, grades: tuple[float, ...]) -> tuple[list[float | None], list[float]]:
    """Labels with one to four unjudged documents, and a pool that holds the labels."""
    row = draw(st.lists(st.sampled_from(grades), max_size=3)) + [None] * draw(st.integers(1, 4))
    labels = draw(st.permutations(row))
    return labels, [label for label in labels if label is not None] + draw(
        st.lists(st.sampled_from(grades), max_size=2)
    )


def check(texts: Sequence[str], labels: Labels, pool: Labels, grades: Sequence[float]) -> None:
    for text in texts:
        every = of_every_labelling(text, labels, pool, grades) or [math.nan]
        low, high = bounds(text, labels, pool, grades[-1])
        assert low == pytest.approx(min(every), abs=1e-12, nan_ok=True), text
        assert high == pytest.approx(max(every), abs=1e-12, nan_ok=True), text


@settings(max_examples=50, deadline=None)
@given(rankings((0.0, 1.0, 2.0)))
def test_bounds_are_those_of_every_labelling_for_every_measure_of_grades(
    ranking: tuple[list[float | None], list[float]],
) -> None:
    check(GRADED, *ranking, (0.0, 1.0, 2.0))


@settings(max_examples=30, deadline=None)
@given(rankings((0.0, 0.25, 1.0)))
def test_bounds_are_those_of_every_labelling_for_every_measure_of_probabilities(
    ranking: tuple[list[float | None], list[float]],
) -> None:
    check(PROBABILITY, *ranking, (0.0, 0.5, 1.0))


def test_every_measure_that_has_bounds_takes_part() -> None:
    tried = {parse_measure(text).name for text in GRADED + PROBABILITY}
    assert {definition.name for definition in DEFINITIONS if definition.labels != "judged"} == tried


# labels, pool, measure, low, high
CASES = [
    # P@4 of [1, ?, 0, ?]: none or both
    ([1, None, 0, None], [1, 0], "P@4", 0.25, 0.75),
    # R@2 of [1, ?, ?], one more positive unretrieved: highest with the 2nd positive and the 3rd not, (1+1)/(2+1);
    # lowest the other way, 1/(2+1)
    ([1, None, None], [1, 1], "R@2", 1 / 3, 2 / 3),
    # T@2, alpha 0.5, of [1, ?]: (0.5 - 0.5)/2 and (0.5 + 0.5)/2, whatever T says of unjudged documents
    ([1, None], [1], "T@2", 0.0, 0.5),
    ([1, None], [1], "T(unjudged=negative)@2", 0.0, 0.5),
    # nDCG@2 of [1, ?] where a 2 was missed, grades up to 3: (1 + 2a)/(2 + 2a) with a = 1/log2(3), at the label 2; a
    # label of 3 gives (1 + 3a)/(3 + 2a), which is less; lowest at 0: 1/(2 + a)
    ([1, None], [1, 2], "nDCG@2", 1 / (2 + 1 / math.log2(3)), (1 + 2 / math.log2(3)) / (2 + 2 / math.log2(3))),
    # RR of [?, 1]: second, or first
    ([None, 1], [1], "RR", 0.5, 1.0),
    # Fe@1 of [1, ?]: N_e is 1 or 2, 1/(0.5 + 0.5) and 1/(0.5 + 1)
    ([1, None], [1], "Fe@1", 2 / 3, 1.0),
    # no label is missing
    ([1, 0], [1, 0], "AP", 1.0, 1.0),
    # nothing positive is known: only a labelling with one defines R
    ([None], [0], "R@1", 1.0, 1.0),
    ([0], [0], "R@1", math.nan, math.nan),
]


@pytest.mark.parametrize(("labels", "pool", "text", "low", "high"), CASES)
def test_bounds_worked_by_hand(labels: Labels, pool: Labels, text: str, low: float, high: float) -> None:
    found = bounds(text, labels, pool, 3.0)
    assert found == (pytest.approx(low, abs=1e-12, nan_ok=True), pytest.approx(high, abs=1e-12, nan_ok=True))


def test_rbp_and_its_residual_are_the_bounds_without_the_tail() -> None:
    # [1, ?, 0], p = .9: .1 and .1 + .1 * .9; what stands below the ranking is not counted here
    assert bounds("RBP(p=0.9)", [1, None, 0], [1, 0], 1.0) == (pytest.approx(0.1), pytest.approx(0.19))


def test_a_measure_of_what_is_judged_has_no_bounds() -> None:
    assert not has_bounds(parse_measure("Judged@5"))
    found = score_bounds(judged([[1, None]]), [parse_measure("Judged@2")])
    assert found.low.column("Judged@2").to_pylist() == [None]


def test_bounds_of_rankings_without_a_pool_are_null_where_the_pool_is_needed() -> None:
    table = judged([[1, None], [1, None]], [[1], None])
    found = score_bounds(table, [parse_measure("R@1"), parse_measure("P@2")])
    assert found.low.column("R@1").to_pylist() == [0.5, None]  # the one at rank 2 may be relevant, and is not found
    assert found.high.column("P@2").to_pylist() == [1.0, 1.0]


def test_the_scale_reaches_to_the_highest_label_there_is() -> None:
    table = judged([[0, None], [2]], [[0], [2]])
    assert score_bounds(table, [parse_measure("DCG@2")]).high.column("DCG@2").to_pylist()[0] == pytest.approx(
        2 / math.log2(3)
    )
    higher = score_bounds(table, [parse_measure("DCG@2")], max_label=3)
    assert higher.high.column("DCG@2").to_pylist()[0] == pytest.approx(3 / math.log2(3))
    with pytest.raises(InputError, match="a label of 2 exceeds max_label=1"):
        score_bounds(table, [parse_measure("DCG@2")], max_label=1)


def test_bounds_hold_the_value_with_unjudged_documents_taken_for_negative() -> None:
    rng = np.random.default_rng(4)
    rows = [[None if rng.random() < 0.4 else float(rng.integers(0, 3)) for _ in range(12)] for _ in range(200)]
    pools = [[label for label in row if label is not None] + [1.0, 2.0] for row in rows]
    measures = [parse_measure(text) for text in ("P@10", "R@10", "AP", "nDCG@10", "RR", "F@5", "ERR(max_label=2)")]
    table = judged(rows, pools)
    values, found = score(table, measures), score_bounds(table, measures)
    for measure in measures:
        low, value, high = (each.column(str(measure)).to_numpy() for each in (found.low, values, found.high))
        assert (low <= value + 1e-12).all() and (value <= high + 1e-12).all()
        assert (high - low > 0.01).mean() > 0.3
