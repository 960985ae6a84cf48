"""How near the estimates of the number of relevant documents come: every number of relevant_count.md.

    python docs/results/relevant_count.py ../shared/data

The folder holds cranfield, cisi, cacm, medline, npl-vaswani, lisa, adi and trecdl-2019-passage, -2020-, -2021-, one
folder each. Rankings (BM25, and TF-IDF reduced to 200 dimensions) are kept in the folder for temporary files. Prints
Markdown.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from markdown_page import lines, table, title
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from ragauge.io import read_labels, scan_rankings
from ragauge.measures import Measure, Policies, fe_alpha, parse_measure
from ragauge.quality.counted import assess_counted
from ragauge.quality.evaluate import assess
from ragauge.quality.label_plan import candidates, draw_ranks
from ragauge.quality.systems import named_apart
from ragauge.retrieval.bm25 import BM25, words
from ragauge.stats import (
    CountDraws,
    DeepSample,
    associate,
    calibrated_counts,
    chao2,
    chapman,
    cluster_vectors,
    clustered_counts,
    drawn_mean,
    query_counts,
    rank_decay_counts,
    tail_counts,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

K = 10
DEPTH = 500
REPEATS = 40
RUNS = 300
DRAWS = 400
COLLECTIONS = ("cranfield", "cisi", "cacm", "medline", "npl-vaswani", "lisa", "adi")
PASSAGE = ("rankllm.BM25", "rankllm.SPLADE_P_P_ENSEMBLE_DISTIL")


@dataclass(frozen=True)
class Ranked:
    """One retriever on one collection.

    Attributes:
        name: Of both.
        y: Whether the document at each rank is relevant, shape (queries, depth).
        doc: A number for the document at each rank, -1 where there is none.
        total: Relevant documents of each query in the whole collection.
        vectors: Of the documents, by their numbers; empty where there are none.
    """

    name: str
    y: npt.NDArray[np.bool_]
    doc: Ints
    total: Floats
    vectors: Floats

    @property
    def found(self) -> Floats:
        return self.y[:, :K].sum(axis=1).astype(np.float64)

    def near(self, x: float) -> Floats:
        return self.y[:, : round(x * K)].sum(axis=1).astype(np.float64)


def main(folder: Path) -> None:
    started = time.monotonic()
    pairs = [*classic(folder), passages(folder)]
    print(f"{sum(len(pair) for pair in pairs)} rankings of {len(pairs)} collections\n")
    found_near(pairs)
    estimators(pairs)
    collections(pairs)
    coverage(pairs)
    split(pairs)
    systems(folder / "trecdl-2021-passage")
    print(f"\n{time.monotonic() - started:.0f} s", file=sys.stderr)


def found_near(pairs: Sequence[Sequence[Ranked]]) -> None:
    """What the top 2K holds of all that is relevant."""
    title("In the top 2K", "share of the relevant documents of all queries in the top 20, and in the ranking at all")
    rows = [
        [one.name, len(one.total), f"{one.total.mean():.0f}", *(f"{part / one.total.sum():.2f}" for part in parts)]
        for one in (one for pair in pairs for one in pair)
        for parts in [(one.near(2).sum(), one.y.sum())]
    ]
    table(["ranking", "queries", "mean N", "top 2K", "all ranks"], rows)


Estimate = Callable[[Ranked, Ranked, int], Floats]


def estimators(pairs: Sequence[Sequence[Ranked]]) -> None:
    """The table of estimators; N from each, against the truth."""
    title("Estimators", f"K = {K}, alpha = .5; means over rankings; those that draw: {REPEATS} draws")
    header = ["labels a query", "estimator", "sum bias of N", "its size", "mean rel. error of N", "size of bias F"]
    rows = [["10", "P@K alone", *[""] * 5, *precision_alone(pairs)]]
    for labels, name, estimate, repeats in methods():
        cells = [
            np.mean([compare(own, estimate(own, other, seed)) for seed in range(repeats)], axis=0)
            for pair in pairs
            for own, other in (pair, pair[::-1])
            if own.vectors.size or not name.startswith("clusters")
        ]
        mean, size = np.mean(cells, axis=0), np.mean(np.abs(cells), axis=0)
        shown = [size[1], size[2], size[3], mean[4], mean[5], size[6], size[7]]
        rows.append([labels, name, f"{mean[0]:+.2f}", f"{size[0]:.2f}", *(f"{one:.3f}" for one in shown)])
    table([*header, "MAE F", "Spearman F", "Spearman N", "bias R", "bias sum n / sum N"], rows)


def precision_alone(pairs: Sequence[Sequence[Ranked]]) -> list[str]:
    value = [spearman(one.found, f_true(one)) for pair in pairs for one in pair]
    return [f"{np.mean(value):.3f}", "", "", ""]


def compare(one: Ranked, counts: Floats) -> list[float]:
    """Bias of the total, mean relative error, bias and mean absolute error of F, two correlations, biases of recall."""
    known = ~np.isnan(counts)
    n, true, found = np.where(known, counts, 0.0), one.total, one.found
    f = fe_alpha(found, K, np.maximum(n, found), 0.5)
    truth = f_true(one)
    recall = np.divide(found, np.maximum(n, found), out=np.zeros_like(found), where=found > 0)
    return [
        n.sum() / true.sum() - 1,
        float(np.mean(np.abs(n - true) / true)),
        float(np.mean(f - truth)),
        float(np.mean(np.abs(f - truth))),
        spearman(f, truth),
        spearman(n, true),
        float(np.mean(recall - found / true)),
        found.sum() / max(n.sum(), 1.0) - found.sum() / true.sum(),
    ]


def methods() -> Iterator[tuple[str, str, Estimate, int]]:
    yield "20", "own list, 2K", lambda own, other, seed: own.near(2), 1
    yield "20", "union of two systems' top K", lambda own, other, seed: union(own, other, 1), 1
    yield "40", "union of two systems' top 2K", lambda own, other, seed: union(own, other, 2), 1
    yield "40", "Chapman, two top 2K", lambda own, other, seed: overlap(own, other, "chapman"), 1
    yield "40", "Chao2, two top 2K", lambda own, other, seed: overlap(own, other, "chao2"), 1
    yield "20", "Horvitz-Thompson, 10 deep a query", lambda own, other, seed: per_query(own, 10, seed), 5
    yield "20", "rank decay, top 2K alone", lambda own, other, seed: decay(own, 0, seed), 1
    yield "22", "rank decay, top 2K and 2 deep", lambda own, other, seed: decay(own, 2, seed), 10
    yield "20", "clusters of the top 100, 10 clusters", lambda own, other, seed: clustered(own, 100), 1
    yield "20", f"clusters of the top {DEPTH}, 10 clusters", lambda own, other, seed: clustered(own, DEPTH), 1
    yield "22", "**2K x c**, 2 deep a query", lambda own, other, seed: scaled(own, 2, seed).values, REPEATS
    yield "25", "2K x c, 5 deep a query", lambda own, other, seed: scaled(own, 5, seed).values, REPEATS
    yield "22", "2K x c by terciles of n_2K, 2 deep", lambda own, other, seed: terciles(own, 2, seed), REPEATS
    yield "30", "own list, 3K", lambda own, other, seed: own.near(3), 1


def collections(pairs: Sequence[Sequence[Ranked]]) -> None:
    """Bias of mean F and R, ranking by ranking."""
    title("Bias by collection", f"mean over queries; 2K x c: mean of {REPEATS} draws and, after +-, their deviation")
    rows = []
    for one in (one for pair in pairs for one in pair):
        own = compare(one, one.near(2))
        drawn = np.array([compare(one, scaled(one, 2, seed).values) for seed in range(REPEATS)])
        mean, sd = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
        scale = [f"{mean[2]:+.3f} +- {sd[2]:.3f}", f"{mean[6]:+.3f}", f"{mean[7]:+.3f}"]
        rows.append([one.name, f"{f_true(one).mean():.3f}", f"{own[2]:+.3f}", f"{own[6]:+.3f}", *scale])
    table(["ranking", "F", "own list: F", "own list: R", "2K x c: F", "2K x c: R", "2K x c: sum n / sum N"], rows)


def coverage(pairs: Sequence[Sequence[Ranked]]) -> None:
    """Samples of 50 queries; does the 95 % interval of mean F, or R, hold the mean over all queries?"""
    title("Coverage", f"{RUNS} samples of 50 queries, {DRAWS} replicates; nominal .95, binomial error .013")
    rows = []
    for one in (one for pair in pairs for one in pair):
        rng, target, recall = np.random.default_rng(7), f_true(one).mean(), (one.found / one.total).mean()
        hits = np.zeros(7)
        for seed in range(RUNS):
            chosen = rng.integers(len(one.total), size=50)
            part = Ranked(one.name, one.y[chosen], one.doc[chosen], one.total[chosen], one.vectors)
            parts = [query_counts(part.near(2), n_draws=DRAWS, seed=seed)]
            parts += [scaled(part, deep, seed, draws=DRAWS) for deep in (2, 5)]
            for at, counts in enumerate(parts):
                f = fe_alpha(part.found, K, np.maximum(counts.draws, part.found), 0.5)
                interval = drawn_mean(np.asarray(f), counts)
                hits[at] += interval.low <= target <= interval.high
                hits[4 + at] += interval.high - interval.low
            interval = drawn_mean(part.found / np.maximum(parts[1].draws, np.maximum(part.found, 0.5)), parts[1])
            hits[3] += interval.low <= recall <= interval.high
        rows.append([one.name, *(f"{share:.2f}" for share in hits[:4] / RUNS), *(f"{w:.3f}" for w in hits[4:] / RUNS)])
    names = ["own list: F", "2K x c, 2 deep: F", "5 deep: F", "2 deep: R"]
    table(["ranking", *names, *(f"width of {name}" for name in names[:3])], rows)


def split(pairs: Sequence[Sequence[Ranked]]) -> None:
    """One factor for all queries, or one for each third of them by n_2K."""
    title("One factor, or three", f"2 deep labels a query, {REPEATS} draws; MAE F, Spearman N and deviation of mean F")
    rows = []
    for one in (one for pair in pairs for one in pair):
        both = []
        for estimate in (
            lambda seed, one=one: scaled(one, 2, seed).values,
            lambda seed, one=one: terciles(one, 2, seed),
        ):
            cells = np.array([compare(one, estimate(seed)) for seed in range(REPEATS)])
            both += [f"{cells[:, 2].mean():+.3f}", f"{cells[:, 3].mean():.3f}", f"{cells[:, 5].mean():.2f}"]
            both.append(f"{cells[:, 2].std(ddof=1):.3f}")
        rows.append([one.name, *both])
    names = ["bias F", "MAE F", "Spearman N", "sd"]
    table(["ranking", *(f"one: {name}" for name in names), *(f"three: {name}" for name in names)], rows)


def systems(folder: Path) -> None:
    """Are systems put in the right order? Kendall's tau with the order by all labels."""
    files = sorted((folder / "runs").glob("*.run.gz"))
    rankings = named_apart([(str(path), scan_rankings(path).table) for path in files])
    labels = read_labels(folder / "qrels.tsv")
    near = {depth: pooled(labels, rankings, depth) for depth in (K, 2 * K)}
    n_runs = pc.count_distinct(rankings.column("run")).as_py()
    title(
        "Order of systems",
        f"TREC DL 2021, {n_runs} runs, {pc.count_distinct(labels.column('query_id'))} queries, K = {K}",
    )
    f, recall = (parse_measure(f"{name}(rel=2)@{K}") for name in ("F", "R"))
    truth = {measure: assessed(rankings, labels, measure, "union") for measure in (f, recall)}
    plain = assessed(rankings, labels, parse_measure(f"P(rel=2)@{K}"), "union")
    rows = []
    for name, used, estimator in (
        ("own list, 2K", labels, "own-list"),
        (f"union of all systems' top {K}", near[K], "union"),
        (f"union of all systems' top {2 * K}", near[2 * K], "union"),
    ):
        means = [assessed(rankings, used, measure, estimator) for measure in (f, recall)]
        taus = [kendall(mean, truth[measure]) for mean, measure in zip(means, (f, recall), strict=True)]
        rows.append([name, *(f"{tau:.3f}" for tau in taus), f"{np.mean(means[0]):.3f}", f"{np.mean(means[1]):.3f}"])
    zeros = assessed(rankings, labels, recall, "own-list", undefined=0.0)
    rows.append(
        [
            "own list, 2K; R = 0 where it found nothing",
            "",
            f"{kendall(zeros, truth[recall]):.3f}",
            "",
            f"{np.mean(zeros):.3f}",
        ]
    )
    deeper = assessed(rankings, labels, parse_measure(f"Fe(x=3,rel=2)@{K}"), "union")
    rows.append(["own list, 3K (Fe(x=3))", f"{kendall(deeper, truth[f]):.3f}", "", f"{np.mean(deeper):.3f}", ""])
    rows.append(
        ["P@10", *(f"{kendall(plain, truth[measure]):.3f}" for measure in (f, recall)), f"{np.mean(plain):.3f}", ""]
    )
    rows.append(["all labels", "1", "1", *(f"{np.mean(truth[measure]):.3f}" for measure in (f, recall))])
    table(["N from", "tau of F", "tau of R", "mean F", "mean R"], rows)


