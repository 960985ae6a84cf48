"""The mean over all orders of equal scores: exact, for every measure, and never guessed."""

import math
from collections.abc import Sequence
from itertools import groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import InputError
from ragauge.measures import parse_measure
from ragauge.measures.expected import expected_values
from ragauge.measures.registry import DEFINITIONS
from ragauge.measures.ties import order_matters, tied_blocks
from ragauge.ragged import Ragged

Labels = Sequence[float | None]

GRADED = (
    *(
        "n_p@3",
        "n_n@3",
        "P@3",
        "P(rel=2)@2",
        "R@3",
        "F@3",
        "F(alpha=0)@2",
        "SetF@3",
        "SetP@3",
        "T@3",
        "T(form=count)@3",
    ),
    *("T(unjudged=negative)@2", "Success@2", "Fe@2", "Fe(alpha=0,x=1.5)@2", "RR", "RR@2", "AP", "AP@2", "AP(rel=2)"),
    *("Rprec", "DCG@3", "DCG(gain=exponential)", "nDCG", "nDCG@2", "nDCG(gain=binary)@3", "nDCG(ideal=retrieved)@2"),
    *("SDCG(max_label=2)@3", "ERR(max_label=2)", "ERR(max_label=3)@2", "RBP", "RBP@2", "RBPres(p=0.9)@3", "bpref"),
    *("infAP", "Judged@2"),
)
"""On grades 0, 1, 2."""
PROBABILITY = ("UDCG", "UDCG@2", "P(labels=probability)@2", "T(labels=probability)@3", "n_p(labels=probability)@2")
"""On labels within 0..1."""


def expected(text: str, labels: Labels, scores: Labels, pool: Labels) -> float:
    rows = (Ragged.from_lists([list(row)]) for row in (labels, pool, scores))
    return float(expected_values(*rows, parse_measure(text))[0])


def over_all_orders(text: str, labels: Labels, scores: Labels, pool: Labels) -> list[float]:
    """The value of every order of the tied blocks, one by one."""
    blocks = [list(block) for _, block in groupby(range(len(labels)), key=lambda at: scores[at])]
    measure, pools = parse_measure(text), Ragged.from_lists([list(pool)])
    orders = product(*(permutations(block) for block in blocks))
    rows = [[labels[at] for block in order for at in block] for order in orders]
    return [float(measure.values(Ragged.from_lists([row]), pools)[0]) for row in rows]


@st.composite
def tied_rankings(draw: st.DrawFn, grades: tuple[float, ...]) -> tuple[list[float | None], list[float], list[float]]:
    """Labels in the order of falling scores, the scores, and a pool that holds the labels."""
    n = draw(st.integers(0, 6))
    labels = draw(st.lists(st.none() | st.sampled_from(grades), min_size=n, max_size=n))
    scores = sorted(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), reverse=True)
    more = draw(st.lists(st.sampled_from(grades), max_size=2))
    return labels, [float(score) for score in scores], [label for label in labels if label is not None] + more


def check(texts: Sequence[str], labels: Labels, scores: Labels, pool: Labels) -> None:
    for text in texts:
        every = over_all_orders(text, labels, scores, pool)
        found = expected(text, labels, scores, pool)
        mean = math.fsum(every) / len(every)
        assert found == pytest.approx(mean, abs=1e-12, nan_ok=True), text
        if not math.isnan(found):
            assert min(every) - 1e-12 <= found <= max(every) + 1e-12, text


@settings(max_examples=40, deadline=None)
@given(tied_rankings((0.0, 1.0, 2.0)))
def test_the_mean_is_that_over_every_order_for_every_measure_of_grades(
    ranking: tuple[list[float | None], list[float], list[float]],
) -> None:
    check(GRADED, *ranking)


@settings(max_examples=40, deadline=None)
@given(tied_rankings((0.0, 0.25, 1.0)))
def test_the_mean_is_that_over_every_order_for_every_measure_of_probabilities(
    ranking: tuple[list[float | None], list[float], list[float]],
) -> None:
    check(PROBABILITY, *ranking)


def test_every_measure_there_is_takes_part() -> None:
    assert {definition.name for definition in DEFINITIONS} == {
        parse_measure(text).name for text in GRADED + PROBABILITY
    }


def test_trap_T1_reciprocal_rank_of_two_tied_documents_is_three_quarters() -> None:
    # first or second with equal chance: at K = 1 (1 + 0) / 2, at K = 2 (1 + 1/2) / 2
    ranking = ([0, 1], [1.0, 1.0], [0, 1])
    assert expected("RR@1", *ranking) == 0.5
    assert expected("RR@2", *ranking) == 0.75


