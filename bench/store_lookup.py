"""A store with a million labels: how fast keys are looked up, how fast replies go in, and how large the file is.

    python bench/store_lookup.py [--labels 1000000] [--put 30000] [--words 60] [--folder DIR] [--seed 0]

Each label is a request of the label prompt (a passage of as many words as given, drawn from the packaged sample's), a
reply as OpenAI's endpoint gives it with 20 log-probabilities, and a judgement. The first `--put` replies go in one by
one as they come from an endpoint; the rest are copies of their rows under random keys.
"""

import argparse
import json
import random
import resource
import sqlite3
import statistics
import string
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.llm import LABEL, Model
from ragauge.sample import corpus
from ragauge.schema import LABELS
from ragauge.store import FinishedCall, Store, request_key
from ragauge.store.keys import key_text
from ragauge.wire import Endpoint

MODEL = Model("gpt-4o-mini", Endpoint("https://api.openai.com/v1"))
AT_ONCE = 32
N_KEYS = 1000
N_LOOKUPS = 50
N_A_QUERY = 20
TOKENS = ("yes", "no", "Yes", "No", " yes", " no", "YES", "NO", " Yes", " No", "The", "Answer", "It", "This", "Y", "N")
TOKENS += ("I", "Based", "Query", "Passage", "?", '"', ".", "1", "0", "Maybe", "Not", "Sorry", "Helpful", "Relevant")


WORDS = " ".join(corpus().column("text").to_pylist()).split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--put", type=int, default=30_000)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "labels.db"
        put_replies(path, options.put, options.words, options.seed)
        copy_rows(path, options.labels)
        put_judgements(path, options.labels)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {path.stat().st_size / options.labels:.0f} bytes a label")
        look_up(path, options.labels, options.seed)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory at most")


def put_replies(path: Path, n_labels: int, n_words: int, seed: int) -> None:
    """Replies, as many at once as a busy endpoint brings during a write."""

    def finished(number: int) -> FinishedCall:
        request, reply = request_of(number, n_words, seed), reply_of(number, seed)
        return FinishedCall(request_key(request), request, reply, 0.2, prompt_tokens=180, completion_tokens=1)

    with Store.open(path) as store:
        started, processor = time.perf_counter(), time.process_time()
        for first in range(0, n_labels, AT_ONCE):
            store.put_replies(map(finished, range(first, min(first + AT_ONCE, n_labels))))
        wall, processor = time.perf_counter() - started, time.process_time() - processor
        size = len(json.dumps(request_of(0, n_words, seed))) + len(json.dumps(reply_of(0, seed)))
        print(f"{n_labels} labels, each a request and a reply of {size} characters together")
        print(
            f"{n_labels / wall:.0f} replies stored a second, {AT_ONCE} at once; {1e6 * processor / n_labels:.0f} us of "
            "processor time each, making them up included",
            flush=True,
        )


def copy_rows(path: Path, n_labels: int) -> None:
    """Copies of the replies there are, until they are `n_labels`."""
    columns = "source_id, request, reply, prompt_tokens, completion_tokens, cost_usd, latency_s, created_at"
    with closing(sqlite3.connect(path)) as connection:
        (n_put,) = connection.execute("SELECT count(*) FROM replies").fetchone()
        for done in range(n_put, n_labels, n_put):
            statement = f"INSERT INTO replies (key, {columns}) SELECT CAST(x'01' || randomblob(32) AS BLOB), {columns}"
            with connection:
                connection.execute(f"{statement} FROM replies WHERE id <= {min(n_put, n_labels - done)}")


def put_judgements(path: Path, n_labels: int) -> None:
    """A judgement of each pair, ten thousand at a time."""
    with Store.open(path) as store:
        started = time.perf_counter()
        for first in range(0, n_labels, 10_000):
            store.put_labels(judged(first, min(first + 10_000, n_labels)), kind="model", rubric=LABEL.id)
        print(f"{n_labels / (time.perf_counter() - started):.0f} judgements stored a second", flush=True)


def look_up(path: Path, n_labels: int, seed: int) -> None:
    """A thousand keys at random places, again and again, in a store just opened; then a pass over everything."""
    rng = random.Random(seed)
    with Store.open(path) as store:
        times, processor_times = [], []
        for _ in range(N_LOOKUPS):
            keys = keys_of(path, rng.sample(range(1, n_labels + 1), N_KEYS))
            started, processor = time.perf_counter(), time.process_time()
            found = store.replies(keys)
            times.append(1000 * (time.perf_counter() - started))
            processor_times.append(1000 * (time.process_time() - processor))
            assert len(found) == N_KEYS
        print(
            f"{N_KEYS} keys looked up: first {times[0]:.1f} ms, median {statistics.median(times):.1f} ms, "
            f"slowest of {N_LOOKUPS} {max(times):.1f} ms; {statistics.median(processor_times):.1f} ms of processor time"
        )
        started = time.perf_counter()
        store.usage()
        print(f"usage: {time.perf_counter() - started:.1f} s")
        query_ids = [f"q{rng.randrange(n_labels // N_A_QUERY)}" for _ in range(50)]
        started = time.perf_counter()
        found_labels = store.labels(query_ids=query_ids)
        print(f"labels of 50 queries ({found_labels.num_rows}): {1000 * (time.perf_counter() - started):.1f} ms")


def keys_of(path: Path, ids: list[int]) -> list[str]:
    """The keys of the rows with these ids."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            key_text(connection.execute("SELECT key FROM replies WHERE id = ?", (id_,)).fetchone()[0]) for id_ in ids
        ]


def request_of(number: int, n_words: int, seed: int) -> dict[str, Any]:
    """The request of label `number`; always the same."""
    rng = random.Random(seed * 10_000_019 + number)
    query = " ".join(random.Random(number // N_A_QUERY).choices(WORDS, k=6)) + "?"
    return MODEL.stored_request(LABEL.request(query=query, document=" ".join(rng.choices(WORDS, k=n_words))))


def reply_of(number: int, seed: int) -> dict[str, Any]:
    """A reply with the 20 likeliest tokens, log-probabilities with the eight digits of a float32."""
    rng = random.Random(seed * 20_000_033 + number)
    tokens = rng.sample(TOKENS, 20)
    logprobs = sorted((float(f"{-rng.expovariate(0.1):.8g}") for _ in tokens), reverse=True)
    top = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode())}
        for token, logprob in zip(tokens, logprobs, strict=True)
    ]
    message = {"role": "assistant", "content": tokens[0], "refusal": None, "annotations": []}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": {"content": [{**top[0], "top_logprobs": top}], "refusal": None},
        "finish_reason": "length",
    }
    details = ("reasoning_tokens", "audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens")
    return {
        "id": "chatcmpl-" + "".join(rng.choices(string.ascii_letters + string.digits, k=29)),
        "object": "chat.completion",
        "created": 1_790_000_000 + number,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [choice],
        "usage": {
            "prompt_tokens": 180,
            "completion_tokens": 1,
            "total_tokens": 181,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": dict.fromkeys(details, 0),
        },
        "service_tier": "default",
        "system_fingerprint": "fp_560af6e559",
    }


def judged(first: int, last: int) -> pa.Table:
    """The judgements of these labels."""
    rows = [
        {
            "query_id": f"q{number // N_A_QUERY}",
            "doc_id": f"doc{number * 7919 % 10_000_019}",
            "label": random.Random(number).random(),
            "reason": None,
            "judge": "gpt-4o-mini label/1",
        }
        for number in range(first, last)
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)


if __name__ == "__main__":
    main()
