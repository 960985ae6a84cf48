"""From scores to rankings: the best documents of a collection, or all candidates of each query's own pool.

A document is ranked by its title and text as one string (`document_text`), and that same string stands in `texts`: what
is labelled later is what was retrieved. Equal scores are ordered by document id, bytes ascending.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError, RunError
from ragauge.schema import CORPUS, POOLS, QUERIES, RANKINGS, conform

__all__ = ["Index", "Retriever", "document_text", "rank_collection", "rank_pools"]

Floats = npt.NDArray[np.float64]

MAX_SCORES = 1 << 22
"""Scores held at once while a collection is ranked: 32 MiB."""

QUERY_BLOCK = 32


class Index(Protocol):
    """Documents that a retriever has read, ready to be scored."""

    def scores(self, queries: Sequence[str]) -> Floats:
        """Higher = better, finite, shape (n_queries, n_documents); documents with equal texts score exactly equal."""
        ...


class Retriever(Protocol):
    """Scores documents for queries; the ranking functions do the rest."""

    @property
    def name(self) -> str:
        """What its rankings are called in the column `run`."""
        ...

    @property
    def floor(self) -> float:
        """A score at or below it means "no match": a collection's ranking leaves such documents out."""
        ...

    def index(self, documents: Sequence[str], *, on_progress: Callable[[int], None] | None = None) -> Index:
        """Reads `documents`; `on_progress` is called with the number just read, all of them in the end."""
        ...


@dataclass(frozen=True)
class _Document:
    doc_id: str
    text: str
    label: float | None = None


def document_text(title: str | None, text: str) -> str:
    r"""What of a document is searched, shown and labelled: title, line break, text; one alone where the other is blank.

    >>> document_text("Bees", "They fly."), document_text(None, "They fly.")
    ('Bees\nThey fly.', 'They fly.')
    """
    return "\n".join(part for part in (title or "", text) if part.strip())


