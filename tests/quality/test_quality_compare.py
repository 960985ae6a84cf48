"""Comparing runs: the same queries for all, names kept apart, tests corrected together, and what is refused."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from ragauge.errors import InputError
from ragauge.io import read_labels, read_rankings
from ragauge.measures import Policies, parse_measure
from ragauge.quality.compare import compare_systems, comparison_warnings
from ragauge.quality.systems import judge_systems, named_apart, pairs, score_systems
from ragauge.schema import LABELS, RANKINGS
from ragauge.stats import holm, paired_comparison

P2 = parse_measure("P@2")


def rankings(run, **queries):
    """`rankings("a", q1="d1 d2")`; labels inside where written d1:1."""
    rows = []
    for query_id, documents in queries.items():
        pairs_ = [one.partition(":") for one in documents.split()]
        n = len(pairs_)
        rows.append(
            {
                "query_id": query_id,
                "query": None,
                "run": run,
                "doc_ids": [one[0] for one in pairs_],
                "texts": [None] * n,
                "scores": [float(n - at) for at in range(n)],
                "labels": [float(one[2]) if one[2] else None for one in pairs_],
            }
        )
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def labels(**queries):
    """`labels(q1="d1:1 d2:0")`."""
    rows = [
        {"query_id": query_id, "doc_id": doc_id, "label": float(label), "reason": None, "judge": None}
        for query_id, documents in queries.items()
        for doc_id, _, label in (one.partition(":") for one in documents.split())
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)


A = rankings("a", q1="d1 d2", q2="d1 d2", q3="d1 d2")
B = rankings("b", q1="d1 d3", q2="d3 d4")
LABELLED = labels(q1="d1:1 d2:0 d3:1", q2="d1:1 d3:0", q3="d1:0 d2:1")


def systems(*tables, labelled=LABELLED, **options):
    return judge_systems(pa.concat_tables(tables), labelled, Policies(**options))


def test_query_without_a_ranking_counts_as_an_empty_one():
    # P@2: a .5 .5 .5; b 1 0 and q3 missing, so 0
    found = compare_systems(systems(A, B), [P2]).comparisons[0]
    assert (found.mean_baseline, found.mean_system) == pytest.approx((0.5, 1 / 3))
    assert (found.n, found.n_missing_baseline, found.n_missing_system) == (3, 0, 1)
    assert (found.wins, found.ties, found.losses) == (1, 0, 2)
    assert any("b has no ranking for 1 query" in one for one in comparison_warnings([found]))


def test_query_without_a_ranking_can_be_skipped_or_refused():
    found = compare_systems(systems(A, B, missing="skip"), [P2]).comparisons[0]
    assert (found.n, found.n_undefined, found.difference) == (2, 1, 0)
    with pytest.raises(InputError, match="query 'q3' has labels and no ranking in run 'b'"):
        systems(A, B, missing="error")


def test_labels_inside_the_rankings_need_no_file():
    one, other = rankings("a", q1="d1:1 d2:0", q2="d1:1 d2:1"), rankings("b", q1="d1:1 d3:1")
    found = compare_systems(judge_systems(pa.concat_tables([one, other]), None), [P2]).comparisons[0]
    # q2 is missing in b: (1 - .5, 0 - 1)
    assert (found.difference, found.n, found.n_missing_system) == (-0.25, 2, 1)


def test_comparison_is_that_of_the_scores_in_whatever_order_the_rows_stand():
    rng = np.random.default_rng(2)
    ids = [f"q{at}" for at in range(25)]
    labelled = labels(**{one: " ".join(f"d{at}:{int(rng.random() < 0.4)}" for at in range(9)) for one in ids})
    runs = [rankings(run, **{one: " ".join(f"d{at}" for at in rng.permutation(9)[:4]) for one in ids}) for run in "abc"]
    straight = systems(*runs, labelled=labelled)
    mixed = judge_systems(pa.concat_tables(runs).take(pa.array([*rng.permutation(75)])), labelled)
    measures = [parse_measure("P@4"), parse_measure("R@4")]
    one, other = compare_systems(straight, measures, baseline="a"), compare_systems(mixed, measures, baseline="a")
    assert {(c.measure, c.system): c for c in one.comparisons} == {(c.measure, c.system): c for c in other.comparisons}
    a, b, _ = score_systems(straight, measures)
    expected = paired_comparison(*(s.scores.column("R@4").to_numpy() for s in (a, b)), measure="R@4")
    found = next(c for c in one.comparisons if (c.measure, c.system) == ("R@4", "b"))
    assert (found.p, found.difference, found.low) == (expected.p, expected.difference, expected.low)
    assert [c.p_holm for c in one.comparisons] == pytest.approx(holm([c.p for c in one.comparisons]))
    assert [(c.measure, c.system) for c in one.comparisons] == [("P@4", "b"), ("P@4", "c"), ("R@4", "b"), ("R@4", "c")]


def test_single_comparison_needs_no_correction():
    found = compare_systems(systems(A, B), [P2]).comparisons[0]
    assert found.p_holm == found.p


def test_baseline_can_be_named():
    found = compare_systems(systems(A, B), [P2], baseline="b").comparisons[0]
    assert (found.baseline, found.system) == ("b", "a")
    with pytest.raises(InputError, match="no run 'c' to compare with; found: a, b"):
        compare_systems(systems(A, B), [P2], baseline="c")


def test_one_run_alone_cannot_be_compared():
    with pytest.raises(InputError, match="two runs or more, got a"):
        compare_systems(systems(A), [P2])


def test_undefined_values_are_counted():
    # nothing is relevant for q2, so recall is undefined there
    found = compare_systems(systems(A, B, labelled=labels(q1="d1:1", q2="d1:0", q3="d2:1")), [parse_measure("R@2")])
    assert (found.comparisons[0].n, found.comparisons[0].n_undefined) == (2, 1)


def test_clusters_are_looked_up_by_query():
    found = compare_systems(systems(A, B), [P2], clusters={"q1": "u", "q2": "u", "q3": "v"}).comparisons[0]
    assert (found.n, found.n_clusters) == (3, 2)
    with pytest.raises(InputError, match="2 of 3 queries have no cluster, such as 'q2', 'q3'"):
        compare_systems(systems(A, B), [P2], clusters={"q1": "u"})


def test_unequal_shares_of_judged_documents_are_a_warning():
    # a: 5 of its 6 documents have a label, b: 3 of 4
    unequal = compare_systems(systems(A, B), [P2]).comparisons
    assert any("83% of what a returned is judged, and 75% of what b" in one for one in comparison_warnings(unequal))
    equal = compare_systems(systems(A, rankings("c", q1="d2 d1", q2="d2 d1", q3="d2 d1")), [P2]).comparisons
    assert comparison_warnings(equal) == []  # they tie on every query, which is no reason for one


def test_policies_of_scoring_hold_for_comparing():
    # c's q1 has d9, which nobody judged, before the relevant d1: RR 1/2, and 1 in the condensed list
    late = rankings("c", q1="d9 d1", q2="d1", q3="d2")
    means = [
        compare_systems(systems(A, late, unjudged=choice), [parse_measure("RR@2")]).comparisons[0].mean_system
        for choice in ("negative", "skip")
    ]
    assert means == pytest.approx([2.5 / 3, 1])
    with pytest.raises(InputError, match="unjudged=bounds gives two"):
        systems(A, B, unjudged="bounds")


def test_so_few_differences_that_no_p_can_be_small_are_a_warning():
    found = compare_systems(systems(A, B), [P2]).comparisons
    assert any(
        "differs on 3 queries: with so few, p cannot fall below 0.25" in one for one in comparison_warnings(found)
    )


def test_no_defined_pair_is_a_warning():
    nothing = labels(q1="d1:0", q2="d1:0", q3="d1:0")
    found = compare_systems(systems(A, B, labelled=nothing), [parse_measure("R@2")])
    assert math.isnan(found.comparisons[0].p)
    assert any("no query has a value for both systems" in one for one in comparison_warnings(found.comparisons))


def test_per_query_values_of_every_comparison_are_a_table():
    table = compare_systems(systems(A, B), [P2]).per_query()
    assert table.column("query_id").to_pylist() == ["q1", "q2", "q3"]
    assert table.column("difference").to_pylist() == [0.5, -0.5, -0.5]
    assert set(table.column("system").to_pylist()) == {"b"}


def test_pairs_name_a_measure_that_is_not_there():
    a, b = score_systems(systems(A, B), [P2])
    with pytest.raises(InputError, match="a has no scores for R@2; found: P@2"):
        pairs(a, b, "R@2")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ([("x/a.run", "bm25"), ("x/b.run", "dense")], ["bm25", "dense"]),
        ([("x/a.run", "rank"), ("x/b.run", "rank")], ["a", "b"]),
        ([("x/a.run", "rank"), ("y/a.run", "rank")], ["rank (x/a.run)", "rank (y/a.run)"]),
        ([("a.run", "rank"), ("a.run", "rank")], ["rank (file 1)", "rank (file 2)"]),
        # the name of the second file is taken by a run of the third
        ([("a.run", "rank"), ("b.run", "rank"), ("c.run", "b")], ["a", "rank (b.run)", "c"]),
    ],
)
def test_trap_T16_runs_of_one_name_in_two_files_stay_apart(files, names):
    table = named_apart([(file, rankings(run, q1="d1")) for file, run in files])
    assert table.column("run").to_pylist() == names


def test_runs_of_one_file_keep_their_order_and_rows():
    both = pa.concat_tables([A, B])
    assert named_apart([("x.run", both)]).equals(both)


DATA = Path(__file__).parents[2].parent / "shared/data/trecdl-2019-passage"


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="no shared/data beside the checkout")
def test_two_real_runs_compare_as_trec_eval_and_scipy_do():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    paths = [DATA / f"runs/rankllm.{name}.run.gz" for name in ("BM25", "OPEN_AI_ADA2")]
    tables = [read_rankings(path) for path in paths]
    labelled = read_labels(DATA / "qrels.tsv")
    qrels, values = {}, []
    for row in labelled.to_pylist():
        qrels.setdefault(row["query_id"], {})[row["doc_id"]] = int(row["label"])
    for table in tables:
        run = {r["query_id"]: dict(zip(r["doc_ids"], r["scores"], strict=True)) for r in table.to_pylist()}
        found = pytrec_eval.RelevanceEvaluator(qrels, {"P_10"}, relevance_level=2).evaluate(run)
        values.append([found[query_id]["P_10"] for query_id in sorted(qrels)])
    expected = stats.ttest_rel(values[1], values[0])
    named = named_apart([(str(path), table) for path, table in zip(paths, tables, strict=True)])
    one = compare_systems(judge_systems(named, labelled), [parse_measure("P(rel=2)@10")]).comparisons[0]
    interval = expected.confidence_interval(0.95)
    assert (one.n, one.system) == (43, "rankllm.OPEN_AI_ADA2")
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high))
    assert one.p <= 0.001 and expected.pvalue <= 0.001
