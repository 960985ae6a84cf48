"""Labels from a model, side by side with ragas and deepeval: time, memory, a kill, and replies without a verdict.

    python bench/label_peers.py [--in-flight 16 200] [--peers-python PATH]

All ask the endpoint of label_throughput.py, one call a document, at equal numbers of calls in flight, each in a process
of its own. The endpoint answers with what the contender's parser wants: the first three of a query's ten documents are
relevant. Every label is checked. Times begin after imports and ten first calls. ragas and deepeval run
in the interpreter given by --peers-python; without it, they do not run. It needs what can be had by

    pip install ragas==0.4.3 langchain-community==0.4.1 "instructor>=1.17" deepeval "openai[aiohttp]"
"""

import argparse
import asyncio
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from label_throughput import ANSWER, DELAY_S, REPLY, Stub, http, memory_mb, serve
from label_ways import FASTEST, LASTING, TOLERANT, WAYS, Labels, Way, number, pairs

CALLS = {"ragauge": {16: 480, 200: 4_000}, "ragas": {16: 320, 200: 1_200}, "deepeval": {16: 320, 200: 1_200}}
"""Tool -> calls in flight -> calls: fewer where a call takes more; what is compared is a call."""
N_SMALL, FEW = 200, 16
"""Calls, and calls in flight, where it is not about time."""
PROSE_SHARE = 0.05
PROSE = "The passage speaks of a subject in general terms."
SILENT = {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "1"}


def is_relevant(document: str) -> bool:
    return int(document.partition("-")[2]) < 3


def is_prose(document: str, share: float) -> bool:
    """Whether the model says nothing of use about a document, however often it is asked: it is one at temperature 0."""
    return zlib.crc32(document.encode()) % 10_000 < 10_000 * share


class Judge(Stub):
    """Answers as the contender expects that asks, and tells by GET how many calls it has answered."""

    prose_share = 0.0
    n_calls = 0

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET"):
            self.transport.write(http(b"%d" % Judge.n_calls))
        else:
            super().data_received(data)

    def answer(self, request: bytes) -> None:
        Judge.n_calls += 1  # also of one who has gone away meanwhile
        super().answer(request)

    def reply(self, request: bytes) -> bytes:
        found = re.search(rb"passage (\d+-\d+)", request)
        assert found is not None
        document = found[1].decode()
        verdict = "yes" if is_relevant(document) else "no"
        prose = is_prose(document, Judge.prose_share)
        if b'"top_logprobs"' in request:
            return http(probabilities("The" if prose else verdict))
        return http(message(PROSE if prose else structured(request, verdict)))


def probabilities(word: str) -> bytes:
    """The reply of label_throughput.py with another word in the place of "yes" (and yes in that of no)."""
    if word == "yes":
        return ANSWER.partition(b"\r\n\r\n")[2]
    other = {"yes": word, "no": "yes" if word == "no" else "A"}
    return re.sub(r'"(yes|no)"', lambda found: f'"{other[found[1]]}"', json.dumps(REPLY)).encode()


def structured(request: bytes, verdict: str) -> str:
    """The fields that ragas' DiscreteMetric, its context precision, or deepeval ask for."""
    if b"verdicts" in request:
        return json.dumps({"verdicts": [{"statement": "a subject", "verdict": verdict, "reason": "it says so"}]})
    if b"DiscreteResponseModel" in request:
        return json.dumps({"reason": "it says so", "value": verdict})
    return json.dumps({"reason": "it says so", "verdict": int(verdict == "yes")})


def message(content: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({**REPLY, "created": 0, "choices": [choice]}).encode()


def contend(way: Way, options: argparse.Namespace) -> dict[str, Any]:
    """What one contender needs and finds, measured in this process."""
    url, queries = f"http://127.0.0.1:{options.port}/v1", range(options.calls // 10)
    if options.ways == "timed":
        way(range(queries.stop, queries.stop + 1), url, options.calls_in_flight, options.folder)
    before_mb, wall, processor = memory_mb(), time.perf_counter(), time.process_time()
    labels = way(queries, url, options.calls_in_flight, options.folder)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {"wall": wall, "processor": processor, "memory": memory_mb() - before_mb, "labels": labels}


def start(ways: str, name: str, python: str, port: str, in_flight: int, n: int, folder: Path) -> subprocess.Popen[str]:
    """A contender in a process of its own; what it found is in found.json of the folder."""
    command = [python, str(Path(__file__).resolve()), "--ways", ways, "--contender", name, "--port", port]
    command += ["--calls-in-flight", str(in_flight), "--calls", str(n), "--folder", str(folder)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **SILENT}, **quiet)


def finish(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    """What it found; what it died of instead."""
    _, errors = process.communicate()
    if process.returncode:
        kinds = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception))\b", errors, flags=re.MULTILINE)
        return {"died": kinds[-1] if kinds else f"exit {process.returncode}", "labels": {}, "errors": errors}
    return json.loads((folder / "found.json").read_text())


