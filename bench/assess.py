"""How long a user waits for one ranking to be judged: K calls at once, one batched call, and stopping early.

    python bench/assess.py
    python bench/assess.py --local 1.5b

The model is a stub in a process of its own that answers after a delay with jitter: its median times a lognormal factor
(sigma 0.35) that depends on nothing but the request, and for a batched call 20 ms more a document. With --local it is
ragauge's local model, asked by one user about rankings of the packaged sample. Prints a table.
"""

import argparse
import asyncio
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from ragauge import sample
from ragauge.llm import Judge, LiveAssessment, LiveJudge, LocalServer, Model, fetch
from ragauge.retrieval import rank_collection, retriever
from ragauge.store import Store
from ragauge.wire import Endpoint

SIGMA = 0.35
BATCH_S = 0.02
STREAMS = 5
IN_FLIGHT = 32
RANKINGS = {0.05: 100, 0.2: 50, 0.8: 25}
DEPTHS = (5, 10, 20)
LOCAL_RANKINGS = 2


@dataclass(frozen=True)
class Way:
    """One way to get the labels of a ranking."""

    name: str
    batched: bool = False
    within: float = 0.0
    prefer: Literal["speed", "few calls"] = "speed"


WAYS = (
    Way("K calls at once"),
    Way("one batched call", batched=True),
    Way("at once, until +-0.1", within=0.1),
    Way("few calls, until +-0.1", within=0.1, prefer="few calls"),
)


def main() -> None:
    print(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start; {STREAMS} users at a time\n")
    print(f"{'':26}{'':>4}" + "".join(f"{f'{delay * 1000:.0f} ms':>22}" for delay in RANKINGS))
    print(f"{'way':26}{'K':>4}" + f"{'p50  p95 ms  calls':>22}" * len(RANKINGS))
    rows: dict[tuple[str, int], list[str]] = {}
    for delay, n in RANKINGS.items():
        with stub(delay) as url:
            for way in WAYS:
                for k in DEPTHS:
                    rows.setdefault((way.name, k), []).append(asyncio.run(measured(url, way, k, n)))
    for (name, k), cells in rows.items():
        print(f"{name:26}{k:>4}" + "".join(f"{cell:>22}" for cell in cells))


async def measured(url: str, way: Way, k: int, n: int) -> str:
    """Median and 95th percentile of the wait, and calls a ranking."""
    found = [
        one for stream in await asyncio.gather(*(waits(url, way, k, n, s) for s in range(STREAMS))) for one in stream
    ]
    p50, p95 = np.percentile([1000 * one.elapsed_s for one in found], [50, 95])
    asked = [sum(label.status != "not asked" for label in one.labels) for one in found]
    return f"{p50:.0f} {p95:5.0f}    {1 if way.batched else np.mean(asked):4.1f} "


def main_local(size: Literal["1.5b", "0.5b"]) -> None:
    """Rankings by BM25, another one each time, so that no way finds the server's memory of the last one's."""
    queries, corpus = sample.queries(), sample.corpus()
    ranked = rank_collection(retriever("bm25"), queries, corpus, top=max(DEPTHS)).to_pylist()
    rankings = itertools.cycle([row for row in ranked if len(row["texts"]) == max(DEPTHS)])
    print(f"local model {size}, {os.cpu_count()} cores; {LOCAL_RANKINGS} rankings a row\n")
    print(f"{'way':26}{'K':>4}{'median s':>10}{'longest':>9}{'calls':>8}{'tokens read':>13}")
    with LocalServer(fetch(size)) as server:
        model = Model(server.name, Endpoint(server.base_url, concurrency=1, timeout_s=600), identity=server.identity)
        for way in WAYS:
            for k in DEPTHS:
                print(local_row(model, way, k, [next(rankings) for _ in range(LOCAL_RANKINGS)]), flush=True)


def local_row(model: Model, way: Way, k: int, rankings: Sequence[Mapping[str, Any]]) -> str:
    with Store.open("sqlite://") as store:
        with LiveJudge(model, store, judge=Judge(batch_size=k if way.batched else 1)) as judge:
            found = [
                judge.assess_now(row["query"], row["texts"][:k], deadline_s=600, within=way.within, prefer=way.prefer)
                for row in rankings
            ]
        read = sum(usage.prompt_tokens or 0 for usage in store.usage()) / len(rankings)
    waits = [one.elapsed_s for one in found]
    calls = 1 if way.batched else np.mean([sum(label.status != "not asked" for label in one.labels) for one in found])
    return f"{way.name:26}{k:>4}{np.median(waits):>10.1f}{max(waits):>9.1f}{calls:>8.1f}{read:>13.0f}"


async def waits(url: str, way: Way, k: int, n: int, stream: int) -> list[LiveAssessment]:
    """One user after the other; the first ranking, which opens connections, is not counted."""
    model = Model("stub", Endpoint(url, concurrency=IN_FLIGHT))
    with Store.open("sqlite://") as store:
        judge = LiveJudge(model, store, judge=Judge(batch_size=k if way.batched else 1))
        found = []
        for at in range(n // STREAMS + 1):
            documents = [f"document {at} {rank} of user {stream} and {way.name}" for rank in range(k)]
            found.append(
                await judge.assess(f"query {at}", documents, deadline_s=60, within=way.within, prefer=way.prefer)
            )
        await asyncio.to_thread(judge.close)
    return found[1:]


@contextmanager
def stub(delay_s: float) -> Iterator[str]:
    """The stub's URL, while it runs."""
    command = [sys.executable, __file__, "--serve", str(delay_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def serve(delay_s: float) -> None:
    """Answers "yes" or "no", after a while."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        text = body["messages"][-1]["content"]
        number = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) + 0.5) / 2**48
        n = text.count("</doc>")
        batched = "response_format" in body
        wait_s = delay_s * math.exp(SIGMA * NormalDist().inv_cdf(number)) + (BATCH_S * n if batched else 0)
        await asyncio.sleep(wait_s)
        verdicts = ["yes" if number * (at + 1) % 1 < 0.5 else "no" for at in range(n)]
        return web.json_response(reply(json.dumps({"verdicts": verdicts}) if batched else verdicts[0]))

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server: Any = site._server
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


def reply(text: str) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", type=float, metavar="SECONDS", help=argparse.SUPPRESS)
    parser.add_argument("--local", choices=["1.5b", "0.5b"], help="measure ragauge's local model instead of the stub")
    options = parser.parse_args()
    if options.local:
        main_local(options.local)
    else:
        main() if options.serve is None else serve(options.serve)
