"""What a judge's grades are worth, and which pairs to label: curves, folds, allocations and the mean that follows."""

from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.stats import PairChoice, calibrate_judge, choose_pairs, stratified_mean


def graded(n, seed=0):
    """Grades 0..3 of n pairs in queries of 20, relevant with .04, .22, .56, .72."""
    rng = np.random.default_rng(seed)
    grade = rng.choice(4, n, p=[0.5, 0.2, 0.2, 0.1])
    relevant = (rng.random(n) < np.array([0.04, 0.22, 0.56, 0.72])[grade]).astype(float)
    return grade, relevant, np.arange(n) // 20


def test_isotonic_curve_is_the_share_of_each_grade_where_these_rise():
    # grade 0: 1 of 4; 1: 1 of 2; 2: 1 of 1
    found = calibrate_judge([0, 0, 0, 0, 1, 1, 2], [0, 0, 1, 0, 1, 0, 1], list("abababa"), n_folds=2)
    assert found.curve == pytest.approx([0.25, 0.5, 1.0])
    assert found.observed == pytest.approx([0.25, 0.5, 1.0])
    assert found.n.tolist() == [4, 2, 1]


def test_grades_whose_shares_fall_are_pooled():
    # grade 0: 2 of 2, grade 1: 0 of 2, together 2 of 4; grade 2: 1 of 1
    found = calibrate_judge([0, 0, 1, 1, 2], [1, 1, 0, 0, 1], list("ababa"), n_folds=2)
    assert found.curve == pytest.approx([0.5, 0.5, 1.0])


def test_score_between_two_labelled_ones_lies_between():
    found = calibrate_judge([0.2, 0.4, 0.3, 0.9], [0, 1, nan, nan], list("abcd"), n_folds=2)
    assert found.probability[2:] == pytest.approx([0.5, 1.0])
    assert isnan(found.observed[1])


@pytest.mark.parametrize("method", ["isotonic", "logistic"])
def test_curve_finds_the_probabilities(method):
    found = calibrate_judge(*graded(20_000), method=method)
    assert found.curve == pytest.approx([0.04, 0.22, 0.56, 0.72], abs=0.02 if method == "isotonic" else 0.13)
    assert (np.diff(found.curve) >= 0).all()
    assert found.brier < 0.8 * found.brier_constant


def test_logistic_curve_is_the_maximum_likelihood_of_the_smoothed_labels():
    statsmodels = pytest.importorskip("statsmodels.api")
    grade, relevant, query = graded(300, seed=4)
    n_1, n_0 = relevant.sum(), (1 - relevant).sum()
    goal = np.where(relevant == 1, (n_1 + 1) / (n_1 + 2), 1 / (n_0 + 2))
    model = statsmodels.GLM(goal, statsmodels.add_constant(grade), family=statsmodels.families.Binomial()).fit()
    found = calibrate_judge(grade, relevant, query, method="logistic")
    assert found.curve == pytest.approx(model.predict(statsmodels.add_constant(np.arange(4))), abs=1e-6)


def test_separated_labels_keep_probabilities_inside_zero_and_one():
    found = calibrate_judge([0, 0, 1, 1] * 5, [0, 0, 1, 1] * 5, np.arange(20), method="logistic")
    assert 0 < found.curve[0] < 0.1
    assert 0.9 < found.curve[1] < 1


def test_judge_that_ranks_the_wrong_way_round_gets_a_level_curve():
    found = calibrate_judge([0, 1, 2, 3] * 5, [1, 1, 0, 0] * 5, np.arange(20), method="logistic")
    assert np.ptp(found.curve) == 0


def test_judge_with_one_grade_gets_the_share_relevant():
    for method in ("isotonic", "logistic"):
        found = calibrate_judge([1] * 10, [1, 0] * 5, np.arange(10), method=method)
        assert found.curve == pytest.approx([0.5])


def test_own_probability_comes_from_the_queries_of_other_folds():
    # two queries, two folds: a pair of a is judged by the curve of b and the reverse
    found = calibrate_judge([0, 1, 0, 1], [0, 1, 1, 1], list("aabb"), n_folds=2)
    assert found.probability.tolist() == [1.0, 1.0, 0.0, 1.0]
    # (1 - 0)^2, 0, (0 - 1)^2, 0; by the other query's mean: (1 - 0)^2, 0, .25, .25
    assert (found.brier, found.brier_constant) == (0.5, 0.375)


