"""A scripted model behind a real HTTP server on loopback."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragauge.testing.batches import ScriptedBatches, read_upload
from ragauge.testing.script import (
    Answer,
    ScriptedReply,
    chat_body,
    embeddings_body,
    error_body,
    scripted_reply,
    scripted_vector,
    stream_events,
)

__all__ = ["RecordedRequest", "ScriptedModel"]

_N_PARTS = 10


@dataclass(frozen=True)
class RecordedRequest:
    """A POST request as the server saw it; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ScriptedModel:
    """A model that says what a function tells it to, behind a real HTTP server on 127.0.0.1.

    Speaks POST /v1/chat/completions, POST /v1/embeddings, GET /health, and the files and batches of OpenAI's API.

    Args:
        reply: Chat request's body -> what to answer: a ScriptedReply, a text, or the whole JSON body as a dict. Called
            from several threads at once.
        embed: Text -> its vector.
        log: A file to which one JSON line `{"path", "status", "request"}` is appended for each finished answer, just
            before its first byte leaves: whatever a client received, even one that was killed, has its line.
        port: 0 = any free one.
        certificate: A PEM file with key and certificate; the server then speaks https.
        batches: How batches go on.

    Attributes:
        base_url: "http://127.0.0.1:PORT/v1".
        batches: What was uploaded, and the batches made of it.

    Example:
        >>> with ScriptedModel(lambda request: "yes") as model:
        ...     len(model.requests)
        0
    """

    def __init__(
        self,
        reply: Answer = scripted_reply,
        *,
        embed: Callable[[str], Sequence[float]] = scripted_vector,
        log: str | Path | None = None,
        port: int = 0,
        certificate: str | Path | None = None,
        batches: ScriptedBatches | None = None,
    ) -> None:
        self._reply = reply
        self._embed = embed
        self._log = None if log is None else Path(log)
        self._lock = threading.Lock()
        self._requests: list[RecordedRequest] = []
        self.batches = batches or ScriptedBatches()
        self._server = _Server(("127.0.0.1", port), self)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.base_url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}/v1"
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

    def _said(self, body: dict[str, Any]) -> ScriptedReply | dict[str, Any]:
        said = self._reply(body)
        return ScriptedReply(said) if isinstance(said, str) else said

    def _answer(self, request: RecordedRequest) -> ScriptedReply | dict[str, Any]:
        if request.path == "/v1/chat/completions":
            return self._said(request.body)
        if request.path == "/v1/embeddings":
            return embeddings_body(request.body, self._embed)
        if request.path == "/v1/files":
            return self.batches.upload(request.body["file"])
        if request.path == "/v1/batches":
            return self.batches.create(request.body)
        return ScriptedReply(f"no such path: {request.path}", status=404)

    def _found(self, path: str) -> dict[str, Any] | str | None:
        """What GET answers: JSON, the text of a file, or nothing."""
        if path == "/health":
            return {"status": "ok"}
        if path.partition("?")[0] == "/v1/batches":
            return self.batches.listed()
        if path.startswith("/v1/batches/"):
            return self.batches.show(path.removeprefix("/v1/batches/"), self._in_batch)
        if path.startswith("/v1/files/"):
            return self.batches.files.get(path.removeprefix("/v1/files/").removesuffix("/content"))
        return None

    def _in_batch(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        said = self._said(body)
        if isinstance(said, dict):
            return 200, said
        return said.status, chat_body(body, said) if said.status < 400 else error_body(said.text)

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
        found = self.server.model._found(self.path)
        if found is None:
            self._send(404, _json(error_body(f"no such path: {self.path}")))
        elif isinstance(found, str):
            self._send(200, found.encode(), content_type="application/octet-stream")
        else:
            self._send(200, _json(found))

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_form = headers.get("content-type", "").startswith("multipart/")
        body = read_upload(headers["content-type"], content) if is_form else json.loads(content)
        request = RecordedRequest(self.path, headers, body)
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
        kind, body = _body(request.body, reply)
        body = body[: len(body) // 2] if reply.cut else body
        kind = reply.content_type or kind
        self._send(reply.status, body, content_type=kind, headers=reply.headers, pause_s=reply.pause_s)

    def _send(
        self,
        status: int,
        body: bytes,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        pause_s: float = 0.0,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        size = -(-len(body) // _N_PARTS) if pause_s else len(body)
        for start in range(0, len(body), max(1, size)):
            self.wfile.write(body[start : start + size])
            self.wfile.flush()
            time.sleep(pause_s)
        self.wfile.flush()

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `requests` and the log file instead."""


def _body(request: dict[str, Any], reply: ScriptedReply) -> tuple[str, bytes]:
    """Content type and body."""
    if reply.raw is not None:
        return "text/plain", reply.raw.encode()
    if reply.status >= 400:
        return "application/json", _json(error_body(reply.text))
    if reply.stream:
        events = "".join(f"data: {event}\n\n" for event in stream_events(request, reply))
        return "text/event-stream", events.encode()
    return "application/json", _json(chat_body(request, reply))


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()
