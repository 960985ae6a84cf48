"""Embeddings from any endpoint that speaks the OpenAI wire format (`POST /embeddings`)."""

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ragauge.errors import EndpointError
from ragauge.retrieval.embedder import Vectors
from ragauge.wire import Endpoint, Wire, run

__all__ = ["OpenAIEmbedder"]

REQUEST_TEXTS = 32
"""Texts in one request."""

_LARGEST = float(np.finfo(np.float32).max)


class OpenAIEmbedder:
    """An embedding model behind an endpoint; queries and documents are treated alike.

    Args:
        model: Its name there.
        endpoint: Where, and how many requests at once.
        dimension: Length of its vectors; None = as long as the first vector that comes.
    """

    def __init__(self, model: str, endpoint: Endpoint, *, dimension: int | None = None) -> None:
        self.model_id = f"openai:{model}@{endpoint.base_url}"
        self.batch_size = REQUEST_TEXTS * endpoint.concurrency
        self._model = model
        self._endpoint = endpoint
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length of each vector; asks the endpoint for one when none has come yet.

        Raises:
            EndpointError: It was asked and failed.
        """
        if self._dimension is None:
            self._dimension = self.embed_documents(["dimension"]).shape[1]
        return self._dimension

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension).

        Raises:
            EndpointError: As in `embed_documents`.
        """
        return self.embed_documents(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension).

        Raises:
            EndpointError: The endpoint failed for good, or answered something else than one vector of the one
                dimension for each text.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        rows = run(self._ask_all(list(texts)))
        self._dimension = self._dimension or len(rows[0])
        self._check_dimension(rows)
        return np.array(rows, dtype=np.float32)

    async def _ask_all(self, texts: list[str]) -> list[list[float]]:
        """All requests at once; the wire bounds how many are in flight."""
        parts = [texts[start : start + REQUEST_TEXTS] for start in range(0, len(texts), REQUEST_TEXTS)]
        async with Wire(self._endpoint) as wire:
            answers = await asyncio.gather(*(self._ask(wire, part) for part in parts))
        return list(chain.from_iterable(answers))

    async def _ask(self, wire: Wire, texts: list[str]) -> list[list[float]]:
        reply = await wire.post("/embeddings", {"model": self._model, "input": texts})
        found = _by_index(reply)
        if sorted(found) != list(range(len(texts))):
            raise self._nonsense(f"one vector for each of {len(texts)} texts expected, got {len(found)}", reply)
        broken = [index for index, vector in found.items() if not _is_vector(vector)]
        if broken:
            raise self._nonsense(f"the embedding of text {broken[0]} is no list of finite numbers", reply)
        return [found[index] for index in range(len(texts))]

    def _check_dimension(self, rows: list[list[float]]) -> None:
        other = {len(row) for row in rows} - {self._dimension}
        if other:
            raise self._nonsense(f"vectors of dimension {self._dimension} expected, got {sorted(other)[0]}", {})

    def _nonsense(self, message: str, reply: dict[str, Any]) -> EndpointError:
        where = f"{self._endpoint.base_url}/embeddings (model {self._model!r})"
        return EndpointError(f"{where}: {message}", reason="refused", raw=str(reply)[:2000] if reply else "")


def _by_index(reply: dict[str, Any]) -> dict[int, Any]:
    """index -> embedding; the order in which they come means nothing. What has no index is left out."""
    data = reply.get("data")
    items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
    return {item["index"]: item.get("embedding") for item in items if isinstance(item.get("index"), int)}


def _is_vector(value: Any) -> bool:
    """A list of numbers that float32 can hold; Python's JSON also reads NaN, which no comparison lets pass."""
    return isinstance(value, list) and bool(value) and all(_is_coordinate(number) for number in value)


def _is_coordinate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
