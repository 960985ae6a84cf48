"""Puts together a chat completion that came in pieces, as server-sent events: some endpoints know no other way."""

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["assembled", "is_stream"]


def is_stream(text: str) -> bool:
    """Whether a body is a stream of events rather than JSON."""
    return text.lstrip().startswith(("data:", "event:", ":"))


def assembled(text: str) -> dict[str, Any] | None:
    """The chat completion that the pieces make; None when they break off before the end or are no pieces of one.

    >>> pieces = ['{"choices": [{"delta": {"content": "ye"}}]}', '{"choices": [{"delta": {"content": "s"}, ']
    >>> pieces[1] += '"finish_reason": "stop"}]}'
    >>> assembled("".join(f"data: {piece}" + chr(10) * 2 for piece in pieces))["choices"][0]["message"]["content"]
    'yes'
    """
    try:
        pieces = list(_pieces(text))
        failed = next((piece for piece in pieces if piece.get("error")), None)
        return failed or _joined(pieces)
    except (ValueError, TypeError, AttributeError):  # no JSON, or JSON of another shape
        return None


def _joined(pieces: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One choice: text and log-probabilities one after the other, and what comes once."""
    body: dict[str, Any] = {}
    content: list[str] = []
    logprobs: list[Any] = []
    finish_reason = refusal = None
    for piece in pieces:
        body |= {name: piece[name] for name in ("id", "model", "usage") if piece.get(name)}
        for choice in piece.get("choices") or []:
            delta = choice.get("delta") or choice.get("message") or {}
            content.append(delta.get("content") or "")
            refusal = delta.get("refusal") or refusal
            logprobs += (choice.get("logprobs") or {}).get("content") or []
            finish_reason = choice.get("finish_reason") or finish_reason
    if finish_reason is None:
        return None
    message = {"role": "assistant", "content": "".join(content), "refusal": refusal}
    told = {"content": logprobs} if logprobs else None
    return {**body, "choices": [{"index": 0, "message": message, "logprobs": told, "finish_reason": finish_reason}]}


def _pieces(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield json.loads(data)
