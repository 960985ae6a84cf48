"""The number of relevant documents: worked examples of each estimator, what replicates hold, and what is refused."""

import itertools
from math import comb, isnan, nan

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.measures import parse_measure
from ragauge.ragged import Ragged
from ragauge.stats import (
    CountDraws,
    DeepSample,
    calibrated_counts,
    captured_interval,
    chao2,
    chapman,
    cluster_vectors,
    clustered_counts,
    drawn_mean,
    lincoln_petersen,
    query_count_interval,
    query_counts,
    rank_decay_counts,
    relevant_count,
    tail_counts,
    tail_total,
)

# 21 to 40 etc. below a top 10 with 6 relevant documents
TAIL = DeepSample([10, 20, 40], [2, 2, 2], [1, 1, 0])

# n1, n2, m -> Lincoln-Petersen, Chapman, its variance, Chao2, Chao2 corrected
OVERLAPS = [
    (8, 6, 4, 12.0, 11.6, 3.36, 12.25, 11.5),  # f1 6, f2 4, S 10: 10 + 36 / 16, 10 + 30 / 20
    (5, 5, 5, 5.0, 5.0, 0.0, 5.0, 5.0),  # all by both: nothing is unseen
    (3, 2, 0, nan, 11.0, 36.0, nan, 10.0),  # 12 * 3 * 2 / (1 * 2); 5 + 5 * 4 / 4
    (0, 0, 0, nan, 0.0, 0.0, nan, 0.0),
]


@pytest.mark.parametrize(("n1", "n2", "m", "lp", "value", "variance", "classic", "corrected"), OVERLAPS)
def test_overlap_of_two_systems_gives_the_worked_values(n1, n2, m, lp, value, variance, classic, corrected):
    assert lincoln_petersen([n1], [n2], [m]).values == pytest.approx([lp], nan_ok=True)
    found = chapman([n1], [n2], [m])
    assert (found.values[0], found.variances[0], found.seen[0]) == pytest.approx((value, variance, n1 + n2 - m))
    seen, once = [n1 + n2 - m], [n1 + n2 - 2 * m]
    assert chao2(seen, once, [m], n_lists=2, form="classic").values == pytest.approx([classic], nan_ok=True)
    assert chao2(seen, once, [m], n_lists=2).values == pytest.approx([corrected])


def test_more_lists_weigh_what_one_saw_more():
    # A = 2 / 3: 10 + (2 / 3) 36 / 8
    assert chao2([10], [6], [4], n_lists=3, form="classic").values == pytest.approx([13.0])


def test_interval_of_an_overlap_starts_at_what_was_seen():
    interval = captured_interval(chapman([8, 5], [6, 5], [4, 5]))
    assert 10 < interval.low[0] < 11.6 < interval.high[0]
    assert interval.low[1] == interval.high[1] == 5


def test_chapman_is_unbiased_where_both_systems_find_at_random():
    # exact: m is hypergeometric when lists of 8 and 6 are drawn from 12 relevant documents; n1 + n2 >= N
    chance = [comb(8, m) * comb(4, 6 - m) / comb(12, 6) for m in range(2, 7)]
    values = chapman([8] * 5, [6] * 5, range(2, 7)).values
    assert float(np.dot(chance, values)) == pytest.approx(12)


def test_tail_adds_what_each_drawn_document_stands_for():
    found = tail_total(TAIL)
    assert found.total == 15  # 10 / 2 + 20 / 2 + 0
    assert found.error == pytest.approx(110**0.5)  # 100 * .8 * .25 + 400 * .9 * .25
    assert tail_counts([6, 4], TAIL, [0, 0, 1]).tolist() == [21, 4]


def test_tail_is_unbiased_over_all_draws():
    labels = np.array([1, 0, 0, 1, 0])
    totals = [
        tail_total(DeepSample([5], [2], [labels[list(drawn)].sum()])).total
        for drawn in itertools.combinations(range(5), 2)
    ]
    assert np.mean(totals) == pytest.approx(2)


