"""Helpers for tests of programs that use ragauge: a scripted model behind a real HTTP server, and table comparison.

`python -m ragauge.testing --port 0 --log FILE` runs the scripted model in a process of its own and prints its URL.
"""

import argparse
import hashlib
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "RecordedRequest",
    "ScriptedModel",
    "ScriptedReply",
    "assert_tables_equal",
    "scripted_p_yes",
    "scripted_reply",
    "scripted_vector",
]

SCRIPTED_DIMENSION = 8


@dataclass(frozen=True)
class ScriptedReply:
    """What the scripted model answers, and what goes wrong on the way.

    Attributes:
        text: Content of the assistant's message.
        top_logprobs: Token -> natural log-probability at the first position; None = the answer has none.
        finish_reason: "stop", or "length" for an answer that was cut by the token limit.
        status: HTTP status; 400 and above answers `{"error": {"message": text}}`.
        headers: Further headers, such as {"Retry-After": "1"}.
        delay_s: Seconds before the answer is sent.
        cut: Sends only the first half of the JSON body, as if that were all.
        raw: Sends this text instead of JSON, as text/plain.
        drop: Closes the connection without an answer.
    """

    text: str = ""
    top_logprobs: Mapping[str, float] | None = None
    finish_reason: str = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: bool = False
    raw: str | None = None
    drop: bool = False


@dataclass(frozen=True)
class RecordedRequest:
    """A POST request as the server saw it; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Reply = Callable[[dict[str, Any]], ScriptedReply | str | dict[str, Any]]


def scripted_p_yes(request: Mapping[str, Any]) -> float:
    """A probability in (0, 1) that depends on nothing but the request's messages."""
    text = json.dumps(request.get("messages", []), sort_keys=True)
    return (_hash_number(text) + 1) / (2**32 + 1)


def scripted_reply(request: dict[str, Any]) -> ScriptedReply:
    """The default script: "yes" or "no" by `scripted_p_yes`, with both log-probabilities."""
    p_yes = scripted_p_yes(request)
    return ScriptedReply(
        text="yes" if p_yes >= 0.5 else "no", top_logprobs={"yes": math.log(p_yes), "no": math.log1p(-p_yes)}
    )


def scripted_vector(text: str) -> list[float]:
    """A vector of length 1 with 8 numbers that depend on nothing but the text."""
    numbers = [_hash_number(f"{place}:{text}") / 2**31 - 1 for place in range(SCRIPTED_DIMENSION)]
    norm = math.hypot(*numbers)
    return [number / norm for number in numbers]


