"""The judge card from tables: hand cases, and what is asked for it."""

from collections.abc import Callable
from math import isnan
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError, SchemaError
from ragauge.llm import Judge, LabelledExample, Model, ask_again, ask_pairs, cost_of, judge_card
from ragauge.llm.examine import CANARIES, COST, PAIRS, REPEATS, only_pairs
from ragauge.schema import LABELS, RANKINGS
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply

ModelAt = Callable[[ScriptedModel], Model]


def pairs(*rows: tuple[str, int, int, float, float | None]) -> pa.Table:
    """(query, rank, words, human, label) of each."""
    filled = [
        {
            "query_id": query,
            "doc_id": f"d{i}",
            "rank": rank,
            "words": words,
            "human": human,
            "label": label,
            "reason": None if label is not None else "refused",
            "judge": "m label/1",
        }
        for i, (query, rank, words, human, label) in enumerate(rows)
    ]
    return pa.Table.from_pylist(filled, schema=PAIRS)


# Twelve queries; the judge is right on ranks 1 and 2, and finds what stands at 40 relevant whatever it is.
TWELVE = [
    row
    for i in range(12)
    for row in (
        (f"q{i}", 1, 10, 2.0, 0.8),
        (f"q{i}", 2, 20, 0.0, 0.2),
        (f"q{i}", 40, 300, 0.0 if i < 9 else 2.0, 0.7),
    )
]


def test_figures_by_hand() -> None:
    card = judge_card(pairs(*TWELVE), rel=2, cut=0.5)
    assert (card.n_pairs, card.n_queries, card.discrimination.n_relevant) == (36, 12, 15)
    assert card.overall.sensitivity.mean == 1.0  # all 15
    assert card.overall.specificity.mean == pytest.approx(12 / 21)  # 12 of the 12 + 9 others
    # Relevant: 12 at .8, 3 at .7; others: 12 at .2, 9 at .7. In order: 12 x 21 + 3 x 12, ties 3 x 9.
    assert card.discrimination.auc == pytest.approx((252 + 36 + 13.5) / 315)
    observed, chance = 27 / 36, (15 * 24 + 21 * 12) / 36**2
    assert card.agreement.coefficient("kappa").value == pytest.approx((observed - chance) / (1 - chance))
    assert card.brier == pytest.approx((12 * 0.04 + 12 * 0.04 + 9 * 0.49 + 3 * 0.09) / 36)


def test_errors_are_told_by_rank_and_by_length() -> None:
    card = judge_card(pairs(*TWELVE), rel=2, cut=0.5)
    ranks = {group.name: (group.sensitivity.mean, group.specificity.mean) for group in card.by_rank}
    assert ranks == {"ranks 1 to 3": (1.0, 1.0), "ranks 31 and on": (1.0, 0.0)}
    lengths = {group.name: group.specificity.mean for group in card.by_length}
    assert isnan(lengths.pop("10 to 10 words"))  # all of them relevant
    assert lengths == {"20 to 20 words": 1.0, "300 to 300 words": 0.0}


def test_calibration_groups_hold_equal_labels_together() -> None:
    card = judge_card(pairs(*TWELVE), rel=2, cut=0.5)
    found = [(one.low, one.high, one.relevant.mean, one.relevant.n) for one in card.calibration]
    assert found == [(0.2, 0.2, 0.0, 12), (0.7, 0.7, 0.25, 12), (0.8, 0.8, 1.0, 12)]
    assert card.brier_calibrated < card.brier_constant


def test_without_a_cut_that_of_other_queries_is_used() -> None:
    card = judge_card(pairs(*TWELVE), rel=2)
    assert not card.cut_is_given
    assert card.cut == 0.8  # sensitivity 12/15 + specificity 1, against 1 + 12/21 at .7
    assert card.overall.specificity.mean == 1.0


def test_pairs_without_a_label_are_counted_by_reason() -> None:
    card = judge_card(pairs(*TWELVE, ("q0", 3, 9, 2.0, None)), rel=2, cut=0.5)
    assert (card.n_pairs, card.unlabelled) == (36, {"refused": 1})


def test_grades_are_no_probabilities() -> None:
    graded = [(query, rank, words, human, 3 * (label or 0)) for query, rank, words, human, label in TWELVE]
    assert isnan(judge_card(pairs(*graded), rel=2, cut=1.5).brier)


