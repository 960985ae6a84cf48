"""The best alpha: exact over all of 0..1, and whether alpha can matter."""

from fractions import Fraction

import numpy as np
import pytest
from alpha_families import all_alphas, exact_ranks, f, one_row_a_state, t_count
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import COEFFICIENTS, AlphaFamily, alpha_curve, associate, best_alpha
from ragauge.stats.alpha import GRID_ALPHAS, LOG_ALPHAS, alpha_path

RANKED = [name for name in COEFFICIENTS if name != "pearson"]


def some_states(rng, n_states):
    """n, K and N small enough for many ties, and a table of weights with empty states."""
    K, N = rng.integers(1, 8, n_states), rng.integers(1, 8, n_states)
    n = rng.integers(0, np.minimum(K, N) + 1)
    return n, K, N, rng.integers(0, 3, (n_states, 3)).astype(float)


def at_each_alpha(family, weights):
    """`associate` on exact ranks at every alpha where the order changes and between."""
    n_states, n_grades = weights.shape
    return {
        alpha: associate(
            np.repeat(exact_ranks(family, alpha), n_grades), np.tile(np.arange(n_grades), n_states), weights.ravel()
        )
        for alpha in all_alphas(family)
    }


@pytest.mark.parametrize("seed", range(12))
def test_supremum_is_the_largest_over_all_orders_decided_in_fractions(seed):
    rng = np.random.default_rng(seed)
    n, K, N, weights = some_states(rng, int(rng.integers(3, 16)))
    for family in (t_count(n, K), f(n, K, N)):
        found = best_alpha(family, np.arange(3.0), weights)
        everywhere = at_each_alpha(family, weights)
        for name in RANKED:
            largest = np.nanmax([getattr(one, name) for one in everywhere.values()])
            assert found[name].value == pytest.approx(largest, abs=1e-12), name


@pytest.mark.parametrize("seed", range(6))
def test_curve_at_given_alphas_has_the_ties_of_fractions(seed):
    rng = np.random.default_rng(100 + seed)
    n, K, N, weights = some_states(rng, 12)
    for family in (t_count(n, K), f(n, K, N)):
        everywhere = at_each_alpha(family, weights)
        curve = alpha_curve(family, np.arange(3.0), weights, [float(alpha) for alpha in everywhere])
        for name in RANKED:
            expected = [getattr(one, name) for one in everywhere.values()]
            assert getattr(curve, name) == pytest.approx(expected, abs=1e-12, nan_ok=True), name


def test_best_alpha_gives_its_value():
    rng = np.random.default_rng(3)
    n, K, N, weights = some_states(rng, 20)
    for family in (t_count(n, K), f(n, K, N)):
        for name, best in best_alpha(family, np.arange(3.0), weights).items():
            curve = alpha_curve(family, np.arange(3.0), weights, [best.alpha])
            assert getattr(curve, name)[0] == pytest.approx(best.value, abs=1e-12), name


def test_maximum_over_a_grid_equals_the_one_of_scipy():
    rng = np.random.default_rng(4)
    n, K = rng.integers(0, 6, 40), rng.integers(6, 15, 40)
    grades = np.clip(n + rng.integers(-1, 2, 40), 1, 5)
    family = t_count(n, K)
    values = family.at(GRID_ALPHAS).round(12)
    best = best_alpha(family, *one_row_a_state(grades), "grid")
    by_scipy = {
        "spearman": lambda v: stats.spearmanr(v, grades)[0],
        "pearson": lambda v: stats.pearsonr(v, grades)[0],
        "tau_b": lambda v: stats.kendalltau(v, grades, variant="b")[0],
        "tau_c": lambda v: stats.kendalltau(v, grades, variant="c")[0],
        "somers_yx": lambda v: stats.somersd(v, grades).statistic,
        "somers_xy": lambda v: stats.somersd(grades, v).statistic,
    }
    for name, of in by_scipy.items():
        assert best[name].value == pytest.approx(max(of(v) for v in values), abs=1e-9), name


