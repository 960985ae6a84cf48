"""How many labels each design takes to know mean P@10 within +-0.03, and whether its interval holds.

Every number of label_designs.md:

    python docs/results/label_designs.py ../shared/data

The folder holds cranfield, cisi, cacm, medline, npl-vaswani, lisa, adi, trecdl-2019-passage and -2020-, one folder
each. Prints Markdown.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from markdown_page import lines, table, title

from ragauge.results import Estimate
from ragauge.retrieval.bm25 import BM25
from ragauge.stats import (
    MIN_AUC,
    RelevanceModel,
    choose_pairs,
    confidence_sequence,
    draw_documents,
    fit_relevance,
    label_spread,
    mean_interval,
    pair_sample_mean,
    queries_needed,
    rank_features,
    sampled_mean,
    two_stage_mean,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

K = 10
WITHIN = 0.03
RUNS = 400
SLOW_RUNS = 100
STRATA = 5
PILOT = 100
CLASSIC = ("cranfield", "cisi", "cacm", "medline", "npl-vaswani", "lisa", "adi")
PASSAGE = ("trecdl-2019-passage", "trecdl-2020-passage")
ABOUT = {"measure": f"P@{K}", "bounds": (0.0, 1.0)}


@dataclass(frozen=True)
class Ranked:
    """The top K by BM25 of each query: whether relevant, and the score standardised within the query."""

    name: str
    y: Floats
    score: Floats


@dataclass(frozen=True)
class Run:
    """One simulated evaluation."""

    labels: int
    half_width: float
    holds: bool


def main(folder: Path) -> None:
    started = time.monotonic()
    collections = all_ranked(folder, K)
    spreads(collections)
    designs(collections)
    stopped(collections)
    separation(collections, all_ranked(folder, 2 * K))
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)


def spreads(collections: Sequence[Ranked]) -> None:
    """What decides which design is cheapest."""
    title("The collections", f"top {K} by BM25; strata: share of the variance of labels that lies between them")
    rows = []
    for one in collections:
        spread = label_spread(one.y.ravel(), np.repeat(np.arange(len(one.y)), K))
        effect = 1 + (K - 1) * spread.icc
        share = between(one)
        rows.append([one.name, len(one.y), f"{spread.mean:.3f}", f"{spread.icc:.2f}", f"{effect:.1f}", f"{share:.2f}"])
    table(["collection", "queries", "mean P@10", "icc", "1 + 9 icc", f"{STRATA} strata by score"], rows)


def between(one: Ranked) -> float:
    stratum = strata(one.score).ravel()
    means = np.bincount(stratum, weights=one.y.ravel()) / np.bincount(stratum)
    return float(means[stratum].var() / one.y.var())


def designs(collections: Sequence[Ranked]) -> None:
    """Labels for the half width, and coverage there, when the number of queries is planned."""
    names = list(planned())
    title(
        f"Labels for +-{WITHIN}",
        f"queries drawn with replacement; {RUNS} runs each; labels, and in brackets the share of runs whose 95 % "
        "interval holds the truth (binomial error .011)",
    )
    rows, ratios = [], []
    for one in collections:
        found = [at_half_width(one, simulate) for simulate in planned().values()]
        labels = np.array([np.mean([run.labels for run in runs]) for runs in found])
        ratios.append(labels / labels[0])
        rows.append([one.name, *(cell(runs) for runs in found)])
    rows.append(["labels, all = 1 (geometric mean)", *(f"{r:.2f}" for r in np.exp(np.log(ratios).mean(axis=0)))])
    table(["collection", *names], rows)


Simulate = Callable[[Ranked, int, np.random.Generator], Run]


def planned() -> Mapping[str, Simulate]:
    return {
        "all": lambda one, n, rng: whole(one, n, rng),
        "two-per-query": lambda one, n, rng: few(one, n, 2, rng),
        "one-per-query": lambda one, n, rng: few(one, n, 1, rng),
        "stratified, a query a label": lambda one, n, rng: stratified(one, n, n, rng),
        "stratified, 5 queries a label": lambda one, n, rng: stratified(one, n, 5 * n, rng),
    }


def at_half_width(one: Ranked, simulate: Simulate) -> list[Run]:
    """Runs with as many queries as make the half width what is wanted, by a large trial."""
    rng = np.random.default_rng(5)
    trial = np.mean([simulate(one, 2000, rng).half_width for _ in range(5)])
    n = round(2000 * float(trial / WITHIN) ** 2)
    return [simulate(one, n, rng) for _ in range(RUNS)]


def whole(one: Ranked, n: int, rng: np.random.Generator) -> Run:
    found = mean_interval(one.y[rng.integers(len(one.y), size=n)].mean(axis=1), **ABOUT)
    return run_of(one, found, n * K)


def few(one: Ranked, n: int, per_query: int, rng: np.random.Generator) -> Run:
    values, query = drawn(one, n, per_query, rng)
    return run_of(one, sampled_mean(values, query, [K] * n, cutoff=K, **ABOUT), n * per_query)


def stratified(one: Ranked, n: int, n_queries: int, rng: np.random.Generator) -> Run:
    """n of the documents of all queries, in proportion from strata by score."""
    queries = rng.integers(len(one.y), size=n_queries)
    stratum = strata(one.score[queries])
    choice = choose_pairs(stratum.ravel(), n, seed=int(rng.integers(2**32)))
    values = one.y[queries].ravel()[choice.index] / K
    population = np.bincount(
        np.repeat(np.arange(n_queries), K) * STRATA + stratum.ravel(), minlength=n_queries * STRATA
    ).reshape(n_queries, STRATA)
    return run_of(one, pair_sample_mean(values, choice.index // K, choice.stratum, population, **ABOUT), n)


def stopped(collections: Sequence[Ranked]) -> None:
    """Designs that stop by themselves, against looking at an ordinary interval until it is narrow."""
    title(
        f"Until +-{WITHIN}",
        f"one document a query; labels: mean (deviation); until: a pilot of {PILOT}, {RUNS} runs; until-anytime: "
        f"{SLOW_RUNS} runs (binomial error .022); peeking: an ordinary interval after every query from the 10th on",
    )
    rows = []
    for one in collections:
        rng = np.random.default_rng(6)
        two = [two_stage(one, rng) for _ in range(RUNS)]
        peek = [peeking(one, rng) for _ in range(RUNS)]
        anytime = [sequential(one, rng) for _ in range(SLOW_RUNS)]
        rows.append([one.name, *(part for runs in (two, anytime, peek) for part in spread_cells(runs))])
    names = [f"{name}: {what}" for name in ("until", "until-anytime", "peeking") for what in ("labels", "coverage")]
    table(["collection", *names], rows)


def two_stage(one: Ranked, rng: np.random.Generator) -> Run:
    first, _ = drawn(one, PILOT, 1, rng)
    n = queries_needed(first, half_width=WITHIN, bounds=(0, 1))
    more, _ = drawn(one, n - PILOT, 1, rng)
    return run_of(one, two_stage_mean(np.concatenate([first, more]), n_pilot=PILOT, **ABOUT), n)


def sequential(one: Ranked, rng: np.random.Generator) -> Run:
    values, _ = drawn(one, 9000, 1, rng)
    found = confidence_sequence(values, method="bernstein")
    at = int(np.argmax(found.high - found.low <= 2 * WITHIN))
    if not at:
        raise RuntimeError("more values are needed")
    holds = bool(found.low[at] <= one.y.mean() <= found.high[at])
    return Run(at + 1, float(found.high[at] - found.low[at]) / 2, holds)


def peeking(one: Ranked, rng: np.random.Generator) -> Run:
    """What not to do."""
    values, _ = drawn(one, 1100, 1, rng)  # at 1 / 4, the largest variance, 1068 are enough
    n = np.arange(1, len(values) + 1)
    mean = np.cumsum(values) / n
    half = 1.96 * np.sqrt(mean * (1 - mean) / n)
    at = 9 + int(np.argmax(half[9:] <= WITHIN))
    return Run(at + 1, float(half[at]), bool(abs(mean[at] - one.y.mean()) <= half[at]))


def drawn(one: Ranked, n: int, per_query: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Labels of a few documents of each of n queries, and their queries."""
    ranks = draw_documents([K] * n, per_query=per_query, seed=int(rng.integers(2**32)))
    query = np.repeat(np.arange(n), per_query)
    chosen = rng.integers(len(one.y), size=n)
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *ranks])
    return one.y[chosen[query], flat], query


