"""Tuning: hand cases, a brute-force oracle, order of rows, and what cannot be tuned."""

import math

import numpy as np
import pyarrow as pa
import pytest

from ragauge.errors import InputError, MeasureError
from ragauge.measures import judge, parse_measure, score
from ragauge.quality.tune import MAX_THRESHOLDS, tune_cutoff
from ragauge.schema import RANKINGS


def judged_rankings(labels, scores=None, pools=None, run="a"):
    """One ranking a list of labels; `pools` are further relevant documents, one number a query."""
    n = len(labels)
    scores = scores or [[float(len(row) - at) for at in range(len(row))] for row in labels]
    ids = [[f"d{at}" for at in range(len(row))] for row in labels]
    table = pa.table(
        {
            "query_id": [f"q{at:03}" for at in range(n)],
            "query": pa.nulls(n, pa.string()),
            "run": [run] * n,
            "doc_ids": pa.array(ids, pa.list_(pa.string())),
            "texts": pa.array([[None] * len(row) for row in labels], pa.list_(pa.string())),
            "scores": pa.array(scores, pa.list_(pa.float64())),
            "labels": pa.array(labels, pa.list_(pa.float64())),
        },
        schema=RANKINGS,
    )
    if pools is None:
        return judge(table, None)
    rows = [
        (f"q{q:03}", doc, label)
        for q, (row, more) in enumerate(zip(labels, pools, strict=True))
        for doc, label in [*((f"d{at}", one) for at, one in enumerate(row)), *((f"x{at}", 1.0) for at in range(more))]
    ]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("query_id", "doc_id", "label"))}
    return judge(table, pa.table(columns))


FOUR = judged_rankings([[1, 1, 0, 0]] * 4)


def test_every_cutoff_is_worth_what_the_formula_says():
    # (.5 n_p - .5 n_n) / 4 at k = 1..4: .125, .25, .125, 0
    found = tune_cutoff(FOUR, parse_measure("T@4"), today=4)
    assert [one.mean for one in found.candidates] == pytest.approx([0.125, 0.25, 0.125, 0])
    assert [one.precision for one in found.candidates] == pytest.approx([1, 1, 2 / 3, 0.5])
    assert (found.best.value, found.today.value, found.today.mean) == (2, 4, 0)
    assert (found.chosen, found.n) == ((2, 2, 2, 2), 4)  # as many folds as queries at most
    assert (found.gain, found.gain_in_sample) == pytest.approx((0.25, 0.25))


def test_f_counts_the_documents_returned():
    # alpha .5, N_p = 3: n_p / (.5 k + 1.5): 1/2, 2/2.5, 2/3, 2/3.5
    found = tune_cutoff(judged_rankings([[1, 1, 0, 0]] * 4, pools=[1] * 4), parse_measure("F@4"), today=1)
    assert [one.mean for one in found.candidates] == pytest.approx([1 / 2, 2 / 2.5, 2 / 3, 2 / 3.5])
    assert found.gain == pytest.approx(0.3)


def test_score_threshold_returns_more_where_more_is_worth_it():
    # from .6 on: q0 returns both of its positives, q1 its one; a cutoff would return a negative or miss a positive
    labels, scores = [[1, 1, 0], [1, 0, 0]] * 2, [[0.9, 0.8, 0.2], [0.7, 0.3, 0.1]] * 2
    found = tune_cutoff(judged_rankings(labels, scores), parse_measure("T@3"), today=2, by="score")
    assert found.best.value == 0.7
    # (.5 x 2 + .5 x 1) / 2 / 3 = .25; today: q0 +1, q1 0: 1/6
    assert found.best.mean == pytest.approx(0.25)
    assert found.today.mean == pytest.approx((1 / 3 + 0) / 2)
    assert found.best.n_returned == 1.5


def test_of_equal_candidates_the_one_that_returns_least_is_best():
    # the third document is unjudged, and T does not count it: top 2 and top 3 are worth the same
    found = tune_cutoff(judged_rankings([[1, 1, None]] * 3), parse_measure("T@3"), today=1)
    assert found.best.value == 2
    assert found.judged == pytest.approx(2 / 3)
    strict = tune_cutoff(judged_rankings([[1, 1, None]] * 3), parse_measure("T(unjudged=negative)@3"), today=3)
    assert strict.gain == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("name", ["T(alpha=0.3)@12", "T(alpha=0.4,form=count)@12", "F(alpha=0.3)@12"])