class ScriptedModel:
    """A model that says what a function tells it to, behind a real HTTP server on 127.0.0.1.

    Speaks POST /v1/chat/completions, POST /v1/embeddings and GET /health.

    Args:
        reply: Chat request's body -> what to answer: a ScriptedReply, a text, or the whole JSON body as a dict. Called
            from several threads at once.
        embed: Text -> its vector.
        log: A file to which one JSON line `{"path", "status", "request"}` is appended for each finished answer, just
            before its first byte leaves: whatever a client received, even one that was killed, has its line.
        port: 0 = any free one.

    Attributes:
        base_url: "http://127.0.0.1:PORT/v1".

    Example:
        >>> with ScriptedModel(lambda request: "yes") as model:
        ...     len(model.requests)
        0
    """

    def __init__(
        self,
        reply: Reply = scripted_reply,
        *,
        embed: Callable[[str], Sequence[float]] = scripted_vector,
        log: str | Path | None = None,
        port: int = 0,
    ) -> None:
        self._reply = reply
        self._embed = embed
        self._log = None if log is None else Path(log)
        self._lock = threading.Lock()
        self._requests: list[RecordedRequest] = []
        self._server = _Server(("127.0.0.1", port), self)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        # A short poll: closing waits for it, and tests open and close many servers.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def requests(self) -> list[RecordedRequest]:
        """The POST requests so far, in the order they came."""
        with self._lock:
            return list(self._requests)

    def _record(self, request: RecordedRequest) -> None:
        with self._lock:
            self._requests.append(request)

    def _answer(self, request: RecordedRequest) -> ScriptedReply | dict[str, Any]:
        if request.path == "/v1/chat/completions":
            said = self._reply(request.body)
            return ScriptedReply(said) if isinstance(said, str) else said
        if request.path == "/v1/embeddings":
            return _embeddings_body(request.body, self._embed)
        return ScriptedReply(f"no such path: {request.path}", status=404)

    def _finished(self, request: RecordedRequest, status: int) -> None:
        if self._log is None:
            return
        line = json.dumps({"path": request.path, "status": status, "request": request.body})
        with self._lock, self._log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], model: ScriptedModel) -> None:
        self.model = model
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle is what tests are about; nothing is printed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave in one packet
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200, _json({"status": "ok"}))
        else:
            self._send(404, _json(_error_body(f"no such path: {self.path}")))

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = RecordedRequest(self.path, headers, json.loads(content))
        self.server.model._record(request)
        answer = self.server.model._answer(request)
        if isinstance(answer, dict):
            self.server.model._finished(request, 200)
            self._send(200, _json(answer))
        else:
            self._play(request, answer)

    def _play(self, request: RecordedRequest, reply: ScriptedReply) -> None:
        time.sleep(reply.delay_s)
        if reply.drop:
            self._drop()
            return
        self.server.model._finished(request, reply.status)
        if reply.raw is not None:
            self._send(reply.status, reply.raw.encode(), content_type="text/plain", headers=reply.headers)
            return
        body = _json(_chat_body(request.body, reply) if reply.status < 400 else _error_body(reply.text))
        self._send(reply.status, body[: len(body) // 2] if reply.cut else body, headers=reply.headers)

    def _send(
        self,
        status: int,
        body: bytes,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `requests` and the log file instead."""


def assert_tables_equal(left: "pa.Table", right: "pa.Table", *, tolerance: float = 0.0) -> None:
    """Fails unless both tables have the same columns, types and values; null and NaN are two different things.

    Args:
        left: Any Arrow table.
        right: What it should equal.
        tolerance: Largest difference allowed between two finite floats.

    Raises:
        AssertionError: They differ; the message names the first column and row.
    """
    _same_or_fail("columns", left.column_names, right.column_names)
    for name in left.column_names:
        _same_or_fail(f"type of column {name!r}", left.schema.field(name).type, right.schema.field(name).type)
    _same_or_fail("number of rows", left.num_rows, right.num_rows)
    for name in left.column_names:
        pairs = zip(left.column(name).to_pylist(), right.column(name).to_pylist(), strict=True)
        for row, (one, other) in enumerate(pairs):
            if not _equal(one, other, tolerance):
                raise AssertionError(f"column {name!r}, row {row}: {one!r} is not {other!r}")


def _same_or_fail(what: str, left: object, right: object) -> None:
    if left != right:
        raise AssertionError(f"{what}: {left!r} is not {right!r}")


def _equal(left: Any, right: Any, tolerance: float) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isfinite(left) and math.isfinite(right):
            return abs(left - right) <= tolerance
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_equal(a, b, tolerance) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[name], right[name], tolerance) for name in left)
    return bool(left == right)


def _chat_body(request: Mapping[str, Any], reply: ScriptedReply) -> dict[str, Any]:
    n_read = sum(len(str(message.get("content", "")).split()) for message in request.get("messages", []))
    n_written = len(reply.text.split())
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text},
        "logprobs": _logprobs_body(reply),
        "finish_reason": reply.finish_reason,
    }
    return {
        "id": "scripted",
        "object": "chat.completion",
        "model": request.get("model", ""),
        "choices": [choice],
        "usage": {"prompt_tokens": n_read, "completion_tokens": n_written, "total_tokens": n_read + n_written},
    }


def _logprobs_body(reply: ScriptedReply) -> dict[str, Any] | None:
    """One position, whose token is the likeliest, as after a request for one token."""
    if not reply.top_logprobs:
        return None
    ordered = sorted(reply.top_logprobs.items(), key=lambda item: -item[1])
    top = [{"token": token, "logprob": logprob, "bytes": list(token.encode())} for token, logprob in ordered]
    return {"content": [{**top[0], "top_logprobs": top}]}


def _embeddings_body(request: Mapping[str, Any], embed: Callable[[str], Sequence[float]]) -> dict[str, Any]:
    given = request.get("input", [])
    texts = [given] if isinstance(given, str) else given
    n_read = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "model": request.get("model", ""),
        "data": [
            {"object": "embedding", "index": place, "embedding": list(embed(text))} for place, text in enumerate(texts)
        ],
        "usage": {"prompt_tokens": n_read, "total_tokens": n_read},
    }


def _error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted"}}


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _hash_number(text: str) -> int:
    """Uniform on 0 .. 2**32 - 1."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big")


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ragauge.testing", description="A scripted model on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0 = any free one")
    parser.add_argument("--log", type=Path, help="file that gets one line a finished answer")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()

    def reply(request: dict[str, Any]) -> ScriptedReply:
        plain = scripted_reply(request)
        return ScriptedReply(text=plain.text, top_logprobs=plain.top_logprobs, delay_s=options.delay)

    with ScriptedModel(reply, log=options.log, port=options.port) as model:
        print(model.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    _main()
