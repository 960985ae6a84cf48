"""What to label: the top of every ranking, and a random part of what lies below, with its probability."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ragauge.errors import FormatError, InputError
from ragauge.io import read_label_plan, read_labels, read_rankings, write_label_plan
from ragauge.quality.label_plan import ESTIMATORS, candidates, plan_labels, with_labels
from ragauge.quality.systems import named_apart
from ragauge.testing import assert_tables_equal


def ranking(*queries: str, depth: int = 100, prefix: str = "d"):
    return read_rankings({name: {f"{prefix}{r:03}": float(-r) for r in range(1, depth + 1)} for name in queries})


TWO = named_apart([("a", ranking("q1", "q2")), ("b", ranking("q1", "q2", depth=40, prefix="e"))])


def test_a_document_stands_at_its_best_rank_once():
    both = named_apart(
        [("a", read_rankings({"q": {"x": 3, "y": 2, "z": 1}})), ("b", read_rankings({"q": {"z": 2, "w": 1}}))]
    )
    found = candidates(both)
    assert list(zip(found["doc_id"].to_pylist(), found["rank"].to_pylist(), strict=True)) == [
        ("x", 1), ("z", 1), ("y", 2), ("w", 2)
    ]  # fmt: skip
    assert candidates(both, depth=1)["doc_id"].to_pylist() == ["x", "z"]


def test_the_top_of_every_ranking_is_there_whole():
    plan = plan_labels(TWO, cutoff=5)
    near = plan.filter(np.array(plan["stratum"].to_pylist()) == "near")
    assert Counter(near["query_id"].to_pylist()) == {
        "q1": 20,
        "q2": 20,
    }  # top 10 of two runs without a document in common
    assert set(near["probability"].to_pylist()) == {1.0}


def test_drawn_documents_stand_for_all_of_their_strata():
    plan = plan_labels(ranking(*(f"q{n}" for n in range(30))), cutoff=5, deep=3).to_pylist()
    deep = [row for row in plan if row["stratum"] != "near"]
    assert len(deep) == 90
    sizes = Counter()
    for row in deep:
        low, high = map(int, row["stratum"].split("-"))
        assert low <= row["rank"] <= high
        sizes[row["stratum"]] += 1 / row["probability"]
    assert sizes == pytest.approx({"11-20": 300, "21-40": 600, "41-80": 1200, "81-100": 600})


def test_each_document_is_drawn_as_often_as_its_probability_says():
    times, probability = Counter(), {}
    for seed in range(400):
        for row in plan_labels(ranking("q", depth=30), cutoff=5, deep=6, seed=seed).to_pylist()[10:]:
            times[row["doc_id"]] += 1
            probability[row["doc_id"]] = row["probability"]
    assert len(times) == 20
    for doc_id, n in times.items():
        assert n / 400 == pytest.approx(probability[doc_id], abs=0.11)  # 4 binomial errors


def test_strata_of_each_query_are_its_own():
    plan = plan_labels(ranking("q1", "q2"), cutoff=5, estimator="horvitz-thompson", deep=6).to_pylist()
    for query_id in ("q1", "q2"):
        deep = [row for row in plan if row["query_id"] == query_id and row["stratum"] != "near"]
        assert sum(1 / row["probability"] for row in deep) == pytest.approx(95)


def test_a_budget_is_spent_below_the_top():
    assert plan_labels(TWO, cutoff=5, budget=60).num_rows == 60
    with pytest.raises(InputError, match="a budget of 39 labels is less than the 40 documents in the top 10"):
        plan_labels(TWO, cutoff=5, budget=39)


def test_what_lies_below_the_depth_is_not_drawn():
    plan = plan_labels(ranking("q"), cutoff=5, depth=40, deep=8)
    assert max(plan["rank"].to_pylist()) <= 40 and set(plan["stratum"].to_pylist()) == {"near", "11-20", "21-40"}


def test_a_ranking_that_ends_at_the_top_has_nothing_to_draw():
    assert plan_labels(ranking("q", depth=7), cutoff=5).num_rows == 7


def test_the_same_seed_draws_the_same():
    one, two, other = (plan_labels(TWO, cutoff=5, seed=seed) for seed in (1, 1, 2))
    assert one.equals(two) and not one.equals(other)


@pytest.mark.parametrize("estimator", ["union", "own-list", "chapman", "chao2", "lincoln-petersen"])
def test_estimators_from_what_was_found_draw_nothing(estimator):
    plan = plan_labels(TWO, cutoff=5, estimator=estimator)
    assert set(plan["stratum"].to_pylist()) == {"near"}
    assert plan.num_rows == 2 * 2 * 5 * ESTIMATORS[estimator].x


def test_labels_that_are_known_are_kept_or_replaced():
    table = read_rankings({"q": {"a": 2.0, "b": 1.0}})
    plan = plan_labels(table, cutoff=1, estimator="own-list")
    assert with_labels(plan, read_labels({"q": {"b": 1}}))["label"].to_pylist() == [None, 1.0]


def test_a_plan_reads_back_as_it_was_written(tmp_path: Path):
    plan = plan_labels(TWO, cutoff=5)
    write_label_plan(plan, tmp_path / "plan.jsonl")
    assert_tables_equal(read_label_plan(tmp_path / "plan.jsonl"), plan)
    assert read_rankings(tmp_path / "plan.jsonl").num_rows == 2  # as people and models read it


def line(document: str) -> str:
    return f'{{"query_id": "q", "scope": "all", "documents": [{{"doc_id": "d"{document}}}]}}'


BROKEN = [
    ('{"query_id": "q", "documents": []}', "'scope' must be one of"),
    (line(""), "needs 'rank', 'stratum'"),
    (line(', "rank": 1, "stratum": "near", "probability": 0'), "'probability' in 0..1"),
    (line(', "rank": 1, "stratum": "near", "probability": 1, "label": -1'), "must be 0 or more"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "plan.jsonl").write_text(text + "\n")
    with pytest.raises(FormatError, match=message):
        read_label_plan(tmp_path / "plan.jsonl")


REFUSED = [
    ({"estimator": "2kxc"}, "no estimator '2kxc'"),
    ({"estimator": "chapman"}, "needs rankings of 2 systems, got 1"),
    ({"cutoff": 0}, "cutoff must be 1 or more"),
    ({"depth": 9}, "depth at least 10"),
    ({"depth": 10**20}, "depth must be at most 1000000, got 1"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_a_plan_that_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        plan_labels(ranking("q"), **{"cutoff": 5, **options})
