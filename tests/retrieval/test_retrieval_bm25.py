"""BM25 against numbers worked by hand, its edges, and a real collection."""

import csv
import gzip
import json
from collections import defaultdict
from math import log, log2
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.retrieval import BM25, rank_collection
from ragauge.retrieval.bm25 import words
from ragauge.schema import CORPUS, QUERIES

DATA = Path(__file__).parents[2].parent / "shared/data"


def scores(documents: list[str], query: str, **parameters: float) -> list[float]:
    return BM25(**parameters).index(documents).scores([query])[0].tolist()


def test_scores_equal_the_formula_worked_by_hand() -> None:
    # N = 3 documents of 4, 1 and 1 words: mean 2. k1 = 1.2, b = 0.75.
    # Held back: 1.2 * (0.25 + 0.75 * 4 / 2) = 2.1 for the first, 1.2 * (0.25 + 0.75 * 1 / 2) = 0.75 for the others.
    # a stands in 2 of 3: idf = ln(1 + 1.5 / 2.5) = ln 1.6; c in 1 of 3: idf = ln(1 + 2.5 / 1.5) = ln(8/3).
    # First: a twice, c once. Second: a once. Third: neither.
    expected = [log(1.6) * 2 / (2 + 2.1) + log(8 / 3) * 1 / (1 + 2.1), log(1.6) * 1 / (1 + 0.75), 0.0]
    assert scores(["a b a c", "a", "d"], "a c") == pytest.approx(expected, rel=1e-14)


def test_k1_zero_counts_presence_and_b_zero_ignores_length() -> None:
    # idf of a word in both of 2 documents: ln(1 + 0.5 / 2.5) = ln 1.2.
    assert scores(["a", "a a a b b"], "a", k1=0) == pytest.approx([log(1.2)] * 2)
    # b = 0: tf / (tf + k1) = 1 / 2.2 and 3 / 4.2.
    assert scores(["a", "a a a b b"], "a", b=0) == pytest.approx([log(1.2) / 2.2, log(1.2) * 3 / 4.2])


def test_a_word_twice_in_the_query_counts_twice() -> None:
    once, twice = scores(["a b", "b"], "a"), scores(["a b", "b"], "a a")
    assert twice == [2 * score for score in once]


def test_documents_with_the_same_words_tie_exactly() -> None:
    rng = np.random.default_rng(5)
    bags = [rng.choice(list("abcdef"), size=9).tolist() for _ in range(200)]
    documents = [" ".join(bag) for bag in bags] + [" ".join(rng.permutation(bag)) for bag in bags]
    found = np.array(scores(documents, "a b c d e"))
    assert (found[:200] == found[200:]).all()


def test_every_matching_document_scores_above_zero_even_when_all_match() -> None:
    assert min(scores(["a"] * 2, "a")) > 0


@pytest.mark.parametrize(
    ("documents", "query"),
    [(["a", "b"], "z"), (["a", "b"], "?!"), (["...", "?"], "a"), (["?"], "?")],
    ids=["an unknown word", "a query without words", "documents without words", "no words at all"],
)
def test_no_shared_word_scores_zero(documents: list[str], query: str) -> None:
    assert scores(documents, query) == [0.0] * len(documents)


def test_a_collection_leaves_out_what_shares_no_word() -> None:
    corpus = pa.table({"doc_id": ["x", "y", "z"], "text": ["red", "blue", "red blue"]})
    ranked = rank_collection(BM25(), pa.table({"query_id": ["q"], "query": ["red"]}), corpus, top=3)
    assert ranked["doc_ids"].to_pylist() == [["x", "z"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop.", ["don", "t", "stop"]),
        ("ﬁve ２ Ⅻ", ["five", "2", "xii"]),
        ("É\u0301TÉ e\u0301te\u0301", ["é\u0301té", "été"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("snake_case x-ray 3.5", ["snake_case", "x", "ray", "3", "5"]),
        ("", []),
    ],
)
def test_words_are_unicode_nfkc_lower_case(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("parameters", [{"k1": -0.1}, {"k1": np.inf}, {"k1": np.nan}, {"b": 1.1}, {"b": -0.1}])
def test_parameters_out_of_range_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(InputError, match="BM25 needs k1 >= 0 and 0 <= b <= 1, got"):
        BM25(**parameters)


@pytest.mark.data
def test_cranfield_is_ranked_as_well_as_bm25_is_known_to_rank_it() -> None:
    # docs/decisions/0002-bm25.md: nDCG@10 0.344 and P@10 0.224 over all 225 queries, the same as bm25s.
    folder = DATA / "cranfield"
    if not folder.exists():
        pytest.skip(f"no public data sets beside the checkout ({DATA})")
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        asked = [json.loads(line) for line in file]
    written = [document for document in documents if document["text"].strip() or document.get("title")]
    corpus = pa.Table.from_pylist(written, schema=CORPUS)
    queries = pa.Table.from_pylist([{"query_id": q["query_id"], "query": q["text"]} for q in asked], schema=QUERIES)
    ranked = rank_collection(BM25(), queries, corpus, top=10).to_pylist()
    gains = _qrels(folder / "qrels.tsv")
    found = [[max(gains[row["query_id"]].get(doc_id, 0.0), 0.0) for doc_id in row["doc_ids"]] for row in ranked]
    ideal = [sorted(gains[row["query_id"]].values(), reverse=True)[:10] for row in ranked]
    assert np.mean([_dcg(f) / _dcg(i) for f, i in zip(found, ideal, strict=True)]) == pytest.approx(0.344, abs=0.001)
    assert np.mean([sum(gain > 0 for gain in row) / 10 for row in found]) == pytest.approx(0.224, abs=0.001)


def _qrels(path: Path) -> dict[str, dict[str, float]]:
    gains: dict[str, dict[str, float]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            gains[row["query_id"]][row["doc_id"]] = float(row["relevance"])
    return gains


def _dcg(gains: list[float]) -> float:
    return sum(gain / log2(rank + 2) for rank, gain in enumerate(gains) if gain > 0)
