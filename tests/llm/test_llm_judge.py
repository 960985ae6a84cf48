"""Judges: graded labels, criteria, examples, batches in shuffled orders, and failures with their reasons."""

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.llm import Judge, LabelledExample, Model, examples_from, label_rankings
from ragauge.schema import LABELS, RANKINGS
from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply

ModelAt = Callable[[ScriptedModel], Model]


def ranking(*texts: str, query: str = "what is it", query_id: str = "q", run: str = "r") -> dict[str, Any]:
    n = len(texts)
    return {
        "query_id": query_id,
        "query": query,
        "run": run,
        "doc_ids": [f"d-{text.split()[0]}" for text in texts],
        "texts": list(texts),
        "scores": [None] * n,
        "labels": [None] * n,
    }


def rankings(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=RANKINGS)


def labelled(
    reply: Any, model_at: ModelAt, store: Store, judge: Judge, *rows: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The labels, and the bodies of the requests."""
    with ScriptedModel(reply if callable(reply) else lambda request: reply) as server:
        labels = label_rankings(
            rankings(*(rows or (ranking("one"),))), model=model_at(server), store=store, judge=judge
        )
        sent = [request.body for request in server.requests]
    return labels.to_pylist(), sent


def shown(request: dict[str, Any]) -> list[str]:
    """The documents that a request shows, in its order."""
    return re.findall(r"<doc \d+>(.*?)</doc>", request["messages"][-1]["content"])


def verdicts(words: Sequence[str]) -> str:
    return json.dumps({"verdicts": list(words)})


def logs(probabilities: dict[str, float]) -> dict[str, float]:
    return {token: math.log(p) for token, p in probabilities.items()}


# Expected grade under the probabilities of 0, 1, 2, 3, made to sum to 1.
GRADED = [
    ({"3": 0.5, "2": 0.25, "0": 0.25}, 2.0),  # 1.5 + .5
    ({"1": 0.3, "2": 0.3, "well": 0.4}, 1.5),  # (.3 + .6) / .6
    ({" 0": 0.8}, 0.0),
]


@pytest.mark.parametrize(("probabilities", "label"), GRADED)
def test_a_graded_label_is_the_expected_grade(
    probabilities: dict[str, float], label: float, model_at: ModelAt, store: Store
) -> None:
    reply = ScriptedReply("2", logs(probabilities))
    (row,), _ = labelled(reply, model_at, store, Judge(scale="graded"))
    assert row["label"] == pytest.approx(label, abs=1e-12)
    assert row["judge"] == "judge label-graded/1"


def test_a_grade_without_probabilities_is_as_said(model_at: ModelAt, store: Store) -> None:
    (row,), _ = labelled("3", model_at, store, Judge(scale="graded"))
    assert row["label"] == 3.0


def test_criteria_stand_in_the_instruction_and_in_the_name(model_at: ModelAt, store: Store) -> None:
    judge = Judge(criteria="It names a price. </doc>")
    (row,), (sent,) = labelled("yes", model_at, store, judge)
    assert sent["messages"][0]["content"].endswith("What relevant means here: It names a price. ‹/doc>")
    assert re.fullmatch(r"judge label/1~[0-9a-f]{8}", row["judge"])


def test_other_criteria_are_another_question_to_the_store(model_at: ModelAt, store: Store) -> None:
    with ScriptedModel(lambda request: "yes") as server:
        asked = []
        for criteria in ("a", "a", "b"):
            judge = Judge(criteria=criteria)
            label_rankings(rankings(ranking("one")), model=model_at(server), store=store, judge=judge)
            asked.append(len(server.requests))
    assert asked == [1, 1, 2]


def test_examples_are_earlier_turns(model_at: ModelAt, store: Store) -> None:
    judge = Judge(examples=(LabelledExample("how old", "seven years", "yes"), LabelledExample("who", "a cat", "no")))
    _, (sent,) = labelled("yes", model_at, store, judge)
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [sent["messages"][i]["content"] for i in (2, 4)] == ["yes", "no"]


def test_examples_of_a_batch_are_batches_of_one(model_at: ModelAt, store: Store) -> None:
    judge = Judge(batch_size=2, examples=(LabelledExample("how old", "seven years", "yes"),))
    _, (sent,) = labelled(verdicts(["yes", "no"]), model_at, store, judge, ranking("one", "two"))
    assert sent["messages"][2]["content"] == '{"verdicts": ["yes"]}'
    assert shown({"messages": sent["messages"][:2]}) == ["seven years"]


def by_text(request: dict[str, Any]) -> str:
    """Documents that begin with "good" are relevant, wherever they stand."""
    return verdicts(["yes" if text.startswith("good") else "no" for text in shown(request)])


def test_a_batch_gives_each_document_its_own_verdict(model_at: ModelAt, store: Store) -> None:
    texts = ["bad 1", "good 2", "bad 3", "good 4", "bad 5"]
    judge = Judge(batch_size=2, permutations=2)
    rows, sent = labelled(by_text, model_at, store, judge, ranking(*texts) | {"doc_ids": list("abcde")})
    assert [row["label"] for row in rows] == [0, 1, 0, 1, 0]
    assert [len(shown(request)) for request in sent].count(2) == 4  # two orders of 2 + 2 + 1
    assert {row["judge"] for row in rows} == {"judge label-batch/1 2x2"}


def test_orders_differ_and_do_not_depend_on_other_queries(model_at: ModelAt, store: Store) -> None:
    eight = ranking(*(f"good {i}" for i in range(8))) | {"doc_ids": [str(i) for i in range(8)]}
    other = ranking("bad", query="another", query_id="p")
    judge = Judge(batch_size=8, permutations=3)
    with ScriptedModel(by_text) as server:
        for table in (rankings(eight), rankings(other, eight)):
            label_rankings(table, model=model_at(server), store=store, judge=judge)
        sent = [shown(request.body) for request in server.requests]
    assert len({tuple(documents) for documents in sent[:3]}) == 3
    assert sent[3:] == [["bad"]]  # alike in all orders, so asked once


def test_a_label_is_the_mean_over_the_orders(model_at: ModelAt, store: Store) -> None:
    def first_wins(request: dict[str, Any]) -> str:
        return verdicts(["yes", *["no"] * (len(shown(request)) - 1)])

    texts = [f"good {i}" for i in range(3)]
    judge = Judge(batch_size=3, permutations=12)
    rows, sent = labelled(first_wins, model_at, store, judge, ranking(*texts) | {"doc_ids": list("abc")})
    assert len(sent) <= 6  # 3! orders: equal ones are asked once
    assert sum(row["label"] for row in rows) == pytest.approx(1.0)  # one yes a draw
    assert 0 < max(row["label"] for row in rows) < 1


def test_a_document_of_two_runs_stands_in_a_batch_once(model_at: ModelAt, store: Store) -> None:
    rows, (sent,) = labelled(
        by_text, model_at, store, Judge(batch_size=4), ranking("good", "bad"), ranking("bad", "good", run="s")
    )
    assert sorted(shown(sent)) == ["bad", "good"]
    assert [row["label"] for row in rows] == [1, 0]


def test_probabilities_in_a_batch_are_those_at_each_verdict(model_at: ModelAt, store: Store) -> None:
    def place(word: str, p_yes: float) -> dict[str, Any]:
        both = {"yes": p_yes, "no": 1 - p_yes}
        top = [{"token": token, "logprob": math.log(p)} for token, p in both.items()]
        return {"token": word, "logprob": 0.0, "top_logprobs": top}

    punctuation = {"token": '", "', "logprob": 0.0, "top_logprobs": []}
    content = [punctuation, place("yes", 0.75), punctuation, place(" no", 0.25), punctuation]
    choice = {
        "message": {"content": verdicts(["yes", "no"])},
        "finish_reason": "stop",
        "logprobs": {"content": content},
    }
    rows, (sent,) = labelled({"choices": [choice]}, model_at, store, Judge(batch_size=2), ranking("one", "two"))
    by_text = {row["doc_id"].removeprefix("d-"): row["label"] for row in rows}
    assert [by_text[text] for text in shown(sent)] == pytest.approx([0.75, 0.25])


BATCH_FAILURES = [
    (ScriptedReply(verdicts(["yes"])), "wrong_count"),
    (ScriptedReply(verdicts(["yes", "no", "no"])), "wrong_count"),
    (ScriptedReply('{"verdicts": ["yes", '), "bad_json"),
    (ScriptedReply("yes, no"), "bad_json"),
    (ScriptedReply('{"verdicts": ["yes", ', finish_reason="length"), "cut_off"),
    (ScriptedReply(""), "empty"),
    (ScriptedReply("I will not.", finish_reason="content_filter"), "refused"),
    (ScriptedReply("busy", status=503), "http_503"),
]


@pytest.mark.parametrize(("reply", "reason"), BATCH_FAILURES)
def test_a_batch_that_cannot_be_read_labels_none_of_its_documents(
    reply: ScriptedReply, reason: str, model_at: ModelAt, store: Store
) -> None:
    rows, _ = labelled(reply, model_at, store, Judge(batch_size=2), ranking("one", "two"))
    assert [(row["label"], row["reason"]) for row in rows] == [(None, reason)] * 2


def test_one_verdict_that_is_none_costs_one_document(model_at: ModelAt, store: Store) -> None:
    rows, (sent,) = labelled(verdicts(["yes", "perhaps"]), model_at, store, Judge(batch_size=2), ranking("one", "two"))
    found = {row["doc_id"].removeprefix("d-"): (row["label"], row["reason"]) for row in rows}
    assert [found[text] for text in shown(sent)] == [(1.0, None), (None, "no_verdict")]


def test_an_endpoint_without_structured_output_is_asked_for_a_batch_without_it(model_at: ModelAt, store: Store) -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply | str:
        if "response_format" in request:
            return ScriptedReply("response_format is not supported", status=400)
        return by_text(request)

    rows, sent = labelled(reply, model_at, store, Judge(batch_size=2), ranking("good", "bad"))
    assert [row["label"] for row in rows] == [1.0, 0.0]
    assert "logprobs" not in sent[-1]


# Replies to a question about one document, without log-probabilities, that the second, structured question repeats.
FAILURES = [
    ("I'm sorry, but I can't help with that.", "refused"),
    ('{"verdict": ', "bad_json"),
    ("ja", "wrong_language"),
    ("Yes. It does not answer the query.", "contradictory"),
    ("The passage is about cats", "no_verdict"),
]


@pytest.mark.parametrize(("text", "reason"), FAILURES)
def test_failures_have_distinct_reasons_and_keep_what_was_said(
    text: str, reason: str, model_at: ModelAt, store: Store
) -> None:
    with ScriptedModel(lambda request: text) as server:
        model = model_at(server)
        row = label_rankings(rankings(ranking("one")), model=model, store=store).to_pylist()[0]
        assert (row["label"], row["reason"]) == (None, reason)
    assert {usage.calls for usage in store.usage()} == {1 if reason == "refused" else 2}


INVALID = [
    ({"scale": "stars"}, "scale must be one of binary, graded"),
    ({"batch_size": 0}, "batch_size must be a positive number, got 0"),
    ({"permutations": 3}, "permutations need batches"),
    ({"examples": (LabelledExample("q", "d", "2"),)}, "verdict must be one of yes, no, got 2"),
]


@pytest.mark.parametrize(("given", "message"), INVALID)
def test_a_judge_that_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Judge(**given)


def people(*rows: tuple[str, str, float | None]) -> pa.Table:
    columns = ("query_id", "doc_id", "label")
    filled = [dict(zip(columns, row, strict=True)) | {"reason": None, "judge": "people"} for row in rows]
    return pa.Table.from_pylist(filled, schema=LABELS)


def test_examples_are_of_each_verdict_and_of_different_queries() -> None:
    table = rankings(*(ranking("a", "b", "c", query=f"query {i}", query_id=f"q{i}") for i in range(4)))
    labels = people(*((f"q{i}", f"d-{text}", float(text == "a")) for i in range(4) for text in "abc"))
    examples = examples_from(table, labels, limit=4)
    assert sorted(one.verdict for one in examples) == ["no", "no", "yes", "yes"]
    assert len({one.query for one in examples}) == 4
    assert all((one.document == "a") == (one.verdict == "yes") for one in examples)


def test_examples_of_a_graded_judge_are_digits() -> None:
    labels = people(("q", "d-a", 3.0), ("q", "d-b", 0.0), ("q", "d-c", None), ("q", "d-gone", 2.0))
    examples = examples_from(rankings(ranking("a", "b", "c")), labels, scale="graded")
    assert [(one.document, one.verdict) for one in examples] == [("b", "0"), ("a", "3")]


def test_a_label_that_is_no_grade_cannot_be_an_example() -> None:
    with pytest.raises(InputError, match=r"need labels 0, 1, 2 or 3, got 0\.5"):
        examples_from(rankings(ranking("a")), people(("q", "d-a", 0.5)), scale="graded")


def test_examples_without_text_are_refused() -> None:
    with pytest.raises(InputError, match="no document of the examples has a text"):
        examples_from(rankings(ranking("a")), people(("q", "d-b", 1.0)))
