"""Labels retrieved documents with a model: how likely is it that the document helps to answer the query?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.model import Model
from ragauge.llm.prompts import LABEL
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.verdict import ask_verdicts
from ragauge.schema import LABELS, RANKINGS, check
from ragauge.store import Store

__all__ = ["label_rankings"]


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
    top: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> pa.Table:
    """A label for every retrieved document: P(yes), the model's probability that it is relevant.

    The label is P(yes) / (P(yes) + P(no)) at the reply's first token, 0..1, or 1 and 0 for yes and no where the
    endpoint gives no log-probabilities. Measures count it as positive from their `rel` on: `P(rel=0.5)@10`. The
    threshold depends on the model and is best chosen on documents that people have labelled.

    A document that could not be labelled has the label null and the reason: "no_text", "no_verdict", "cut_off",
    "empty", "refused", or why the endpoint could not be asked (see `Outcome`); its raw text is in the store.

    Args:
        rankings: `schema.RANKINGS`. Labels that stand inside are neither used nor changed.
        model: The judge.
        store: Holds and keeps all replies; what it holds is not asked again.
        top: Documents of each ranking to label; None = all.
        on_progress: Called with the number of documents just done, over all rankings: a document that several runs
            retrieved for one query is asked about once and counts for each. Called from another thread.

    Returns:
        `schema.LABELS`: one row a (query_id, doc_id), queries in the order of their first ranking.

    Raises:
        InputError: A ranking has no query text, or two texts for one query; `top` is below 1.
        SchemaError: `rankings` is not as its schema says.
        StoreError: The store cannot be read or written.
    """
    if top is not None and top < 1:
        raise InputError(f"top must be a positive number of documents, got {top}")
    check(rankings, RANKINGS, what="rankings")
    pairs = _pairs(rankings, top)
    asked = [pair for pair in pairs if pair.text]
    if on_progress and len(pairs) > len(asked):
        on_progress(len(pairs) - len(asked))
    questions = [{"query": pair.query, "document": str(pair.text)} for pair in asked]
    outcomes = ask_verdicts(LABEL, questions, _p_yes, model=model, store=store, on_progress=on_progress)
    by_pair = {(pair.query_id, pair.doc_id): outcome for pair, outcome in zip(asked, outcomes, strict=True)}
    return _table(pairs, by_pair, judge=f"{model.name} {LABEL.id}")


def _p_yes(reply: Reply, probabilities: Mapping[str, float]) -> Outcome:
    return reply.outcome(probabilities["yes"])


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


def _table(pairs: Sequence[_Pair], by_pair: Mapping[tuple[str, str], Outcome], *, judge: str) -> pa.Table:
    no_text = Outcome(None, "no_text", "")
    rows = []
    for query_id, doc_id in dict.fromkeys((pair.query_id, pair.doc_id) for pair in pairs):
        outcome = by_pair.get((query_id, doc_id), no_text)
        rows.append(
            {
                "query_id": query_id,
                "doc_id": doc_id,
                "label": outcome.value,
                "reason": outcome.reason,
                "judge": judge,
            }
        )
    return pa.Table.from_pylist(rows, schema=LABELS)
