"""The tables that cross package borders: what is checked, what is cast, what is refused."""

import pyarrow as pa
import pytest

from ragauge.errors import InputError, SchemaError
from ragauge.schema import CORPUS, JUDGED, LABELS, QUERIES, RANKINGS, check, conform


def labels(**columns: object) -> pa.Table:
    given: dict[str, object] = {"query_id": ["q1"], "doc_id": ["d1"], "label": [1.0]}
    return pa.table(given | columns)


def test_judged_rankings_are_rankings_and_the_labels_of_the_pool() -> None:
    assert JUDGED.names == [*RANKINGS.names, "pool_labels"]
    assert JUDGED.field("pool_labels").nullable


def test_check_lets_further_columns_pass() -> None:
    table = pa.table({"query_id": ["q1"], "query": ["why?"], "answer": ["so"], "extra": [1]})
    assert check(table, QUERIES, what="queries") is table


def test_a_missing_column_is_named_with_those_found() -> None:
    with pytest.raises(SchemaError, match=r"no column 'label' in labels\.csv; found: query_id, grade"):
        check(pa.table({"query_id": ["q1"], "grade": [1.0]}), LABELS, what="labels.csv")


def test_all_problems_of_a_table_are_collected() -> None:
    with pytest.raises(SchemaError) as caught:
        check(pa.table({"query_id": [1], "query": [None]}), QUERIES, what="queries")
    # query_id has another type, query has another type (null), answer is missing
    assert len(caught.value.problems) == 3


def test_a_wrong_type_is_named_with_the_right_one() -> None:
    table = pa.table({"doc_id": ["d"], "title": ["t"], "text": [7]})
    with pytest.raises(SchemaError, match="column 'text' of corpus is int64, must be string"):
        check(table, CORPUS, what="corpus")


def test_an_empty_value_in_a_required_column_is_counted() -> None:
    table = pa.table({"query_id": ["q1", None, None], "query": ["a"] * 3, "answer": pa.nulls(3, pa.string())})
    with pytest.raises(SchemaError, match="column 'query_id' of queries has 2 empty values"):
        check(table, QUERIES, what="queries")


def test_conform_fills_nullable_columns_with_null_and_keeps_the_order_of_the_schema() -> None:
    table = conform(labels(extra=["x"]).select(["label", "doc_id", "query_id", "extra"]), LABELS, what="labels")
    assert table.schema.equals(LABELS)
    assert table.to_pylist() == [{"query_id": "q1", "doc_id": "d1", "label": 1.0, "reason": None, "judge": None}]


def test_conform_casts_what_loses_nothing() -> None:
    given = labels(label=[3], query_id=pa.array(["q1"], pa.large_string()))
    assert conform(given, LABELS, what="labels").column("label").to_pylist() == [3.0]


def test_conform_refuses_what_cannot_be_read() -> None:
    with pytest.raises(SchemaError, match="column 'label' of labels cannot be read as double"):
        conform(labels(label=["yes"]), LABELS, what="labels")


def test_conform_refuses_a_missing_required_column() -> None:
    with pytest.raises(SchemaError, match="no column 'doc_id' in labels; found: query_id, label"):
        conform(labels().drop_columns(["doc_id"]), LABELS, what="labels")


def test_conform_keeps_a_table_without_rows() -> None:
    table = conform(labels().slice(0, 0), LABELS, what="labels")
    assert table.num_rows == 0
    assert table.schema.equals(LABELS)


def test_a_schema_error_is_an_input_error() -> None:
    assert issubclass(SchemaError, InputError)
