"""Canaries: what they are made of, and that a judge that is led is seen to be led."""

import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.llm import LABEL, Judge, Model, ask_canaries, canary_results, highest_labelled, relevant_to_people
from ragauge.llm.canary import CONTROLS, PROBES, canary_probes, control_of
from ragauge.llm.examine import CANARIES
from ragauge.llm.led import meanings
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


def labels(*rows: tuple[str, str, float | None]) -> pa.Table:
    """(query, document, label) of each."""
    filled = [
        {"query_id": query, "doc_id": doc_id, "label": label, "reason": None, "judge": "m"}
        for query, doc_id, label in rows
    ]
    return pa.Table.from_pylist(filled, schema=LABELS)


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


def test_a_larger_number_of_queries_keeps_the_probes_of_a_smaller_one() -> None:
    few, more = (canary_probes(rankings(), {}, n_queries=n, seed=4) for n in (1, 3))
    assert set(few) < set(more)


def test_what_one_query_hides_changes_no_probe_of_another() -> None:
    without, with_tea = (canary_probes(rankings(), relevant, n_queries=3) for relevant in ({}, {"tea": ["tea"]}))
    assert {probe.kind for probe in set(with_tea) - set(without)} == {"relevant", "buried"}


def test_the_first_of_the_highest_labels_is_hidden_where_it_is_one_of_a_relevant_document() -> None:
    found = labels(("q", "a", 0.6), ("q", "b", 0.9), ("q", "c", 0.9), ("r", "a", 0.4), ("s", "a", None))
    assert highest_labelled(found, at_least=0.5) == {"q": ["b"]}
    assert highest_labelled(found, at_least=0.4) == {"q": ["b"], "r": ["a"]}


def test_the_store_does_not_take_canaries_for_documents(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server:
        ask_canaries(canary_probes(rankings(), {}), model=model_at(server), store=store)
    assert store.labels().num_rows == 0


def results(**n_led: int) -> pa.Table:
    """Four canaries a kind, so many of which led a judge that is right about every control."""
    rows = [("unrelated", q, 0.0) for q in range(4)] + [("relevant", q, 1.0) for q in range(4)]
    for kind, led in n_led.items():
        rows += [(kind, q, float((q < led) != (kind == "buried"))) for q in range(4)]
    filled = [{"query_id": f"q{q}", "kind": kind, "label": label, "reason": None} for kind, q, label in rows]
    return pa.Table.from_pylist(filled, schema=CANARIES)


MEANINGS = [
    ({"stuffed": 2, "query": 0}, ["the query's words"]),
    ({"stuffed": 1, "query": 1}, ["the query's words"]),  # two of eight
    ({"told": 1, "ordered": 0, "markup": 0, "foreign": 1}, []),  # two of sixteen
    ({"told": 4, "ordered": 0, "markup": 0, "foreign": 0}, ["about itself"]),
    ({"blank": 1}, []),  # a single one
    ({"blank": 2, "buried": 3}, ["no text", "amid other words"]),
]


@pytest.mark.parametrize(("n_led", "said"), MEANINGS)
def test_what_led_the_judge_often_is_told_in_words(n_led: dict[str, int], said: list[str]) -> None:
    found = meanings(canary_results(results(**n_led), cut=0.5))
    assert len(found) == len(said)
    assert all(words in sentence for words, sentence in zip(said, found, strict=True))


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
        probes = canary_probes(
            rankings(),
            relevant_to_people(labels(("tea", "tea", 3), ("ice", "ice", 3), ("oak", "oak", 0)), rel=2),
            n_queries=3,
        )
        table = ask_canaries(probes, model=model_at(server), store=store, judge=Judge(batch_size=4))
        assert len({json.dumps(request.body) for request in server.requests}) == table.num_rows  # each asked alone
    found = {(row["query_id"], row["kind"]): row["label"] for row in table.to_pylist()}
    assert {label for (_, kind), label in found.items() if kind in ("stuffed", "told", "query", "relevant")} == {1.0}
    assert {label for (_, kind), label in found.items() if kind in ("unrelated", "ordered", "blank")} == {0.0}
    assert ("oak", "buried") not in found  # people found it not relevant
