"""Rankings of a collection and of pools, with retrievers whose scores are written down."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from ragauge.errors import InputError, RunError, SchemaError
from ragauge.retrieval import document_text, rank_collection, rank_pools
from ragauge.schema import CORPUS, POOLS, QUERIES, RANKINGS

Scores = npt.NDArray[np.float64]


class ByTable:
    """Scores a document by its text, whatever the query."""

    name = "table"

    def __init__(self, scores: Mapping[str, float], floor: float = -np.inf) -> None:
        self.floor = floor
        self._scores = scores

    def index(self, documents: Sequence[str], *, on_progress: Callable[[int], None] | None = None) -> "TableIndex":
        if on_progress is not None:
            on_progress(len(documents))
        return TableIndex([self._scores[text] for text in documents])


class TableIndex:
    def __init__(self, scores: list[float]) -> None:
        self._scores = scores

    def scores(self, queries: Sequence[str]) -> Scores:
        return np.array([self._scores for _ in queries])


def queries(*ids: str) -> pa.Table:
    return pa.Table.from_pylist(
        [{"query_id": query_id, "query": f"query {query_id}"} for query_id in ids], schema=QUERIES
    )


def corpus(**texts: str) -> pa.Table:
    return pa.Table.from_pylist([{"doc_id": doc_id, "text": text} for doc_id, text in texts.items()], schema=CORPUS)


def pool(query_id: str, positives: Sequence[str], negatives: Sequence[str]) -> dict[str, object]:
    documents = [[{"doc_id": text, "text": text} for text in texts] for texts in (positives, negatives)]
    return {
        "query_id": query_id,
        "dataset": "d",
        "query": f"query {query_id}",
        "positives": documents[0],
        "negatives": documents[1],
    }


def pools(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=POOLS)


def test_the_best_documents_come_first_with_their_scores_and_no_labels() -> None:
    ranked = rank_collection(ByTable({"x": 1.0, "y": 3.0, "z": 2.0}), queries("q"), corpus(a="x", b="y", c="z"), top=2)
    assert ranked.schema == RANKINGS
    assert ranked.to_pylist() == [
        {
            "query_id": "q",
            "query": "query q",
            "run": "table",
            "doc_ids": ["b", "c"],
            "texts": ["y", "z"],
            "scores": [3.0, 2.0],
            "labels": [None, None],
        }
    ]


def test_equal_scores_are_ordered_by_the_bytes_of_their_ids_also_where_the_cut_falls() -> None:
    # Bytes: "10" < "9" < "B" < "a" < "z" < "é" (0xC3 0xA9). "B" scores higher; four of the five ties fit.
    texts = {"é": "t", "z": "t", "a": "t", "9": "t", "10": "t", "B": "best"}
    ranked = rank_collection(ByTable({"t": 0.5, "best": 0.6}), queries("q"), corpus(**texts), top=5)
    assert ranked["doc_ids"].to_pylist() == [["B", "10", "9", "a", "z"]]


@pytest.mark.parametrize("top", [1, 2, 7, 39, 40, 41])
def test_forty_ties_keep_the_first_ids_at_every_cut(top: int) -> None:
    ids = [f"d{i:02}" for i in range(1, 41)]
    shuffled = np.random.default_rng(7).permutation(ids).tolist()
    ranked = rank_collection(ByTable({"t": 0.0}), queries("q"), corpus(**dict.fromkeys(shuffled, "t")), top=top)
    assert ranked["doc_ids"].to_pylist() == [ids[:top]]


def test_any_cut_equals_the_head_of_the_whole_ranking() -> None:
    rng = np.random.default_rng(3)
    scores = {f"t{i}": float(rng.integers(5)) for i in range(60)}
    documents = corpus(**{f"d{i:02}": text for i, text in enumerate(scores)})
    whole = rank_collection(ByTable(scores), queries("q"), documents, top=60)["doc_ids"].to_pylist()[0]
    for top in range(1, 60):
        ranked = rank_collection(ByTable(scores), queries("q"), documents, top=top)
        assert ranked["doc_ids"].to_pylist()[0] == whole[:top]


def test_documents_at_the_floor_are_not_retrieved_from_a_collection() -> None:
    retriever = ByTable({"x": 1.0, "y": 0.0}, floor=0.0)
    assert rank_collection(retriever, queries("q"), corpus(a="y", b="x"), top=2)["doc_ids"].to_pylist() == [["b"]]
    nothing = rank_collection(retriever, queries("q"), corpus(a="y"), top=2)
    assert nothing.select(["doc_ids", "scores"]).to_pylist() == [{"doc_ids": [], "scores": []}]


def test_every_candidate_of_a_pool_is_ranked_and_labelled_even_at_the_floor() -> None:
    retriever = ByTable({"p1": 0.0, "p2": 2.0, "n1": 1.0, "n2": 0.0}, floor=0.0)
    ranked = rank_pools(retriever, pools(pool("q", ["p1", "p2"], ["n1", "n2"])))
    assert ranked.schema == RANKINGS
    # 2, 1, then the two zeros by id: "n2" < "p1".
    assert ranked["doc_ids"].to_pylist() == [["p2", "n1", "n2", "p1"]]
    assert ranked["labels"].to_pylist() == [[1.0, 0.0, 0.0, 1.0]]


def test_pools_are_cut_at_top() -> None:
    ranked = rank_pools(ByTable({"p": 1.0, "n": 2.0}), pools(pool("q", ["p"], ["n"]), pool("r", ["p"], [])), top=1)
    assert ranked["doc_ids"].to_pylist() == [["n"], ["p"]]


def test_title_and_text_are_searched_and_shown_as_one_string() -> None:
    table = pa.table({"doc_id": ["a"], "title": ["Bees"], "text": ["They fly."]})
    ranked = rank_collection(ByTable({"Bees\nThey fly.": 1.0}), queries("q"), table, top=1)
    assert ranked["texts"].to_pylist() == [["Bees\nThey fly."]]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [("T", "t", "T\nt"), (None, "t", "t"), ("", "t", "t"), ("T", " ", "T"), (" ", "", "")],
)
def test_a_blank_title_or_text_leaves_the_other(title: str | None, text: str, expected: str) -> None:
    assert document_text(title, text) == expected


def test_progress_of_a_collection_counts_documents_and_queries() -> None:
    seen: list[int] = []
    ids = [f"q{i}" for i in range(70)]
    rank_collection(ByTable({"x": 1.0}), queries(*ids), corpus(a="x", b="x"), top=1, on_progress=seen.append)
    assert sum(seen) == 72
    assert len(seen) > 2


def test_progress_of_pools_counts_pools() -> None:
    seen: list[int] = []
    rank_pools(ByTable({"p": 1.0}), pools(pool("q", ["p"], []), pool("r", ["p"], [])), on_progress=seen.append)
    assert seen == [1, 1]


def test_no_queries_give_an_empty_table() -> None:
    assert rank_collection(ByTable({"x": 1.0}), queries(), corpus(a="x"), top=1).num_rows == 0
    assert rank_pools(ByTable({}), pools()).num_rows == 0


def test_all_problems_of_a_collection_are_told_at_once() -> None:
    asked = pa.table({"query_id": ["q", "q", "r"], "query": ["a", "b", " "]})
    documents = pa.table({"doc_id": ["d1", "d1", "d2"], "text": ["x", "x", ""]})
    with pytest.raises(InputError) as caught:
        rank_collection(ByTable({"x": 1.0}), asked, documents, top=1)
    assert caught.value.problems == (
        "query id 'q' stands 2 times",
        "query 'r' is blank; leave it out",
        "document id 'd1' stands 2 times in the corpus",
        "document 'd2' of the corpus is blank; leave it out",
    )


def test_all_problems_of_pools_are_told_at_once() -> None:
    bad = pools(pool("q", [], []), pool("r", [], ["n"]), pool("s", ["p"], ["p"]), pool("t", ["p", " "], []))
    with pytest.raises(InputError) as caught:
        rank_pools(ByTable({}), bad)
    assert caught.value.problems == (
        "the pool of query 'q' holds no documents",
        "the pool of query 'r' has no positives; each needs one",
        "document id 'p' stands 2 times in the pool of query 's'",
        "document ' ' of the pool of query 't' is blank; leave it out",
    )


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="the corpus holds no documents"):
        rank_collection(ByTable({}), queries("q"), corpus(), top=1)


def test_top_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="top must be 1 or more documents, got 0"):
        rank_collection(ByTable({"x": 1.0}), queries("q"), corpus(a="x"), top=0)
    with pytest.raises(InputError, match="top must be 1 or more documents, got 0"):
        rank_pools(ByTable({"p": 1.0}), pools(pool("q", ["p"], [])), top=0)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(SchemaError, match="no column 'text' in corpus; found: doc_id"):
        rank_collection(ByTable({}), queries("q"), pa.table({"doc_id": ["a"]}), top=1)


def test_a_retriever_that_gives_nan_is_an_error_and_not_a_ranking() -> None:
    with pytest.raises(RunError, match=r"retriever table must give a finite score .* 1 not finite"):
        rank_collection(ByTable({"x": np.nan}), queries("q"), corpus(a="x"), top=1)