def test_useless_judge_is_no_better_than_the_mean():
    rng = np.random.default_rng(7)
    found = calibrate_judge(rng.integers(0, 4, 2000), rng.integers(0, 2, 2000), np.arange(2000) // 20)
    assert found.brier == pytest.approx(found.brier_constant, abs=0.003)


@pytest.mark.parametrize(
    ("scores", "relevant", "queries", "options", "message"),
    [
        ([0, 1], [0], list("ab"), {}, "need one entry a pair, got 2, 1 and 2"),
        ([0, nan], [0, 1], list("ab"), {}, "scores must be finite"),
        ([0, 1], [0, 2], list("ab"), {}, "relevant must be 0, 1, or missing"),
        ([0, 1], [0, 1], list("ab"), {}, "5 folds need as many queries with people's labels, and there are 2"),
        ([0, 1], [0, 1], list("ab"), {"method": "beta"}, "method must be 'isotonic' or 'logistic', got 'beta'"),
    ],
)
def test_bad_calibrations_are_refused(scores, relevant, queries, options, message):
    with pytest.raises(InputError, match=message):
        calibrate_judge(scores, relevant, queries, **options)


STRATA = [0] * 60 + [1] * 30 + [2] * 10


@pytest.mark.parametrize(
    ("n", "spread", "expected"),
    [
        # in proportion 60 : 30 : 10
        (20, None, [12, 6, 2]),
        # 60 * .1 : 30 * .5 : 10 * .4 = 6 : 15 : 4
        (25, {0: 0.1, 1: 0.5, 2: 0.4}, [6, 15, 4]),
        # a stratum without spread keeps its two
        (14, {0: 0.0, 1: 0.5, 2: 0.5}, [2, 9, 3]),
        # the small stratum is exhausted, the rest goes to the others as 60 : 30
        (70, {0: 0.1, 1: 0.1, 2: 9.0}, [40, 20, 10]),
        (100, None, [60, 30, 10]),
        (6, None, [2, 2, 2]),
    ],
)
def test_pairs_are_allotted(n, spread, expected):
    choice = choose_pairs(STRATA, n, spread=spread)
    assert np.bincount(choice.stratum).tolist() == expected
    assert len(set(choice.index.tolist())) == n
    assert all(STRATA[at] == choice.names[h] for at, h in zip(choice.index, choice.stratum, strict=True))


def test_a_stratum_of_one_pair_gives_it():
    choice = choose_pairs(["a"] * 9 + ["b"], 4)
    assert np.bincount(choice.stratum).tolist() == [3, 1]


def test_same_seed_same_pairs():
    one, other, third = (choose_pairs(STRATA, 20, seed=seed).index.tolist() for seed in (1, 1, 2))
    assert one == other != third


@pytest.mark.parametrize(
    ("n", "spread", "message"),
    [
        (5, None, r"n must lie between 6 \(two a stratum\) and the 100 pairs, got 5"),
        (101, None, "got 101"),
        (20, {0: 0.1, 1: 0.2}, "spread needs a value >= 0 for each of"),
        (20, {0: 0.1, 1: 0.2, 2: -1}, "spread needs a value >= 0"),
    ],
)
def test_bad_choices_are_refused(n, spread, message):
    with pytest.raises(InputError, match=message):
        choose_pairs(STRATA, n, spread=spread)


def test_mean_and_error_of_grades():
    # sizes 6 and 4; labels 1, 2, 3 and 0, 4: means 2, 2; W .6, .4; variances 1, 8
    # se^2 = .36 * (1 - 3/6) * 1 / 3 + .16 * (1 - 2/4) * 8 / 2 = .06 + .32
    choice = PairChoice(np.array([0, 1, 2, 6, 7]), np.array([0, 0, 0, 1, 1]), (0, 1), np.array([6, 4]))
    found = stratified_mean([1, 2, 3, 0, 4], choice)
    degrees = 0.38**2 / (0.06**2 / 2 + 0.32**2 / 1)
    half = stats.t.ppf(0.975, degrees) * sqrt(0.38)
    assert (found.mean, found.low, found.high) == pytest.approx((2, 2 - half, 2 + half))
    assert found.judged == 0.5


def test_labels_of_zero_do_not_prove_that_none_is_relevant():
    choice = choose_pairs([0] * 50 + [1] * 50, 20, seed=1)
    found = stratified_mean([0] * 20, choice)
    assert (found.mean, found.low) == (0, 0)
    # p = .5 / 11, 10/9 p (1 - p) = .04821 a stratum; se^2 = 2 * .25 * .8 * .004821
    assert found.high == pytest.approx(stats.t.ppf(0.975, 18) * sqrt(0.4 * 0.004821), abs=1e-4)


def test_all_pairs_labelled_is_known_exactly():
    choice = choose_pairs([0, 0, 1, 1], 4)
    found = stratified_mean([1, 0, 1, 1], choice)
    assert (found.mean, found.low, found.high) == (0.75, 0.75, 0.75)


def test_each_chosen_pair_needs_a_label():
    with pytest.raises(InputError, match="each of the 20 chosen pairs needs a finite label, got 1 values"):
        stratified_mean([1], choose_pairs(STRATA, 20))
