"""Scores: a number, NaN where undefined, null where it could not be computed."""

import math
import subprocess
import sys

import pytest
from measures_cases import judged, labels_table, rankings

from ragauge.errors import InputError, MeasureError
from ragauge.measures import judge, judged_share, parse_measure, score


def test_columns_are_named_by_the_printed_form_and_rows_keep_their_order() -> None:
    table = judge(rankings({"q2": ["a"], "q1": ["b", "a"]}, run="x"), labels_table({("q1", "a"): 1, ("q2", "a"): 1}))
    found = score(table, [parse_measure("t(alpha=0.50)@2"), parse_measure("P@1")])
    assert found.column_names == ["query_id", "run", "T@2", "P@1"]
    assert found.to_pylist() == [
        {"query_id": "q2", "run": "x", "T@2": 0.25, "P@1": 1.0},
        {"query_id": "q1", "run": "x", "T@2": 0.25, "P@1": 0.0},
    ]


def test_a_measure_given_twice_is_one_column() -> None:
    found = score(judged([[1]]), [parse_measure("P@1"), parse_measure("p(rel=1)@1")])
    assert found.column_names == ["query_id", "run", "P@1"]


def test_null_is_no_pool_and_nan_is_undefined() -> None:
    table = judged([[1, 0], [1, 0], [0]], [[1, 0, 1], None, [0]])
    for text, first in (("R@2", 0.5), ("F@2", 0.5), ("nDCG@2", 1 / (1 + 1 / math.log2(3)))):
        values = score(table, [parse_measure(text)]).column(text).to_pylist()
        assert values[0] == pytest.approx(first)
        assert values[1] is None
        assert math.isnan(values[2])


def test_measures_without_pool_are_computed_beside_null_ones() -> None:
    found = score(judged([[1], [1]], [[1], None]), [parse_measure("R@1"), parse_measure("P@1")])
    assert found.column("R@1").null_count == 1
    assert found.column("P@1").to_pylist() == [1.0, 1.0]


def test_a_measure_that_needs_the_pool_is_refused_when_no_query_has_one() -> None:
    with pytest.raises(MeasureError) as caught:
        score(judged([[1]]), [parse_measure("R@1"), parse_measure("P@1"), parse_measure("nDCG@1")])
    message = str(caught.value)
    assert message.startswith("R@1, nDCG@1 must know the labels of documents that were not retrieved")
    assert "use what works without: n_p, n_n, P, " in message
    assert "nDCG(ideal=retrieved)" in message


def test_no_measure_is_refused() -> None:
    with pytest.raises(MeasureError, match="no measure given; give at least one, such as 'P@10'"):
        score(judged([[1]]), [])


def test_a_table_without_rows_gives_empty_columns() -> None:
    found = score(judged([]), [parse_measure("P@1"), parse_measure("R@1")])
    assert found.num_rows == 0
    assert [str(type_) for type_ in found.schema.types] == ["string", "string", "double", "double"]


@pytest.mark.parametrize(
    ("row", "pool"),
    [
        ([1, 1], [1]),  # more labels than the pool
        ([1, 0], [0, 0]),  # a positive that the pool lacks
        ([0, 2], [1, 1, 0]),  # a grade that the pool lacks
    ],
)
def test_retrieved_labels_that_are_missing_from_the_pool_are_refused(row: list[float], pool: list[float]) -> None:
    with pytest.raises(InputError, match="query 'q1': labels of its ranking are not all in pool_labels"):
        score(judged([[1], row], [[1], pool]), [parse_measure("R@2")])


def test_unjudged_documents_need_not_be_in_the_pool() -> None:
    found = score(judged([[None, 1, None]], [[1]]), [parse_measure("R@2")])
    assert found.column("R@2").to_pylist() == [1.0]


def test_a_label_that_is_nan_is_refused() -> None:
    with pytest.raises(InputError, match="a label of query 'q1' is not finite"):
        score(judged([[1], [math.nan]]), [parse_measure("P@1")])


def test_judged_share_weighs_every_document_alike() -> None:
    # within the top 2: two of two, none of one: 2/3, while the mean of Judged@2 is 1/2
    assert judged_share(judged([[1, 0, None], [None], []]), parse_measure("P@2")) == pytest.approx(2 / 3)


def test_judged_share_of_fe_counts_down_to_xk() -> None:
    assert judged_share(judged([[1, None, None, 0, None]]), parse_measure("Fe(x=2)@2")) == 0.5


def test_judged_share_of_nothing_is_nan() -> None:
    assert math.isnan(judged_share(judged([[]]), parse_measure("P@2")))


def test_importing_measures_loads_numpy_and_pyarrow_only() -> None:
    code = (
        "import sys, ragauge.measures;"
        "heavy = {'polars', 'scipy', 'click', 'rich', 'sqlalchemy', 'aiohttp', 'pandas'} & set(sys.modules);"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