def assessed(
    rankings: pa.Table, labels: pa.Table, measure: Measure, estimator: str, *, undefined: float = nan
) -> Floats:
    """The mean of each run, over the queries where it is defined unless `undefined` has a value."""
    policies = Policies(ties="trec")
    if measure.needs_pool:
        found = assess_counted(rankings, labels, [measure], policies, estimator=estimator).assessment
    else:
        found = assess(rankings, labels, [measure], policies)
    values = np.nan_to_num(found.scores.column(found.scores.column_names[-1]).to_numpy(), nan=undefined)
    run = np.array(found.scores.column("run").to_pylist())
    return np.array([np.nanmean(values[run == name]) for name in found.estimates])


def pooled(labels: pa.Table, rankings: pa.Table, depth: int) -> pa.Table:
    """The labels of documents in the top `depth` of some run."""
    pool = candidates(rankings, depth=depth).select(["query_id", "doc_id"])
    kept = labels.join(pool, ["query_id", "doc_id"], join_type="left semi")
    return kept.select(labels.column_names)


def union(own: Ranked, other: Ranked, x: int) -> Floats:
    return np.array([len(both[0] | both[1]) for both in relevant_sets(own, other, x)], dtype=np.float64)


def overlap(own: Ranked, other: Ranked, form: str) -> Floats:
    sets = relevant_sets(own, other, 2)
    n1, n2, m = (np.array(column) for column in zip(*((len(a), len(b), len(a & b)) for a, b in sets), strict=True))
    found = chapman(n1, n2, m) if form == "chapman" else chao2(n1 + n2 - m, n1 + n2 - 2 * m, m, n_lists=2)
    return found.values


