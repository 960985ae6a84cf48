"""Asks through batch files, which many endpoints answer within a day at half the price.

A folder remembers each batch: what was sent, under which number, and whether it was collected. It is written before a
batch is made and read before another is, so a run that was killed at any point goes on and pays for nothing twice; a
batch that was made just before the kill, and whose number was lost, is found again by its name at the endpoint.
"""

import asyncio
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ragauge.errors import EndpointError, InputError, StoreError
from ragauge.llm.model import Model, Request
from ragauge.llm.readings import Readings
from ragauge.llm.reply import Reply, is_chat_reply, tokens
from ragauge.store import FinishedCall, Store, request_key
from ragauge.wire import Budget, Wire, run
from ragauge.wire.answers import Failure, read_answer
from ragauge.wire.budget import load_of, used_by

__all__ = ["BatchAsk"]

T = TypeVar("T")

MAX_REQUESTS = 50_000
MAX_BYTES = 100_000_000
"""Of one batch; endpoints allow 50,000 requests, and 100 or 200 MB."""

POLL_S = 5.0
MAX_POLL_S = 60.0
"""Seconds between two looks at a batch, at first and at most."""

_PART = 500
"""Answers that are put on the disk together."""

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_PATH = "/v1/chat/completions"
_NAME = "ragauge"


@dataclass(frozen=True)
class _Job:
    """One batch, as its folder remembers it."""

    name: str
    endpoint: str
    model: str
    prompt_id: str
    batch_id: str | None = None
    status: str = "written"
    collected: bool = False


