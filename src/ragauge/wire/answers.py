"""Reads one HTTP answer: the JSON object it holds, or what was wrong with it and whether asking again may help."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ragauge.wire.rate import MAX_HOLD_S
from ragauge.wire.stream import assembled, is_stream

__all__ = ["Failure", "one_line", "read_answer", "read_text"]

RETRIED_STATUS = frozenset({408, 409, 425, 429})
"""Besides 5xx."""

ENDPOINT_WIDE_STATUS = frozenset({401, 402, 404, 429})
"""A refusal with one of these says that the next calls will be refused as well; any other may be due to its content."""

OVERLOAD_STATUS = frozenset({429, 503, 529})
"""Fewer calls at once may help."""

_LINE_LENGTH = 300
_SECRET_LENGTH = 12
_RAW_LENGTH = 20_000


@dataclass(frozen=True)
class Failure:
    """One try that failed.

    Attributes:
        reason: Why, in one word.
        message: Why, in a sentence.
        raw: What the server sent.
        passing: Whether another try may do better.
        endpoint_wide: Whether the next calls are likely to fail as well.
        hopeless: Whether they are sure to.
        unpaid: Whether the model did no work for it.
        overload: Whether fewer calls at once may help.
        retry_after_s: The pause that the server asks for.
    """

    reason: str
    message: str
    raw: str = ""
    passing: bool = True
    endpoint_wide: bool = True
    hopeless: bool = False
    unpaid: bool = False
    overload: bool = False
    retry_after_s: float | None = None


def read_answer(status: int, headers: Mapping[str, str], content: bytes, key: str) -> dict[str, Any] | Failure:
    """The answer's JSON object, or what was wrong with it; the key, which some servers send back, is taken out."""
    text = content.decode("utf-8", errors="replace")
    shown = _without(key, text)
    if not 200 <= status < 300:
        return _refusal(status, headers, shown)
    # A short key is no secret ("EMPTY", "none"), and may be a word of the answer.
    answer = shown if len(key) >= _SECRET_LENGTH else text
    reply = assembled(answer) if is_stream(answer) else _object_of(answer)
    if reply is None:
        what = "a stream that broke off" if is_stream(answer) else "no JSON object"
        return Failure("not_json", f"the answer is {what}: {one_line(shown)}", shown[:_RAW_LENGTH])
    if reply.get("error") and not {"choices", "data", "object"} & reply.keys():
        return _refusal(_inner_status(reply["error"]), headers, shown)
    return reply


def read_text(status: int, headers: Mapping[str, str], content: bytes, key: str) -> dict[str, Any] | Failure:
    """`{"text": ..}` with the answer as it is, without the key; or what was wrong with it."""
    if not 200 <= status < 300:
        return read_answer(status, headers, content, key)
    return {"text": _without(key, content.decode("utf-8", errors="replace"))}


def _without(key: str, text: str) -> str:
    """Some servers send the key back; JSON may write its slashes in two ways."""
    return text.replace(key, "[API key]").replace(key.replace("/", "\\/"), "[API key]") if key else text


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
        endpoint_wide = status in ENDPOINT_WIDE_STATUS
        return Failure("refused", message, raw, passing=False, endpoint_wide=endpoint_wide, unpaid=True)
    overload, wait_s = status in OVERLOAD_STATUS, _retry_after(headers)
    return Failure(_reason_of(status), message, raw, unpaid=True, overload=overload, retry_after_s=wait_s)


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
    """Seconds from now, 0..MAX_HOLD_S; None where the server asks for nothing that can be read."""
    asked = headers.get("Retry-After", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        seconds = _seconds_until(asked)
    return None if math.isnan(seconds) else min(max(seconds, 0.0), MAX_HOLD_S)


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
