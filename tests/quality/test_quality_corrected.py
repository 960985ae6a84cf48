"""`correct`: rankings with two kinds of labels become corrected means, one a run and measure."""

import pyarrow as pa
import pytest

from ragauge import InputError, correct, judge, parse_measure
from ragauge.schema import LABELS, RANKINGS
from ragauge.stats import corrected_difference, corrected_mean

MODEL = {"bm25": [1, 0, 1, 1, 0, 1], "dense": [1, 1, 1, 0, 0, 1]}
PEOPLE = {"bm25": [1, 0, 0, 1, None, None], "dense": [1, 1, 1, 1, None, None]}


def rankings() -> pa.Table:
    """Two runs of six queries with one document each."""
    rows = [
        {
            "query_id": f"q{q}",
            "query": None,
            "run": run,
            "doc_ids": [f"{run}-{q}"],
            "texts": [None],
            "scores": [None],
            "labels": [float(label)],
        }
        for run, labels in MODEL.items()
        for q, label in enumerate(labels)
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def people() -> pa.Table:
    rows = [
        {"query_id": f"q{q}", "doc_id": f"{run}-{q}", "label": label, "reason": None, "judge": None}
        for run, labels in PEOPLE.items()
        for q, label in enumerate(labels)
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)


def test_each_run_and_its_difference_to_the_first_are_those_of_the_columns() -> None:
    table = rankings()
    found = correct(judge(table, None), judge(table, people()), [parse_measure("P@1")], target="these")
    options = {"measure": "P@1", "bounds": (0, 1), "target": "these"}
    assert [one.run for one in found] == ["bm25", "dense", "dense - bm25"]
    assert found[0].estimate == corrected_mean(PEOPLE["bm25"], MODEL["bm25"], **options)
    people_pair, model_pair = ((values["dense"], values["bm25"]) for values in (PEOPLE, MODEL))
    hidden = tuple([float("nan") if one is None else one for one in values] for values in people_pair)
    assert found[2].estimate == corrected_difference(hidden, model_pair, **options)


def test_runs_are_compared_over_the_queries_both_have() -> None:
    table = rankings()
    without = table.filter(pa.array([True] * 6 + [True] * 5 + [False]))
    found = correct(judge(without, None), judge(without, people()), [parse_measure("P@1")])
    assert (found[1].estimate.n_model, found[2].estimate.n_human, found[2].estimate.n_model) == (1, 4, 1)


def test_ranking_without_documents_counts_where_people_labelled_its_query() -> None:
    rows = rankings().to_pylist()
    for row in (rows[6], rows[11]):  # dense on q0, which people labelled, and on q5, which they did not
        row.update(doc_ids=[], texts=[], scores=[], labels=[])
    table = pa.Table.from_pylist(rows, schema=RANKINGS)
    dense = correct(judge(table, None), judge(table, people()), [parse_measure("P@1")])[1].estimate
    assert (dense.n_human, dense.n_model) == (4, 2)
    assert dense.human_mean == 0.75  # 0 in place of 1 on q0


def test_tables_of_different_rankings_are_refused() -> None:
    table = judge(rankings(), None)
    with pytest.raises(InputError, match="same rankings in the same order; query_id differs"):
        correct(table, table.take(list(range(11, -1, -1))), [parse_measure("P@1")])
