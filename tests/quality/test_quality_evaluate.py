"""From rankings and labels to estimates by the policies; and trec_eval -c, mean for mean, on real runs."""

from math import isnan
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ragauge import Policies, assess, parse_measure, read_labels, read_rankings
from ragauge.measures import TREC_EVAL, as_trec_eval
from ragauge.ragged import from_arrow
from ragauge.results import Estimate
from ragauge.schema import LABELS, RANKINGS

DATA = Path(__file__).parents[2].parent / "shared/data"
RUNS = [
    path
    for folder in ("trecdl-2019-passage", "trecdl-2020-passage", "trec-covid-runs")
    for path in sorted((DATA / folder / "runs").glob("*.run.gz"))[:1]
]


def rankings(documents: dict[str, list[str]], run: str = "run") -> pa.Table:
    rows = [
        {
            "query_id": query_id,
            "query": None,
            "run": run,
            "doc_ids": names,
            "texts": [None] * len(names),
            "scores": [1.0] * len(names),
            "labels": [None] * len(names),
        }
        for query_id, names in documents.items()
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def labels(given: dict[tuple[str, str], int]) -> pa.Table:
    rows = [{"query_id": query, "doc_id": doc, "label": float(label)} for (query, doc), label in given.items()]
    return pa.Table.from_pylist(rows, schema=LABELS)


QRELS = labels({("q1", "a"): 1, ("q1", "b"): 0, ("q1", "z"): 1, ("q2", "c"): 1})


def only(found: object) -> Estimate:
    """The one estimate of the one run."""
    ((estimate,),) = found.estimates.values()  # type: ignore[attr-defined]
    return estimate


def test_the_mean_is_over_all_labelled_queries_and_says_what_it_rests_on() -> None:
    found = assess(rankings({"q1": ["a", "b"], "q9": ["a"]}), QRELS, [parse_measure("P@2")])
    estimate = only(found)
    # q1: 1/2, q2: no ranking, 0; the most there is: q1 2/2, q2 1/2
    assert (estimate.mean, estimate.n, estimate.judged) == (0.25, 2, 1.0)
    assert (estimate.n_tied, estimate.attainable) == (1, 0.75)
    assert found.n_queries == 2
    assert found.scores.column_names == ["query_id", "run", "P@2"]


def test_a_measure_that_can_reach_its_bound_has_no_other_ceiling() -> None:
    estimate = only(assess(rankings({"q1": ["a"], "q2": ["c"]}), QRELS, [parse_measure("P@1")]))
    assert isnan(estimate.attainable)


def test_trap_31_and_34_recall_at_one_cannot_reach_one_and_says_so() -> None:
    estimate = only(assess(rankings({"q1": ["a"], "q2": ["c"]}), QRELS, [parse_measure("R@1")]))
    assert (estimate.mean, estimate.attainable) == (0.75, 0.75)  # 1/2 and 1/1 of what there is


def test_bounds_stand_beside_the_mean_and_in_the_scores() -> None:
    table = rankings({"q1": ["a", "x"], "q2": ["c", "b"]})
    found = assess(table, QRELS, [parse_measure("P@2"), parse_measure("Judged@2")], Policies(unjudged="bounds"))
    (precision, share) = found.estimates["run"]
    # q1: a and perhaps x; q2: c and perhaps b, which has no label for q2
    assert (precision.bound_low, precision.mean, precision.bound_high) == (0.5, 0.5, 1.0)
    assert isnan(share.bound_low)
    assert found.scores.column("high P@2").to_pylist() == [1.0, 1.0]
    assert found.scores.column("low Judged@2").to_pylist() == [None, None]


def test_condensed_lists_are_scored_and_the_judged_share_is_that_before() -> None:
    estimate = only(
        assess(rankings({"q1": ["x", "a"], "q2": ["c"]}), QRELS, [parse_measure("RR")], Policies(unjudged="skip"))
    )
    assert (estimate.mean, estimate.judged) == (1.0, pytest.approx(2 / 3))


def test_runs_are_apart_and_over_the_same_queries() -> None:
    both = pa.concat_tables([rankings({"q1": ["a"]}, "x"), rankings({"q2": ["c"], "q1": []}, "y")])
    found = assess(both, QRELS, [parse_measure("P@1")])
    assert {run: (estimate.mean, estimate.n) for run, (estimate,) in found.estimates.items()} == {
        "x": (0.5, 2),
        "y": (0.5, 2),
    }


def test_without_labels_those_inside_are_used_and_the_ceiling_is_unknown() -> None:
    table = rankings({"q1": ["a", "b"]})
    place = RANKINGS.get_field_index("labels")
    table = table.set_column(place, RANKINGS.field(place), pa.array([[1.0, None]], pa.list_(pa.float64())))
    estimate = only(assess(table, None, [parse_measure("P@2")]))
    assert (estimate.mean, estimate.judged) == (0.5, 0.5)
    assert isnan(estimate.attainable)


MEASURES = {
    "P@10": "P_10",
    "R@100": "recall_100",
    "AP": "map",
    "AP@100": "map_cut_100",
    "RR": "recip_rank",
    "nDCG@10": "ndcg_cut_10",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "Success@5": "success_5",
    "T@1000": "utility",
}


def coarse(table: pa.Table) -> pa.Table:
    """The scores in steps of 1/8, which 32 bits hold, so that many documents are tied; and three queries gone."""
    scores = from_arrow(table.column("scores"))
    steps = pa.ListArray.from_arrays(pa.array(scores.offsets, pa.int32()), np.floor(scores.values * 8) / 8)
    place = RANKINGS.get_field_index("scores")
    return table.set_column(place, RANKINGS.field(place), steps).slice(3)


def means_of_trec_eval(table: pa.Table, known: pa.Table) -> dict[str, float]:
    """The means of trec_eval -c: over all labelled queries, what is missing being 0."""
    evaluators = pytest.importorskip("pytrec_eval_ext", reason="pytrec_eval-terrier is not installed")
    qrels: dict[str, dict[str, int]] = {}
    for row in known.to_pylist():
        qrels.setdefault(row["query_id"], {})[row["doc_id"]] = -1 if row["label"] is None else int(row["label"])
    columns = (table.column(name).to_pylist() for name in ("query_id", "doc_ids", "scores"))
    run = {query_id: dict(zip(docs, scores, strict=True)) for query_id, docs, scores in zip(*columns, strict=True)}
    families = ("P.10", "recall.100", "map", "map_cut.100", "recip_rank", "ndcg_cut.10", "Rprec", "bpref", "success.5")
    total: dict[str, float] = {}
    for family in (*families, "utility.0.5,-0.5,0,0"):
        evaluator = evaluators.RelevanceEvaluator(query_relevance=qrels, measures={family}, relevance_level=1)
        for values in evaluator.evaluate(run).values():
            for name, value in values.items():
                total[name] = total.get(name, 0.0) + value
    return {name: value / len(qrels) / (1000 if name == "utility" else 1) for name, value in total.items()}


@pytest.mark.data
@pytest.mark.skipif(not RUNS, reason="no shared/data beside the checkout")
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parts[-3])
def test_compat_means_are_those_of_trec_eval(path: Path) -> None:
    table, known = coarse(read_rankings(path)), read_labels(path.parents[1] / "qrels.tsv")
    found = assess(table, known, [as_trec_eval(parse_measure(text)) for text in MEASURES], TREC_EVAL)
    ((_, estimates),) = found.estimates.items()
    expected = means_of_trec_eval(table, known)
    for estimate, name in zip(estimates, MEASURES.values(), strict=True):
        assert estimate.mean == pytest.approx(expected[name], abs=1e-9), name
    assert found.prepared.changes.n_reordered > 0
    assert all(estimate.n == found.n_queries and estimate.n_undefined == 0 for estimate in estimates)
    assert sum(run.n_missing for run in found.prepared.runs) >= 1
    assert estimates[0].n_tied > 0
