"""A retriever by its name, as commands and plans give it."""

from ragauge.errors import InputError
from ragauge.retrieval.bm25 import BM25
from ragauge.retrieval.dense import Dense, VectorStore
from ragauge.retrieval.embedder import embedder
from ragauge.retrieval.ranking import Retriever

__all__ = ["retriever"]


def retriever(
    name: str, *, base_url: str | None = None, api_key_env: str | None = None, store: VectorStore | None = None
) -> Retriever:
    """The retriever that `name` stands for; its rankings bear that name.

    Args:
        name: "bm25", or one of `EMBEDDER_NAMES` for exact dense retrieval.
        base_url: For openai:MODEL, where it is.
        api_key_env: For openai:MODEL, the environment variable that holds the key; None = OPENAI_API_KEY.
        store: Keeps the vectors; None = for the life of the retriever only.

    Raises:
        InputError: There is no such name, or an option that it does not take or cannot do without.
        MissingExtraError: A package it needs is not installed.
        RunError: The model cannot be fetched or loaded.

    Example:
        >>> retriever("bm25").name
        'bm25'
    """
    if name != "bm25":
        return Dense(embedder(name, base_url=base_url, api_key_env=api_key_env), store, name=name)
    if base_url is not None or api_key_env is not None:
        raise InputError("retriever 'bm25' asks no endpoint: it takes no base_url and no api_key_env")
    return BM25()
