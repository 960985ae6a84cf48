"""What a store takes and gives back: frozen records."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["Damage", "FinishedCall", "JudgeCount", "Merged", "StoreStats", "StoredFailure", "StoredReply", "Usage"]


@dataclass(frozen=True)
class FinishedCall:
    """A call that was answered, on its way into the store.

    Attributes:
        key: `request_key(request)`.
        request: The whole request; its "model", "endpoint" and "prompt_id" become columns.
        reply: The endpoint's JSON answer, whole.
        latency_s: Seconds from asking to the whole answer.
        prompt_tokens: Tokens read; None when the endpoint did not tell. A number that cannot be one counts as None.
        completion_tokens: Tokens written, likewise.
        cost_usd: What the call cost; None when no price is known.
        kind: What sort of call it was.
    """

    key: str
    request: Mapping[str, object]
    reply: Mapping[str, object]
    latency_s: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    kind: str = "chat"


@dataclass(frozen=True)
class StoredReply:
    """A finished call.

    Attributes:
        key: `request_key` of the whole request.
        kind: "chat", or what the writer called it.
        model: Model's name as it was asked for.
        endpoint: Base URL it was asked at.
        prompt_id: Name and version of the prompt, such as "label/1"; "" for none.
        reply_json: The endpoint's JSON answer, whole, as text; `reply` is the same, read.
        prompt_tokens: Tokens read; None where the endpoint did not tell.
        completion_tokens: Tokens written; None where the endpoint did not tell.
        latency_s: Seconds from asking to the whole answer.
        created_at: When it was stored, ISO 8601 in UTC.
        cost_usd: What it cost, where the writer knew a price.
    """

    key: str
    kind: str
    model: str
    endpoint: str
    prompt_id: str
    reply_json: str
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_s: float
    created_at: str
    cost_usd: float | None = None

    @property
    def reply(self) -> dict[str, Any]:
        """The endpoint's JSON answer; read anew at each use, as reading takes longer than fetching."""
        return cast(dict[str, Any], json.loads(self.reply_json))


@dataclass(frozen=True)
class StoredFailure:
    """A call that failed, or an answer that could not be read: why, and what was sent."""

    key: str
    reason: str
    raw: str
    created_at: str


@dataclass(frozen=True)
class Usage:
    """What the finished calls of one model with one prompt cost.

    Attributes:
        kind: As in `StoredReply`, like `model`, `endpoint` and `prompt_id`.
        calls: Finished calls.
        prompt_tokens: Tokens read, over the calls that told; None when none did.
        completion_tokens: Tokens written, likewise.
        calls_without_tokens: Calls for which the endpoint told no tokens, so that the sums are too low by them.
        seconds: Sum of the calls' latencies; calls that ran side by side count each.
        cost_usd: Sum over the calls whose price was known; None when none was.
        calls_without_cost: Calls without a price, so that the sum is too low by them.
        first_at: When the first call was stored, ISO 8601 in UTC.
        last_at: When the last one was.
    """

    kind: str
    model: str
    endpoint: str
    prompt_id: str
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    calls_without_tokens: int
    seconds: float
    cost_usd: float | None = None
    calls_without_cost: int = 0
    first_at: str = ""
    last_at: str = ""

    def __str__(self) -> str:
        read = "?" if self.prompt_tokens is None else f"{self.prompt_tokens:,}"
        written = "?" if self.completion_tokens is None else f"{self.completion_tokens:,}"
        return (
            f"{self.model} {self.prompt_id or self.kind}: {self.calls:,} calls, "
            f"{read} tokens read, {written} written, {self.seconds:,.1f} s"
        )


@dataclass(frozen=True)
class JudgeCount:
    """How much one judge judged.

    Attributes:
        judge: Who.
        kind: "human" or "model".
        task: "label" or "grade".
        rubric: Name and version of the rubric or prompt; "" when unknown.
        judgements: Rows, superseded ones included.
        without_label: Rows without a label.
        first_at: When the first one was made, ISO 8601 in UTC.
        last_at: When the last one was.
    """

    judge: str
    kind: str
    task: str
    rubric: str
    judgements: int
    without_label: int
    first_at: str
    last_at: str


@dataclass(frozen=True)
class StoreStats:
    """What a store holds.

    Attributes:
        usage: Finished calls, by model and prompt.
        judges: Judgements, by judge.
        later_replies: Other replies to requests that had one already; kept, not used.
        failures: (reason, how often), most frequent first.
        vectors: (model id, how many), by model id.
        size_bytes: Of the file, or of the database's tables; None for a store in memory.
    """

    usage: tuple[Usage, ...]
    judges: tuple[JudgeCount, ...]
    later_replies: int
    failures: tuple[tuple[str, int], ...]
    vectors: tuple[tuple[str, int], ...]
    size_bytes: int | None


@dataclass(frozen=True)
class Damage:
    """A row that is not as it was written.

    Attributes:
        table: Its table; "file" for the database itself.
        row: Its key or id.
        problem: What is wrong.
    """

    table: str
    row: str
    problem: str

    def __str__(self) -> str:
        return f"{self.table} {self.row}: {self.problem}"


@dataclass(frozen=True)
class Merged:
    """What a merge brought, in rows.

    Attributes:
        replies: To requests that had none.
        later_replies: Other replies to requests that had one; kept beside it.
        failures: Failures.
        judgements: Judgements.
        vectors: Vectors.
        damaged: Rows that were left out because they are damaged.
    """

    replies: int
    later_replies: int
    failures: int
    judgements: int
    vectors: int
    damaged: tuple[Damage, ...] = ()
