"""A cascade: the cheap judge settles clear negatives, the dear one the rest, and an audit tells what that costs."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.llm import Model, Stage, ask_all, label_in_cascade, plan_cascade
from ragauge.schema import LABELS, RANKINGS, check
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply
from ragauge.wire import Budget

ModelAt = Callable[[ScriptedModel], Model]

N_QUERIES, N_DOCUMENTS = 10, 10


def rankings() -> pa.Table:
    """Documents 0 to 9 for each query; the cheap judge gives document i the label i / 10, and 9 cannot be read."""
    rows = [
        {
            "query_id": f"q{q}",
            "query": f"query {q}",
            "run": "r",
            "doc_ids": [str(i) for i in range(N_DOCUMENTS)],
            "texts": [f"text {i}" for i in range(N_DOCUMENTS)],
            "scores": [None] * N_DOCUMENTS,
            "labels": [None] * N_DOCUMENTS,
        }
        for q in range(N_QUERIES)
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def number(request: dict[str, Any]) -> int:
    return int(request["messages"][-1]["content"].split("text ")[1][0])


def cheap_reply(request: dict[str, Any]) -> ScriptedReply:
    p = max(number(request) / 10, 1e-6)
    if number(request) == 9:
        return ScriptedReply("no", status=400)
    return ScriptedReply("yes", {"yes": math.log(p), "no": math.log(1 - p)})


def dear_reply(request: dict[str, Any]) -> str:
    """Relevant from 4 on, and document 1, which the cheap judge settles wrongly."""
    return "yes" if number(request) >= 4 or number(request) == 1 else "no"


@pytest.fixture
def servers() -> Iterator[tuple[ScriptedModel, ScriptedModel]]:
    with ScriptedModel(cheap_reply) as cheap, ScriptedModel(dear_reply) as dear:
        yield cheap, dear


def run(servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store, **options: Any) -> Any:
    cheap, dear = (Stage(model_at(server)) for server in servers)
    return label_in_cascade(rankings(), cheap, dear, store=store, settle_below=0.4, **options)


def test_the_dear_judge_is_asked_only_about_what_is_not_settled(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    found = run(servers, model_at, store, audit=0.0)
    assert len(servers[0].requests) == 100
    assert {number(request.body) for request in servers[1].requests} == {4, 5, 6, 7, 8, 9}  # 9 could not be read
    labels = found.labels.to_pylist()
    assert [row["label"] for row in labels[:10]] == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert (found.n_settled, found.n_audited) == (40, 0)
    assert math.isnan(found.missed.mean)
    check(found.labels, LABELS, what="labels")


def test_the_audit_estimates_what_was_settled_wrongly(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    found = run(servers, model_at, store, audit=0.5, seed=2)
    assert (found.n_settled, found.n_audited) == (20, 20)
    assert found.missed.low <= 0.25 <= found.missed.high  # one document in four
    assert found.n_missed == pytest.approx(found.missed.mean * 20)
    by_dear = [row for row in found.labels.to_pylist() if row["doc_id"] == "1" and row["label"] == 1.0]
    assert len(by_dear) == round(found.missed.mean * 20)  # audited documents have the dear judge's label


def test_a_full_audit_finds_all(servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store) -> None:
    found = run(servers, model_at, store, audit=1.0)
    assert (found.n_settled, found.missed.mean, found.n_missed) == (0, 0.25, 0.0)


def test_an_audit_is_a_share(servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store) -> None:
    with pytest.raises(InputError, match=r"0 to 1, got 1\.5"):
        run(servers, model_at, store, audit=1.5)


def test_what_the_dear_judge_has_labelled_is_never_settled(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    """The cheap judge fails at first, so that the dear one is asked about what it would have settled."""
    with ScriptedModel(lambda request: ScriptedReply("no", status=400)) as broken:
        dear = Stage(model_at(servers[1]))
        cheap = replace(model_at(servers[0]), identity="cheap")
        out_of_order = replace(model_at(broken), identity="cheap")
        label_in_cascade(rankings(), Stage(out_of_order), dear, store=store, settle_below=0.4, audit=0.0, top=2)
    n_asked = len(servers[1].requests)
    assert n_asked == 20  # documents 0 and 1 of ten queries
    found = label_in_cascade(rankings(), Stage(cheap), dear, store=store, settle_below=0.4, audit=0.0, top=3)
    assert len(servers[1].requests) == n_asked
    assert [row["label"] for row in found.labels.to_pylist()[:3]] == [0.0, 1.0, 0.0]  # 2 alone was settled
    assert found.n_settled == 10


def test_a_larger_run_audits_what_a_smaller_one_did(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    run(servers, model_at, store, audit=0.2, top=2)
    first = {request.body["messages"][-1]["content"] for request in servers[1].requests}
    assert len(first) == 4  # of the twenty documents 0 and 1
    run(servers, model_at, store, audit=0.2, top=3)
    assert len(servers[1].requests) <= 4 + 6  # six of thirty; none is asked twice


def test_what_the_cheap_judge_was_not_asked_yet_is_not_asked_of_the_dear_one(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    """Fifty calls are five queries; the documents of each from 4 on are the dear judge's."""
    cheap = Stage(model_at(servers[0]), ask=partial(ask_all, budget=Budget(max_calls=50)))
    found = label_in_cascade(rankings(), cheap, Stage(model_at(servers[1])), store=store, settle_below=0.4, audit=0.0)
    assert len(servers[1].requests) == 5 * 6
    assert found.labels.column("reason").to_pylist() == [None] * 50 + ["budget"] * 50


def test_a_plan_asks_nothing_and_knows_what_a_run_left(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    cheap, dear = (Stage(model_at(server)) for server in servers)
    plan = partial(plan_cascade, rankings(), cheap, dear, store=store, settle_below=0.4)
    before = plan()
    assert not servers[0].requests
    assert (before.cheap.calls, before.dear_at_most.calls, before.dear_expected) == (100, 100, None)
    run(servers, model_at, store)
    after = plan()
    # The cheap judge failed on document 9 of each query, and a failure is asked again; the dear one knows all of it.
    assert (after.cheap.calls, after.dear_at_most.calls, after.n_known) == (10, 0, 90)
    assert after.settled == pytest.approx(40 / 90)


@pytest.mark.slow
def test_the_interval_of_the_audit_covers(
    servers: tuple[ScriptedModel, ScriptedModel], model_at: ModelAt, store: Store
) -> None:
    """One document in four is settled wrongly; a quarter of the forty is audited, with 200 seeds."""
    found = [run(servers, model_at, store, audit=0.25, seed=seed).missed for seed in range(200)]
    assert sum(one.low <= 0.25 <= one.high for one in found) >= 0.92 * 200
