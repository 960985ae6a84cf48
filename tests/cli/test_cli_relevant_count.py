"""From rankings to recall without qrels: plan-labels, labels filled in, score --relevant-count."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ragauge.cli.relevant_options import ESTIMATOR_NAMES
from ragauge.quality.label_plan import ESTIMATORS
from ragauge.testing import ScriptedModel, ScriptedReply

QUERIES = [f"q{n}" for n in range(12)]


def relevant(query: str, doc: str) -> int:
    """Ranks 1, 3, 5 of run a, and 15 of every second query."""
    rank = int(doc[1:])
    return int(rank in (1, 3, 5) or (rank == 15 and int(query[1:]) % 2 == 0))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two runs of the same 60 documents: a in the order of their numbers, b the other way round."""
    for run, order in (("a", range(1, 61)), ("b", range(60, 0, -1))):
        lines = [
            {
                "query_id": query,
                "query": f"about {query}",
                "run": run,
                "documents": [{"doc_id": f"d{n:02}"} for n in order],
            }
            for query in QUERIES
        ]
        (tmp_path / f"{run}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    qrels = [f"{query} 0 d{n:02} {relevant(query, f'd{n:02}')}\n" for query in QUERIES for n in range(1, 61)]
    (tmp_path / "qrels.txt").write_text("".join(qrels))
    return tmp_path


def fill(plan: Path) -> Path:
    """The plan with the label of each document."""
    records = [json.loads(line) for line in plan.read_text().splitlines()]
    for record in records:
        for document in record["documents"]:
            document["label"] = relevant(record["query_id"], document["doc_id"])
    filled = plan.with_name("filled.jsonl")
    filled.write_text("".join(json.dumps(record) + "\n" for record in records))
    return filled


def test_a_filled_plan_gives_recall(ragauge, files: Path) -> None:
    ran = ragauge("plan-labels", files / "a.jsonl", "-k", 5, "--deep", 50, "--out", files / "plan.jsonl")
    assert ran.code == 0 and ran.out == ""
    assert "720 documents of 12 queries, 120 at the top and 600 drawn from below; 0 have a label" in ran.err
    plan = fill(files / "plan.jsonl")
    ran = ragauge("score", files / "a.jsonl", "--labels", plan, "--relevant-count", "2k-x-c", "-m", "R@5", "-m", "P@5")
    assert ran.code == 0, ran.err
    # all is labelled: N = 36 + 6 of 42, c = 7 / 6, so R = 3 / 3.5
    assert "R@5 (N_p: 2K x c)  0.857" in ran.out and "P@5                0.600" in ran.out
    assert "Relevant documents (2K x c) = 42.0" in ran.out and "c = 1.17" in " ".join(ran.out.split())
    assert "Relevant documents below rank 60 are not counted." in ran.out
    assert "lower bound" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_the_options_offer_every_estimator() -> None:
    assert sorted(ESTIMATOR_NAMES) == sorted(ESTIMATORS)


def test_the_default_draws_two_documents_a_query(ragauge, files: Path) -> None:
    ran = ragauge("plan-labels", files / "a.jsonl", "-k", 5, "--out", files / "plan.jsonl")
    assert "120 at the top and 24 drawn from below" in ran.err
    first = json.loads((files / "plan.jsonl").read_text().splitlines()[0])
    assert (first["scope"], first["query"]) == ("all", "about q0")
    assert {document["stratum"] for document in first["documents"]} >= {"near"}
    assert all(document["label"] is None for document in first["documents"])


def test_a_document_twice_is_planned_once_where_asked(ragauge, tmp_path: Path) -> None:
    documents = [{"doc_id": doc, "score": score} for doc, score in (("d1", 1), ("d2", 3), ("d1", 2), ("d3", 0))]
    (tmp_path / "a.jsonl").write_text(json.dumps({"query_id": "q1", "documents": documents}) + "\n")
    args = ("plan-labels", tmp_path / "a.jsonl", "-k", 1, "--deep", 0, "--out", tmp_path / "plan.jsonl")
    ran = ragauge(*args)
    assert ran.code == 2 and "document 'd1' stands in the ranking twice" in ran.err
    for choice, expected in (("first", ["d1", "d2"]), ("max", ["d2", "d1"])):
        assert ragauge(*args, "--duplicates", choice).code == 0
        planned = json.loads((tmp_path / "plan.jsonl").read_text())["documents"]
        assert [document["doc_id"] for document in planned] == expected  # the top 2K


def test_several_systems_plan_a_union_and_a_budget_is_kept(ragauge, files: Path) -> None:
    runs = (files / "a.jsonl", files / "b.jsonl")
    ran = ragauge("plan-labels", *runs, "-k", 5, "--out", files / "plan.jsonl")
    assert "union" in ran.err and "120 documents of 12 queries" in ran.err
    ran = ragauge(
        "plan-labels", *runs, "-k", 5, "--estimator", "2k-x-c", "--budget", 300, "--out", files / "plan.jsonl"
    )
    assert "300 documents of 12 queries, 240 at the top and 60 drawn" in ran.err
    ran = ragauge("plan-labels", *runs, "-k", 5, "--estimator", "2k-x-c", "--budget", 99, "--out", files / "plan.jsonl")
    assert ran.code == 2 and "a budget of 99 labels is less than the 240 documents in the top 10" in ran.err


def test_json_holds_the_number_and_what_it_rests_on(ragauge, files: Path) -> None:
    ragauge("plan-labels", files / "a.jsonl", "-k", 5, "--deep", 4, "--out", files / "plan.jsonl")
    ran = ragauge(
        "score", files / "a.jsonl", "--labels", files / "qrels.txt", "--label-plan", files / "plan.jsonl",
        "--relevant-count", "2k-x-c", "-m", "F@5", "--format", "json",
    )  # fmt: skip
    found = json.loads(ran.out)
    (entry,), (number,) = found["measures"], found["relevant_counts"]
    assert (entry["measure"], entry["method"]) == ("F@5 (N_p: 2K x c)", "bootstrap")
    assert entry["low"] <= entry["mean"] <= entry["high"]
    assert (number["measure"], number["run"], number["n_labels"]) == ("F@5", None, 168)
    assert number["low"] <= number["total"] <= number["high"]


def test_measures_that_need_no_number_stay_as_they_are(ragauge, files: Path) -> None:
    options = (
        "score",
        files / "a.jsonl",
        "--labels",
        files / "qrels.txt",
        "-m",
        "P@5",
        "-m",
        "T@5",
        "--format",
        "json",
    )
    plain = json.loads(ragauge(*options).out)["measures"]
    mixed = json.loads(ragauge(*options, "-m", "R@5", "--relevant-count", "union").out)["measures"]
    for one, other in zip(plain, mixed, strict=False):
        assert {**one, "attainable": None} == {**other, "attainable": None}


def test_a_report_and_values_of_each_query_carry_the_mark(ragauge, files: Path) -> None:
    pytest.importorskip("altair")
    ran = ragauge(
        "score", files / "a.jsonl", "--labels", files / "qrels.txt", "--relevant-count", "union", "-m", "R@5",
        "--per-query", files / "values.csv", "--html", files / "report.html",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert (files / "values.csv").read_text().startswith("query_id,run,R@5 (N_p: union)")
    assert "R@5 (N_p: union)" in (files / "report.html").read_text()


@pytest.mark.parametrize("options", [("-m", "Fe@5"), ("-m", "R@5", "--relevant-count", "own-list")])
def test_systems_measured_against_their_own_lists_are_warned_of(ragauge, files: Path, options) -> None:
    both = (files / "a.jsonl", files / "b.jsonl")
    ran = ragauge("score", *both, "--labels", files / "qrels.txt", *options)
    assert ran.code == 0 and "flatters the weaker one" in ran.err
    assert "Warning" not in ragauge("score", both[0], "--labels", files / "qrels.txt", *options).err
    assert "Warning" not in ragauge("score", *both, "--labels", files / "qrels.txt", "-m", "P@5").err


REFUSED = [
    (("--relevant-count", "2k-x-c", "-m", "R@5"), "--label-plan takes what ragauge plan-labels wrote"),
    (("--relevant-count", "union", "-m", "AP"), "no measure needs N_p"),
    (("--label-plan", "plan.jsonl", "-m", "P@5"), "--label-plan goes with --relevant-count"),
    (("--relevant-count", "chapman", "-m", "R@5"), "exactly two systems"),
    (("--relevant-count", "union", "-m", "R@5", "--no-relevant", "zero"), "no_relevant=undefined"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_cannot_be_estimated_is_bad_input(ragauge, files: Path, options, message: str) -> None:
    ran = ragauge("score", files / "a.jsonl", "--labels", files / "qrels.txt", *options)
    assert ran.code == 2 and message in ran.err


def by_label(request: dict[str, Any]) -> ScriptedReply:
    """Surely relevant where the document says so."""
    p = 0.9 if "this helps" in json.dumps(request["messages"]) else 0.1
    return ScriptedReply(text="yes" if p > 0.5 else "no", top_logprobs={"yes": math.log(p), "no": math.log1p(-p)})


def test_a_model_fills_in_the_plan_and_the_plan_tells_what_was_drawn(ragauge, tmp_path: Path) -> None:
    # two queries: ranks 1 and 9 of 20 are relevant, so K = 2 finds one and the top 2K one
    documents = [
        {"doc_id": f"d{n}", "text": f"{n} this {'helps' if n in (1, 9) else 'does not'}"} for n in range(1, 21)
    ]
    lines = [json.dumps({"query_id": q, "query": f"about {q}?", "documents": documents}) for q in ("q1", "q2")]
    (tmp_path / "deep.jsonl").write_text("\n".join(lines))
    ragauge("plan-labels", tmp_path / "deep.jsonl", "-k", 2, "--deep", 16, "--out", tmp_path / "plan.jsonl")
    with ScriptedModel(by_label) as model:
        ran = ragauge(
            "label", tmp_path / "plan.jsonl", "--base-url", model.base_url, "--model", "scripted",
            "--store", tmp_path / "store.db", "--out", tmp_path / "labelled.jsonl",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    ran = ragauge(
        "score", tmp_path / "deep.jsonl", "--labels", tmp_path / "labelled.jsonl", "--label-plan",
        tmp_path / "plan.jsonl", "--relevant-count", "2k-x-c", "-m", "R@2", "--format", "json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["measures"][0]["mean"] == pytest.approx(0.5)  # n_p 1 of n_2K 1 times c 2
    assert found["relevant_counts"][0]["total"] == pytest.approx(4)
