"""Joint bootstrap of several measures: paired draws, whole queries."""

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import COEFFICIENTS, associate, bootstrap_coefficients


def test_draws_are_those_of_rows_drawn_by_query():
    # two rows a query: every replicate holds each query's two rows equally often, so a measure that only differs inside
    # queries and a grade that only differs between them never correlate
    queries = np.repeat(np.arange(6), 2)
    drawn = bootstrap_coefficients([np.tile([0, 1], 6), queries], queries % 5, queries, n_draws=200)
    inside, between = drawn["pearson"].T
    assert np.nanmax(np.abs(inside)) < 1e-12
    assert np.nanstd(between) > 0.05


def test_measures_see_the_same_draws():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 40), rng.integers(1, 6, 40)
    drawn = bootstrap_coefficients([x, 3 * x + 1, -x], y, np.arange(40), n_draws=50, coefficients=["spearman", "gamma"])
    assert list(drawn) == ["spearman", "gamma"]
    for values in drawn.values():
        assert values[:, 0] == pytest.approx(values[:, 1], abs=1e-12)
        assert values[:, 0] == pytest.approx(-values[:, 2], abs=1e-12)


def test_spread_of_the_draws_is_the_standard_error_and_their_mean_the_value():
    rng = np.random.default_rng(1)
    x = rng.normal(size=400).round(1)
    y = (x + rng.normal(size=400)).round(0)
    drawn = bootstrap_coefficients([x], y, np.arange(400), n_draws=500, coefficients=["pearson"])["pearson"][:, 0]
    r = associate(x, y).pearson
    assert drawn.mean() == pytest.approx(r, abs=0.01)
    assert drawn.std() == pytest.approx((1 - r**2) / 20, rel=0.2)  # normal theory: (1 - r^2) / sqrt(n)


def test_same_seed_same_draws_and_constant_replicates_are_nan():
    options = {"n_draws": 60, "seed": 3}
    one, other = (bootstrap_coefficients([[1, 2, 3, 4]], [1, 1, 1, 2], "abcd", **options) for _ in range(2))
    for name in COEFFICIENTS:
        assert np.array_equal(one[name], other[name], equal_nan=True)
    # the fourth row is absent from (3/4)^4 = 32 % of the replicates, and alone in few
    assert 0.1 < np.isnan(one["tau_b"]).mean() < 0.6


def test_no_measure_gives_no_column():
    assert bootstrap_coefficients([], [1, 2], "ab", n_draws=4)["tau_b"].shape == (4, 0)


def test_no_draw_is_refused():
    with pytest.raises(InputError, match="n_draws must be 1 or more, got 0"):
        bootstrap_coefficients([[1, 2]], [1, 2], "ab", n_draws=0)