def test_maximum_at_a_tie_is_found_that_no_grid_has():
    # (n, K) = (2, 4), (3, 9): T = 2 - 2.5 a and 3 - 11/3 a meet at a = 6/7. There the two are tied, as their grades
    # are not; a third state of the same grade as the first, below both, makes the tie worth nothing: see the values
    family = t_count([2, 3, 0], [4, 9, 4])
    assert alpha_path(family).breakpoints == pytest.approx([6 / 7])
    grades, weights = one_row_a_state([3, 3, 1])
    best = best_alpha(family, grades, weights)["tau_b"]
    # apart: C - D = 2, s_x = 3, s_y = 2: 2 / sqrt(6) = .816; tied at 6/7: C - D = 2, s_x = 2: 1
    assert (best.value, best.alpha) == pytest.approx((1.0, 6 / 7))
    assert best_alpha(family, grades, weights, "grid")["tau_b"].value == pytest.approx(2 / 6**0.5)


def test_best_pearson_of_t_count_is_the_multiple_correlation_on_count_and_precision():
    # ordinary least squares of g on 1, n and P: intercept .288136, b_n = .084746, b_P = 5.762712. T is
    # n (1 - a) + P a up to a constant, so the largest correlation is R = .955189, at a* = b_P / (b_n + b_P) = .985507
    n, K, g = (1, 2, 3, 2, 4, 5), (5, 5, 10, 10, 5, 10), (2, 3, 2, 1, 5, 4)
    slopes = np.linalg.lstsq(np.column_stack([np.ones(6), n, np.divide(n, K)]), g, rcond=None)[0]
    assert slopes == pytest.approx([0.288136, 0.084746, 5.762712], abs=5e-7)
    best = best_alpha(t_count(n, K), *one_row_a_state(g))["pearson"]
    assert best.value == pytest.approx(0.955189, abs=5e-7)
    assert best.alpha == pytest.approx(0.985507, abs=5e-7)
    assert best.alpha == pytest.approx(slopes[2] / (slopes[1] + slopes[2]), abs=1e-12)


@pytest.mark.parametrize(
    ("g", "alpha"),
    [
        ((1, 2, 2, 1, 4, 3), None),  # both slopes positive: inside
        ((1, 2, 3, 2, 4, 5), 0.0),  # the grade is the count: the slope on P is 0 or less
        ((1, 2, 1, 0.5, 4, 2), None),
        ((4, 3, 1, 3, 1, 0), None),  # falling: the larger end
    ],
)
def test_best_pearson_of_t_count_is_that_of_a_fine_grid(g, alpha):
    family = t_count((1, 2, 3, 2, 4, 5), (5, 5, 10, 10, 5, 10))
    grades, weights = one_row_a_state(g)
    best = best_alpha(family, grades, weights)["pearson"]
    curve = alpha_curve(family, grades, weights, np.linspace(0, 1, 20_001)).pearson
    assert np.nanmax(curve) - 1e-12 <= best.value <= np.nanmax(curve) + 1e-7
    if alpha is not None:
        assert best.alpha == alpha


@pytest.mark.parametrize("seed", range(8))
def test_best_pearson_of_f_is_that_of_a_fine_grid(seed):
    rng = np.random.default_rng(200 + seed)
    n, K, N, weights = some_states(rng, 15)
    family = f(n, K, N)
    best = best_alpha(family, np.arange(3.0), weights)["pearson"]
    curve = alpha_curve(family, np.arange(3.0), weights, np.linspace(0, 1, 4001)).pearson
    assert np.nanmax(curve) - 1e-9 <= best.value <= np.nanmax(curve) + 1e-5


def test_alpha_cannot_matter_for_f_at_constant_ratio():
    # K = N: F = n / N = .5, .5, .75 for every alpha; K = 2 N: F = R / (1 + a), a rescaling
    assert f([1, 2, 3], [2, 4, 4], [2, 4, 4]).at([0.1, 0.5, 0.9]) == pytest.approx(np.array([[0.5, 0.5, 0.75]] * 3))
    for K in ([2, 4, 4], [4, 8, 8]):
        best = best_alpha(f([1, 2, 3], K, [2, 4, 4]), *one_row_a_state([1, 2, 3]))
        assert [best[name].alpha_matters for name in COEFFICIENTS] == [False] * 7


def test_alpha_cannot_matter_for_t_count_at_constant_cutoff():
    best = best_alpha(t_count([0, 3, 7], [10, 10, 10]), *one_row_a_state([1, 2, 3]))
    assert [(best[name].alpha_matters, best[name].alpha) for name in COEFFICIENTS] == [(False, 0.5)] * 7


