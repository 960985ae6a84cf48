"""Model labels corrected by people's: worked values, what is undefined, and what is refused."""

from dataclasses import replace
from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import corrected_difference, corrected_mean

PEOPLE = [0.6, 0.2, 0.9, 0.4, 0.7]
JUDGE = [0.7, 0.3, 0.8, 0.6, 0.7]  # of the same five
ONLY_JUDGE = [0.5, 0.6, 0.8, 0.4, 0.9, 0.7, 0.3, 0.6, 0.8, 0.5]
HUMAN = [*PEOPLE, *[None] * 10]
MODEL = JUDGE + ONLY_JUDGE


def corrected(human=HUMAN, model=MODEL, **options):
    return corrected_mean(human, model, measure="P@10", **options)


@pytest.mark.parametrize(
    ("weight", "mean", "error"),
    [
        # people alone: sd of the five / sqrt(5)
        (0.0, 0.56, 0.120830),
        # mean of the ten .61, less what the judge gave too much on the five: .62 - .56
        (1.0, 0.55, 0.079092),
        # w = .0485 / (1.5 * .034095): covariance of the five, variance of all fifteen
        (None, 0.550517, 0.078390),
    ],
)
def test_worked_example(weight, mean, error):
    found = corrected(weight=weight)
    assert (found.mean, found.error) == pytest.approx((mean, error), abs=5e-7)
    half = stats.t.ppf(0.975, 4) * found.error
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))


def test_tuned_weight_and_normal_interval_of_the_worked_example():
    found = corrected()
    assert found.weight == pytest.approx(0.948324, abs=5e-7)
    # the printed interval has the normal quantile in place of t_4
    half = stats.norm.ppf(0.975) * found.error
    assert (found.mean - half, found.mean + half) == pytest.approx((0.396876, 0.704158), abs=1e-6)


def test_covariances_over_n_give_what_ppi_py_gives():
    # ppi_py 0.2.3 has 1/n in the covariance (x 4/5 here) and in the variances, and the normal quantile; it prints
    # .552414 and (.410989, .693837), which is narrower than ours
    theirs = corrected(weight=0.948324 * 4 / 5)
    assert theirs.mean == pytest.approx(0.552414, abs=5e-6)
    y, f, u = np.array(PEOPLE), np.array(JUDGE), np.array(ONLY_JUDGE)
    error = sqrt(theirs.weight**2 * u.var() / 10 + (y - theirs.weight * f).var() / 5)
    half = stats.norm.ppf(0.975) * error
    assert (theirs.mean - half, theirs.mean + half) == pytest.approx((0.410989, 0.693837), abs=5e-6)
    assert theirs.low < theirs.mean - half


def test_mean_over_just_these_queries_uses_all_model_values_and_shrinks_the_error():
    # w = .0485 / .034095 clipped to 1: mean of all fifteen .613333 + (.56 - .62);
    # se^2 = (1 - 5/15) * var(-.1, -.1, .1, -.2, 0) / 5 = 2/3 * .013 / 5
    found = corrected(target="these")
    assert found.weight == 1
    assert (found.mean, found.error) == pytest.approx((0.553333, sqrt(2 / 3 * 0.013 / 5)), abs=1e-6)


def test_gain_is_the_ratio_of_variances():
    assert corrected().gain == pytest.approx((0.120830 / 0.078390) ** 2, abs=1e-4)
    assert corrected(weight=0.0).gain == pytest.approx(1)


@pytest.mark.parametrize(("rho", "gain"), [(0.3, 1.098), (0.5, 1.329), (0.7, 1.942), (0.9, 5.05)])
def test_gain_follows_the_correlation_as_published(rho, gain):
    # 1 / (1 - rho^2 M / (n + M)) with n = 100, M = 10,000; values made to have exactly this correlation
    rng = np.random.default_rng(5)
    x, e = rng.normal(size=(2, 100))
    x = (x - x.mean()) / x.std(ddof=1)
    e -= e.mean() + x * (e @ x) / (x @ x)
    y = rho * x + sqrt(1 - rho**2) * e / e.std(ddof=1)
    rest = rng.normal(size=10_000)
    rest = (rest - rest.mean()) / rest.std(ddof=1)
    found = corrected([*y, *[None] * 10_000], [*x, *rest])
    assert found.correlation == pytest.approx(rho)
    assert found.gain == pytest.approx(gain, abs=0.002)


def test_useless_judge_is_given_no_weight():
    # falls where people's rise: the covariance is negative
    found = corrected(model=[0.3, 0.7, 0.1, 0.6, 0.2, *ONLY_JUDGE])
    assert (found.weight, found.mean, found.gain) == (0, pytest.approx(0.56), pytest.approx(1))
    assert any("add little" in warning for warning in found.warnings)


def test_a_judge_of_nothing_but_what_people_labelled_is_said_to_change_nothing():
    found = corrected([0.2, 0.4, 0.9] * 10, [0.2, 0.4, 0.9] * 10)
    assert found.warnings == ("people labelled every query; the model's labels change nothing",)


def test_constant_judge_has_no_correlation_and_no_weight():
    found = corrected(model=[0.5] * 15)
    assert isnan(found.correlation)
    assert (found.weight, found.mean) == (0, pytest.approx(0.56))


def test_few_labelled_queries_are_warned_of():
    assert any("people labelled 5 queries" in warning for warning in corrected().warnings)


def test_enough_queries_and_a_good_judge_need_no_warning():
    rng = np.random.default_rng(1)
    y = rng.random(200)
    found = corrected(np.where(np.arange(200) < 40, y, nan), y + 0.1 * rng.normal(size=200))
    assert found.warnings == ()


