"""Rankings scored with an estimated number of relevant documents."""

from math import isnan

import numpy as np
import pytest

from ragauge.errors import InputError, MeasureError
from ragauge.io import read_labels, read_rankings
from ragauge.measures import Policies, parse_measure
from ragauge.quality.counted import assess_counted
from ragauge.quality.evaluate import assess
from ragauge.quality.label_plan import plan_labels
from ragauge.quality.systems import named_apart


def measures(*names: str):
    return [parse_measure(name) for name in names]


def means(found):
    return {run: [one.mean for one in each] for run, each in found.assessment.estimates.items()}


A = read_rankings({"q1": {"a": 4, "b": 3, "c": 2, "d": 1}, "q2": {"a": 4, "b": 3, "c": 2, "d": 1}})
B = read_rankings({"q1": {"x": 4, "a": 3, "y": 2, "z": 1}, "q2": {"x": 4, "y": 3, "b": 2, "d": 1}})
BOTH = named_apart([("a.run", A), ("b.run", B)])
LABELS = read_labels(
    {
        "q1": {"a": 1, "b": 1, "c": 0, "d": 1, "x": 1, "y": 0},
        "q2": {"a": 0, "b": 1, "c": 0, "d": 1, "x": 0, "y": 0, "w": 1},
    }
)


def test_union_is_recall_by_all_that_is_known():
    found = assess_counted(BOTH, LABELS, measures("R@2", "P@2"), estimator="union")
    # q1 has a, b, d, x; q2 has b, d and w, which nobody retrieved
    assert means(found) == {"a": [pytest.approx((2 / 4 + 1 / 3) / 2), 0.75], "b": [pytest.approx((2 / 4) / 2), 0.5]}
    assert [one.measure for one in found.assessment.estimates["a"]] == ["R@2 (N_p: union)", "P@2"]
    assert found.assessment.scores.column("R@2 (N_p: union)").to_pylist() == pytest.approx([0.5, 1 / 3, 0.5, 0])


def test_union_of_labels_inside_rankings_counts_each_document_once():
    inside = {"query_id": "q", "documents": [{"doc_id": "a", "label": 1}, {"doc_id": "b", "label": 1}]}
    other = {"query_id": "q", "documents": [{"doc_id": "b", "label": 1}, {"doc_id": "c", "label": 0}]}
    both = named_apart([("a", read_rankings([inside])), ("b", read_rankings([other]))])
    assert means(assess_counted(both, None, measures("R@1"), estimator="union")) == {"a": [0.5], "b": [0.5]}


def test_own_list_is_fe():
    found = assess_counted(BOTH, LABELS, measures("F@1", "F(alpha=0.2)@1", "R@2"), estimator="own-list")
    plain = assess(BOTH, LABELS, measures("Fe@1", "Fe(alpha=0.2)@1", "Fe(alpha=0)@2"))
    assert means(found) == {run: [one.mean for one in each] for run, each in plain.estimates.items()}
    assert {run: record.total for (name, run), record in found.records.items() if name == "F@1"} == {"a": 3, "b": 2}


def test_each_level_of_relevance_has_its_own_number():
    graded = read_labels({"q1": {"a": 2, "b": 1, "c": 1}})
    found = assess_counted(A.slice(0, 1), graded, measures("R@1", "R(rel=2)@1"), estimator="union")
    assert list(means(found).values()) == [[pytest.approx(1 / 3), 1.0]]


# top 2 of a: q1 a, b; q2 b. of b: q1 x, a; q2 none
OVERLAPS = [("chapman", [3 * 3 / 2 - 1, 1.0]), ("chao2", [3 + 2 * 1 / 8, 1.0]), ("lincoln-petersen", [4.0, np.nan])]


@pytest.mark.parametrize(("estimator", "counts"), OVERLAPS)
def test_overlaps_are_of_the_top_2k(estimator, counts):
    found = assess_counted(BOTH, LABELS, measures("R@1"), estimator=estimator)
    record = found.records["R@1", ""]
    assert record.total == pytest.approx(np.nansum(counts)) and record.n_undefined == np.isnan(counts).sum()
    assert (record.n_labels, record.n_found) == (7, 4)


DEEP = read_rankings({f"q{n}": {f"d{r:03}": float(-r) for r in range(1, 101)} for n in range(20)})
# relevant: ranks 1, 3, 5 of each query, 15 of every second, 45 of every fourth
TRUE = {
    f"q{n}": {
        f"d{r:03}": int(r in (1, 3, 5) or (r == 15 and n % 2 == 0) or (r == 45 and n % 4 == 0)) for r in range(1, 101)
    }
    for n in range(20)
}


@pytest.mark.parametrize("estimator", ["2k-x-c", "horvitz-thompson"])
def test_all_documents_drawn_give_the_true_number(estimator):
    plan = plan_labels(DEEP, cutoff=5, estimator=estimator, deep=95)
    found = assess_counted(DEEP, read_labels(TRUE), measures("R@5"), estimator=estimator, plan=plan)
    record = found.records["R@5", ""]
    assert record.total == pytest.approx(3 * 20 + 10 + 5)
    assert record.depth == 100 and record.n_unlabelled == 0


