"""`ragauge label` says whether its judge can be led, and `ragauge score --html` shows it."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragauge.testing import ScriptedModel, ScriptedReply

N_QUERIES, N_DOCUMENTS = 4, 3

Label = Callable[..., Any]
Answer = Callable[[dict[str, Any]], ScriptedReply | str | dict[str, Any]]


@pytest.fixture
def rankings(tmp_path: Path) -> Path:
    """Each query's first document is about its topic."""
    path = tmp_path / "retrieved.jsonl"
    with path.open("w") as file:
        for q in range(N_QUERIES):
            texts = [f"about topic{q}", *(f"words {q} {i}" for i in range(1, N_DOCUMENTS))]
            documents = [{"doc_id": f"{q}-{i}", "text": text} for i, text in enumerate(texts)]
            record = {"query_id": f"q{q}<i>", "query": f"what is topic{q} ?", "documents": documents}
            file.write(json.dumps(record) + "\n")
    return path


@pytest.fixture
def label(ragauge: Callable[..., Any], rankings: Path, tmp_path: Path) -> Label:
    def run(model: ScriptedModel, *more: object) -> Any:
        place = ("--base-url", model.base_url, "--model", "m", "--store", tmp_path / "s.db")
        return ragauge("label", rankings, *place, "--out", tmp_path / "o.jsonl", *more)

    return run


def question(request: dict[str, Any]) -> tuple[str, str]:
    """Topic and document."""
    content = request["messages"][-1]["content"]
    topic = re.search(r"what is (topic\d)", content)
    assert topic is not None
    return topic[1], content.split("<doc>", 1)[1]


def fair(request: dict[str, Any]) -> str:
    """What says something about the topic is relevant."""
    topic, document = question(request)
    return "yes" if f"about {topic}" in document else "no"


def believes(request: dict[str, Any]) -> str:
    """As above, or what says that it is relevant, or that it answers."""
    return "yes" if re.search("relevant|beantwortet", question(request)[1]) else fair(request)


def is_canary(request: dict[str, Any]) -> bool:
    """Not the text of a document alone; the controls are."""
    return not re.search(r"^\s*(about topic\d|words \d \d)\s*</doc>\s*$", question(request)[1])


def failing(answer: ScriptedReply) -> Answer:
    """Labels are given, canaries answered as told."""
    return lambda request: answer if is_canary(request) else fair(request)


def canaries(folder: Path) -> list[dict[str, str]]:
    with (folder / "o.jsonl.canaries.csv").open() as file:
        return list(csv.DictReader(file))


def labels(folder: Path) -> list[float | None]:
    records = [json.loads(line) for line in (folder / "o.jsonl").read_text().splitlines()]
    return [document["label"] for record in records for document in record["documents"]]


def told(ran: Any) -> str:
    """The lines about canaries."""
    found = re.search(r"^canaries:.*?(?=^[\d,]+ requests sent)", ran.err, re.M | re.S)
    assert found is not None, ran.err
    return found[0]


GOOD_LABELS = [1.0, 0.0, 0.0] * N_QUERIES


def test_a_judge_that_is_not_led_is_said_so(label: Label, tmp_path: Path) -> None:
    with ScriptedModel(fair) as model:
        ran = label(model)
    assert ran.code == 0, ran.err
    assert "canaries: 0 of 16 led the judge; see docs/judge.md" in ran.err  # two queries, eight kinds
    assert '"buried" hides what this judge itself labelled highest.' in ran.err
    assert labels(tmp_path) == GOOD_LABELS


def test_a_judge_that_believes_documents_is_reported_with_counts_and_what_they_mean(
    label: Label, tmp_path: Path
) -> None:
    with ScriptedModel(believes) as model:
        ran = label(model, "--canaries", 3)
    assert ran.code == 0
    assert "canaries: 6 of 24 led the judge (told 3/3, foreign 3/3);" in ran.err
    assert "It believes what a passage says about itself" in ran.err
    led = [row["kind"] for row in canaries(tmp_path) if row["label"] and float(row["label"]) == 1]
    assert sorted(led) == sorted(["told", "foreign", "relevant", "buried"] * 3)


