"""Verdicts: replies that consist of one of a few words, with the model's probability of each word where it tells.

One token is asked for, with log-probabilities. An endpoint that gives none and whose word cannot be read is asked once
more, for structured output. What then cannot be read is no verdict: it is never guessed.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from ragauge.llm.model import Model
from ragauge.llm.pool import ask_all
from ragauge.llm.prompts import Prompt
from ragauge.llm.reply import Outcome, Reply, plain_word
from ragauge.store import Store

__all__ = ["MIN_VERDICT_MASS", "ask_verdicts"]

MIN_VERDICT_MASS = 0.1
"""Probability that the choices together must have at the first token; below it the model was about to say something
else, and the ratio between the choices says little."""

_READABLE_BY_CONSTRAINT = frozenset({"no_verdict", "cut_off", "empty"})

Fields = Mapping[str, str]
Value = Callable[[Reply, Mapping[str, float]], Outcome]


def ask_verdicts(
    prompt: Prompt,
    questions: Sequence[Fields],
    value: Value,
    *,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """One outcome a question, in order.

    Args:
        prompt: One with `choices`.
        questions: The prompt's fields.
        value: Makes the outcome from the reply and choice -> probability (summing to 1; 1 for the word said, where the
            endpoint gives no probabilities).
        model: Whom to ask.
        store: Where replies are looked up and kept.
        on_progress: Called with the number of questions just done.
    """
    requests = [prompt.request(**fields) for fields in questions]
    replies = ask_all(requests, model=model, store=store, on_progress=on_progress)
    outcomes = [_read(reply, prompt.choices, value) for reply in replies]
    again = [i for i, reply in enumerate(replies) if _needs_constraint(reply, outcomes[i])]
    constrained = [prompt.constrained_request(**questions[i]) for i in again]
    for i, reply in zip(again, ask_all(constrained, model=model, store=store), strict=True):
        outcome = _read(reply, prompt.choices, value)
        if reply.failure is None or replies[i].failure is not None:
            outcomes[i] = outcome
    return outcomes


def _read(reply: Reply, choices: Sequence[str], value: Value) -> Outcome:
    failed = reply.failed()
    if failed is not None:
        return failed
    found = _probabilities(reply, choices) or _said(reply.text, choices)
    if found:
        return value(reply, found)
    return reply.outcome(None, "cut_off" if reply.cut_off and not reply.first_token() else "no_verdict")


def _needs_constraint(reply: Reply, outcome: Outcome) -> bool:
    """Whether the endpoint gave no log-probabilities and no readable word, or refuses to give log-probabilities."""
    if reply.failure == "refused":
        return "logprobs" in reply.raw
    return outcome.reason in _READABLE_BY_CONSTRAINT and reply.failure is None and not reply.first_token()


def _probabilities(reply: Reply, choices: Sequence[str]) -> dict[str, float]:
    """choice -> probability among the choices; {} where they have too little of it together."""
    words = reply.first_token()
    masses = {choice: words.get(choice, 0.0) for choice in choices}
    total = sum(masses.values())
    return {choice: mass / total for choice, mass in masses.items()} if total >= MIN_VERDICT_MASS else {}


def _said(text: str, choices: Sequence[str]) -> dict[str, float]:
    """The choice that a text states, alone, as JSON, or before a punctuation mark; {} where it states none."""
    word = _json_verdict(text) or plain_word(text)
    if word not in choices:
        opening = re.match(r"[\W_]*(\w+)\s*[,.;:\n]", text)
        word = opening[1].lower() if opening else ""
    return {choice: float(choice == word) for choice in choices} if word in choices else {}


def _json_verdict(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    return plain_word(str(value.get("verdict", ""))) if isinstance(value, dict) else ""
