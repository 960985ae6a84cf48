"""A labelling run killed by SIGKILL, again and again, ends with every label and pays for none twice."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ragauge.llm import LABEL, Model, label_rankings
from ragauge.schema import RANKINGS
from ragauge.store import Store, request_key
from ragauge.testing import ScriptedModel, ScriptedReply, scripted_p_yes, scripted_reply
from ragauge.wire import Endpoint

CHILD = """
import sys
sys.path.insert(0, sys.argv[3])
from test_llm_killed import judge, table
from ragauge.llm import label_rankings
from ragauge.store import Store
n_queries, n_documents, in_flight = map(int, sys.argv[4:])
with Store.open(sys.argv[1]) as store:
    label_rankings(table(n_queries, n_documents), model=judge(sys.argv[2], in_flight), store=store)
"""


@dataclass(frozen=True)
class Size:
    """How much is labelled, how many calls are in flight, and after how many requests of a run at most it is killed."""

    n_queries: int
    n_documents: int
    in_flight: int
    n_kills: int
    last_request: int


# About n_kills * last_request / 2 pairs are asked about before the last kill, so that each kill finds work.
FEW = Size(n_queries=20, n_documents=10, in_flight=4, n_kills=10, last_request=12)
MANY = Size(n_queries=100, n_documents=150, in_flight=200, n_kills=50, last_request=300)


def table(n_queries: int, n_documents: int) -> pa.Table:
    rows = [
        {
            "query_id": f"q{q}",
            "query": f"query {q}",
            "run": "r",
            "doc_ids": [f"d{d}" for d in range(n_documents)],
            "texts": [f"text {d}" for d in range(n_documents)],
            "scores": [None] * n_documents,
            "labels": [None] * n_documents,
        }
        for q in range(n_queries)
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def judge(base_url: str, in_flight: int) -> Model:
    return Model("judge", Endpoint(base_url, concurrency=in_flight))


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
def labelling(store: Path, base_url: str, size: Size) -> Iterator["subprocess.Popen[bytes]"]:
    sizes = map(str, (size.n_queries, size.n_documents, size.in_flight))
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(store), base_url, str(Path(__file__).parent), *sizes])
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("size", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_run_killed_again_and_again_labels_all_and_asks_no_finished_pair_again(size: Size, tmp_path: Path) -> None:
    rng = random.Random(20)
    path, script = tmp_path / "store.db", KillingScript()
    pairs = [(f"query {q}", f"text {d}") for q in range(size.n_queries) for d in range(size.n_documents)]
    finished: set[str] = set()
    with ScriptedModel(script) as server:
        model = judge(server.base_url, size.in_flight)
        keys = {key_of(model, query, text) for query, text in pairs}
        for _ in range(size.n_kills):
            n_seen = len(server.requests)
            with labelling(path, server.base_url, size) as child:
                script.arm(child, at_request=rng.randint(1, size.last_request), after_s=rng.uniform(0, 0.02))
                assert child.wait() == -signal.SIGKILL
            assert not finished & keys_asked(server, model, n_seen)
            with Store.open(path) as store:
                finished = set(store.replies(keys))
        n_seen = len(server.requests)
        with Store.open(path) as store:
            rankings = table(size.n_queries, size.n_documents)
            labels = label_rankings(rankings, model=model, store=store)
        assert keys_asked(server, model, n_seen) == keys - finished
    assert 0 < len(finished) < len(keys)
    assert labels["label"].to_pylist() == pytest.approx([p_yes(*pair) for pair in pairs], abs=1e-9)


def keys_asked(server: ScriptedModel, model: Model, n_seen: int) -> set[str]:
    """What was asked after the first `n_seen` requests, each once; a request of a killed run may still have come in."""
    bodies = [request.body for request in server.requests[n_seen:]]
    texts = [body["messages"][-1]["content"] for body in bodies]
    pairs = [text.removeprefix("Query: ").removesuffix("</doc>").split("\n\n<doc>") for text in texts]
    return {key_of(model, query, document) for query, document in pairs}


def p_yes(query: str, text: str) -> float:
    return scripted_p_yes({"messages": list(LABEL.messages(query=query, document=text))})