def relevant_sets(own: Ranked, other: Ranked, x: int) -> list[tuple[set[int], set[int]]]:
    tops = [(one.doc[:, : x * K], one.y[:, : x * K]) for one in (own, other)]
    (d1, y1), (d2, y2) = tops
    return [(set(d1[q][y1[q]].tolist()), set(d2[q][y2[q]].tolist())) for q in range(len(d1))]


def per_query(one: Ranked, deep: int, seed: int) -> Floats:
    """Horvitz-Thompson below K, in strata of each query."""
    seeds = np.random.default_rng(seed).integers(2**32, size=len(one.total)).tolist()
    sizes, drawn, positives, owner = [], [], [], []
    for query, own in enumerate(seeds):
        rank = np.flatnonzero(one.doc[query, K:] >= 0) + K + 1
        if not len(rank):
            continue
        choice = draw_ranks(rank, near=K, ratio=4, n=deep, seed=own)
        sizes += choice.sizes.tolist()
        drawn += np.bincount(choice.stratum).tolist()
        positives += np.bincount(choice.stratum, weights=one.y[query, rank[choice.index] - 1]).tolist()
        owner += [query] * len(choice.sizes)
    return tail_counts(one.found, DeepSample(sizes, drawn, positives), owner)


def scaled(one: Ranked, deep: int, seed: int, *, draws: int = 1) -> CountDraws:
    """2K x c."""
    sample, _ = deep_sample(one, deep, seed)
    return calibrated_counts(one.near(2), sample, n_draws=draws, seed=seed)


