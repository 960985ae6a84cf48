"""Verdicts: replies that consist of one of a few words, with the model's probability of each word where it tells.

One token is asked for, with log-probabilities. An endpoint that gives none and whose word cannot be read is asked once
more, for structured output. What then cannot be read is no verdict: it is never guessed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ragauge.llm.model import Model
from ragauge.llm.pool import Ask, ask_all
from ragauge.llm.prompts import Fields, Prompt
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.said import said
from ragauge.store import Store

__all__ = ["MIN_VERDICT_MASS", "ask_verdicts", "shares"]

MIN_VERDICT_MASS = 0.1
"""Probability that the choices together must have at the first token; below it the model was about to say something
else, and the ratio between the choices says little."""

_READABLE_BY_CONSTRAINT = frozenset({"no_verdict", "cut_off", "empty", "bad_json", "wrong_language", "contradictory"})

Value = Callable[[Reply, Mapping[str, float]], Outcome]


@dataclass(frozen=True)
class _Verdict:
    """What was read from one reply, and whether another one is worth asking for."""

    outcome: Outcome
    needs_constraint: bool
    has_failed: bool


def ask_verdicts(
    prompt: Prompt,
    questions: Sequence[Fields],
    value: Value,
    *,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
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
        ask: How replies are got.
    """
    read = partial(_verdict, choices=prompt.choices, value=value)
    requests = [prompt.request(**fields) for fields in questions]
    verdicts = ask(requests, model=model, store=store, read=read, on_progress=on_progress)
    again = [i for i, verdict in enumerate(verdicts) if verdict.needs_constraint]
    constrained = [prompt.constrained_request(**questions[i]) for i in again]
    for i, verdict in zip(again, ask(constrained, model=model, store=store, read=read), strict=True):
        if not verdict.has_failed or verdicts[i].has_failed:
            verdicts[i] = verdict
    return [verdict.outcome for verdict in verdicts]


def _verdict(reply: Reply, *, choices: Sequence[str], value: Value) -> _Verdict:
    outcome = _read(reply, choices, value)
    return _Verdict(outcome, _needs_constraint(reply, outcome), reply.failure is not None)


def _read(reply: Reply, choices: Sequence[str], value: Value) -> Outcome:
    failed = reply.failed()
    if failed is not None:
        return failed
    found = shares(reply.first_token(), choices)
    if found:
        return value(reply, found)
    stated = said(reply.text, choices)
    if stated.choice:
        return value(reply, {choice: float(choice == stated.choice) for choice in choices})
    return reply.outcome(None, "cut_off" if reply.cut_off and not reply.first_token() else stated.reason)


def _needs_constraint(reply: Reply, outcome: Outcome) -> bool:
    """Whether the endpoint gave no log-probabilities and no readable word, or refuses to give log-probabilities."""
    if reply.failure == "refused":
        return "logprobs" in reply.raw
    return outcome.reason in _READABLE_BY_CONSTRAINT and reply.failure is None and not reply.first_token()


def shares(words: Mapping[str, float], choices: Sequence[str]) -> dict[str, float]:
    """choice -> probability among the choices; {} where they have too little of it together."""
    masses = {choice: words.get(choice, 0.0) for choice in choices}
    total = sum(masses.values())
    return {choice: mass / total for choice, mass in masses.items()} if total >= MIN_VERDICT_MASS else {}
