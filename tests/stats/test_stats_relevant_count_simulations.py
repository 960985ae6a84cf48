"""Do the intervals of the number of relevant documents hold it as often as they promise? Seeded samples."""

from itertools import pairwise

import numpy as np
import pytest

from ragauge.measures import fe_alpha
from ragauge.stats import (
    DeepSample,
    calibrated_counts,
    captured_interval,
    chapman,
    drawn_mean,
    query_count_interval,
    query_counts,
    relevant_count,
    tail_counts,
)

pytestmark = pytest.mark.slow

K, DEPTH, QUERIES, RUNS = 10, 320, 50, 600
EDGES = (20, 40, 80, 160, 320)


def population(rng, n=20_000):
    """Labels at each rank: a query's share is gamma, and falls with the rank as 1 / (rank + 5)."""
    share = np.minimum(rng.gamma(2.0, 1.5, size=(n, 1)) / (np.arange(1, DEPTH + 1) + 5), 0.95)
    return rng.random((n, DEPTH)) < share


def deep_sample(labels, per_query, rng):
    """Documents drawn from the strata of all queries together, in proportion to the square root of their sizes."""
    sizes = np.array([len(labels) * (high - low) for low, high in pairwise(EDGES)])
    weights = np.sqrt(sizes)
    drawn = np.round(per_query * len(labels) * weights / weights.sum()).astype(int)
    strata = (labels[:, low:high].ravel() for low, high in pairwise(EDGES))
    positives = [rng.choice(stratum, n, replace=False).sum() for stratum, n in zip(strata, drawn, strict=True)]
    return DeepSample(sizes, drawn, positives)


@pytest.mark.parametrize("per_query", [2, 5])
def test_2k_x_c_covers_mean_f_and_the_total(per_query):
    rng = np.random.default_rng(11)
    whole = population(rng)
    total = whole.sum(axis=1)
    target = fe_alpha(whole[:, :K].sum(axis=1), K, total, 0.5).mean()
    hits = np.zeros(3)
    for seed in range(RUNS):
        labels = whole[rng.integers(len(whole), size=QUERIES)]
        found, near = labels[:, :K].sum(axis=1), labels[:, :20].sum(axis=1)
        counts = calibrated_counts(near, deep_sample(labels, per_query, rng), n_draws=400, seed=seed)
        interval = drawn_mean(fe_alpha(found, K, np.maximum(counts.draws, found), 0.5), counts)
        record = relevant_count(counts, estimator="2K x c", n_found=0, n_labels=0)
        own = query_counts(near, n_draws=400, seed=seed)
        paper = drawn_mean(np.broadcast_to(fe_alpha(found, K, near, 0.5), own.draws.shape), own)
        hits += (
            interval.low <= target <= interval.high,
            record.low <= total.mean() * QUERIES <= record.high,
            paper.low <= target <= paper.high,
        )
    mean_f, sums, lower_bound = hits / RUNS
    assert 0.90 <= mean_f <= 0.99  # .95, with the binomial error .009 and the skew of few positives
    assert 0.90 <= sums <= 0.99
    assert lower_bound < 0.05


def test_the_sum_of_per_query_estimates_is_covered_by_drawing_queries():
    rng = np.random.default_rng(12)
    whole = population(rng)
    hits = 0
    for seed in range(RUNS):
        labels = whole[rng.integers(len(whole), size=QUERIES)]
        sizes, drawn, positives, owner = [], [], [], []
        for query, row in enumerate(labels):
            for low, high, n in ((10, 40, 3), (40, 160, 3), (160, 320, 4)):
                sizes.append(high - low)
                drawn.append(n)
                positives.append(rng.choice(row[low:high], n, replace=False).sum())
                owner.append(query)
        values = tail_counts(labels[:, :K].sum(axis=1), DeepSample(sizes, drawn, positives), owner)
        record = relevant_count(query_counts(values, n_draws=400, seed=seed), estimator="HT", n_found=0, n_labels=0)
        hits += record.low <= whole.sum(axis=1).mean() * QUERIES <= record.high
    assert 0.90 <= hits / RUNS <= 0.98


@pytest.mark.parametrize(("share", "drawn"), [(0.02, 20), (0.1, 20), (0.3, 50)])
def test_interval_of_a_query_covers_its_number(share, drawn):
    rng = np.random.default_rng(13)
    hits = 0
    for _ in range(2000):
        labels = rng.random(200) < share
        positives = rng.choice(labels, drawn, replace=False).sum()
        interval = query_count_interval(3, DeepSample([200], [drawn], [positives]))
        hits += interval.low <= 3 + labels.sum() <= interval.high
    assert 0.92 <= hits / 2000 <= 0.99  # an interval of whole numbers


def test_interval_of_an_overlap_covers_when_systems_are_independent_and_not_when_they_agree():
    rng = np.random.default_rng(14)
    n = 60
    for shared, low, high in ((0.0, 0.88, 0.99), (0.3, 0.0, 0.30)):
        easy = np.where(rng.random((2000, n)) < 0.5, 0.5 + shared, 0.5 - shared)
        first, second = rng.random((2, 2000, n)) < easy
        found = captured_interval(chapman(first.sum(1), second.sum(1), (first & second).sum(1)))
        assert low <= np.mean((found.low <= n) & (n <= found.high)) <= high