def test_alpha_matters_for_pearson_alone_when_it_moves_values_within_their_order():
    # (n, K) = (1, 5), (2, 5), (6, 10): both n and P rise, so the order stands; the spacing does not
    best = best_alpha(t_count([1, 2, 6], [5, 5, 10]), *one_row_a_state([1, 2, 3]))
    assert [name for name in COEFFICIENTS if best[name].alpha_matters] == ["pearson"]


def test_alpha_matters_where_count_and_precision_disagree():
    # (n, K) = (2, 4), (3, 10): by count the second is better, by precision the first
    best = best_alpha(t_count([2, 3, 0], [4, 10, 4]), *one_row_a_state([3, 2, 1]))
    assert all(best[name].alpha_matters for name in COEFFICIENTS)
    assert best["spearman"].value == 1


def test_state_without_rows_does_not_make_alpha_matter():
    grades, weights = one_row_a_state([1, 2, 3])
    best = best_alpha(t_count([0, 3, 7, 3], [10, 10, 10, 30]), grades, np.vstack([weights, np.zeros(3)]))
    assert not best["spearman"].alpha_matters


def test_alpha_zero_is_no_choice_where_the_measure_is_undefined_there():
    # states (n, K, N_e) = (1, 2, 1), (2, 4, 2), (2, 8, 2): F = 1, 1, 1 at 0 and .5, .5, .25 at 1: tied at 0 alone
    family = f([1, 2, 2], [2, 4, 8], [1, 2, 2])
    opened = AlphaFamily(family.start, family.end, family.scale, family.form, open_at_zero=True)
    grades, weights = one_row_a_state([2, 2, 1])
    assert len(alpha_curve(family, grades, weights, [0.0, 1.0]).tau_b) == 2
    assert alpha_curve(opened, grades, weights, [0.0, 1.0]).tau_b == pytest.approx([1.0])
    assert alpha_path(family).positions.tolist() == [0.0, 0.5]
    assert alpha_path(opened).positions.tolist() == [0.5]


def test_constant_grade_has_no_best_alpha():
    best = best_alpha(t_count([0, 3, 7], [10, 5, 10]), *one_row_a_state([2, 2, 2]))
    assert np.isnan([best[name].value for name in RANKED]).all()
    assert np.isnan([best[name].alpha for name in RANKED]).all()


def test_no_state_has_no_best_alpha():
    best = best_alpha(t_count(np.zeros(0, int), np.zeros(0, int)), np.zeros(0), np.zeros((0, 0)))
    assert np.isnan([best[name].value for name in COEFFICIENTS]).all()


def test_the_log_grid_has_702_alphas_ascending():
    assert len(LOG_ALPHAS) == 702
    assert (np.diff(LOG_ALPHAS) > 0).sum() == 700  # k = 13 and 14 of both halves lie on the other side of .5
    assert (LOG_ALPHAS[0], LOG_ALPHAS[-1]) == (0.0, 1.0)
    assert 0.95 in LOG_ALPHAS
    assert 1 - 0.95**350 in LOG_ALPHAS


def test_crossings_are_correctly_rounded_quotients():
    # F of (n, K, N) = (1, 3, 4), (2, 7, 6): lines -(4 - a) and -(3 + a / 2): 4 - a = 3 + a / 2 at a = 2 / 3
    assert alpha_path(f([1, 2], [3, 7], [4, 6])).breakpoints.tolist() == [float(Fraction(2, 3))]


@pytest.mark.parametrize(
    ("alphas", "message"),
    [
        ("fine", "alphas must be 'exact', 'grid', 'log' or numbers in 0..1, got 'fine'"),
        ([], "alphas must be at least one number in 0..1"),
        ([0.5, 1.5], r"alphas must be at least one number in 0..1, got \[0.5, 1.5\]"),
    ],
)
def test_bad_alphas_are_refused(alphas, message):
    with pytest.raises(InputError, match=message):
        best_alpha(t_count([0, 1, 2], [2, 2, 2]), *one_row_a_state([1, 2, 3]), alphas)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"weights must be states x grades, got \(2, 2\) for 3 states, 2 grades"):
        best_alpha(t_count([0, 1, 2], [2, 2, 2]), *one_row_a_state([1, 2]))


def test_counts_beyond_exact_products_are_refused():
    with pytest.raises(InputError, match="too large to decide ties exactly"):
        best_alpha(t_count([1, 2, 3], [10**8, 10**8, 10**8]), *one_row_a_state([1, 2, 3]))