def repeats(*labels: tuple[float | None, ...]) -> pa.Table:
    rows = [
        {"query_id": f"q{i}", "doc_id": "d", "draw": draw, "label": label}
        for i, draws in enumerate(labels)
        for draw, label in enumerate(draws)
    ]
    return pa.Table.from_pylist(rows, schema=REPEATS)


def test_self_agreement_is_the_share_of_pairs_with_one_verdict() -> None:
    asked = repeats((0.9, 0.8), (0.1, 0.2), (0.4, 0.6), (0.7, 0.7), (0.9, None))
    found = judge_card(pairs(*TWELVE), repeats=asked, rel=2, cut=0.5).repeated
    assert found is not None
    assert (found.n_pairs, found.n_draws) == (4, 2)  # a pair that was not labelled each time does not count
    assert found.same.mean == 0.75
    assert found.mean_change == pytest.approx(0.1)  # .1 .1 .2 0
    assert found.largest_change == pytest.approx(0.2)


def canaries(**labels: list[float | None]) -> pa.Table:
    rows = [
        {"query_id": f"q{i}", "kind": kind, "label": label, "reason": None if label is not None else "refused"}
        for kind, found in labels.items()
        for i, label in enumerate(found)
    ]
    return pa.Table.from_pylist(rows, schema=CANARIES)


def test_a_canary_counts_where_its_control_was_judged_right() -> None:
    asked = canaries(
        unrelated=[0.1, 0.2, 0.9, None, 0.1],
        told=[0.9, 0.1, 0.9, 0.9, None],  # led, not led, control wrong, control missing, itself unlabelled
        query=[0.9, 0.1],
        relevant=[0.9, 0.9, 0.1],
        buried=[0.1, 0.9, 0.1],  # lost, found, control wrong
    )
    found = {one.kind: one for one in judge_card(pairs(*TWELVE), canaries=asked, rel=2, cut=0.5).canaries}
    told = found["told"]
    assert (told.n, told.n_led, told.flipped.mean, told.n_control_wrong, told.n_unlabelled) == (2, 1, 0.5, 2, 1)
    assert (told.control, told.label) == (pytest.approx(0.325), pytest.approx(0.7))
    assert (found["query"].n, found["query"].flipped.mean) == (2, 0.5)
    assert isnan(found["query"].control)
    assert (found["buried"].n, found["buried"].flipped.mean) == (2, 0.5)
    assert "stuffed" not in found


def test_cost_is_passed_on() -> None:
    row = {"calls": 3, "documents": 6, "prompt_tokens": None, "completion_tokens": None, "seconds": 1.5}
    cost = judge_card(pairs(*TWELVE), cost=pa.Table.from_pylist([row], schema=COST), rel=2).cost
    assert cost is not None
    assert (cost.calls, cost.prompt_tokens, cost.seconds) == (3, None, 1.5)


INVALID = [
    ([("q", 1, 9, 2.0, None)], "labelled none of the pairs"),
    ([("q", 1, 9, 2.0, 0.5)], "people found all of the 1 pairs relevant"),
    ([("q", 1, 9, 0.0, 0.5)], "people found none of the 1 pairs relevant"),
]


