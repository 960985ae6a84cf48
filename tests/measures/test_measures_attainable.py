"""How high a measure can get, by hand and against all rankings there are."""

import math
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import CASES, Case, Labels, judged, same

from ragauge.measures import attainable, parse_measure, score
from ragauge.ragged import Ragged

NAN = math.nan
FOUR = [1, 1, 0, 1, 1, 0]
HUNDRED = [1.0] * 100

BY_HAND = [
    # measure, pool, largest value
    ("n_p@10", FOUR, 4),
    ("P@5", [1, 0, 0], 0.2),  # one gold document
    ("P@2", FOUR, 1),
    ("SetP", FOUR, 1),
    ("R@1", FOUR, 0.25),
    ("R@10", FOUR, 1),
    ("R@10", [0], NAN),
    ("R(cap=cutoff)@1", FOUR, 1),
    ("F@10", FOUR, 4 / 7),  # 4 / (5 + 2)
    ("F@2", FOUR, 2 / 3),  # 2 / (1 + 2)
    ("SetF@10", FOUR, 1),
    ("Fe@2", [1, 0], 2 / 3),  # 1 / (1 + .5)
    ("Fe@2", FOUR, 1),  # return two and no more
    ("T@10", FOUR, 0.2),  # .5 * 4 / 10
    ("T(form=count)@10", FOUR, 2),
    ("T(alpha=0.3,labels=probability)@10", [0.9, 0.4, 0.3, 0.1], 0.07),  # .9 and .4: (.7 * 1.3 - .3 * .7) / 10
    ("Success@5", [0, 0], 0),
    ("RR", [0, 1], 1),
    ("AP@10", HUNDRED, 0.1),
    ("AP", HUNDRED, 1),
    ("DCG@2", [3, 1, 1], 3 + 1 / math.log2(3)),
    ("SDCG(max_label=3)@2", [3, 0], 1 / (1 + 1 / math.log2(3))),
    ("ERR(max_label=1)", [1, 1], 0.625),  # 1/2 + 1/2 * 1/2 * 1/2
    ("RBP(p=0.5)", [1, 1, 0], 0.75),
]


def largest(text: str, pools: list[Labels]) -> list[float]:
    found = attainable(parse_measure(text), Ragged.from_lists([list(pool) for pool in pools]))
    assert found is not None
    return found.tolist()


@pytest.mark.parametrize(("text", "pool", "expected"), BY_HAND)
def test_the_largest_value_by_hand(text: str, pool: list[float], expected: float) -> None:
    assert same(largest(text, [pool])[0], expected)


def test_each_query_has_its_own() -> None:
    assert largest("R@2", [[1, 1, 1, 1], [], [0, 1]]) == pytest.approx([0.5, NAN, 1.0], nan_ok=True)


@pytest.mark.parametrize("text", ["n_n@5", "Judged@5", "RBPres", "nDCG@5", "Rprec", "bpref", "infAP", "UDCG"])
def test_a_measure_without_such_a_cap_says_so(text: str) -> None:
    assert attainable(parse_measure(text), Ragged.from_lists([[1, 0]])) is None


def test_trap_32_average_precision_at_10_is_capped_where_ndcg_is_not() -> None:
    top = [1.0] * 10
    table = judged([top], [HUNDRED])
    assert score(table, [parse_measure("AP@10")]).column(2).to_pylist() == [0.1]
    assert score(table, [parse_measure("nDCG@10")]).column(2).to_pylist() == [1.0]
    assert largest("AP@10", [HUNDRED]) == [0.1]


def test_trap_31_and_34_recall_at_1_and_precision_with_one_gold_document_have_a_ceiling() -> None:
    assert largest("R@1", [FOUR]) == [0.25]
    assert largest("P@5", [[1]]) == [0.2]


POOL = st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.0, 2.0, 3.0]), max_size=4)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
@settings(max_examples=4, deadline=None)
@given(pool=POOL, K=st.integers(1, 4))
def test_no_ranking_of_the_pool_scores_higher_and_one_scores_as_high(case: Case, pool: list[float], K: int) -> None:
    measure, labels = case.at(K), case.labels(pool)
    found = attainable(measure, Ragged.from_lists([labels]))
    orders = [list(order) for n in range(len(pool) + 1) for order in permutations(labels, n)]
    values = score(judged(orders, [labels] * len(orders)), [measure]).column(2).to_pylist()
    defined = [value for value in values if not math.isnan(value)]
    if found is not None and defined:
        assert same(found[0], max(defined)) or math.isnan(found[0])
    if measure.name in ("nDCG", "Rprec", "bpref", "infAP") and defined:
        positive = any(label >= dict(measure.parameters).get("rel", 1.0) for label in labels) or measure.name == "nDCG"
        assert not positive or max(defined) in (0.0, pytest.approx(1.0, abs=1e-4))


@pytest.mark.parametrize("case", [case for case in CASES if case.at(5).linear], ids=lambda case: case.text)
@settings(max_examples=4, deadline=None)
@given(row=st.lists(st.none() | st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=5), K=st.integers(1, 4))
def test_the_mean_over_all_orders_of_a_linear_measure_is_that_over_the_rotations(
    case: Case, row: list[float | None], K: int
) -> None:
    row = case.labels(row)
    pool = [label for label in row if label is not None]
    orders = [list(order) for order in permutations(row)]
    turns = [row[at:] + row[:at] for at in range(len(row))]
    means = []
    for rows in (orders, turns):
        values = score(judged(rows, [pool] * len(rows)), [case.at(K)]).column(2).to_pylist()
        means.append(sum(values) / len(values))
    assert same(*means)


def test_measures_that_are_not_linear_say_so() -> None:
    texts = ["RR", "AP", "Success@2", "Fe@2", "ERR(max_label=3)", "nDCG(ideal=retrieved)", "bpref", "infAP", "UDCG"]
    assert not any(parse_measure(text).linear for text in texts)
