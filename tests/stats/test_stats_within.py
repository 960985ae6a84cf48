"""Correlation inside strata."""

from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import associate, associate_within
from ragauge.stats.within import WITHIN_COEFFICIENTS


def by_pairs(x, y, strata):
    """C - D, C + D, s_x and s_y over the pairs of one stratum, summed, pair by pair."""
    sums = np.zeros(4)
    for i in range(len(x)):
        for j in range(i):
            if strata[i] == strata[j]:
                sign_x, sign_y = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
                sums += sign_x * sign_y, abs(sign_x * sign_y), abs(sign_x), abs(sign_y)
    return sums


def test_two_strata_in_reverse_order_of_all_rows():
    # inside each stratum x and y rise together (C = 1 + 1); across them, high x goes with low y
    x, y, strata = [1, 2, 8, 9], [4, 5, 1, 2], ["a", "a", "b", "b"]
    found = associate_within(x, y, strata)
    assert associate(x, y).tau_b < 0
    assert found.values == dict.fromkeys(WITHIN_COEFFICIENTS, 1.0)
    assert (found.n, found.n_strata, found.n_informative) == (4, 2, 2)


def test_sums_over_strata_are_divided_once():
    # stratum a: x 1 2 3, y 1 3 2: C - D = 1 of 3 pairs; b: x 1 1, y 1 2: s_x = 0, s_y = 1; c: x 1 2, y 2 1: -1
    found = associate_within([1, 2, 3, 1, 1, 1, 2], [1, 3, 2, 1, 2, 2, 1], list("aaabbcc"))
    assert found.values["somers_yx"] == pytest.approx((1 - 1) / 4)
    assert found.values["tau_b"] == 0
    # Pearson: a: deviations -1 0 1 and -1 1 0: xy 1, xx 2, yy 2; b: yy 1/2; c: xy -1/2, xx 1/2, yy 1/2
    assert found.values["pearson"] == pytest.approx(0.5 / sqrt(2.5 * 3))
    assert found.n_informative == 2


@pytest.mark.parametrize("seed", range(5))
def test_equals_counting_pair_by_pair(seed):
    rng = np.random.default_rng(seed)
    x, y, strata = rng.integers(0, 4, 60) / 3, rng.integers(1, 4, 60).astype(float), rng.integers(0, 15, 60)
    found = associate_within(x, y, strata).values
    excess, decided, untied_x, untied_y = by_pairs(x, y, strata)
    expected = {
        "tau_b": excess / sqrt(untied_x * untied_y),
        "gamma": excess / decided,
        "somers_yx": excess / untied_x,
        "somers_xy": excess / untied_y,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_one_stratum_is_the_plain_correlation():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, 30), rng.integers(0, 5, 30)
    found, plain = associate_within(x, y, np.zeros(30, dtype=int)), associate(x, y)
    for name in WITHIN_COEFFICIENTS:
        assert found.values[name] == pytest.approx(getattr(plain, name), abs=1e-12)


def test_interval_leaves_out_one_query_at_a_time():
    rng = np.random.default_rng(2)
    strata = np.repeat(np.arange(24), 4)
    queries = strata // 2  # two embedders a query
    x = rng.integers(0, 5, 96)
    y = np.clip(x + rng.integers(-2, 3, 96), 1, 5)
    found = associate_within(x, y, strata, queries=queries, level=0.9)
    kept = [queries != q for q in range(12)]
    z = np.arctanh([associate_within(x[k], y[k], strata[k]).values["tau_b"] for k in kept])
    half = stats.t.ppf(0.95, 11) * sqrt(11 / 12 * ((z - z.mean()) ** 2).sum())
    centre = np.arctanh(found.values["tau_b"])
    interval = found.intervals["tau_b"]
    assert (interval.low, interval.high) == pytest.approx((np.tanh(centre - half), np.tanh(centre + half)))
    assert interval.n == 12


@pytest.mark.parametrize(
    ("x", "y", "strata"), [([1, 1, 2, 2], [1, 2, 1, 2], "aabb"), ([1, 2, 3], [1, 2, 3], "abc"), ([], [], "")]
)
def test_strata_in_which_nothing_varies_say_so(x, y, strata):
    found = associate_within(x, y, list(strata))
    assert all(isnan(value) for value in found.values.values())
    assert found.reason == "a column is constant in every stratum"
    assert found.intervals["tau_b"].reason == found.reason


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2], [1, 2, 3], "ab"), {}, "x and y must be columns of one length"),
        (([1, nan], [1, 2], "aa"), {}, "x holds 1 and y 0 NaN or infinite values"),
        (([1, 2], [1, 2], "aa"), {"queries": "ab"}, "a stratum has rows of two queries"),
        (([1, 2], [1, 2], "a"), {}, "strata must have one entry a row, got 1 for 2 rows"),
        (([1, 2], [1, 2], "aa"), {"level": 95}, "level must lie strictly between 0 and 1"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        associate_within(*arguments, **options)


@pytest.mark.slow
def test_interval_covers_the_correlation_inside_queries():
    # y = query effect + .5 x inside + noise, 60 queries of 5 rows: the true within-Pearson is .5 / sqrt(1.25) = .447
    rng = np.random.default_rng(9)
    queries, hits = np.repeat(np.arange(60), 5), 0
    for _ in range(1000):
        x = rng.normal(size=300) + rng.normal(size=60)[queries]
        y = 0.5 * x + rng.normal(size=300) + 3 * rng.normal(size=60)[queries]
        interval = associate_within(x, y, queries).intervals["pearson"]
        hits += interval.low <= 0.5 / sqrt(1.25) <= interval.high
    assert hits / 1000 == pytest.approx(0.95, abs=0.028)  # 4 standard errors
