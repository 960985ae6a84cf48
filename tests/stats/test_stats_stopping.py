"""Early stopping inside one ranking: certain bounds, likely counts, and the model that may stop a ranking."""

from itertools import product

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import (
    RelevanceModel,
    fit_relevance,
    labelling_order,
    labels_for_half_width,
    likely_positives,
    poisson_binomial,
    rank_features,
    sure_bounds,
)


@pytest.mark.parametrize(
    ("labelled", "positive", "cutoff", "low", "high"),
    [
        (8, 5, 10, 0.5, 0.7),  # 5 / 10, and (5 + 2) / 10
        (0, 0, 4, 0.0, 1.0),
        (4, 3, 4, 0.75, 0.75),
    ],
)
def test_sure_bounds_are_all_and_none_of_the_rest(
    labelled: int, positive: int, cutoff: int, low: float, high: float
) -> None:
    found = sure_bounds(labelled, positive, cutoff=cutoff)
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(("labelled", "positive", "cutoff"), [(3, 4, 10), (11, 2, 10), (1, -1, 10), (0, 0, 0)])
def test_impossible_counts_are_refused(labelled: int, positive: int, cutoff: int) -> None:
    with pytest.raises(InputError, match="0 <= positives <= labelled <= K"):
        sure_bounds(labelled, positive, cutoff=cutoff)


@pytest.mark.parametrize(
    ("half_width", "cutoff", "labels"),
    [
        (0.1, 10, 8),  # 10 (1 - .2)
        (0.05, 10, 9),
        (0.2, 10, 6),
        (0.1, 20, 16),
        (0.07, 10, 9),  # 8.6 rounded up
        (0.0, 10, 10),
        (0.6, 10, 0),
    ],
)
def test_sure_bounds_save_2eK_labels(half_width: float, cutoff: int, labels: int) -> None:
    assert labels_for_half_width(half_width, cutoff=cutoff) == labels
    if 0 < labels <= cutoff:
        assert sure_bounds(labels, 0, cutoff=cutoff).half_width <= half_width + 1e-12


def test_poisson_binomial_is_the_sum_over_all_outcomes() -> None:
    p = np.array([0.9, 0.5, 0.2, 0.35])
    expected = np.zeros(5)
    for outcome in product((0, 1), repeat=4):
        expected[sum(outcome)] += np.prod(np.where(outcome, p, 1 - p))
    np.testing.assert_allclose(poisson_binomial(p), expected, atol=1e-15)
    np.testing.assert_allclose(poisson_binomial(p[:3]), [0.04, 0.41, 0.46, 0.09], atol=1e-15)
    assert poisson_binomial([]).tolist() == [1.0]


def test_a_probability_outside_0_to_1_is_refused() -> None:
    with pytest.raises(InputError, match=r"0\.\.1"):
        poisson_binomial([0.5, 1.5])


def test_without_a_shift_the_rest_is_poisson_binomial() -> None:
    found = likely_positives([0.7], [1], [0.9, 0.5, 0.2], shift=0, level=0.9)
    np.testing.assert_allclose(found.probability, [0.04, 0.41, 0.46, 0.09], atol=1e-12)
    assert found.mean == pytest.approx(1 + 1.6)
    assert (found.low, found.high) == (1 + 1, 1 + 3)  # P(0) = .04 < .05 <= .45; P(<= 2) = .91 < .95


def test_labels_seen_move_the_expectation_of_the_rest() -> None:
    p = [0.5] * 4
    easy = likely_positives(p, [1, 1, 1, 1], p)
    hard = likely_positives(p, [0, 0, 0, 0], p)
    assert easy.mean - 4 > 2.0 > hard.mean
    assert easy.mean - 4 + hard.mean == pytest.approx(4.0)  # by symmetry


def test_the_shift_agrees_with_numerical_integration() -> None:
    a = np.linspace(-8, 8, 16_001)
    density = np.exp(-(a**2) / 2)
    expit = 1 / (1 + np.exp(-a))  # logit .5 is 0
    weight = density * expit**2  # two positives seen
    expected = float((weight * expit).sum() / weight.sum())
    found = likely_positives([0.5, 0.5], [1, 1], [0.5])
    assert found.mean - 2 == pytest.approx(expected, abs=1e-6)


def test_nothing_left_is_certain() -> None:
    found = likely_positives([0.5, 0.5], [1, 0], [])
    assert (found.mean, found.low, found.high) == (1.0, 1, 1)


def test_the_least_certain_document_is_labelled_first() -> None:
    assert labelling_order([0.9, 0.5, 0.2], 3) == [1, 2, 0]  # .09, .25, .16
    assert labelling_order([0.3, 0.7, 0.3], 3) == [0, 1, 2]  # equal: by rank
    with pytest.raises(InputError, match="one probability a document"):
        labelling_order([0.5], 2)


def test_intervals_of_a_right_model_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    n = 800
    for _ in range(n):
        p = rng.uniform(0.1, 0.9, size=10)
        shifted = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + rng.normal())))
        y = rng.random(10) < shifted
        found = likely_positives(p[:4], y[:4].astype(float), p[4:])
        inside += found.low <= y.sum() <= found.high
    assert inside / n >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / n)  # discrete, so at least 90 %


def test_features_are_log_rank_and_standard_score() -> None:
    np.testing.assert_allclose(rank_features([3, 2, 1])[:, 1], [1.5**0.5, 0, -(1.5**0.5)])
    np.testing.assert_allclose(rank_features([3, 2, 1])[:, 0], np.log([1, 2, 3]))
    assert rank_features([1.0, None]).tolist() == [[0.0, 0.0], [np.log(2), 0.0]]
    assert rank_features([]).shape == (0, 2)


def simulated(slope: float, n_queries: int) -> RelevanceModel:
    rng = np.random.default_rng(8)
    features = np.tile(rank_features(np.linspace(1, 0, 10).tolist()), (n_queries, 1))
    y = rng.random(len(features)) < 1 / (1 + np.exp(-slope * features[:, 1]))
    return fit_relevance(features, y.astype(float), np.repeat(np.arange(n_queries), 10))


def test_a_model_that_separates_is_trusted_and_one_that_does_not_is_not() -> None:
    good, poor = simulated(3.0, 200), simulated(0.4, 200)
    assert good.auc > 0.85
    assert good.trusted
    assert poor.auc < 0.7
    assert not poor.trusted
    assert not simulated(3.0, 30).trusted  # too few queries to know


def test_auc_and_weights_agree_with_a_reference() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=(400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(-(0.5 + x @ [1.0, -0.5])))).astype(float)
    model = fit_relevance(x, y, np.arange(400) % 80)
    import statsmodels.api as sm

    reference = sm.Logit(y, sm.add_constant(x)).fit(disp=False).params
    np.testing.assert_allclose(model.weights, reference, atol=2e-3)  # the ridge
    assert 0.65 < model.auc < 0.85
    assert model.probability(x).mean() == pytest.approx(y.mean(), abs=1e-3)


def test_auc_is_about_one_half_for_features_that_say_nothing() -> None:
    rng = np.random.default_rng(10)
    y = (rng.random(2000) < 0.3).astype(float)
    assert fit_relevance(rng.normal(size=(2000, 1)), y, np.arange(2000) % 200).auc == pytest.approx(0.5, abs=0.05)


def test_all_labels_alike_leave_the_auc_undefined() -> None:
    model = fit_relevance([[0.0], [1.0]] * 4, [0] * 8, np.arange(8) // 2, n_folds=2)
    assert np.isnan(model.auc)
    assert not model.trusted
