"""Against trec_eval (through pytrec_eval) on the nine runs of TREC DL 2019 passage.

trec_eval orders by score, then by document id, both descending, whatever the order of the file; pytrec_eval keeps
scores as float32. The rankings are put in that order first, so that both see the same top K.
"""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from measures_cases import labels_table, rankings

from ragauge.measures import judge, parse_measure, score

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
# the class beneath pytrec_eval.RelevanceEvaluator: that one sorts parameters and refuses negative ones
from pytrec_eval_ext import RelevanceEvaluator  # noqa: E402

DATA = Path(__file__).parents[2].parent / "shared/data/trecdl-2019-passage"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.exists(), reason="no shared/data/trecdl-2019-passage beside the checkout"),
]
RUNS = sorted(DATA.glob("runs/*.run.gz"))
CUTOFFS = (1, 5, 10, 20, 100)
ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.9, 1.0)

Run = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def qrels() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    with (DATA / "qrels.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            found.setdefault(row["query_id"], {})[row["doc_id"]] = int(row["relevance"])
    return found


def read_run(path: Path) -> Run:
    """Query -> document -> score, best first in the order of trec_eval."""
    found: Run = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, _, doc_id, _, text, _ = line.split()
            found.setdefault(query_id, {})[doc_id] = float(text)
    return {
        query_id: dict(sorted(docs.items(), key=lambda pair: (np.float32(pair[1]), pair[0]), reverse=True))
        for query_id, docs in found.items()
    }


def ours(run: Run, qrels: dict[str, dict[str, int]], texts: list[str]) -> dict[str, dict[str, float]]:
    labels = {(query_id, doc_id): float(label) for query_id, docs in qrels.items() for doc_id, label in docs.items()}
    table = judge(rankings({query_id: list(docs) for query_id, docs in run.items()}), labels_table(labels))
    scored = score(table, [parse_measure(text) for text in texts])
    return {row["query_id"]: row for row in scored.to_pylist()}


def theirs(run: Run, qrels: dict[str, dict[str, int]], names: set[str], level: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {query_id: {} for query_id in run}
    for name in names:
        evaluator = RelevanceEvaluator(query_relevance=qrels, measures={name}, relevance_level=level)
        for query_id, values in evaluator.evaluate(run).items():
            found[query_id] |= values
    return found


def top(run: Run, K: int) -> Run:
    return {query_id: dict(list(docs.items())[:K]) for query_id, docs in run.items()}


def test_all_nine_runs_are_there() -> None:
    assert len(RUNS) == 9


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_t_is_the_linear_utility_of_trec_eval_over_k(path: Path, level: int, qrels: dict[str, dict[str, int]]) -> None:
    run = read_run(path)
    texts = [f"T(alpha={alpha},unjudged=negative,rel={level})@{K}" for alpha in ALPHAS for K in CUTOFFS]
    found = ours(run, qrels, texts)
    for alpha in ALPHAS:
        name = f"utility.{1 - alpha},{-alpha},0,0"
        for K in CUTOFFS:
            column = str(parse_measure(f"T(alpha={alpha},unjudged=negative,rel={level})@{K}"))
            expected = theirs(top(run, K), qrels, {name}, level)
            for query_id, row in found.items():
                assert row[column] == pytest.approx(expected[query_id]["utility"] / K, abs=1e-6)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_p_r_success_and_ndcg_are_those_of_trec_eval(path: Path, level: int, qrels: dict[str, dict[str, int]]) -> None:
    run = read_run(path)
    pairs = {f"P(rel={level})@{K}": f"P_{K}" for K in CUTOFFS}
    pairs |= {f"R(rel={level})@{K}": f"recall_{K}" for K in CUTOFFS}
    pairs |= {f"Success(rel={level})@{K}": f"success_{K}" for K in CUTOFFS}
    pairs |= {f"nDCG@{K}": f"ndcg_cut_{K}" for K in CUTOFFS}  # graded: a relevance level does not touch it
    found = ours(run, qrels, list(pairs))
    cutoffs = ",".join(map(str, CUTOFFS))
    expected = theirs(run, qrels, {f"{family}.{cutoffs}" for family in ("P", "recall", "success", "ndcg_cut")}, level)
    for text, name in pairs.items():
        for query_id, row in found.items():
            assert row[str(parse_measure(text))] == pytest.approx(expected[query_id][name], abs=1e-9), text


def test_t_of_the_worked_example_is_what_trec_eval_prints() -> None:
    # dA, dB positive, dC judged 0: utility .5*2 - .5*1 = .5, T@10 = .05; with dB unjudged .5 - .5*2 = -.5, T@10 = -.05
    run = {"q": {"dA": 3.0, "dB": 2.0, "dC": 1.0}}
    for qrels, utility in (({"q": {"dA": 1, "dB": 1, "dC": 0}}, 0.5), ({"q": {"dA": 1, "dC": 0}}, -0.5)):
        assert theirs(run, qrels, {"utility.0.5,-0.5,0,0"}, 1)["q"]["utility"] == pytest.approx(utility)
        found = ours(run, qrels, ["T(unjudged=negative)@10"])["q"]["T(unjudged=negative)@10"]
        assert found == pytest.approx(utility / 10)
