"""Intervals of means and correlations: worked examples, what is undefined, and simulated coverage."""

from math import atanh, inf, isnan, sqrt, tanh

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import COEFFICIENTS, associate, correlation_interval, mean_interval, wilson_interval

TEN = (0.2, 0.4, 0.4, 0.6, 0.8, 1, 0, 0.3, 0.5, 0.7)


def interval(values, bounds=(0, 1), **options):
    return mean_interval(values, measure="P@10", bounds=bounds, **options)


@pytest.mark.parametrize(
    ("share", "n", "low", "high"),
    [
        # (.8 + q^2/20 -+ q sqrt(.16/10 + q^2/400)) / (1 + q^2/10), q = 1.959964
        (0.8, 10, 0.490162, 0.943318),
        # at 0 the upper end is q^2 / (n + q^2) = 3.841459 / 23.841459 (.161130 with q rounded to 1.96)
        (0.0, 20, 0.0, 0.161125),
        (1.0, 20, 0.838875, 1.0),
    ],
)
def test_wilson_gives_the_values_of_the_formula(share, n, low, high):
    found = wilson_interval(share, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-7)


def test_wilson_bounds_solve_the_score_equation():
    # at both ends |share - p| = q sqrt(p (1 - p) / n), with q = t_{7, .95}
    found = wilson_interval(0.3, 12.5, level=0.9, degrees=7)
    q = stats.t.ppf(0.95, 7)
    for p in (found.low, found.high):
        assert abs(0.3 - p) == pytest.approx(q * sqrt(p * (1 - p) / 12.5))


def test_measure_without_bounds_gets_the_t_interval():
    # mean .49, sd .296086
    found = interval(TEN, bounds=None)
    assert found.mean == pytest.approx(0.49)
    assert (found.low, found.high) == pytest.approx((0.278193, 0.701807), abs=5e-7)
    assert found.method == "t"


def test_infinite_bound_is_no_bound():
    assert interval(TEN, bounds=(0, inf)) == interval(TEN, bounds=None)


def test_bounded_measure_gets_wilson_with_the_effective_number_of_trials():
    # n* = x (1 - x) / se^2 with se^2 = s^2 / 10, quantile t_9
    x, s2 = np.mean(TEN), np.var(TEN, ddof=1)
    expected = wilson_interval(x, x * (1 - x) / (s2 / 10), degrees=9)
    found = interval(TEN)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.method, found.n, found.n_undefined, found.reason) == ("wilson", 10, 0, "")


def test_zero_one_values_give_wilson_on_n_minus_one_trials():
    # for 8 ones of 10, s^2 = 10/9 * .16, so n* = .16 / (.16 / 9) = 9
    found = interval([1] * 8 + [0] * 2)
    expected = wilson_interval(0.8, 9, degrees=9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_interval_moves_with_the_scale():
    # T(alpha=0.3) = P - 0.3
    p, t = interval(TEN), interval(np.array(TEN) - 0.3, bounds=(-0.3, 0.7))
    assert (t.mean, t.low, t.high) == pytest.approx((p.mean - 0.3, p.low - 0.3, p.high - 0.3))
    count = interval(10 * np.array(TEN), bounds=(0, 10))
    assert (count.low, count.high) == pytest.approx((10 * p.low, 10 * p.high))


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_equal_values_get_the_interval_of_as_many_trials_as_queries(value):
    found, expected = interval([value] * 20), wilson_interval(value, 20, degrees=19)
    assert (found.mean, found.low, found.high) == pytest.approx((value, expected.low, expected.high))


def test_undefined_and_missing_values_are_left_out_and_counted():
    found = interval([*TEN, np.nan, None])
    assert (found.n, found.n_undefined) == (10, 2)
    assert (found.mean, found.low) == (interval(TEN).mean, interval(TEN).low)


def test_one_query_has_a_mean_and_no_interval():
    found = interval([0.4, np.nan])
    assert found.mean == 0.4
    assert isnan(found.low)
    assert isnan(found.high)
    assert (found.n, found.reason) == (1, "one query or cluster")


def test_no_value_at_all_is_undefined():
    found = interval([np.nan, None])
    assert isnan(found.mean)
    assert (found.n, found.n_undefined, found.reason) == (0, 2, "no query has a value")


def test_no_query_at_all_is_undefined():
    assert interval([]).reason == "no query has a value"


def test_equal_values_without_bounds_have_no_interval():
    found = interval([3, 3, 3], bounds=None)
    assert (found.mean, found.reason) == (3, "all values are equal, and the measure has no bounds")
    assert isnan(found.low)


def test_clusters_of_one_change_nothing():
    assert interval(TEN, clusters=list("abcdefghij")) == interval(TEN)


def test_equal_clusters_give_the_t_interval_of_their_means():
    # with clusters of the same size the ratio estimator is the mean of cluster means
    found = interval(TEN, bounds=None, clusters=np.repeat([1, 2, 3, 4, 5], 2))
    means = np.reshape(TEN, (5, 2)).mean(1)
    low, high = stats.t.interval(0.95, 4, means.mean(), stats.sem(means))
    assert (found.mean, found.low, found.high) == pytest.approx((0.49, low, high))


def test_unequal_clusters_use_the_ratio_estimator():
    # mean .5; sums of deviations: a -.4 -.2 = -.6, b .1, c .5; se^2 = 3/2 (.36 + .01 + .25) / 16 = .058125
    found = interval([0.1, 0.3, 0.6, 1.0], bounds=None, clusters=["a", "a", "b", "c"], level=0.9)
    half = stats.t.ppf(0.95, 2) * sqrt(0.058125)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_cluster_whose_values_are_all_undefined_does_not_count():
    found = interval([0.2, 0.4, 0.6, np.nan], clusters=["a", "b", "c", "d"])
    assert (found.low, found.high) == (interval([0.2, 0.4, 0.6]).low, interval([0.2, 0.4, 0.6]).high)


def test_one_cluster_has_no_interval():
    assert interval(TEN, clusters=["a"] * 10).reason == "one query or cluster"


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, 1.2], {}, r"1 of 2 values of P@10 are outside 0..1"),
        ([0.5, inf], {"bounds": None}, "1 of 2 values of P@10 are infinite"),
        ([0.5, 0.6], {"level": 1.0}, "level must lie strictly between 0 and 1"),
        ([0.5, 0.6], {"level": float("nan")}, "level must lie strictly between 0 and 1"),
        ([0.5, 0.6], {"clusters": ["a"]}, "clusters must have one entry a row, got 1 for 2 rows"),
        ([0.5, 0.6], {"bounds": (1, 0)}, r"bounds must rise, got 1..0"),
        ([[0.5]], {}, "must be one column"),
    ],
)
def test_bad_input_is_refused(values, options, message):
    with pytest.raises(InputError, match=message):
        interval(values, **options)