def test_a_judge_that_says_yes_to_everything_has_its_controls_wrong(label: Label) -> None:
    with ScriptedModel(lambda request: "yes") as model:
        ran = label(model)
    assert "canaries: 4 of 6 led the judge (query 2/2, blank 2/2);" in ran.err  # of 2 query, 2 blank, 2 buried
    assert "10 more do not count: without the bait the judge was not right either." in ran.err


def test_the_file_beside_the_labels_holds_ids_and_numbers_alone(label: Label, tmp_path: Path) -> None:
    with ScriptedModel(fair) as model:
        label(model)
    rows = canaries(tmp_path)
    assert len(rows) == 20
    assert list(rows[0]) == ["query_id", "kind", "label", "reason"]
    assert "topic" not in (tmp_path / "o.jsonl.canaries.csv").read_text()


def test_a_second_run_asks_nothing_and_says_the_same(label: Label, tmp_path: Path) -> None:
    with ScriptedModel(believes) as model:
        first = label(model, "--seed", 7)
        n_asked, found = len(model.requests), canaries(tmp_path)
        second = label(model, "--seed", 7)
        assert len(model.requests) == n_asked
    assert canaries(tmp_path) == found
    assert told(first) == told(second)
    assert "0 requests sent" in second.err


def test_none_are_asked_about_where_none_are_wanted(label: Label, tmp_path: Path) -> None:
    with ScriptedModel(fair) as model:
        label(model)
        n_asked = len(model.requests)
        ran = label(model, "--canaries", 0, "--seed", 5)
        assert len(model.requests) == n_asked
    assert "canaries" not in ran.err
    assert not (tmp_path / "o.jsonl.canaries.csv").exists()  # those of the run before are not this run's


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(ScriptedReply("content policy", status=400), "refused"), (ScriptedReply("That depends"), "no_verdict")],
)
def test_labels_survive_where_canaries_fail(label: Label, tmp_path: Path, answer: ScriptedReply, reason: str) -> None:
    with ScriptedModel(failing(answer)) as model:
        ran = label(model, "--concurrency", 1)
    assert ran.code == 0, ran.err
    assert labels(tmp_path) == GOOD_LABELS
    assert "canaries: 0 of 0 led the judge" in ran.err
    assert re.search(rf"Without a label: .*\d+ {reason}", ran.err)


def test_canaries_stop_at_a_cap_and_the_run_is_complete(label: Label, tmp_path: Path) -> None:
    with ScriptedModel(fair) as model:
        ran = label(model, "--max-calls", N_QUERIES * N_DOCUMENTS + 3, "--concurrency", 1)
        assert len(model.requests) == N_QUERIES * N_DOCUMENTS + 3
    assert ran.code == 0
    assert labels(tmp_path) == GOOD_LABELS
    assert re.search(r"Without a label: \d+ budget", ran.err)
    assert f"{N_QUERIES * N_DOCUMENTS + 3} requests sent" in ran.err


LEFT_OUT = [
    (("--max-calls", 5), "the labels reached a cap"),
    (("--batch", "folder", "--batch-wait", 0), "with --batch"),
    (("--max-calls", 0), "the labels reached a cap"),
]


