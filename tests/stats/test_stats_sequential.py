"""Confidence sequences and alarms: worked values, what they promise at once, and what is refused."""

from math import isnan

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import confidence_sequence, cusum, drop_alarm

TEN = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("method", "times", "low", "high", "step"),
    [
        # published ends of "betting" are the last candidates kept; ours lie one step of a thousandth outside
        ("betting", 1, 0.274, 0.992, 0.001),
        ("betting", 20, 0.590, 0.803, 0.001),
        ("bernstein", 1, 0.0, 1.0, 0.0),
        ("bernstein", 20, 0.5853, 0.8127, 0.0),
    ],
)
def test_worked_values(method, times, low, high, step):
    found = confidence_sequence(TEN * times, method=method)
    assert found.low[-1] == pytest.approx(low - step, abs=6e-5 + step / 2)
    assert found.high[-1] == pytest.approx(high + step, abs=6e-5 + step / 2)


def test_asymptotic_half_width_is_the_published_one():
    # sd .3 after 1000 values, narrowest at 500: .029044. Values .5 +- .3 have sd .3 but for the one imagined value:
    # sqrt((.25 + 1000 * .09) / 1001) = .300266
    found = confidence_sequence([0.2, 0.8] * 500, method="asymptotic", planned_n=500)
    assert (found.high[-1] - found.low[-1]) / 2 == pytest.approx(0.029044 * 0.300266 / 0.3, abs=2e-6)


def test_asymptotic_sequence_says_nothing_before_thirty_values():
    found = confidence_sequence([0.5] * 31, method="asymptotic")
    assert (found.low[28], found.high[28]) == (0, 1)
    assert 0 < found.low[29] < 0.5 < found.high[29] < 1  # equal values prove nothing


@pytest.mark.parametrize("method", ["betting", "bernstein"])
def test_intervals_only_shrink(method):
    rng = np.random.default_rng(1)
    found = confidence_sequence(rng.random(300), method=method)
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 0).all()
    assert found.empty_from is None


@pytest.mark.parametrize("method", ["betting", "bernstein", "asymptotic"])
def test_bounds_move_and_scale_with_the_measure(method):
    # T(alpha=0.3) = P - 0.3 lies in -0.3..0.7
    rng = np.random.default_rng(2)
    p = rng.integers(0, 11, 200) / 10
    one, other = confidence_sequence(p, method=method), confidence_sequence(p - 0.3, bounds=(-0.3, 0.7), method=method)
    assert np.allclose(other.low, one.low - 0.3)
    assert np.allclose(other.high, one.high - 0.3)
    assert np.allclose(other.mean, one.mean - 0.3)


def test_betting_is_narrower_than_bernstein_with_few_values():
    rng = np.random.default_rng(3)
    x = rng.random(100)
    one, other = (confidence_sequence(x, method=method) for method in ("betting", "bernstein"))
    assert one.high[-1] - one.low[-1] < other.high[-1] - other.low[-1]


def test_mean_that_changes_empties_the_sequence():
    found = confidence_sequence([1.0] * 200 + [0.0] * 400)
    assert found.empty_from is not None
    assert found.empty_from > 200
    assert isnan(found.low[-1])
    assert not isnan(found.low[found.empty_from - 1])


def test_blocks_do_not_matter():
    # the first 1500 of 5000 values see the same past
    x = np.random.default_rng(4).random(5000)
    long, short = confidence_sequence(x), confidence_sequence(x[:1500])
    assert np.array_equal(long.low[:1500], short.low)


def test_no_value_is_an_empty_sequence_of_intervals():
    assert len(confidence_sequence([]).low) == 0


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, 1.2], {}, r"1 of 2 values are outside 0\.\.1"),
        ([0.5, None], {}, "without NaN"),
        ([0.5], {"bounds": (0, float("inf"))}, "bounds must be finite and rise"),
        ([0.5], {"method": "hoeffding"}, "method must be 'betting', 'bernstein' or 'asymptotic', got 'hoeffding'"),
        ([0.5], {"planned_n": 0}, "planned_n must be positive, got 0"),
        ([0.5], {"level": 1}, "level must lie strictly"),
    ],
)
def test_bad_input_is_refused(values, options, message):
    with pytest.raises(InputError, match=message):
        confidence_sequence(values, **options)


SIX = [0.6, 0.5, 0.4, 0.7, 0.3, 0.2]


def test_cusum_adds_up_shortfalls_beyond_the_slack():
    # .55 - x: -.05, .05, .15, -.15, .25, .35, added up and never below 0
    found = cusum(SIX, target=0.6, slack=0.05, threshold=0.3)
    assert found.evidence == pytest.approx([0, 0.05, 0.2, 0.05, 0.3, 0.65])
    assert found.rang_at == 5  # .3 does not exceed .3


def test_e_detector_follows_its_recursion():
    # l = 1: (M + 1)(1 + .6 - x): 1, 2 * 1.1, 3.2 * 1.2, 4.84 * .9, 5.356 * 1.3, 7.9628 * 1.4
    found = drop_alarm(SIX, target=0.6, bets=[1.0], average_run_length=5)
    assert found.evidence == pytest.approx([1, 2.2, 3.84, 4.356, 6.9628, 11.14792])
    assert found.rang_at == 4


def test_e_detector_of_several_bets_is_their_mean():
    one, other, both = (drop_alarm(SIX, target=0.6, bets=bets) for bets in ([0.5], [2.0], [0.5, 2.0]))
    assert both.evidence == pytest.approx((one.evidence + other.evidence) / 2)


def test_drop_is_found_and_none_is_not():
    rng = np.random.default_rng(5)
    good, bad = rng.binomial(10, 0.6, 300) / 10, rng.binomial(10, 0.4, 300) / 10
    assert drop_alarm(good, target=0.55).rang_at is None
    assert 300 < drop_alarm(np.r_[good, bad], target=0.55).rang_at < 340


def test_evidence_stays_a_number_long_after_the_alarm():
    found = drop_alarm([0.0] * 5000, target=0.5)
    assert np.isfinite(found.evidence).all()


def test_alarm_moves_and_scales_with_the_measure():
    x = np.random.default_rng(6).random(100)
    one = drop_alarm(x, target=0.6)
    other = drop_alarm(10 * x - 3, target=3, bounds=(-3, 7))
    assert one.evidence == pytest.approx(other.evidence)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: drop_alarm([0.5], target=1.0), "target must lie strictly between the bounds 0 and 1, got 1"),
        (lambda: drop_alarm([1.5], target=0.5), r"1 of 1 values are outside 0\.\.1"),
        (lambda: drop_alarm([0.5], target=0.5, average_run_length=1), "average_run_length must be above 1, got 1"),
        (lambda: drop_alarm([0.5], target=0.5, bets=[3.0]), "bets must lie above 0 and at most at 2"),
        (lambda: drop_alarm([0.5], target=0.5, bets=[]), "bets must lie above 0"),
        (lambda: drop_alarm([0.5], target=0.5, bounds=(1, 0)), "bounds must rise"),
        (lambda: cusum([0.5], target=0.5, slack=-1, threshold=1), "slack must be >= 0"),
        (lambda: cusum([float("nan")], target=0.5, slack=0, threshold=1), "finite numbers"),
    ],
)
def test_bad_alarms_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
