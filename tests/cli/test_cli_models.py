"""Commands that ask a model, against a real server on loopback: `label` and `study`, and what goes wrong there."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply, scripted_reply

PUBLIC_KEYS = {"id", "E", "Nc", "Np", "K", "grade", "answer_ideal", "answer_topK", "P", "R", "rank", "inK"}
"""What each record of a samples_graded.json holds."""


def rankings(folder: Path, n: int = 3) -> Path:
    """One query with n documents."""
    documents = [{"doc_id": f"d{i}", "text": f"text {i}"} for i in range(n)]
    path = folder / "retrieved.jsonl"
    path.write_text(json.dumps({"query_id": "q", "query": "what?", "documents": documents}) + "\n")
    return path


def pools(folder: Path) -> Path:
    """Six queries, each with two relevant documents among six."""
    lines = []
    for i in range(6):
        documents = [{"doc_id": f"{i}-{j}", "text": f"fact {j} of topic {i}, told in words {j * i}"} for j in range(6)]
        lines.append(
            {
                "query_id": f"q{i}",
                "dataset": "toy-facts",
                "query": f"what is fact 1 of topic {i}?",
                "positives": documents[:2],
                "negatives": documents[2:],
            }
        )
    path = folder / "pools.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def plan(folder: Path, base_url: str) -> Path:
    """A plan over `pools` with BM25, so that only the answers and grades need a model."""
    pools(folder)
    path = folder / "plan.toml"
    path.write_text(
        f'embedders = ["bm25"]\n[[datasets]]\npath = "pools.jsonl"\n[cutoffs]\nratios = [0.5, 1, 2]\n'
        f'[model]\nbase_url = "{base_url}"\nname = "scripted"\nconcurrency = 4\n'
    )
    return path


def reader_and_grader(request: dict[str, Any]) -> ScriptedReply:
    """Answers with its prompt's last document; grades by the length of the answer."""
    prompt = request["messages"][-1]["content"]
    if request["max_tokens"] == 1:
        return ScriptedReply(str(1 + len(prompt) % 5))
    return ScriptedReply(prompt.splitlines()[-1])


def labels_in(path: Path) -> list[float | None]:
    return [document.get("label") for document in json.loads(path.read_text())["documents"]]


