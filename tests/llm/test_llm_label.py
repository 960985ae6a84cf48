"""Labels: P(yes), the verdict where there are no probabilities, and a reason where there is neither."""

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError, SchemaError
from ragauge.llm import Model, Survey, label_rankings
from ragauge.schema import LABELS, RANKINGS, check
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply

ModelAt = Callable[[ScriptedModel], Model]


def rankings(*rows: dict[str, Any]) -> pa.Table:
    filled = []
    for row in rows:
        n = len(row["doc_ids"])
        plain = {"query": "what is it", "run": "r", "scores": [None] * n, "labels": [None] * n}
        filled.append(plain | {"texts": [f"text of {doc_id}" for doc_id in row["doc_ids"]]} | row)
    return pa.Table.from_pylist(filled, schema=RANKINGS)


def one_pair() -> pa.Table:
    return rankings({"query_id": "q1", "doc_ids": ["d1"]})


def labelled(reply: Any, model_at: ModelAt, store: Store, table: pa.Table | None = None) -> dict[str, Any]:
    with ScriptedModel(lambda request: reply) as server:
        labels = label_rankings(table or one_pair(), model=model_at(server), store=store)
    return labels.to_pylist()[0]


# P(yes) / (P(yes) + P(no)), each summed over its spellings.
BY_PROBABILITY = [
    ({"yes": 0.6, "no": 0.2, "maybe": 0.2}, 0.75),  # .6/.8
    ({"Yes": 0.3, " yes": 0.1, "YES": 0.1, "No": 0.5}, 0.5),  # (.3+.1+.1)/1
    ({"\u0120yes": 0.2, "\u2581no": 0.6}, 0.25),  # .2/.8: the marks tokenizers show for a space
    ({"no": 0.9}, 0.0),
    ({"yes": 0.9}, 1.0),
]


@pytest.mark.parametrize(("probabilities", "label"), BY_PROBABILITY)
def test_label_is_share_of_yes_over_spellings(
    probabilities: dict[str, float], label: float, model_at: ModelAt, store: Store
) -> None:
    logs = {token: math.log(p) for token, p in probabilities.items()}
    row = labelled(ScriptedReply("yes", top_logprobs=logs, finish_reason="length"), model_at, store)
    assert row["label"] == pytest.approx(label, abs=1e-12)
    assert row["reason"] is None
    assert row["judge"] == "judge label/1"


@pytest.mark.parametrize(
    ("text", "label"),
    [("yes", 1.0), (" No.", 0.0), ("YES", 1.0), ("No, it is about cats.", 0.0), ('{"verdict": "yes"}', 1.0)],
)
def test_without_probabilities_the_word_is_the_label(text: str, label: float, model_at: ModelAt, store: Store) -> None:
    assert labelled(text, model_at, store)["label"] == label


UNLABELLED = [
    (ScriptedReply("The passage is about cats."), "no_verdict"),
    (ScriptedReply("No idea whether it does"), "no_verdict"),
    (ScriptedReply(""), "empty"),
    (ScriptedReply("The passage", finish_reason="length"), "cut_off"),
    (ScriptedReply("", finish_reason="length"), "cut_off"),
    (ScriptedReply("I cannot help.", finish_reason="content_filter"), "refused"),
    (ScriptedReply("Well", top_logprobs={"Well": math.log(0.95), "yes": math.log(0.03)}), "no_verdict"),
    (ScriptedReply("no such model", status=404), "refused"),
    (ScriptedReply("overloaded", status=500), "http_500"),
    (ScriptedReply("slow down", status=429, headers={"Retry-After": "0"}), "rate_limited"),
    (ScriptedReply("yes", cut=True), "not_json"),
    (ScriptedReply(raw="Bad gateway"), "not_json"),
    (ScriptedReply(drop=True), "disconnected"),
    ({"choices": []}, "no_choices"),
]


