"""Traps of other tools that are not in scoring: pools, statistics, retrieval, installing; through the public names.

docs/traps.md lists all traps.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from ragauge import (
    assess,
    compare_systems,
    judge,
    judge_systems,
    parse_measure,
    plan_labels,
    rank_collection,
    read_labels,
    read_rankings,
    tune_cutoff,
)
from ragauge.errors import InputError
from ragauge.retrieval import BM25


def test_trap_5_a_threshold_keeps_all_equal_scores_or_none() -> None:
    scores = {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.5, "e": 0.1}
    queries = [f"q{at}" for at in range(8)]
    labels = read_labels({q: {"a": 1, "b": int(at > 2), "c": 0, "d": 1, "e": 0} for at, q in enumerate(queries)})
    found = []
    for order in ("abcde", "adcbe"):
        rows = [
            {"query_id": query, "doc_id": doc, "rank": rank, "score": scores[doc]}
            for query in queries
            for rank, doc in enumerate(order)
        ]
        judged = judge(read_rankings(rows), labels)
        found.append(tune_cutoff(judged, parse_measure("T@5"), today=5, by="score", resamples=50))
    assert found[0] == found[1]
    assert [candidate.n_returned for candidate in found[0].candidates] == [1, 4, 5]


def test_trap_6_a_pool_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(6)
    rows = [
        {"query_id": query, "run": run, "doc_id": f"d{doc}", "rank": rank}
        for query in ("q1", "q2", "q3")
        for run in ("x", "y", "z")
        for rank, doc in enumerate(rng.permutation(40).tolist())
    ]
    pools = []
    for order in (range(len(rows)), rng.permutation(len(rows))):
        plan = plan_labels(read_rankings([rows[at] for at in order]), cutoff=5, estimator="union")
        pools.append({(row["query_id"], row["doc_id"], row["rank"]) for row in plan.to_pylist()})
    assert pools[0] == pools[1]


def test_trap_9_rankings_do_not_depend_on_the_order_of_the_corpus() -> None:
    rng = np.random.default_rng(9)
    texts = [" ".join(rng.choice(["bee", "hive", "honey", "wax"], 3)) for _ in range(50)]
    corpus = pa.table({"doc_id": [f"d{at:02}" for at in range(50)], "text": texts})
    queries = pa.table({"query_id": ["q1", "q2"], "query": ["bee wax", "honey"]})
    found = [
        rank_collection(BM25(), queries, corpus.take(pa.array(order)), top=20)
        for order in (np.arange(50), rng.permutation(50), rng.permutation(50))
    ]
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def quality(shares: Sequence[float], n_queries: int) -> tuple[pa.Table, pa.Table]:
    """Runs of one document a query, right with the chance given, and the labels."""
    rng = np.random.default_rng(36)
    queries = [f"q{at:03}" for at in range(n_queries)]
    rows = [
        {"query_id": query, "run": f"run{at}", "doc_id": "good" if rng.random() < share else "bad", "rank": 1}
        for at, share in enumerate(shares)
        for query in queries
    ]
    return read_rankings(rows), read_labels({query: {"good": 1, "bad": 0} for query in queries})


def test_trap_36_p_values_are_corrected_for_all_tests_and_stand_beside_an_interval() -> None:
    # twenty runs no better than the baseline: of 20 tests one has p <= .05 by chance
    table, labels = quality([0.5] * 21, 60)
    found = compare_systems(judge_systems(table, labels), [parse_measure("P@1")], resamples=500).comparisons
    assert min(one.p for one in found) <= 0.05
    assert min(one.p_holm for one in found) > 0.05
    assert all(one.low <= one.difference <= one.high for one in found)


def test_trap_37_neighbours_on_a_leaderboard_are_not_told_apart_by_their_means() -> None:
    table, labels = quality([0.58, 0.6, 0.62, 0.64], 100)
    scores = assess(table, labels, [parse_measure("P@1")]).estimates
    assert all(low.high > high.low for (low,), (high,) in pairwise(sorted(scores.values(), key=lambda e: e[0].mean)))
    ladder = sorted(scores, key=lambda name: scores[name][0].mean)
    systems = judge_systems(table, labels)
    for below, above in pairwise(ladder):
        found = compare_systems(systems, [parse_measure("P@1")], baseline=below).comparisons
        step = next(one for one in found if one.system == above)
        assert step.low < 0 < step.high
        assert step.n_needed > step.n
        assert step.p_holm > 0.05


def test_trap_38_scoring_loads_no_compiler_and_no_model() -> None:
    code = (
        "import sys; from ragauge import assess, parse_measure, read_labels, read_rankings;"
        "found = assess(read_rankings({'q1': {'a': 1.0}}), read_labels({'q1': {'a': 1}}), [parse_measure('nDCG@10')]);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(out.stdout.split()) & {"numba", "llvmlite", "jax", "torch", "sklearn", "polars"} == set()


def test_trap_39_a_second_evaluation_is_the_first_one_and_measures_keep_their_cutoffs() -> None:
    table, labels = quality([0.5], 30)
    measures = [parse_measure(text) for text in ("P@1", "P@5", "nDCG@1", "nDCG@5")]
    once, again = (assess(table, labels, measures) for _ in range(2))
    assert once.scores.equals(again.scores)
    assert once.estimates["run0"] == again.estimates["run0"]
    assert [estimate.measure for estimate in again.estimates["run0"]] == ["P@1", "P@5", "nDCG@1", "nDCG@5"]


def test_trap_39_nothing_to_score_is_an_error_and_no_crash() -> None:
    with pytest.raises(InputError):
        assess(read_rankings({"q1": {"a": 1.0}}), read_labels({}), [parse_measure("P@1")])


def test_trap_40_the_package_is_plain_python() -> None:
    wheel = distribution("ragauge").read_text("WHEEL") or ""
    assert "Root-Is-Purelib: true" in wheel
    assert "Tag: py3-none-any" in wheel


def test_trap_40_the_package_holds_nothing_to_compile() -> None:
    package = Path(sys.modules["ragauge"].__file__ or "").parent
    kinds = {path.suffix for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert not kinds & {".so", ".pyd", ".c", ".cpp", ".pyx", ".rs"}


class Counting:
    """A retriever that remembers how many scores it was asked for at once."""

    name, floor = "counting", -np.inf

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.n_documents = 0

    def index(self, documents: Sequence[str], *, on_progress: Callable[[int], None] | None = None) -> "Counting":
        self.n_documents = len(documents)
        return self

    def scores(self, queries: Sequence[str]) -> npt.NDArray[np.float64]:
        self.asked.append(len(queries) * self.n_documents)
        return np.tile(np.arange(self.n_documents, dtype=np.float64), (len(queries), 1))


def test_trap_41_a_collection_is_ranked_in_blocks_and_only_the_top_is_kept() -> None:
    n_documents, n_queries = 200_000, 60
    ids = pa.array([f"d{at}" for at in range(n_documents)])
    queries = pa.table({"query_id": [f"q{at}" for at in range(n_queries)], "query": ["bees"] * n_queries})
    retriever = Counting()
    found = rank_collection(retriever, queries, pa.table({"doc_id": ids, "text": ids}), top=3)
    assert max(retriever.asked) * 8 <= 32 * 2**20 < sum(retriever.asked) * 8  # bytes
    assert all(len(documents) == 3 for documents in found.column("doc_ids").to_pylist())


def test_trap_42_frames_of_the_pandas_that_is_installed_are_read() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"query_id": ["q1", "q1", "q2"], "doc_id": ["dA", "dB", "dC"], "score": [2.0, 3.0, 1.0], "label": [1, 0, None]}
    )
    assert read_rankings(frame).column("doc_ids").to_pylist() == [["dB", "dA"], ["dC"]]
    labels = read_labels(frame[["query_id", "doc_id", "label"]])
    assert labels.column("label").to_pylist() == [1.0, 0.0, None]


def test_trap_T16_thirty_runs_are_compared_and_none_is_lost() -> None:
    table, labels = quality([0.5] * 30, 20)
    found = compare_systems(judge_systems(table, labels), [parse_measure("RBP(p=0.9)")], resamples=50)
    assert len({one.system for one in found.comparisons}) == 29
    assert {one.measure for one in found.comparisons} == {"RBP(p=0.9)"}