def test_inf_ap_spreads_the_judged_over_the_pooled_as_the_tail_does():
    # relevant, pooled and not judged, not relevant, relevant: (1 + (1 + 3 / 2) / 4) / 2
    ranking = Ragged(np.array([1.0, -1, 0, 1]), np.array([0, 4]), np.array([True, False, True, True]))
    assert parse_measure("infAP").values(ranking, ranking) == pytest.approx([0.8125], abs=1e-4)
    assert tail_total(DeepSample([3], [2], [1])).total == 3 / 2


def test_a_single_label_of_a_stratum_tells_no_error_and_a_whole_stratum_has_none():
    assert isnan(tail_total(DeepSample([10], [1], [1])).error)
    assert tail_total(DeepSample([1, 4], [1, 4], [1, 2])).error == 0


def test_interval_of_a_query_is_the_published_one():
    interval = query_count_interval(6, DeepSample([100], [20], [1]))  # HT 11
    assert (interval.low, interval.high) == (7, 25)
    assert 6 / interval.high == pytest.approx(0.24) and 6 / interval.low == pytest.approx(0.857, abs=5e-4)


def test_interval_of_a_query_counts_all_strata_and_knows_those_drawn_whole():
    whole = query_count_interval(2, DeepSample([3, 5], [3, 5], [1, 2]))
    assert (whole.low, whole.high) == (5, 5)
    rng = np.random.default_rng(0)
    rest = rng.binomial(8, rng.beta(1.5, 1.5, 200_000)) + rng.binomial(38, rng.beta(0.5, 2.5, 200_000))
    two = query_count_interval(6, DeepSample([10, 40], [2, 2], [1, 0]))
    assert (two.low, two.high) == pytest.approx(7 + np.quantile(rest, [0.025, 0.975]), abs=1)


def test_2k_x_c_is_the_worked_example():
    counts = calibrated_counts([5, 295], DeepSample([1000], [100], [12]))
    assert counts.factor == pytest.approx(1.4)
    assert counts.values == pytest.approx([7, 413])


def test_2k_x_c_leaves_a_query_without_a_find_half_a_document():
    counts = calibrated_counts([0, 10], DeepSample([100], [10], [1]))  # c = 2
    assert counts.values.tolist() == [1, 20]


def test_2k_x_c_without_any_find_says_so():
    counts = calibrated_counts([0, 0], DeepSample([100], [10], [1]))
    assert np.isnan(counts.values).all() and "no relevant document" in counts.reason
    record = relevant_count(counts, estimator="2K x c", n_found=0, n_labels=50)
    assert isnan(record.total) and str(record).startswith("Relevant documents (2K x c): undefined")


def test_2k_x_c_with_nothing_below_the_top_is_what_was_found():
    counts = calibrated_counts([2, 4], DeepSample([], [], []))
    assert counts.factor == 1 and (counts.draws == counts.values).all()


def test_replicates_of_2k_x_c_hold_the_deep_labels_error():
    counts = calibrated_counts([10] * 40, DeepSample([4000], [40], [4]), n_draws=4000)
    # every query has the same top, so only c varies: 4,000 documents of a share Beta(4.5, 36.5)
    total = (counts.weights * counts.draws).sum(axis=1)
    assert total.std() == pytest.approx(4000 * (4.5 * 36.5 / (41**2 * 42)) ** 0.5, rel=0.05)


def test_record_prints_what_the_number_rests_on():
    record = relevant_count(query_counts([3, 3]), estimator="union", n_found=6, n_labels=40)
    assert str(record) == "Relevant documents (union) = 6.0 [6.0, 6.0], 6 found with 40 labels, n = 2"


