"""Two measures against one grade: worked examples, brute force as the reference, and what is refused."""

from math import inf, isnan, nan

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import (
    COEFFICIENTS,
    associate,
    compare_correlations,
    compare_independent_rows,
    dependent_test,
    zou_interval,
)

FIRST, SECOND, GRADE = (0, 0, 1, 1, 2, 3, 2, 1), (0, 1, 1, 0, 2, 2, 3, 1), (1, 2, 2, 3, 3, 5, 4, 1)

# r12 = .5, r13 = .3, r23 = .6, n = 103: |R| = .37, (r12 + r13) / 2 = .4
FORMULAS = [
    ("williams", 2.568593, 0.011689, 100),
    ("steiger", 2.505264, 0.012236, inf),
    ("meng", 2.494028, 0.01263, inf),
]


def rows_of(rng, n_queries, rows_each):
    """Two measures of 0..9 and a grade of 1..5 that share something within a query."""
    shape = (n_queries, rows_each)
    shared = rng.normal(size=(n_queries, 1))
    grade = np.clip(np.rint(3 + shared + rng.normal(size=shape)), 1, 5).ravel()
    first, second = (np.clip(np.rint(4 + 2 * shared + 2 * rng.normal(size=shape)), 0, 9).ravel() for _ in range(2))
    return first, second, grade, np.repeat(np.arange(n_queries), rows_each)


@pytest.mark.parametrize(("method", "statistic", "p", "degrees"), FORMULAS)
def test_formulas_give_the_worked_example(method, statistic, p, degrees):
    found = dependent_test(0.5, 0.3, 0.6, 103, method=method)
    assert found.statistic == pytest.approx(statistic, abs=5e-7)
    assert found.p == pytest.approx(p, abs=5e-7)
    assert found.degrees == degrees
    assert (found.low, found.high) == pytest.approx((0.044270, 0.359335), abs=5e-7)  # Zou, for all three


@pytest.mark.parametrize("method", ["williams", "steiger", "meng"])
def test_swapping_the_measures_turns_the_sign(method):
    one, other = dependent_test(0.5, 0.3, 0.6, 50, method=method), dependent_test(0.3, 0.5, 0.6, 50, method=method)
    assert one.statistic == pytest.approx(-other.statistic, abs=1e-12)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


def test_interval_of_zou_is_wider_at_a_higher_level_and_holds_the_difference():
    narrow, wide = zou_interval(0.5, 0.3, 0.6, 103, level=0.8), zou_interval(0.5, 0.3, 0.6, 103, level=0.99)
    assert wide.low < narrow.low < 0.2 < narrow.high < wide.high


def test_jackknife_gives_the_worked_example():
    # each row its own query: rho .824046 and .660495, t = .163551 / .207058 with 7 degrees of freedom
    found = compare_correlations(FIRST, SECOND, GRADE, range(8), min_queries=8)
    assert (found.first, found.second) == pytest.approx((0.824046, 0.660495), abs=5e-7)
    assert (found.difference, found.error) == pytest.approx((0.163551, 0.207058), abs=5e-7)
    assert (found.statistic, found.p) == pytest.approx((0.789879, 0.455518), abs=5e-7)
    assert (found.degrees, found.n, found.reason) == (7, 8, "")


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_jackknife_is_the_one_that_leaves_out_a_query_at_a_time(coefficient):
    first, second, grade, query = rows_of(np.random.default_rng(3), 25, 4)

    def difference(kept):
        pair = (associate(values[kept], grade[kept]) for values in (first, second))
        one, other = (getattr(found, coefficient) for found in pair)
        return one - other

    without = np.array([difference(query != q) for q in range(25)])
    error = np.sqrt(24 / 25 * ((without - without.mean()) ** 2).sum())
    found = compare_correlations(first, second, grade, query, coefficient=coefficient)
    assert found.difference == pytest.approx(difference(query >= 0), abs=1e-12)
    assert found.error == pytest.approx(error, rel=1e-9)


