"""Reads one HTTP answer: the JSON object it holds, or what was wrong with it and whether asking again may help."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["MAX_RETRY_AFTER_S", "Failure", "one_line", "read_answer"]

MAX_RETRY_AFTER_S = 60.0
"""The longest pause a server can ask for; a longer Retry-After counts as this."""

RETRIED_STATUS = frozenset({408, 409, 425, 429})
"""Besides 5xx."""

ENDPOINT_WIDE_STATUS = frozenset({401, 402, 404, 429})
"""A refusal with one of these says that the next calls will be refused as well; any other may be due to its content."""

_LINE_LENGTH = 300
_RAW_LENGTH = 20_000


@dataclass(frozen=True)
class Failure:
    """One try that failed: why, in one word and in a sentence, and whether another try may do better."""

    reason: str
    message: str
    raw: str = ""
    passing: bool = True
    endpoint_wide: bool = True
    retry_after_s: float | None = None


def read_answer(status: int, headers: Mapping[str, str], content: bytes, key: str) -> dict[str, Any] | Failure:
    """The answer's JSON object, or what was wrong with it; the key, which some servers send back, is taken out."""
    text = content.decode("utf-8", errors="replace")
    shown = text.replace(key, "[API key]") if key else text
    if not 200 <= status < 300:
        return _refusal(status, headers, shown)
    reply = _object_of(text)
    if reply is None:
        return Failure("not_json", f"the answer is no JSON object: {one_line(shown)}", shown[:_RAW_LENGTH])
    if reply.get("error") and not {"choices", "data"} & reply.keys():
        return _refusal(_inner_status(reply["error"]), headers, shown)
    return reply


def _object_of(text: str) -> dict[str, Any] | None:
    """Judged by the body alone: some servers send JSON under another content type."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _inner_status(error: object) -> int:
    """Gateways wrap a provider's error into status 200; its own status then stands inside."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _refusal(status: int, headers: Mapping[str, str], text: str) -> Failure:
    message = f"status {status}: {_server_message(text)}{_hint(status, headers)}"
    raw = text[:_RAW_LENGTH]
    quota_used_up = status == 429 and "insufficient_quota" in text
    if quota_used_up or (status not in RETRIED_STATUS and status < 500):
        return Failure("refused", message, raw, passing=False, endpoint_wide=status in ENDPOINT_WIDE_STATUS)
    return Failure(_reason_of(status), message, raw, retry_after_s=_retry_after(headers))


def _reason_of(status: int) -> str:
    return {408: "timeout", 429: "rate_limited"}.get(status, f"http_{status}")


def _hint(status: int, headers: Mapping[str, str]) -> str:
    if status in (401, 403):
        return "; check the environment variable that api_key_env names"
    if status == 404:
        return "; check the base URL (does it end in /v1?) and the model's name"
    if 300 <= status < 400:
        return f"; it points to {headers.get('Location', 'nowhere')}: give that as base URL"
    return ""


def _server_message(text: str) -> str:
    """The message inside the usual shapes of an error body, else the body's beginning."""
    body = _object_of(text) or {}
    for name in ("error", "detail", "message"):
        found = body.get(name)
        if isinstance(found, dict):
            found = found.get("message")
        if found:
            return one_line(found if isinstance(found, str) else json.dumps(found))
    return one_line(text) or "no message"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now, 0..MAX_RETRY_AFTER_S; None where the server asks for nothing that can be read."""
    asked = headers.get("Retry-After", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        seconds = _seconds_until(asked)
    return None if math.isnan(seconds) else min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


def _seconds_until(date: str) -> float:
    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    return (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


def one_line(text: str) -> str:
    """The text's beginning, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE_LENGTH else line[:_LINE_LENGTH] + "..."