def test_record_adds_the_queries_that_have_an_estimate():
    record = relevant_count(query_counts([3, 4, nan]), estimator="Lincoln-Petersen", n_found=6, n_labels=40)
    assert (record.total, record.n_queries, record.n_undefined) == (7, 2, 1)


def test_drawn_mean_weighs_queries_and_leaves_out_those_without_a_value():
    weights = np.array([[2, 0, 1], [0, 3, 0], [1, 1, 1]])
    counts = CountDraws(np.ones(3), np.ones((3, 3)), weights)
    values = np.array([[1.0, nan, 4.0]] * 3)  # means 2, none, 2.5
    interval = drawn_mean(values, counts, level=0.5)
    assert (interval.low, interval.high) == pytest.approx((2.125, 2.375))
    assert drawn_mean(values[:, :1], counts).reason == "one query"


def test_rank_decay_finds_the_decay_it_was_made_of():
    # p(r) = 1 / (1 + r^1.5 / 2) for 40 ranks; labels of the top 20, 3,000 queries
    rng = np.random.default_rng(3)
    rank = np.tile(np.arange(1, 41), 3000)
    p = 1 / (1 + rank**1.5 / 2)
    label = (rng.random(len(rank)) < p).astype(float)
    true = label.sum()
    label[rank > 20] = nan
    counts = rank_decay_counts(rank, label, np.repeat(np.arange(3000), 40), n_queries=3000, n_draws=50)
    assert counts.values.sum() == pytest.approx(true, rel=0.01)
    low, high = np.quantile((counts.weights * counts.draws).sum(axis=1), [0, 1])
    assert low < true < high


def test_rank_decay_of_labels_all_alike_stays_finite():
    for same in (0.0, 1.0):
        counts = rank_decay_counts([1, 2, 3, 4], [same, same, nan, nan], [0, 0, 0, 0], n_queries=1)
        assert np.isfinite(counts.draws).all() and 2 * same <= counts.values[0] <= 4


def test_a_cluster_is_as_relevant_as_its_labelled_documents():
    label = [1, 1, 0, nan, nan, 1, nan, nan]
    cluster = [0, 0, 0, 0, 0, 1, 1, 2]
    # query 0: 5 * 2 / 3 + 2 * 1, the third cluster has no label
    assert clustered_counts(label, cluster, [0] * 8, n_queries=2) == pytest.approx([16 / 3, 0])


def test_clusters_are_those_of_direction_and_no_more_than_there_are():
    vectors = [[1, 0], [5, 0.1], [0, 2], [0.1, 3], [-1, 0]]
    assert cluster_vectors(vectors, 3).tolist() == [0, 0, 2, 2, 1]
    assert cluster_vectors([[1, 1]] * 4, 3).tolist() == [0, 0, 0, 0]
    assert cluster_vectors(np.zeros((0, 2)), 3).tolist() == []


REFUSED = [
    (lambda: chapman([2], [3], [4]), "found by both"),
    (lambda: chao2([3], [3], [3], n_lists=2), "no more documents"),
    (lambda: chao2([3], [1], [1], n_lists=1), "two lists"),
    (lambda: chapman([-1], [0], [0]), "n1 must be counts of 0 or more, got -1"),
    (lambda: DeepSample([5], [6], [1]), "positives <= drawn <= size"),
    (lambda: DeepSample([5, 5], [2, 0], [1, 0]), "1 of 2 strata have no label"),
    (lambda: tail_counts([1], TAIL, [0, 0, 1]), r"0\.\.0"),
    (lambda: query_counts([-1]), "counts must be counts"),
    (lambda: rank_decay_counts([1], [0.5], [0], n_queries=1), "0, 1 or NaN"),
    (lambda: rank_decay_counts([1], [nan], [0], n_queries=1), "no document has one"),
    (lambda: clustered_counts([2], [0], [0], n_queries=1), "0, 1 or NaN"),
    (lambda: cluster_vectors([[1, nan]], 2), "finite vectors"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_input_that_cannot_be_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
