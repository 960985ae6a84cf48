"""Ratings: long and wide tables, labels as ratings, and what is refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ragauge.errors import FormatError
from ragauge.io import label_ratings, read_ratings
from ragauge.schema import LABELS

LONG = "answer,topic,who,grade\n1,t1,anna,2\n1,t1,ben,\n2,t2,anna,NA\n2,t2,ben,3\n"
WIDE = "answer\ttopic\tanna\tben\n1\tt1\t2\t\n2\tt2\tNA\t3\n"
ROWS = {("1", "anna", "2", "t1"), ("1", "ben", None, "t1"), ("2", "anna", None, "t2"), ("2", "ben", "3", "t2")}


def rows_of(table: pa.Table) -> set[tuple[str | None, ...]]:
    return {(row["unit_id"], row["rater"], row["rating"], row["cluster"]) for row in table.to_pylist()}


def test_long_and_wide_tables_hold_the_same_ratings(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "wide.tsv").write_text(WIDE)
    long = read_ratings(tmp_path / "long.csv", units=["answer"], raters=["who"], rating="grade", cluster="topic")
    wide = read_ratings(tmp_path / "wide.tsv", units=["answer"], raters=["anna", "ben"], cluster="topic")
    assert rows_of(long) == rows_of(wide) == ROWS


def test_json_lines_and_parquet_are_read_too(tmp_path: Path) -> None:
    table = pa.table({"answer": [1, 2], "topic": ["t1", "t2"], "anna": [2.0, None], "ben": [None, 3.0]})
    pq.write_table(table, tmp_path / "wide.parquet")
    (tmp_path / "wide.jsonl").write_text(
        '{"answer": 1, "topic": "t1", "anna": 2}\n{"answer": 2, "topic": "t2", "anna": null, "ben": 3}\n'
    )
    for name in ("wide.parquet", "wide.jsonl"):
        found = read_ratings(tmp_path / name, units=["answer"], raters=["anna", "ben"], cluster="topic")
        assert rows_of(found) == ROWS, name


def test_several_columns_name_a_unit_and_none_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(LONG)
    found = read_ratings(tmp_path / "long.csv", units=["topic", "answer"], raters=["who"], rating="grade")
    assert found.column("unit_id").to_pylist()[0] == "t1 / 1"
    assert found.column("cluster").to_pylist() == found.column("unit_id").to_pylist()


def test_labels_are_ratings_of_pairs_by_their_judge_or_by_name() -> None:
    labels = pa.Table.from_pylist(
        [
            {"query_id": "q", "doc_id": "d", "label": 1.0, "judge": None},
            {"query_id": "q", "doc_id": "e", "label": None, "judge": "gpt"},
            {"query_id": "q", "doc_id": "f", "label": 0.25, "judge": "gpt"},
        ],
        schema=LABELS,
    )
    assert rows_of(label_ratings({"people.csv": labels})) == {
        ("q / d", "people.csv", "1", "q"),
        ("q / e", "gpt", None, "q"),
        ("q / f", "gpt", "0.25", "q"),
    }


BAD = [
    (
        LONG,
        {"units": ["answer"], "raters": ["rater"], "rating": "grade"},
        "no column 'rater' in .*found: answer, topic",
    ),
    (LONG, {"units": [], "raters": ["who"], "rating": "grade"}, "name the columns of the unit and of the rater"),
    (LONG, {"units": ["answer"], "raters": ["who", "topic"], "rating": "grade"}, "one column names the rater"),
    ("a,b,c\n1,2\n", {"units": ["a"], "raters": ["b", "c"]}, "line 2: 2 fields, the header has 3"),
    ('a,b,c\n1,"2\n', {"units": ["a"], "raters": ["b", "c"]}, "line 2"),
    ("\n", {"units": ["a"], "raters": ["b", "c"]}, "empty"),
]


@pytest.mark.parametrize(("content", "options", "message"), BAD)
def test_bad_tables_are_refused(tmp_path: Path, content: str, options: dict[str, object], message: str) -> None:
    (tmp_path / "ratings.csv").write_text(content)
    with pytest.raises(FormatError, match=message):
        read_ratings(tmp_path / "ratings.csv", **options)


def test_json_without_any_of_the_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(FormatError, match="none of a, b found; there are: id"):
        read_ratings(tmp_path / "ratings.jsonl", units=["a"], raters=["b"])


def test_broken_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(FormatError, match="not a Parquet file that can be read"):
        read_ratings(tmp_path / "ratings.parquet", units=["a"], raters=["b"])
