"""The batch endpoints of a scripted model: files go in, a batch is made of one, and files come out."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any

__all__ = ["ScriptedBatches", "read_upload"]

Ask = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
"""A chat request's body -> status and body of its answer."""


@dataclass
class ScriptedBatches:
    """Batches as OpenAI's API makes them, kept in memory.

    Attributes:
        polls: How often a batch is asked about before it has ended.
        ends_as: Its last status: "completed", "expired", "failed", "cancelled".
        share_answered: Share of the lines that are answered when it ends, from the first on.
        files: Id -> content.
        batches: Id -> the batch as the API shows it.
        asked: The chat requests that were answered, in order.
    """

    polls: int = 1
    ends_as: str = "completed"
    share_answered: float = 1.0
    files: dict[str, str] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def upload(self, content: str) -> dict[str, Any]:
        """POST /files."""
        with self._lock:
            file_id = f"file-{len(self.files) + 1}"
            self.files[file_id] = content
        return {"id": file_id, "object": "file", "bytes": len(content), "purpose": "batch"}

    def create(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """POST /batches."""
        with self._lock:
            batch_id = f"batch_{len(self.batches) + 1}"
            self.batches[batch_id] = {
                "id": batch_id,
                "object": "batch",
                "status": "validating",
                "polls": 0,
                "metadata": wanted.get("metadata"),
                **{name: wanted[name] for name in ("input_file_id", "endpoint", "completion_window")},
            }
            return dict(self.batches[batch_id])

    def show(self, batch_id: str, ask: Ask) -> dict[str, Any] | None:
        """GET /batches/ID: each look brings it nearer to its end."""
        with self._lock:
            batch = self.batches.get(batch_id)
            if batch is None:
                return None
            batch["polls"] += 1
            if batch["status"] in ("validating", "in_progress"):
                batch["status"] = "in_progress" if batch["polls"] <= self.polls else self.ends_as
                if batch["status"] != "in_progress":
                    self._end(batch, ask)
            return dict(batch)

    def listed(self) -> dict[str, Any]:
        """GET /batches."""
        with self._lock:
            return {
                "object": "list",
                "data": [dict(batch) for batch in reversed(self.batches.values())],
                "has_more": False,
            }

    def _end(self, batch: dict[str, Any], ask: Ask) -> None:
        """Answers go to the output file, refusals to the error file, the last line first as order is not promised."""
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        answered: list[str] = []
        refused: list[str] = []
        for line in lines[: round(self.share_answered * len(lines))]:
            status, body = ask(line["body"])
            self.asked.append(line["body"])
            record = {"id": "x", "custom_id": line["custom_id"], "response": {"status_code": status, "body": body}}
            (answered if status < 400 else refused).append(json.dumps({**record, "error": None}))
        for name, records in (("output_file_id", answered), ("error_file_id", refused)):
            batch[name] = self.upload("\n".join(reversed(records)))["id"] if records else None


def read_upload(content_type: str, content: bytes) -> dict[str, str]:
    """The fields of a multipart form."""
    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + content)
    fields = {}
    for part in form.walk():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(payload, bytes):
            fields[name] = payload.decode("utf-8")
    return fields
