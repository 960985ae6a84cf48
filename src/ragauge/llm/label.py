"""Labels retrieved documents with a model: how likely is it that the document helps to answer the query?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.batched import ask_batches, batch_requests
from ragauge.llm.judge import Judge
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import NOT_YET, Ask, ask_all
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.verdict import ask_verdicts
from ragauge.schema import LABELS, RANKINGS, check
from ragauge.store import Store

__all__ = ["ask_labels", "label_rankings", "label_requests"]

_NO_TEXT = Outcome(None, "no_text", "")


@dataclass(frozen=True)
class _Pair:
    query_id: str
    query: str
    doc_id: str
    text: str | None


def label_rankings(
    rankings: pa.Table,
    *,
    model: Model,
    store: Store,
    judge: Judge | None = None,
    top: int | None = None,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> pa.Table:
    """A label for every retrieved document: P(yes), the model's probability that it is relevant, or its grade.

    The label is P(yes) / (P(yes) + P(no)) at the verdict's token, 0..1, or 1 and 0 for yes and no where the endpoint
    gives no log-probabilities; of a graded judge the mean grade under the probabilities of 0, 1, 2 and 3. Measures
    count it as positive from their `rel` on: `P(rel=0.5)@10`. The threshold depends on the model and is best chosen on
    documents that people have labelled.

    A document that could not be labelled has the label null and the reason: "no_text", or another one of
    `Outcome.reason`; its raw text is in the store.

    Args:
        rankings: `schema.RANKINGS`. Labels that stand inside are neither used nor changed.
        model: Whom to ask.
        store: Holds and keeps all replies; what it holds is not asked again.
        judge: How it is asked; None = yes or no, one document a call.
        top: Documents of each ranking to label; None = all.
        on_progress: Called with the number of documents just done, over all rankings: a document that several runs
            retrieved for one query is asked about once and counts for each. Called from another thread.
        ask: How replies are got; `functools.partial(ask_all, budget=...)` bounds what they may cost.

    Returns:
        `schema.LABELS`: one row a (query_id, doc_id), queries in the order of their first ranking.

    Raises:
        InputError: A ranking has no query text, or two texts for one query; `top` is below 1.
        SchemaError: `rankings` is not as its schema says.
        StoreError: The store cannot be read or written.
    """
    judge = judge or Judge()
    pairs = _checked_pairs(rankings, top)
    asked = [pair for pair in pairs if pair.text]
    if on_progress and len(pairs) > len(asked):
        on_progress(len(pairs) - len(asked))
    outcomes = ask_labels(judge, _questions(asked), model=model, store=store, on_progress=on_progress, ask=ask)
    by_pair = {(pair.query_id, pair.doc_id): outcome for pair, outcome in zip(asked, outcomes, strict=True)}
    found = {
        pair: by_pair.get(pair, _NO_TEXT) for pair in dict.fromkeys((pair.query_id, pair.doc_id) for pair in pairs)
    }
    name = f"{model.name} {judge.id}"
    judged = {pair: outcome for pair, outcome in found.items() if outcome.reason not in NOT_YET}
    keys = [outcome.reply_key for outcome in judged.values()]
    store.put_labels(_table(judged, name=name), kind="model", rubric=judge.id, reply_keys=keys)
    return _table(found, name=name)


def label_requests(rankings: pa.Table, *, judge: Judge | None = None, top: int | None = None) -> list[Request]:
    """The calls that `label_rankings` begins with, for looking up what they cost.

    Args and Raises as for `label_rankings`.
    """
    judge = judge or Judge()
    questions = _questions([pair for pair in _checked_pairs(rankings, top) if pair.text])
    if judge.batch_size > 1:
        return batch_requests(judge, questions)
    prompt = judge.prompt
    return [prompt.request(**question) for question in questions]


def ask_labels(
    judge: Judge,
    questions: Sequence[Mapping[str, str]],
    *,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> list[Outcome]:
    """The label of each question ("query" and "document"), in order; arguments as for `label_rankings`."""
    if judge.batch_size > 1:
        return ask_batches(judge, questions, _label, model=model, store=store, on_progress=on_progress, ask=ask)

    def value(reply: Reply, probabilities: Mapping[str, float]) -> Outcome:
        return reply.outcome(_label(probabilities))

    return ask_verdicts(judge.prompt, questions, value, model=model, store=store, on_progress=on_progress, ask=ask)


def _label(probabilities: Mapping[str, float]) -> float:
    """P(yes), or the expected grade."""
    if "yes" in probabilities:
        return probabilities["yes"]
    return sum(int(digit) * probability for digit, probability in probabilities.items())


def _checked_pairs(rankings: pa.Table, top: int | None) -> list[_Pair]:
    if top is not None and top < 1:
        raise InputError(f"top must be a positive number of documents, got {top}")
    return _pairs(check(rankings, RANKINGS, what="rankings"), top)


def _questions(pairs: Sequence[_Pair]) -> list[dict[str, str]]:
    """What a judge is asked of each pair."""
    return [{"query": pair.query, "document": str(pair.text)} for pair in pairs]


def _pairs(rankings: pa.Table, top: int | None) -> list[_Pair]:
    """Every retrieved document, query by query, so that prompts that begin alike follow each other."""
    rows = rankings.select(["query_id", "query", "doc_ids", "texts"]).to_pylist()
    texts = _query_texts(rows)
    place = {query_id: i for i, query_id in enumerate(texts)}
    rows.sort(key=lambda row: place[row["query_id"]])
    found = [
        _Pair(row["query_id"], texts[row["query_id"]], doc_id, text)
        for row in rows
        for doc_id, text in list(zip(row["doc_ids"], row["texts"], strict=True))[:top]
    ]
    return _with_one_text(found)


def _query_texts(rows: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """Query id -> its text, which every one of its rankings must have, and the same."""
    texts: dict[str, str] = {}
    problems: dict[str, None] = {}
    for row in rows:
        query_id, query = str(row["query_id"]), (row["query"] or "").strip()
        if not query:
            problems[
                f"query {query_id!r} has no text; a judge cannot label without it: add 'query' to its rankings"
            ] = None
        elif texts.setdefault(query_id, query) != query:
            problems[f"query {query_id!r} has two texts: {texts[query_id]!r} and {query!r}"] = None
    if problems:
        raise InputError.collect(list(problems))
    return texts


def _with_one_text(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Each pair with the first text any ranking has for it: a run file often has the ids alone."""
    known: dict[tuple[str, str], str] = {}
    for pair in pairs:
        if pair.text and pair.text.strip():
            known.setdefault((pair.query_id, pair.doc_id), pair.text)
    return [replace(pair, text=known.get((pair.query_id, pair.doc_id))) for pair in pairs]


def _table(outcomes: Mapping[tuple[str, str], Outcome], *, name: str) -> pa.Table:
    rows = [
        {"query_id": query_id, "doc_id": doc_id, "label": outcome.value, "reason": outcome.reason, "judge": name}
        for (query_id, doc_id), outcome in outcomes.items()
    ]
    return pa.Table.from_pylist(rows, schema=LABELS)