def test_2k_x_c_is_near_with_a_few_labels_and_its_interval_holds_the_truth():
    plan = plan_labels(DEEP, cutoff=5, deep=10)
    (estimate,) = assess_counted(
        DEEP, read_labels(TRUE), measures("F@5"), estimator="2k-x-c", plan=plan
    ).assessment.estimates["dict"]
    truth = assess(DEEP, read_labels(TRUE), measures("F@5")).estimates["dict"][0].mean
    assert estimate.low < truth < estimate.high
    assert estimate.high - estimate.low < 0.2
    assert estimate.method == "bootstrap"


def test_labels_of_the_plan_are_used_where_there_are_no_others():
    plan = plan_labels(DEEP, cutoff=5, deep=4)
    rows = plan.to_pylist()
    for row in rows:
        row["label"] = float(TRUE[row["query_id"]][row["doc_id"]])
    filled = plan.from_pylist(rows, schema=plan.schema)
    inside = assess_counted(DEEP, None, measures("R@5"), estimator="2k-x-c", plan=filled)
    beside = assess_counted(DEEP, read_labels(TRUE), measures("R@5"), estimator="2k-x-c", plan=plan)
    assert means(inside) == means(beside)


def test_documents_without_a_label_are_counted_and_not_taken_for_drawn():
    plan = plan_labels(DEEP, cutoff=5, deep=10)
    dropped = {q: {d: y for d, y in docs.items() if d not in ("d002", "d015")} for q, docs in TRUE.items()}
    full, part = (
        assess_counted(DEEP, read_labels(labels), measures("R@5"), estimator="2k-x-c", plan=plan).records["R@5", ""]
        for labels in (TRUE, dropped)
    )
    assert part.n_unlabelled == full.n_labels - part.n_labels >= 20
    assert part.n_found == 60 + full.n_found - 60 - sum(
        row["doc_id"] == "d015" and TRUE[row["query_id"]]["d015"] for row in plan.to_pylist()
    )


def test_one_number_a_query_serves_all_systems():
    other = read_rankings({f"q{n}": {f"d{r:03}": float(r) for r in range(1, 101)} for n in range(20)})
    both = named_apart([("a", DEEP), ("b", other)])
    plan = plan_labels(both, cutoff=5, deep=4)
    found = assess_counted(both, read_labels(TRUE), measures("R@5"), estimator="2k-x-c", plan=plan)
    assert list(found.records) == [("R@5", "")]
    assert means(found)["b"] == [0.0]


def test_rank_decay_reads_every_label_there_is():
    found = assess_counted(DEEP, read_labels(TRUE), measures("R@5"), estimator="rank-decay")
    assert found.records["R@5", ""].total == pytest.approx(75)  # all are labelled: nothing is left to extrapolate


def test_a_query_with_nothing_found_is_not_known_to_have_nothing():
    nothing = {**TRUE, "q0": dict.fromkeys(TRUE["q0"], 0)}
    plan = plan_labels(DEEP, cutoff=5, deep=4)
    found = assess_counted(DEEP, read_labels(nothing), measures("R@5"), estimator="2k-x-c", plan=plan)
    assert found.assessment.estimates["dict"][0].n == 20 and found.assessment.prepared.changes.n_no_relevant == 0


def test_one_query_has_no_interval():
    (estimate,) = assess_counted(
        A.slice(0, 1), LABELS, measures("R@1"), Policies(missing="skip"), estimator="union"
    ).assessment.estimates["dict"]
    assert isnan(estimate.low) and estimate.reason == "one query"


PLAN = plan_labels(A, cutoff=1, deep=2)
REFUSED = [
    ({"estimator": "2k-x-c"}, InputError, "needs the plan of what was labelled"),
    ({"estimator": "2k-x-c", "plan": plan_labels(A, cutoff=1, estimator="union")}, InputError, "another estimator"),
    ({"estimator": "horvitz-thompson", "plan": PLAN}, InputError, "another estimator than Horvitz-Thompson"),
    ({"estimator": "2k-x-c", "plan": PLAN.slice(0, 2)}, InputError, "1 of 2 queries have no label in the plan"),
    ({"estimator": "chapman"}, InputError, "exactly two systems, got 1"),
    ({"estimator": "chao2"}, InputError, "2 systems or more, got 1"),
    ({"estimator": "guess"}, InputError, "no estimator 'guess'"),
    ({"estimator": "union", "policies": Policies(ties="expected")}, InputError, "ties=trec or ties=input"),
    ({"estimator": "union", "policies": Policies(no_relevant="skip")}, InputError, "no_relevant=undefined"),
    ({"estimator": "union", "policies": Policies(unjudged="bounds")}, InputError, "unjudged=negative or skip"),
    ({"estimator": "union", "measures": measures("P@1")}, MeasureError, "no measure needs N_p"),
]


@pytest.mark.parametrize(("options", "error", "message"), REFUSED)
def test_what_cannot_be_estimated_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        assess_counted(A, LABELS, **{"measures": measures("R@1"), **options})