def deep_sample(one: Ranked, deep: int, seed: int) -> tuple[DeepSample, tuple[Ints, Ints, Ints]]:
    """Strata of all queries together; with them the query, rank and stratum of each drawn document."""
    query, place = np.nonzero(one.doc[:, 2 * K :] >= 0)
    choice = draw_ranks(place + 2 * K + 1, near=2 * K, ratio=2, n=deep * len(one.total), seed=seed)
    at_query, at_rank = query[choice.index], place[choice.index] + 2 * K + 1
    label = one.y[at_query, at_rank - 1]
    drawn, positives = np.bincount(choice.stratum), np.bincount(choice.stratum, weights=label)
    return DeepSample(choice.sizes, drawn, positives), (at_query, at_rank, choice.stratum)


def terciles(one: Ranked, deep: int, seed: int) -> Floats:
    """2K x c with a factor for each third of the queries by n_2K, post-stratified; bare strata are merged."""
    near = one.near(2)
    _, (query, rank, _) = deep_sample(one, deep, seed)
    order = np.argsort(near, kind="stable")
    counts = np.full(len(near), nan)
    for part in np.array_split(order, 3):
        inside = np.isin(query, part)
        label = one.y[query[inside], rank[inside] - 1]
        edges = [2 * K, 4 * K, 8 * K, one.y.shape[1]]
        stratum = np.searchsorted(edges[1:], rank[inside], side="left").clip(max=2)
        sizes = np.array([(one.doc[part, low:high] >= 0).sum() for low, high in pairwise(edges)])
        drawn, positives = np.bincount(stratum, minlength=3), np.bincount(stratum, weights=label, minlength=3)
        if (drawn[sizes > 0] == 0).any():
            sizes, drawn, positives = (np.array([column.sum()]) for column in (sizes, drawn, positives))
        if near[part].sum() == 0:  # nothing to multiply: the tail in equal parts
            counts[part] = (sizes * positives / np.maximum(drawn, 1)).sum() / len(part)
            continue
        counts[part] = calibrated_counts(near[part], DeepSample(sizes, drawn, positives), n_draws=1).values
    return counts