def rank_collection(
    retriever: Retriever,
    queries: pa.Table,
    corpus: pa.Table,
    *,
    top: int,
    on_progress: Callable[[int], None] | None = None,
) -> pa.Table:
    """The `top` best documents of one knowledge base for each query.

    Args:
        retriever: Scores every document; no approximation.
        queries: `schema.QUERIES`.
        corpus: `schema.CORPUS`.
        top: Documents a ranking, 1 or more. A ranking is shorter, or empty, where the corpus is smaller or fewer
            documents match (`Retriever.floor`).
        on_progress: Called with the number of documents just read, then of queries just ranked:
            corpus.num_rows + queries.num_rows in all.

    Returns:
        `schema.RANKINGS`, one row a query in their order; all labels null.

    Raises:
        InputError: `top` below 1, no documents, an id twice, a blank query or document; all problems at once.
        SchemaError: A table lacks a column.
        RunError: The retriever failed.
    """
    if top < 1:
        raise InputError(f"top must be 1 or more documents, got {top}")
    queries, corpus = conform(queries, QUERIES, what="queries"), conform(corpus, CORPUS, what="corpus")
    documents = _by_id(
        [_Document(row["doc_id"], document_text(row["title"], row["text"])) for row in corpus.to_pylist()]
    )
    asked = queries.select(["query_id", "query"]).to_pylist()
    _refuse([*_query_problems(asked), *_document_problems(documents, "the corpus")])
    advance = on_progress or (lambda done: None)
    index = retriever.index([document.text for document in documents], on_progress=advance)
    rows = []
    for block in _blocks(asked, min(QUERY_BLOCK, max(1, MAX_SCORES // len(documents)))):
        for query, scores in zip(block, _scores(retriever, index, block, len(documents)), strict=True):
            matching = int(np.count_nonzero(scores > retriever.floor))
            rows.append(_row(query, retriever.name, documents, scores, min(top, matching)))
        advance(len(block))
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def rank_pools(
    retriever: Retriever,
    pools: pa.Table,
    *,
    top: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> pa.Table:
    """Each query's own candidates, ranked, with their labels: 1 for a positive, 0 for a negative.

    Every candidate is ranked, matching or not; each pool is its own small knowledge base, also for BM25's statistics.

    Args:
        retriever: Scores the candidates.
        pools: `schema.POOLS`.
        top: Documents a ranking; None = all candidates.
        on_progress: Called with 1 after each pool, pools.num_rows in all.

    Returns:
        `schema.RANKINGS`, one row a pool in their order.

    Raises:
        InputError: `top` below 1, a query without candidates or without positives, an id twice, a blank text; all
            problems at once.
        SchemaError: The table lacks a column.
        RunError: The retriever failed.
    """
    if top is not None and top < 1:
        raise InputError(f"top must be 1 or more documents, got {top}")
    asked = conform(pools, POOLS, what="pools").to_pylist()
    candidates = [_by_id(_candidates(pool)) for pool in asked]
    _refuse([*_query_problems(asked), *_pool_problems(asked, candidates)])
    rows = []
    for pool, documents in zip(asked, candidates, strict=True):
        index = retriever.index([document.text for document in documents])
        scores = _scores(retriever, index, [pool], len(documents))[0]
        rows.append(_row(pool, retriever.name, documents, scores, min(top or len(documents), len(documents))))
        if on_progress is not None:
            on_progress(1)
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def _candidates(pool: dict[str, Any]) -> list[_Document]:
    labelled = ((pool["positives"], 1.0), (pool["negatives"], 0.0))
    return [_Document(item["doc_id"], item["text"], label) for items, label in labelled for item in items]


def _by_id(documents: list[_Document]) -> list[_Document]:
    """Ascending by id, so that a stable sort by score breaks ties by id.

    Python orders strings by code point, which is the order of their UTF-8 bytes.
    """
    return sorted(documents, key=lambda document: document.doc_id)


def _blocks(items: list[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _scores(retriever: Retriever, index: Index, asked: list[dict[str, Any]], n_documents: int) -> Floats:
    scores = index.scores([query["query"] for query in asked])
    if scores.shape != (len(asked), n_documents) or not np.isfinite(scores).all():
        raise RunError(
            f"retriever {retriever.name} must give a finite score for each of {len(asked)} x {n_documents} pairs, "
            f"gave shape {scores.shape} with {np.count_nonzero(~np.isfinite(scores))} not finite"
        )
    return scores


def _row(query: dict[str, Any], run: str, documents: list[_Document], scores: Floats, top: int) -> dict[str, Any]:
    order = _best(scores, top)
    ranked = [documents[position] for position in order]
    return {
        "query_id": query["query_id"],
        "query": query["query"],
        "run": run,
        "doc_ids": [document.doc_id for document in ranked],
        "texts": [document.text for document in ranked],
        "scores": scores[order].tolist(),
        "labels": [document.label for document in ranked],
    }


def _best(scores: Floats, top: int) -> npt.NDArray[np.intp]:
    """Positions of the `top` highest scores, best first; ties by position, also at the cut."""
    candidates = np.arange(len(scores))
    if 0 < top < len(scores):
        candidates = np.flatnonzero(scores >= np.partition(scores, -top)[-top])
    return candidates[np.argsort(-scores[candidates], kind="stable")][:top]


def _refuse(problems: list[str]) -> None:
    if problems:
        raise InputError.collect(problems)


def _query_problems(asked: list[dict[str, Any]]) -> Iterator[str]:
    yield from (f"query id {query_id!r} stands {n} times" for query_id, n in _repeated(q["query_id"] for q in asked))
    yield from (f"query {query['query_id']!r} is blank; leave it out" for query in asked if not query["query"].strip())


def _document_problems(documents: list[_Document], where: str) -> Iterator[str]:
    if not documents:
        yield f"{where} holds no documents"
    yield from (
        f"document id {doc_id!r} stands {n} times in {where}" for doc_id, n in _repeated(d.doc_id for d in documents)
    )
    yield from (
        f"document {document.doc_id!r} of {where} is blank; leave it out"
        for document in documents
        if not document.text.strip()
    )


def _pool_problems(asked: list[dict[str, Any]], candidates: list[list[_Document]]) -> Iterator[str]:
    for pool, documents in zip(asked, candidates, strict=True):
        yield from _document_problems(documents, f"the pool of query {pool['query_id']!r}")
        if documents and not pool["positives"]:
            yield f"the pool of query {pool['query_id']!r} has no positives; each needs one"


def _repeated(ids: Iterator[str]) -> Iterator[tuple[str, int]]:
    return ((found, n) for found, n in Counter(ids).items() if n > 1)