class BatchAsk:
    """An `Ask` that sends batch files and collects what comes back.

    Requests that are in a batch already are not sent again; while it is under way they have the reason
    "batch_pending". What a batch did not answer has a reason ("batch_expired", "batch_failed", "batch_cancelled", or
    why the endpoint refused the line) and is sent in a new batch by the next run.

    Args:
        folder: Remembers the batches; made if need be. One process at a time.
        wait_s: How long to wait for batches that are under way; None = until they end, 0 = only look.
        poll_s: Seconds between the first two looks; later ones are further apart, up to a minute.
        budget: What may be sent: each request is charged the most it can take. None = any number.
        on_note: Called with a line a batch that was made or has ended.

    Raises:
        InputError: `folder` cannot be made.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        wait_s: float | None = None,
        poll_s: float = POLL_S,
        budget: Budget | None = None,
        on_note: Callable[[str], None] | None = None,
    ) -> None:
        self._folder = Path(folder)
        self._wait_s = wait_s
        self._poll_s = poll_s
        self._budget = budget or Budget()
        self._note = on_note or (lambda line: None)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder} for batches: {error.strerror}") from error

    def __call__(
        self,
        requests: Sequence[Request],
        *,
        model: Model,
        store: Store,
        read: Callable[[Reply], T],
        on_progress: Callable[[int], None] | None = None,
    ) -> list[T]:
        """What `read` makes of the reply to each request, in order.

        Raises:
            EndpointError: The endpoint cannot be asked for batches; what was sent is remembered.
            StoreError: The store or the folder cannot be read or written.
        """
        keys = [request_key(model.stored_request(request)) for request in requests]
        readings = Readings(keys, read)
        readings.take_stored(store)
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in readings}
        failures = run(self._work(missing, model, store)) if missing else {}
        readings.take_stored(store)
        for key in missing:
            if key not in readings:
                readings.take(key, Reply(failure=failures.get(key, "not_asked")))
        if on_progress:
            on_progress(len(keys))
        return readings.in_order()

    async def _work(self, missing: Mapping[str, Request], model: Model, store: Store) -> dict[str, str]:
        """Key -> reason, of what has no reply after all batches were sent, waited for and collected."""
        endpoint = model.identity or model.endpoint.base_url
        failures: dict[str, str] = {}
        async with Wire(model.endpoint) as wire:
            under_way = [job for job in self._jobs() if job.endpoint == endpoint and not job.collected]
            sent = {key for job in under_way for key, _ in self._lines(job)}
            fresh = {key: request for key, request in missing.items() if key not in sent}
            under_way += list(self._written(fresh, model, endpoint, failures))
            under_way = [await self._submitted(wire, job) for job in under_way]
            await self._collect_all(wire, under_way, store, failures)
        return failures

    def _written(
        self, fresh: Mapping[str, Request], model: Model, endpoint: str, failures: dict[str, str]
    ) -> Iterator[_Job]:
        """Batches of what is not sent yet, one prompt each, on disk; what the budget forbids is a failure."""
        for prompt_id in dict.fromkeys(request.prompt_id for request in fresh.values()):
            lines: list[str] = []
            size = 0
            for key, request in fresh.items():
                if request.prompt_id != prompt_id:
                    continue
                body = model.payload(request)
                line = json.dumps({"custom_id": _custom_id(key), "method": "POST", "url": _PATH, "body": body})
                if not self._budget.reserve(load_of(body, len(line))):
                    failures[key] = "budget"
                    continue
                if lines and (len(lines) == MAX_REQUESTS or size + len(line) > MAX_BYTES):
                    yield self._write(lines, _Job("", endpoint, model.name, prompt_id))
                    lines, size = [], 0
                lines.append(line)
                size += len(line) + 1
            if lines:
                yield self._write(lines, _Job("", endpoint, model.name, prompt_id))

    def _write(self, lines: Sequence[str], job: _Job) -> _Job:
        """The batch's file, then its state: a folder without a state was never used."""
        content = "\n".join(lines) + "\n"
        name = hashlib.sha256(f"{time.time_ns()}\n{content}".encode()).hexdigest()[:16]
        _write_safely(self._folder / name / "input.jsonl", content)
        return self._remember(replace(job, name=name))

    async def _submitted(self, wire: Wire, job: _Job) -> _Job:
        """Made at the endpoint, unless it is there already."""
        if job.batch_id is not None:
            return job
        found = await _found(wire, job.name) or await self._created(wire, job)
        job = self._remember(replace(job, batch_id=str(found["id"]), status=str(found.get("status"))))
        self._note(f"batch {job.batch_id}: {sum(1 for _ in self._lines(job)):,} requests sent")
        return job

    async def _created(self, wire: Wire, job: _Job) -> dict[str, Any]:
        content = (self._folder / job.name / "input.jsonl").read_bytes()
        body, content_type = _form(content, f"{job.name}.jsonl")
        uploaded = await wire.upload("/files", body, content_type=content_type)
        wanted = {
            "input_file_id": uploaded.get("id"),
            "endpoint": _PATH,
            "completion_window": "24h",
            "metadata": {_NAME: job.name},
        }
        try:
            return await wire.post("/batches", wanted, tries="one")
        except EndpointError:  # it may have been made all the same
            found = await _found(wire, job.name)
            if found is None:
                raise
            return found

    async def _collect_all(self, wire: Wire, jobs: Sequence[_Job], store: Store, failures: dict[str, str]) -> None:
        """Looks at each batch until it has ended or the time is over."""
        until = None if self._wait_s is None else time.monotonic() + self._wait_s
        waiting, pause_s = list(jobs), self._poll_s
        while waiting:
            left = []
            for job in waiting:
                shown = await wire.get(f"/batches/{job.batch_id}")
                job = self._remember(replace(job, status=str(shown.get("status"))))
                if job.status in _ENDED:
                    await self._collect(wire, job, shown, store, failures)
                else:
                    left.append(job)
            waiting = left
            if waiting and until is not None and time.monotonic() + pause_s > until:
                break
            if waiting:
                await asyncio.sleep(pause_s)
                pause_s = min(MAX_POLL_S, pause_s * 1.5)
        failures.update({key: "batch_pending" for job in waiting for key, _ in self._lines(job)})

    async def _collect(
        self, wire: Wire, job: _Job, shown: Mapping[str, Any], store: Store, failures: dict[str, str]
    ) -> None:
        """Stores every answer, then marks the batch as collected; what it did not answer has its status as reason."""
        bodies = dict(self._lines(job))
        failures.update(dict.fromkeys(bodies, f"batch_{job.status}"))
        for name in ("output_file_id", "error_file_id"):
            if shown.get(name):
                content = await wire.get_text(f"/files/{shown[name]}/content")
                _write_safely(self._folder / job.name / f"{name.partition('_')[0]}.jsonl", content)
                await asyncio.to_thread(self._keep, job, bodies, content, store, failures)
        self._remember(replace(job, collected=True))
        self._note(f"batch {job.batch_id}: {job.status}")

    def _keep(
        self, job: _Job, bodies: Mapping[str, dict[str, Any]], content: str, store: Store, failures: dict[str, str]
    ) -> None:
        """Stores the answers in one file of an ended batch; a line that cannot be read, or answers nothing, is none."""
        finished = self._finished(job, bodies, content, store, failures)
        while part := list(islice(finished, _PART)):
            store.put_replies(part)

    def _finished(
        self, job: _Job, bodies: Mapping[str, dict[str, Any]], content: str, store: Store, failures: dict[str, str]
    ) -> Iterator[FinishedCall]:
        """The lines that answer a request of the batch; the others are noted."""
        for line in content.splitlines():
            key, outcome = _answer(line)
            if key not in bodies:
                continue
            if isinstance(outcome, Failure):
                failures[key] = outcome.reason
                store.put_failure(key, outcome.reason, outcome.raw)
                continue
            failures.pop(key, None)
            yield FinishedCall(
                key,
                _stored_request(job, bodies[key]),
                outcome,
                latency_s=0.0,
                prompt_tokens=tokens(outcome, "prompt_tokens"),
                completion_tokens=tokens(outcome, "completion_tokens"),
                cost_usd=self._budget.cost_of(used_by(outcome)),
                kind="batch",
            )

    def _jobs(self) -> list[_Job]:
        """All batches that the folder remembers."""
        states = sorted(self._folder.glob("*/state.json"))
        try:
            return [_Job(**json.loads(path.read_text(encoding="utf-8"))) for path in states]
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"cannot read what batches there are in {self._folder}: {error}") from error

    def _lines(self, job: _Job) -> Iterator[tuple[str, dict[str, Any]]]:
        """Key and body of each request of a batch."""
        with (self._folder / job.name / "input.jsonl").open(encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                yield _key(record["custom_id"]), record["body"]

    def _remember(self, job: _Job) -> _Job:
        _write_safely(self._folder / job.name / "state.json", json.dumps(asdict(job), indent=1))
        return job


def _stored_request(job: _Job, body: Mapping[str, Any]) -> dict[str, Any]:
    """What `Model.stored_request` gave when the batch was written."""
    parameters = {name: value for name, value in body.items() if name not in ("model", "messages")}
    return {
        "endpoint": job.endpoint,
        "model": job.model,
        "prompt_id": job.prompt_id,
        "parameters": parameters,
        "messages": body["messages"],
    }


def _answer(line: str) -> tuple[str, dict[str, Any] | Failure]:
    """Key and answer of a line of an output or error file; "" for a line that names no request."""
    try:
        record = json.loads(line)
        key = _key(record["custom_id"])
        response = record.get("response") or {"status_code": 500, "body": {"error": record.get("error") or "no answer"}}
        body = read_answer(int(response["status_code"]), {}, json.dumps(response["body"]).encode(), "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", Failure("not_json", "the line cannot be read")
    if isinstance(body, dict) and not is_chat_reply(body):
        return key, Failure("no_choices", "the answer holds no choice", json.dumps(body))
    return key, body


async def _found(wire: Wire, name: str) -> dict[str, Any] | None:
    """The batch that bears our name at the endpoint, if there is one."""
    after = ""
    while True:
        page = await wire.get(f"/batches?limit=100{after}")
        batches = [batch for batch in page.get("data") or [] if isinstance(batch, dict)]
        for batch in batches:
            if (batch.get("metadata") or {}).get(_NAME) == name:
                return batch
        if not page.get("has_more") or not batches:
            return None
        after = f"&after={batches[-1].get('id')}"


def _custom_id(key: str) -> str:
    """A key without its colon, in the letters that every endpoint allows."""
    return key.replace(":", "-")


def _key(custom_id: str) -> str:
    return custom_id.replace("-", ":", 1)


def _form(content: bytes, file_name: str) -> tuple[bytes, str]:
    """A multipart form with the purpose and the file, and its content type."""
    boundary = secrets.token_hex(16)
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{boundary}\r\n'
        f'Content-Disposition: form-data; name="file"; filename="{file_name}"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return head.encode() + content + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _write_safely(path: Path, text: str) -> None:
    """Whole and on the disk, or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; what was sent before is remembered") from error
