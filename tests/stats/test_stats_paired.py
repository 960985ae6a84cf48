"""Paired comparison: worked values, scipy and statsmodels, exact ties, seeds, clusters, power, simulations."""

from math import isnan, sqrt

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import detectable_difference, paired_comparison, paired_power, sign_flip_p, units_needed

A = (0.5, 0.6, 0.7, 0.4, 0.9, 0.3, 0.8, 0.6)
B = (0.4, 0.6, 0.5, 0.4, 0.7, 0.3, 0.6, 0.5)
DATA = np.random.default_rng(4).integers(0, 11, (2, 30)) / 10


def compare(baseline, system, **options):
    return paired_comparison(baseline, system, measure="P@10", **options)


def test_worked_example_gives_the_printed_values():
    # d = .1 0 .2 0 .2 0 .2 .1: mean .1, s^2 = .06/7, t = .1 / (s / sqrt 8) = 3.055050; 2 of 2^5 patterns as far out
    found = compare(B, A)
    assert found.difference == pytest.approx(0.1)
    t = found.difference / ((found.high - found.low) / 2 / stats.t.ppf(0.975, 7))
    assert t == pytest.approx(3.055050, abs=5e-7)
    assert 2 * stats.t.sf(t, 7) == pytest.approx(0.018452, abs=5e-7)
    assert found.p == 0.0625
    assert (found.wins, found.ties, found.losses, found.n) == (5, 3, 0, 8)
    assert (found.mean_baseline, found.mean_system) == pytest.approx((0.5, 0.6))


def test_interval_is_that_of_the_paired_t_test():
    expected = stats.ttest_rel(DATA[1], DATA[0]).confidence_interval(0.9)
    found = compare(DATA[0], DATA[1], level=0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [2, 5, 9, 12])
def test_exact_p_is_that_of_scipy(alternative, n):
    rng = np.random.default_rng(n)
    d = rng.integers(-3, 5, n) / 10
    expected = stats.permutation_test(
        (d,), np.sum, permutation_type="samples", alternative=alternative, n_resamples=np.inf
    )
    assert sign_flip_p(d, alternative=alternative) == pytest.approx(expected.pvalue)


def test_random_p_agrees_with_the_exact_one():
    # 18 differences: 2^18 patterns by scipy; 4 standard errors of 10,000 draws at p near .1 are .012
    d = np.random.default_rng(8).normal(0.4, 1, 18)
    exact = stats.permutation_test((d,), np.sum, permutation_type="samples", n_resamples=2**18 + 1).pvalue
    assert sign_flip_p(d) == pytest.approx(exact, abs=0.012)


def test_equal_sums_count_as_equal_in_spite_of_rounding():
    # .1 + .2 = .3: of the 8 patterns of (.1, .2, -.3) all |sums| >= 0; of (.1, .2, .3) only +++ and ---;
    # for "greater" on (.3, -.1, -.2) the patterns with sum >= 0 are +++, ++-, +-+, +--, -++: 5 of 8
    assert sign_flip_p([0.1, 0.2, -0.3]) == 1
    assert sign_flip_p([0.1, 0.2, 0.3]) == 0.25
    assert sign_flip_p([0.3, -0.1, -0.2], alternative="greater") == 0.625


def test_values_that_differ_by_a_rounding_error_are_tied():
    found = compare([0.3, 0.5], [0.1 + 0.2, 0.7])
    assert (found.wins, found.ties, found.losses) == (1, 1, 0)


def test_trap_T16_p_is_never_zero():
    d = np.full(200, 0.5)
    assert sign_flip_p(d, resamples=999) == pytest.approx(1 / 1000)


def test_trap_T16_identical_systems_give_p_1():
    found = compare(A, A)
    assert (found.p, found.difference, found.low, found.high) == (1, 0, 0, 0)
    assert (found.wins, found.ties, found.losses) == (0, 8, 0)
    assert found.reason == "no query tells the systems apart"
    assert isnan(found.detectable)
    assert isnan(found.n_needed)


def test_trap_T16_same_seed_gives_the_same_p_in_any_order_of_queries():
    rng = np.random.default_rng(1)
    lattice, real = rng.integers(-5, 7, 60) / 10, rng.normal(0.2, 1, 60)
    for d in (lattice, real):
        assert len({sign_flip_p(rng.permutation(d), seed=3) for _ in range(5)}) == 1
    assert sign_flip_p(real, seed=3) != sign_flip_p(real, seed=4)


