"""The area under the ROC curve and the best cut: hand cases, another tool, coverage."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from ragauge.errors import InputError
from ragauge.stats.roc import best_cut, cross_fitted_cuts, discrimination

# Share of (relevant, other) pairs in the right order, ties half.
AREAS = [
    ([3, 2, 1, 0], [1, 1, 0, 0], 1.0),
    ([0, 1, 2, 3], [1, 1, 0, 0], 0.0),
    ([1, 1, 1, 1], [1, 0, 1, 0], 0.5),
    ([3, 1, 2, 0], [1, 1, 0, 0], 0.75),  # 1 is below 2: 3 of 4 pairs
    ([2, 2, 1], [1, 0, 0], 0.75),  # a tie and a win
]


@pytest.mark.parametrize(("scores", "relevant", "area"), AREAS)
def test_area_is_the_share_of_pairs_in_order(scores: list[float], relevant: list[int], area: float) -> None:
    assert discrimination(scores, relevant).auc == area


def test_area_is_that_of_mann_and_whitney() -> None:
    rng = np.random.default_rng(1)
    scores, relevant = rng.integers(0, 9, 200).astype(float), rng.integers(0, 2, 200)
    u = mannwhitneyu(scores[relevant == 1], scores[relevant == 0]).statistic
    expected = u / (relevant.sum() * (200 - relevant.sum()))
    assert discrimination(scores, relevant).auc == pytest.approx(expected, abs=1e-12)


def test_documents_of_one_kind_have_no_area() -> None:
    found = discrimination([1, 2], [1, 1])
    assert np.isnan(found.auc)
    assert found.interval.reason == "needs documents of both kinds"


def test_few_queries_have_no_interval() -> None:
    found = discrimination([3, 1, 2, 0], [1, 1, 0, 0], ["a", "b", "a", "b"])
    assert np.isnan(found.interval.low)
    assert found.interval.reason == "2 queries with documents of a kind; an interval needs 5"


def test_interval_hardly_differs_from_the_jackknife_of_queries() -> None:
    scores, relevant, queries = _draw(np.random.default_rng(3), 60)
    found = discrimination(scores, relevant, queries)
    without = np.array([discrimination(scores[queries != q], relevant[queries != q]).auc for q in np.unique(queries)])
    n = len(without)
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    logit_half = np.log(found.interval.high / (1 - found.interval.high)) - np.log(found.auc / (1 - found.auc))
    assert logit_half * found.auc * (1 - found.auc) / 2.001 == pytest.approx(error, rel=0.1)  # t of 59 degrees


def test_order_of_the_documents_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    scores, relevant, queries = _draw(rng, 20)
    order = rng.permutation(len(scores))
    one, other = (
        discrimination(scores, relevant, queries),
        discrimination(scores[order], relevant[order], queries[order]),
    )
    assert one.interval.low == pytest.approx(other.interval.low, abs=1e-12)


@pytest.mark.slow
def test_interval_covers_in_clustered_data() -> None:
    rng = np.random.default_rng(7)
    truth = discrimination(*_draw(rng, 40_000)[:2]).auc
    intervals = [discrimination(*_draw(rng, 43)).interval for _ in range(1000)]
    covered = np.mean([one.low <= truth <= one.high for one in intervals])
    assert 0.93 <= covered <= 0.97  # 0.95 +- 3 sd of 1000 draws


def _draw(rng: np.random.Generator, n_queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eight documents a query, whose scores share a level and whose shares of relevant ones differ."""
    queries = np.repeat(np.arange(n_queries), 8)
    relevant = rng.random(8 * n_queries) < np.repeat(rng.beta(2, 3, n_queries), 8)
    level = np.repeat(rng.normal(0, 0.7, n_queries), 8)
    return level + rng.normal(0, 1, 8 * n_queries) + relevant, relevant.astype(int), queries


# Lowest cut with the largest sensitivity + specificity.
CUTS = [
    ([4, 3, 2, 1], [1, 1, 0, 0], 3.0),
    ([4, 3, 2, 1], [1, 0, 1, 0], 2.0),  # 2: 1 + .5; 4: .5 + 1, as good, and higher
    ([1, 2], [1, 1], np.nan),
]


@pytest.mark.parametrize(("scores", "relevant", "cut"), CUTS)
def test_best_cut_is_the_lowest_of_the_best(scores: list[float], relevant: list[int], cut: float) -> None:
    assert best_cut(scores, relevant) == pytest.approx(cut, nan_ok=True)


def test_a_label_does_not_choose_its_own_cut() -> None:
    rng = np.random.default_rng(5)
    scores, queries = rng.random(400), np.repeat(np.arange(100), 4)
    relevant = rng.integers(0, 2, 400)  # the scores say nothing
    verdict = scores >= cross_fitted_cuts(scores, relevant, queries)
    in_sample = scores >= best_cut(scores, relevant)

    def youden(which: np.ndarray) -> float:
        return float(which[relevant == 1].mean() - which[relevant == 0].mean())

    assert youden(in_sample) > 0.05
    assert youden(verdict) < youden(in_sample)


INVALID = [
    (([1.0], [1, 0], None), "one entry a document"),
    (([np.nan, 1.0], [1, 0], None), "must be finite"),
    (([1.0, 2.0], [1, 2], None), "must be 0 or 1"),
]


@pytest.mark.parametrize(("given", "message"), INVALID)
def test_what_cannot_be_is_refused(given: tuple[list[float], list[int], None], message: str) -> None:
    with pytest.raises(InputError, match=message):
        discrimination(*given)
