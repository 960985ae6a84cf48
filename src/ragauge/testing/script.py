"""What a scripted model says: replies, the bodies they become, and the default script."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Answer",
    "ScriptedReply",
    "chat_body",
    "embeddings_body",
    "error_body",
    "scripted_p_yes",
    "scripted_reply",
    "scripted_vector",
    "stream_events",
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
        content_type: Of the answer, right or wrong.
        delay_s: Seconds before the answer is sent.
        pause_s: Seconds between any two of the body's ten parts: bytes that come slowly.
        cut: Sends only the first half of the JSON body, as if that were all.
        raw: Sends this text instead of JSON.
        stream: Sends the answer in pieces, as server-sent events.
        drop: Closes the connection without an answer.
    """

    text: str = ""
    top_logprobs: Mapping[str, float] | None = None
    finish_reason: str = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = None
    delay_s: float = 0.0
    pause_s: float = 0.0
    cut: bool = False
    raw: str | None = None
    stream: bool = False
    drop: bool = False


Answer = Callable[[dict[str, Any]], ScriptedReply | str | dict[str, Any]]
"""Chat request's body -> what to answer: a ScriptedReply, a text, or the whole JSON body."""


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


def chat_body(request: Mapping[str, Any], reply: ScriptedReply) -> dict[str, Any]:
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


def embeddings_body(request: Mapping[str, Any], embed: Callable[[str], Sequence[float]]) -> dict[str, Any]:
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


def error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted"}}


def stream_events(request: Mapping[str, Any], reply: ScriptedReply) -> Iterator[str]:
    """The chat completion in pieces: a word each, then the reason for its end, then the usage."""
    whole = chat_body(request, reply)
    choice = whole["choices"][0]
    for place, word in enumerate(reply.text.split(" ")):
        piece = {"index": 0, "delta": {"content": word if place == 0 else f" {word}"}, "finish_reason": None}
        yield json.dumps(
            {"id": whole["id"], "choices": [piece | ({"logprobs": choice["logprobs"]} if place == 0 else {})]}
        )
    yield json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]})
    yield json.dumps({"choices": [], "usage": whole["usage"]})
    yield "[DONE]"


def _hash_number(text: str) -> int:
    """Uniform on 0 .. 2**32 - 1."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big")