def test_order_of_rows_inside_clusters_does_not_matter():
    # .1 + .2 - .3 is 0 or 5.6e-17, depending on the order; a cluster that cancels out must not count as a difference
    rng = np.random.default_rng(2)
    d = np.concatenate([[0.1, 0.2, -0.3], np.tile([0.1, 0.1, -0.2], 20), rng.integers(-3, 5, 60) / 10])
    clusters = np.repeat(np.arange(41), 3)
    p = set()
    for _ in range(5):
        order = rng.permutation(len(d))
        p.add(compare(np.zeros(len(d)), d[order], clusters=clusters[order]).p)
    assert len(p) == 1


def test_swapping_the_systems_turns_the_comparison_round():
    one, other = compare(DATA[0], DATA[1]), compare(DATA[1], DATA[0])
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert one.p == other.p
    assert (one.wins, one.losses) == (other.losses, other.wins)


def test_undefined_values_are_dropped_and_counted():
    found = compare([*B, np.nan, 0.5, None], [*A, 0.5, np.nan, None])
    assert (found.n, found.n_undefined) == (8, 3)
    assert (found.difference, found.p) == (compare(B, A).difference, 0.0625)


@pytest.mark.parametrize(
    ("baseline", "system", "reason", "p"),
    [
        ([], [], "no query has a value for both systems", None),
        ([0.5], [np.nan], "no query has a value for both systems", None),
        ([0.5], [0.7], "one query or cluster", 1.0),  # + and - are both as far out
        ([0.1, 0.3, 0.5], [0.2, 0.4, 0.6], "all differences are equal", 0.25),
    ],
)
def test_no_interval_says_why(baseline, system, reason, p):
    found = compare(baseline, system)
    assert found.reason == reason
    assert isnan(found.low)
    assert isnan(found.high)
    assert found.p == p if p is not None else isnan(found.p)
    assert isnan(found.detectable)


def test_clusters_of_one_change_nothing():
    assert compare(*DATA, clusters=list(range(30))) == compare(*DATA)


def test_equal_clusters_give_the_t_interval_of_their_means():
    clusters = np.repeat(np.arange(10), 3)
    means = (DATA[1] - DATA[0]).reshape(10, 3).mean(1)
    low, high = stats.t.interval(0.95, 9, means.mean(), stats.sem(means))
    found = compare(*DATA, clusters=clusters)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.n, found.n_clusters) == (30, 10)
    # one flip a cluster: 2^10 patterns of the sums
    expected = stats.permutation_test((3 * means,), np.sum, permutation_type="samples", n_resamples=np.inf).pvalue
    assert found.p == pytest.approx(expected)


def test_queries_needed_are_those_of_the_textbook():
    # (1.959964 + .841621)^2 .25^2 / .05^2 = 196.2, so 197 by the normal; 198.15 by the noncentral t
    assert units_needed(0.05, 0.25) == pytest.approx(198.15, abs=0.005)


@pytest.mark.parametrize(("effect", "level", "power"), [(0.2, 0.05, 0.8), (0.5, 0.01, 0.9), (1.3, 0.05, 0.5)])
def test_power_is_that_of_statsmodels(effect, level, power):
    reference = pytest.importorskip("statsmodels.stats.power").TTestPower()
    n = units_needed(effect, 1.0, level, power)
    assert n == pytest.approx(reference.solve_power(effect, alpha=level, power=power), rel=1e-6)
    assert paired_power(effect, 1.0, n, level) == pytest.approx(power)
    assert paired_power(effect, 1.0, 12, level) == pytest.approx(reference.power(effect, 12, level))
    assert detectable_difference(1 / sqrt(40), 40, level, power) == pytest.approx(
        reference.solve_power(nobs=40, alpha=level, power=power), rel=1e-5
    )


def test_detectable_difference_and_queries_needed_are_each_other_s_inverse():
    found = compare(*DATA)
    again = compare(*DATA, wanted=found.detectable)
    assert again.n_needed == 30
    one_sided = compare(*DATA, alternative="greater")
    assert one_sided.detectable < found.detectable


def test_huge_numbers_of_queries_are_computed_too():
    # (z + z)^2 sd^2 / delta^2 = 7.848879 x 10^12
    assert units_needed(1e-6, 1.0) == pytest.approx(7.848879e12, rel=1e-6)


