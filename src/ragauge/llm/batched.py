"""Several documents of one query in a call, in shuffled orders; a document's label is its mean over the orders.

Models favour places in a list, so one order says little about a document: each order is another draw. A call that
cannot be read costs its documents one draw, not their label.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ragauge.llm.judge import Judge
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import Ask, ask_all
from ragauge.llm.prompts import Prompt
from ragauge.llm.reply import Outcome, Reply, plain_word
from ragauge.llm.said import json_in
from ragauge.llm.verdict import shares
from ragauge.store import Store

__all__ = ["ask_batches", "batch_requests"]

_TOKENS_A_VERDICT = 8
_TOKENS_AROUND = 24

_FORMAT = ("response_format", "json_schema", "logprobs")
"""Words of endpoints that refuse what they are; they are asked without, as the prompt asks for JSON too."""


_Pair = tuple[str, str]
"""Texts of query and document."""


@dataclass(frozen=True)
class _Batch:
    """What one call asks about, in the order it shows."""

    pairs: tuple[_Pair, ...]
    request: Request


@dataclass(frozen=True)
class _Verdicts:
    """What was read from the reply to one call.

    Attributes:
        listed: One outcome a verdict.
        for_all: The outcome of each document where there are not as many verdicts as documents.
        format_refused: Whether the endpoint refuses structured output or log-probabilities.
    """

    listed: tuple[Outcome, ...]
    for_all: Outcome
    format_refused: bool = False

    def of(self, n: int) -> Sequence[Outcome]:
        """One outcome for each of the n documents asked about."""
        return self.listed if len(self.listed) == n else [self.for_all] * n


def ask_batches(
    judge: Judge,
    questions: Sequence[Mapping[str, str]],
    value: Callable[[Mapping[str, float]], float],
    *,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> list[Outcome]:
    """One outcome a question, in order: the mean of its values over the orders in which it could be read.

    Args:
        judge: With a batch size above 1.
        questions: "query" and "document" of each.
        value: Verdict -> probability becomes a label.
        model: Whom to ask.
        store: Where replies are looked up and kept.
        on_progress: Called with the number of questions just done: a call counts as its share of all calls.
        ask: How replies are got.
    """
    pairs = _distinct(questions)
    batches = list(_batches(judge, pairs))
    done = _share_out(len(questions), len(batches), on_progress or (lambda n: None))
    read = partial(_verdicts, prompt=judge.prompt, value=value)
    verdicts = ask([batch.request for batch in batches], model=model, store=store, read=read, on_progress=done)
    refused = [i for i, found in enumerate(verdicts) if found.format_refused]
    plain = ask([_plain(batches[i].request) for i in refused], model=model, store=store, read=read)
    for i, found in zip(refused, plain, strict=True):
        verdicts[i] = found
    draws: dict[_Pair, list[Outcome]] = {pair: [] for pair in pairs}
    for batch, found in zip(batches, verdicts, strict=True):
        for pair, outcome in zip(batch.pairs, found.of(len(batch.pairs)), strict=True):
            draws[pair].append(outcome)
    means = {pair: _mean(outcomes) for pair, outcomes in draws.items()}
    return [means[question["query"], question["document"]] for question in questions]


def batch_requests(judge: Judge, questions: Sequence[Mapping[str, str]]) -> list[Request]:
    """The calls that `ask_batches` makes."""
    return [batch.request for batch in _batches(judge, _distinct(questions))]


def _distinct(questions: Sequence[Mapping[str, str]]) -> list[_Pair]:
    """Each query and document once, in order: several runs often retrieve the same."""
    return list(dict.fromkeys((question["query"], question["document"]) for question in questions))


def _batches(judge: Judge, pairs: Sequence[_Pair]) -> Iterator[_Batch]:
    """Query by query and order by order, so that calls that begin alike follow each other."""
    prompt = judge.prompt
    by_query: dict[str, list[str]] = {}
    for query, document in pairs:
        by_query.setdefault(query, []).append(document)
    for query, documents in by_query.items():
        seed = int.from_bytes(hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest()[:8])
        for permutation in range(judge.permutations):
            order = np.random.default_rng((judge.seed, permutation, seed)).permutation(len(documents))
            for start in range(0, len(order), judge.batch_size):
                chosen = tuple(documents[place] for place in order[start : start + judge.batch_size])
                request = prompt.request(query=query, documents=chosen)
                with_format = replace(request, parameters=_parameters(prompt, len(chosen)))
                yield _Batch(tuple((query, document) for document in chosen), with_format)


def _parameters(prompt: Prompt, n: int) -> dict[str, object]:
    """Structured output that holds exactly n verdicts, and room for it."""
    verdicts = {
        "type": "array",
        "items": {"type": "string", "enum": list(prompt.choices)},
        "minItems": n,
        "maxItems": n,
    }
    schema = {
        "type": "object",
        "properties": {"verdicts": verdicts},
        "required": ["verdicts"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "verdicts", "strict": True, "schema": schema}}
    return {**prompt.parameters, "max_tokens": _TOKENS_AROUND + _TOKENS_A_VERDICT * n, "response_format": wanted}


def _plain(request: Request) -> Request:
    dropped = {"response_format", "logprobs", "top_logprobs"}
    return replace(request, parameters={k: v for k, v in request.parameters.items() if k not in dropped})


def _verdicts(reply: Reply, *, prompt: Prompt, value: Callable[[Mapping[str, float]], float]) -> _Verdicts:
    """An outcome a verdict listed; one reason for all documents where the list cannot be read."""
    failed = reply.failed()
    if failed is not None:
        return _Verdicts((), failed, reply.failure == "refused" and any(word in reply.raw for word in _FORMAT))
    stated = _stated(reply.text, prompt.choices)
    if isinstance(stated, str):
        return _Verdicts((), reply.outcome(None, "cut_off" if reply.cut_off else stated))
    probable = _probable(reply, stated, prompt.choices)
    listed = [reply.outcome(value(words)) if words else reply.outcome(None, "no_verdict") for words in probable]
    return _Verdicts(tuple(listed), reply.outcome(None, "wrong_count"))


def _stated(text: str, choices: Sequence[str]) -> list[str] | str:
    """The verdicts listed, "" for one that is none; a reason where there is no list."""
    found = json_in(text)
    verdicts = found.get("verdicts") if isinstance(found, Mapping) else found
    if not isinstance(verdicts, list):
        return "bad_json"
    words = [plain_word(str(one)) for one in verdicts]
    return [word if word in choices else "" for word in words]


def _probable(reply: Reply, stated: Sequence[str], choices: Sequence[str]) -> list[Mapping[str, float]]:
    """Choice -> probability at the place of each verdict, where each has its own; else 1 for the word."""
    places = [place for place in reply.places() if place.word in choices]
    if [place.word for place in places] == list(stated):
        found = [shares(place.words, choices) for place in places]
        if all(found):
            return list(found)
    return [{choice: float(choice == word) for choice in choices} if word else {} for word in stated]


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    read = [one for one in outcomes if one.value is not None]
    if not read:
        return outcomes[0]
    mean = sum(float(one.value or 0) for one in read) / len(read)
    return replace(read[0], value=mean, reason=None, reply_key=read[0].reply_key if len(read) == 1 else None)


def _share_out(n: int, n_calls: int, on_progress: Callable[[int], None]) -> Callable[[int], None]:
    """Counts calls, reports questions: the same share of all."""
    calls = reported = 0

    def done(just: int) -> None:
        nonlocal calls, reported
        calls += just
        now = n * calls // max(1, n_calls)
        on_progress(now - reported)
        reported = now

    return done
