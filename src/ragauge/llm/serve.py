"""The local model behind the same wire format as any other: llama.cpp's server in a child process, on loopback only.

The child ends with its parent, however the parent ends: it holds the reading end of a pipe whose writing end only the
parent has, and leaves when the pipe closes. What llama.cpp logs goes to a file, whose end is shown when it fails.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ragauge._optional import optional_import
from ragauge.errors import InputError, RunError
from ragauge.llm.fetch import file_sha256

__all__ = ["LocalServer", "available_cores", "local_identity"]

_HOST = "127.0.0.1"
_POLL_S = 0.05
_READY = "ready "

_PROMPT_CACHE_MIB = 512
"""What the server may keep of earlier prompts; its own default of 8 GiB is more than many machines have."""


def available_cores() -> int:
    """Cores this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def local_identity(name: str, sha256: str) -> str:
    """What stands for a served file in the store: the same on every machine and port.

    >>> local_identity("small", "0123456789abcdef")
    'local:small#0123456789ab'
    """
    return f"local:{name}#{sha256[:12]}"


class LocalServer:
    """A model file served on loopback while the `with` block runs.

        with LocalServer(fetch("1.5b")) as server:
            model = Model(server.name, Endpoint(server.base_url), identity=server.identity)

    Args:
        path: A GGUF model file.
        threads: Threads for reading and writing; None = every core this process may use.
        context: Tokens a request may hold, prompt and reply together; shared among the slots.
        slots: Requests worked on at once. One slot keeps one prompt prefix in memory, which a CPU needs most.
        port: Port to listen on; 0 = any free one.
        start_timeout_s: Seconds until the model must be loaded.

    Attributes:
        name: The model's name, from the file's.
        base_url: Where chat completions are answered, up to and with `/v1`; known inside the `with` block.
        identity: Name and checksum of the file: the same on every machine and port, so that a store may be shared.

    Raises:
        InputError: There is no file at `path`.
        MissingExtraError: xllamacpp is not installed.
        RunError: The model could not be loaded; the message holds the end of the log.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        threads: int | None = None,
        context: int = 4096,
        slots: int = 1,
        port: int = 0,
        start_timeout_s: float = 180.0,
    ) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"no model file at {self.path}; fetch one with: ragauge llm fetch")
        self.threads = threads or available_cores()
        self.context, self.slots, self.port = context, slots, port
        self.start_timeout_s = start_timeout_s
        self.name = self.path.stem
        self.base_url = ""
        self._child: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    @property
    def identity(self) -> str:
        """`local:NAME#CHECKSUM`, the checksum being the first 12 hexadecimal digits of the file's sha256."""
        return local_identity(self.name, file_sha256(self.path))

    def __enter__(self) -> "LocalServer":
        optional_import("xllamacpp", purpose="serve a local model")
        self._log = tempfile.NamedTemporaryFile(prefix="ragauge-llm-", suffix=".log")
        try:
            self._child = self._start(self._log)
            self.base_url = self._wait_until_ready(self._child)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def pid(self) -> int | None:
        """Process id of the server; None outside the `with` block."""
        return None if self._child is None else self._child.pid

    def is_alive(self) -> bool:
        """Whether it serves; it ends by itself only when it fails."""
        return self._child is not None and self._child.poll() is None

    def _start(self, log: IO[bytes]) -> "subprocess.Popen[str]":
        """The child; with any other OMP_WAIT_POLICY threads that wait for each other take the cores they wait for."""
        options = {"--threads": self.threads, "--context": self.context, "--slots": self.slots, "--port": self.port}
        arguments = [str(word) for option in options.items() for word in option]
        return subprocess.Popen(
            [sys.executable, "-m", "ragauge.llm.serve", str(self.path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
        )

    def _wait_until_ready(self, child: "subprocess.Popen[str]") -> str:
        """The base URL, once the model is loaded; the child's only line of output is its address."""
        deadline = threading.Timer(self.start_timeout_s, child.kill)
        deadline.start()
        try:
            line = child.stdout.readline() if child.stdout else ""
            if not line.startswith(_READY):
                raise RunError(f"the local model {self.path} could not be served; its log ends: {self._log_tail()}")
            url = line.removeprefix(_READY).strip()
            while not _is_healthy(url):
                if child.poll() is not None:
                    raise RunError(f"the local model {self.path} was not loaded; its log ends: {self._log_tail()}")
                time.sleep(_POLL_S)
            return f"{url}/v1"
        finally:
            deadline.cancel()

    def _stop(self) -> None:
        """Ends the child, which has nothing to save, and closes what was opened for it."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            self._child = None
        if self._log is not None:
            self._log.close()
            self._log = None
        self.base_url = ""

    def _log_tail(self, size_bytes: int = 500) -> str:
        if self._log is None:
            return "(no log)"
        text = Path(self._log.name).read_text(encoding="utf-8", errors="replace")
        return " | ".join(text[-size_bytes:].split("\n")).strip(" |") or "(empty)"


def _is_healthy(url: str) -> bool:
    """Whether /health says ok; while the model is loaded it answers 503."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:
            return bool(json.load(reply).get("status") == "ok")
    except (urllib.error.URLError, OSError, json.JSONDecodeError):
        return False


def _parameters(llama: Any, options: argparse.Namespace) -> Any:
    """What llama.cpp is told: loopback only, offline, no page, no tools."""
    parameters = llama.CommonParams()
    parameters.model.path = options.path
    parameters.hostnames, parameters.port = [_HOST], options.port
    parameters.n_ctx, parameters.n_parallel = options.context, options.slots
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.threads
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    parameters.offline = parameters.warmup = True
    parameters.ui = False
    return parameters


def _leave_with_parent() -> None:
    """Ends this process when standard input closes, as it does when the parent is gone."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def _main(arguments: list[str] | None = None) -> None:
    """The child: serves until standard input closes or SIGTERM comes."""
    parser = argparse.ArgumentParser(prog="python -m ragauge.llm.serve", description="Serve a GGUF file on loopback.")
    parser.add_argument("path")
    for name, default in (("--threads", 1), ("--context", 4096), ("--slots", 1), ("--port", 0)):
        parser.add_argument(name, type=int, default=default)
    options = parser.parse_args(arguments)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    announce = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever llama.cpp prints belongs to the log
    llama = optional_import("xllamacpp", purpose="serve a local model")
    server = llama.Server(_parameters(llama, options))
    print(f"{_READY}{server.listening_address}", file=announce, flush=True)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    stop.wait()


if __name__ == "__main__":
    _main()