def test_trap_T1_forty_tied_documents_share_the_harmonic_mean() -> None:
    # the only relevant one of 40 is at each rank with chance 1/40: (1 + 1/2 + ... + 1/40) / 40
    harmonic = sum(1 / rank for rank in range(1, 41)) / 40
    labels = [1.0] + [0.0] * 39
    assert expected("RR", labels, [0.0] * 40, labels) == pytest.approx(harmonic, abs=1e-14)
    assert expected("AP", labels, [0.0] * 40, labels) == pytest.approx(harmonic, abs=1e-14)
    assert expected("P@10", labels, [0.0] * 40, labels) == pytest.approx(1 / 40, abs=1e-14)


@pytest.mark.parametrize(
    "text", ["RR@10", "nDCG@10", "AP", "P@10", "Success@10", "ERR(max_label=1)@10", "Rprec", "bpref"]
)
def test_trap_4_a_constant_scorer_gets_one_story_from_all_measures(text: str) -> None:
    # 3 relevant of 30: what any order gives on average is strictly between the worst and the best order
    labels = [1.0] * 3 + [0.0] * 27
    found = expected(text, labels, [7.0] * 30, labels)
    best, worst = (expected(text, row, list(range(30, 0, -1)), labels) for row in (labels, labels[::-1]))
    assert worst < found < best
    assert found == expected(text, labels[::-1], [7.0] * 30, labels)


def test_large_blocks_of_many_grades_are_computed() -> None:
    # nDCG is a sum over ranks: with every rank holding the mean label 1, DCG@5 / ideal DCG@5 = sum d / (2 sum d) = 1/2
    labels = [0.0, 1.0, 2.0] * 100
    assert expected("nDCG@5", labels, [1.0] * 300, labels) == pytest.approx(0.5, abs=1e-12)
    # no hit among the first 10 of 100 misses and 200 hits: C(100, 10) / C(300, 10)
    none = math.comb(100, 10) / math.comb(300, 10)
    assert expected("Success@10", labels, [1.0] * 300, labels) == pytest.approx(1 - none, abs=1e-14)


def test_orders_that_cannot_be_gone_through_are_refused_and_not_sampled() -> None:
    labels = [0.0, 1.0] * 20
    with pytest.raises(InputError, match=r"the mean of infAP over ties needs 137,846,528,820 orders .* at most 20,000"):
        expected("infAP", labels, [1.0] * 40, labels)


def test_a_value_that_is_undefined_for_one_order_is_undefined() -> None:
    # alpha = 0: n_p / N_e, and with both positives below round(xK) = 1 there is none
    assert math.isnan(expected("Fe(alpha=0,x=1)@1", [1, 1, 0], [1.0, 1.0, 1.0], [1, 1, 0]))


def test_pooled_documents_count_in_infap_wherever_the_order_puts_them() -> None:
    # -1 = pooled, not judged: valid is False and the value stays
    labels = Ragged(np.array([1.0, -1.0, 0.0]), np.array([0, 3]), np.array([True, False, True]))
    pool, scores = Ragged.from_lists([[1, 0]]), Ragged.from_lists([[2.0, 2.0, 2.0]])
    measure = parse_measure("infAP")
    every = [
        float(measure.values(Ragged(labels.values[list(at)], labels.offsets, labels.valid[list(at)]), pool)[0])
        for at in permutations(range(3))
    ]
    assert float(expected_values(labels, pool, scores, measure)[0]) == pytest.approx(sum(every) / 6, abs=1e-12)


BLOCKS = [
    ([], []),
    ([3.0, 3.0, 2.0], [0, 0, 2]),
    ([3.0, None, None, 3.0], [0, 1, 2, 3]),  # unscored documents are tied with nothing
    ([2.0, 3.0, 3.0, 2.0], [0, 1, 1, 3]),  # neighbours only
]


@pytest.mark.parametrize(("scores", "blocks"), BLOCKS)
def test_neighbours_with_equal_scores_are_a_block(scores: list[float | None], blocks: list[int]) -> None:
    assert tied_blocks(Ragged.from_lists([scores])).tolist() == blocks


MATTERS = [
    ([1, 0], [1.0, 1.0], 1, True),
    ([1, None], [1.0, 1.0], 1, True),  # unjudged is not the same as judged 0
    ([1, 1], [1.0, 1.0], 1, False),
    ([0, 1, 0], [2.0, 1.0, 1.0], 1, False),  # the tie begins below the cutoff
    ([0, 1, 0], [2.0, 1.0, 1.0], 2, True),
    ([0, 1, 0], [2.0, 1.0, 1.0], None, True),
    ([], [], 5, False),
]


@pytest.mark.parametrize(("labels", "scores", "depth", "matters"), MATTERS)
def test_a_tie_matters_where_its_labels_differ_above_the_cutoff(
    labels: Labels, scores: Labels, depth: int | None, matters: bool
) -> None:
    found = order_matters(Ragged.from_lists([list(labels)]), Ragged.from_lists([list(scores)]), depth=depth)
    assert found.tolist() == [matters]


def test_a_block_ends_with_its_ranking() -> None:
    scores = Ragged.from_lists([[1.0], [1.0, 1.0], [], [1.0]])
    assert tied_blocks(scores).tolist() == [0, 1, 1, 3]
