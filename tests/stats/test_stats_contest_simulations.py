"""What the comparisons of measures promise, simulated: false findings, and how often the best measure is in the set."""

from math import sqrt

import numpy as np
import pytest
from scipy.stats import rankdata

from ragauge.stats import associate, compare_correlations, confidence_set, default_level, dependent_test

pytestmark = pytest.mark.slow


def beyond(share, nominal, runs):
    """By how many binomial standard errors a simulated share is off."""
    return abs(share - nominal) / sqrt(nominal * (1 - nominal) / runs)


# ---- two equal measures: how often are they called different at the 5 % level ----


def equal_measures(rng, n_queries, rows_each, icc):
    """Two exchangeable measures of 0..12 and a grade of 1..5; a share `icc` of all variance is the query's."""

    def noise():
        own = rng.normal(size=(n_queries, rows_each))
        return sqrt(icc) * rng.normal(size=(n_queries, 1)) + sqrt(1 - icc) * own

    latent = noise()
    first, second = (np.clip(np.rint(6 + 2 * (latent + noise()) / sqrt(2)), 0, 12).ravel() for _ in range(2))
    grade = np.clip(np.rint(3 + 0.9 * (latent + noise())), 1, 5).ravel()
    return first, second, grade, np.repeat(np.arange(n_queries), rows_each)


def false_findings(n_queries, rows_each, icc, runs, seed):
    """Share of runs with p < .05, by the jackknife (Spearman, Pearson, tau-b) and by Williams' formula (Pearson)."""
    rng = np.random.default_rng(seed)
    found = {"spearman": 0, "pearson": 0, "tau_b": 0, "williams": 0}
    for _ in range(runs):
        first, second, grade, query = equal_measures(rng, n_queries, rows_each, icc)
        for name in ("spearman", "pearson", "tau_b"):
            found[name] += compare_correlations(first, second, grade, query, coefficient=name).p < 0.05
        one, other = associate(first, grade).pearson, associate(second, grade).pearson
        between = associate(first, second).pearson
        found["williams"] += dependent_test(one, other, between, len(grade)).p < 0.05
    return {name: count / runs for name, count in found.items()}


DESIGNS = [(100, 1, 0.0), (100, 9, 0.3), (100, 9, 0.6), (30, 9, 0.6)]


@pytest.mark.parametrize(("n_queries", "rows_each", "icc"), DESIGNS)
def test_jackknife_calls_equal_measures_different_in_five_percent_of_samples(n_queries, rows_each, icc):
    runs = 400
    found = false_findings(n_queries, rows_each, icc, runs, seed=n_queries + rows_each)
    for name in ("spearman", "pearson", "tau_b"):
        assert beyond(found[name], 0.05, runs) < 3.3, (name, found)
    if rows_each == 1:
        assert beyond(found["williams"], 0.05, runs) < 3.3
    if icc == 0.6:
        assert found["williams"] > 0.1  # which is why the formulas refuse rows that share a query


# ---- twelve measures, one the best: is it in the set ----

ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.9)
NAMES = ["n_p", "P", "R", *(f"F({a})" for a in ALPHAS), *(f"T({a})" for a in (0.3, 0.5, 0.7, 0.9))]


def retrieved(rng, n):
    """Counts of n queries: beta-binomial retrieval, N_p 2..15, K 3..20."""
    N, K = rng.integers(2, 16, n), rng.choice([3, 5, 10, 20], n)
    return rng.binomial(np.minimum(N, K), rng.beta(1.5, 1.0, n)), K, N


def measures(n_p, K, N):
    """The twelve, shape (12, n), rounding errors removed."""
    f = [n_p / (a * K + (1 - a) * N) for a in ALPHAS]
    t = [(1 - a) * n_p - a * (K - n_p) / K for a in (0.3, 0.5, 0.7, 0.9)]
    return np.round(np.stack([n_p, n_p / K, n_p / N, *f, *t]), 12)


def grades(rng, n_p, K, N, truth):
    """Ordinal grades 1..5 that follow recall, or recall and precision alike."""
    recall, precision = (n_p / N - 0.45) / 0.3, (n_p / K - 0.45) / 0.3
    drive = recall if truth == "recall" else (recall + precision) / 2
    return 1 + np.digitize(drive + 1.7 * rng.normal(size=len(K)), [-1.7, -0.6, 0.6, 1.7])


def spearman_draws(values, grade, weights):
    """Weighted Spearman of each measure and the grade in each draw, shape (B, M), from mid-ranks."""

    def ranked(column):
        _, code = np.unique(column, return_inverse=True)
        counts = weights @ np.eye(code.max() + 1)[code]
        midranks = counts.cumsum(1) - counts / 2 - weights.sum(1, keepdims=True) / 2
        return midranks[:, code], (weights.sum(1) ** 3 - (counts**3).sum(1)) / 12

    grade_rank, grade_spread = ranked(grade)
    ranks = [ranked(column) for column in values]
    return np.stack([(weights * r * grade_rank).sum(1) / np.sqrt(s * grade_spread) for r, s in ranks], axis=1)


def true_correlations(truth):
    rng = np.random.default_rng(1)
    counts = retrieved(rng, 400_000)
    grade = rankdata(grades(rng, *counts, truth))
    return np.array([np.corrcoef(rankdata(column), grade)[0, 1] for column in measures(*counts)])


def contest(truth, n, runs, level, draws=400, seed=7):
    """How often the best measure is in the set, how many are, how often the leader is the best, and the best's lead."""
    true = true_correlations(truth)
    best = NAMES[int(true.argmax())]
    rng = np.random.default_rng(seed)
    held = size = right = 0
    for _ in range(runs):
        counts = retrieved(rng, n)
        grade = grades(rng, *counts, truth)
        every = np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), draws)]).astype(float)
        found = spearman_draws(measures(*counts), grade, every)
        members = confidence_set(found[0], found[1:], names=NAMES, level=level).members
        held, size, right = held + (best in members), size + len(members), right + (members[0] == best)
    return {"best": best, "held": held / runs, "size": size / runs, "right": right / runs, "true": true}


@pytest.mark.parametrize("truth", ["recall", "mix"])
@pytest.mark.parametrize("n", [100, 300])
def test_the_set_holds_the_best_measure_as_often_as_it_says(truth, n):
    runs, level = 60, default_level(n)
    found = contest(truth, n, runs, level)
    assert found["held"] > level - 3 * sqrt(level * (1 - level) / runs)
    assert found["right"] < found["held"]  # the leader alone is the best one less often


def test_the_set_shrinks_as_queries_are_added():
    few, many = (contest("recall", n, 30, 0.9)["size"] for n in (100, 1000))
    assert many < 0.6 * few
