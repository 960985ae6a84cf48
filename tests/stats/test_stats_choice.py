"""The gain of a choice: hand cases, what is refused, and simulations of its interval."""

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import choice_gain


def test_candidate_is_measured_where_it_was_not_chosen():
    # leave-one-out: without q0 candidate 1 is best (sums 0, 2), which gives q0 -3; without q1 or q2 candidate 0 is
    # (0 > -2), which gives 0
    found = choice_gain([[0, -3], [0, 1], [0, 1]], [0, 0, 0], folds=3)
    assert found.gain == pytest.approx(-1)
    assert sorted(found.chosen) == [0, 0, 1]
    assert (found.best, found.gain_in_sample) == (0, 0)


def test_what_is_in_use_everywhere_gains_nothing():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(30, 1))
    found = choice_gain(values, values[:, 0])
    assert (found.gain, found.low, found.high) == pytest.approx((0, 0, 0))


def test_sums_that_differ_by_a_rounding_error_are_equal():
    # .1 + .2 and .3
    assert choice_gain([[0.1, 0.15], [0.2, 0.15]], [0, 0], folds=2).best == 0


@pytest.mark.parametrize(
    ("values", "now", "options", "message"),
    [
        ([[1, 2]], [1], {}, "two queries or more, got 1"),
        ([[1, 2], [1, 2]], [1], {}, r"got \(2, 2\) and \(1,\)"),
        ([[1, np.nan], [1, 2]], [1, 1], {}, "NaN or infinite"),
        ([[1, 2], [1, 2]], [1, 1], {"folds": 1}, "at least 2, got 1 and 2000"),
        ([[1, 2], [1, 2]], [1, 1], {"level": 0.0}, "strictly between 0 and 1"),
    ],
)
def test_what_cannot_be_chosen_is_refused(values, now, options, message):
    with pytest.raises(InputError, match=message):
        choice_gain(values, now, **options)


def utilities(rng, n, first, decay):
    """T(alpha=0.3) of the top 1..20: a document at rank r is relevant with the logistic of first - decay r + query."""
    rank = np.arange(1, 21)
    odds = first - decay * rank + rng.normal(0, 0.9, (n, 1))
    relevant = rng.random((n, 20)) < 1 / (1 + np.exp(-odds))
    return np.cumsum(np.where(relevant, 0.7, -0.3), axis=1) / 20


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize(
    ("name", "first", "decay", "in_use"),
    [
        ("something to gain", 0.7, 0.12, 19),
        ("nothing to gain", 0.7, 0.12, None),
        ("all about alike", -0.85, 0.0, 9),
    ],
)
def test_gain_is_unbiased_and_its_interval_covers(n, name, first, decay, in_use):
    """What it shall cover is the true gain of what was chosen; `None`: in use is what is best in truth."""
    rng = np.random.default_rng(n)
    truth = utilities(rng, 200_000, first, decay).mean(0)
    now = int(truth.argmax()) if in_use is None else in_use
    found, true = [], []
    for run in range(400):
        values = utilities(rng, n, first, decay)
        found.append(choice_gain(values, values[:, now], resamples=300, seed=run))
        true.append(np.mean([truth[one] - truth[now] for one in found[-1].chosen]))
    gains = np.array([one.gain for one in found])
    assert gains.mean() == pytest.approx(np.mean(true), abs=4 * gains.std() / 20)
    covered = np.mean([one.low <= at <= one.high for one, at in zip(found, true, strict=True)])
    assert covered >= 0.95 - 0.044  # 4 standard errors of 400 runs; it is wider than it need be, .97 to .99
    if name == "nothing to gain":
        assert np.mean([one.low > 0 for one in found]) <= 0.025
        assert np.mean([one.gain_in_sample for one in found]) > 0
