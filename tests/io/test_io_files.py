"""Files that cannot be read or written, tables by extension, and collections."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from ragauge.errors import FormatError, InputError
from ragauge.io import (
    read_corpus,
    read_graded,
    read_labels,
    read_pools,
    read_queries,
    read_rankings,
    read_table,
    write_table,
)
from ragauge.schema import POOLS

DATA = Path(__file__).parents[2].parent / "shared/data"
READERS = [read_corpus, read_graded, read_labels, read_pools, read_queries, read_rankings]
SCORES = pa.schema([pa.field("query_id", pa.string()), pa.field("P@5", pa.float64()), pa.field("n", pa.int64())])


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_is_not_there_a_folder_and_an_empty_file(read: Callable[[Path], pa.Table], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"^no file .*none\.jsonl$"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(FormatError, match=r"is a folder; name a file in it$"):
        read(tmp_path)
    for text in ("", " \n\n", "\ufeff"):
        with pytest.raises(FormatError, match=r"x is empty$"):
            read(put(tmp_path / "x", text))


@pytest.mark.parametrize("read", READERS)
def test_a_byte_that_is_not_utf8_is_named_with_offset_and_line(
    read: Callable[[Path], pa.Table], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    for mark in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(mark + b'{"query_id": "q1"}\n{"text": "caf\xe9"}')
        # line 1 is 18 bytes and a line feed, then 13 bytes stand before the bad one: offset 32
        with pytest.raises(FormatError, match=f"is not UTF-8: byte 0xe9 at offset {32 + len(mark)}, line 2"):
            read(path)


def test_utf16_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("query_id,doc_id,label\n".encode("utf-16"))
    with pytest.raises(FormatError, match="is UTF-16; save it as UTF-8"):
        read_labels(tmp_path / "x.csv")


def test_broken_gzip_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"text": "x"}\n' * 99)[:-12])
    with pytest.raises(FormatError, match="is broken gzip: "):
        read_corpus(tmp_path / "x.jsonl.gz")


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    text = "a\u2028b\x85c"
    path = put(tmp_path / "c.jsonl", json.dumps({"_id": "d1", "text": text}, ensure_ascii=False))
    assert read_corpus(path)["text"].to_pylist() == [text]


def test_beir_and_our_own_collections_are_read(tmp_path: Path) -> None:
    corpus = put(tmp_path / "c.jsonl", '{"_id": "d1", "title": "T", "text": ""}\n{"doc_id": 2, "text": "x"}\n')
    assert read_corpus(corpus).to_pylist() == [
        {"doc_id": "d1", "title": "T", "text": ""},
        {"doc_id": "2", "title": None, "text": "x"},
    ]
    queries = put(
        tmp_path / "q.jsonl", '{"_id": "q1", "text": "a?"}\n{"query_id": "q2", "query": "b?", "answer": "c"}\n'
    )
    assert read_queries(queries).to_pylist() == [
        {"query_id": "q1", "query": "a?", "answer": None},
        {"query_id": "q2", "query": "b?", "answer": "c"},
    ]


def test_a_bad_collection_names_its_lines(tmp_path: Path) -> None:
    path = put(tmp_path / "c.jsonl", '{"_id": "d1", "text": "x"}\n{"_id": "d1", "text": "y"}\n')
    with pytest.raises(FormatError, match="line 2: doc_id 'd1' stands on line 1 already"):
        read_corpus(path)
    with pytest.raises(FormatError, match="line 1: no key 'text'; found: _id, title"):
        read_corpus(put(path, '{"_id": "d1", "title": "x"}'))
    with pytest.raises(FormatError, match="line 1: no key 'query' or 'text' with a text; found: _id"):
        read_queries(put(path, '{"_id": "q1"}'))
    with pytest.raises(FormatError, match="line 2: query_id 'q1' stands on line 1 already"):
        read_queries(put(path, '{"id": "q1", "text": "x"}\n{"id": "q1", "text": "y"}\n'))


def scores() -> pa.Table:
    rows = [("q1", float("nan"), 1), ("q2", None, 2**60 + 1), ("NaN", float("-inf"), None)]
    return pa.Table.from_pylist([dict(zip(SCORES.names, row, strict=True)) for row in rows], schema=SCORES)


def same(left: pa.Table, right: pa.Table) -> bool:
    """Equal, NaN being equal to NaN and not to null."""
    return left.schema == right.schema and repr(left.to_pylist()) == repr(right.to_pylist())


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl", "x.jsonl.gz"])
def test_nan_and_null_stay_apart(name: str, tmp_path: Path) -> None:
    write_table(scores(), tmp_path / name)
    assert same(read_table(tmp_path / name, SCORES), scores())


def test_how_nan_and_null_are_spelt(tmp_path: Path) -> None:
    write_table(scores(), tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text().splitlines()[:2] == [
        '{"query_id": "q1", "P@5": "NaN", "n": 1}',
        '{"query_id": "q2", "P@5": null, "n": 1152921504606846977}',
    ]
    write_table(scores().slice(0, 2), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "query_id,P@5,n\nq1,NaN,1\nq2,,1152921504606846977\n"


BAD_VALUES = {
    "a fraction as whole number": ('{"query_id": "q1", "P@5": 1, "n": 1.5}', "'n' must be int64, got 1.5"),
    "too large a number": ('{"query_id": "q1", "P@5": 1, "n": 9223372036854775808}', "'n' must be int64, got 92233"),
    "a word as number": ('{"query_id": "q1", "P@5": "high", "n": 1}', "'P@5' must be double, got \"high\""),
    "a number as text": ('{"query_id": 1, "P@5": 1, "n": 1}', "'query_id' must be string, got 1"),
}


@pytest.mark.parametrize(("line", "message"), BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_a_value_of_another_kind_is_named(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read_table(put(tmp_path / "x.jsonl", line), SCORES)
    assert f"line 1: {message}" in str(caught.value)


def test_nested_tables_go_through_json_lines(tmp_path: Path) -> None:
    row = {"query_id": "q", "dataset": "d", "query": "?", "answer": None, "negatives": []}
    table = pa.Table.from_pylist([{**row, "positives": [{"doc_id": "a", "text": "é"}]}], schema=POOLS)
    write_table(table, tmp_path / "x.jsonl")
    assert read_table(tmp_path / "x.jsonl", POOLS).equals(table)
    assert read_pools(tmp_path / "x.jsonl").equals(table)
    with pytest.raises(FormatError, match="line 1: no value for 'query'; found: query_id, dataset"):
        read_table(put(tmp_path / "y.jsonl", '{"query_id": "q", "dataset": "d"}'), POOLS)


def test_lists_do_not_fit_into_csv(tmp_path: Path) -> None:
    table = pa.table({"query_id": ["q1"], "labels": [[1.0]]})
    with pytest.raises(FormatError, match=r"columns with lists \(labels\) do not fit; use \.parquet or \.jsonl"):
        write_table(table, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_extension_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"use one of \.parquet, \.jsonl, \.csv, \.tsv"):
        write_table(scores(), tmp_path / "x.xls")


def test_a_file_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*No such file or directory"):
        write_table(scores(), tmp_path / "none" / "x.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        write_table(scores(), tmp_path / "folder.csv")


def test_the_same_table_gives_the_same_packed_bytes(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(scores(), tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_documents", "n_queries"),  # counts as the data's README states them
    [("cranfield", 1400, 225), ("cacm", 3204, 64), ("scifact", 5183, 1109)],
)
def test_public_collections_are_read_whole(name: str, n_documents: int, n_queries: int) -> None:
    folder = DATA / name
    if not folder.exists():
        pytest.skip(f"no {folder}")
    assert read_corpus(folder / "corpus.jsonl.gz").num_rows == n_documents
    assert read_queries(folder / "queries.jsonl").num_rows == n_queries
