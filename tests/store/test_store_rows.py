"""What goes into a store comes out, and the first writer wins."""

import threading
from pathlib import Path

import numpy as np
import pytest

from ragauge.errors import InputError, StoreError
from ragauge.store import FinishedCall, Store, request_key

REPLY = {"choices": [{"message": {"content": "yes"}}]}


def request_for(text: str, prompt_id: str = "label/1") -> dict[str, object]:
    return {"endpoint": "http://host/v1", "model": "m", "prompt_id": prompt_id, "messages": [text]}


def put(store: Store, text: str, reply: dict[str, object] = REPLY, prompt_id: str = "label/1", **usage: int) -> str:
    request = request_for(text, prompt_id)
    key = request_key(request)
    store.put_replies([FinishedCall(key, request=request, reply=reply, latency_s=0.5, **usage)])
    return key


def test_reply_comes_back_as_it_went_in(store: Store) -> None:
    key = put(store, "q", prompt_tokens=7, completion_tokens=1)
    found = store.replies([key])[key]
    assert found.reply == REPLY
    assert (found.key, found.kind, found.model, found.endpoint) == (key, "chat", "m", "http://host/v1")
    assert (found.prompt_id, found.prompt_tokens, found.completion_tokens) == ("label/1", 7, 1)
    assert found.latency_s == 0.5
    assert found.created_at.endswith("+00:00")


def test_unknown_keys_are_left_out(store: Store) -> None:
    key = put(store, "q")
    assert store.replies([key, "r1:unknown", key]).keys() == {key}
    assert store.replies([]) == {}


def test_more_keys_than_one_batch_come_back(store: Store) -> None:
    first, last = put(store, "first"), put(store, "last")
    assert store.replies([first, *map(str, range(1500)), last]).keys() == {first, last}


def test_first_writer_wins(store: Store) -> None:
    key = put(store, "q", {"n": 1})
    put(store, "q", {"n": 2})
    put(store, "q", {"n": 1})
    assert store.replies([key])[key].reply == {"n": 1}


def test_second_answer_to_a_request_was_paid_for_and_is_kept(store: Store) -> None:
    put(store, "q", {"n": 1}, prompt_tokens=5)
    put(store, "q", {"n": 2}, prompt_tokens=7)
    put(store, "q", {"n": 2}, prompt_tokens=7)
    assert store.stats().later_replies == 1
    assert [(usage.calls, usage.prompt_tokens) for usage in store.usage()] == [(2, 12)]


def test_key_of_another_request_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match=r"is not the key of the request"):
        store.put_replies(
            [FinishedCall(request_key({"model": "a"}), request={"model": "b"}, reply=REPLY, latency_s=0.1)]
        )


def test_reply_may_hold_what_servers_send(store: Store) -> None:
    reply = {"logprob": float("-inf"), "text": "a\ud800é"}
    key = put(store, "q", reply)
    assert store.replies([key])[key].reply == reply


def test_reply_that_is_not_json_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="a reply must be a JSON object"):
        put(store, "q", {"x": {1}})


def test_each_failure_is_appended(store: Store) -> None:
    store.put_failure("r1:a", "timeout", "")
    store.put_failure("r1:b", "not_json", "half\0 an \ud800")
    store.put_failure("r1:a", "http_500", "oops")
    assert [failure.reason for failure in store.failures()] == ["timeout", "not_json", "http_500"]
    assert [failure.reason for failure in store.failures(["r1:a"])] == ["timeout", "http_500"]
    assert store.failures(["r1:b"])[0].raw == "half� an \\ud800"


def test_vectors_come_back_by_text_as_float32(store: Store) -> None:
    matrix = np.random.default_rng(0).normal(size=(1201, 3))
    texts = [f"text {row}" for row in range(1201)]
    store.put_vectors("e/1", texts, matrix)
    found = store.vectors("e/1", [*texts, "unknown", texts[0]])
    assert found.keys() == set(texts)
    assert found["text 7"].dtype == np.float32
    np.testing.assert_array_equal(np.stack([found[text] for text in texts]), matrix.astype(np.float32))