@pytest.mark.parametrize(("share", "n"), [(-0.1, 5), (1.1, 5), (0.5, 0), (float("nan"), 5)])
def test_wilson_refuses_what_is_no_proportion(share, n):
    with pytest.raises(InputError, match=r"share in 0\.\.1 and n > 0"):
        wilson_interval(share, n)


def coverage(mean, n, runs, seed):
    """Share of intervals that hold the true mean; 10 documents a query, precision Beta with a + b = 2.5.

    a + b = 2.5 gives the design effect 1 + 9 / 3.5 = 3.6 of the published simulation (sd of P@10 about .29 at .5).
    """
    rng = np.random.default_rng(seed)
    rates = rng.beta(2.5 * mean, 2.5 * (1 - mean), (runs, n))
    values = rng.binomial(10, rates) / 10
    found = [interval(row) for row in values]
    return float(np.mean([one.low <= mean <= one.high for one in found]))


def test_interval_of_few_skewed_queries_covers_about_what_it_says():
    # published: .931 for 20 queries at mean .10; 4 standard errors of 500 runs are .045
    assert coverage(0.10, 20, 500, seed=1) == pytest.approx(0.931, abs=0.045)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "n", "target"),
    [
        (0.50, 10, 0.950),
        (0.50, 50, 0.955),
        (0.10, 10, 0.929),
        (0.10, 20, 0.931),
        (0.10, 50, 0.938),
        (0.91, 20, 0.934),
    ],
)
def test_coverage_is_that_of_the_published_simulation(mean, n, target):
    # both are shares of 2000 and 4000 runs: 4 standard errors of their difference
    tolerance = 4 * sqrt(target * (1 - target) * (1 / 2000 + 1 / 4000))
    assert coverage(mean, n, 4000, seed=int(1000 * mean) + n) == pytest.approx(target, abs=tolerance)


@pytest.mark.slow
def test_clustered_interval_covers_where_the_plain_one_does_not():
    # 30 users x 10 queries, intra-user correlation .2: published .952 clustered; as if independent, the variance is too
    # small by the design effect 1 + 9 * .2 = 2.8, and 1.96 / sqrt(2.8) standard errors cover .758
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(30), 10)
    hits = {"clustered": 0, "plain": 0}
    for _ in range(1000):
        values = rng.normal(0, sqrt(0.2), 30)[clusters] + rng.normal(0, sqrt(0.8), 300)
        for name, by in (("clustered", clusters), ("plain", None)):
            found = interval(values, bounds=None, clusters=by)
            hits[name] += found.low <= 0 <= found.high
    assert hits["clustered"] / 1000 == pytest.approx(0.952, abs=0.03)
    assert hits["plain"] / 1000 == pytest.approx(0.758, abs=0.055)  # 4 standard errors of 1000 runs


