"""Samples that stop by a rule, and documents drawn from strata: exact cases, and simulated coverage."""

from math import ceil

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import pair_sample_mean, pair_sample_values, queries_needed, two_stage_mean

UNIT = {"measure": "P@10", "bounds": (0.0, 1.0)}


def test_number_of_queries_is_steins() -> None:
    pilot = np.array([0.2, 0.4, 0.4, 0.6, 0.8, 1, 0, 0.3, 0.5, 0.7])
    spread = np.concatenate([pilot, [0, 1]]).std(ddof=1)
    expected = ceil((stats.t.ppf(0.975, 9) * spread / 0.1) ** 2)
    assert queries_needed(pilot, half_width=0.1, bounds=(0, 1)) == expected


def test_a_pilot_that_is_enough_asks_for_no_more() -> None:
    assert queries_needed([0.5] * 200, half_width=0.1, bounds=(0, 1)) == 200


def test_a_pilot_of_equal_values_does_not_prove_that_all_are() -> None:
    assert queries_needed([0.0] * 20, half_width=0.05, bounds=(0, 1)) > 20


def test_the_scale_of_the_measure_does_not_matter() -> None:
    pilot = np.arange(20) % 2
    on_unit = queries_needed(pilot, half_width=0.1, bounds=(0, 1))
    assert queries_needed(10 * pilot - 3, half_width=1.0, bounds=(-3, 7)) == on_unit


@pytest.mark.parametrize(
    ("pilot", "options", "message"),
    [
        ([0.5] * 9, {"half_width": 0.1}, "at least 10 values, got 9"),
        ([0.5] * 9 + [1.5], {"half_width": 0.1}, "1 of 10 values are outside"),
        ([0.5] * 9 + [float("nan")], {"half_width": 0.1}, "1 of 10 values are outside"),
        ([0.5] * 10, {"half_width": 0.0}, "half_width must be above 0"),
        ([0.5] * 10, {"half_width": 0.1, "level": 1.0}, "level must lie"),
    ],
)
def test_bad_pilots_are_refused(pilot: list[float], options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        queries_needed(pilot, bounds=(0, 1), **options)


def test_interval_uses_the_pilots_spread_and_all_values_for_the_mean() -> None:
    values = np.array([0, 1] * 10 + [1] * 20)
    spread = np.concatenate([values[:20], [0, 1]]).std(ddof=1)
    found = two_stage_mean(values, n_pilot=20, **UNIT)
    assert found.mean == 0.75
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 19) * spread / np.sqrt(40))
    assert found.method == "two-stage"


def test_missing_values_are_left_out_and_counted() -> None:
    values = [0, 1] * 10 + [float("nan")] + [1] * 5
    found = two_stage_mean(values, n_pilot=20, **UNIT)
    assert (found.n, found.n_undefined, found.mean) == (25, 1, 0.6)


def test_two_stages_keep_their_width_and_their_level() -> None:
    rng = np.random.default_rng(1)
    truth, wanted, inside = 0.25, 0.08, 0
    n_runs = 1000
    for _ in range(n_runs):
        pilot = (rng.random(30) < truth).astype(float)
        n = queries_needed(pilot, half_width=wanted, bounds=(0, 1))
        found = two_stage_mean(np.concatenate([pilot, rng.random(n - 30) < truth]), n_pilot=30, **UNIT)
        assert (found.high - found.low) / 2 <= wanted + 1e-9
        inside += found.low <= truth <= found.high
    assert inside / n_runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_runs)


def test_pair_sample_with_everything_drawn_is_the_plain_mean() -> None:
    y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]]) / 3
    stratum = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0]])
    query = np.repeat(np.arange(3), 3)
    population = [[2, 1], [1, 2], [1, 2]]
    values = pair_sample_values(y.ravel(), query, stratum.ravel(), population)
    np.testing.assert_allclose(values, y.sum(axis=1))  # every correction is made in full


def test_pair_sample_by_hand() -> None:
    # strata of 4 and 2 documents; drawn: stratum 0 of query 0 (1) and of query 1 (0), stratum 1 of query 1 (1)
    # m = (.5, 1); N / n = (2, 2); z_0 = 2 * .5 + 1 * 1 + (1 - .5) * 2 = 3; z_1 = 2 * .5 + 1 * 1 - .5 * 2 + 0 = 1
    values = pair_sample_values([1, 0, 1], [0, 1, 1], [0, 0, 1], [[2, 1], [2, 1]])
    np.testing.assert_allclose(values, [3, 1])


def test_a_stratum_without_a_label_is_refused() -> None:
    with pytest.raises(InputError, match="1 of 2 strata have no labelled document"):
        pair_sample_values([1], [0], [0], [[2, 1]])


def test_pair_sample_covers_and_is_unbiased() -> None:
    rng = np.random.default_rng(2)
    n_queries, k, n_runs = 300, 10, 400
    inside, means = 0, []
    stratum = np.tile(np.repeat([0, 1], 5), n_queries)
    query = np.repeat(np.arange(n_queries), k)
    population = np.full((n_queries, 2), 5)
    for _ in range(n_runs):
        easy = rng.beta(1, 2, size=n_queries)  # mean 1 / 3; the upper half is twice as often relevant
        p = np.repeat(easy, k) * np.where(stratum == 0, 1.0, 0.5)
        y = (rng.random(n_queries * k) < p) / k
        drawn = np.concatenate([rng.choice(np.flatnonzero(stratum == h), 75, replace=False) for h in (0, 1)])
        found = pair_sample_mean(y[drawn], query[drawn], stratum[drawn], population, **UNIT)
        inside += found.low <= 0.25 <= found.high
        means.append(found.mean)
    assert np.mean(means) == pytest.approx(0.25, abs=4 * np.std(means) / np.sqrt(n_runs))
    assert 0.95 - 3 * 0.0109 <= inside / n_runs <= 0.95 + 3 * 0.0109


def test_no_positive_among_the_drawn_leaves_an_interval() -> None:
    found = pair_sample_mean([0] * 20, np.arange(20), [0] * 20, [[10]] * 20, **UNIT)
    assert found.mean == 0
    assert 0.1 < found.high < 0.2  # as 20 trials without success


def test_one_label_is_too_few() -> None:
    with pytest.raises(InputError, match="at least 2"):
        pair_sample_mean([0], [0], [0], [[10]], **UNIT)
