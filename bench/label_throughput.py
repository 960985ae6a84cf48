"""Labelling against an endpoint that answers each call after 200 ms: wall time over the ideal, processor time, memory.

`python bench/label_throughput.py` measures the whole path of `ragauge label`: prompts, keys, calls, replies on disk,
labels. The endpoint is a process of its own on loopback. Ideal is calls / calls in flight * 0.2 s. Beside it, what
aiohttp alone takes to send the same bodies and to parse the replies: less is not to be had with it.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

DELAY_S = 0.2
RUNS = ((16, 480), (200, 10_000))
"""Calls in flight, and calls."""

REPLY = {
    "id": "stub",
    "object": "chat.completion",
    "model": "stub",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "yes"},
            "logprobs": {
                "content": [
                    {
                        "token": "yes",
                        "logprob": -0.1,
                        "top_logprobs": [
                            {"token": word, "logprob": -0.1 - 0.5 * i}
                            for i, word in enumerate(["yes", "no", *"abcdefghijklmnopqr"])
                        ],
                    }
                ]
            },
            "finish_reason": "length",
        }
    ],
    "usage": {"prompt_tokens": 120, "completion_tokens": 1, "total_tokens": 121},
}


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


ANSWER = http(json.dumps(REPLY).encode())


class Stub(asyncio.Protocol):
    """Answers each request of a connection after the delay; reads no more of it than its length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            self.buffer = body[length:]
            asyncio.get_running_loop().call_later(DELAY_S, self.answer, body[:length])

    def answer(self, request: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(self.reply(request))

    def reply(self, request: bytes) -> bytes:
        return ANSWER


async def serve(protocol: type[Stub] = Stub) -> None:
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def questions(n: int) -> Iterator[tuple[str, list[str]]]:
    """Queries with ten documents of 600 characters each, `n` documents in all."""
    for q in range(n // 10):
        yield f"what is known about subject {q}", [f"passage {q}-{d} " + "about a subject " * 37 for d in range(10)]


def rankings(n: int) -> "pa.Table":
    """The questions as `schema.RANKINGS`."""
    import pyarrow as pa

    from ragauge.schema import RANKINGS

    rows = [
        {
            "query_id": f"q{q}",
            "query": query,
            "run": "r",
            "doc_ids": [f"d{q}-{d}" for d in range(10)],
            "texts": texts,
            "scores": [None] * 10,
            "labels": [None] * 10,
        }
        for q, (query, texts) in enumerate(questions(n))
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def measure(port: int, in_flight: int, n: int) -> None:
    """One run in this process, and the same again with everything known."""
    from ragauge.llm import Model, label_rankings
    from ragauge.store import Store
    from ragauge.wire import Endpoint

    table = rankings(n)
    model = Model("stub", Endpoint(f"http://127.0.0.1:{port}/v1", "", concurrency=in_flight))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        label_rankings(table.slice(0, 1), model=model, store=store, top=1)  # imports
        before_mb = memory_mb()
        wall, cpu = time.perf_counter(), time.process_time()
        labels = label_rankings(table, model=model, store=store)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        known = time.perf_counter()
        label_rankings(table, model=model, store=store)
        known = time.perf_counter() - known
        size_kb = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1000
    assert labels["label"].null_count == 0
    ideal = n / in_flight * DELAY_S
    print(
        f"{in_flight:4d} in flight, {n:6,d} labels  {wall:6.2f} s wall, {wall / ideal:.2f} x ideal   "
        f"{1000 * cpu / n:.2f} ms processor a label   {memory_mb() - before_mb:4.0f} MB more at most   "
        f"{size_kb / n:.1f} kB a label on disk   again, all known: {known:.2f} s",
        flush=True,
    )


def measure_bare(port: int, in_flight: int, n: int) -> None:
    """The calls alone, by the client that ragauge uses."""
    from ragauge.llm.label import label_requests

    payloads = [{"model": "stub", "messages": r.messages, **r.parameters} for r in label_requests(rankings(n))]
    bodies = [json.dumps(payload).encode() for payload in payloads]
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(post_all(f"http://127.0.0.1:{port}/v1/chat/completions", bodies, in_flight))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{in_flight:4d} in flight, {n:6,d} bare calls {wall:6.2f} s wall, "
        f"{wall / (n / in_flight * DELAY_S):.2f} x ideal   {1000 * cpu / n:.2f} ms processor a call",
        flush=True,
    )


async def post_all(url: str, bodies: list[bytes], in_flight: int) -> None:
    """Sends each body once, and parses what is answered."""
    import aiohttp

    waiting = iter(bodies)

    async def work(session: aiohttp.ClientSession) -> None:
        for body in waiting:
            async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
                json.loads(await response.read())

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        await asyncio.gather(*(work(session) for _ in range(in_flight)))


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="be the endpoint")
    parser.add_argument("--measure", type=int, nargs=3, metavar=("PORT", "IN_FLIGHT", "CALLS"))
    parser.add_argument("--bare", type=int, nargs=3, metavar=("PORT", "IN_FLIGHT", "CALLS"))
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    elif options.measure:
        measure(*options.measure)
    elif options.bare:
        measure_bare(*options.bare)
    else:
        here = [sys.executable, __file__]
        with subprocess.Popen([*here, "--serve"], stdout=subprocess.PIPE, text=True) as stub:
            assert stub.stdout is not None
            port = stub.stdout.readline().strip()
            for in_flight, n in RUNS:
                for what in ("--measure", "--bare"):
                    subprocess.run([*here, what, port, str(in_flight), str(n)], check=True)
            stub.kill()


if __name__ == "__main__":
    main()