def test_queries_needed_count_whole_clusters():
    # with 10 clusters of 3 queries, as many clusters as the test on cluster means needs, times 3
    clusters = np.repeat(np.arange(10), 3)
    means = (DATA[1] - DATA[0]).reshape(10, 3).mean(1)
    found = compare(*DATA, clusters=clusters, wanted=0.05)
    assert found.n_needed == pytest.approx(3 * units_needed(0.05, means.std(ddof=1)), abs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"system": [0.5]}, "one value a query each, got 2 and 1"),
        ({"system": [0.5, np.inf]}, "1 of 4 values are infinite"),
        ({"system": [[0.5, 0.5]]}, "system must be one column"),
        ({"alternative": "better"}, "alternative must be one of two-sided, greater, less, got 'better'"),
        ({"level": 1.0}, "level must lie strictly between 0 and 1"),
        ({"power": 0.0}, "power must lie strictly between 0 and 1"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"clusters": ["a"]}, "clusters must have one entry a row, got 1 for 2 rows"),
    ],
)
def test_bad_input_is_refused(options, message):
    system = options.pop("system", [0.5, 0.6])
    with pytest.raises(InputError, match=message):
        compare([0.5, 0.4], system, **options)


def test_infinite_difference_is_refused():
    with pytest.raises(InputError, match="1 NaN or infinite"):
        sign_flip_p([0.1, np.nan])


def test_comparison_prints_as_one_line():
    assert str(compare([0.5], [0.7])) == (
        "P@10: system - baseline = +0.200 (no interval: one query or cluster), p = 1.000, won 1, tied 0, lost 0, n = 1"
    )
    assert str(compare([], [])) == "P@10: system - baseline undefined (no query has a value for both systems)"


def simulated(n, delta, runs, seed):
    """Shares of runs in which the interval misses 0 and p <= .05; P@10 of two systems that share how hard a query is.

    System rates are .4 and .4 + delta moved by a normal of the query (sd .25) and one of the system (sd .1), 10
    documents a query.
    """
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.25, (runs, n, 1))
    rates = np.clip(np.array([0.4, 0.4 + delta]) + hard + rng.normal(0, 0.1, (runs, n, 2)), 0, 1)
    values = rng.binomial(10, rates) / 10
    found = [compare(one[:, 0], one[:, 1], resamples=2000, seed=seed) for one in values]
    return (
        float(np.mean([one.low > 0 or one.high < 0 for one in found])),
        float(np.mean([one.p <= 0.05 for one in found])),
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50])
def test_both_tests_err_about_one_time_in_twenty(n):
    # 4 standard errors of 2000 runs at .05 are .0195
    by_interval, by_flips = simulated(n, 0.0, 2000, seed=n)
    assert by_interval == pytest.approx(0.05, abs=0.0195)
    assert by_flips == pytest.approx(0.05, abs=0.0195)


@pytest.mark.slow
def test_detectable_difference_is_found_four_times_in_five():
    # differences normal with sd .25, 50 queries: ncp for 80 % by the noncentral t; 4 standard errors of 2000 runs
    rng = np.random.default_rng(5)
    delta = detectable_difference(0.25 / sqrt(50), 50)
    found = [compare(np.zeros(50), rng.normal(delta, 0.25, 50), resamples=1) for _ in range(2000)]
    assert np.mean([one.low > 0 for one in found]) == pytest.approx(0.8, abs=0.036)


@pytest.mark.slow
def test_clustered_interval_covers_where_the_plain_one_does_not():
    # 30 users x 5 queries, half of the variance of the differences shared inside a user: design effect 1 + 4/2 = 3
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(30), 5)
    hits = {"clustered": 0, "plain": 0}
    flips = 0
    for _ in range(1000):
        d = rng.normal(0, sqrt(0.5), 30)[clusters] + rng.normal(0, sqrt(0.5), 150)
        for name, by in (("clustered", clusters), ("plain", None)):
            found = compare(np.zeros(150), d, clusters=by, resamples=1000 if by is not None else 1)
            hits[name] += found.low <= 0 <= found.high
            flips += by is not None and found.p <= 0.05
    assert hits["clustered"] / 1000 == pytest.approx(0.95, abs=0.028)
    assert flips / 1000 == pytest.approx(0.05, abs=0.028)
    assert hits["plain"] / 1000 < 0.8  # 1.96 / sqrt(3) standard errors cover .742
