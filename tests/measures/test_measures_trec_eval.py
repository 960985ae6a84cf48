"""Against trec_eval (through pytrec_eval), query by query, on all 93 runs of six public collections.

The rankings are read as trec_eval orders them: by score, then document id, both descending. pytrec_eval keeps scores as
float32, so it is given whole numbers by rank in their place, which it cannot tie; what its own float32 ties do is shown
apart. Two runs a collection are tried by default, all in the slow tests.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures_cases import labels_table, rankings

from ragauge.io import read_labels, read_rankings
from ragauge.measures import judge, parse_measure, score

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
# the class beneath pytrec_eval.RelevanceEvaluator: that one sorts parameters and refuses negative ones
from pytrec_eval_ext import RelevanceEvaluator  # noqa: E402

DATA = Path(__file__).parents[2].parent / "shared/data"
RUNS = sorted(DATA.glob("*/runs/*.run.gz"))
FIRST = [path for at, path in enumerate(RUNS) if at < 2 or RUNS[at - 2].parent != path.parent]
needs_data = [pytest.mark.data, pytest.mark.skipif(not RUNS, reason="no shared/data beside the checkout")]
CUTOFFS = (1, 5, 10, 20, 100)
ALPHAS = (0.3, 0.5)

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
Values = dict[str, dict[str, float]]


def names(level: int) -> dict[str, str]:
    """Our measure -> trec_eval's, which writes set_F's beta^2 as its parameter."""
    cut = {"P": "P", "R": "recall", "Success": "success", "AP": "map_cut"}
    found = {f"{ours}(rel={level})@{K}": f"{theirs}_{K}" for ours, theirs in cut.items() for K in CUTOFFS}
    found |= {f"nDCG@{K}": f"ndcg_cut_{K}" for K in CUTOFFS}  # graded: a relevance level does not touch it
    whole = {"AP": "map", "RR": "recip_rank", "Rprec": "Rprec", "bpref": "bpref", "infAP": "infAP"}
    whole |= {"SetP": "set_P", "R": "set_recall", "SetF": "set_F"}
    found |= {f"{ours}(rel={level})": theirs for ours, theirs in whole.items()}
    found |= {
        "nDCG": "ndcg",
        f"n_p(rel={level})@1000": "num_rel_ret",
        f"n_n(rel={level})@1000": "num_nonrel_judged_ret",
    }
    return found


def families() -> list[str]:
    cutoffs = ",".join(map(str, CUTOFFS))
    single = "map recip_rank Rprec bpref infAP set_P set_recall set_F ndcg num_rel_ret num_nonrel_judged_ret num_rel"
    return [f"{family}.{cutoffs}" for family in ("P", "recall", "success", "map_cut", "ndcg_cut")] + single.split()


def ours(judged: pa.Table, texts: list[str]) -> Values:
    measures = [parse_measure(text) for text in texts]
    rows = {row["query_id"]: row for row in score(judged, measures).to_pylist()}
    return {q: {text: row[str(m)] for text, m in zip(texts, measures, strict=True)} for q, row in rows.items()}


def theirs(run: Run, qrels: Qrels, measures: list[str], level: int = 1) -> Values:
    found: Values = {}
    for measure in measures:
        evaluator = RelevanceEvaluator(query_relevance=qrels, measures={measure}, relevance_level=level)
        for query_id, values in evaluator.evaluate(run).items():
            found.setdefault(query_id, {}).update(values)
    return found


def by_rank(table: pa.Table, depth: int | None = None) -> Run:
    """The rankings with falling whole numbers as scores."""
    rows = zip(table.column("query_id").to_pylist(), table.column("doc_ids").to_pylist(), strict=True)
    return {query_id: {doc: float(-rank) for rank, doc in enumerate(docs[:depth])} for query_id, docs in rows}


def qrels_of(labels: pa.Table) -> Qrels:
    found: Qrels = {}
    for row in labels.to_pylist():
        found.setdefault(row["query_id"], {})[row["doc_id"]] = -1 if row["label"] is None else int(row["label"])
    return found


@cache
def labels_of(collection: Path) -> tuple[pa.Table, Qrels]:
    labels = read_labels(collection / "qrels.tsv")
    return labels, qrels_of(labels)


def largest_difference(table: pa.Table, labels: pa.Table, qrels: Qrels, level: int) -> float:
    """Over all measures and the queries that both know; what is undefined here is 0 there."""
    pairs = names(level)
    found = ours(judge(table, labels), list(pairs))
    expected = theirs(by_rank(table), qrels, families(), level)
    worst = 0.0
    for query_id, values in expected.items():
        for text, name in pairs.items():
            value = found[query_id][text]
            if math.isnan(value):
                assert values["num_rel"] == 0 or name.startswith(("ndcg", "set_P")), (query_id, text)
                value = 0.0
            worst = max(worst, abs(value - values[name]))
    return worst


def agree(path: Path) -> None:
    table, (labels, qrels) = read_rankings(path), labels_of(path.parents[1])
    for level in (1, 2):
        assert largest_difference(table, labels, qrels, level) < 1e-12


@pytest.mark.parametrize("path", [pytest.param(p, marks=needs_data, id=f"{p.parts[-3]}-{p.name}") for p in FIRST])
def test_every_measure_is_that_of_trec_eval_for_each_query(path: Path) -> None:
    agree(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(p, marks=needs_data, id=f"{p.parts[-3]}-{p.name}") for p in RUNS])
def test_every_measure_is_that_of_trec_eval_for_each_query_of_every_run(path: Path) -> None:
    agree(path)


@pytest.mark.parametrize("path", [pytest.param(p, marks=needs_data, id=f"{p.parts[-3]}-{p.name}") for p in FIRST[::2]])
def test_t_is_the_linear_utility_of_trec_eval_over_k(path: Path) -> None:
    table, (labels, qrels) = read_rankings(path), labels_of(path.parents[1])
    level = 2
    texts = {(a, K): f"T(alpha={a},unjudged=negative,rel={level})@{K}" for a in ALPHAS for K in CUTOFFS}
    found = ours(judge(table, labels), list(texts.values()))
    for (alpha, K), text in texts.items():
        expected = theirs(by_rank(table, K), qrels, [f"utility.{1 - alpha},{-alpha},0,0"], level)
        for query_id, values in expected.items():
            assert found[query_id][text] == pytest.approx(values["utility"] / K, abs=1e-9)


DOCUMENTS = [f"d{at}" for at in range(9)]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([-1, 0, 1, 2])),
    st.sampled_from([1, 2]),
)
def test_every_measure_is_that_of_trec_eval_with_pooled_unjudged_documents(
    docs: list[str], labels: dict[str, int], level: int
) -> None:
    labels["e"] = 0  # pytrec_eval does not come back when all labels are negative
    table = labels_table({("q", doc): float(label) for doc, label in labels.items()})
    assert largest_difference(rankings({"q": docs}), table, {"q": labels}, level) < 1e-12


def test_set_f_of_trec_eval_takes_the_square_of_beta() -> None:
    run, qrels = {"q": {"dA": 3.0, "dB": 2.0, "dC": 1.0}}, {"q": {"dA": 1, "dB": 1, "dE": 1, "dF": 1}}
    labels = labels_table({("q", doc): 1.0 for doc in qrels["q"]})
    judged = judge(rankings({"q": ["dA", "dB", "dC"]}), labels)
    for x in (0.5, 1.0, 2.0, 4.0):
        [(_, expected)] = theirs(run, qrels, [f"set_F.{x}"])["q"].items()
        for text in (f"SetF(alpha={1 / (1 + x)})", f"SetF(beta={math.sqrt(x)})"):
            assert ours(judged, [text])["q"][text] == pytest.approx(expected, abs=1e-12)


def test_trap_T2_scores_that_float32_cannot_tell_apart_are_told_apart(tmp_path: Path) -> None:
    for high, low in (("0.900000001", "0.9"), ("16777217", "16777216")):
        path = tmp_path / "a.run"
        path.write_text(f"q Q0 dA 1 {high} x\nq Q0 dB 2 {low} x\n")
        table, labels = read_rankings(path), labels_table({("q", "dA"): 1.0})
        assert ours(judge(table, labels), ["RR"])["q"]["RR"] == 1.0
        exact = {"q": {"dA": float(high), "dB": float(low)}}
        assert theirs(exact, {"q": {"dA": 1}}, ["recip_rank"])["q"]["recip_rank"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(p, marks=needs_data, id=f"{p.parts[-3]}-{p.name}") for p in RUNS])
def test_pytrec_eval_differs_on_real_scores_only_where_float32_ties_or_reorders_them(path: Path) -> None:
    table, (labels, qrels) = read_rankings(path), labels_of(path.parents[1])
    found = ours(judge(table, labels), ["AP", "nDCG@10"])
    scores = {
        query_id: dict(zip(docs, values, strict=True))
        for query_id, docs, values in zip(
            *(table.column(c).to_pylist() for c in ("query_id", "doc_ids", "scores")), strict=True
        )
    }
    for query_id, values in theirs(scores, qrels, ["map", "ndcg_cut.10"]).items():
        exact = np.array(list(scores[query_id].values()))
        ties = (np.diff(exact) != 0) & (np.diff(exact.astype(np.float32)) == 0)
        for text, name in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
            difference = abs(np.nan_to_num(found[query_id][text]) - values[name])
            assert difference < 1e-12 or ties.any()