def test_vectors_of_models_are_kept_apart(store: Store) -> None:
    store.put_vectors("a", ["t"], np.array([[1.0, 2.0]]))
    store.put_vectors("b", ["t"], np.array([[3.0]]))
    assert store.vectors("a", ["t"])["t"].tolist() == [1, 2]
    assert store.vectors("b", ["t"])["t"].tolist() == [3]


def test_stored_vector_is_kept(store: Store) -> None:
    store.put_vectors("a", ["t", "t"], np.array([[1.0], [2.0]]))
    store.put_vectors("a", ["t"], np.array([[3.0]]))
    assert store.vectors("a", ["t"])["t"].tolist() == [1]


def test_no_vectors_are_no_error(store: Store) -> None:
    store.put_vectors("a", [], np.empty((0, 4)))
    assert store.vectors("a", []) == {}


@pytest.mark.parametrize(
    ("texts", "matrix", "message"),
    [
        (["t"], [[1.0], [2.0]], r"must have shape \(1, dimension\) for 1 texts, got \(2, 1\)"),
        (["t"], [1.0], r"got \(1,\)"),
        (["t"], [[]], r"got \(1, 0\)"),
        (["s", "t"], [[0.0], [np.nan]], r"1 of 2 vectors of 'a' are not finite, first for 't'"),
        (["t"], [[1e300]], "not finite"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    store: Store, texts: list[str], matrix: list[object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        store.put_vectors("a", texts, np.array(matrix))


def test_another_dimension_for_the_same_model_is_refused(store: Store) -> None:
    store.put_vectors("a", ["t"], np.ones((1, 2)))
    with pytest.raises(InputError, match=r"dimension 2 in .*, got 3"):
        store.put_vectors("a", ["u"], np.ones((1, 3)))


def test_usage_sums_by_model_and_prompt(store: Store) -> None:
    put(store, "1", prompt_tokens=10, completion_tokens=1)
    put(store, "2", prompt_tokens=20, completion_tokens=2)
    put(store, "3")
    put(store, "4", prompt_id="grade/1")
    grade, label = store.usage()
    # 3 calls of 0.5 s; 10 + 20 and 1 + 2 tokens known, one call told none
    assert (label.prompt_id, label.calls, label.prompt_tokens, label.completion_tokens) == ("label/1", 3, 30, 3)
    assert (label.calls_without_tokens, label.seconds) == (1, 1.5)
    assert (grade.prompt_id, grade.calls, grade.prompt_tokens, grade.calls_without_tokens) == ("grade/1", 1, None, 1)
    assert str(label) == "m label/1: 3 calls, 30 tokens read, 3 written, 1.5 s"


def test_cost_is_summed_over_the_calls_whose_price_was_known(store: Store) -> None:
    for text, cost in [("1", 0.25), ("2", None), ("3", 0.5)]:
        request = request_for(text)
        store.put_replies(
            [FinishedCall(request_key(request), request=request, reply=REPLY, latency_s=0.1, cost_usd=cost)]
        )
    (usage,) = store.usage()
    assert (usage.cost_usd, usage.calls_without_cost) == (0.75, 1)
    assert usage.first_at <= usage.last_at


@pytest.mark.parametrize("cost", [-1.0, float("nan")])
def test_cost_that_is_none_is_refused(store: Store, cost: float) -> None:
    request = request_for("q")
    with pytest.raises(InputError, match="cost_usd must be a number of dollars, 0 or more"):
        store.put_replies(
            [FinishedCall(request_key(request), request=request, reply=REPLY, latency_s=0.1, cost_usd=cost)]
        )


def test_count_of_tokens_that_cannot_be_one_counts_as_not_told(store: Store) -> None:
    key = put(store, "q", prompt_tokens=-1, completion_tokens=2**40)
    found = store.replies([key])[key]
    assert (found.prompt_tokens, found.completion_tokens) == (None, None)


def test_empty_store_has_no_usage(store: Store) -> None:
    assert store.usage() == []


def test_threads_may_share_a_store(store: Store) -> None:
    keys: list[str] = []
    threads = [
        threading.Thread(target=lambda name=name: keys.extend(put(store, f"{name}/{i}") for i in range(25)))
        for name in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.replies(keys)) == 100


def test_closed_store_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "a.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match=r"a\.db is closed"):
        store.replies(["r1:a"])
