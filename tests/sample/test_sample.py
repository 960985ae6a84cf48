"""The packaged sample: its files agree with each other and with what their README promises."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from ragauge import sample
from ragauge.io import read_corpus, read_labels, read_pools, read_queries
from ragauge.study import read_plan

RELEVANT = 2.0

N_RELEVANT = [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6, 6, 8, 8]


def column(table: pa.Table, name: str) -> list[object]:
    return table[name].to_pylist()


def relevant_counts() -> Counter[object]:
    counts: Counter[object] = Counter(dict.fromkeys(column(sample.queries(), "query_id"), 0))
    counts.update(row["query_id"] for row in sample.labels().to_pylist() if row["label"] >= RELEVANT)
    return counts


@pytest.mark.parametrize(("table", "name"), [(sample.corpus, "doc_id"), (sample.queries, "query_id")])
def test_ids_are_unique(table, name):
    ids = column(table(), name)
    assert len(set(ids)) == len(ids)


def test_texts_are_unique():
    texts = column(sample.corpus(), "text")
    assert len(set(texts)) == len(texts)


def test_each_pair_is_judged_once():
    pairs = [(row["query_id"], row["doc_id"]) for row in sample.labels().to_pylist()]
    assert len(set(pairs)) == len(pairs)


def test_labels_name_queries_and_documents_that_exist():
    labels = sample.labels()
    assert set(column(labels, "query_id")) == set(column(sample.queries(), "query_id"))
    assert set(column(labels, "doc_id")) <= set(column(sample.corpus(), "doc_id"))


def test_labels_are_0_to_3():
    assert set(column(sample.labels(), "label")) == {0.0, 1.0, 2.0, 3.0}


def test_queries_have_0_to_8_relevant_documents():
    assert sorted(relevant_counts().values()) == N_RELEVANT


def test_each_query_has_hard_negatives():
    negatives = Counter(row["query_id"] for row in sample.labels().to_pylist() if row["label"] < RELEVANT)
    assert min(negatives[query_id] for query_id in column(sample.queries(), "query_id")) >= 4


def test_answer_is_null_exactly_where_nothing_is_relevant():
    counts = relevant_counts()
    assert all((row["answer"] is None) == (counts[row["query_id"]] == 0) for row in sample.queries().to_pylist())


def test_passages_are_short():
    n_words = [len(str(text).split()) for text in column(sample.corpus(), "text")]
    assert min(n_words) >= 35
    assert max(n_words) <= 70
    assert 45 <= sum(n_words) / len(n_words) <= 55


def test_some_passages_are_french():
    assert Counter(column(sample.corpus(), "lang")) == {"en": 118, "fr": 8}


def test_order_of_documents_says_nothing_about_relevance():
    # The mean rank of the relevant documents of 126 is 63.5 by chance; its standard error over 79 pairs is 4.1.
    relevant = [int(row["doc_id"][1:]) for row in sample.labels().to_pylist() if row["label"] >= RELEVANT]
    assert abs(sum(relevant) / len(relevant) - 63.5) < 3 * 4.1


def test_copied_files_read_back_as_the_tables(tmp_path: Path):
    corpus, queries, qrels, pools, _ = sample.copy_to(tmp_path / "kb")
    assert read_corpus(corpus).equals(sample.corpus().drop_columns("lang").cast(read_corpus(corpus).schema))
    assert read_queries(queries).equals(sample.queries())
    assert read_labels(qrels).select(["query_id", "doc_id", "label"]).equals(sample.labels())
    assert read_pools(pools).equals(sample.pools())


def test_the_plan_beside_the_pools_is_a_valid_one(tmp_path: Path):
    *_, plan = sample.copy_to(tmp_path / "kb")
    assert read_plan(plan).datasets[0].path == tmp_path / "kb" / "pools.jsonl"


def test_pools_hold_each_query_that_has_a_relevant_passage():
    counts = sorted(len(row["positives"]) for row in sample.pools().to_pylist())
    assert counts == [count for count in N_RELEVANT if count > 0]


def test_copy_refuses_to_overwrite_and_writes_nothing(tmp_path: Path):
    (tmp_path / "qrels.tsv").write_text("mine")
    with pytest.raises(FileExistsError, match=r"qrels\.tsv"):
        sample.copy_to(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["qrels.tsv"]
    assert (tmp_path / "qrels.tsv").read_text() == "mine"
