"""Dense retrieval with embedders whose vectors are written down: exact cosines, exact ties, nothing embedded twice."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ragauge.errors import RunError
from ragauge.retrieval import Dense, rank_collection, rank_pools
from ragauge.retrieval.embedder import Vectors
from ragauge.schema import CORPUS, POOLS, QUERIES
from ragauge.store import Store

DIMENSION = 37  # odd, so that rows of a matrix are not aligned alike


class Scripted:
    """Vectors by a function; remembers what it was asked, and fails after a number of texts."""

    model_id = "scripted"
    dimension = DIMENSION
    batch_size = 4

    def __init__(self, vector: Callable[[str], Sequence[float]], *, fails_after: int | None = None) -> None:
        self.asked: list[str] = []
        self._vector = vector
        self._fails_after = fails_after

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents([f"query: {text}" for text in texts])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self._fails_after is not None and len(self.asked) >= self._fails_after:
            raise RunError("the power is out")
        self.asked.extend(texts)
        return np.array([self._vector(text) for text in texts], dtype=np.float32)


def noise(text: str) -> list[float]:
    """A random vector that depends on the text alone; not of length 1."""
    seed = list(text.removeprefix("query: ").encode())
    return (3 * np.random.default_rng(seed).normal(size=DIMENSION)).tolist()


def corpus(texts: dict[str, str]) -> pa.Table:
    return pa.Table.from_pylist([{"doc_id": doc_id, "text": text} for doc_id, text in texts.items()], schema=CORPUS)


def queries(*texts: str) -> pa.Table:
    return pa.Table.from_pylist([{"query_id": f"q{i}", "query": text} for i, text in enumerate(texts)], schema=QUERIES)


def test_scores_are_cosines_in_double_precision() -> None:
    texts = [f"text {i}" for i in range(50)]
    found = Dense(Scripted(noise)).index(texts).scores(["text 3", "other"])
    for row, query in zip(found, ["text 3", "other"], strict=True):
        q = np.float32(noise(query)).astype(np.float64)
        for score, text in zip(row, texts, strict=True):
            d = np.float32(noise(text)).astype(np.float64)
            assert score == pytest.approx(q @ d / np.sqrt((q @ q) * (d @ d)), abs=1e-15)
    assert found[0, 3] == pytest.approx(1.0, abs=1e-15)  # a text and itself
    assert found.max() <= 1.0


def test_forty_copies_of_a_text_tie_exactly_and_go_by_id_between_any_others() -> None:
    rng = np.random.default_rng(11)
    copies = [f"c{i:02}" for i in range(40)]
    texts = dict.fromkeys(copies, "the same text") | {f"x{i:03}": f"text {i}" for i in range(200)}
    shuffled = {doc_id: texts[doc_id] for doc_id in rng.permutation(list(texts)).tolist()}
    ranked = rank_collection(Dense(Scripted(noise)), queries("a", "b", "c"), corpus(shuffled), top=240)
    for row in ranked.to_pylist():
        at = [position for position, doc_id in enumerate(row["doc_ids"]) if doc_id in copies]
        assert at == list(range(at[0], at[0] + 40))
        assert [row["doc_ids"][position] for position in at] == copies
        assert len({row["scores"][position] for position in at}) == 1


def test_different_texts_with_one_vector_tie_exactly() -> None:
    texts = {f"d{i:02}": "same" + " " * i for i in range(20)} | {f"x{i}": f"text {i}" for i in range(9)}
    scores = Dense(Scripted(lambda text: noise(text.strip()))).index(list(texts.values())).scores(["q"])[0]
    assert len(set(scores[:20].tolist())) == 1


def test_zero_and_minus_zero_are_the_same_number() -> None:
    signs = {"plus": 0.0, "minus": -0.0}
    vector = [1.0, 0.5, *[0.25] * (DIMENSION - 3)]
    dense = Dense(Scripted(lambda text: [*vector, signs.get(text, 0.7)]))
    plus, minus = dense.index(["plus", "minus"]).scores(["q"])[0].tolist()
    assert plus == minus


def test_a_text_is_embedded_once_and_queries_apart_from_documents() -> None:
    embedder = Scripted(noise)
    dense = Dense(embedder)
    for _ in range(2):
        dense.index(["a", "b", "a"]).scores(["a", "c", "a"])
    assert embedder.asked == ["a", "b", "query: a", "query: c"]


def test_progress_counts_every_document_also_the_known_and_the_repeated() -> None:
    dense = Dense(Scripted(noise))
    texts = [f"text {i}" for i in range(10)]
    dense.index(texts[:3])
    seen: list[int] = []
    dense.index([*texts, *texts[:2]], on_progress=seen.append)
    # 12 documents: 3 known + 2 repeats at once, then the 7 new ones in batches of 4.
    assert seen == [5, 4, 3]


def test_a_stopped_run_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    texts = {f"d{i}": f"text {i}" for i in range(20)}
    broken, whole = Scripted(noise, fails_after=8), Scripted(noise)
    with Store.open(tmp_path / "store.db") as store, pytest.raises(RunError, match="the power is out"):
        rank_collection(Dense(broken, store), queries("a"), corpus(texts), top=5)
    with Store.open(tmp_path / "store.db") as store:
        resumed = rank_collection(Dense(whole, store), queries("a"), corpus(texts), top=5)
    assert len(broken.asked) == 8
    assert set(broken.asked).isdisjoint(whole.asked)
    assert len(whole.asked) == 12 + 1  # the other documents and the query
    assert resumed.equals(rank_collection(Dense(Scripted(noise)), queries("a"), corpus(texts), top=5))


def test_a_second_run_with_the_store_asks_for_nothing(tmp_path: Path) -> None:
    idle = Scripted(noise, fails_after=0)
    with Store.open(tmp_path / "store.db") as store:
        first = Dense(Scripted(noise), store).index(["a", "b"]).scores(["q"])
        second = Dense(idle, store).index(["a", "b"]).scores(["q"])
    assert (first == second).all()


def test_pools_rank_the_same_candidates_alike_in_any_order() -> None:
    def pool(order: list[int]) -> pa.Table:
        documents = [{"doc_id": f"d{i}", "text": f"text {i}"} for i in order]
        row = {"query_id": "q", "dataset": "d", "query": "a", "positives": documents[:2], "negatives": documents[2:]}
        return pa.Table.from_pylist([row], schema=POOLS)

    one = rank_pools(Dense(Scripted(noise)), pool([0, 1, 2, 3, 4]))
    other = rank_pools(Dense(Scripted(noise)), pool([1, 0, 4, 3, 2]))
    assert one.equals(other)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_vector_without_a_cosine_is_an_error_that_shows_the_text(bad: float) -> None:
    def vector(text: str) -> list[float]:
        return [bad] * DIMENSION if text == "odd one" else noise(text)

    with pytest.raises(RunError, match=r"no usable vector .* for 1 of 2 texts, first for 'odd one'"):
        Dense(Scripted(vector)).index(["fine", "odd one"])


def test_vectors_of_another_shape_are_an_error() -> None:
    with pytest.raises(RunError, match=r"gave vectors of shape \(2, 3\), not \(2, 37\)"):
        Dense(Scripted(lambda text: [1.0, 2.0, 3.0])).index(["a", "b"])


def test_a_run_is_called_as_asked_or_as_its_model() -> None:
    assert Dense(Scripted(noise)).name == "scripted"
    assert Dense(Scripted(noise), name="dense").name == "dense"
