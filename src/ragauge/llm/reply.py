"""What a model said, and what could be read from it.

Replies are stored as they came and read when they are used, so a reader that has learnt more needs no new call.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

__all__ = ["Outcome", "Place", "Reply"]


@dataclass(frozen=True)
class Outcome:
    """What came of one request.

    Attributes:
        value: The text, label or grade; None when there is none.
        reason: Why there is no value, in one word: "no_text" (nothing to ask about), "cut_off" (ended by the token
            limit), "empty", "refused" (by the model, a content filter or the endpoint), "bad_json" (begins like JSON
            and is none, or holds no verdict), "wrong_language" (a verdict, in other words than asked for),
            "contradictory" (text and verdict, or two verdicts, do not agree), "wrong_count" (more or fewer verdicts
            than documents), "no_verdict" (none of these, and none can be read), or an EndpointError's reason. An
            answer that was cut off has both a value and the reason "cut_off".
        raw: What the model or the endpoint sent, as text.
        expected: For grades: the mean grade under the model's probabilities; None where it gave none.
        prompt_tokens: Tokens read; None where the endpoint did not tell.
        completion_tokens: Tokens written; None where the endpoint did not tell.
        from_store: Whether nothing had to be asked.
        expected_sd: For grades: the standard deviation under the model's probabilities; None where it gave none.
        reply_key: Key of the stored reply it was read from; None where there is none, or more than one.
    """

    value: str | float | None
    reason: str | None
    raw: str
    expected: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    from_store: bool = False
    expected_sd: float | None = None
    reply_key: str | None = None


@dataclass(frozen=True)
class Reply:
    """What an endpoint answered, or why it did not.

    Attributes:
        body: The JSON answer; {} when the call failed.
        failure: Why the call failed, in one word; None when it did not.
        raw: What a failed call's endpoint sent, as text.
        from_store: Whether the reply was there before.
        key: Its key in the store; None when the call failed.
    """

    body: Mapping[str, Any] = field(default_factory=dict)
    failure: str | None = None
    raw: str = ""
    from_store: bool = False
    key: str | None = None

    @property
    def text(self) -> str:
        """The message's text without white space around it; "" when there is none."""
        content = _mapping(self._choice.get("message")).get("content")
        return content.strip() if isinstance(content, str) else ""

    @property
    def cut_off(self) -> bool:
        """Whether the token limit ended it."""
        return self._choice.get("finish_reason") == "length"

    @property
    def refused(self) -> bool:
        """Whether the model declined, or a filter did so for it."""
        return self._choice.get("finish_reason") == "content_filter" or bool(
            _mapping(self._choice.get("message")).get("refusal")
        )

    def first_token(self) -> dict[str, float]:
        """Word -> probability at the first position, 0..1, spellings of one word added up; {} without them.

        Spellings differ in case, in white space (also as the marks that tokenizers show for it) and in punctuation.
        """
        places = self.places()
        return dict(places[0].words) if places else {}

    def places(self) -> list["Place"]:
        """What was written at each position, and what could have been; [] without log-probabilities."""
        content = _mapping(self._choice.get("logprobs")).get("content")
        return [_place(_mapping(entry)) for entry in content] if isinstance(content, list) else []

    def failed(self) -> Outcome | None:
        """The outcome of a call that failed, was refused or brought no text; None when there is something to read."""
        if self.failure is not None:
            return self.outcome(None, self.failure)
        if self.refused:
            return self.outcome(None, "refused")
        if not self.text and not self.first_token():
            return self.outcome(None, "cut_off" if self.cut_off else "empty")
        return None

    def outcome(
        self,
        value: str | float | None,
        reason: str | None = None,
        *,
        expected: float | None = None,
        expected_sd: float | None = None,
    ) -> Outcome:
        """An outcome of this reply."""
        refusal = _mapping(self._choice.get("message")).get("refusal")
        return Outcome(
            value,
            reason,
            self.raw or self.text or (refusal if isinstance(refusal, str) else ""),
            expected,
            tokens(self.body, "prompt_tokens"),
            tokens(self.body, "completion_tokens"),
            self.from_store,
            expected_sd,
            self.key,
        )

    @property
    def _choice(self) -> Mapping[str, Any]:
        choices = self.body.get("choices")
        return _mapping(choices[0]) if isinstance(choices, list) and choices else {}


@dataclass(frozen=True)
class Place:
    """One position of a reply.

    Attributes:
        word: What was written there, plain; "" for punctuation alone.
        words: Word -> probability, spellings of one word added up.
    """

    word: str
    words: Mapping[str, float]


def _place(entry: Mapping[str, Any]) -> Place:
    words: dict[str, float] = {}
    for one in entry.get("top_logprobs") or []:
        alternative = _mapping(one)
        token, logprob = alternative.get("token"), alternative.get("logprob")
        if isinstance(token, str) and isinstance(logprob, (float, int)) and not math.isnan(logprob):
            word = _plain_token(token)
            words[word] = words.get(word, 0.0) + math.exp(min(logprob, 0.0))
    written = entry.get("token")
    return Place(_plain_token(written) if isinstance(written, str) else "", words)


def is_chat_reply(body: Mapping[str, Any]) -> bool:
    """Whether there is at least one choice, so that the call brought something worth keeping."""
    choices = body.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], Mapping)


def tokens(body: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens from the reply's usage."""
    count = _mapping(body.get("usage")).get(name)
    return count if isinstance(count, int) else None


def plain_word(text: str) -> str:
    """Lower case, without white space, tokenizers' marks for it, and punctuation around it."""
    return text.strip(" \t\r\n\u2581\u0120\u010a\"'`*_.,:;!?()[]{}<>#-").lower()


@lru_cache(4096)  # the same few tokens stand in every reply
def _plain_token(token: str) -> str:
    return plain_word(token)


def _mapping(value: object) -> Mapping[str, Any]:
    """A part of a JSON text as it was read, or nothing."""
    return value if isinstance(value, dict) else {}
