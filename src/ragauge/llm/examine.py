"""Asks a judge what its card is made of: pairs that people labelled, some of them again, and canaries.

What comes of it are plain tables of ids and numbers, without a text, so they can be kept and shared: the card is
computed from the tables alone.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.canary import Probe
from ragauge.llm.judge import Judge
from ragauge.llm.label import ask_labels, label_rankings, label_requests
from ragauge.llm.model import Model
from ragauge.llm.pool import Ask, ask_all
from ragauge.schema import LABELS, RANKINGS, check
from ragauge.store import Store, request_key

__all__ = [
    "CANARIES",
    "COST",
    "PAIRS",
    "REPEATS",
    "ask_again",
    "ask_canaries",
    "ask_pairs",
    "cost_of",
    "only_pairs",
    "relevant_to_people",
]

Pair = tuple[str, str]

PAIRS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("words", pa.int64(), nullable=False),
        pa.field("human", pa.float64(), nullable=False),
        pa.field("label", pa.float64()),
        pa.field("reason", pa.string()),
        pa.field("judge", pa.string()),
    ]
)
"""One row a pair that people labelled. `rank`: its best over the runs; `words`: of the document; `human`: people's
label; `label`: the judge's, null with a `reason`."""

REPEATS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("draw", pa.int64(), nullable=False),
        pa.field("label", pa.float64()),
    ]
)
"""One row a pair and draw: 0 = as in `PAIRS`, 1 and on = asked again."""