@pytest.mark.parametrize("by", ["cutoff", "score"])
def test_oracle_that_cuts_the_rankings_and_scores_them_agrees(name, by):
    rng = np.random.default_rng(3)
    labels = [[float(one) for one in rng.random(rng.integers(0, 15)) < 0.4] for _ in range(40)]
    scores = [sorted(rng.integers(0, 9, len(row)) / 8, reverse=True) for row in labels]
    judged = judged_rankings(labels, scores, pools=rng.integers(1, 4, 40).tolist())
    measure = parse_measure(name)
    found = tune_cutoff(judged, measure, today=5, by=by)
    alpha, form = dict(measure.parameters)["alpha"], dict(measure.parameters).get("form")
    pools = judged.column("pool_labels").to_pylist()
    for one in found.candidates:
        values = []
        for row, of, pool in zip(labels, scores, pools, strict=True):
            pairs = list(zip(row, of, strict=True))[:12]
            kept = [x for x, s in pairs if s >= one.value] if by == "score" else row[: int(one.value)]
            n_p, n = sum(kept), len(kept)
            if measure.name == "F":
                values.append(n_p / (alpha * n + (1 - alpha) * sum(pool)))
            else:
                values.append((1 - alpha) * (n_p if form == "count" else n_p / 12) - alpha * (n - n_p) / 12)
        assert one.mean == pytest.approx(np.mean(values))


def test_full_cutoff_of_t_is_the_measure_itself():
    rng = np.random.default_rng(4)
    judged = judged_rankings([[float(one) for one in rng.random(10) < 0.3] for _ in range(20)])
    measure = parse_measure("T(alpha=0.2)@10")
    found = tune_cutoff(judged, measure, today=10)
    assert found.candidates[-1].mean == pytest.approx(np.mean(score(judged, [measure]).column(str(measure)).to_numpy()))
    assert found.today == found.candidates[-1]


def test_order_of_the_rankings_does_not_matter_and_the_seed_does():
    rng = np.random.default_rng(5)
    judged = judged_rankings([[float(one) for one in rng.random(10) < 0.3 - 0.02 * np.arange(10)] for _ in range(30)])
    measure = parse_measure("T(alpha=0.2)@10")
    shuffled = judged.take(pa.array(rng.permutation(30)))
    assert tune_cutoff(judged, measure, today=10) == tune_cutoff(shuffled, measure, today=10)
    assert tune_cutoff(judged, measure, today=10) != tune_cutoff(judged, measure, today=10, seed=1)


def test_queries_without_a_relevant_document_are_counted_for_f():
    judged = judged_rankings([[1, 0], [1, 0], [0, 0]], pools=[0, 0, 0])
    found = tune_cutoff(judged, parse_measure("F@2"), today=2)
    assert (found.n, found.n_undefined) == (2, 1)


def test_many_scores_become_quantiles():
    rng = np.random.default_rng(6)
    scores = [sorted(rng.normal(size=50), reverse=True) for _ in range(20)]
    labels = [[float(one) for one in rng.random(50) < 0.3] for _ in range(20)]
    found = tune_cutoff(judged_rankings(labels, scores), parse_measure("T@50"), today=10, by="score")
    assert len(found.candidates) <= MAX_THRESHOLDS
    returned = [one.n_returned for one in found.candidates]
    assert returned == sorted(returned)
    assert returned[-1] == 50


@pytest.mark.parametrize(
    ("judged", "measure", "options", "error", "message"),
    [
        (FOUR, "P@4", {}, MeasureError, r"maximises T or F, such as 'T\(alpha=0.3\)@10', got 'P@4'"),
        (FOUR, "F@4", {}, MeasureError, "which no query has; give qrels, or use T"),
        (FOUR, "T@4", {"today": 5}, InputError, "today must be 1..4"),
        (FOUR, "T@4", {"folds": 1}, InputError, "at least 2, got 1"),
        (FOUR, "T@4", {"level": 1.0}, InputError, "level must lie strictly between"),
        (judged_rankings([[1, 0]]), "T@2", {}, InputError, "defined for 1 of 1 queries; tuning needs 2"),
        (judged_rankings([[1.0]] * 3, [[None]] * 3), "T@2", {"by": "score"}, InputError, "3 documents have no score"),
        (
            pa.concat_tables([FOUR, judged_rankings([[1, 0]], run="b")]),
            "T@2",
            {},
            InputError,
            "of one run, got 2: a, b",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused(judged, measure, options, error, message):
    with pytest.raises(error, match=message):
        tune_cutoff(judged, parse_measure(measure), **({"today": 1} | options))


def test_tuned_prints_as_one_line():
    line = str(tune_cutoff(judged_rankings([[1, 1, 0, 0]] * 30), parse_measure("T@4"), today=4))
    assert line == "T@4: best cutoff 2, gain over 4 documents +0.250 [+0.250, +0.250] (in-sample +0.250), n = 30"


def test_ranking_without_documents_is_worth_nothing():
    found = tune_cutoff(judged_rankings([[], [], [1.0]]), parse_measure("T@2"), today=1)
    assert found.candidates[0].mean == pytest.approx(0.25 / 3)
    empty = tune_cutoff(judged_rankings([[], []]), parse_measure("T@2"), today=1)
    assert math.isnan(empty.best.precision)
    assert empty.gain == 0
