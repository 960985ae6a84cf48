"""`ragauge label --design` and what the other commands make of its files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.testing import ScriptedModel

N_QUERIES = 60


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    def reply(request: dict[str, Any]) -> str:
        return "yes" if "good" in str(request["messages"][-1]["content"]) else "no"

    with ScriptedModel(reply) as opened:
        yield opened


@pytest.fixture
def rankings(tmp_path: Path) -> Path:
    """Every other document of each query is good."""
    path = tmp_path / "retrieved.jsonl"
    with path.open("w") as file:
        for query in range(N_QUERIES):
            documents = [
                {"doc_id": f"d{at}", "text": f"{'good' if at % 2 else 'bad'} {query} {at}", "score": 20 - at}
                for at in range(12)
            ]
            file.write(json.dumps({"query_id": f"q{query}", "query": f"what {query}?", "documents": documents}) + "\n")
    return path


@pytest.fixture
def label(ragauge: Callable[..., Any], server: ScriptedModel, rankings: Path, tmp_path: Path) -> Callable[..., Any]:
    def run(*more: object, out: str = "out.jsonl") -> Any:
        place = ("--base-url", server.base_url, "--model", "m", "--store", tmp_path / "s.db", "--canaries", 0)
        return ragauge("label", rankings, *place, "--out", tmp_path / out, "--quiet", *more)

    return run


@pytest.mark.parametrize(
    ("options", "n_labels"),
    [(["one-per-query"], 60), (["two-per-query"], 120), (["stratified", "--draw", 80], 80)],
)
def test_a_design_labels_its_part_and_score_uses_its_estimator(
    label: Callable[..., Any],
    ragauge: Callable[..., Any],
    server: ScriptedModel,
    tmp_path: Path,
    options: list[object],
    n_labels: int,
) -> None:
    assert label("--design", *options).code == 0
    assert len(server.requests) == n_labels
    ran = ragauge("score", tmp_path / "out.jsonl", "-m", "P@10", "--format", "json", "--quiet")
    found = json.loads(ran.out)
    assert found["design"] == options[0]
    (mean,) = found["measures"]
    assert mean["low"] < 0.5 < mean["high"]
    assert mean["judged"] == pytest.approx(n_labels / 600)
    assert mean["method"] == options[0]


def test_the_table_says_which_estimator_was_used(
    label: Callable[..., Any], ragauge: Callable[..., Any], tmp_path: Path
) -> None:
    label("--design", "one-per-query")
    ran = ragauge("score", tmp_path / "out.jsonl")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[2:5]] == ["T@10", "P@10", "n_p@10"]
    assert "Design one-per-query: one random document of the top 10 of each query was" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_until_stops_by_itself_and_says_so(
    label: Callable[..., Any], ragauge: Callable[..., Any], server: ScriptedModel, tmp_path: Path
) -> None:
    ran = label("--design", "until", "--half-width", 0.2, "--top", 6)
    assert ran.code == 0
    assert len(server.requests) == N_QUERIES  # the pilot wants 100
    found = json.loads(ragauge("score", tmp_path / "out.jsonl", "--format", "json", "--quiet").out)
    assert [mean["measure"] for mean in found["measures"]] == ["T@6", "P@6", "n_p@6"]
    assert {mean["method"] for mean in found["measures"]} == {"until"}


def test_a_dry_run_counts_what_the_design_would_ask(label: Callable[..., Any], server: ScriptedModel) -> None:
    ran = label("--design", "two-per-query", "--dry-run", "--format", "json")
    assert ran.code == 0
    assert "120" in ran.out
    assert not server.requests


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "nDCG@10"], "nDCG@10 cannot be estimated"),
        (["-m", "P@5"], "P@5 cannot be estimated"),
        (["--per-query", "x.csv"], "--per-query cannot go with it"),
        (["--html", "x.html"], "--html cannot go with it"),
        (["--unjudged", "bounds"], "--unjudged cannot go with it"),
        (["--compat", "trec_eval"], "--compat cannot go with it"),
    ],
)
def test_what_a_design_cannot_give_is_refused_with_the_reason(
    label: Callable[..., Any], ragauge: Callable[..., Any], tmp_path: Path, options: list[str], message: str
) -> None:
    label("--design", "one-per-query")
    ran = ragauge("score", tmp_path / "out.jsonl", *options)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert "one random document of the top 10" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "FILE", "FILE"],
        ["score", "FILE", "FILE"],
        ["tune", "FILE"],
        ["budget", "FILE"],
        ["gate", "P@10 > 0.1", "FILE"],
    ],
)
def test_commands_that_need_every_label_refuse_the_file(
    label: Callable[..., Any], ragauge: Callable[..., Any], tmp_path: Path, command: list[str]
) -> None:
    label("--design", "one-per-query")
    ran = ragauge(*(tmp_path / "out.jsonl" if word == "FILE" else word for word in command))
    assert ran.code == 2
    assert "by the design one-per-query: only ragauge score can use it" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--design", "until"], "--half-width goes with"),
        (["--half-width", 0.1], "--half-width goes with"),
        (["--design", "until", "--half-width", 0.1, "--batch", "folder"], "leave one out"),
        (["--design", "one-per-query", "--draw", 5], "--draw goes with"),
        (["--design", "stratified", "--draw", 5], "two a stratum"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    label: Callable[..., Any], server: ScriptedModel, options: list[object], message: str
) -> None:
    ran = label(*options)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert not server.requests


def test_a_design_is_not_written_into_a_file_that_cannot_hold_it(
    label: Callable[..., Any], server: ScriptedModel
) -> None:
    ran = label("--design", "one-per-query", out="out.parquet")
    assert ran.code == 2
    assert "JSON lines" in ran.err
    assert not server.requests