@pytest.mark.parametrize(("options", "why"), LEFT_OUT)
def test_why_canaries_are_left_out_is_said(
    label: Label, tmp_path: Path, options: tuple[object, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ScriptedModel(fair) as model:
        ran = label(model, *options)
    assert re.search(rf"canaries: left out.* {why}", " ".join(ran.err.split()))
    assert not (tmp_path / "o.jsonl.canaries.csv").exists()


def test_an_endpoint_that_was_given_up_is_not_asked_about_canaries(label: Label) -> None:
    with ScriptedModel(lambda request: ScriptedReply("bad key", status=401)) as model:
        ran = label(model, "--concurrency", 1)
    assert ran.code == 1
    assert "canaries: left out, as the endpoint was given up" in ran.err


def test_one_query_has_no_passage_of_another(label: Label, rankings: Path) -> None:
    rankings.write_text(rankings.read_text().splitlines()[0] + "\n")
    with ScriptedModel(fair) as model:
        ran = label(model)
    assert ran.code == 0
    assert "canaries: left out: canaries need passages of at least two queries" in ran.err


def test_a_dry_run_counts_canaries_too(label: Label) -> None:
    with ScriptedModel(fair) as model:
        plan = json.loads(label(model, "--dry-run", "--format", "json").out)
        label(model)
        n_asked = len(model.requests)
        again = json.loads(label(model, "--dry-run", "--format", "json").out)
    assert plan["pairs"] == N_QUERIES * N_DOCUMENTS
    assert plan["canaries"] == 20
    assert n_asked <= plan["calls"] <= plan["pairs"] + plan["canaries"]
    assert (again["calls"], again["canaries"]) == (0, 0)


@pytest.mark.parametrize(("n_queries", "n_documents", "expected"), [(20, 9, 2), (20, 30, 6), (60, 20, 10)])
def test_a_long_run_asks_about_more_and_a_tenth_at_most(
    label: Label, rankings: Path, n_queries: int, n_documents: int, expected: int
) -> None:
    lines = []
    for q in range(n_queries):
        documents = [{"doc_id": f"{i}", "text": f"words {q} {i}"} for i in range(n_documents)]
        lines.append(json.dumps({"query_id": f"q{q}", "query": f"what is topic{q} ?", "documents": documents}))
    rankings.write_text("\n".join(lines) + "\n")
    with ScriptedModel() as model:
        plan = json.loads(label(model, "--dry-run", "--format", "json").out)
        halved = json.loads(label(model, "--dry-run", "--format", "json", "--batch-size", 30).out)
    assert plan["canaries"] == 10 * expected
    assert halved["canaries"] == 20  # so few calls
    assert plan["canaries"] <= max(20, plan["pairs"] / 10)


def test_all_lines_fit_in_eighty_columns(label: Label, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    def led(request: dict[str, Any]) -> str:
        return "yes" if is_canary(request) and len(question(request)[1]) < 900 else fair(request)

    with ScriptedModel(led) as model:
        ran = label(model)
        plan = label(model, "--dry-run", "--seed", 3)
    assert len(told(ran).splitlines()) > 5
    assert max(map(len, [*told(ran).splitlines(), *plan.out.splitlines()])) <= 80


def test_the_report_shows_the_canaries_beside_the_labels(label: Label, ragauge: Any, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    with ScriptedModel(believes) as model:
        label(model)
    ran = ragauge("score", tmp_path / "o.jsonl", "--html", tmp_path / "r.html", "-m", "P@3")
    assert ran.code == 0, ran.err
    assert "o.jsonl.canaries.csv" in ran.err
    page = (tmp_path / "r.html").read_text()
    assert "Can the judge be led?" in page
    assert "4 of 16 documents made to lead the judge did so" in page
    assert "It believes what a passage says about itself" in page
    assert 'id="chart-canaries"' in page


def test_labels_that_bring_their_own_canaries_are_looked_at(
    label: Label, ragauge: Any, rankings: Path, tmp_path: Path
) -> None:
    pytest.importorskip("altair")
    with ScriptedModel(fair) as model:
        label(model)
    ragauge("score", rankings, "--labels", tmp_path / "o.jsonl", "--html", tmp_path / "r.html", "-m", "P@3")
    assert "0 of 16 documents made to lead the judge did so" in (tmp_path / "r.html").read_text()


def test_a_report_without_canaries_says_nothing_of_them(label: Label, ragauge: Any, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    with ScriptedModel(fair) as model:
        label(model, "--canaries", 0)
    ran = ragauge("score", tmp_path / "o.jsonl", "--html", tmp_path / "r.html", "-m", "P@3")
    assert "Canaries:" not in ran.err
    assert "Can the judge be led?" not in (tmp_path / "r.html").read_text()


def test_a_file_of_that_name_that_is_something_else_is_refused(label: Label, ragauge: Any, tmp_path: Path) -> None:
    with ScriptedModel(fair) as model:
        label(model)
    (tmp_path / "o.jsonl.canaries.csv").write_text("a,b\n1,2\n")
    ran = ragauge("score", tmp_path / "o.jsonl", "--html", tmp_path / "r.html", "-m", "P@3")
    assert ran.code == 2
    assert "o.jsonl.canaries.csv is not as ragauge writes it" in ran.err
