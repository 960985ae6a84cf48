"""TREC files read as columns: the same as read line by line, however they are written."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.errors import FormatError
from ragauge.io.trec import read_qrels, read_run
from ragauge.schema import LABELS, RANKINGS


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def rankings(table: pa.Table) -> list[tuple[str, str, list[str], list[float]]]:
    assert table.schema == RANKINGS
    return [tuple(row[name] for name in ("query_id", "run", "doc_ids", "scores")) for row in table.to_pylist()]


ID = st.sampled_from(["q1", "q10", "é", "#1", "d\u00a0x", "x" * 20, '"', "nan", "0", ","])
LINE = st.tuples(ID, ID, ID, st.sampled_from(["3", "2.5", "2.50", "-1e3", "+7", ".5", "1e-320"]), ID)
GAP = st.sampled_from([" ", " ", "  ", "\t", " \t ", "\v"])
END = st.sampled_from(["\n", "\n", "\r\n", " \n", "\n\n", "\n \n", "\n# a comment of many words in all\n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[tuple[str, ...]], bytes]:
    """Lines of a run, no document twice, and how a file may spell them."""
    lines = draw(st.lists(LINE, min_size=1, max_size=12, unique_by=lambda line: (line[0], line[2], line[4])))
    text = draw(st.sampled_from(["", "\ufeff", "\n", "# by hand\n"]))
    for query_id, iteration, doc_id, score, run in lines:
        fields = [query_id, iteration, doc_id, "1", score, run]
        text += draw(st.sampled_from(["", "", " "])) + "".join(field + draw(GAP) for field in fields[:-1])
        text += fields[-1] + draw(END)
    data = text.encode()
    return lines, gzip.compress(data) if draw(st.booleans()) else data


@pytest.mark.parametrize("order", ["trec", "input"])
def test_a_run_is_the_same_however_its_lines_are_written(order: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("runs") / "x.run"

    @settings(max_examples=150, deadline=None)
    @given(files())
    def same(file: tuple[list[tuple[str, ...]], bytes]) -> None:
        lines, data = file
        expected: dict[tuple[str, str], list[tuple[float, bytes]]] = {}
        for query_id, _, doc_id, score, run in lines:
            expected.setdefault((query_id, run), []).append((float(score), doc_id.encode()))
        for documents in expected.values():
            documents.sort(reverse=True) if order == "trec" else None
        assert rankings(read_run(put(path, data), order=order)) == [  # type: ignore[arg-type]
            (*key, [doc_id.decode() for _, doc_id in documents], [score for score, _ in documents])
            for key, documents in expected.items()
        ]

    same()


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.tuples(ID, ID), st.sampled_from(["0", "2", "-1", "0.5", "+1"]), min_size=1),
    st.booleans(),
    st.sampled_from([(" ", "\n"), ("\t", "\n"), ("  ", "\r\n"), (" ", " \n\n")]),
)
def test_qrels_are_the_same_however_their_lines_are_written(
    tmp_path_factory: pytest.TempPathFactory,
    labels: dict[tuple[str, str], str],
    repeat: bool,
    spelling: tuple[str, str],
) -> None:
    gap, end = spelling
    lines = [gap.join((query_id, "0", doc_id, label)) for (query_id, doc_id), label in labels.items()]
    path = tmp_path_factory.mktemp("qrels") / "x.qrels"
    table = read_qrels(put(path, end.join(lines + lines[: int(repeat)]).encode()))
    assert table.schema == LABELS
    expected = [
        (*pair, None if label == "-1" else float(label), "pooled_unjudged" if label == "-1" else None)
        for pair, label in labels.items()
    ]
    assert [
        tuple(row[name] for name in ("query_id", "doc_id", "label", "reason")) for row in table.to_pylist()
    ] == expected


def test_trap_t1_equal_scores_stand_by_document_id_descending_in_bytes(tmp_path: Path) -> None:
    # UTF-8: "é" is c3 a9, above "z"; "9" is above "10"; ranks and the order of lines count for nothing
    ids = ["10", "z", "9", "é", "Z"]
    lines = "".join(f"q Q0 {doc_id} {rank} 1.0 t\n" for rank, doc_id in enumerate(ids))
    assert rankings(read_run(put(tmp_path / "x.run", lines.encode())))[0][2] == ["é", "z", "Z", "9", "10"]


def test_trap_t2_scores_are_compared_as_64_bit_floats(tmp_path: Path) -> None:
    # as 32-bit floats both pairs are ties, which the ids would decide the other way round
    lines = "q1 Q0 dA 1 0.900000001 t\nq1 Q0 dB 2 0.9 t\nq2 Q0 dB 1 16777216 t\nq2 Q0 dA 2 16777217 t\n"
    table = read_run(put(tmp_path / "x.run", lines.encode()))
    assert [ids for _, _, ids, _ in rankings(table)] == [["dA", "dB"], ["dA", "dB"]]


def test_trap_t10_a_document_twice_in_a_run_is_an_error_with_both_lines_and_kept_on_demand(tmp_path: Path) -> None:
    path = put(tmp_path / "x.run", b"q Q0 dA 1 3.0 t\nq Q0 dB 2 2.0 t\nq Q0 dA 3 1.0 t\n")
    with pytest.raises(FormatError) as caught:
        read_run(path)
    assert str(caught.value) == f"{path}, line 3: document 'dA' of query 'q' stands on line 1 already"
    assert rankings(read_run(path, duplicates="keep"))[0][2:] == (["dA", "dB", "dA"], [3.0, 2.0, 1.0])


def test_trap_t10_two_labels_of_one_document_are_an_error_also_where_lines_of_the_query_stand_apart(
    tmp_path: Path,
) -> None:
    path = put(tmp_path / "x.qrels", b"q 0 dA 1\nq2 0 dA 1\nq 0 dA 0\n")
    with pytest.raises(FormatError) as caught:
        read_qrels(path)
    assert str(caught.value) == f"{path}, line 3: document 'dA' of query 'q' is labelled 0 here and 1 on line 1"


def test_a_run_of_many_queries_mixed_line_by_line_is_put_together(tmp_path: Path) -> None:
    # enough lines for several blocks of the sort; query i % 7 gets documents with falling scores
    n_lines = 40_000
    lines = "".join(f"q{i % 7} Q0 d{i} 1 {n_lines - i} {'ab'[i % 2]}\n" for i in range(n_lines))
    found = rankings(read_run(put(tmp_path / "x.run", lines.encode())))
    assert [(query_id, run) for query_id, run, _, _ in found] == [(f"q{i % 7}", "ab"[i % 2]) for i in range(14)]
    for number, (_, _, ids, _) in enumerate(found):
        assert ids == [f"d{i}" for i in range(number, n_lines, 14)]


def many_lines(n_queries: int) -> list[str]:
    """100 documents a query, the last two tied and in the wrong order; 2 MB hold about 700 queries."""
    tied = [97, 98]
    return [
        f"query-{q} Q0 document-{q:04d}-{rank:03d} 1 {100 - (97 if rank in tied else rank)} t\n"
        for q in range(n_queries)
        for rank in range(100)
        if rank != 99
    ]


@pytest.mark.parametrize("apart", [False, True])
def test_a_run_of_several_blocks_is_read_as_one_of_a_single_block(apart: bool, tmp_path: Path) -> None:
    lines = many_lines(1000)
    if apart:  # the lines of the first query stand at both ends of the file
        lines = [*lines[5:], *lines[:5]]
    found = rankings(read_run(put(tmp_path / "x.run", "".join(lines).encode())))
    assert [query_id for query_id, *_ in found] == [f"query-{q}" for q in range(1000)]
    for q, (_, _, ids, scores) in enumerate(found):
        assert ids == [f"document-{q:04d}-{rank:03d}" for rank in [*range(97), 98, 97]]
        assert scores == [float(100 - rank) for rank in [*range(97), 97, 97]]


def test_a_bad_line_behind_the_first_block_is_told_with_its_number(tmp_path: Path) -> None:
    lines = [*many_lines(1000), "query-1 Q0 d 1 high t\n"]
    with pytest.raises(FormatError, match="line 99001: score 'high' is not a number"):
        read_run(put(tmp_path / "x.run", "".join(lines).encode()))


def test_a_line_that_begins_with_a_hash_is_an_entry_where_it_has_the_fields_of_one(tmp_path: Path) -> None:
    path = put(tmp_path / "x.run", b"# six words make no entry: # skip\n#1 Q0 d 1 2 t\n")
    assert [row[0] for row in rankings(read_run(path))] == ["#1"]
    path = put(tmp_path / "y.run", b"# Q0 d 1 score t\n#1 Q0 d 1 2 t\n")
    with pytest.raises(FormatError, match="line 1: score 'score' is not a number"):
        read_run(path)


ODD = {
    "empty": (b"", "{} is empty"),
    "blank": (b" \r\n\n", "{} is empty"),
    "UTF-16": ("q Q0 d 1 2 t\n".encode("utf-16"), "{} is UTF-16; save it as UTF-8"),
    "Latin-1": (b"q Q0 d\xe9 1 2 t\n", "{} is not UTF-8: byte 0xe9 at offset 6, line 1; save it as UTF-8"),
    "an empty field": (b"q  d 1 2 t\n", "{}, line 1: expected 6 fields (query_id Q0 doc_id rank score run), got 5"),
    "infinity": (b"q Q0 d 1 inf t\n", "{}, line 1: score 'inf' is not a finite number"),
    "too large": (b"q Q0 d 1 1e999 t\n", "{}, line 1: score '1e999' is not a finite number"),
}


@pytest.mark.parametrize(("data", "message"), ODD.values(), ids=ODD.keys())
def test_what_is_no_run_is_told_as_before(data: bytes, message: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x.run", data)
    with pytest.raises(FormatError) as caught:
        read_run(path)
    assert str(caught.value) == message.format(path)


def test_twenty_bad_lines_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read_run(put(tmp_path / "x.run", b"q Q0 d 1 high t\n" * 23))
    shown = str(caught.value).splitlines()
    assert (len(shown), shown[-1], len(caught.value.problems)) == (21, "... and 3 more", 23)
