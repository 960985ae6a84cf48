"""The scripted model and the table comparison that other tests lean on."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest

from ragauge.testing import (
    ScriptedModel,
    ScriptedReply,
    assert_tables_equal,
    scripted_p_yes,
    scripted_reply,
    scripted_vector,
)


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=30) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def chat(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_default_reply_is_p_yes_of_the_messages() -> None:
    with ScriptedModel() as model:
        first, again, other = (post(f"{model.base_url}/chat/completions", chat(text)) for text in ("a", "a", "b"))
    assert first == again
    assert first != other
    found = {
        entry["token"]: entry["logprob"] for entry in first["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    }
    assert math.exp(found["yes"]) == pytest.approx(scripted_p_yes(chat("a")))
    assert math.exp(found["yes"]) + math.exp(found["no"]) == pytest.approx(1)
    assert first["choices"][0]["message"]["content"] == scripted_reply(chat("a")).text
    assert first["usage"] == {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (lambda request: "yes", "yes"),
        (lambda request: ScriptedReply("cut o", finish_reason="length"), "cut o"),
        (lambda request: {"choices": [{"message": {"content": "own body"}}]}, "own body"),
    ],
)
def test_reply_may_be_text_record_or_body(reply: Callable[[dict[str, Any]], Any], text: str) -> None:
    with ScriptedModel(reply) as model:
        answer = post(f"{model.base_url}/chat/completions", chat("a"))
    assert answer["choices"][0]["message"]["content"] == text


def test_embeddings_are_unit_vectors_of_each_text() -> None:
    with ScriptedModel() as model:
        data = post(f"{model.base_url}/embeddings", {"model": "e", "input": ["a", "b"]})["data"]
        one = post(f"{model.base_url}/embeddings", {"model": "e", "input": "a"})["data"]
    assert [entry["embedding"] for entry in data] == [scripted_vector("a"), scripted_vector("b")]
    assert one[0]["embedding"] == data[0]["embedding"]
    assert math.hypot(*scripted_vector("a")) == pytest.approx(1)


def test_health_is_ok_and_other_paths_are_not_found() -> None:
    with ScriptedModel() as model:
        with urlopen(model.base_url.removesuffix("/v1") + "/health", timeout=30) as response:
            assert json.load(response) == {"status": "ok"}
        with pytest.raises(HTTPError, match="404") as caught:
            post(f"{model.base_url}/nothing", {})
        caught.value.close()


def test_requests_and_log_hold_what_was_asked_and_answered(tmp_path: Path) -> None:
    log = tmp_path / "answers.jsonl"
    with ScriptedModel(lambda request: "yes", log=log) as model:
        post(f"{model.base_url}/chat/completions", chat("a"))
        post(f"{model.base_url}/embeddings", {"model": "e", "input": ["a"]})
        assert [request.path for request in model.requests] == ["/v1/chat/completions", "/v1/embeddings"]
        assert model.requests[0].headers["content-type"] == "application/json"
    first, second = map(json.loads, log.read_text().splitlines())
    assert first == {"path": "/v1/chat/completions", "status": 200, "request": chat("a")}
    assert second["path"] == "/v1/embeddings"


def test_scripted_model_runs_in_its_own_process(tmp_path: Path) -> None:
    log = tmp_path / "answers.jsonl"
    command = [sys.executable, "-m", "ragauge.testing", "--port", "0", "--log", str(log), "--delay", "0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        said = post(f"{url}/chat/completions", chat("a"))["choices"][0]["message"]["content"]
        process.kill()
    assert len(log.read_text().splitlines()) == 1
    assert said == scripted_reply(chat("a")).text


SAME = [
    pa.table({"a": pa.array([1.0, None, math.nan])}),
    pa.table({"a": pa.array([[1.0, None], [], None, [math.nan]])}),
    pa.table({"a": pa.array([[{"doc_id": "d", "text": "t"}]])}),
    pa.table({"a": pa.chunked_array([[1], [2, 3]])}),
]


@pytest.mark.parametrize("table", SAME, ids=["floats", "lists", "structs", "chunks"])
def test_table_equals_itself(table: pa.Table) -> None:
    assert_tables_equal(table, table.combine_chunks())


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ({"a": [1.0, None]}, {"a": [1.0, math.nan]}, "column 'a', row 1: None is not nan"),
        ({"a": [[0.0, None]]}, {"a": [[0.0, 0.0]]}, r"column 'a', row 0: \[0.0, None\] is not \[0.0, 0.0\]"),
        ({"a": [1.0]}, {"a": [1.1]}, "row 0: 1.0 is not 1.1"),
        ({"a": [math.inf]}, {"a": [-math.inf]}, "row 0: inf is not -inf"),
        ({"a": [1]}, {"a": [1.0]}, "type of column 'a'"),
        ({"a": [1]}, {"a": [1, 2]}, "number of rows: 1 is not 2"),
        ({"a": [1], "b": [1]}, {"b": [1], "a": [1]}, "columns"),
    ],
)
def test_difference_is_named(left: dict[str, list[Any]], right: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_tables_equal(pa.table(left), pa.table(right))


def test_tolerance_is_for_finite_floats() -> None:
    assert_tables_equal(pa.table({"a": [1.0, None]}), pa.table({"a": [1.0 + 1e-9, None]}), tolerance=1e-8)