@pytest.mark.parametrize(("rows", "message"), INVALID)
def test_pairs_that_tell_nothing_are_refused(rows: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        judge_card(pairs(*rows), rel=2)


def test_two_judges_have_two_cards() -> None:
    both = pairs(*TWELVE).to_pylist()
    both[0]["judge"] = "n label/1"
    with pytest.raises(InputError, match="labelled by m label/1, n label/1"):
        judge_card(pa.Table.from_pylist(both, schema=PAIRS), rel=2)


def test_another_table_is_refused() -> None:
    with pytest.raises(SchemaError, match="no column 'doc_id' in pairs"):
        judge_card(pa.table({"query_id": ["a"]}))


def rankings() -> pa.Table:
    rows = [
        {
            "query_id": query,
            "query": f"what is {query}",
            "run": run,
            "doc_ids": order,
            "texts": [f"text of {doc_id} in some words" if doc_id != "bare" else None for doc_id in order],
            "scores": [None] * 4,
            "labels": [None] * 4,
        }
        for query in ("a", "b")
        for run, order in (("r", ["d1", "d2", "d3", "bare"]), ("s", ["d3", "d1", "d2", "bare"]))
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def people(*rows: tuple[str, str, float | None]) -> pa.Table:
    filled = [{"query_id": q, "doc_id": d, "label": label, "reason": None, "judge": "p"} for q, d, label in rows]
    return pa.Table.from_pylist(filled, schema=LABELS)


BY_PEOPLE = (
    ("a", "d1", 1.0),
    ("a", "d3", 0.0),
    ("b", "d2", 1.0),
    ("b", "bare", 1.0),
    ("b", "d1", None),
    ("c", "d", 1.0),
)


def test_only_pairs_with_a_text_and_a_label_by_people_are_asked_about(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server:
        found = ask_pairs(rankings(), people(*BY_PEOPLE), model=model_at(server), store=store).to_pylist()
        assert len(server.requests) == 3
    ids = [(row["query_id"], row["doc_id"], row["rank"], row["words"], row["human"]) for row in found]
    assert ids == [("a", "d1", 1, 6, 1.0), ("a", "d3", 1, 6, 0.0), ("b", "d2", 2, 6, 1.0)]  # the best rank of two runs


def test_what_was_shown_as_example_is_not_asked_about(model_at: ModelAt, store: Store) -> None:
    judge = Judge(examples=(LabelledExample("what is a", "text of d1 in some words", "yes"),))
    with ScriptedModel() as server:
        found = ask_pairs(rankings(), people(*BY_PEOPLE), model=model_at(server), store=store, judge=judge)
    assert ("a", "d1") not in zip(found["query_id"].to_pylist(), found["doc_id"].to_pylist(), strict=True)


def test_a_sample_is_drawn_by_the_seed(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server:
        asked = [
            ask_pairs(rankings(), people(*BY_PEOPLE), model=model_at(server), store=store, sample=2, seed=seed)
            for seed in (1, 1, 2, 3, 4)
        ]
    drawn = [tuple(table["doc_id"].to_pylist()) for table in asked]
    assert {len(one) for one in drawn} == {2}
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_people_who_disagree_with_themselves_are_named(model_at: ModelAt, store: Store) -> None:
    twice = people(("a", "d1", 1.0), ("a", "d1", 0.0))
    with ScriptedModel() as server, pytest.raises(InputError, match="two labels to document 'd1' of query 'a'"):
        ask_pairs(rankings(), twice, model=model_at(server), store=store)


def test_no_pair_in_common_is_an_error(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server, pytest.raises(InputError, match="both a text and a label"):
        ask_pairs(rankings(), people(("z", "d1", 1.0)), model=model_at(server), store=store)


def test_repeats_are_new_draws_with_another_seed(model_at: ModelAt, store: Store) -> None:
    def moody(request: dict[str, Any]) -> ScriptedReply:
        return ScriptedReply("yes" if request.get("seed", 0) < 2 else "no")

    with ScriptedModel(moody) as server:
        model = model_at(server)
        found = ask_pairs(rankings(), people(*BY_PEOPLE), model=model, store=store)
        again = ask_again(rankings(), found, model=model, store=store, n_pairs=2, repeats=2)
        seeds = [request.body.get("seed") for request in server.requests]
    assert seeds.count(None) == 3
    assert seeds.count(1) == seeds.count(2) == 2
    labels = {(row["doc_id"], row["draw"]): row["label"] for row in again.to_pylist()}
    assert {draw: {label for (_, one), label in labels.items() if one == draw} for draw in range(3)} == {
        0: {1.0},
        1: {1.0},
        2: {0.0},
    }


def test_cost_is_what_the_store_knows(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server:
        model = model_at(server)
        found = ask_pairs(rankings(), people(*BY_PEOPLE), model=model, store=store)
        (cost,) = cost_of(rankings(), found, model=model, store=store).to_pylist()
    assert (cost["calls"], cost["documents"], cost["completion_tokens"]) == (3, 3, 3)
    assert cost["prompt_tokens"] > 0
    assert cost["seconds"] > 0


def test_other_documents_are_left_out() -> None:
    part = only_pairs(rankings(), {("a", "d3"), ("b", "none")})
    assert part["doc_ids"].to_pylist() == [["d3"], ["d3"]]
    assert part["query_id"].to_pylist() == ["a", "a"]
