"""Correlation with ties: worked examples, scipy as the reference, and what is undefined."""

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import COEFFICIENTS, associate, table_coefficients

TABLE = np.array([[5.0, 2, 0], [3, 4, 2], [1, 3, 6]])


def by_scipy(x, y):
    return {
        "spearman": stats.spearmanr(x, y)[0],
        "pearson": stats.pearsonr(x, y)[0],
        "tau_b": stats.kendalltau(x, y, variant="b")[0],
        "tau_c": stats.kendalltau(x, y, variant="c")[0],
        "gamma": gamma_by_counting(x, y),
        "somers_yx": stats.somersd(x, y).statistic,
        "somers_xy": stats.somersd(y, x).statistic,
    }


def gamma_by_counting(x, y):
    """(C - D) / (C + D), pair by pair."""
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    return signs.sum() / np.abs(signs).sum()


def tied_columns(rng):
    """Two columns of 5..400 rows with few distinct values, neither constant."""
    n = int(rng.integers(5, 400))
    x, y = rng.integers(0, rng.integers(2, 30), n) / 7, rng.integers(1, 6, n).astype(float)
    x[:2], y[:2] = (0, 1), (1, 2)
    return x, y


def test_six_rows_with_ties_give_the_values_computed_by_hand():
    # 15 pairs, 2 tied in x, 2 in y: C = 11, D = 0, s_x = s_y = 13
    # tau-b = 11/13, tau-c = 2*11 / (36 * 3/4) = 22/27 (m = min(4, 4)), gamma = 11/11, D(y|x) = 11/13
    found = associate([0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 5])
    assert found.tau_b == pytest.approx(0.846154, abs=5e-7)
    assert found.tau_c == pytest.approx(0.814815, abs=5e-7)
    assert (found.gamma, found.somers_yx) == pytest.approx((1.0, 0.846154), abs=5e-7)
    assert found.spearman == pytest.approx(0.893939, abs=5e-7)
    assert found.pearson == pytest.approx(0.918262, abs=5e-7)
    assert (found.n, found.reason) == (6, "")


def test_table_of_counts_gives_the_values_of_its_rows():
    # C = 142, D = 20, n = 26: tau-c = 2*122 / (676 * 2/3) = .541420, gamma = 122/162; rows 7, 9, 10: s_x = 223,
    # columns 9, 9, 8: s_y = 225, D(y|x) = 122/223, D(x|y) = 122/225
    found = table_coefficients(np.array([0.0, 1, 2]), np.array([1.0, 2, 3]), TABLE)
    expected = {"tau_b": 0.544648, "tau_c": 0.541420, "spearman": 0.600582, "pearson": 0.601856}
    expected |= {"gamma": 0.753086, "somers_yx": 0.547085, "somers_xy": 0.542222}
    assert {name: float(getattr(found, name)) for name in expected} == pytest.approx(expected, abs=5e-7)


def test_weights_count_as_repeated_rows():
    x, y = np.repeat([0, 1, 2], 3), np.tile([1, 2, 3], 3)
    weights = TABLE.ravel().astype(int)
    weighted, repeated = associate(x, y, weights), associate(np.repeat(x, weights), np.repeat(y, weights))
    for name in COEFFICIENTS:
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-14)


def test_scaling_all_weights_changes_nothing():
    x, y, weights = [1, 2, 2, 4], [1, 3, 2, 3], np.array([0.2, 1.7, 0.4, 1.0])
    one, other = associate(x, y, weights), associate(x, y, 10 * weights)
    for name in COEFFICIENTS:
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-14)


def test_row_of_weight_zero_is_left_out():
    assert associate([0, 1, 2, 9], [0, 2, 1, 5], [1, 1, 1, 0]) == associate([0, 1, 2], [0, 2, 1])


def test_all_equal_scipy_on_200_tied_sets():
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, y = tied_columns(rng)
        found = associate(x, y)
        for name, value in by_scipy(x, y).items():
            assert getattr(found, name) == pytest.approx(value, abs=1e-12), name


def test_pearson_reads_the_values_as_given():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=500) * 1e-6 + 1, rng.normal(size=500)
    assert associate(x, y).pearson == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-9)