@contextmanager
def endpoint(prose_share: float = 0.0) -> Iterator[str]:
    """The port of an endpoint that has answered nothing yet."""
    command = [sys.executable, __file__, "--serve", str(prose_share)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        yield stub.stdout.readline().strip()
        stub.kill()


def answered(port: str) -> int:
    """How many calls the endpoint has answered."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as reply:
        return int(reply.read())


def check(found: dict[str, Any], n: int) -> None:
    """It has ended well, and each document has the label that the endpoint gave it."""
    assert "died" not in found, found["errors"]
    assert len(found["labels"]) == n, f"{len(found['labels'])} labels of {n}"
    check_labels(found["labels"])


def check_labels(labels: Labels) -> None:
    for document, label in labels.items():
        is_right = label is not None and (label >= 0.5 if is_relevant(document) else label < 0.5)
        assert is_right, f"document {document} has the label {label}, which is not what the endpoint answered"


def of(ways: dict[str, Way], interpreters: dict[str, str]) -> list[tuple[str, str]]:
    """The ways that can run here, each with its interpreter."""
    return [(name, interpreters[tool(name)]) for name in ways if tool(name) in interpreters]


def tool(way: str) -> str:
    return re.split(r"\W", way)[0]


def show_times(interpreters: dict[str, str], in_flight: int) -> None:
    print(f"\n{in_flight} calls in flight:\n")
    print("| | labels | s wall | of ideal | ms processor a label | MB more at most |\n|---|---|---|---|---|---|")
    # with a cache only where calls are few: deepeval writes the whole of it anew after each
    for name, python in of(FASTEST | LASTING if in_flight <= FEW else FASTEST, interpreters):
        n = CALLS[tool(name)].get(in_flight, 320)
        with endpoint() as port, tempfile.TemporaryDirectory() as folder:
            found = finish(start("timed", name, python, port, in_flight, n, Path(folder)), Path(folder))
        check(found, n)
        ideal = n / in_flight * DELAY_S
        print(
            f"| {name} | {n:,d} | {found['wall']:.1f} | {found['wall'] / ideal:.2f} | "
            f"{1000 * found['processor'] / n:.2f} | {found['memory']:.0f} |",
            flush=True,
        )


def show_kills(interpreters: dict[str, str]) -> None:
    """Each is killed when half of the calls are answered, and started again."""
    print(f"\nKilled (SIGKILL) half way through {N_SMALL} documents, {FEW} calls in flight, and started again:\n")
    print("| | answered at the kill | asked by the second run | asked twice |\n|---|---|---|---|")
    for name, python in of(LASTING, interpreters):
        with endpoint() as port, tempfile.TemporaryDirectory() as folder:
            run = (name, python, port, FEW, N_SMALL, Path(folder))
            killed = start("lasting", *run)
            while answered(port) < N_SMALL // 2:
                assert killed.poll() is None, finish(killed, Path(folder))
                time.sleep(0.01)
            killed.kill()
            killed.communicate()
            time.sleep(2 * DELAY_S)  # what was under way is answered, to nobody
            before = answered(port)
            found = finish(start("lasting", *run), Path(folder))
            second = answered(port) - before
        check(found, N_SMALL)
        print(f"| {name} | {before} | {second} | {before + second - N_SMALL} |", flush=True)


def show_prose(interpreters: dict[str, str]) -> None:
    """What comes out when the model says nothing of use about some documents."""
    documents = [number(text) for _, text in pairs(range(N_SMALL // 10))]
    unlucky = {document for document in documents if is_prose(document, PROSE_SHARE)}
    print(f"\nNo verdict about {len(unlucky)} of {N_SMALL} documents, only prose:\n")
    print("| | calls | labels | null or None | NaN | left out | invented | ends with |\n" + "|---" * 8 + "|")
    for name, python in of(TOLERANT, interpreters):
        with endpoint(PROSE_SHARE) as port, tempfile.TemporaryDirectory() as folder:
            found = finish(start("tolerant", name, python, port, FEW, N_SMALL, Path(folder)), Path(folder))
            calls = answered(port)
        labels = found["labels"]
        check_labels({document: label for document, label in labels.items() if document not in unlucky})
        nulls = sum(label is None for label in labels.values())
        nans = sum(label is not None and math.isnan(label) for label in labels.values())
        invented = len(unlucky & labels.keys()) - nulls - nans
        counts = (calls, len(labels) - nulls - nans - invented, nulls, nans, N_SMALL - len(labels), invented)
        print(f"| {name} | {' | '.join(map(str, counts))} | {found.get('died', 'exit 0')} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--in-flight", type=int, nargs="+", default=[16, 200])
    parser.add_argument("--peers-python", help="an interpreter with ragas and deepeval")
    parser.add_argument("--serve", type=float, metavar="PROSE_SHARE", help=argparse.SUPPRESS)
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("--ways", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--port", help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--calls-in-flight", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        Judge.prose_share = options.serve
        asyncio.run(serve(Judge))
    elif options.contender:
        found = contend(WAYS[options.ways][options.contender], options)
        (options.folder / "found.json").write_text(json.dumps(found))
    else:
        interpreters = {"ragauge": sys.executable}
        interpreters |= dict.fromkeys(("ragas", "deepeval"), options.peers_python) if options.peers_python else {}
        for in_flight in options.in_flight:
            show_times(interpreters, in_flight)
        show_kills(interpreters)
        show_prose(interpreters)


if __name__ == "__main__":
    main()
