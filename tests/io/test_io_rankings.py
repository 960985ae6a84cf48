"""Rankings as TREC runs, JSON Lines and Parquet."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import FormatError, InputError, SchemaError
from ragauge.io import FORMATS, read_rankings, write_rankings
from ragauge.schema import RANKINGS

DATA = Path(__file__).parents[2].parent / "shared/data"


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def ranking(**change: object) -> dict[str, object]:
    row = {"query_id": "q1", "query": None, "run": "r", "doc_ids": ["a", "b"], "scores": [2.0, 1.0]}
    return {**row, "texts": [None, None], "labels": [None, None], **change}


def table_of(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=RANKINGS)


def test_a_trec_run_is_ordered_by_score_then_document_id_descending(tmp_path: Path) -> None:
    # ranks are not read; equal scores: "d9" > "d10" by bytes, "é" (0xc3) after all of ASCII
    text = "q1 Q0 d10 1 1.5 t\nq1 Q0 d9 2 1.5 t\nq1\tQ0\té 3\t1.5  t\r\n\nq1 Q0 top 4 2e0 t\n"
    table = read_rankings(put(tmp_path / "x.run", text))
    assert table.schema == RANKINGS
    assert table.to_pylist() == [
        ranking(
            run="t", doc_ids=["top", "é", "d9", "d10"], scores=[2.0, 1.5, 1.5, 1.5], texts=[None] * 4, labels=[None] * 4
        )
    ]


def test_each_tag_of_a_trec_file_is_a_run(tmp_path: Path) -> None:
    table = read_rankings(put(tmp_path / "x.run", "q1 Q0 a 1 1 x\nq1 Q0 a 1 1 y\nq2 Q0 a 1 1 x\n"))
    assert table.select(["query_id", "run"]).to_pylist() == [
        {"query_id": "q1", "run": "x"},
        {"query_id": "q1", "run": "y"},
        {"query_id": "q2", "run": "x"},
    ]


BAD_RUNS = {
    "five fields": ("q1 Q0 b 2 1.0", "expected 6 fields (query_id Q0 doc_id rank score run), got 5"),
    "a word as score": ("q1 Q0 b 2 high t", "score 'high' is not a number"),
    "NaN as score": ("q1 Q0 b 2 nan t", "score 'nan' is not a finite number"),
    "a score Python alone would take": ("q1 Q0 b 2 1_0 t", "score '1_0' is not a finite number"),
    "a document twice": ("q1 Q0 a 2 1.0 t", "document 'a' of query 'q1' stands on line 1 already"),
}


@pytest.mark.parametrize(("line", "message"), BAD_RUNS.values(), ids=BAD_RUNS.keys())
def test_a_bad_line_of_a_run_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x.run", f"q1 Q0 a 1 2.0 t\n{line}\n")
    with pytest.raises(FormatError) as caught:
        read_rankings(path)
    assert str(caught.value) == f"{path}, line 2: {message}"


def test_json_documents_stand_as_given_and_scores_do_not_reorder(tmp_path: Path) -> None:
    record = {
        "query_id": 7,
        "query": "who?",
        "unknown": 1,
        "documents": [
            {"doc_id": "a", "score": 1, "label": True},
            {"doc_id": "b", "text": "x", "score": 9, "label": None},
        ],
    }
    table = read_rankings(put(tmp_path / "bm25.jsonl.gz", json.dumps(record)))
    assert table.to_pylist() == [
        ranking(query_id="7", query="who?", run="bm25", scores=[1.0, 9.0], texts=[None, "x"], labels=[1.0, None])
    ]


def test_a_missing_id_is_the_hash_of_the_text(tmp_path: Path) -> None:
    row = read_rankings(put(tmp_path / "x.jsonl", '{"query": "abc", "documents": [{"text": "abc"}]}')).to_pylist()[0]
    # SHA-256 of "abc" is ba7816bf 8f01cfea ... (FIPS 180-2, appendix B.1)
    assert (row["query_id"], row["doc_ids"]) == ("sha256:ba7816bf8f01cfea", ["sha256:ba7816bf8f01cfea"])


def test_a_query_that_retrieved_nothing_is_a_ranking(tmp_path: Path) -> None:
    table = read_rankings(put(tmp_path / "x.jsonl", '{"query_id": "q1", "documents": []}'))
    assert table["doc_ids"].to_pylist() == [[]]


BAD_JSON = {
    "half a line": ('{"query_id": "q1", "docu', "not JSON: Unterminated string starting at at character 20"),
    "a list": ("[1]", "expected a JSON object, got a list of 1"),
    "no documents": ('{"query_id": "q1"}', "no key 'documents'; found: query_id"),
    "no query": ('{"documents": []}', "no key 'query_id' or 'query'; found: documents"),
    "a document without id and text": (
        '{"query_id": "q1", "documents": [{"score": 1}]}',
        "no key 'doc_id' or 'text'; found: score",
    ),
    "a document that is a string": (
        '{"query_id": "q1", "documents": ["a"]}',
        "item 1 of 'documents' must be an object, got the string \"a\"",
    ),
    "a word as label": (
        '{"query_id": "q1", "documents": [{"doc_id": "a", "label": "yes"}]}',
        "'label' must be a number or null, got the string \"yes\"",
    ),
    "a negative label": (
        '{"query_id": "q1", "documents": [{"doc_id": "a", "label": -1}]}',
        "'label' must be 0 or more, got -1; write null for what is not judged",
    ),
    "NaN as score": (
        '{"query_id": "q1", "documents": [{"doc_id": "a", "score": NaN}]}',
        "'score' must be a finite number or null, got nan",
    ),
    "a document twice": (
        '{"query_id": "q1", "documents": [{"doc_id": "a"}, {"doc_id": "a"}]}',
        "query 'q1': document 'a' stands in the ranking twice",
    ),
    "half a character": (
        '{"query_id": "q1", "documents": [{"doc_id": "a", "text": "\\ud83d"}]}',
        "\\ud83d is half a character (an unpaired surrogate)",
    ),
    "a query twice": ('{"query_id": "q0", "documents": []}', "query 'q0' of run 'x' stands on line 1 already"),
}


@pytest.mark.parametrize(("line", "message"), BAD_JSON.values(), ids=BAD_JSON.keys())
def test_a_bad_line_of_json_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x.jsonl", '{"query_id": "q0", "documents": []}\n' + line)
    with pytest.raises(FormatError) as caught:
        read_rankings(path)
    assert str(caught.value) == f"{path}, line 2: {message}"


def test_the_format_is_told_by_content_where_the_name_is_silent(tmp_path: Path) -> None:
    run = put(tmp_path / "a.txt", "\n\nq1 Q0 a 1 2 r\nq1 Q0 b 2 1 r\n")
    expected = read_rankings(run)
    write_rankings(expected, tmp_path / "b", format="jsonl")
    write_rankings(expected, tmp_path / "c", format="parquet")
    for name in ("b", "c"):
        assert read_rankings(tmp_path / name).equals(expected)


def test_a_file_of_no_known_format_lists_the_formats(tmp_path: Path) -> None:
    path = put(tmp_path / "x.dat", "one two three\n")
    with pytest.raises(FormatError) as caught:
        read_rankings(path)
    assert str(caught.value) == (
        f"cannot tell what format the rankings in {path} have; it begins with 'one two three'; "
        f"known formats: {', '.join(FORMATS)}"
    )
    with pytest.raises(FormatError, match="unknown format 'xml'; known formats: trec, jsonl"):
        read_rankings(path, format="xml")
    with pytest.raises(FormatError, match=r"the name of x\.dat how to write it; formats that are written: trec"):
        write_rankings(table_of(ranking()), "x.dat")


BAD_TABLES = {
    "lists of two lengths": (ranking(labels=[1.0]), "a ranking's lists must be equally long, got 2 doc_ids, 2 texts"),
    "a document without id": (ranking(doc_ids=["a", None]), "document 2 has no doc_id"),
    "a document twice": (ranking(doc_ids=["a", "a"]), "document 'a' stands in the ranking twice"),
    "NaN as label": (ranking(labels=[float("nan"), None]), "its labels must be finite numbers or null"),
}


@pytest.mark.parametrize(("row", "message"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_a_row_that_is_no_ranking_is_neither_read_nor_written(
    row: dict[str, object], message: str, tmp_path: Path
) -> None:
    pq.write_table(table_of(ranking(query_id="q0"), row), tmp_path / "x.parquet")
    with pytest.raises(FormatError) as caught:
        read_rankings(tmp_path / "x.parquet")
    assert f"x.parquet, row 2: query 'q1': {message}" in str(caught.value)
    for name in ("y.jsonl", "y.parquet", "y.run"):
        with pytest.raises(FormatError) as caught:
            write_rankings(table_of(row), tmp_path / name)
        assert message in str(caught.value)
        assert not (tmp_path / name).exists()


def test_a_parquet_file_without_a_column_names_it(tmp_path: Path) -> None:
    pq.write_table(table_of(ranking()).drop_columns(["run"]), tmp_path / "x.parquet")
    with pytest.raises(SchemaError, match=r"no column 'run' in .*x\.parquet; found: query_id, query, doc_ids"):
        read_rankings(tmp_path / "x.parquet")


def test_a_broken_parquet_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not a Parquet file that can be read"):
        read_rankings(put(tmp_path / "x.parquet", "PAR1 and no more"))


def test_a_run_written_as_trec_keeps_scores_that_give_its_order(tmp_path: Path) -> None:
    table = table_of(ranking(scores=[0.1 + 0.2, 0.3]))
    write_rankings(table, tmp_path / "x.run")
    assert (tmp_path / "x.run").read_text() == "q1 Q0 a 1 0.30000000000000004 r\nq1 Q0 b 2 0.3 r\n"
    assert read_rankings(tmp_path / "x.run").equals(table)


@pytest.mark.parametrize("scores", [[1.0, 1.0], [1.0, 2.0], [1.0, None]])  # a tie puts "b" before "a"
def test_scores_that_would_reorder_a_trec_run_become_falling_numbers(scores: list[float], tmp_path: Path) -> None:
    write_rankings(table_of(ranking(scores=scores)), tmp_path / "x.run")
    row = read_rankings(tmp_path / "x.run").to_pylist()[0]
    assert (row["doc_ids"], row["scores"]) == (["a", "b"], [2.0, 1.0])


def test_what_a_trec_run_cannot_say_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    nothing = ranking(query_id="q7", doc_ids=[], texts=[], scores=[], labels=[])
    with pytest.raises(InputError, match="query 'q7' has no documents, which a TREC run cannot say"):
        write_rankings(table_of(ranking(), nothing), tmp_path / "x.run")
    with pytest.raises(InputError, match="'my run' of query 'q1' has a space or is empty"):
        write_rankings(table_of(ranking(run="my run")), tmp_path / "x.run")
    assert list(tmp_path.iterdir()) == []


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
LABEL = st.none() | st.floats(0, 1e300)


@st.composite
def rankings(draw: st.DrawFn) -> pa.Table:
    keys = draw(st.lists(st.tuples(TEXT.filter(bool), TEXT.filter(bool)), unique=True, min_size=1, max_size=3))
    rows = []
    for query_id, run in keys:
        ids = draw(st.lists(TEXT.filter(bool), unique=True, max_size=4))
        columns = {
            name: [draw(values) for _ in ids]
            for name, values in {"texts": st.none() | TEXT, "scores": NUMBER, "labels": LABEL}.items()
        }
        rows.append(ranking(query_id=query_id, query=draw(st.none() | TEXT), run=run, doc_ids=ids, **columns))
    return table_of(*rows)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.parquet", "x.parquet.gz"])
def test_what_is_written_is_read_back(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rankings") / name

    @settings(max_examples=40, deadline=None)
    @given(rankings())
    def round_trip(table: pa.Table) -> None:
        write_rankings(table, path)
        assert read_rankings(path).equals(table)

    round_trip()


@pytest.mark.data
def test_public_runs_are_read_whole() -> None:
    path = DATA / "hotpotqa-500/runs/bm25.pooled.run.gz"
    if not path.exists():
        pytest.skip(f"no {path}")
    table = read_rankings(path)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert sum(len(ids) for ids in table["doc_ids"].to_pylist()) == len(lines)
    assert table.num_rows == len({line.split()[0] for line in lines})
