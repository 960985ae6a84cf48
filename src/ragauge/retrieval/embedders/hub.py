"""Any sentence-transformers model by its id on the model hub, with the prefixes it was trained on."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ragauge._optional import optional_import
from ragauge.errors import InputError, RunError
from ragauge.retrieval.embedder import Vectors

__all__ = ["PREFIXES", "HubEmbedder", "SentenceModel"]

PREFIXES = {
    "sentence-transformers/all-MiniLM-L12-v2": ("", ""),
    "intfloat/e5-small-v2": ("query: ", "passage: "),
    "intfloat/multilingual-e5-small": ("query: ", "passage: "),
    "sentence-transformers/multi-qa-MiniLM-L6-cos-v1": ("", ""),
}
"""Model id -> (query prefix, document prefix), as the model's card asks. These are the paper's four embedders."""


class SentenceModel(Protocol):
    """What of a `sentence_transformers.SentenceTransformer` is used."""

    def encode(self, sentences: list[str], *, prompt: str, show_progress_bar: bool, convert_to_numpy: bool) -> Any:
        """One vector a sentence, with `prompt` put before each."""
        ...


class HubEmbedder:
    """A sentence-transformers model from the model hub, or from a local folder.

    Args:
        model: Its id, such as "intfloat/e5-small-v2", or a folder.
        query_prefix: Put before each query; "" for nothing. None = what `PREFIXES` says.
        document_prefix: The same for documents.
        load: Makes the model from its id; None = `sentence_transformers.SentenceTransformer`.

    Raises:
        InputError: The prefixes of this model are not known and not given. Leaving out those that a model was trained
            with makes it silently worse, so they are never guessed.
        MissingExtraError: sentence-transformers is not installed.
        RunError: The model cannot be loaded.
    """

    batch_size = 64

    def __init__(
        self,
        model: str,
        *,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        load: Callable[[str], SentenceModel] | None = None,
    ) -> None:
        self._query_prefix, self._document_prefix = _prefixes(model, query_prefix, document_prefix)
        self._model = _load(model, load or _sentence_transformer)
        self.dimension = self._encode(["dimension"], "").shape[1]
        self.model_id = f"hub:{model}/{self._query_prefix!r},{self._document_prefix!r}"

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension)."""
        return self._encode(texts, self._query_prefix)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension)."""
        return self._encode(texts, self._document_prefix)

    def _encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        """The prompt is always given, so that one set in the model's own configuration is never added as well."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors = self._model.encode(list(texts), prompt=prefix, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)


def _prefixes(model: str, query: str | None, document: str | None) -> tuple[str, str]:
    known_query, known_document = PREFIXES.get(model, (None, None))
    query = known_query if query is None else query
    document = known_document if document is None else document
    if query is None or document is None:
        raise InputError(
            f"the prefixes of {model!r} are not known: give query_prefix and document_prefix as its model card says, "
            f'"" for none; known are {", ".join(PREFIXES)}'
        )
    return query, document


def _load(model: str, load: Callable[[str], SentenceModel]) -> SentenceModel:
    try:
        return load(model)
    except (OSError, ValueError) as error:  # no network, no such model, not a model
        raise RunError(f"the model {model!r} cannot be loaded from the model hub: {error}") from error


def _sentence_transformer(model: str) -> SentenceModel:
    package = optional_import("sentence_transformers", purpose="embed with a model of the model hub")
    loaded: SentenceModel = package.SentenceTransformer(model)
    return loaded