def test_with_one_row_a_query_jackknife_and_formula_nearly_agree():
    first, second, grade, query = rows_of(np.random.default_rng(8), 2000, 1)
    found = compare_correlations(first, second, grade, query, coefficient="pearson")
    formula = compare_independent_rows(first, second, grade, query)
    assert found.statistic == pytest.approx(formula.statistic, rel=0.1)
    assert (found.low, found.high) == pytest.approx((formula.low, formula.high), abs=0.005)


def test_a_query_with_two_rows_is_refused_by_the_formulas():
    first, second, grade, query = rows_of(np.random.default_rng(0), 20, 2)
    with pytest.raises(InputError, match=r"40 rows of 20 queries.*compare_correlations, the jackknife"):
        compare_independent_rows(first, second, grade, query)


def test_fewer_than_twenty_queries_are_too_few():
    first, second, grade, query = rows_of(np.random.default_rng(0), 19, 1)
    for found in (
        compare_correlations(first, second, grade, query),
        compare_independent_rows(first, second, grade, query),
    ):
        assert found.reason == "too few: 19 queries; a comparison needs 20"
        assert isnan(found.p) and isnan(found.low) and not isnan(found.difference)


def test_measures_that_order_the_rows_alike_differ_by_nothing_for_certain():
    first, _, grade, query = rows_of(np.random.default_rng(1), 30, 3)
    found = compare_correlations(first, first / 7, grade, query)
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    formula = dependent_test(0.5, 0.5, 1.0, 30)
    assert (formula.difference, formula.low, formula.high, formula.p) == (0, 0, 0, 1)


def test_constant_measure_has_no_difference():
    first, second, grade, query = rows_of(np.random.default_rng(1), 30, 1)
    for found in (
        compare_correlations(0 * first, second, grade, query),
        compare_independent_rows(0 * first, second, grade, query),
    ):
        assert isnan(found.p)
        assert (found.reason, found.n) == ("x is constant", 30)


def test_measure_that_varies_in_one_query_only_has_no_difference():
    _, second, grade, query = rows_of(np.random.default_rng(1), 30, 1)
    found = compare_correlations(query == 7, second, grade, query)
    assert found.reason == "a coefficient is undefined, or hangs on a single query"


def test_perfect_correlation_with_the_grade_has_no_formula():
    assert dependent_test(1, 0.5, 0.5, 30).reason == "a correlation is exactly -1 or 1"
    assert zou_interval(1, 0.5, 0.5, 30).reason == "a correlation is exactly -1 or 1"


REFUSED = [
    ({"first": 1.2}, "correlations lie in -1..1"),
    ({"first": nan}, "correlations lie in -1..1"),
    ({"first": 0.9, "second": -0.9, "between": 0.9}, "no three columns have the correlations 0.9, -0.9 and 0.9"),
    ({"n": 3}, "n must be 4 rows or more, got 3"),
    ({"method": "fisher"}, "method must be one of williams, steiger, meng, got 'fisher'"),
    ({"level": 95}, "level must lie strictly between 0 and 1"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        dependent_test(**{"first": 0.5, "second": 0.3, "between": 0.6, "n": 103, **change})


def test_unknown_coefficient_is_refused():
    with pytest.raises(InputError, match="coefficient must be one of spearman"):
        compare_correlations(FIRST, SECOND, GRADE, range(8), coefficient="kappa")
    with pytest.raises(InputError, match="coefficient must be 'pearson' or 'spearman', got 'tau_b'"):
        compare_independent_rows(FIRST, SECOND, GRADE, range(8), coefficient="tau_b")


def test_a_record_prints_as_one_line():
    found = dependent_test(0.5, 0.3, 0.6, 103)
    assert str(found) == "pearson 0.500 against 0.300, n = 103: +0.200 [0.044, 0.359], p = 0.0117 (williams)"
    assert "not compared (too few: 8 queries" in str(compare_correlations(FIRST, SECOND, GRADE, range(8)))
