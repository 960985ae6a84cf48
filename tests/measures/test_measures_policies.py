"""Policies: what is scored where the data leave a choice, and what is said of it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import labels_table, rankings

from ragauge.errors import InputError
from ragauge.measures import (
    TREC_EVAL,
    Policies,
    account,
    as_trec_eval,
    condense,
    judge,
    parse_measure,
    policy_bounds,
    policy_scores,
    prepare,
)
from ragauge.schema import LABELS, POOLED_UNJUDGED, RANKINGS

Values = dict[str, float | None]


def scored(table: pa.Table, labels: pa.Table | None, text: str, **policies: str) -> Values:
    """Query -> value."""
    prepared = prepare(table, labels, Policies(**policies))  # type: ignore[arg-type]
    found = policy_scores(prepared, [parse_measure(text)])
    return dict(zip(found.column("query_id").to_pylist(), found.column(2).to_pylist(), strict=True))


def graded(grades: dict[tuple[str, str], int]) -> pa.Table:
    """Labels as a reader of qrels makes them: a grade below 0 is null, with a reason."""
    rows = [
        {
            "query_id": query_id,
            "doc_id": doc_id,
            "label": grade if grade >= 0 else None,
            "reason": POOLED_UNJUDGED if grade < 0 else None,
            "judge": None,
        }
        for (query_id, doc_id), grade in grades.items()
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)


def with_scores(table: pa.Table, scores: list[list[float]]) -> pa.Table:
    at = RANKINGS.get_field_index("scores")
    return table.set_column(at, RANKINGS.field(at), pa.array(scores, pa.list_(pa.float64())))


TWO = labels_table({("q1", "dA"): 1, ("q2", "dB"): 1})

MISSING = [
    ("zero", {"q1": 1.0, "q2": 0.0}),  # mean .5, as trec_eval -c
    ("worst", {"q1": 1.0, "q2": 0.0}),  # the lowest P is 0
    ("skip", {"q1": 1.0}),  # mean 1.0, as trec_eval without -c
]


@pytest.mark.parametrize(("missing", "expected"), MISSING)
def test_trap_T4_a_missing_query_is_scored_or_left_out(missing: str, expected: Values) -> None:
    assert scored(rankings({"q1": ["dA"]}), TWO, "P@1", missing=missing) == expected


def test_trap_T4_nothing_returned_is_worth_nothing_unless_the_worst_is_asked_for() -> None:
    # q1 of dX, dA, dY: (.5 - 2 * .5) / 3 = -1/6; q2: 0 as trec_eval 9 -c has it, or -alpha
    table = rankings({"q1": ["dX", "dA", "dY"]})
    expected = {"zero": 0.0, "worst": -0.5}
    for missing, value in expected.items():
        found = scored(table, TWO, "T(unjudged=negative)@3", missing=missing)
        assert found == {"q1": pytest.approx(-1 / 6), "q2": value}


def test_trap_T4_an_empty_list_is_a_missing_ranking_that_is_there() -> None:
    assert scored(rankings({"q1": ["dA"], "q2": []}), TWO, "P@1", missing="skip") == {"q1": 1.0, "q2": 0.0}


EXTRA = [("skip", {"q1": 1.0, "q2": 0.0}), ("zero", {"q1": 1.0, "q2": 0.0, "q9": 0.0})]


@pytest.mark.parametrize("text", ["P@1", "R@1", "AP"])
@pytest.mark.parametrize(("extra", "expected"), EXTRA)
def test_trap_T5_an_extra_query_is_left_out_or_zero(extra: str, expected: Values, text: str) -> None:
    table = rankings({"q1": ["dA"], "q2": [], "q9": ["dA"]})
    assert scored(table, TWO, text, extra=extra) == expected


NO_RELEVANT = [
    ("undefined", {"q1": 1.0, "q2": pytest.approx(np.nan, nan_ok=True)}),
    ("zero", {"q1": 1.0, "q2": 0.0}),  # trec_eval, ranx and ir_measures
    ("skip", {"q1": 1.0}),
]


@pytest.mark.parametrize(("no_relevant", "expected"), NO_RELEVANT)
def test_trap_T6_a_query_without_relevant_documents(no_relevant: str, expected: Values) -> None:
    labels = labels_table({("q1", "dA"): 1, ("q2", "dB"): 0})
    table = rankings({"q1": ["dA"], "q2": ["dB"]})
    assert scored(table, labels, "R@1", no_relevant=no_relevant) == expected
    precision = {"q1": 1.0, "q2": 0.0}
    expected_precision = {"q1": 1.0} if no_relevant == "skip" else precision
    assert scored(table, labels, "P@1", no_relevant=no_relevant) == expected_precision


def test_trap_T6_a_query_without_any_label_is_no_query_without_relevant_documents() -> None:
    prepared = prepare(rankings({"q1": ["dA"], "q2": ["dB"], "q9": ["dA"]}), TWO, Policies(extra="zero"))
    assert prepared.changes.n_no_relevant == 0


NEGATIVE = graded({("q", "dA"): -1, ("q", "dB"): 1, ("q", "dC"): 0, ("q", "dE"): 1})
# the ranking is dA, dB, dC
GRADES = [
    ("P@2", {}, 0.5),
    ("nDCG@10", {}, 0.386853),  # (1/log2 3) / (1 + 1/log2 3)
    ("AP", {}, 0.25),
    ("bpref", {}, 0.5),
    ("infAP", {}, 0.375),
    ("Judged@3", {}, 2 / 3),
    ("P@2", {"unjudged": "skip"}, 0.5),  # dB, dC
    ("nDCG@10", {"unjudged": "skip"}, 0.613147),  # 1 / (1 + 1/log2 3)
    ("bpref", {"negative_grades": "negative"}, 0.25),  # dA above dB: (1 - 1/2) / 2
    ("Judged@3", {"negative_grades": "negative"}, 1.0),
    ("nDCG@10", {"negative_grades": "negative", "unjudged": "skip"}, 0.386853),  # judged negative: nothing to drop
]


@pytest.mark.parametrize(("text", "policies", "expected"), GRADES)
def test_trap_T9_and_25_a_negative_grade_is_unjudged_or_negative(
    text: str, policies: dict[str, str], expected: float
) -> None:
    found = scored(rankings({"q": ["dA", "dB", "dC"]}), NEGATIVE, text, **policies)
    assert found["q"] == pytest.approx(expected, abs=1e-6)


# d1 relevant, d2 not pooled, d3 0, d4 -1, d5 relevant, d6 0; d7 relevant and not retrieved
T13 = graded({("q", "d1"): 1, ("q", "d3"): 0, ("q", "d4"): -1, ("q", "d5"): 1, ("q", "d6"): 0, ("q", "d7"): 1})
T13_VALUES = [("P@6", 2 / 6), ("nDCG@6", 0.703918), ("AP", (1 + 2 / 3) / 3), ("RR", 1.0), ("T@6", 0.0)]


@pytest.mark.parametrize(("text", "expected"), T13_VALUES)
def test_trap_T13_condensed_lists_keep_k_and_move_up(text: str, expected: float) -> None:
    table = rankings({"q": ["d1", "d2", "d3", "d4", "d5", "d6"]})
    # condensed: 1, 0, 1, 0; nDCG = (1 + 1/2) / (1 + 1/log2 3 + 1/2)
    assert scored(table, T13, text, unjudged="skip")["q"] == pytest.approx(expected, abs=1e-6)


def test_condensing_keeps_all_columns_together() -> None:
    table = with_scores(rankings({"q": ["a", "b", "c"], "p": []}), [[3.0, 2.0, 1.0], []])
    found = condense(judge(table, labels_table({("q", "a"): 0, ("q", "c"): 2})))
    assert found.column("doc_ids").to_pylist() == [["a", "c"], []]
    assert found.column("scores").to_pylist() == [[3.0, 1.0], []]
    assert found.column("labels").to_pylist() == [[0.0, 2.0], []]


def test_trap_T1_two_tied_documents_under_each_policy() -> None:
    # dA not relevant, dB relevant; trec_eval puts dB first, the file dA, and on average they share
    labels = labels_table({("q1", "dA"): 0, ("q1", "dB"): 1})
    for documents in (["dA", "dB"], ["dB", "dA"]):
        table = with_scores(rankings({"q1": documents}), [[1.0, 1.0]])
        first = 1.0 if documents[0] == "dB" else 0.5
        found = {ties: scored(table, labels, "RR", ties=ties)["q1"] for ties in ("trec", "input", "expected")}
        assert found == {"trec": 1.0, "input": first, "expected": 0.75}


def test_trap_T1_forty_tied_documents() -> None:
    # d40 ... d01: the only relevant one, d03, is the 38th
    names = [f"d{at:02}" for at in range(1, 41)]
    table = with_scores(rankings({"q": names}), [[0.5] * 40])
    labels = labels_table({("q", "d03"): 1})
    assert scored(table, labels, "RR", ties="trec")["q"] == pytest.approx(1 / 38)


def test_expected_ties_go_by_score_first() -> None:
    table = with_scores(rankings({"q1": ["dB", "dA"]}), [[1.0, 2.0]])
    assert scored(table, labels_table({("q1", "dA"): 1}), "RR", ties="expected")["q1"] == 1.0


def test_trap_T7_fewer_than_k_documents() -> None:
    # dA, dB relevant, dC unjudged; two more relevant ones are not retrieved
    labels = labels_table({("q", name): 1 for name in ("dA", "dB", "dX", "dY")})
    expected = {
        "P@10": 0.2,  # over K
        "R@10": 0.5,
        "AP": 0.5,  # (1 + 1) / 4
        "AP@10": 0.5,
        "nDCG@10": 0.636682,
        "Rprec": 0.5,
        "Success@10": 1.0,
        "Judged@10": 2 / 3,  # over what was returned
        "T@10": 0.1,  # .5 * 2 / 10
        "T(unjudged=negative)@10": 0.05,  # (.5 * 2 - .5) / 10: the seven empty slots cost nothing
    }
    found = {text: scored(rankings({"q": ["dA", "dB", "dC"]}), labels, text)["q"] for text in expected}
    assert found == pytest.approx(expected, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["trec", "expected"]), st.sampled_from(["zero", "skip"]))
def test_trap_T11_scores_do_not_depend_on_the_order_of_rows_or_of_tied_documents(
    random: object, ties: str, missing: str
) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    queries = [f"q{at}" for at in range(6)]
    rows = [
        {
            "query_id": query_id,
            "query": None,
            "run": run,
            "doc_ids": [f"d{at}" for at in rng.permutation(8)],
            "texts": [None] * 8,
            "scores": rng.integers(0, 3, 8).astype(float).tolist(),
            "labels": [None] * 8,
        }
        for query_id in queries[1:]
        for run in ("x", "y")
    ]
    labels = labels_table({(q, f"d{at}"): float(rng.integers(0, 3)) for q in queries[:5] for at in range(8)})
    measures = [parse_measure(text) for text in ("P@3", "AP", "nDCG@5", "RR", "T@4")]

    def by_query(order: list[int], within: list[int], labels_order: list[int]) -> dict[tuple[str, str], list[object]]:
        shuffled = [
            {key: [value[at] for at in within] if isinstance(value, list) else value for key, value in rows[at].items()}
            for at in order
        ]
        table = pa.Table.from_pylist(shuffled, schema=RANKINGS)
        policies = Policies(ties=ties, missing=missing)  # type: ignore[arg-type]
        found = policy_scores(prepare(table, labels.take(labels_order), policies), measures)
        return {(row["query_id"], row["run"]): list(row.values())[2:] for row in found.to_pylist()}

    plain = by_query(list(range(len(rows))), list(range(8)), list(range(labels.num_rows)))
    other = by_query(
        rng.permutation(len(rows)).tolist(), rng.permutation(8).tolist(), rng.permutation(labels.num_rows).tolist()
    )
    assert repr(sorted(plain.items())) == repr(sorted(other.items()))  # to the last bit; NaN is NaN


def test_trap_14_all_measures_have_one_denominator() -> None:
    table = rankings({"q1": ["dA"], "q9": ["dA"]})
    found = policy_scores(prepare(table, TWO), [parse_measure(text) for text in ("RR", "nDCG@10", "P@1", "AP")])
    assert found.num_rows == 2
    assert all(found.column(name).null_count == 0 for name in ("RR", "nDCG@10", "P@1", "AP"))


def test_labels_inside_the_rankings_set_no_queries_of_their_own() -> None:
    prepared = prepare(rankings({"q1": ["dA"]}), None, Policies(missing="error", extra="error"))
    assert (prepared.runs, prepared.judged.num_rows) == ((), 1)


def test_bounds_keep_to_the_value_a_policy_gave() -> None:
    policies = Policies(missing="worst", unjudged="bounds")
    measures = [parse_measure("T@2")]
    prepared = prepare(rankings({"q1": ["dA", "dX"]}), TWO, policies)
    found = policy_bounds(prepared, policy_scores(prepared, measures), measures)
    # q1: dX negative or positive; q2 is missing and has the lowest value
    assert found.low.column("T@2").to_pylist() == [0.0, -0.5]
    assert found.high.column("T@2").to_pylist() == [0.5, -0.5]


def test_bounds_reach_down_to_the_zero_of_a_query_without_relevant_documents() -> None:
    labels = labels_table({("q1", "dA"): 0})
    policies = Policies(no_relevant="zero", unjudged="bounds")
    measures = [parse_measure("R@2")]
    prepared = prepare(rankings({"q1": ["dA", "dX"]}), labels, policies)
    scores = policy_scores(prepared, measures)
    found = policy_bounds(prepared, scores, measures)
    assert scores.column("R@2").to_pylist() == [0.0]
    assert (found.low.column("R@2").to_pylist(), found.high.column("R@2").to_pylist()) == ([0.0], [1.0])


BAD = [
    ({"ties": "random"}, "ties must be one of trec, input, expected, got 'random'"),
    ({"missing": "one"}, "missing must be one of zero, worst, skip, error, got 'one'"),
    ({"unjudged": "bounds", "ties": "expected"}, "unjudged=bounds needs one order of the documents"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_policies_that_do_not_exist_or_go_together_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Policies(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_trec_eval_counts_unjudged_documents_as_negative_in_t_too() -> None:
    assert Policies(ties="trec", no_relevant="zero") == TREC_EVAL
    assert str(as_trec_eval(parse_measure("T(alpha=0.3)@5"))) == "T(alpha=0.3,unjudged=negative)@5"
    assert as_trec_eval(parse_measure("P@5")) == parse_measure("P@5")


def test_what_was_done_is_said_in_sentences() -> None:
    table = with_scores(
        rankings({"q1": ["dA", "q1", "dA"], "q4": ["dA"], "q9": ["dA"]}), [[1.0, 2.0, 3.0], [1.0], [1.0]]
    )
    labels = pa.concat_tables([TWO, graded({("q4", "dA"): 0, ("q4", "dB"): -2})])
    policies = Policies(ties="trec", duplicates="max", identical_ids="drop", unjudged="skip")
    assert account(prepare(table, labels, policies), 3) == (
        "Over 3 labelled queries.",
        "No ranking for 1 labelled query: scored as empty rankings.",
        "No label for 1 query ranked: left out.",
        "No relevant document for 1 query: undefined for measures that divide by their number.",
        "1 ranking put in the order of the scores.",
        "1 document dropped: the id is that of the query.",
        "1 document dropped: there twice, the best-scored kept.",
        "1 grade below 0: unjudged.",
        "Unjudged documents were taken out first; judged is the share before that.",
    )


def test_nothing_is_said_of_what_did_not_occur() -> None:
    assert account(prepare(rankings({"q1": ["dA"], "q2": []}), TWO), 2) == ("Over 2 labelled queries.",)
    assert account(prepare(rankings({"q1": ["dA"]}), None), 1) == ("Over 1 query, by the labels inside the rankings.",)
