"""A labelling run killed by SIGKILL, again and again, ends with every label and pays for none twice."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ragauge.llm import LABEL, Model, label_rankings
from ragauge.schema import RANKINGS
from ragauge.store import Store, request_key
from ragauge.testing import ScriptedModel, ScriptedReply, scripted_p_yes, scripted_reply
from ragauge.wire import Endpoint

N_QUERIES, N_DOCUMENTS, N_KILLS = 20, 10, 10

CHILD = """
import sys
sys.path.insert(0, sys.argv[3])
from test_llm_killed import judge, table
from ragauge.llm import label_rankings
from ragauge.store import Store
with Store.open(sys.argv[1]) as store:
    label_rankings(table(), model=judge(sys.argv[2]), store=store)
"""


def table() -> pa.Table:
    rows = [
        {
            "query_id": f"q{q}",
            "query": f"query {q}",
            "run": "r",
            "doc_ids": [f"d{d}" for d in range(N_DOCUMENTS)],
            "texts": [f"text {d}" for d in range(N_DOCUMENTS)],
            "scores": [None] * N_DOCUMENTS,
            "labels": [None] * N_DOCUMENTS,
        }
        for q in range(N_QUERIES)
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def judge(base_url: str) -> Model:
    return Model("judge", Endpoint(base_url, concurrency=4))


def key_of(model: Model, query: str, text: str) -> str:
    return request_key(model.stored_request(LABEL.request(query=query, document=text)))


class KillingScript:
    """Answers as usual, and kills the process it is told to when a given number of requests has come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._victim: subprocess.Popen[bytes] | None = None
        self._left, self._after_s = 0, 0.0

    def arm(self, victim: "subprocess.Popen[bytes]", *, at_request: int, after_s: float) -> None:
        with self._lock:
            self._victim, self._left, self._after_s = victim, at_request, after_s

    def __call__(self, request: dict[str, Any]) -> ScriptedReply:
        with self._lock:
            self._left -= 1
            if self._left == 0 and self._victim is not None:
                threading.Timer(self._after_s, os.kill, (self._victim.pid, signal.SIGKILL)).start()
        plain = scripted_reply(request)
        return ScriptedReply(plain.text, top_logprobs=plain.top_logprobs, delay_s=0.02)


@contextmanager
def labelling(store: Path, base_url: str) -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(store), base_url, str(Path(__file__).parent)])
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_run_killed_ten_times_labels_all_and_asks_no_finished_pair_again(tmp_path: Path) -> None:
    rng = random.Random(20)
    path, script = tmp_path / "store.db", KillingScript()
    finished: set[str] = set()
    with ScriptedModel(script) as server:
        model = judge(server.base_url)
        keys = {key_of(model, f"query {q}", f"text {d}") for q in range(N_QUERIES) for d in range(N_DOCUMENTS)}
        for _ in range(N_KILLS):
            n_seen = len(server.requests)
            with labelling(path, server.base_url) as child:
                # About 10 * 12 at most of 200 pairs are asked about before the last kill, so that each kill finds work.
                script.arm(child, at_request=rng.randrange(1, 13), after_s=rng.uniform(0, 0.02))
                assert child.wait() == -signal.SIGKILL
            assert not finished & keys_asked(server, model, n_seen)
            with Store.open(path) as store:
                finished = set(store.replies(keys))
        n_seen = len(server.requests)
        with Store.open(path) as store:
            labels = label_rankings(table(), model=model, store=store)
        assert keys_asked(server, model, n_seen) == keys - finished
    assert 0 < len(finished) < len(keys)
    expected = [p_yes(f"query {q}", f"text {d}") for q in range(N_QUERIES) for d in range(N_DOCUMENTS)]
    assert labels["label"].to_pylist() == pytest.approx(expected, abs=1e-9)


def keys_asked(server: ScriptedModel, model: Model, n_seen: int) -> set[str]:
    """What was asked after the first `n_seen` requests, each once; a request of a killed run may still have come in."""
    bodies = [request.body for request in server.requests[n_seen:]]
    texts = [body["messages"][-1]["content"] for body in bodies]
    pairs = [text.removeprefix("Query: ").removesuffix("</doc>").split("\n\n<doc>") for text in texts]
    return {key_of(model, query, document) for query, document in pairs}


def p_yes(query: str, text: str) -> float:
    return scripted_p_yes({"messages": list(LABEL.messages(query=query, document=text))})
