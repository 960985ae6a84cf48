"""`ragauge label --dry-run`: a local model is neither fetched nor started, and second calls are counted."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragauge.io import read_rankings
from ragauge.llm import label_rankings
from ragauge.store import Store
from ragauge.study import ModelPlan, named_model
from ragauge.testing import ScriptedModel, ScriptedReply


@pytest.fixture
def rankings(tmp_path: Path) -> Path:
    path = tmp_path / "retrieved.jsonl"
    with path.open("w") as file:
        for query in range(4):
            documents = [{"doc_id": f"d{i}", "text": f"text {i}"} for i in range(5)]
            file.write(json.dumps({"query_id": f"q{query}", "query": f"what {query}?", "documents": documents}) + "\n")
    return path


@pytest.fixture
def plan(ragauge: Callable[..., Any], rankings: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(*more: object) -> dict[str, Any]:
        place = ("--store", tmp_path / "s.db", "--canaries", 0, "--dry-run", "--format", "json")
        ran = ragauge("label", rankings, *place, *more)
        assert ran.code == 0, ran.err
        return dict(json.loads(ran.out))

    return run


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no index to fill it from."""
    monkeypatch.setenv("RAGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "cache"


@pytest.mark.parametrize("size", ["0.5b", "1.5b"])
def test_a_local_model_is_not_fetched(plan: Callable[..., dict[str, Any]], nowhere: Path, size: str) -> None:
    assert plan("--base-url", f"local:{size}")["calls"] == 20
    assert not nowhere.exists()


def test_what_a_local_model_answered_before_is_known(
    plan: Callable[..., dict[str, Any]], nowhere: Path, rankings: Path, tmp_path: Path
) -> None:
    local = named_model(ModelPlan("local:1.5b"))
    with ScriptedModel() as server, Store.open(tmp_path / "s.db") as store:
        running = replace(local, endpoint=replace(local.endpoint, base_url=server.base_url))  # on whatever port
        label_rankings(read_rankings(rankings), model=running, store=store, top=2)
    found = plan("--base-url", "local:1.5b")
    assert (found["known"], found["calls"]) == (8, 12)
    assert plan("--base-url", "local:0.5b")["known"] == 0


def test_a_cascade_of_two_local_models_is_planned_without_them(
    plan: Callable[..., dict[str, Any]], nowhere: Path
) -> None:
    found = plan("--base-url", "local:1.5b", "--cheap-base-url", "local:0.5b", "--settle-below", 0.4)
    assert (found["cheap"]["calls"], found["dear_at_most"]["calls"]) == (20, 20)
    assert not nowhere.exists()


def prose_unless_constrained(request: dict[str, Any]) -> ScriptedReply:
    """Documents 0 and 1 get prose, and a verdict only as structured output."""
    readable = "response_format" in request or not request["messages"][-1]["content"].endswith(("0</doc>", "1</doc>"))
    return ScriptedReply('{"verdict": "yes"}' if readable else "Well, that depends")


@pytest.mark.parametrize(("top", "n_known", "n_again"), [(2, 8, 12), (4, 16, 2)])
def test_second_calls_are_expected_as_often_as_they_were_needed(
    ragauge: Callable[..., Any],
    plan: Callable[..., dict[str, Any]],
    rankings: Path,
    tmp_path: Path,
    top: int,
    n_known: int,
    n_again: int,
) -> None:
    with ScriptedModel(prose_unless_constrained) as server:
        models = ("--base-url", server.base_url, "--model", "m")
        place = ("--store", tmp_path / "s.db", "--canaries", 0, "--out", tmp_path / "o.jsonl")
        ragauge("label", rankings, *models, *place, "--top", top)
        found = plan(*models)
        assert len(server.requests) == n_known + 8
    assert (found["known"], found["calls"]) == (n_known, 20 - n_known + n_again)
    assert found["counted_by"].endswith(f"; 8 of {n_known} took a second call, as {n_again} more may")


def test_a_plan_with_nothing_to_ask_takes_no_time(
    ragauge: Callable[..., Any], plan: Callable[..., dict[str, Any]], rankings: Path, tmp_path: Path
) -> None:
    with ScriptedModel() as model:
        at = ("--base-url", model.base_url, "--model", "m")
        ragauge("label", rankings, *at, "--store", tmp_path / "s.db", "--canaries", 0, "--out", tmp_path / "o.jsonl")
        found = plan(*at)
    assert (found["calls"], found["seconds"]) == (0, 0.0)
