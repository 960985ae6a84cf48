"""Canaries: what they are made of, and that a judge that is led is seen to be led."""

import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.llm import LABEL, Judge, Model, ask_canaries
from ragauge.llm.canary import CONTROLS, PROBES, canary_probes, control_of, probe_rankings
from ragauge.schema import LABELS, RANKINGS
from ragauge.store import Store
from ragauge.testing import ScriptedModel

ModelAt = Callable[[ScriptedModel], Model]

TEXTS = {
    "tea": "tea is brewed from leaves of a shrub",
    "ice": "ice melts at zero degrees",
    "oak": "oak trees bear acorns",
}


def rankings() -> pa.Table:
    rows = [
        {
            "query_id": name,
            "query": f"tell me about {name}",
            "run": "r",
            "doc_ids": [name],
            "texts": [text],
            "scores": [None],
            "labels": [None],
        }
        for name, text in TEXTS.items()
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def people() -> pa.Table:
    rows = [
        {"query_id": name, "doc_id": name, "label": 3.0 if name != "oak" else 0.0, "reason": None, "judge": "p"}
        for name in TEXTS
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)


def test_every_kind_is_there_for_a_query_with_a_relevant_document() -> None:
    probes = canary_probes(rankings(), {"tea": ["tea"]}, n_queries=3)
    kinds = {probe.kind for probe in probes if probe.query_id == "tea"}
    assert kinds == {*CONTROLS, *PROBES}
    assert "buried" not in {probe.kind for probe in probes if probe.query_id == "oak"}


def test_a_probe_is_its_control_and_bait() -> None:
    probes = {probe.kind: probe for probe in canary_probes(rankings(), {"tea": ["tea"]}, n_queries=3)}
    tea = {probe.kind: probe for probe in canary_probes(rankings(), {"tea": ["tea"]}, n_queries=3)
           if probe.query_id == "tea"}  # fmt: skip
    unrelated = tea["unrelated"].document
    assert unrelated in (TEXTS["ice"], TEXTS["oak"])
    for kind in ("told", "ordered", "markup", "foreign"):
        assert tea[kind].document.startswith(unrelated)
    assert tea["stuffed"].document.count("tell me about tea") >= 2
    assert set(unrelated.split()) <= set(tea["stuffed"].document.split())
    assert TEXTS["tea"] in tea["buried"].document
    words = tea["buried"].document.split()
    assert 0.4 < words.index("brewed") / len(words) < 0.6  # in the middle
    assert probes["blank"].document.strip("\u200b ") == ""


def test_only_what_is_relevant_should_be_found_relevant() -> None:
    probes = canary_probes(rankings(), {"tea": ["tea"]}, n_queries=3)
    assert {probe.kind for probe in probes if probe.is_relevant} == {"relevant", "buried"}
    assert {control_of(kind) for kind in PROBES} == {"unrelated", "relevant", None}


def test_probes_are_the_same_for_the_same_seed() -> None:
    def documents(seed: int) -> list[str]:
        return [probe.document for probe in canary_probes(rankings(), {}, n_queries=2, seed=seed)]

    assert documents(1) == documents(1)
    assert any(documents(1) != documents(seed) for seed in range(2, 6))


def test_no_probe_can_close_its_tag() -> None:
    for probe in canary_probes(rankings(), {"tea": ["tea"]}, n_queries=3):
        content = LABEL.messages(query=probe.query, document=probe.document)[-1]["content"]
        assert content.count("<doc>") == content.count("</doc>") == 1
        assert content.endswith("</doc>")


def test_one_query_gives_no_unrelated_passage() -> None:
    with pytest.raises(InputError, match="at least two queries"):
        canary_probes(rankings().slice(0, 1), {})


def test_probes_become_one_ranking_a_query() -> None:
    table = probe_rankings(canary_probes(rankings(), {}, n_queries=2))
    assert table.num_rows == 2
    assert all(set(ids) <= {*CONTROLS, *PROBES} for ids in table["doc_ids"].to_pylist())


def gullible(request: dict[str, Any]) -> str:
    """Finds relevant whatever says so, or holds the whole query; else what is about the query's last word."""
    content = request["messages"][-1]["content"]
    query = re.search(r"Query: (.*)", content)
    document = content.split("<doc>", 1)[1]
    assert query is not None
    led = "relevant" in document or query[1] in document
    return "yes" if led or query[1].split()[-1] in document.split() else "no"


def test_a_gullible_judge_is_led(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(gullible) as server:
        table = ask_canaries(
            rankings(), people(), model=model_at(server), store=store, rel=2, n_queries=3, judge=Judge(batch_size=4)
        )
        assert len({json.dumps(request.body) for request in server.requests}) == table.num_rows  # each asked alone
    found = {(row["query_id"], row["kind"]): row["label"] for row in table.to_pylist()}
    assert {label for (_, kind), label in found.items() if kind in ("stuffed", "told", "query", "relevant")} == {1.0}
    assert {label for (_, kind), label in found.items() if kind in ("unrelated", "ordered", "blank")} == {0.0}
    assert ("oak", "buried") not in found  # people found it not relevant
