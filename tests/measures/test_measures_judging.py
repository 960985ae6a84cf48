"""Labels meet rankings: by query and document, unjudged where there is none, and all problems told at once."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import labels_table, rankings

from ragauge.errors import InputError, SchemaError
from ragauge.measures import judge
from ragauge.schema import JUDGED


def column(table: pa.Table, name: str) -> list[object]:
    return table.column(name).to_pylist()


def with_labels(table: pa.Table, labels: list[list[float | None]]) -> pa.Table:
    at = table.schema.get_field_index("labels")
    return table.set_column(at, table.schema.field(at), pa.array(labels, pa.list_(pa.float64())))


def test_each_document_gets_the_label_of_its_query() -> None:
    labels = labels_table({("q1", "a"): 1, ("q2", "a"): 0, ("q2", "b"): 3, ("q9", "c"): 1})
    found = judge(rankings({"q1": ["a", "b"], "q2": ["b", "c", "a"]}), labels)
    assert column(found, "labels") == [[1, None], [3, None, 0]]
    assert found.schema.equals(JUDGED)


def test_pool_labels_are_all_labels_of_the_query_retrieved_or_not() -> None:
    labels = labels_table({("q1", "a"): 1, ("q2", "z"): 2, ("q1", "y"): 0, ("q1", "n"): None})
    found = judge(rankings({"q2": ["a"], "q1": ["a"]}), labels)
    assert column(found, "pool_labels") == [[2], [1, 0]]


def test_a_query_without_a_label_is_unjudged_and_its_pool_unknown() -> None:
    labels = labels_table({("q1", "a"): 1, ("q3", "a"): None})
    found = judge(rankings({"q1": ["a"], "q2": ["a", "b"], "q3": ["a"]}), labels)
    assert column(found, "labels") == [[1], [None, None], [None]]
    assert column(found, "pool_labels") == [[1], None, None]


def test_labels_given_replace_all_that_stand_inside() -> None:
    inside = with_labels(rankings({"q1": ["a", "b"]}), [[0, 1]])
    assert column(judge(inside, labels_table({("q1", "a"): 3})), "labels") == [[3, None]]


def test_without_labels_those_inside_are_used_and_the_pool_is_unknown() -> None:
    found = judge(with_labels(rankings({"q1": ["a", "b"]}), [[0, None]]), None)
    assert column(found, "labels") == [[0, None]]
    assert column(found, "pool_labels") == [None]


def test_incomplete_labels_leave_the_pool_unknown() -> None:
    found = judge(rankings({"q1": ["a"]}), labels_table({("q1", "a"): 1}), complete="unknown")
    assert column(found, "labels") == [[1]]
    assert column(found, "pool_labels") == [None]


def test_two_runs_of_a_query_are_judged_alike() -> None:
    both = pa.concat_tables([rankings({"q1": ["a", "b"]}, run="x"), rankings({"q1": ["b"]}, run="y")])
    found = judge(both, labels_table({("q1", "b"): 1}))
    assert column(found, "labels") == [[None, 1], [1]]
    assert column(found, "pool_labels") == [[1], [1]]


def test_empty_rankings_and_empty_tables_are_judged() -> None:
    assert column(judge(rankings({"q1": [], "q2": ["a"], "q3": []}), labels_table({("q2", "a"): 1})), "labels") == [
        [],
        [1],
        [],
    ]
    assert judge(rankings({}), labels_table({("q", "d"): 1})).num_rows == 0
    assert column(judge(rankings({"q": ["d"]}), labels_table({})), "labels") == [[None]]


def test_ids_that_run_together_are_kept_apart() -> None:
    labels = labels_table({("q", "11"): 1, ("q1", "1"): 0})
    assert column(judge(rankings({"q1": ["1", "11"], "q": ["1", "11"]}), labels), "labels") == [[0, None], [None, 1]]


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from("pqrs"), st.lists(st.sampled_from("abcdef"), unique=True), max_size=4),
    st.dictionaries(st.tuples(st.sampled_from("pqrs"), st.sampled_from("abcdef")), st.none() | st.integers(0, 3)),
    st.integers(0, 4),
)
def test_judging_equals_a_look_up_pair_by_pair_also_of_slices_and_chunks(
    documents: dict[str, list[str]], labels: dict[tuple[str, str], float | None], cut: int
) -> None:
    table = rankings(documents)
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    found = judge(table, labels_table(labels))
    assert column(found, "labels") == [[labels.get((q, d)) for d in docs] for q, docs in documents.items()]
    pools = [[label for (q, _), label in labels.items() if q == query and label is not None] for query in documents]
    assert column(found, "pool_labels") == [pool or None for pool in pools]


def test_a_document_twice_in_a_ranking_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="document 'a' stands more than once in the ranking of query 'q2'"):
        judge(rankings({"q1": ["a"], "q2": ["a", "b", "a"]}), None)


def test_a_pair_labelled_twice_is_refused_by_name() -> None:
    twice = pa.concat_tables([labels_table({("q1", "a"): 1, ("q1", "b"): 1}), labels_table({("q1", "a"): 0})])
    with pytest.raises(InputError, match="query 'q1', document 'a' has more than one label; keep one"):
        judge(rankings({"q1": ["a"]}), twice)


def test_a_pair_labelled_twice_is_refused_also_where_its_query_was_not_ranked() -> None:
    twice = pa.concat_tables([labels_table({("q1", "a"): 1, ("q2", "b"): 1}), labels_table({("q2", "b"): 1})])
    with pytest.raises(InputError, match="query 'q2', document 'b' has more than one label; keep one"):
        judge(rankings({"q1": ["a"]}), twice)


def test_two_rankings_of_one_query_and_run_are_refused() -> None:
    twice = pa.concat_tables([rankings({"q1": ["a"]}), rankings({"q1": ["b"]})])
    with pytest.raises(InputError, match="query 'q1' has more than one ranking of run 'run'"):
        judge(twice, None)


def test_all_problems_are_collected() -> None:
    twice = pa.concat_tables([labels_table({("q1", "a"): 1}), labels_table({("q1", "a"): float("nan")})])
    with pytest.raises(InputError) as caught:
        judge(rankings({"q1": ["x", "x"], "q2": ["y", "y"]}), twice)
    # x twice, y twice, the pair twice, and one of its labels is NaN
    assert len(caught.value.problems) == 4


def test_a_label_that_is_nan_is_refused_and_not_taken_for_zero() -> None:
    with pytest.raises(InputError, match="document 'a' is not finite; use null for unjudged"):
        judge(rankings({"q1": ["a"]}), labels_table({("q1", "a"): float("nan")}))
    with pytest.raises(InputError, match="query 'q1' has a label that is not finite"):
        judge(with_labels(rankings({"q1": ["a"]}), [[float("inf")]]), None)


def test_a_document_without_id_is_refused() -> None:
    table = rankings({"q1": ["a"]})
    at = table.schema.get_field_index("doc_ids")
    table = table.set_column(at, table.schema.field(at), pa.array([[None]], pa.list_(pa.string())))
    with pytest.raises(InputError, match="query 'q1' has a document without doc_id"):
        judge(table, None)


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="ranking of query 'q1': labels and doc_ids differ in length"):
        judge(with_labels(rankings({"q1": ["a", "b"]}), [[1]]), None)


def test_an_unknown_value_of_complete_is_refused() -> None:
    with pytest.raises(InputError, match="complete must be 'pool' or 'unknown', got 'yes'"):
        judge(rankings({}), None, complete="yes")  # type: ignore[arg-type]


def test_a_table_without_labels_column_is_refused() -> None:
    with pytest.raises(SchemaError, match="no column 'doc_id' in labels"):
        judge(rankings({}), pa.table({"query_id": ["q1"]}))
