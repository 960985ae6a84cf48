"""The in-sample maximum over alpha."""

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import COEFFICIENTS, alpha_curve, associate, best_alpha

GRID = np.arange(101) / 100


def f_values(n, K, N):
    n, K, N = (np.asarray(column, dtype=float) for column in (n, K, N))
    return n / (GRID[:, None] * K + (1 - GRID[:, None]) * N)


def t_count(n, K, grid=GRID):
    n, K = np.asarray(n, dtype=float), np.asarray(K, dtype=float)
    return (1 - grid[:, None]) * n - grid[:, None] * (K - n) / K


def one_row_a_state(grades):
    """Distinct grades, and the table where state i has one row, of grade i."""
    distinct, column = np.unique(grades, return_inverse=True)
    weights = np.zeros((len(grades), len(distinct)))
    weights[np.arange(len(grades)), column] = 1
    return distinct.astype(float), weights


def test_curve_equals_associate_at_each_alpha():
    rng = np.random.default_rng(0)
    K, N = rng.integers(1, 20, 60), rng.integers(2, 15, 60)
    values = f_values(rng.integers(0, np.minimum(K, N) + 1), K, N)
    weights = rng.integers(0, 4, (60, 5)).astype(float)
    curve = alpha_curve(values, np.arange(1.0, 6), weights)
    for i in range(0, 101, 10):
        single = associate(np.repeat(values[i], 5), np.tile(np.arange(1, 6), 60), weights.ravel())
        for name in COEFFICIENTS:
            assert getattr(curve, name)[i] == pytest.approx(getattr(single, name), abs=1e-12)


def test_maximum_equals_the_one_of_scipy():
    rng = np.random.default_rng(4)
    n, K = rng.integers(0, 6, 40), rng.integers(6, 15, 40)
    grades = np.clip(n + rng.integers(-1, 2, 40), 1, 5)
    values = t_count(n, K).round(12)
    best = best_alpha(values, *one_row_a_state(grades), GRID)
    assert best["spearman"].value == pytest.approx(max(stats.spearmanr(v, grades)[0] for v in values), abs=1e-9)
    assert best["pearson"].value == pytest.approx(max(stats.pearsonr(v, grades)[0] for v in values), abs=1e-9)
    assert best["tau_c"].value == pytest.approx(
        max(stats.kendalltau(v, grades, variant="c")[0] for v in values), abs=1e-9
    )


def test_best_pearson_of_t_count_is_the_multiple_correlation_on_count_and_precision():
    # ordinary least squares of g on 1, n and P: intercept .288136, b_n = .084746, b_P = 5.762712. T is
    # n (1 - a) + P a up to a constant, so the largest correlation is R = .955189, at a* = b_P / (b_n + b_P) = .985507
    n, K, g = (1, 2, 3, 2, 4, 5), (5, 5, 10, 10, 5, 10), (2, 3, 2, 1, 5, 4)
    design = np.column_stack([np.ones(6), n, np.divide(n, K)])
    slopes = np.linalg.lstsq(design, np.array(g, dtype=float), rcond=None)[0]
    multiple_r = np.corrcoef(design @ slopes, g)[0, 1]
    alpha = slopes[2] / (slopes[1] + slopes[2])
    grid = np.sort(np.append(GRID, alpha))
    best = best_alpha(t_count(n, K, grid), *one_row_a_state(g), grid)["pearson"]
    assert slopes[1:] == pytest.approx([0.084746, 5.762712], abs=5e-7)
    assert alpha == pytest.approx(0.985507, abs=5e-7)
    assert best.value == pytest.approx(multiple_r, abs=1e-12)
    assert multiple_r == pytest.approx(0.955189, abs=5e-7)
    assert best.alpha == pytest.approx(alpha)


def test_alpha_cannot_matter_for_f_at_constant_ratio():
    # K = N: F = n / N = .5, .5, .75 for every alpha
    best = best_alpha(f_values([1, 2, 3], [2, 4, 4], [2, 4, 4]), *one_row_a_state([1, 2, 3]), GRID)
    assert [best[name].alpha_matters for name in COEFFICIENTS] == [False] * 4


def test_alpha_cannot_matter_for_f_at_constant_ratio_other_than_one():
    # K = 2 N: F = R / (1 + a), a rescaling
    best = best_alpha(f_values([1, 2, 3], [4, 8, 8], [2, 4, 4]), *one_row_a_state([1, 2, 3]), GRID)
    assert [best[name].alpha_matters for name in COEFFICIENTS] == [False] * 4


def test_alpha_cannot_matter_for_t_count_at_constant_cutoff():
    best = best_alpha(t_count([0, 3, 7], [10, 10, 10]), *one_row_a_state([1, 2, 3]), GRID)
    assert [best[name].alpha_matters for name in COEFFICIENTS] == [False] * 4


def test_alpha_matters_for_pearson_alone_when_it_moves_values_within_their_order():
    # (n, K) = (1, 5), (2, 5), (6, 10): both n and P rise, so the order stands; the spacing does not
    best = best_alpha(t_count([1, 2, 6], [5, 5, 10]), *one_row_a_state([1, 2, 3]), GRID)
    assert [best[name].alpha_matters for name in COEFFICIENTS] == [False, True, False, False]


def test_alpha_matters_where_count_and_precision_disagree():
    # (n, K) = (2, 4), (3, 10): by count the second is better, by precision the first
    best = best_alpha(t_count([2, 3, 0], [4, 10, 4]), *one_row_a_state([3, 2, 1]), GRID)
    assert all(best[name].alpha_matters for name in COEFFICIENTS)
    assert best["spearman"].value == 1


def test_state_without_rows_does_not_make_alpha_matter():
    grades, weights = one_row_a_state([1, 2, 3])
    weights = np.vstack([weights, np.zeros(3)])
    best = best_alpha(t_count([0, 3, 7, 3], [10, 10, 10, 30]), grades, weights, GRID)
    assert not best["spearman"].alpha_matters


def test_of_equally_good_alphas_the_one_nearest_one_half_is_taken():
    best = best_alpha(t_count([0, 3, 7], [10, 10, 10]), *one_row_a_state([1, 2, 3]), GRID)
    assert [best[name].alpha for name in COEFFICIENTS] == [0.5] * 4


def test_alpha_at_which_a_state_is_undefined_is_passed_over():
    values = np.array([[np.nan, 1, 2, 3], [3, 1, 2, 0.0]])
    best = best_alpha(values, *one_row_a_state([1, 2, 3, 4]), [0, 1])
    assert best["tau_b"].alpha == 1
    assert best["tau_b"].value == pytest.approx(-2 / 3)  # of 6 pairs only (1, 2) is concordant: (1 - 5) / 6


def test_constant_grade_has_no_best_alpha():
    best = best_alpha(t_count([0, 3, 7], [10, 5, 10]), *one_row_a_state([2, 2, 2]), GRID)
    assert np.isnan([best[name].value for name in COEFFICIENTS]).all()
    assert np.isnan([best[name].alpha for name in COEFFICIENTS]).all()


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one row an alpha, got 101 rows for 2 alphas"):
        best_alpha(t_count([0, 1], [2, 2]), *one_row_a_state([1, 2]), [0, 1])
    with pytest.raises(InputError, match="states x grades"):
        best_alpha(t_count([0, 1, 2], [2, 2, 2]), *one_row_a_state([1, 2]), GRID)
