"""One effect over segments: statsmodels as the reference, shared queries, and what is refused."""

from math import inf, isnan, sqrt

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import pool_segments, segment_covariance


def test_independent_segments_are_pooled_as_statsmodels_does():
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    rng = np.random.default_rng(5)
    for _ in range(50):
        n = int(rng.integers(2, 20))
        variance = rng.uniform(0.005, 0.1, n)
        effects = 0.2 + rng.normal(0, rng.uniform(0, 0.4), n) + rng.normal(0, np.sqrt(variance))
        with np.errstate(invalid="ignore"):
            expected = meta.combine_effects(effects, variance, method_re="chi2")
        fixed = expected.tau2 < 0  # which statsmodels leaves as it is: its fixed-effect values are then the reference
        found = pool_segments(effects, variance)
        assert found.value == pytest.approx(expected.mean_effect_fe if fixed else expected.mean_effect_re, abs=1e-10)
        assert found.error == pytest.approx(expected.sd_eff_w_fe if fixed else expected.sd_eff_w_re, abs=1e-10)
        assert found.tau2 == pytest.approx(max(0, expected.tau2), abs=1e-10)
        assert found.q == pytest.approx(expected.q, abs=1e-9)
        assert found.i2 == pytest.approx(max(0, expected.i2), abs=1e-10)


def test_two_segments_by_hand():
    # x = 0, .4, v = .02: Q = 2 * .04 / .02 = 4, E = 1, spread = 100 - 5000/100 = 50, tau2 = .06; error = sqrt(.08 / 2)
    found = pool_segments([0.0, 0.4], [0.02, 0.02])
    assert (found.value, found.q, found.tau2, found.i2, found.error) == pytest.approx((0.2, 4, 0.06, 0.75, 0.2))


def test_degrees_lie_between_those_of_segments_and_those_of_queries():
    # variance .04 = .01 of queries (99 degrees) + .03 of segments (1): .04^2 / (.01^2 / 99 + .03^2 / 1)
    found = pool_segments([0.0, 0.4], [0.02, 0.02], n_queries=100)
    assert found.degrees == pytest.approx(0.0016 / (0.0001 / 99 + 0.0009))
    assert pool_segments([0.1, 0.1], [0.02, 0.02], n_queries=100).degrees == pytest.approx(99)  # no spread of segments
    assert pool_segments([0.1, 0.1], [0.02, 0.02]).degrees == inf


def test_a_single_segment_is_its_own_pooled_value():
    found = pool_segments([0.3], [0.04])
    assert (found.value, found.error, found.tau2, found.n_segments) == pytest.approx((0.3, 0.2, 0, 1))


def test_no_segment_has_no_pooled_value():
    found = pool_segments([], [])
    assert isnan(found.value)
    assert str(found) == "not pooled (no segment has an effect)"


def test_segments_that_are_copies_of_each_other_add_nothing():
    # four times the same queries: the error is that of one segment, not half of it
    covariance = np.full((4, 4), 0.04)
    found = pool_segments([0.3] * 4, covariance)
    assert (found.value, found.error, found.tau2) == pytest.approx((0.3, 0.2, 0))
    assert pool_segments([0.3] * 4, np.diag(covariance)).error == pytest.approx(0.1)


def test_shared_queries_do_not_hide_true_differences_between_segments():
    # x = 0, .4, v = .02, covariance .01: E = 2 - sum w w c / sum w = 2 - 2500 * .06 / 100 = .5, tau2 = (4 - .5) / 50
    found = pool_segments([0.0, 0.4], [[0.02, 0.01], [0.01, 0.02]])
    assert found.tau2 == pytest.approx(0.07)


def test_given_weights_are_kept_and_a_certain_zero_counts():
    # x = 0 for certain and .4 with v = .02, equal weights: mean .2, within .02 / 4 = .005; Q = 2 * .04 = .08,
    # E = .02 - .02 / 2 = .01, tau2 = .07 / (2 - 2/2), between .07 * 2 / 4 = .035
    found = pool_segments([0.0, 0.4], [0.0, 0.02], weights=[1, 1])
    assert (found.value, found.tau2, found.error) == pytest.approx((0.2, 0.07, sqrt(0.04)))


