"""Which measures may be the best: elimination by hand, twins, and what is refused."""

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import confidence_set, default_level

NAMES = ["n_p", "P", "R", "F"]


def draws_around(theta, errors, n_draws=400, seed=0):
    """Independent normal draws around each statistic."""
    theta = np.asarray(theta, dtype=float)
    return theta + np.asarray(errors) * np.random.default_rng(seed).standard_normal((n_draws, len(theta)))


def test_a_clear_leader_is_alone():
    theta = [0.1, 0.2, 0.6, 0.15]
    found = confidence_set(theta, draws_around(theta, 0.02), names=NAMES, level=0.95)
    assert (found.members, found.winner, found.simplest, found.p) == (("R",), "R", "R", 1.0)
    assert [step.names for step in found.eliminated] == [("n_p",), ("F",), ("P",)]  # the one furthest behind goes first
    assert str(found) == "best: R"


def test_what_chance_could_have_turned_round_stays_and_the_simplest_is_suggested():
    theta = [0.1, 0.48, 0.5, 0.49]
    found = confidence_set(theta, draws_around(theta, 0.05), names=NAMES, level=0.9)
    assert found.members == ("R", "F", "P")  # the largest first
    assert (found.winner, found.simplest) == ("", "P")
    assert str(found) == "no winner: R leads; not distinguishable: F, P; the simplest is P"


def test_two_measures_by_hand():
    # draws of the difference are +-1 standard error with equal frequency, so each gap is .99 errors (ddof 1) at least:
    # a lead of half an error has p = 1, one of two errors p = 0
    noise = 0.1 * np.tile([1.0, -1.0], 100)
    for lead, winner, p in [(0.05, "", 1.0), (0.2, "P", 1.0)]:
        theta = np.array([0.3, 0.3 + lead])
        draws = theta + np.column_stack([np.zeros(200), noise])
        found = confidence_set(theta, draws, names=["n_p", "P"], level=0.9)
        assert (found.winner, found.p) == (winner, p)
    (step,) = found.eliminated
    assert step.p == 0
    assert step.statistic == pytest.approx(0.2 / noise.std(ddof=1))


def test_measures_that_never_differ_are_one_candidate_under_several_names():
    # where K / N_p is constant P, R and F are one measure: it may win, which three would never do
    theta = np.array([0.1, 0.6, 0.6, 0.6])
    draws = draws_around(theta[:2], 0.02)[:, [0, 1, 1, 1]] + np.array([0, 0, 1e-15, 0])
    found = confidence_set(theta, draws, names=NAMES, level=0.95)
    assert found.groups == (("P", "R", "F"),)
    assert (found.winner, found.simplest) == ("P = R = F", "P")


def test_a_small_but_steady_lead_wins():
    # the two go up and down together, the second always .01 ahead but for noise of .001
    rng = np.random.default_rng(1)
    shared, own = rng.normal(0, 0.1, (300, 1)), rng.normal(0, 0.001, (300, 2))
    theta = np.array([0.40, 0.41])
    assert confidence_set(theta, theta + shared + own, names=["P", "R"], level=0.95).winner == "R"


def test_a_single_measure_is_the_set():
    assert confidence_set([0.3], np.full((100, 1), 0.3), names=["P"], level=0.9).winner == "P"


def test_a_draw_with_an_undefined_statistic_is_left_out_and_counted():
    theta = [0.1, 0.6]
    draws = draws_around(theta, 0.02)
    draws[:7, 0] = np.nan
    found = confidence_set(theta, draws, names=["n_p", "P"], level=0.9)
    assert (found.n_draws, found.n_undefined, found.winner) == (393, 7, "P")


def test_up_to_a_hundred_queries_the_level_is_95_percent():
    assert [default_level(n) for n in (1, 100, 101)] == [0.95, 0.95, 0.9]


REFUSED = [
    ({"names": ["a"]}, "one name a statistic"),
    ({"names": ["a", "a"]}, "each name may come once"),
    ({"statistics": [0.1, np.nan]}, "the statistic of b is not finite"),
    ({"draws": np.zeros((99, 2))}, "99 usable bootstrap draws of 99"),
    ({"draws": np.zeros((200, 3))}, "one name a statistic"),
    ({"level": 1.0}, "level must lie strictly between 0 and 1"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_does_not_fit_is_refused(change, message):
    good = {"statistics": [0.1, 0.2], "draws": draws_around([0.1, 0.2], 0.1), "names": ["a", "b"], "level": 0.9}
    arguments = good | change
    with pytest.raises(InputError, match=message):
        confidence_set(arguments.pop("statistics"), arguments.pop("draws"), **arguments)
