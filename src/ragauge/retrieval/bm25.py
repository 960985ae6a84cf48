"""BM25 in the form Lucene computes, over words as they stand: the lexical baseline that needs no model.

Why these lines and not a library: docs/decisions/0002-bm25.md.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.retrieval.ranking import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["BM25", "words"]


def words(text: str) -> list[str]:
    """The words of a text: runs of Unicode letters, marks, digits and underscores, after NFKC and in lower case.

    No stemming and no stop words, so no language is assumed. A script written without spaces becomes few, long words.

    >>> words("Ünïcode: the ﬁrst 2 words")
    ['ünïcode', 'the', 'first', '2', 'words']
    """
    return _word_pattern().findall(unicodedata.normalize("NFKC", text).lower())


class BM25:
    """Ranks by BM25: sum over query words t of idf(t) * tf / (tf + k1 * (1 - b + b * n_words / mean n_words)).

    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)) is above 0 for every word, also in a pool of two documents. A word that
    stands twice in the query counts twice. The score is 0 or more, and 0 exactly when no word is shared. Documents with
    the same words in the same number score exactly equal.

    Args:
        k1: How much a repeated word still adds, 0 or more; at 0 only its presence counts.
        b: How much long documents are held back, 0 (not at all) .. 1 (fully).
        name: What its rankings are called.

    Raises:
        InputError: `k1` or `b` is out of its range.

    Source: Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond, section 3.2,
        doi:10.1561/1500000019; the idf and the missing factor (k1 + 1) are those of Lucene's BM25Similarity.
    """

    floor = 0.0

    def __init__(self, *, k1: float = 1.2, b: float = 0.75, name: str = "bm25") -> None:
        if not (0 <= k1 < np.inf and 0 <= b <= 1):
            raise InputError(f"BM25 needs k1 >= 0 and 0 <= b <= 1, got k1={k1}, b={b}")
        self.name = name
        self._k1 = k1
        self._b = b

    def index(self, documents: Sequence[str], *, on_progress: Callable[[int], None] | None = None) -> "BM25Index":
        """Counts the words of n documents; `on_progress` is called once, with n."""
        vocabulary: dict[str, int] = {}
        rows = [_count(words(text), vocabulary) for text in documents]
        index = BM25Index(vocabulary, self._weights(_matrix(rows, len(vocabulary))))
        if on_progress is not None:
            on_progress(len(documents))
        return index

    def _weights(self, tf: "csr_array[Any, Any]") -> "csr_array[Any, Any]":
        """What one occurrence of each word in a query adds, shape (words, documents)."""
        n_documents, n_words = tf.shape
        df = np.bincount(tf.indices, minlength=n_words)
        idf = np.log1p((n_documents - df + 0.5) / (df + 0.5))
        lengths = tf.sum(axis=1)
        mean_length = lengths.mean() if tf.nnz else 1.0
        held_back = self._k1 * (1 - self._b + self._b * lengths / mean_length)
        per_entry = np.repeat(held_back, np.diff(tf.indptr))
        tf.data = idf[tf.indices] * tf.data / (tf.data + per_entry)
        return tf.T.tocsr()


class BM25Index:
    """Documents ready to be scored."""

    def __init__(self, vocabulary: Mapping[str, int], weights: "csr_array[Any, Any]") -> None:
        self._vocabulary = vocabulary
        self._weights = weights

    def scores(self, queries: Sequence[str]) -> Floats:
        """BM25 of each query and document, 0 or more, shape (n_queries, n_documents).

        The product adds a document's words in the order of the query, so equal documents get equal sums.
        """
        known = ((word for word in words(query) if word in self._vocabulary) for query in queries)
        counts = _matrix([_ids(found, self._vocabulary) for found in known], len(self._vocabulary))
        scores: Floats = (counts @ self._weights).toarray()
        return scores


@cache
def _word_pattern() -> re.Pattern[str]:
    r"""Python's \w lacks the combining marks, which are the vowels of many scripts: Hindi would fall into syllables.

    Marks of the basic plane only: with one beyond it, the expression is ten times slower.
    """
    marks = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code)).startswith("M"))
    return re.compile(rf"[\w{marks}]+")


def _count(found: Iterable[str], vocabulary: dict[str, int]) -> dict[int, int]:
    """word number -> occurrences; new words are added to the vocabulary."""
    return {vocabulary.setdefault(word, len(vocabulary)): n for word, n in Counter(found).items()}


def _ids(found: Iterable[str], vocabulary: Mapping[str, int]) -> dict[int, int]:
    return {vocabulary[word]: n for word, n in Counter(found).items()}


def _matrix(rows: Sequence[Mapping[int, int]], n_columns: int) -> "csr_array[Any, Any]":
    from scipy.sparse import csr_array

    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    columns: npt.NDArray[np.int64] = np.array([column for row in rows for column in row], dtype=np.int64)
    values = np.array([value for row in rows for value in row.values()], dtype=np.float64)
    return csr_array((values, columns, offsets), shape=(len(rows), n_columns))