def test_differences_that_are_zero_for_certain_everywhere_are_zero():
    found = pool_segments([0.0, 0.0], [0.0, 0.0], weights=[3, 1], n_queries=40)
    assert (found.value, found.low, found.high, found.p, found.i2) == (0, 0, 0, 1, 0)


def means_without(values, inside):
    """Mean of each segment over its queries, and without each query."""
    sums, counts = np.where(inside, values, 0).sum(0), inside.sum(0)
    return sums / counts, (sums - np.where(inside, values, 0)) / (counts - inside)


def test_covariance_of_means_is_that_of_the_queries():
    # the jackknife of a mean is exact: variance s^2 / n, covariance of two segments with the same queries s_xy / n
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    inside = np.ones((40, 3), dtype=bool)
    found = segment_covariance(*means_without(values, inside), present=inside)
    assert found == pytest.approx(np.cov(values, rowvar=False) / 40, abs=1e-12)


def test_segments_without_a_common_query_have_no_covariance():
    rng = np.random.default_rng(2)
    values, inside = rng.normal(size=(30, 2)), np.repeat([[True, False], [False, True]], [10, 20], axis=0)
    found = segment_covariance(*means_without(values, inside), present=inside)
    assert found[0, 1] == 0
    variances = [np.var(values[:10, 0], ddof=1) / 10, np.var(values[10:, 1], ddof=1) / 20]
    assert np.diagonal(found) == pytest.approx(variances)


def test_undefined_segment_stays_undefined():
    inside = np.ones((5, 2), dtype=bool)
    found = segment_covariance([0.1, np.nan], np.arange(10.0).reshape(5, 2), present=inside)
    assert np.isnan(found[1]).all() and np.isnan(found[0, 1]) and found[0, 0] > 0


REFUSED = [
    (([0.1, 0.2], [0.1]), "covariance must be"),
    (([0.1, np.nan], [0.1, 0.1]), "must be finite"),
    (([0.1, 0.2], [0.1, 0.0]), "variances must be positive, got 0"),
    (([0.1, 0.1], [[1.0, -1.0], [-1.0, 1.0]]), "without an error"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_be_pooled_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        pool_segments(*arguments)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, np.nan]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(InputError, match="weights must be positive, one for each of 2 segments"):
        pool_segments([0.1, 0.2], [0.1, 0.1], weights=weights)


def test_covariance_needs_two_queries_a_segment_and_fitting_shapes():
    with pytest.raises(InputError, match="segment 1 has 1 queries"):
        segment_covariance([0.1, 0.2], np.zeros((2, 2)), present=[[True, True], [True, False]])
    with pytest.raises(InputError, match="queries x 2 segments"):
        segment_covariance([0.1, 0.2], np.zeros((2, 3)), present=np.ones((2, 3), dtype=bool))


def coverage(n_segments, n_queries, tau, *, shared, runs, seed):
    """How often the interval of segment means holds the true one; half of a value's variance may be the query's."""
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(runs):
        common = rng.normal(size=(n_queries, 1 if shared else n_segments))
        own = rng.normal(size=(n_queries, n_segments))
        values = 0.3 + rng.normal(0, tau, n_segments) + (common + own) / sqrt(2)
        centred = values - values.mean(0)
        covariance = centred.T @ centred / (n_queries * (n_queries - 1))
        if not shared:
            covariance = np.diagonal(covariance)
        n_distinct = n_queries if shared else n_queries * n_segments
        found = pool_segments(values.mean(0), covariance, n_queries=n_distinct)
        covered += found.low <= 0.3 <= found.high
    return covered / runs


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tau", [0.0, 0.1, 0.3])
def test_interval_over_twelve_segments_covers_the_truth(shared, tau):
    runs = 1000
    found = coverage(12, 50, tau, shared=shared, runs=runs, seed=11)
    assert abs(found - 0.95) < 0.01 + 3 * sqrt(0.95 * 0.05 / runs)  # it is .94 to .96 with more runs