def strata(score: Floats) -> Ints:
    edges = np.quantile(score, np.arange(1, STRATA) / STRATA)
    return np.asarray(np.searchsorted(edges, score, side="right"))


def run_of(one: Ranked, found: Estimate, labels: int) -> Run:
    return Run(labels, (found.high - found.low) / 2, bool(found.low <= one.y.mean() <= found.high))


def cell(runs: Sequence[Run]) -> str:
    return f"{np.mean([run.labels for run in runs]):.0f} ({np.mean([run.holds for run in runs]):.3f})"


def spread_cells(runs: Sequence[Run]) -> list[str]:
    labels = [run.labels for run in runs]
    return [f"{np.mean(labels):.0f} ({np.std(labels):.0f})", f"{np.mean([run.holds for run in runs]):.3f}"]


def separation(*depths: Sequence[Ranked]) -> None:
    """Whether rank and score tell relevant from not, on queries the model has not seen."""
    title(
        "Can rank and score stop a ranking?",
        f"logistic regression, cross-fitted by query; area under the curve, calibration error; used from {MIN_AUC} on",
    )
    rows = []
    for of_depths in zip(*depths, strict=True):
        models = [separating(one) for one in of_depths]
        figures = [f"{value:.3f}" for model in models for value in (model.auc, model.calibration_error)]
        rows.append([of_depths[0].name, *figures, sum(model.trusted for model in models)])
    names = [f"top {one[0].y.shape[1]}: {what}" for one in depths for what in ("area", "error")]
    table(["collection", *names, "used"], rows)