@pytest.mark.parametrize("strata", [None, np.repeat([0, 1], [100, 100])])
def test_queries_that_were_not_drawn_are_warned_of(strata):
    # people looked at the queries with the lowest values by the model, or at every third
    f = np.random.default_rng(2).permutation(200) / 200
    y = np.clip(f + 0.05 * np.random.default_rng(3).normal(size=200), 0, 1)
    chosen, drawn = (
        corrected(np.where(picked, y, nan), f, strata=strata) for picked in (f < 0.4, np.arange(200) % 3 == 0)
    )
    assert any("were they drawn?" in warning for warning in chosen.warnings)
    assert drawn.warnings == ()


def test_interval_is_cut_at_the_bounds():
    found = corrected([0.0, 0.0, 0.0, 0.3, *[None] * 4], [0.0, 0.1, 0.0, 0.2, 0.0, 0.1, 0.0, 0.1], bounds=(0, 1))
    assert found.low == 0


def test_all_queries_labelled_is_the_mean_of_people():
    found = corrected(PEOPLE, JUDGE)
    low, high = stats.t.interval(0.95, 4, 0.56, stats.sem(PEOPLE))
    assert (found.mean, found.low, found.high) == pytest.approx((0.56, low, high))
    assert (found.n_human, found.n_model, found.weight) == (5, 0, 0)


def test_query_the_model_has_no_value_for_is_left_out():
    found = corrected([*HUMAN, 0.9, None], [*MODEL, nan, nan])
    assert (found.mean, found.n_human, found.n_model) == (corrected().mean, 5, 10)


def test_strata_are_put_together_by_their_shares_of_all_queries():
    # stratum a: 4 queries, 2 by people; b: 6 queries, 3 by people; people alone (weight 0)
    # a: mean .3, var .02, b: mean .8, var .01; .4 * .3 + .6 * .8 = .6; .16 * .02 / 2 + .36 * .01 / 3 = .0028
    human = [0.2, 0.4, None, None, 0.7, 0.8, 0.9, None, None, None]
    model = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.6, 0.5, 0.4]
    found = corrected(human, model, weight=0.0, strata=["a"] * 4 + ["b"] * 6)
    assert (found.mean, found.error) == pytest.approx((0.6, sqrt(0.0028)))
    # Satterthwaite: .0028^2 / (.0016^2 / 1 + .0012^2 / 2) = 2.390
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 0.0028**2 / 0.00328e-3) * sqrt(0.0028))


def test_one_stratum_is_no_strata():
    assert corrected(strata=["all"] * 15) == corrected()


def test_difference_of_two_systems_is_the_mean_of_the_differences():
    second = [0.5, 0.1, 0.9, 0.2, 0.6]
    judge_second = [0.6, 0.3, 0.7, 0.4, 0.7, *reversed(ONLY_JUDGE)]
    found = corrected_difference((HUMAN, [*second, *[None] * 10]), (MODEL, judge_second), measure="P@10", bounds=(0, 1))
    y = [a - b for a, b in zip(PEOPLE, second, strict=True)]
    f = [a - b for a, b in zip(MODEL, judge_second, strict=True)]
    assert found == corrected([*y, *[None] * 10], f, bounds=(-1, 1))


def test_systems_with_equal_differences_have_a_mean_and_no_interval():
    found = corrected_difference(([0.5, 0.7, None], [0.4, 0.6, None]), ([0.5] * 3, [0.5] * 3), measure="P@10")
    assert found.mean == pytest.approx(0.1)
    assert isnan(found.low)
    assert "no spread" in found.reason


@pytest.mark.parametrize(
    ("human", "options", "reason"),
    [
        ([None] * 15, {}, "fewer than two queries labelled by people"),
        ([0.6, *[None] * 14], {}, "fewer than two queries labelled by people"),
        (HUMAN, {"strata": ["a"] * 5 + ["b"] * 10}, "fewer than two queries labelled by people in 1 of 2 strata"),
    ],
)
def test_too_few_labelled_queries_have_no_mean(human, options, reason):
    found = corrected(human, **options)
    assert isnan(found.mean)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("human", "options", "message"),
    [
        (HUMAN[1:], {}, "one value a query each"),
        ([float("inf"), *HUMAN[1:]], {}, "must be finite"),
        (HUMAN, {"level": 1.0}, "level must lie strictly between 0 and 1"),
        (HUMAN, {"weight": 1.5}, r"weight must lie in 0\.\.1, got 1.5"),
        (HUMAN, {"target": "those"}, "target must be 'new' or 'these', got 'those'"),
        (HUMAN, {"strata": ["a"]}, "strata must have one entry a row, got 1 for 15 rows"),
    ],
)
def test_bad_input_is_refused(human, options, message):
    with pytest.raises(InputError, match=message):
        corrected(human, **options)


def test_both_systems_need_a_value_for_each_query():
    with pytest.raises(InputError, match="both systems need one value a query, got 2 and 1"):
        corrected_difference(([0.5, 0.6], [0.5]), ([0.5, 0.6], [0.5, 0.4]), measure="P@10")


def test_record_prints_as_one_line():
    text = str(corrected())
    assert text.startswith("P@10 = 0.551 [0.333, 0.768], 5 queries labelled by people, 10 by the model alone")
    assert "gain 2.38" in text
    assert str(replace(corrected(), mean=nan, reason="why")) == "P@10: undefined (why)"
