"""Exact dense retrieval: the cosine of two vectors, every document looked at, equal texts exactly tied."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from ragauge.errors import RunError
from ragauge.retrieval.embedder import Embedder, Vectors
from ragauge.retrieval.ranking import Floats

__all__ = ["Dense", "VectorStore"]

Role = Literal["query", "document"]

BLOCK_ROWS = 8192
"""Document vectors that are widened to float64 at once."""


class VectorStore(Protocol):
    """Where vectors are kept; `ragauge.store.Store` is one."""

    def vectors(self, model_id: str, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """text -> vector, for those of `texts` that have one."""
        ...

    def put_vectors(self, model_id: str, texts: Sequence[str], matrix: Vectors) -> None:
        """Keep one vector a text."""
        ...


class Dense:
    """Ranks by the cosine of query and document vectors, computed in float64 over all documents.

    Documents with the same text, or with the same vector, have bitwise the same score, so that ties are decided by
    document id and never by rounding. Each text is embedded once; what is embedded is kept after each batch, so a
    stopped run goes on where it was.

    Args:
        embedder: Makes the vectors.
        store: Keeps them, by model, role and text; None = for the life of this object only.
        name: What its rankings are called; None = the embedder's model_id.
    """

    floor = -np.inf

    def __init__(self, embedder: Embedder, store: VectorStore | None = None, *, name: str | None = None) -> None:
        self.name = embedder.model_id if name is None else name
        self._embedder = embedder
        self._store: VectorStore = _Memory() if store is None else store

    def index(self, documents: Sequence[str], *, on_progress: Callable[[int], None] | None = None) -> "DenseIndex":
        """Embeds `documents`, none of them blank.

        Args:
            documents: n texts.
            on_progress: Called with the number of documents just embedded or found, n in all.

        Raises:
            RunError: The embedder failed, or gave vectors that have no cosine.
            StoreError: Vectors cannot be read or kept.
        """
        return DenseIndex(self._embed("document", documents, on_progress or (lambda done: None)), self._query_vectors)

    def _query_vectors(self, queries: Sequence[str]) -> Vectors:
        return self._embed("query", queries, lambda done: None)

    def _embed(self, role: Role, texts: Sequence[str], on_progress: Callable[[int], None]) -> Vectors:
        key = f"{self._embedder.model_id}|{role}"
        known = dict(self._store.vectors(key, texts))
        missing = list(dict.fromkeys(text for text in texts if text not in known))
        on_progress(len(texts) - len(missing))
        size = self._embedder.batch_size
        for batch in (missing[start : start + size] for start in range(0, len(missing), size)):
            matrix = self._ask(role, batch)
            self._store.put_vectors(key, batch, matrix)
            known.update(zip(batch, matrix, strict=True))
            on_progress(len(batch))
        return (
            np.stack([known[text] for text in texts]) if texts else np.empty((0, self._embedder.dimension), np.float32)
        )

    def _ask(self, role: Role, texts: Sequence[str]) -> Vectors:
        embed = self._embedder.embed_queries if role == "query" else self._embedder.embed_documents
        matrix = np.asarray(embed(texts), dtype=np.float32)
        expected = (len(texts), self._embedder.dimension)
        if matrix.shape != expected:
            raise RunError(f"embedder {self._embedder.model_id} gave vectors of shape {matrix.shape}, not {expected}")
        length = np.linalg.norm(matrix.astype(np.float64), axis=1)
        broken = np.flatnonzero(~(np.isfinite(length) & (length > 0)))
        if broken.size:
            raise RunError(
                f"embedder {self._embedder.model_id} gave no usable vector (zero or not finite) for {broken.size} of "
                f"{len(texts)} texts, first for {texts[broken[0]]!r:.80}"
            )
        return matrix


class DenseIndex:
    """Documents ready to be scored.

    A matrix product may differ in the last bit with a row's position, so each different vector is scored once and
    documents that share it share the number.
    """

    def __init__(self, documents: Vectors, embed_queries: Callable[[Sequence[str]], Vectors]) -> None:
        self._distinct, self._which = _distinct_rows(documents)
        self._embed_queries = embed_queries

    def scores(self, queries: Sequence[str]) -> Floats:
        """Cosine of each query with each document, -1..1, shape (n_queries, n_documents)."""
        wide = _unit(self._embed_queries(queries))
        scores = np.empty((len(queries), len(self._distinct)))
        for start in range(0, len(self._distinct), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            scores[:, block] = wide @ _unit(self._distinct[block]).T
        return np.clip(scores, -1.0, 1.0)[:, self._which]


class _Memory:
    """A store that forgets with its owner."""

    def __init__(self) -> None:
        self._vectors: dict[tuple[str, str], Vectors] = {}

    def vectors(self, model_id: str, texts: Sequence[str]) -> dict[str, Vectors]:
        return {text: self._vectors[model_id, text] for text in texts if (model_id, text) in self._vectors}

    def put_vectors(self, model_id: str, texts: Sequence[str], matrix: Vectors) -> None:
        self._vectors.update({(model_id, text): row for text, row in zip(texts, matrix, strict=True)})


def _distinct_rows(matrix: Vectors) -> tuple[Vectors, npt.NDArray[np.intp]]:
    """(the different rows, for each row of `matrix` the position of its equal among them)."""
    seen: dict[bytes, int] = {}
    which = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in matrix + np.float32(0)], dtype=np.intp)
    _, first = np.unique(which, return_index=True)
    return matrix[first], which


def _unit(matrix: Vectors) -> Floats:
    """The rows in float64, each of length 1."""
    wide = matrix.astype(np.float64)
    unit: Floats = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return unit
