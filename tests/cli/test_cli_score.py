"""`ragauge score`: what it prints, writes, and refuses."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

RUN = "q1 Q0 d1 1 3.0 bm25\nq1 Q0 d2 2 2.0 bm25\nq2 Q0 d3 1 3.0 bm25\nq2 Q0 d4 2 2.0 bm25\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq1 0 d9 1\nq2 0 d3 1\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def test_json_holds_every_measure_with_its_interval(ragauge, files: Path) -> None:
    ran = ragauge(
        *("score", files / "run.txt", "--labels", files / "qrels.txt", "--format", "json"),
        *("-m", "T(alpha=0.3)@2", "-m", "P@2", "-m", "R@2", "-m", "Judged@2"),
    )
    found = json.loads(ran.out)
    by_name = {entry["measure"]: entry for entry in found["measures"]}
    assert ran.code == 0
    assert found["n_queries"] == 2
    # q1: one of two positive, one negative: (0.7 - 0.3) / 2 = 0.2; q2: one positive, one unjudged: 0.7 / 2 = 0.35.
    assert by_name["T(alpha=0.3)@2"]["mean"] == pytest.approx(0.275)
    assert by_name["P@2"]["mean"] == pytest.approx(0.5)
    # q1: one of its two relevant documents; q2: its only one.
    assert by_name["R@2"]["mean"] == pytest.approx(0.75)
    assert by_name["P@2"]["judged"] == pytest.approx(0.75)
    assert by_name["R@2"]["low"] < 0.75 < by_name["R@2"]["high"]
    assert set(by_name["P@2"]) >= {"measure", "mean", "low", "high", "level", "n", "n_undefined", "judged"}


def test_csv_has_a_header_and_a_row_a_measure(ragauge, files: Path) -> None:
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "--format", "csv", "-m", "P@2")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["measure"] for row in rows] == ["P@2"]
    assert float(rows[0]["mean"]) == pytest.approx(0.5)


def test_the_table_fits_a_terminal_of_80_columns(ragauge, files: Path) -> None:
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt")
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80
    assert "nDCG(ideal=retrieved)@2" in ran.out


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_per_query_values_are_written(ragauge, files: Path, suffix: str) -> None:
    target = files / f"scores{suffix}"
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "P@2", "--per-query", target)
    assert ran.code == 0
    if suffix == ".parquet":
        table = pq.read_table(target)
        assert table.column_names == ["query_id", "run", "P@2"]
        assert table.column("P@2").to_pylist() == [0.5, 0.5]
    else:
        assert "P@2" in target.read_text()


def test_several_runs_are_told_apart(ragauge, files: Path) -> None:
    (files / "run.txt").write_text(RUN + RUN.replace("bm25", "dense").replace("d3", "d8"))
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "--format", "json", "-m", "P@2")
    found = json.loads(ran.out)
    means = {entry["run"]: entry["mean"] for entry in found["measures"]}
    assert found["n_queries"] == 2
    assert means == {"bm25": pytest.approx(0.5), "dense": pytest.approx(0.25)}


def test_html_is_a_report_of_all_runs(ragauge, files: Path) -> None:
    (files / "run.txt").write_text(RUN + RUN.replace("bm25", "dense"))
    target = files / "out" / "report.html"
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "P@2", "--html", target)
    page = target.read_text(encoding="utf-8")
    assert ran.code == 0, ran.err
    assert str(target) in ran.err
    assert all(word in page for word in ("bm25", "dense", "P@2", "run.txt"))


def probabilities(folder: Path) -> Path:
    """One ranking whose labels are 0.9 and 0.2."""
    documents = [{"doc_id": "a", "label": 0.9}, {"doc_id": "b", "label": 0.2}]
    path = folder / "labelled.jsonl"
    path.write_text(json.dumps({"query_id": "q", "documents": documents}) + "\n")
    return path


def test_probabilities_count_as_relevant_from_one_half(ragauge, tmp_path: Path) -> None:
    ran = ragauge("score", probabilities(tmp_path), "-m", "P@2", "--format", "json")
    entry = json.loads(ran.out)["measures"][0]
    assert (entry["measure"], entry["mean"]) == ("P(rel=0.5)@2", 0.5)
    assert "Labels are probabilities" in ran.err


def test_rel_is_taken_where_it_is_given_and_kept_where_it_is_written(ragauge, tmp_path: Path) -> None:
    ran = ragauge(
        *("score", probabilities(tmp_path), "--rel", "0.1", "--format", "json"),
        *("-m", "P@2", "-m", "P(rel=0.95)@2", "-m", "Judged@2"),
    )
    means = {entry["measure"]: entry["mean"] for entry in json.loads(ran.out)["measures"]}
    assert means == {"P(rel=0.1)@2": 1.0, "P(rel=0.95)@2": 0.0, "Judged@2": 1.0}


def test_quiet_leaves_stderr_empty(ragauge, tmp_path: Path) -> None:
    assert ragauge("score", probabilities(tmp_path), "--quiet").err == ""


def test_a_measure_that_needs_unknown_relevant_documents_is_refused(ragauge, tmp_path: Path) -> None:
    ran = ragauge("score", probabilities(tmp_path), "-m", "R@2")
    assert ran.code == 2
    assert "R" in ran.err and ran.out == ""


BAD = [
    (("-m", "P@0"), "cutoff must be a positive integer, got 0 in 'P@0'"),
    (("-m", "ndgc@5"), "did you mean"),
    (("-m", "T(alpha=2)@5"), "alpha"),
    (("-m", "P"), "P@10"),
    (("--level", "1"), "--level"),
    (("--per-query", "scores.xyz", "-m", "P@2"), "scores.xyz"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_bad_options_exit_2_and_say_what_is_wrong(ragauge, files: Path, args: tuple[str, ...], message: str) -> None:
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", *args)
    assert ran.code == 2
    assert message in ran.err


FILES = [
    ("labels.csv", b"query_id,doc_id,grade_of\nq1,d1,1\n", "no column 'label'"),
    ("empty.txt", b"", "empty"),
    ("latin.txt", b"q1 0 d\xe9 1\n", "UTF-8"),
    ("short.txt", b"q1 0 d1\n", "short.txt"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES)
def test_a_bad_file_exits_2_and_is_named(ragauge, files: Path, name: str, content: bytes, message: str) -> None:
    (files / name).write_bytes(content)
    ran = ragauge("score", files / "run.txt", "--labels", files / name)
    assert ran.code == 2
    assert message in ran.err and name in ran.err


def test_a_missing_file_exits_2(ragauge, tmp_path: Path) -> None:
    ran = ragauge("score", tmp_path / "gone.txt")
    assert ran.code == 2
    assert "gone.txt" in ran.err