def separating(one: Ranked) -> RelevanceModel:
    features = np.vstack([rank_features(row.tolist()) for row in one.score])
    return fit_relevance(features, one.y.ravel(), np.repeat(np.arange(len(one.y)), one.y.shape[1]))


def all_ranked(folder: Path, depth: int) -> list[Ranked]:
    classic = [ranked(name, [folder / name], 1, depth) for name in CLASSIC]
    return [*classic, ranked("TREC DL 19-20", [folder / name for name in PASSAGE], 2, depth)]


def ranked(name: str, folders: Sequence[Path], rel: float, depth: int) -> Ranked:
    parts = [top(folder, rel, depth) for folder in folders]
    y, raw = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    centred = raw - raw.mean(axis=1, keepdims=True)
    return Ranked(name, y, centred / np.maximum(centred.std(axis=1, keepdims=True), 1e-12))


def top(folder: Path, rel: float, depth: int) -> tuple[Floats, Floats]:
    """Label and score of the top documents of each query that has a relevant document."""
    documents = [
        (row["doc_id"], f"{row.get('title') or ''}\n{row['text']}") for row in lines(folder / "corpus.jsonl.gz")
    ]
    relevant: dict[str, set[str]] = {}
    for row in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query_id, doc_id, grade = row.split("\t")
        if float(grade) >= rel:
            relevant.setdefault(query_id, set()).add(doc_id)
    queries = [row for row in lines(folder / "queries.jsonl") if row["query_id"] in relevant]
    scores = BM25().index([text for _, text in documents]).scores([row["text"] for row in queries])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    y = np.array(
        [
            [documents[at][0] in relevant[row["query_id"]] for at in ranks]
            for row, ranks in zip(queries, order, strict=True)
        ]
    )
    return y.astype(np.float64), np.take_along_axis(scores, order, axis=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