def decay(one: Ranked, deep: int, seed: int) -> Floats:
    query, place = np.nonzero(one.doc >= 0)
    label = np.where(place < 2 * K, one.y[query, place].astype(np.float64), nan)
    if deep:
        _, (at_query, at_rank, _) = deep_sample(one, deep, seed)
        code = query * one.doc.shape[1] + place
        where = np.searchsorted(code, at_query * one.doc.shape[1] + at_rank - 1)
        label[where] = one.y[at_query, at_rank - 1]
    return rank_decay_counts(place + 1, label, query, n_queries=len(one.total), n_draws=1).values


def clustered(one: Ranked, depth: int) -> Floats:
    """Labels of the top 2K spread within clusters."""
    documents = one.doc[:, :depth]
    cluster = np.stack([cluster_vectors(one.vectors[row], 10) for row in documents])
    label = np.where(np.arange(documents.shape[1]) < 2 * K, one.y[:, :depth].astype(np.float64), nan)
    query = np.repeat(np.arange(len(documents)), documents.shape[1])
    return clustered_counts(label.ravel(), cluster.ravel(), query, n_queries=len(documents))


def f_true(one: Ranked) -> Floats:
    return np.asarray(fe_alpha(one.found, K, one.total, 0.5))


def spearman(x: Floats, y: Floats) -> float:
    return associate(np.round(x, 10), np.round(y, 10)).spearman


def kendall(x: Floats, y: Floats) -> float:
    return associate(np.round(x, 10), np.round(y, 10)).tau_b


def classic(folder: Path) -> Iterator[list[Ranked]]:
    cache = Path(tempfile.gettempdir()) / "ragauge_relevant_count.npz"
    if not cache.exists():
        np.savez(cache, **{key: value for name in COLLECTIONS for key, value in ranked(folder / name).items()})
    with np.load(cache) as kept:
        for name in COLLECTIONS:
            total, vectors = kept[f"{name}/total"].astype(np.float64), kept[f"{name}/vectors"]
            yield [
                Ranked(f"{name}, {run}", kept[f"{name}/{run}/y"], kept[f"{name}/{run}/doc"], total, vectors)
                for run in ("BM25", "LSA-200")
            ]


