"""Files with a row a query: what `score --per-query` wrote is read back, and what is wrong is named."""

import math

import pyarrow as pa
import pytest

from ragauge.errors import FormatError
from ragauge.io import is_per_query, read_clusters, read_scores, write_table

SCORES = pa.table({"query_id": ["q1", "q2", "q3"], "run": ["a", "a", "a"], "P@10": [0.5, math.nan, None]})
RANKING = '{"query_id": "q1", "documents": [{"doc_id": "d1"}]}\n'


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv", "csv.gz"])
def test_written_scores_are_read_back_with_null_and_nan_apart(tmp_path, suffix):
    path = tmp_path / f"scores.{suffix}"
    write_table(SCORES, path)
    assert is_per_query(path)
    found = read_scores(path)
    assert found.column_names == ["query_id", "run", "P@10"]
    first, undefined, missing = found.column("P@10").to_pylist()
    assert (first, missing) == (0.5, None)
    assert math.isnan(undefined)


def test_a_table_with_lists_is_no_per_query_file(tmp_path):
    write_table(pa.table({"query_id": ["q1"], "retrieved": [["d1", "d2"]]}), tmp_path / "a.parquet")
    assert not is_per_query(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", RANKING),
        ("a.jsonl", RANKING.replace('"d1"', '"' + "d" * 9000 + '"')),
        ("a.run", "q1 Q0 d1 1 3.0 a\n"),
        ("a.csv", "query_id,doc_id,rank\nq1,7,1\n"),
        ("a.jsonl", '{"query_id": "q1", "contexts": ["some text"]}\n'),
        ("a.json", '{\n  "query_id": "q1"\n}\n'),  # a record over several lines
    ],
)
def test_rankings_are_no_per_query_file(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert not is_per_query(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query_id,run,P@10\nq1,a,high\n", "line 2: 'P@10' must be a number, got 'high'"),
        ("query_id,run,P@10\nq1,a,1\nq1,a,0\n", "line 3: query 'q1' of run 'a' stands on line 2 already"),
        ("query_id,run,P@10\nq1,a\n", "line 2: 2 fields, the header has 3"),
        ("id,P@10\nq1,1\n", "no value for 'query_id'; found: id, P@10"),
        ("query_id,run\nq1,a\n", "no column of scores"),
    ],
)
def test_what_is_wrong_with_scores_is_named(tmp_path, content, message):
    (tmp_path / "scores.csv").write_text(content)
    with pytest.raises(FormatError, match=message):
        read_scores(tmp_path / "scores.csv")


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("a.csv", "query_id,session_id\n1,s1\n2,s1\n", None),
        ("a.tsv", "qid\tuser\tsession_id\n1\tu\ts1\n2\tu\ts1\n", "session_id"),
        ("a.jsonl", '{"query_id": 1, "session_id": "s1"}\n{"query_id": 2, "session_id": "s1"}\n', None),
    ],
)
def test_clusters_are_read_from_any_table(tmp_path, name, content, column):
    (tmp_path / name).write_text(content)
    assert read_clusters(tmp_path / name, column) == {"1": "s1", "2": "s1"}


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        ("query_id,user,session\n1,u,s\n", None, r"cluster by \(--cluster-by\); found: user, session"),
        ("query_id,user\n1,\n", None, "no value for 'user'"),
        ("query_id,user\n1,u\n", "session", "no value for 'session'; found: query_id, user"),
        ("query_id,user\n1,u\n1,v\n", None, "query '1' stands on line 2 already"),
    ],
)
def test_what_is_wrong_with_clusters_is_named(tmp_path, content, column, message):
    (tmp_path / "users.csv").write_text(content)
    with pytest.raises(FormatError, match=message):
        read_clusters(tmp_path / "users.csv", column)