def test_batch_of_tables_gives_what_each_table_gives():
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 4, size=(2, 5, 6, 4)).astype(float)
    x, y = np.arange(6.0) ** 2, np.arange(4.0)
    batch = table_coefficients(x, y, cells)
    for i, j in np.ndindex(2, 5):
        single = table_coefficients(x, y, cells[i, j])
        for name in COEFFICIENTS:
            assert getattr(batch, name)[i, j] == pytest.approx(float(getattr(single, name)), abs=1e-14)


def test_empty_rows_and_columns_of_a_table_change_nothing():
    padded = np.zeros((5, 4))
    padded[np.ix_([0, 2, 4], [0, 1, 3])] = TABLE
    found = table_coefficients(np.array([0, 9.0, 1, 9, 2]), np.array([1.0, 2, 9, 3]), padded)
    assert float(found.tau_c) == pytest.approx(0.541420, abs=5e-7)  # m counts only what is not empty
    assert float(found.spearman) == pytest.approx(0.600582, abs=5e-7)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.1 + 0.2, 0.3),
        # F(.999) of (n, K, N) = (1, 3, 2) and (3, 9, 6): proportional, so equal, but not in the last bit
        (1 / (0.999 * 3 + (1 - 0.999) * 2), 3 / (0.999 * 9 + (1 - 0.999) * 6)),
        (1 - 1e-16, 1.0),
        (-(0.1 + 0.2), -0.3),
        (1e-320, 1e-320),
    ],
)
def test_values_that_differ_by_a_rounding_error_are_tied(one, other):
    found, tied = (associate([first, other, 5, 6], [1, 2, 3, 3]) for first in (one, other))
    assert (found.spearman, found.tau_b, found.tau_c) == (tied.spearman, tied.tau_b, tied.tau_c)
    assert found.pearson == pytest.approx(tied.pearson, abs=1e-15)


def test_the_examples_of_rounding_errors_are_real():
    assert 0.1 + 0.2 != 0.3
    assert 1 / (0.999 * 3 + (1 - 0.999) * 2) != 3 / (0.999 * 9 + (1 - 0.999) * 6)


def test_values_that_differ_in_the_eleventh_digit_are_not_tied():
    assert associate([1, 1 + 1e-11, 2], [1, 2, 3]).tau_b == 1


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([2, 2, 2], [1, 2, 3], "x is constant"),
        ([1, 2, 3], [4, 4, 4], "y is constant"),
        ([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], "x is constant"),
        ([1, 2], [1, 2], "fewer than 3 rows"),
        ([], [], "fewer than 3 rows"),
    ],
)
def test_what_says_nothing_is_undefined_with_the_reason(x, y, reason):
    found = associate(x, y)
    assert all(np.isnan(getattr(found, name)) for name in COEFFICIENTS)
    assert (found.n, found.reason) == (len(x), reason)


def test_gamma_leaves_ties_out():
    # pairs: one differs in both columns, up; three differ in x alone or y alone: tau-b = 1 / sqrt(3 * 3)
    found = associate([1, 2, 2, 2], [1, 1, 2, 1])
    assert (found.gamma, found.tau_b) == (1, pytest.approx(1 / 3))


def test_tau_b_squared_is_the_product_of_both_somers():
    found = associate([0, 0, 1, 1, 2, 3, 3], [1, 2, 2, 3, 3, 5, 1])
    assert found.tau_b**2 == pytest.approx(found.somers_yx * found.somers_xy)


def test_same_order_gives_one_and_reverse_order_minus_one():
    up, down = associate([1, 2, 3, 4], [1, 2, 3, 4]), associate([1, 2, 3, 4], [4, 3, 2, 1])
    assert [getattr(up, name) for name in COEFFICIENTS] == [1] * len(COEFFICIENTS)
    assert [getattr(down, name) for name in COEFFICIENTS] == [-1] * len(COEFFICIENTS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, np.nan, np.inf], [1, 2, 3]), "x holds 2 NaN or infinite values among 3; drop those rows first"),
        (([1, 2, 3], [1, 2]), "x, y and weights must be equally long, got 3, 2 and 3 values"),
        (([1, 2, 3], [1, 2, 3], [1, -1, 1]), "weights must not be negative, got -1"),
        (([[1, 2]], [1, 2]), r"x must be one column, got an array of shape \(1, 2\)"),
    ],
)
def test_bad_columns_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        associate(*arguments)
