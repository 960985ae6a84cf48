"""Traps of other tools in scoring: equal scores, queries, documents and labels, through the public names.

docs/traps.md lists all traps.
"""

from collections.abc import Callable
from math import isnan, log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from ragauge import (
    Policies,
    assess,
    parse_measure,
    read_labels,
    read_rankings,
)
from ragauge.errors import InputError, MeasureError
from ragauge.measures import account
from ragauge.measures.registry import DEFINITIONS
from ragauge.schema import RANKINGS

Qrels = dict[str, dict[str, float]]
Documents = list[tuple[str, float]]

EVERY = {
    **{name: f"{name}@3" for name in ("n_p", "n_n", "P", "R", "F", "Fe", "T", "Success")},
    **{name: name for name in ("SetP", "SetF", "RR", "AP", "Rprec", "DCG", "nDCG", "RBP", "RBPres", "bpref", "infAP")},
    "SDCG": "SDCG(max_label=1)@3",
    "ERR": "ERR(max_label=1)",
    "Judged": "Judged@3",
    "UDCG": "UDCG",
}
"""One measure of each family."""


def run(rankings: dict[str, Documents], name: str = "run") -> pa.Table:
    """(document, score) pairs in the order given, which a dict of dicts would lose: it is read by score."""
    rows = [
        {
            "query_id": query_id,
            "query": None,
            "run": name,
            "doc_ids": [doc_id for doc_id, _ in documents],
            "texts": [None] * len(documents),
            "scores": [score for _, score in documents],
            "labels": [None] * len(documents),
        }
        for query_id, documents in rankings.items()
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def means(rankings: pa.Table, qrels: Qrels, *texts: str, **policies: Any) -> dict[str, float]:
    """Measure -> mean of the one run."""
    measures = [parse_measure(text) for text in texts]
    ((found,),) = [assess(rankings, read_labels(qrels), measures, Policies(**policies)).estimates.values()]
    return {text: estimate.mean for text, estimate in zip(texts, found, strict=True)}


def test_every_family_of_measures_takes_part() -> None:
    assert set(EVERY) == {definition.name for definition in DEFINITIONS}


TIED = run({"q1": [("dA", 1.0), ("dB", 1.0)]})


def test_trap_1_two_equivalent_runs_score_the_same_and_the_ties_are_counted() -> None:
    other = run({"q1": [("dB", 1.0), ("dA", 1.0)]})
    qrels = {"q1": {"dA": 0, "dB": 1}}
    for ties in ("trec", "expected"):
        assert means(TIED, qrels, *EVERY.values(), ties=ties) == means(other, qrels, *EVERY.values(), ties=ties)
    ((estimate,),) = assess(TIED, read_labels(qrels), [parse_measure("RR")]).estimates.values()
    assert estimate.n_tied == 1


ONE_ORDER = ("P@1", "RR", "RR@10", "nDCG@1", "AP", "Success@1", "Judged@1")


@pytest.mark.parametrize(("ties", "expected"), [("trec", [1] * 7), ("input", [0, 0.5, 0.5, 0, 0.5, 0, 0])])
def test_trap_2_all_measures_read_one_ranking(ties: str, expected: list[float]) -> None:
    # only dB has a label: it is first by id, dA first in the file; Judged@1 follows whichever is
    assert list(means(TIED, {"q1": {"dB": 1}}, *ONE_ORDER, ties=ties).values()) == expected


@pytest.mark.parametrize("ties", ["trec", "expected"])
def test_trap_4_a_constant_scorer_gains_nothing_by_the_order_it_was_given_in(ties: str) -> None:
    documents = [(f"d{at}", 0.0) for at in range(6)]
    qrels = {"q1": {"d0": 1.0, "d1": 0.0, "d2": 1.0, "d4": 0.0}}
    orders = (documents, documents[::-1], documents[3:] + documents[:3])
    found = [means(run({"q1": order}), qrels, *EVERY.values(), ties=ties) for order in orders]
    assert found[0] == found[1] == found[2]


def test_trap_7_the_expected_reciprocal_rank_over_ties() -> None:
    # dB is first or second: 1/2 at K = 1, (1 + 1/2) / 2 at K = 2
    found = means(TIED, {"q1": {"dA": 0, "dB": 1}}, "RR@1", "RR@2", ties="expected")
    assert found == {"RR@1": 0.5, "RR@2": 0.75}


SCORES = np.random.default_rng(10).normal(size=500) + 3


def as_bfloat16(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The upper half of each 32-bit number."""
    return (scores.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


ROUNDED: list[tuple[str, Callable[[npt.NDArray[np.float64]], npt.NDArray[Any]], str]] = [
    ("bfloat16", as_bfloat16, "All scores fit bfloat16"),
    ("float16", lambda scores: scores.astype(np.float16), "All scores fit float16"),
    ("float32", lambda scores: scores.astype(np.float32), "All scores fit float32"),
    ("float64", lambda scores: scores, ""),
    ("whole numbers", np.round, ""),  # counts and ranks tie for other reasons
    ("halves", lambda scores: np.round(scores * 2) / 2, ""),  # a coarse scale, not a number format
]


@pytest.mark.parametrize(("name", "rounded", "said"), ROUNDED, ids=[name for name, *_ in ROUNDED])
def test_trap_10_equal_scores_that_may_be_rounded_are_said(
    name: str, rounded: Callable[[npt.NDArray[np.float64]], npt.NDArray[Any]], said: str
) -> None:
    scores = np.append(rounded(SCORES), rounded(SCORES[:1]))  # the last and the first are equal
    table = run({"q1": [(f"d{at}", float(score)) for at, score in enumerate(scores)]})
    labels = read_labels({"q1": {"d0": 1, "d500": 0}})
    found = assess(table, labels, [parse_measure("RR")], Policies(ties="trec"))
    lines = [line for line in account(found.prepared, 1) if line.startswith("All scores fit")]
    assert [line[: len(said)] for line in lines] == ([said] if said else [])


def test_trap_10_rounded_scores_without_a_tie_that_matters_are_not_mentioned() -> None:
    table = run({"q1": [("a", float(np.float16(0.7))), ("b", float(np.float16(0.3)))]})
    found = assess(table, read_labels({"q1": {"a": 1, "b": 0}}), [parse_measure("RR")])
    assert account(found.prepared, 1) == ("Over 1 labelled query.",)


def test_trap_13_the_mean_is_over_all_labelled_queries_and_not_over_those_in_both_files() -> None:
    qrels = {"q1": {"dA": 1}, "q2": {"dB": 1}, "q3": {"dC": 1}}
    assert means(run({"q1": [("dA", 1)], "q9": [("dA", 1)]}), qrels, "P@1", "RR") == {"P@1": 1 / 3, "RR": 1 / 3}


def test_trap_15_queries_that_were_not_asked_are_zero_and_counted_and_an_empty_run_has_a_mean() -> None:
    qrels = {"q1": {"dA": 1}, "q2": {"dB": 1}}
    found = assess(run({"q1": []}), read_labels(qrels), [parse_measure(text) for text in ("P@1", "AP", "Judged@1")])
    ((precision, average, share),) = found.estimates.values()
    assert (precision.mean, average.mean, precision.n, average.n) == (0, 0, 2, 2)
    assert (share.n, share.n_undefined, isnan(share.mean)) == (0, 2, True)  # nothing returned, so no share of it
    assert [(each.n_ranked, each.n_missing) for each in found.prepared.runs] == [(1, 1)]


def test_trap_16_a_query_nobody_judged_is_not_a_zero() -> None:
    table, qrels = run({"q1": [("dA", 1)], "q2": [("dA", 1)]}), {"q1": {"dA": 1}}
    assert means(table, qrels, "P@1") == {"P@1": 1.0}
    assert means(table, qrels, "P@1", extra="zero") == {"P@1": 0.5}


@pytest.mark.parametrize("column", ["label", "relevance"])
def test_trap_16_a_null_label_is_not_the_score_beside_it(column: str) -> None:
    rows = [
        {"query_id": "q1", "doc_id": "dA", "score": 3.5, column: None},
        {"query_id": "q1", "doc_id": "dB", "score": 2.5, column: 1},
    ]
    for source in (rows, pa.Table.from_pylist(rows)):
        assert read_labels(source).column("label").to_pylist() == [None, 1.0]
        assert read_rankings(source).column("labels").to_pylist() == [[None, 1.0]]


def test_trap_20_ndcg_without_a_relevant_document_is_undefined_or_zero_as_told_and_counted() -> None:
    table, qrels = run({"q1": [("dA", 1)], "q2": [("dB", 1)]}), {"q1": {"dA": 1}, "q2": {"dB": 0}}
    ((estimate,),) = assess(table, read_labels(qrels), [parse_measure("nDCG@10")]).estimates.values()
    assert (estimate.mean, estimate.n, estimate.n_undefined) == (1.0, 1, 1)
    assert means(table, qrels, "nDCG@10", no_relevant="zero") == {"nDCG@10": 0.5}
    # relevant documents there are, none of them retrieved: a zero
    assert means(run({"q1": [("dX", 1)]}), {"q1": {"dA": 1}}, "nDCG@10") == {"nDCG@10": 0.0}


@pytest.mark.parametrize("seed", range(8))
def test_trap_21_a_query_without_labels_or_hits_leaves_the_values_of_others_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents = {
        f"q{at}": [(f"d{doc}", float(rng.integers(4))) for doc in rng.permutation(9)[: rng.integers(0, 9)]]
        for at in range(12)
    }
    qrels = {
        f"q{at}": {f"d{doc}": float(rng.integers(2)) for doc in rng.permutation(9)[: rng.integers(0, 5)]}
        for at in range(12)
    }
    measures = [parse_measure(text) for text in EVERY.values()]
    labelled = [query for query in documents if qrels[query]]
    together = assess(run(documents), read_labels(qrels), measures, Policies(ties="trec")).scores
    rows = {row["query_id"]: repr(row) for row in together.to_pylist()}
    assert set(rows) == set(labelled)
    for query in labelled:
        alone = assess(
            run({query: documents[query]}), read_labels({query: qrels[query]}), measures, Policies(ties="trec")
        )
        assert repr(alone.scores.to_pylist()[0]) == rows[query]


def test_trap_22_a_document_twice_is_refused_or_the_better_one_kept_and_chunks_become_documents() -> None:
    qrels = {"q1": {"dA": 1, "dB": 0}}
    twice = run({"q1": [("dA", 3.0), ("dB", 2.0), ("dA", 1.0)]})
    with pytest.raises(InputError, match="'dA' stands more than once in the ranking of query 'q1'"):
        means(twice, qrels, "RR")
    for policy in ("first", "max"):  # the last one would make it 1/2
        assert means(twice, qrels, "RR", duplicates=policy) == {"RR": 1.0}
    chunks = run({"q1": [("dB#1", 0.5), ("dA#1", 0.4), ("dA#2", 0.9)]})
    expected = {"first": 0.5, "max": 1.0}  # dA stands where its first or its best chunk stood
    for policy, value in expected.items():
        found = means(chunks, qrels, "RR", "AP", collapse=policy, doc_id_rule="#", ties="input")
        assert found == ({"RR": value, "AP": value} if policy == "first" else {"RR": 0.5, "AP": 0.5})
    assert means(chunks, qrels, "RR", collapse="max", doc_id_rule="#", ties="trec") == {"RR": 1.0}


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_trap_26_a_level_is_used_or_refused_by_every_measure(definition: Any) -> None:
    text = EVERY[definition.name]
    name, _, cutoff = text.partition("@")
    inside = name[:-1] + ",rel=2)" if name.endswith(")") else f"{name}(rel=2)"
    levelled = inside + (f"@{cutoff}" if cutoff else "")
    if not parse_measure(text).uses_rel:
        with pytest.raises(MeasureError, match="rel"):
            parse_measure(levelled)
        return
    # grades 1 and 2 with level 2 are 0 and 1 with level 1
    table = run({"q1": [("a", 3.0), ("b", 2.0), ("c", 1.0)]})
    high = means(table, {"q1": {"a": 1, "b": 2, "c": 0, "z": 2}}, levelled)[levelled]
    assert high == means(table, {"q1": {"a": 0, "b": 1, "c": 0, "z": 1}}, text)[text]


OUT_OF_RANGE = [
    ({"q1": {"dA": float("nan")}}, {"q1": {"dA": 1}}, "finite"),
    ({"q1": {"dA": float("inf")}}, {"q1": {"dA": 1}}, "finite"),
    ({"q1": {"dA": 1.0}}, {"q1": {"dA": float("nan")}}, "finite"),
    (
        {"q1": {"dA": 1.0}},
        [{"query_id": "q1", "doc_id": "dA", "label": "good"}],
        'a number or null, got the string "good"',
    ),
    ([{"query_id": "q1", "doc_id": "dA", "score": "high"}], {"q1": {"dA": 1}}, "a finite number, got 'high'"),
]


@pytest.mark.parametrize(("scores", "labels", "message"), OUT_OF_RANGE)
def test_trap_27_a_score_or_label_that_is_no_finite_number_is_refused(scores: Any, labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        assess(read_rankings(scores), read_labels(labels), [parse_measure("P@1")])


def test_trap_27_scores_may_be_any_finite_number() -> None:
    scores = {"dA": -1e300, "dB": 1e300, "dC": 0.0}
    assert means(read_rankings({"q1": scores}), {"q1": {"dC": 1}}, "RR", ties="trec") == {"RR": 0.5}


def test_trap_30_the_gain_is_in_the_name_of_the_measure() -> None:
    # dC, dB, dA, dD of grades 1, 2, 3, 0: gains 1, 2, 3 or 1, 3, 7
    table = run({"q1": [("dC", 4.0), ("dB", 3.0), ("dA", 2.0), ("dD", 1.0)]})
    qrels = {"q1": {"dA": 3, "dB": 2, "dC": 1, "dD": 0}}
    found = means(table, qrels, "nDCG@10", "nDCG(gain=exponential)@10")
    assert list(found) == [str(parse_measure(text)) for text in found]
    a = 1 / log2(3)
    assert list(found.values()) == pytest.approx([(1 + 2 * a + 1.5) / (3 + 2 * a + 0.5), (4.5 + 3 * a) / (7.5 + 3 * a)])


def test_trap_T11_dicts_are_matched_by_query_and_not_by_position() -> None:
    qrels = {"q1": {"dA": 1}, "q2": {"dB": 1}}
    assert means(read_rankings({"q2": {"dB": 1.0}, "q1": {"dA": 1.0}}), qrels, "P@1") == {"P@1": 1.0}


def test_trap_T13_a_document_judged_for_another_query_is_not_judged_for_this_one() -> None:
    # q1 returns dA, judged for q1; q2 returns dA, judged for q1 only
    table, qrels = run({"q1": [("dA", 1.0)], "q2": [("dA", 1.0)]}), {"q1": {"dA": 1}, "q2": {"dB": 1}}
    assert means(table, qrels, "Judged@1") == {"Judged@1": 0.5}
