"""Values that can be checked by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import judged, same, value

from ragauge.errors import InputError
from ragauge.measures import f_alpha, fe_alpha, fe_depth, parse_measure, precision, recall, score, t_alpha

# 3 returned: positive, positive, unjudged; four positives in all (traps T7 of ranking evaluation)
THREE = [1, 1, None]
FOUR = [1, 1, 1, 1]
# graded ranking: 1, 2, 3, 0
GRADED = [1, 2, 3, 0]
NAN = math.nan

CASES = [
    # measure, ranking, pool, expected
    ("n_p@10", THREE, FOUR, 2),
    ("P@10", THREE, FOUR, 0.2),  # 2/10: empty slots count
    ("P@1", THREE, FOUR, 1),
    ("R@10", THREE, FOUR, 0.5),  # 2/4
    ("R@1", THREE, FOUR, 0.25),  # cannot exceed K/N_p
    ("F@10", THREE, FOUR, 2 / 7),  # 2/(5 + 2) = .285714
    ("F(alpha=0.3)@10", THREE, FOUR, 2 / 5.8),  # 2/(3 + 2.8)
    ("F(alpha=0)@10", THREE, FOUR, 0.5),
    ("F(alpha=1)@10", THREE, FOUR, 0.2),
    ("Success@10", THREE, FOUR, 1),
    ("Judged@10", THREE, FOUR, 2 / 3),  # of the three returned
    ("nDCG@10", THREE, FOUR, 0.636682),  # 1.630930 / (1 + .630930 + .5 + .430677)
    ("SDCG(max_label=1)@10", THREE, FOUR, 0.358954),  # 1.630930 / 4.543559
    ("SDCG(max_label=3)@4", GRADED, None, 0.489518),  # 3.761860 / (3 * 2.561606)
    ("nDCG@10", GRADED, [3, 2, 1, 0], 0.789998),  # 3.761860 / 4.761860
    ("nDCG(ideal=retrieved)@10", GRADED, None, 0.789998),
    ("nDCG(ideal=retrieved)@2", GRADED, None, 0.859719),  # 2.261860/2.630930: the 3 at rank 3 is not seen
    ("nDCG(ideal=retrieved)@5", [1, 0, 0], None, 1),  # a lone positive at rank 1
    ("nDCG@10", [-1, 1, 0], [-1, 1, 0, 1], 0.386853),  # .630930/1.630930: a negative label gains 0
    ("P(rel=2)@2", [1, 2, 3, 0], None, 0.5),
    ("P(rel=0.5)@2", [0.5, 0.4], None, 0.5),
    ("n_n@3", [0, None, 1], None, 1),
    ("n_n(unjudged=negative)@3", [0, None, 1], None, 2),
    ("n_p(labels=probability)@3", [0.9, 0.5, None], None, 1.4),
    ("n_n(labels=probability)@3", [0.9, 0.5, None], None, 0.6),
    ("SetP@2", [1, 0, 1], None, 0.5),
    ("RR", [0, 0, 1], None, 1 / 3),
    ("RR@2", [0, 0, 1], None, 0),
    ("AP", [0, 1, 1], [0, 1, 1, 1], 7 / 18),  # (1/2 + 2/3) / 3
    ("AP@2", [0, 1, 1], [0, 1, 1, 1], 1 / 6),
    ("Rprec", [1, 0, 1, 1], [1, 0, 1, 1], 2 / 3),  # two of the top three
    ("DCG@2", [3, 2, 1], None, 4.261860),  # 3 + 2 * .630930
    ("DCG(gain=exponential)@2", [3, 2, 1], None, 8.892789),  # 7 + 3 * .630930
    ("DCG(gain=binary,rel=2)", [3, 2, 1], None, 1.630930),
    ("ERR(max_label=2)", [1, 2], None, 0.53125),  # 1/4 + 3/4 * 3/4 / 2
    ("RBP(p=0.5)", [1, 0, 1], None, 0.625),  # 1/2 + 1/8
    ("RBPres(p=0.5)", [1, None, 1], None, 0.375),  # 1/4 + 1/8
    ("bpref", [0, 1, 0, 1], [0, 1, 0, 1, 1], 1 / 6),  # R = 3, N = 2: (1 - 1/2) + (1 - 2/2), over 3
    # T, a = .5: (.5*2 - .5*1)/10: empty slots count neither way
    ("T@10", [1, 1, 0], None, 0.05),
    ("T(alpha=0.3)@2", [1, 1, 0], None, 0.7),  # .7*2/2
    ("T@10", [1, None, 0], None, 0),  # (.5 - .5)/10: unjudged counts neither way
    ("T(unjudged=negative)@10", [1, None, 0], None, -0.05),  # (.5 - .5*2)/10
    ("T(form=count)@10", [1] * 6 + [0] * 4, None, 2.8),  # .5*6 - .5*4/10 = 6(1 - .5 + .05) - .5
    ("T@10", [1] * 6 + [0] * 4, None, 0.1),  # P - a
    ("T(alpha=0.3)@10", [1] * 3, None, 0.21),
    ("T(alpha=0.3)@10", [1] * 3 + [0] * 7, None, 0),
    ("T@10", [1] * 3, None, 0.15),
    ("T@10", [1] * 3 + [0] * 7, None, -0.2),
    # Fe, K = 2, x = 2: n_p = 1, 3 positives in the top 4: 1/(1 + 1.5)
    ("Fe@2", [1, 0, 1, 1, 1], None, 0.4),
    ("Fe(alpha=0)@2", [1, 0, 1, 1, 1], None, 1 / 3),
    ("Fe(alpha=1)@2", [1, 0, 1, 1, 1], None, 0.5),
    ("Fe(alpha=0,x=1.5)@3", [1, 0, 0, 0, 1], None, 0.5),  # round(4.5) = 5: half rounds up
    ("Fe(alpha=0,x=1.4)@3", [1, 0, 0, 0, 1], None, 1),  # round(4.2) = 4
]

EMPTY = [
    # nothing returned, two positives in the pool
    ("n_p@5", 0),
    ("P@5", 0),
    ("R@5", 0),
    ("F@5", 0),
    ("Fe@5", 0),
    ("Fe(alpha=0)@5", NAN),
    ("T@5", 0),
    ("T(form=count)@5", 0),
    ("T(unjudged=negative)@5", 0),
    ("Success@5", 0),
    ("nDCG@5", 0),
    ("nDCG(ideal=retrieved)@5", 0),
    ("SDCG(max_label=1)@5", 0),
    ("Judged@5", NAN),
    ("n_n@5", 0),
    ("SetP", NAN),
    ("SetF", 0),
    ("SetF(alpha=1)", NAN),
    ("RR", 0),
    ("AP", 0),
    ("Rprec", 0),
    ("DCG", 0),
    ("ERR(max_label=1)", 0),
    ("RBP", 0),
    ("RBPres", 1),
    ("bpref", 0),
    ("infAP", 0),
    ("UDCG", 0.5),
]

NOTHING_RELEVANT = [
    # one judged document returned, no positive anywhere
    ("P@5", 0),
    ("R@5", NAN),
    ("F@5", NAN),
    ("F(alpha=1)@5", NAN),
    ("Fe@5", 0),
    ("Fe(alpha=0)@5", NAN),
    ("T@5", -0.1),  # -.5 * 1/5
    ("nDCG@5", NAN),
    ("nDCG(ideal=retrieved)@5", 0),
    ("SDCG(max_label=1)@5", 0),
    ("Judged@5", 1),
    ("SetP", 0),
    ("SetF", NAN),
    ("R(cap=cutoff)@5", NAN),
    ("RR", 0),
    ("AP", NAN),
    ("Rprec", NAN),
    ("bpref", NAN),
    ("infAP", NAN),
    ("RBP", 0),
    ("DCG", 0),
    ("ERR(max_label=1)", 0),
]


@pytest.mark.parametrize(("text", "row", "pool", "expected"), CASES)
def test_a_value_derived_by_hand(
    text: str, row: list[float | None], pool: list[float | None] | None, expected: float
) -> None:
    # the longer decimals above have six digits
    assert same(value(text, row, pool), expected, tolerance=6e-7)


@pytest.mark.parametrize(("text", "expected"), EMPTY)
def test_an_empty_ranking_has_the_documented_value(text: str, expected: float) -> None:
    assert same(value(text, [], [1, 1]), expected)


@pytest.mark.parametrize(("text", "expected"), NOTHING_RELEVANT)
def test_a_query_without_relevant_documents_has_the_documented_value(text: str, expected: float) -> None:
    assert same(value(text, [0], [0, 0]), expected)


def test_each_row_stands_for_itself_between_empty_rows() -> None:
    table = judged([[], [1, 0], [], [1], []])
    assert score(table, [parse_measure("P@2")]).column("P@2").to_pylist() == [0, 0.5, 0, 0.5, 0]


def test_a_label_above_max_label_is_refused() -> None:
    with pytest.raises(InputError, match="a label of 3 exceeds max_label=2 of SDCG"):
        value("SDCG(max_label=2)@3", [1, 3])


def test_sdcg_of_top_labels_only_is_exactly_one() -> None:
    for K in (1, 7, 10, 100):
        assert value(f"SDCG(max_label=0.3)@{K}", [0.3] * K) == 1.0


COUNTS = st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(1, 30))
ALPHA = st.floats(0, 1)
quick = settings(max_examples=100, deadline=None)


@quick
@given(COUNTS, st.integers(1, 9), ALPHA)
def test_equal_ratios_are_equal_floats(state: tuple[int, int, int], times: int, alpha: float) -> None:
    n_p, K, N_p = state
    n_n = K // 3
    assert f_alpha(n_p, K, N_p, alpha) == f_alpha(times * n_p, times * K, times * N_p, alpha)
    assert t_alpha(n_p, n_n, K, alpha) == t_alpha(times * n_p, times * n_n, times * K, alpha)


def test_the_proportional_states_that_the_plain_formula_tells_apart_are_equal() -> None:
    assert f_alpha(1, 3, 2, 0.999) == f_alpha(3, 9, 6, 0.999)
    assert 1 / (0.999 * 3 + (1 - 0.999) * 2) != 3 / (0.999 * 9 + (1 - 0.999) * 6)


@quick
@given(COUNTS)
def test_f_lies_between_recall_and_precision(state: tuple[int, int, int]) -> None:
    n_p, K, N_p = state
    assert same(float(f_alpha(n_p, K, N_p, 0)), float(recall(n_p, N_p)))
    assert float(f_alpha(n_p, K, N_p, 1)) == float(precision(n_p, K))


@quick
@given(COUNTS, ALPHA)
def test_t_of_full_rankings_is_precision_minus_alpha(state: tuple[int, int, int], alpha: float) -> None:
    n_p, K, _ = state
    n_p = min(n_p, K)
    assert same(float(t_alpha(n_p, K - n_p, K, alpha)), n_p / K - alpha)
    # statistics of the measures: T(form=count) = n (1 - a + a/K) - a
    expected = n_p * (1 - alpha + alpha / K) - alpha
    assert same(float(t_alpha(n_p, K - n_p, K, alpha, "count")), expected)


def test_f_at_constant_k_over_n_does_not_depend_on_alpha_beyond_a_factor() -> None:
    # K = N_p: (1, 2), (2, 4), (3, 4) give .5, .5, .75 at every alpha
    for alpha in (0.1, 0.5, 0.9):
        assert f_alpha([1, 2, 3], [2, 4, 4], [2, 4, 4], alpha).round(12).tolist() == [0.5, 0.5, 0.75]


def test_count_functions_take_a_grid_of_alphas() -> None:
    assert t_alpha([[1], [2]], [[1], [0]], 2, [0.0, 0.5, 1.0]).tolist() == [[0.5, 0.0, -0.5], [1.0, 0.5, 0.0]]
    assert f_alpha([[2]], 10, 4, [0.0, 1.0]).tolist() == [[0.5, 0.2]]


def test_undefined_counts_are_nan_and_nothing_warns() -> None:
    assert math.isnan(float(recall(0, 0)))
    assert math.isnan(float(f_alpha(0, 5, 0, 0.5)))
    assert math.isnan(float(fe_alpha(0, 5, 0, 0)))
    assert float(fe_alpha(0, 5, 0, 0.5)) == 0.0


@pytest.mark.parametrize(
    ("K", "x", "depth"),
    [(5, 2, 10), (5, 1.5, 8), (3, 1.5, 5), (3, 1.4, 4), (100, 1.005, 101), (10, 1.15, 12), (7, 1, 7)],
)
def test_fe_reads_down_to_xk_with_half_rounded_up(K: int, x: float, depth: int) -> None:
    # 1.005 * 100 = 100.5 in decimal and 100.4999... in binary
    assert fe_depth(K, x) == depth
    assert parse_measure(f"Fe(x={x})@{K}").depth == depth