def test_label_writes_the_probability_of_yes(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "labelled.jsonl"
    with ScriptedModel(lambda request: ScriptedReply("yes", {"yes": -0.5108256, "no": -0.9162907})) as model:
        ran = ragauge(
            *("label", rankings(tmp_path), "--base-url", model.base_url, "--model", "m"),
            *("--store", tmp_path / "s.db", "--out", out),
        )
    assert ran.code == 0
    # exp(-0.5108256) = 0.6 and exp(-0.9162907) = 0.4
    assert labels_in(out) == pytest.approx([0.6, 0.6, 0.6])
    assert "3/3 labelled" in ran.err


def test_label_asks_nothing_twice(ragauge, tmp_path: Path) -> None:
    args = ("--model", "m", "--store", tmp_path / "s.db", "--out", tmp_path / "labelled.jsonl")
    with ScriptedModel() as model:
        first = ragauge("label", rankings(tmp_path), "--base-url", model.base_url, *args)
        second = ragauge("label", rankings(tmp_path), "--base-url", model.base_url, *args)
        assert (first.code, second.code, len(model.requests)) == (0, 0, 3)


class Interrupting:
    """Answers as usual, and presses Ctrl-C in a process when its fifth request comes."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.n_requests = 0

    def __call__(self, request: dict[str, Any]) -> ScriptedReply:
        self.n_requests += 1
        if self.n_requests == 5 and self.process is not None:
            self.process.send_signal(signal.SIGINT)
        return scripted_reply(request)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_ctrl_c_exits_130_and_the_next_run_asks_only_the_rest(ragauge, tmp_path: Path) -> None:
    script = Interrupting()
    with ScriptedModel(script) as model:
        args = [str(rankings(tmp_path, n=40)), "--base-url", model.base_url, "--model", "m", "--concurrency", "1"]
        args = ["label", *args, "--store", str(tmp_path / "s.db"), "--out", str(tmp_path / "o.jsonl")]
        command = [sys.executable, "-c", "from ragauge.cli.main import main; main()", *args]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            script.process = process
            assert process.stderr is not None
            said = process.stderr.read()
        assert process.returncode == 130, said
        assert "the command asks for what is missing" in said
        assert "Traceback" not in said
        with Store.open(tmp_path / "s.db") as store:
            n_kept = store.usage()[0].calls
        n_seen = len(model.requests)
        ran = ragauge(*args)
        assert ran.code == 0, ran.err
        assert len(model.requests) - n_seen == 40 - n_kept
    assert 4 <= n_kept < 40


def test_top_labels_only_the_first_documents(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "labelled.jsonl"
    with ScriptedModel() as model:
        ragauge(
            *("label", rankings(tmp_path), "--base-url", model.base_url, "--model", "m", "--top", "1"),
            *("--store", tmp_path / "s.db", "--out", out),
        )
        assert len(model.requests) == 1
    assert [label is None for label in labels_in(out)] == [False, True, True]


def prose_about_one(request: dict[str, Any]) -> ScriptedReply:
    """Prose where a verdict was asked for, about one document; the others get a verdict."""
    if "text 1" in request["messages"][-1]["content"]:
        return ScriptedReply("Well, that depends on what one means")
    return scripted_reply(request)


def test_what_cannot_be_read_is_unlabelled_and_listed_and_exits_1(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "labelled.jsonl"
    with ScriptedModel(prose_about_one) as model:
        ran = ragauge(
            *("label", rankings(tmp_path), "--base-url", model.base_url, "--model", "m"),
            *("--store", tmp_path / "s.db", "--out", out),
        )
    assert ran.code == 1
    assert "1 of 3 documents have no label (1 no_verdict)" in ran.err
    assert [label is None for label in labels_in(out)] == [False, True, False]
    listed = json.loads((tmp_path / "labelled.jsonl.unlabelled.jsonl").read_text())
    assert (listed["doc_id"], listed["reason"]) == ("d1", "no_verdict")


def test_a_server_that_is_down_exits_1_and_nothing_is_a_zero(ragauge, tmp_path: Path) -> None:
    with ScriptedModel() as model:
        base_url = model.base_url
    out = tmp_path / "labelled.jsonl"
    ran = ragauge(
        *("label", rankings(tmp_path), "--base-url", base_url, "--model", "m"),
        *("--store", tmp_path / "s.db", "--out", out),
    )
    assert ran.code == 1
    assert "unreachable" in ran.err
    assert labels_in(out) == [None, None, None]


def test_label_refuses_a_model_without_a_name(ragauge, tmp_path: Path) -> None:
    ran = ragauge("label", rankings(tmp_path), "--base-url", "http://127.0.0.1:1/v1", "--out", tmp_path / "o.jsonl")
    assert ran.code == 2
    assert "name" in ran.err


def test_study_writes_every_table_and_the_report(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(reader_and_grader) as model:
        ran = ragauge("study", plan(tmp_path, model.base_url), "--out", tmp_path / "out")
    out = tmp_path / "out"
    assert ran.code == 0, ran.err
    graded = pq.read_table(out / "graded.parquet")
    # Six queries, one retriever, K = 1, 2 and 4 for N_p = 2.
    assert graded.num_rows == 18
    assert set(graded.column("cutoff").to_pylist()) == {1, 2, 4}
    assert graded.column("grade").null_count == 0
    public = json.loads((out / "samples_graded.json").read_text())
    assert set(public[0]) == PUBLIC_KEYS
    assert "toy-facts" in (out / "report.html").read_text()
    names = {path.name for path in out.iterdir()}
    assert names >= {"correlations.csv", "contest.csv", "plan.toml", "rankings.bm25.jsonl", "store.db", "usage.csv"}
    assert "K/N_p=0.5" in ran.out


def test_study_started_again_asks_nothing(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(reader_and_grader) as model:
        path = plan(tmp_path, model.base_url)
        ragauge("study", path, "--out", tmp_path / "out")
        asked = len(model.requests)
        again = ragauge("study", path, "--out", tmp_path / "out")
        assert again.code == 0
        assert len(model.requests) == asked


def wavers(request: dict[str, Any]) -> ScriptedReply:
    """Grades the same answer lower the second time."""
    graded = reader_and_grader(request)
    return ScriptedReply("1") if request.get("seed") else graded


def test_a_study_can_grade_each_answer_several_times_and_keep_the_spread(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(wavers) as model:
        path = plan(tmp_path, model.base_url)
        ragauge("study", path, "--out", tmp_path / "once")
        path.write_text("grade_repeats = 2\n" + path.read_text())
        ran = ragauge("study", path, "--out", tmp_path / "twice", "--store", tmp_path / "once" / "store.db")
        asked_again = [request.body for request in model.requests if "seed" in request.body]
    assert ran.code == 0, ran.err
    once, twice = (pq.read_table(tmp_path / name / "graded.parquet").to_pylist() for name in ("once", "twice"))
    assert [row["grade"] for row in twice] == [(row["grade"] + 1) / 2 for row in once]
    assert [row["repeat_sd"] for row in twice] == pytest.approx([(row["grade"] - 1) / 2**0.5 for row in once])
    assert "repeat_sd" not in once[0]
    assert {body["max_tokens"] for body in asked_again} == {1}


def refuses_to_grade(request: dict[str, Any]) -> ScriptedReply:
    """Grades are prose; answers are as they should be."""
    if request["max_tokens"] == 80:
        return reader_and_grader(request)
    return ScriptedReply("I would rather not")


def test_a_study_without_grades_ends_as_incomplete_with_its_tables_written(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(refuses_to_grade) as model:
        ran = ragauge("study", plan(tmp_path, model.base_url), "--out", tmp_path / "out")
    assert ran.code == 1
    assert "18 of 18 answers have no grade" in ran.err
    reasons = pq.read_table(tmp_path / "out" / "graded.parquet").column("reason").to_pylist()
    assert set(reasons) == {"no_verdict"}
    assert (tmp_path / "out" / "report.html").exists()


def test_a_study_of_a_pool_without_positives_is_refused_with_its_line(ragauge, tmp_path: Path) -> None:
    path = plan(tmp_path, "http://127.0.0.1:1/v1")
    broken = {
        "query_id": "x",
        "dataset": "d",
        "query": "q",
        "positives": [],
        "negatives": [{"doc_id": "a", "text": "b"}],
    }
    with (tmp_path / "pools.jsonl").open("a") as file:
        file.write(json.dumps(broken) + "\n")
    ran = ragauge("study", path, "--out", tmp_path / "out")
    assert ran.code == 2
    assert "line 7" in ran.err
    assert "positive" in ran.err


def test_correlate_repeats_the_last_stage_of_a_study(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(reader_and_grader) as model:
        ragauge("study", plan(tmp_path, model.base_url), "--out", tmp_path / "out")
    from_ours = ragauge("correlate", tmp_path / "out" / "graded.parquet", "--format", "json")
    from_public = ragauge("correlate", tmp_path / "out" / "samples_graded.json", "--format", "json")
    ours, public = json.loads(from_ours.out)["correlations"], json.loads(from_public.out)["correlations"]
    assert len(ours) == len(public) > 0
    for one, other in zip(ours, public, strict=True):
        shared = {"segment", "measure", "coefficient", "best_value", "best_alpha", "value", "n_queries"}
        # The public file knows the positives in the top 2K only where 2K is itself a row, so Fe may have fewer rows.
        if one["measure"] != "Fe(x=2)":
            assert {key: one[key] for key in shared} == {key: other[key] for key in shared}


def test_correlate_writes_report_charts_and_table(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(reader_and_grader) as model:
        ragauge("study", plan(tmp_path, model.base_url), "--out", tmp_path / "out")
    ran = ragauge(
        *("correlate", tmp_path / "out" / "graded.parquet", "--by", "width", "--coefficient", "all"),
        *("--html", tmp_path / "r.html", "--charts", tmp_path / "charts", "--charts-as", "svg"),
        *("--out", tmp_path / "c.parquet"),
    )
    assert ran.code == 0, ran.err
    assert {"narrow", "wide"} == set(pq.read_table(tmp_path / "c.parquet").column("segment").to_pylist())
    assert (tmp_path / "r.html").read_text().startswith("<!")
    assert all(path.read_text().startswith("<svg") for path in (tmp_path / "charts").iterdir())
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 100