def ranked(folder: Path) -> Mapping[str, npt.NDArray[np.generic]]:
    """The rankings of one collection, queries with a relevant document alone."""
    documents = [
        (row["doc_id"], f"{row.get('title') or ''}\n{row['text']}") for row in lines(folder / "corpus.jsonl.gz")
    ]
    relevant: dict[str, set[str]] = {}
    for row in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query_id, doc_id, grade = row.split("\t")
        if float(grade) > 0:
            relevant.setdefault(query_id, set()).add(doc_id)
    queries = [row for row in lines(folder / "queries.jsonl") if row["query_id"] in relevant]
    asked, texts = [row["text"] for row in queries], [text for _, text in documents]
    y = np.array([[doc_id in relevant[row["query_id"]] for doc_id, _ in documents] for row in queries])
    found: dict[str, npt.NDArray[np.generic]] = {f"{folder.name}/total": y.sum(axis=1)}
    similar, vectors = latent(texts, asked)
    found[f"{folder.name}/vectors"] = vectors
    for run, scores in (("BM25", BM25().index(texts).scores(asked)), ("LSA-200", similar)):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        found[f"{folder.name}/{run}/doc"] = order
        found[f"{folder.name}/{run}/y"] = np.take_along_axis(y, order, axis=1)
    return found


def latent(texts: Sequence[str], queries: Sequence[str]) -> tuple[Floats, Floats]:
    """Cosine similarities of queries and documents by TF-IDF in 200 dimensions, and the documents' vectors."""
    vocabulary: dict[str, int] = {}
    for text in texts:
        for word in words(text):
            vocabulary.setdefault(word, len(vocabulary))
    counts, asked = (weights(each, vocabulary) for each in (texts, queries))
    idf = np.log(len(texts) / np.bincount(counts.indices, minlength=len(vocabulary)))
    counts.data, asked.data = counts.data * idf[counts.indices], asked.data * idf[asked.indices]
    _, _, axes = svds(counts, k=min(200, min(counts.shape) - 2), v0=np.ones(min(counts.shape)))
    vectors, points = counts @ axes.T, asked @ axes.T
    unit = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in (vectors, points)]
    return unit[1] @ unit[0].T, unit[0]


def weights(texts: Sequence[str], vocabulary: Mapping[str, int]) -> csr_array:
    """1 + ln tf of each known word."""
    rows = [Counter(vocabulary[word] for word in words(text) if word in vocabulary) for text in texts]
    offsets = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    values = 1 + np.log(np.array([n for row in rows for n in row.values()], dtype=np.float64))
    return csr_array((values, columns, offsets), shape=(len(texts), len(vocabulary)))


def passages(folder: Path) -> list[Ranked]:
    """TREC DL 2019 and 2020, grades 2 and 3 relevant; a document nobody judged is not."""
    labels: dict[tuple[str, str], bool] = {}
    rankings: dict[str, dict[str, list[str]]] = {run: {} for run in PASSAGE}
    for year in (2019, 2020):
        home = folder / f"trecdl-{year}-passage"
        for row in read_labels(home / "qrels.tsv").to_pylist():
            labels[f"{year} {row['query_id']}", row["doc_id"]] = (row["label"] or 0) >= 2
        for run in PASSAGE:
            for row in scan_rankings(home / f"runs/{run}.run.gz").table.to_pylist():
                rankings[run][f"{year} {row['query_id']}"] = row["doc_ids"]
    totals = Counter(query_id for (query_id, _), relevant in labels.items() if relevant)
    query_ids = sorted(totals)
    numbers = {
        doc_id: at for at, doc_id in enumerate({doc for run in rankings.values() for q in run.values() for doc in q})
    }
    found = []
    for run, by_query in rankings.items():
        y, doc = np.zeros((len(query_ids), 100), dtype=np.bool_), np.full((len(query_ids), 100), -1)
        for at, query_id in enumerate(query_ids):
            ids = by_query.get(query_id, [])[:100]
            doc[at, : len(ids)] = [numbers[doc_id] for doc_id in ids]
            y[at, : len(ids)] = [labels.get((query_id, doc_id), False) for doc_id in ids]
        total = np.array([totals[query_id] for query_id in query_ids], dtype=np.float64)
        found.append(Ranked(f"TREC DL 19-20, {run.split('.')[1][:6]}", y, doc, total, np.zeros(0)))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
