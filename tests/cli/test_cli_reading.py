"""What the commands have in common: how rankings are read and said, what is judged, where results may be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

N = 12
TWICE = {"query_id": "q0", "documents": [{"doc_id": "a", "score": 1, "label": 0}, {"doc_id": "a", "score": 2}]}
COMMANDS = {
    "tune": ("tune", "{}", "-m", "T@3", "--folds", 2, "--bootstrap", 20),
    "gate": ("gate", "P@2 >= 0.1", "{}", "--on", "point"),
    "correct": ("correct", "{}", "--human", "judged.jsonl", "-m", "P@2"),
    "draw": ("draw", "{}", "--documents", 1, "--out", "out/drawn.jsonl"),
    "budget": ("budget", "{}"),
}


def put(path: Path, *records: object) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def ranking(query: int, *, judged: bool) -> dict[str, object]:
    """Three documents; of judged ones the first is relevant in every other query, the second in every third."""
    labels = (int(query % 2 == 0), int(query % 3 == 0), 0)
    documents = [
        {"doc_id": f"d{at}", "score": 3.0 - at} | ({"label": label} if judged else {})
        for at, label in enumerate(labels)
    ]
    return {"query_id": f"q{query}", "documents": documents}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "judged.jsonl", *(ranking(query, judged=True) for query in range(N)))
    put(tmp_path / "bare.jsonl", *(ranking(query, judged=False) for query in range(N)))
    put(tmp_path / "twice.jsonl", TWICE, *(ranking(query, judged=True) for query in range(1, N)))
    put(tmp_path / "others.jsonl", {"query_id": "z", "doc_id": "z", "label": 1})
    return tmp_path


@pytest.fixture
def run(ragauge, files: Path):
    """run("tune", "judged.jsonl", ...): the command of that name over that file."""

    def of(command: str, file: str, *more: object):
        return ragauge(*(str(arg).format(file) if arg == "{}" else arg for arg in COMMANDS[command]), *more)

    return of


# ---- reading


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_it_read_and_quiet_does_not(run, command: str) -> None:
    ran, quiet = run(command, "judged.jsonl"), run(command, "judged.jsonl", "--quiet")
    assert (ran.code, quiet.code) == (0, 0), ran.err
    assert "judged.jsonl: read as JSON Lines: 12 rankings" in ran.err
    assert quiet.err == ""
    assert quiet.out == ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_document_twice_is_refused_unless_said_which_one_counts(run, command: str) -> None:
    refused, read = run(command, "twice.jsonl"), run(command, "twice.jsonl", "--duplicates", "first")
    assert refused.code == 2
    assert "document 'a' stands in the ranking twice" in refused.err
    assert read.code == 0, read.err
    assert "read as JSON Lines: 12 rankings; 1 with a document more than once" in read.err


def test_the_highest_score_counts_where_asked(run, files: Path) -> None:
    # of q0 only one document is left; the one that counts is the second, which is not judged
    run("draw", "twice.jsonl", "--duplicates", "max", "--quiet")
    drawn = [json.loads(line) for line in (files / "out" / "drawn.jsonl").read_text().splitlines()]
    assert drawn[0] == {"query_id": "q0", "run": "twice", "documents": [{"doc_id": "a", "score": 2.0}]}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_format_can_be_forced(run, command: str) -> None:
    ran = run(command, "judged.jsonl", "--input-format", "xml")
    assert ran.code == 2
    assert "unknown format 'xml'; known formats: trec, jsonl" in ran.err


def test_standard_input_is_not_read_and_the_message_says_so(ragauge) -> None:
    ran = ragauge("score", "-")
    assert (ran.code, ran.out) == (2, "")
    assert "no file -; standard input is not read: save what comes through it to a file first" in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes there")
def test_a_pipe_is_refused_as_a_pipe(ragauge, files: Path) -> None:
    os.mkfifo(files / "pipe")
    holder = os.open(files / "pipe", os.O_RDWR)  # so that opening it to read does not wait for a writer
    ran = ragauge("score", files / "pipe")
    os.close(holder)
    assert ran.code == 2
    assert "is a pipe, and a file is read more than once" in ran.err


# ---- judged or not


@pytest.mark.parametrize("command", ["tune", "correct", "budget"])
def test_rankings_without_a_label_are_refused_with_what_to_do(run, command: str) -> None:
    ran = run(command, "bare.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert (
        "no document in bare.jsonl has a label; give --labels, or make some with: ragauge label bare.jsonl" in ran.err
    )


def test_a_gate_without_a_label_fails_with_what_to_do(run) -> None:
    ran = run("gate", "bare.jsonl")
    assert ran.code == 1
    assert "no retrieved document is judged in bare.jsonl; give labels, or make some with ragauge label" in ran.out


def test_labels_of_other_documents_are_told_from_no_labels(run) -> None:
    ran = run("correct", "judged.jsonl", "--human", "others.jsonl")
    assert ran.code == 2
    assert "no document retrieved in judged.jsonl (such as d0 for query q0) has a label in others.jsonl" in ran.err


def test_a_comparison_of_unjudged_rankings_warns(ragauge, files: Path) -> None:
    ran = ragauge("compare", "bare.jsonl", "bare.jsonl", "-m", "P@2", "--resamples", 10)
    assert "Warning: no document in bare.jsonl has a label" in ran.err
    assert "bare.jsonl: read as JSON Lines: 12 rankings" in ran.err


# ---- the gate's sources


def test_a_table_of_documents_is_no_table_of_scores(ragauge, files: Path) -> None:
    (files / "docs.csv").write_text("query_id,doc_id,rank,label\nq1,1,1,1\nq1,2,2,0\n")  # all are numbers
    ran = ragauge("gate", "P@2 >= 0.5", "docs.csv", "--on", "point")
    assert ran.code == 0, ran.err
    assert "docs.csv: read as a table of retrieved documents: 1 ranking" in ran.err


def test_rel_of_the_gate_is_that_of_the_rules_that_name_none(ragauge, files: Path) -> None:
    ran = ragauge("gate", "P@1 >= 0.5", "P(rel=1)@1 >= 0.5", "judged.jsonl", "--on", "point", "--rel", 2)
    # six of twelve first documents have the label 1, none has 2; rel=1 is what a rule without it says, too
    assert ran.code == 1
    assert "P(rel=2)@1 >= 0.5" in ran.out


def test_a_run_that_is_not_there_is_refused_by_the_gate(run) -> None:
    ran = run("gate", "judged.jsonl", "--run", "other")
    assert ran.code == 2
    assert "judged.jsonl holds 1 run (judged); there is no 'other'" in ran.err


# ---- chance


@pytest.mark.parametrize(
    "command", ["agree", "calibrate", "compare", "correlate", "draw", "plan-labels", "score", "tune"]
)
def test_a_seed_is_no_negative_number(ragauge, command: str) -> None:
    ran = ragauge(command, "x", "--seed", -1)
    assert ran.code == 2
    assert "Invalid value for '--seed': -1 is not in the range x>=0" in ran.err


# ---- writing


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("draw", "bare.jsonl", "--documents", 1, "--out", "x.txt"), "x.txt how to write it; let it end in .jsonl"),
        (("draw", "bare.jsonl", "--documents", 1, "--out", "bare.jsonl/x.jsonl"), "cannot make the folder bare.jsonl"),
        (("compare", "bare.jsonl", "--per-query", "x.txt"), "let it end in .parquet, .jsonl, .csv, .tsv"),
        (("tune", "bare.jsonl", "--html", "."), "'.' is a directory"),
        (("sample", "bare.jsonl/kb"), "cannot make the folder bare.jsonl/kb"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(ragauge, files: Path, args, message: str) -> None:
    ran = ragauge(*args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "read as" not in ran.err


def test_undefined_and_yes_are_written_alike_on_stdout_and_in_files(ragauge, files: Path) -> None:
    out = ragauge("gate", "P@2 >= 0.1", "bare.jsonl", "--format", "csv").out
    # value and interval are undefined: nothing is judged
    assert out.splitlines()[1].split(",")[1:6] == ["fail", "false", "NaN", "NaN", "NaN"]


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe is not closed that way there")
@pytest.mark.parametrize(("rule", "code"), [("P@2 >= 0", 0), ("P@2 >= 0.9", 1)])
def test_a_reader_that_is_gone_is_no_failure_and_opens_no_gate(files: Path, rule: str, code: int) -> None:
    command = [sys.executable, "-c", "from ragauge.cli.main import main; main()", "gate", rule, "judged.jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == code, said
    assert b"Traceback" not in said and b"BrokenPipe" not in said


def test_blank_documents_of_a_collection_are_left_out_and_counted(ragauge, files: Path) -> None:
    put(files / "corpus.jsonl", {"doc_id": "a", "text": "an apple"}, {"doc_id": "b", "text": " "})
    put(files / "queries.jsonl", {"query_id": "q", "text": "apple"})
    ran = ragauge(
        *("retrieve", "corpus.jsonl", "queries.jsonl", "--retriever", "bm25"),
        *("--out", "new/r.jsonl", "--store", "s.db"),
    )
    assert ran.code == 0, ran.err
    assert "1 blank document left out" in ran.err
    assert [one["doc_id"] for one in json.loads((files / "new" / "r.jsonl").read_text())["documents"]] == ["a"]