CANARIES = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("label", pa.float64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a control or probe, see `ragauge.llm.canary`."""

COST = pa.schema(
    [
        pa.field("calls", pa.int64(), nullable=False),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("prompt_tokens", pa.int64()),
        pa.field("completion_tokens", pa.int64()),
        pa.field("seconds", pa.float64(), nullable=False),
    ]
)
"""One row: the calls that labelled the pairs. `seconds` is the sum of their latencies."""


def only_pairs(rankings: pa.Table, pairs: Collection[Pair]) -> pa.Table:
    """The rankings with no other documents than those of `pairs`; rankings left empty are dropped."""
    rows = []
    for row in check(rankings, RANKINGS, what="rankings").select(RANKINGS.names).to_pylist():
        kept = [i for i, doc_id in enumerate(row["doc_ids"]) if (row["query_id"], doc_id) in pairs]
        if kept:
            lists = {name: [row[name][i] for i in kept] for name in ("doc_ids", "texts", "scores", "labels")}
            rows.append(row | lists)
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def ask_pairs(
    rankings: pa.Table,
    human: pa.Table,
    *,
    model: Model,
    store: Store,
    judge: Judge | None = None,
    sample: int | None = None,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> pa.Table:
    """The judge's labels of the documents that people labelled too; those it was shown as examples are left out.

    Args:
        rankings: `schema.RANKINGS`, with texts; their order gives the ranks.
        human: `schema.LABELS` by people; null and negative ones do not count.
        model: Whom to ask.
        store: Holds and keeps all replies.
        judge: How it is asked; None = yes or no, one document a call.
        sample: Ask about so many of the pairs, drawn at random; None = all.
        seed: Of the draw.
        on_progress: Called with the number of documents just done.
        ask: How replies are got.

    Returns:
        A table as `PAIRS` says.

    Raises:
        InputError: No retrieved document has a text and a label by people, or a pair has two.
    """
    known = _by_people(human)
    ranks, words = _ranks_and_words(rankings, _shown(judge))
    pairs = sorted(pair for pair in known if pair in words)
    if not pairs:
        raise InputError("no document in the rankings has both a text and a label by people")
    if sample is not None and sample < len(pairs):
        chosen = np.random.default_rng(seed).choice(len(pairs), size=sample, replace=False)
        pairs = [pairs[place] for place in sorted(chosen)]
    labels = label_rankings(
        only_pairs(rankings, set(pairs)), model=model, store=store, judge=judge, on_progress=on_progress, ask=ask
    )
    rows = [
        {
            **{name: row[name] for name in ("query_id", "doc_id", "label", "reason", "judge")},
            "rank": ranks[row["query_id"], row["doc_id"]],
            "words": words[row["query_id"], row["doc_id"]],
            "human": known[row["query_id"], row["doc_id"]],
        }
        for row in labels.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def ask_again(
    rankings: pa.Table,
    pairs: pa.Table,
    *,
    model: Model,
    store: Store,
    judge: Judge | None = None,
    n_pairs: int = 60,
    repeats: int = 1,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> pa.Table:
    """Labels of some pairs, asked again: each time with another seed and each query's documents in another order.

    Args:
        rankings: As for `ask_pairs`.
        pairs: What `ask_pairs` returned: draw 0.
        model: Whom to ask; the draw's number is added to its "seed".
        store: Holds and keeps all replies.
        judge: How it is asked; batches are shuffled anew.
        n_pairs: Pairs to ask again about, whole queries while they last.
        repeats: How often.
        seed: Of the choice and the orders.
        on_progress: Called with the number of documents just done.
        ask: How replies are got.

    Returns:
        A table as `REPEATS` says.
    """
    judge = judge or Judge()
    chosen = _whole_queries(pairs, n_pairs, seed)
    rows = [row | {"draw": 0} for row in pairs.to_pylist() if (row["query_id"], row["doc_id"]) in chosen]
    part = only_pairs(rankings, chosen)
    for draw in range(1, repeats + 1):
        labels = label_rankings(
            _shuffled(part, (seed, draw)),
            model=model.redrawn(draw),
            store=store,
            judge=replace(judge, seed=judge.seed + draw),
            on_progress=on_progress,
            ask=ask,
        )
        rows += [row | {"draw": draw} for row in labels.to_pylist()]
    return pa.Table.from_pylist([{name: row[name] for name in REPEATS.names} for row in rows], schema=REPEATS)


def relevant_to_people(human: pa.Table, *, rel: float = 1.0) -> dict[str, list[str]]:
    """Query id -> ids of the documents that people gave at least the label `rel`.

    Raises:
        InputError: People gave two labels to one document.
    """
    relevant: dict[str, list[str]] = {}
    for (query_id, doc_id), label in _by_people(human).items():
        if label >= rel:
            relevant.setdefault(query_id, []).append(doc_id)
    return relevant


def ask_canaries(
    probes: Sequence[Probe],
    *,
    model: Model,
    store: Store,
    judge: Judge | None = None,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> pa.Table:
    """Labels of canaries and their controls, each asked about alone. The store does not take them for labels.

    Args:
        probes: From `ragauge.llm.canary.canary_probes`.
        model: Whom to ask.
        store: Holds and keeps all replies.
        judge: How it is asked; canaries are never put in one batch, where one could lead the judge about another.
        on_progress: Called with the number of canaries just done.
        ask: How replies are got.

    Returns:
        A table as `CANARIES` says.
    """
    alone = replace(judge or Judge(), batch_size=1, permutations=1)
    questions = [{"query": probe.query, "document": probe.document} for probe in probes]
    outcomes = ask_labels(alone, questions, model=model, store=store, on_progress=on_progress, ask=ask)
    rows = [
        {"query_id": probe.query_id, "kind": probe.kind, "label": outcome.value, "reason": outcome.reason}
        for probe, outcome in zip(probes, outcomes, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=CANARIES)


def cost_of(rankings: pa.Table, pairs: pa.Table, *, model: Model, store: Store, judge: Judge | None = None) -> pa.Table:
    """What labelling the pairs cost, as the store tells: a table as `COST` says."""
    part = only_pairs(rankings, _ids(pairs))
    keys = [request_key(model.stored_request(request)) for request in label_requests(part, judge=judge)]
    found = list(store.replies(dict.fromkeys(keys)).values())
    read = [one.prompt_tokens for one in found if one.prompt_tokens is not None]
    written = [one.completion_tokens for one in found if one.completion_tokens is not None]
    row = {
        "calls": len(found),
        "documents": pairs.num_rows,
        "prompt_tokens": sum(read) if read else None,
        "completion_tokens": sum(written) if written else None,
        "seconds": float(sum(one.latency_s for one in found)),
    }
    return pa.Table.from_pylist([row], schema=COST)


def _by_people(human: pa.Table) -> dict[Pair, float]:
    known: dict[Pair, float] = {}
    twice: dict[str, None] = {}
    for row in check(human, LABELS, what="labels by people").to_pylist():
        if row["label"] is None or row["label"] < 0:
            continue
        if known.setdefault((row["query_id"], row["doc_id"]), row["label"]) != row["label"]:
            twice[f"people gave two labels to document {row['doc_id']!r} of query {row['query_id']!r}; keep one"] = None
    if twice:
        raise InputError.collect(list(twice))
    return known


def _shown(judge: Judge | None) -> set[Pair]:
    """Texts of the examples, which a judge knows the verdict of."""
    return {(one.query.strip(), one.document.strip()) for one in (judge.examples if judge else ())}


def _ranks_and_words(rankings: pa.Table, shown: Collection[Pair]) -> tuple[dict[Pair, int], dict[Pair, int]]:
    """Best rank of each pair, and the words of those that have a text that is not shown."""
    ranks: dict[Pair, int] = {}
    words: dict[Pair, int] = {}
    rows: list[dict[str, Any]] = check(rankings, RANKINGS, what="rankings").to_pylist()
    for row in rows:
        for rank, (doc_id, text) in enumerate(zip(row["doc_ids"], row["texts"], strict=True), start=1):
            pair = row["query_id"], doc_id
            ranks[pair] = min(rank, ranks.get(pair, rank))
            if text and text.strip() and ((row["query"] or "").strip(), text.strip()) not in shown:
                words.setdefault(pair, len(text.split()))
    return ranks, words


def _ids(table: pa.Table) -> set[Pair]:
    return set(zip(table.column("query_id").to_pylist(), table.column("doc_id").to_pylist(), strict=True))


def _whole_queries(pairs: pa.Table, n_pairs: int, seed: int) -> set[Pair]:
    """At most n pairs: those of one query after the other, in random order."""
    by_query: dict[str, list[Pair]] = {}
    for pair in sorted(_ids(pairs)):
        by_query.setdefault(pair[0], []).append(pair)
    order = np.random.default_rng(seed).permutation(sorted(by_query)).tolist()
    return set([pair for query_id in order for pair in by_query[query_id]][:n_pairs])


def _shuffled(rankings: pa.Table, seed: tuple[int, ...]) -> pa.Table:
    rng = np.random.default_rng(seed)
    rows: list[Mapping[str, Any]] = []
    for row in rankings.to_pylist():
        order = rng.permutation(len(row["doc_ids"]))
        rows.append(row | {name: [row[name][i] for i in order] for name in ("doc_ids", "texts", "scores", "labels")})
    return pa.Table.from_pylist(rows, schema=RANKINGS)