def bonett_wright(rho, n):
    """The analytic interval of a Spearman of n independent rows."""
    half = stats.norm.ppf(0.975) * sqrt((1 + rho**2 / 2) / (n - 3))
    return tanh(atanh(rho) - half), tanh(atanh(rho) + half)


def test_spearman_of_independent_rows_gets_about_the_analytic_interval():
    # atanh(.6) -+ 1.959964 sqrt(1.18 / 97); with 1.96 for the quantile .443813, .720808
    assert bonett_wright(0.6, 100) == pytest.approx((0.443816, 0.720806), abs=5e-7)
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    found = correlation_interval(x, y, np.arange(400))["spearman"]
    low, high = bonett_wright(associate(x, y).spearman, 400)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


def by_leaving_out(x, y, queries, name, level=0.95):
    """The jackknife as it is defined: the coefficient anew without each query."""
    left = np.unique(queries)
    z = np.arctanh([getattr(associate(x[queries != q], y[queries != q]), name) for q in left])
    half = stats.t.ppf((1 + level) / 2, len(left) - 1) * sqrt((len(left) - 1) ** 2 / len(left) * np.var(z, ddof=1))
    centre = np.arctanh(getattr(associate(x, y), name))
    return np.tanh(centre - half), np.tanh(centre + half)


@pytest.mark.parametrize("n_queries", [6, 25, 80])
def test_interval_equals_the_jackknife_done_by_leaving_out_rows(n_queries):
    rng = np.random.default_rng(n_queries)
    queries = np.concatenate([np.arange(n_queries), rng.integers(0, n_queries, 120)])
    x = rng.integers(0, 9, len(queries)) / 9
    y = np.clip(np.round(3 * x + rng.normal(size=len(queries)) + 2), 1, 5)
    found = correlation_interval(x, y, queries, level=0.9)
    for name in COEFFICIENTS:
        expected = by_leaving_out(x, y, queries, name, level=0.9)
        assert (found[name].low, found[name].high) == pytest.approx(expected, abs=1e-9)
        assert (found[name].n, found[name].level, found[name].reason) == (n_queries, 0.9, "")


def test_leaving_out_a_query_may_take_a_value_off_the_table():
    # tau-c's m falls from 3 to 2 without the one query that has grade 5
    x, y = np.array([1, 2, 1, 2, 3, 2, 1.0]), np.array([1, 2, 2, 1, 5, 2, 1.0])
    queries = np.arange(7)
    found = correlation_interval(x, y, queries)["tau_c"]
    assert (found.low, found.high) == pytest.approx(by_leaving_out(x, y, queries, "tau_c"), abs=1e-9)


def test_repeating_every_query_leaves_its_interval():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=30), rng.normal(size=30)
    once = correlation_interval(x, y, np.arange(30))["pearson"]
    twice = correlation_interval(np.tile(x, 2), np.tile(y, 2), np.tile(np.arange(30), 2))["pearson"]
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(
    ("x", "y", "queries", "reason"),
    [
        ([1, 2, 3, 4], [1, 3, 2, 4], "abcd", "4 queries; an interval needs 5"),
        ([1, 2, 3, 4, 5], [1, 3, 2, 4, 5], "aaaaa", "1 query; an interval needs 5"),
        ([2, 2, 2, 2, 2], [1, 3, 2, 4, 5], "abcde", "x is constant"),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], "abcde", "the coefficient is exactly -1 or 1"),
        ([0, 0, 0, 0, 0, 1], [1, 2, 1, 2, 1, 2], "abcdef", "the coefficient hangs on a single query"),
        ([], [], "", "fewer than 3 rows"),
    ],
)
def test_correlation_without_ground_for_an_interval_says_why(x, y, queries, reason):
    found = correlation_interval(x, y, list(queries))["spearman"]
    assert isnan(found.low)
    assert isnan(found.high)
    assert found.reason == reason


def test_queries_of_another_length_are_refused():
    with pytest.raises(InputError, match="queries must have one entry a row, got 2 for 3 rows"):
        correlation_interval([1, 2, 3], [1, 2, 3], ["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize(("n_queries", "shared"), [(100, 0.0), (100, 0.6), (30, 0.6)])
def test_correlation_interval_covers_whatever_rows_of_one_query_share(n_queries, shared):
    # 9 rows a query; the normal scores of both columns share a part inside the query, true Pearson correlation .5
    rng = np.random.default_rng(11)
    queries = np.repeat(np.arange(n_queries), 9)
    hits = 0
    for _ in range(500):
        common = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n_queries)[queries]
        own = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], len(queries))
        x, y = (sqrt(shared) * common + sqrt(1 - shared) * own).T
        found = correlation_interval(np.round(x, 1), y, queries)["pearson"]
        hits += found.low <= 0.5 <= found.high
    assert hits / 500 == pytest.approx(0.953, abs=0.04)  # .944 .. .967 published; 4 standard errors are .038
