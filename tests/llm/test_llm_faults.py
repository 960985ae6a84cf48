"""An endpoint at which three calls in ten go wrong: every pair ends as a label or with a reason, and none twice."""

import json
import logging
import subprocess
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ragauge.errors import EndpointError, InputError
from ragauge.llm import LABEL, Model, Request, ask_all, label_rankings
from ragauge.schema import RANKINGS
from ragauge.store import Store
from ragauge.testing import FAULTS, Faulty, ScriptedModel, ScriptedReply, scripted_p_yes, scripted_reply
from ragauge.wire import Endpoint, Wire, run

N_QUERIES, N_DOCUMENTS = 20, 10
SECRET = "sk-proj/T3BlbkFJ+d41d8cd98f00b204"


def table() -> pa.Table:
    n = N_DOCUMENTS
    rows = [
        {
            "query_id": f"q{q}",
            "query": f"query {q}",
            "run": "r",
            "doc_ids": [f"d{d}" for d in range(n)],
            "texts": [f"text {d}" for d in range(n)],
            "scores": [None] * n,
            "labels": [None] * n,
        }
        for q in range(N_QUERIES)
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def judge(base_url: str, **hard: Any) -> Model:
    return Model("judge", Endpoint(base_url, **{"concurrency": 16, "backoff_s": 0.001, "timeout_s": 30.0} | hard))


FAULTS_THAT_END = (
    *(fault for name, fault in FAULTS.items() if name != "slow bytes"),
    ScriptedReply("yes", pause_s=0.01),
)
"""Bytes that come slowly, but come: a call that is given up as too slow may well be judged twice."""


class Counting:
    """A script that counts how often each question got an answer that is kept."""

    def __init__(self, script: Faulty) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.good: Counter[str] = Counter()

    def __call__(self, request: dict[str, Any]) -> Any:
        said = self._script(request)
        if said == scripted_reply(request):
            with self._lock:
                self.good[request["messages"][-1]["content"]] += 1
        return said


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_pair_ends_as_a_label_or_with_a_reason_and_none_is_judged_twice(seed: int, tmp_path: Path) -> None:
    script = Counting(Faulty(share=0.3, seed=seed, faults=FAULTS_THAT_END))
    with ScriptedModel(script) as server, Store.open(tmp_path / "s.db") as store:
        labels = label_rankings(table(), model=judge(server.base_url), store=store)
        first = labels["label"].to_pylist()
        assert labels.num_rows == N_QUERIES * N_DOCUMENTS
        assert all((row["label"] is None) != (row["reason"] is None) for row in labels.to_pylist())
        assert 0 < labels["label"].null_count < 60  # some faults do not pass, most do
        expected = {(row["query_id"], row["doc_id"]): p_yes(row) for row in labels.to_pylist()}
        for row in labels.to_pylist():
            if row["label"] is not None:
                # "wrong content type" and "slow bytes" say a plain yes; all other labels are the script's probability
                assert row["label"] in (1.0, pytest.approx(expected[row["query_id"], row["doc_id"]], abs=1e-9))
        again = label_rankings(table(), model=judge(server.base_url), store=store)["label"].to_pylist()
    assert max(script.good.values()) == 1
    assert [new for old, new in zip(first, again, strict=True) if old is not None] == [old for old in first if old]
    assert again.count(None) <= first.count(None)


def p_yes(row: dict[str, Any]) -> float:
    query, text = f"query {row['query_id'][1:]}", f"text {row['doc_id'][1:]}"
    return scripted_p_yes({"messages": list(LABEL.messages(query=query, document=text))})


# What each fault becomes when it never passes; None = a label all the same.
ENDS_AS = {
    "429": "rate_limited",
    "429 with Retry-After": "rate_limited",
    "500": "http_500",
    "502": "http_502",
    "503": "http_503",
    "401": "refused",
    "400": "refused",
    "slow bytes": "timeout",
    "dropped": "disconnected",
    "half JSON": "not_json",
    "no JSON": "not_json",
    "empty body": "not_json",
    "prose": "no_verdict",
    "empty text": "empty",
    "cut off": "cut_off",
    "filtered": "refused",
    "NaN": "empty",
    "no choices": "no_choices",
    "another type": "no_choices",
    "wrong content type": None,
    "broken stream": "not_json",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_that_stays_has_its_reason(fault: str) -> None:
    one = table().slice(0, 1)
    with ScriptedModel(lambda request: FAULTS[fault]) as server, Store.open("sqlite://") as store:
        model = judge(server.base_url, max_retries=1, timeout_s=0.15)
        row = label_rankings(one, model=model, store=store, top=1).to_pylist()[0]
    assert row["reason"] == ENDS_AS[fault]
    assert (row["label"] is None) == (ENDS_AS[fault] is not None)


def test_what_was_never_sent_is_not_noted_as_a_failure() -> None:
    with (
        ScriptedModel(lambda request: ScriptedReply("bad key", status=401)) as server,
        Store.open("sqlite://") as store,
    ):
        labels = label_rankings(table(), model=judge(server.base_url, concurrency=2), store=store)
        n_sent = len(server.requests)
        failures = store.failures()
    reasons = Counter(labels["reason"].to_pylist())
    assert 5 <= n_sent <= 6  # five in a row, and one that was in flight beside them
    assert len(failures) == n_sent
    assert reasons == {"refused": n_sent, "not_asked": 200 - n_sent}


def test_key_that_expires_in_the_middle_stops_the_run_and_keeps_what_was_answered() -> None:
    lock = threading.Lock()
    n_asked = 0

    def reply(request: dict[str, Any]) -> ScriptedReply:
        nonlocal n_asked
        with lock:
            n_asked += 1
            return scripted_reply(request) if n_asked <= 100 else FAULTS["401"]

    with ScriptedModel(reply) as server, Store.open("sqlite://") as store:
        labels = label_rankings(table(), model=judge(server.base_url, concurrency=4), store=store)
        n_sent = len(server.requests)
    assert labels.num_rows - labels["label"].null_count == 100
    # Five in a row, and three in flight beside the fifth; each of three good answers that come late may begin it anew.
    assert n_sent <= 100 + 5 + 3 + 3 * 4


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that nobody vouches for."""
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=127.0.0.1", "-days", "2", "-keyout", str(path), "-out", f"{path}.crt"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("openssl, which makes the certificate, is not installed")
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


def test_certificate_that_nobody_vouches_for_stops_the_run_at_once(certificate: Path) -> None:
    with ScriptedModel(certificate=certificate) as server, Store.open("sqlite://") as store:
        labels = label_rankings(table(), model=judge(server.base_url, concurrency=1), store=store)
        assert not server.requests
        failures = store.failures()
    assert Counter(labels["reason"].to_pylist()) == {"certificate": 1, "not_asked": 199}
    assert "check the certificate" in failures[0].raw


def test_an_endpoint_that_streams_unasked_is_read() -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        plain = scripted_reply(request)
        return ScriptedReply(plain.text, top_logprobs=plain.top_logprobs, stream=True)

    with ScriptedModel(reply) as server, Store.open("sqlite://") as store:
        labels = label_rankings(table(), model=judge(server.base_url), store=store)
        usage = store.usage()[0]
    assert labels["label"].to_pylist() == pytest.approx([p_yes(row) for row in labels.to_pylist()], abs=1e-9)
    assert usage.calls_without_tokens == 0


def test_an_endpoint_that_only_streams_is_asked_to() -> None:
    def reply(request: dict[str, Any]) -> ScriptedReply:
        if not request.get("stream"):
            return ScriptedReply("this model supports stream=true only", status=400)
        return ScriptedReply("yes", stream=True)

    with ScriptedModel(reply) as server, Store.open("sqlite://") as store:
        labels = label_rankings(table(), model=judge(server.base_url, concurrency=1), store=store)
        assert len(server.requests) == 201  # the first call twice
        label_rankings(table(), model=judge(server.base_url), store=store)
        assert len(server.requests) == 201
    assert labels["label"].to_pylist() == [1.0] * 200


def test_an_endpoint_without_probabilities_and_without_structured_output_is_refused_with_the_reason() -> None:
    with ScriptedModel(lambda request: "Let me think about that") as server, Store.open("sqlite://") as store:
        labels = label_rankings(table(), model=judge(server.base_url), store=store)
        assert len(server.requests) == 400  # each once for a word, and once for structured output
    assert set(labels["reason"].to_pylist()) == {"no_verdict"}


def test_key_is_in_no_store_log_report_or_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    echo = f"you sent {SECRET}"
    faults = [
        ScriptedReply(echo, status=401),
        ScriptedReply(echo),
        ScriptedReply(raw=echo),
        ScriptedReply(raw=json.dumps({"error": {"message": echo}})),
        ScriptedReply(raw=json.dumps({"choices": [{"message": {"content": echo}}]}).replace("/", "\\/")),
        ScriptedReply(echo, stream=True),
        ScriptedReply(echo, status=500, headers={"X-Key": SECRET}),
    ]
    with ScriptedModel(Faulty(share=0.9, faults=faults)) as server, Store.open(tmp_path / "s.db") as store:
        labels = label_rankings(table(), model=judge(server.base_url, max_retries=1), store=store)
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"[API key]" in kept
    for part in (SECRET, SECRET.replace("/", "\\/"), SECRET.split("/")[1]):
        assert part.encode() not in kept
        assert part not in caplog.text
        assert part not in json.dumps(labels.to_pylist())


@pytest.mark.parametrize("fault", ["401", "500", "dropped", "half JSON", "slow bytes"])
def test_key_is_in_no_local_variable_of_a_traceback(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)

    async def ask(endpoint: Endpoint) -> None:
        async with Wire(endpoint) as wire:
            await wire.post("/chat/completions", {"messages": []})

    with ScriptedModel(lambda request: FAULTS[fault]) as server, pytest.raises(EndpointError) as caught:
        run(ask(Endpoint(server.base_url, max_retries=0, timeout_s=0.15)))
    told = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "127.0.0.1" in told
    assert SECRET not in told


def test_a_key_that_is_a_word_of_the_answer_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "yes")
    with ScriptedModel(lambda request: "yes") as server, Store.open("sqlite://") as store:
        labels = label_rankings(table(), model=judge(server.base_url), store=store, top=1)
    assert labels["label"].to_pylist() == [1.0] * N_QUERIES


def test_a_request_that_holds_a_key_is_refused_before_it_is_sent() -> None:
    with ScriptedModel() as server, Store.open("sqlite://") as store:
        model = Model("m", Endpoint(server.base_url), {"api_key": SECRET})
        with pytest.raises(InputError) as caught:
            ask_all([Request("test/1", ({"role": "user", "content": "a"},))], model=model, store=store, read=str)
        assert not server.requests
    assert SECRET not in str(caught.value)