@pytest.mark.parametrize(("reply", "reason"), UNLABELLED)
def test_what_is_no_verdict_is_unlabelled_with_a_reason(
    reply: Any, reason: str, model_at: ModelAt, store: Store
) -> None:
    row = labelled(reply, model_at, store)
    assert row["label"] is None
    assert row["reason"] == reason


def test_a_refusal_in_the_message_is_unlabelled(model_at: ModelAt, store: Store) -> None:
    choice = {"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}
    row = labelled({"choices": [choice]}, model_at, store)
    assert (row["label"], row["reason"]) == (None, "refused")


def test_an_endpoint_without_probabilities_is_asked_for_structured_output(model_at: ModelAt, store: Store) -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        return ScriptedReply('{"verdict": "no"}' if "response_format" in request else "The passage says")

    with ScriptedModel(reply) as server:
        row = label_rankings(one_pair(), model=model_at(server), store=store).to_pylist()[0]
        sent = [request.body for request in server.requests]
    assert row["label"] == 0.0
    assert sent[1]["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"] == ["yes", "no"]


def test_an_endpoint_that_refuses_logprobs_is_asked_for_structured_output(model_at: ModelAt, store: Store) -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        if "logprobs" in request:
            return ScriptedReply("unknown parameter: logprobs", status=400)
        return ScriptedReply('{"verdict": "yes"}')

    with ScriptedModel(reply) as server:
        row = label_rankings(one_pair(), model=model_at(server), store=store).to_pylist()[0]
    assert row["label"] == 1.0


def test_a_label_in_the_store_names_the_reply_it_was_read_from(model_at: ModelAt, store: Store) -> None:
    texts = ["helps", "prose"]
    with ScriptedModel(lambda request: "yes" if "helps" in request["messages"][-1]["content"] else "oh") as server:
        label_rankings(
            rankings({"query_id": "q1", "doc_ids": ["d1", "d2"], "texts": texts}), model=model_at(server), store=store
        )
    judged = {row["doc_id"]: row for row in store.judgements().to_pylist()}
    replies = store.replies([judged["d1"]["reply_key"], judged["d2"]["reply_key"]])
    said = {
        doc_id: replies[row["reply_key"]].reply["choices"][0]["message"]["content"] for doc_id, row in judged.items()
    }
    assert said == {"d1": "yes", "d2": "oh"}  # what cannot be read is evidence as well


def test_what_was_not_asked_leaves_no_judgement(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(lambda request: "yes") as server:
        labels = label_rankings(one_pair(), model=model_at(server), store=store, ask=Survey())
    assert labels["reason"].to_pylist() == ["not_asked"]
    assert store.judgements().num_rows == 0


def test_failed_calls_do_not_stop_the_others(model_at: ModelAt, store: Store) -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        bad = "text of d2" in request["messages"][-1]["content"]
        return ScriptedReply("no", status=400) if bad else ScriptedReply("yes")

    table = rankings({"query_id": "q1", "doc_ids": ["d1", "d2", "d3"]})
    with ScriptedModel(reply) as server:
        labels = label_rankings(table, model=model_at(server), store=store)
    assert labels["label"].to_pylist() == [1.0, None, 1.0]
    assert labels["reason"].to_pylist() == [None, "refused", None]
    assert [failure.reason for failure in store.failures()] == ["refused"]


def test_a_second_run_asks_only_what_failed(model_at: ModelAt, store: Store) -> None:
    broken = {"text of d2"}

    def reply(request: dict[str, Any]) -> ScriptedReply:
        bad = any(text in request["messages"][-1]["content"] for text in broken)
        return ScriptedReply("busy", status=503) if bad else ScriptedReply("yes")

    table = rankings({"query_id": "q1", "doc_ids": ["d1", "d2", "d3"]})
    with ScriptedModel(reply) as server:
        label_rankings(table, model=model_at(server), store=store)
        broken.clear()
        before = len(server.requests)
        again = label_rankings(table, model=model_at(server), store=store)
        assert len(server.requests) == before + 1
        label_rankings(table, model=model_at(server), store=store)
        assert len(server.requests) == before + 1
    assert again["label"].to_pylist() == [1.0, 1.0, 1.0]


def test_a_document_of_several_runs_is_asked_once_and_counted_for_each(model_at: ModelAt, store: Store) -> None:
    done: list[int] = []
    table = rankings(
        {"query_id": "q1", "run": "a", "doc_ids": ["d1", "d2"]},
        {"query_id": "q2", "run": "a", "doc_ids": ["d1"], "query": "another"},
        {"query_id": "q1", "run": "b", "doc_ids": ["d2", "d3"]},
    )
    with ScriptedModel() as server:
        labels = label_rankings(table, model=model_at(server), store=store, on_progress=done.append)
        asked = len(server.requests)
    assert asked == 4  # q1: d1 d2 d3, q2: d1
    assert sum(done) == 5  # documents in the three rankings
    pairs = list(zip(labels["query_id"].to_pylist(), labels["doc_id"].to_pylist(), strict=True))
    assert pairs == [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q2", "d1")]
    check(labels, LABELS, what="labels")


def test_only_the_top_is_labelled(model_at: ModelAt, store: Store) -> None:
    table = rankings({"query_id": "q1", "doc_ids": ["d1", "d2", "d3"]})
    with ScriptedModel() as server:
        labels = label_rankings(table, model=model_at(server), store=store, top=2)
    assert labels["doc_id"].to_pylist() == ["d1", "d2"]


def test_a_document_without_text_is_unlabelled_and_not_asked(model_at: ModelAt, store: Store) -> None:
    table = rankings({"query_id": "q1", "doc_ids": ["d1", "d2"], "texts": [None, "  "]})
    with ScriptedModel() as server:
        labels = label_rankings(table, model=model_at(server), store=store)
        assert not server.requests
    assert labels["reason"].to_pylist() == ["no_text", "no_text"]
    assert labels["label"].null_count == 2


def test_a_text_that_another_run_knows_is_used(model_at: ModelAt, store: Store) -> None:
    table = rankings(
        {"query_id": "q1", "run": "a", "doc_ids": ["d1"], "texts": [None]},
        {"query_id": "q1", "run": "b", "doc_ids": ["d1"]},
    )
    with ScriptedModel() as server:
        labels = label_rankings(table, model=model_at(server), store=store)
    assert labels["label"].null_count == 0


def test_empty_rankings_give_no_labels(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server:
        labels = label_rankings(rankings({"query_id": "q1", "doc_ids": []}), model=model_at(server), store=store)
    assert labels.num_rows == 0
    assert labels.schema.equals(LABELS)


def test_queries_without_text_are_named(model_at: ModelAt, store: Store) -> None:
    table = rankings(
        {"query_id": "q1", "doc_ids": ["d1"], "query": None}, {"query_id": "q2", "doc_ids": ["d1"], "query": " "}
    )
    with ScriptedModel() as server, pytest.raises(InputError, match=r"'q1'[^\n]*\n[^\n]*'q2'"):
        label_rankings(table, model=model_at(server), store=store)


def test_two_texts_of_one_query_are_an_error(model_at: ModelAt, store: Store) -> None:
    table = rankings(
        {"query_id": "q1", "run": "a", "doc_ids": ["d1"]},
        {"query_id": "q1", "run": "b", "doc_ids": ["d1"], "query": "other"},
    )
    with ScriptedModel() as server, pytest.raises(InputError, match="two texts"):
        label_rankings(table, model=model_at(server), store=store)


def test_top_zero_is_an_error(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server, pytest.raises(InputError, match="positive number of documents, got 0"):
        label_rankings(one_pair(), model=model_at(server), store=store, top=0)


def test_a_table_without_texts_is_an_error(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel() as server, pytest.raises(SchemaError, match="texts"):
        label_rankings(one_pair().drop_columns(["texts"]), model=model_at(server), store=store)
