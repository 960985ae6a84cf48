"""Which queries count: those with labels, whether a run has a ranking for them or not."""

import pyarrow as pa
import pytest
from measures_cases import labels_table, rankings

from ragauge.errors import InputError
from ragauge.measures import RunCoverage, cover
from ragauge.schema import LABELS, POOLED_UNJUDGED

QRELS = labels_table({("q1", "dA"): 1, ("q2", "dB"): 1})


def queries(table: pa.Table) -> list[tuple[str, str]]:
    return list(zip(table.column("run").to_pylist(), table.column("query_id").to_pylist(), strict=True))


def test_a_missing_query_gets_an_empty_ranking_and_is_counted() -> None:
    found = cover(rankings({"q1": ["dA"]}), QRELS)
    assert queries(found.rankings) == [("run", "q1"), ("run", "q2")]
    assert found.rankings.column("doc_ids").to_pylist() == [["dA"], []]
    assert found.missing.tolist() == [False, True]
    assert found.runs == (RunCoverage("run", n_ranked=1, n_missing=1, n_extra=0),)


def test_missing_queries_are_left_out_and_counted_when_asked() -> None:
    found = cover(rankings({"q1": ["dA"]}), QRELS, missing="skip")
    assert queries(found.rankings) == [("run", "q1")]
    assert found.runs[0].n_missing == 1


def test_missing_queries_are_refused_by_name_when_asked() -> None:
    with pytest.raises(InputError, match="query 'q2' has labels and no ranking in run 'run'"):
        cover(rankings({"q1": ["dA"]}), QRELS, missing="error")


def test_trap_T5_rankings_without_labels_are_left_out_and_counted() -> None:
    found = cover(rankings({"q9": ["dA"], "q1": ["dA"], "q2": []}), QRELS)
    assert queries(found.rankings) == [("run", "q1"), ("run", "q2")]
    assert found.runs == (RunCoverage("run", n_ranked=2, n_missing=0, n_extra=1),)


def test_trap_T5_rankings_without_labels_stay_or_are_refused_when_asked() -> None:
    table = rankings({"q9": ["dA"], "q1": ["dA"], "q2": []})
    found = cover(table, QRELS, extra="zero")
    assert found.extra.tolist() == [True, False, False]
    with pytest.raises(InputError, match="query 'q9' of run 'run' has no label"):
        cover(table, QRELS, extra="error")


def test_each_run_is_brought_to_the_same_queries() -> None:
    both = pa.concat_tables([rankings({"q1": ["dA"]}, run="x"), rankings({"q2": ["dB"], "q7": []}, run="y")])
    found = cover(both, QRELS)
    assert sorted(queries(found.rankings)) == [("x", "q1"), ("x", "q2"), ("y", "q1"), ("y", "q2")]
    assert [(run.run, run.n_ranked, run.n_missing, run.n_extra) for run in found.runs] == [
        ("x", 1, 1, 0),
        ("y", 1, 1, 1),
    ]


def test_trap_18_no_common_query_is_refused_with_samples_of_both_sides() -> None:
    table = rankings({f"doc-{at}": ["dA"] for at in range(5)})
    with pytest.raises(InputError) as caught:
        cover(table, QRELS)
    message = str(caught.value)
    assert "not one query of the rankings has a label" in message
    assert "'doc-0', 'doc-1', 'doc-2' and 2 more" in message and "'q1', 'q2';" in message


def test_labels_that_are_all_null_are_refused() -> None:
    with pytest.raises(InputError, match="hold no label that is not null"):
        cover(rankings({"q1": ["dA"]}), labels_table({("q1", "dA"): None}))


def test_a_query_whose_documents_were_pooled_and_not_judged_is_labelled() -> None:
    row = {"query_id": "q3", "doc_id": "dC", "label": None, "reason": POOLED_UNJUDGED, "judge": None}
    labels = pa.concat_tables([QRELS, pa.Table.from_pylist([row], schema=LABELS)])
    assert cover(rankings({"q1": ["dA"]}), labels).runs[0].n_missing == 2


def test_a_query_with_failed_labels_alone_is_not_labelled() -> None:
    labels = labels_table({("q1", "dA"): 1, ("q2", "dB"): None})
    assert cover(rankings({"q1": ["dA"]}), labels).runs[0].n_missing == 0


def test_no_rankings_cover_nothing() -> None:
    found = cover(rankings({}), QRELS)
    assert (found.rankings.num_rows, found.runs) == (0, ())


@pytest.mark.parametrize("options", [{"missing": "no"}, {"extra": "no"}])
def test_unknown_choices_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError, match="must be one of"):
        cover(rankings({}), QRELS, **options)  # type: ignore[arg-type]
