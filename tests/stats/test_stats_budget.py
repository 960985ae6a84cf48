"""Label budgets: the published numbers, the estimator from few documents a query, and what is refused."""

from math import isnan

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import draw_documents, label_plans, label_spread, mean_interval, sampled_mean


def labels_of(**options):
    return {plan.design: plan.labels for plan in label_plans(0.02, cutoff=10, mean=0.6, icc=0.2847, **options)}


def test_one_document_a_query_saves_what_was_published():
    # 1.96^2 * .24 / .0004 = 2304.9; times 1 + 9 * .2847 = 3.5623 over 10 documents: 821.1 queries
    found = labels_of()
    assert found["one random document of each query"] == 2305
    assert found["all 10 documents of each query"] == pytest.approx(8210, abs=15)


@pytest.mark.parametrize(("r", "theory"), [(0.3, 0.91), (0.5, 0.75), (0.7, 0.51), (0.9, 0.19)])
def test_proxy_saves_its_squared_correlation(r, theory):
    found = labels_of(correlation=r)
    assert found["all 10 documents of each query, with the proxy"] == pytest.approx(8210 * theory, abs=20)
    # a single document follows P@10 by sqrt(.35623), and the proxy no better than that
    expected = 2305 * (1 - r**2 * 0.35623)
    assert found["one random document of each query, with the proxy"] == pytest.approx(expected, abs=2)


@pytest.mark.parametrize(("query_cost", "size"), [(2, 3), (10, 7)])
def test_best_number_of_documents_follows_the_cost_of_a_query(query_cost, size):
    # sqrt(c (1 - icc) / icc), icc .19: 2.9 and 6.5
    plans = label_plans(0.02, cutoff=20, icc=0.19, query_cost=query_cost)
    best = min(plans, key=lambda plan: plan.cost)
    assert best.documents_per_query == size
    assert best.cost == best.labels + query_cost * best.queries


def test_cheapest_size_is_the_cheapest_of_all_sizes():
    def cost(m):
        return (3 + m) * (1 + (m - 1) * 0.1) / m

    plans = label_plans(0.01, cutoff=10, icc=0.1, query_cost=3)
    assert min(plans, key=lambda plan: plan.cost).documents_per_query == min(range(1, 11), key=cost)


def test_documents_that_are_all_alike_make_the_second_label_worthless():
    everything, one = label_plans(0.05, cutoff=5, icc=1.0)
    assert everything.queries == one.queries
    assert everything.labels == 5 * one.labels


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"half_width": 0.0}, "half_width must be above 0"),
        ({"cutoff": 0}, "cutoff must be positive"),
        ({"mean": 1.0}, "mean must lie strictly between 0 and 1"),
        ({"icc": -0.1}, r"icc must lie in 0\.\.1"),
        ({"correlation": 1.0}, "correlation must lie strictly between -1 and 1"),
        ({"query_cost": -1}, "query_cost must be >= 0"),
        ({"level": 0}, "level must lie strictly"),
    ],
)
def test_impossible_plans_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        label_plans(**({"half_width": 0.02, "cutoff": 10} | options))


def test_spread_of_unequal_queries():
    # queries 1 1 0 | 0 0 | 1: mean .5, means 2/3, 0, 1; between (3/36 + 2/4 + 1/4) / 2 = 5/12,
    # within (1/9 + 1/9 + 4/9) / 3 = 2/9; m0 = (6 - 14/6) / 2 = 11/6
    found = label_spread([1, 1, 0, 0, 0, 1], ["a", "a", "a", "b", "b", "c"])
    assert (found.mean, found.n_queries) == (0.5, 2)
    assert found.icc == pytest.approx((5 / 12 - 2 / 9) / (5 / 12 + 5 / 6 * 2 / 9))


def test_spread_finds_the_correlation_that_was_put_in():
    # Beta(a, b): icc 1 / (a + b + 1)
    rng = np.random.default_rng(1)
    rates = rng.beta(1.2, 1.3, 4000)
    found = label_spread((rng.random((4000, 10)) < rates[:, None]).ravel(), np.repeat(np.arange(4000), 10))
    assert found.icc == pytest.approx(1 / 3.5, abs=0.02)


@pytest.mark.parametrize(
    ("labels", "queries"), [([1, 1, 1, 1], [1, 1, 2, 2]), ([0, 1], [1, 2]), ([1, 0], [1, 1]), ([], [])]
)
def test_labels_that_tell_nothing_have_no_icc(labels, queries):
    assert isnan(label_spread(labels, queries).icc)


def test_spread_refuses_grades():
    with pytest.raises(InputError, match="labels must be 0 or 1"):
        label_spread([2, 1], [1, 1])


def test_draw_takes_each_document_equally_often():
    drawn = draw_documents([4] * 8000, per_query=2, seed=3)
    counts = np.bincount(np.concatenate(drawn), minlength=4)
    # 4000 each, standard error sqrt(8000 / 4) = 45
    assert np.abs(counts - 4000).max() < 180
    assert all(len(set(ranks.tolist())) == 2 for ranks in drawn)


def test_draw_takes_all_where_there_are_few():
    assert [ranks.tolist() for ranks in draw_documents([1, 0, 2], per_query=2)] == [[0], [], [0, 1]]


def test_draw_refuses_nothing():
    with pytest.raises(InputError, match="per_query must be positive"):
        draw_documents([3], per_query=0)


def sampled(values, queries, lengths, **options):
    settings = {"cutoff": 10, "measure": "P@10", "bounds": (0, 1)} | options
    return sampled_mean(values, queries, lengths, **settings)


def test_all_documents_labelled_is_the_measure_itself():
    labels = np.random.default_rng(2).integers(0, 2, (20, 10))
    found = sampled(labels.ravel(), np.repeat(np.arange(20), 10), [10] * 20)
    expected = mean_interval(labels.mean(1), measure="P@10", bounds=(0, 1), judged=1.0)
    assert (found.mean, found.low, found.high, found.judged) == pytest.approx(
        (expected.mean, expected.low, expected.high, 1.0)
    )


def test_short_and_empty_rankings_count_their_empty_slots():
    # 5 of 10 documents, the one drawn relevant: .5; none retrieved: 0; full, the two drawn 1 and 0: .5
    found = sampled([1, 1, 0], [0, 2, 2], [5, 0, 10])
    assert found.mean == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert found.judged == pytest.approx(3 / 15)


def test_query_without_a_label_is_left_out_and_counted():
    found = sampled([1, 0], [0, 1], [10, 10, 10])
    assert (found.mean, found.n, found.n_undefined) == (0.5, 2, 1)


def test_t_is_estimated_from_what_each_document_adds():
    # alpha .3: .7 or -.3; mean of .7, .7, -.3, -.3 = P - .3
    found = sampled([0.7, 0.7, -0.3, -0.3], range(4), [10] * 4, measure="T(alpha=0.3)@10", bounds=(-0.3, 0.7))
    assert found.mean == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("values", "queries", "lengths", "message"),
    [
        ([1], [0, 1], [10, 10], "each labelled document needs a value and a query, got 1 and 2"),
        ([1], [2], [10, 10], r"queries must be numbered 0\.\.1, each with 0\.\.10 documents"),
        ([1], [0], [11], r"each with 0\.\.10 documents"),
        ([1, 0], [0, 0], [1], "query 0 has more labelled documents than it has documents"),
    ],
)
def test_bad_samples_are_refused(values, queries, lengths, message):
    with pytest.raises(InputError, match=message):
        sampled(values, queries, lengths)
