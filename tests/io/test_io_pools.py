"""Pools: what is read, what is refused, and every pool file of the public data."""

import gzip
import json
from pathlib import Path

import pytest

from ragauge.errors import FormatError
from ragauge.io import read_pools, scan_pools
from ragauge.schema import POOLS, check

DATA = Path(__file__).parents[2].parent / "shared/data"
GOOD = {
    "query_id": "q1",
    "source": "tiny",
    "query": "who?",
    "answer": None,
    "positives": [{"doc_id": "d1", "title": "T", "text": "x"}],
    "negatives": [{"doc_id": "d2", "text": "y"}],
}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_title_stands_before_the_text(tmp_path: Path) -> None:
    table = read_pools(write(tmp_path / "p.jsonl", GOOD))
    assert table.schema == POOLS
    assert table.to_pylist() == [
        {
            "query_id": "q1",
            "dataset": "tiny",
            "query": "who?",
            "answer": None,
            "positives": [{"doc_id": "d1", "text": "T\nx"}],
            "negatives": [{"doc_id": "d2", "text": "y"}],
        }
    ]


def test_the_argument_names_the_data_set_before_the_record_does(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", {**GOOD, "dataset": "a"})
    assert read_pools(path)["dataset"].to_pylist() == ["a"]
    assert read_pools(path, dataset="b")["dataset"].to_pylist() == ["b"]


def test_missing_ids_are_hashes_of_the_texts(tmp_path: Path) -> None:
    record = {**GOOD, "positives": [{"text": "abc"}]}
    del record["query_id"]
    row = read_pools(write(tmp_path / "p.jsonl", record)).to_pylist()[0]
    # SHA-256 of "abc" is ba7816bf 8f01cfea 4141... (FIPS 180-2, appendix B.1)
    assert row["positives"][0]["doc_id"] == "sha256:ba7816bf8f01cfea"
    assert row["query_id"].startswith("sha256:")


BAD = {
    "no positives": ({"positives": []}, "query 'q1' has no positive document"),
    "positives not there": ({"positives": None}, "'positives' must be a list, got null"),
    "a document without text": ({"negatives": [{"doc_id": "d2"}]}, "document 'd2' has no text"),
    "a blank text": ({"negatives": [{"doc_id": "d2", "text": " "}]}, "document 'd2' has no text"),
    "a document twice": (
        {"negatives": [{"doc_id": "d1", "text": "y"}]},
        "query 'q1': document 'd1' stands in the pool twice",
    ),
    "no data set": ({"source": None}, "no key 'dataset' or 'source'"),
    "no query": ({"query": ""}, "no text under 'query'"),
    "a query that is no text": ({"query": 3}, "'query' must be a string or null, got 3"),
    "documents that are strings": ({"negatives": ["y"]}, "item 1 of 'negatives' must be an object"),
    "a fraction as id": ({"query_id": 1.5}, "'query_id' must be a non-empty string or a whole number, got 1.5"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_pool_is_an_error_that_names_the_line(change: dict[str, object], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", {**GOOD, "query_id": "q0"}, {**GOOD, **change})
    with pytest.raises(FormatError) as caught:
        read_pools(path)
    assert str(caught.value).startswith(f"{path}, line 2: {message}")


def test_a_query_id_twice_in_a_data_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="line 2: query 'q1' of data set 'tiny' stands on line 1 already"):
        read_pools(write(tmp_path / "p.jsonl", GOOD, GOOD))
    assert read_pools(write(tmp_path / "p.jsonl", GOOD, {**GOOD, "source": "other"})).num_rows == 2


def test_scan_keeps_the_good_pools_and_tells_of_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", {**GOOD, "positives": []}, GOOD)
    path.write_text(path.read_text() + '{"query_id": "q3", "que')
    pools = scan_pools(path)
    assert pools.table["query_id"].to_pylist() == ["q1"]
    assert [problem.partition(": ")[0] for problem in pools.problems] == [f"{path}, line 1", f"{path}, line 3"]
    assert str(pools) == "1 pools, 2 left out"


def test_twenty_problems_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read_pools(write(tmp_path / "p.jsonl", *[{**GOOD, "positives": []}] * 22))
    assert len(caught.value.problems) == 22
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "... and 2 more"


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_pools"),  # counts as the data's README states them
    [
        ("arxiv-semanlink", 142),
        ("csfcube", 43),
        ("hotpotqa-paragraphs", 1179),
        ("hotpotqa-sentences", 694),
        ("msmarco-qa-sample", 20),
        ("msmarco-trecdl-pools", 120),
        ("nq-clapnq-sentences", 287),
        ("rgb-en-fact", 86),
        ("scifact-sentences", 372),
    ],
)
def test_public_pools_are_read_whole(name: str, n_pools: int) -> None:
    path = DATA / name / "pools.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no {path}")
    table = check(read_pools(path), POOLS, what=name)
    assert table.num_rows == n_pools
    first = json.loads(gzip.decompress(path.read_bytes()).partition(b"\n")[0])
    assert table["query"][0].as_py() == first["query"]
