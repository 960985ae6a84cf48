"""How long `correlate` takes on 61,608 graded answers, side by side with scipy called for each alpha.

    python bench/correlate_60k.py [--rows 61608] [--seed 0] [--every 28] [--bootstrap 1000]

Writes a file in the schema of the public retrieval-response data set to a temporary folder, reads it, correlates, and
compares the in-sample maxima over 702 alphas with those of scipy, alpha by alpha, on every 28th segment. scipy's time
is scaled up to all segments.
"""

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

RATIOS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # 1 is 2K of 0.5, 2 of 1, 3 of 1.5, 4 of 2, 6 of 3; 4 and 6 have no 2K row
DATASETS = ("hotpot", "msmarco", "nq", "arxiv", "squad")
EMBEDDERS = {"minilm": 1.2, "e5": 1.7, "bge": 1.9, "gte": 1.5}  # how far it lifts a positive above a negative
COEFFICIENTS = ("spearman", "pearson", "tau_b", "tau_c")
WITH_ALPHA = ("F", "T(form=count)")


def make_rows(n_rows: int, seed: int) -> list[dict[str, Any]]:
    """Graded answers as the public file has them.

    N_p is 2..15, a query's difficulty a draw of Beta(2, 2) (so that the number of hits is overdispersed), a ranking the
    order of noisy scores in which positives stand higher (so that labels thin out with rank), the grade 1..5 the noisy
    step of a latent quality that recall and, less, precision drive.
    """
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    number = 0
    while len(rows) < n_rows:
        dataset = DATASETS[number % len(DATASETS)]
        rows += _rows_of_query(rng, f"{dataset}-{number:05d}")
        number += 1
    return rows[:n_rows]


def _rows_of_query(rng: np.random.Generator, query_id: str) -> list[dict[str, Any]]:
    n_relevant, n_candidates = int(rng.integers(2, 16)), int(rng.integers(100, 200))
    ease = rng.beta(2, 2)
    rows = []
    for embedder, lift in EMBEDDERS.items():
        scores = rng.normal(size=n_candidates)
        scores[:n_relevant] += 2 * ease * lift
        labels = (np.argsort(-scores) < n_relevant).astype(int)
        for ratio in RATIOS:
            if (ratio * n_relevant) % 1 == 0:  # an odd N_p has no half
                rows.append(_row(rng, query_id, embedder, labels, int(ratio * n_relevant), n_relevant))
    return rows


def _row(
    rng: np.random.Generator, query_id: str, embedder: str, labels: np.ndarray, cutoff: int, n_relevant: int
) -> dict[str, Any]:
    top = labels[:cutoff]
    precision, recall = top.sum() / cutoff, top.sum() / n_relevant
    quality = 1.6 * recall + 0.8 * precision + rng.normal(scale=0.6)
    return {
        "id": query_id,
        "E": embedder,
        "Nc": len(labels),
        "Np": n_relevant,
        "K": cutoff,
        "grade": int(1 + np.searchsorted([0.3, 0.8, 1.3, 1.9], quality)),
        "answer_ideal": f"The ideal answer to {query_id}.",
        "answer_topK": f"What the top {cutoff} say about {query_id}.",
        "P": float(precision),
        "R": float(recall),
        "rank": (np.flatnonzero(labels) + 1).tolist(),
        "inK": top.tolist(),
    }


def values_at(rows: pa.Table, measure: str, alphas: np.ndarray) -> np.ndarray:
    """The measure of each row at each alpha by its formula, NaN where undefined; rows that lack a count left out."""
    if measure == "Fe(x=2)":
        rows = rows.filter(pc.is_valid(rows["n_positive_2k"]))
    n = np.array([sum(row) for row in rows["labels"].to_pylist()], dtype=float)
    cutoff, n_relevant = (rows[name].to_numpy().astype(float) for name in ("cutoff", "n_relevant"))
    deep = rows["n_positive_2k"].to_numpy().astype(float) if measure == "Fe(x=2)" else n_relevant
    alpha = alphas[:, None]
    if measure == "T(form=count)":
        return (1 - alpha) * n - alpha * (cutoff - n) / cutoff
    with np.errstate(invalid="ignore"):
        return n / (alpha * cutoff + (1 - alpha) * deep)


def rounded(values: np.ndarray, digits: int | None) -> np.ndarray:
    """Values with so many significant digits; None = as they are."""
    return values if digits is None else np.array([float(f"{value:.{digits - 1}e}") for value in values])


def has_floating_ties(rows: pa.Table, measure: str, alphas: np.ndarray) -> bool:
    """Whether, at some alpha, values that differ in their last bits are equal to 12 digits."""
    return any(
        len(np.unique(values)) != len(np.unique(rounded(values, 12))) for values in values_at(rows, measure, alphas)
    )


def scipy_best(rows: pa.Table, measure: str, alphas: np.ndarray, *, digits: int | None = 12) -> dict[str, float]:
    """The in-sample maxima of one segment by scipy, alpha by alpha, on values rounded to `digits`."""
    from scipy import stats

    known = pc.is_valid(rows["n_positive_2k"]) if measure == "Fe(x=2)" else pc.is_valid(rows["grade"])
    grade = rows.filter(known)["grade"].to_numpy()
    best = dict.fromkeys(COEFFICIENTS, np.nan)
    for values in values_at(rows, measure, alphas):
        if len(values) < 3 or np.isnan(values).any():
            continue
        values = rounded(values, digits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.ConstantInputWarning)
            found = (
                stats.spearmanr(values, grade)[0],
                stats.pearsonr(values, grade)[0],
                stats.kendalltau(values, grade, variant="b")[0],
                stats.kendalltau(values, grade, variant="c")[0],
            )
        best = {name: float(np.fmax(best[name], value)) for name, value in zip(COEFFICIENTS, found, strict=True)}
    return best


def rows_of_segment(graded: pa.Table, segment: dict[str, Any]) -> pa.Table:
    """The rows of `graded` that belong to a row of the correlations by ratio."""
    ratio = pc.divide(graded["cutoff"].cast(pa.float64()), graded["n_relevant"].cast(pa.float64()))
    inside = pc.and_(pc.equal(graded["dataset"], segment["dataset"]), pc.equal(graded["embedder"], segment["embedder"]))
    return graded.filter(pc.and_(inside, pc.less(pc.abs(pc.subtract(ratio, segment["ratio"])), 0.05)))


def segments_of(found: pa.Table) -> list[dict[str, Any]]:
    """Each segment of the correlations once, in their order."""
    seen = {(row["dataset"], row["embedder"], row["segment"]): row for row in found.to_pylist()}
    return list(seen.values())


def largest_difference(graded: pa.Table, found: pa.Table, segments: list[dict[str, Any]], alphas: np.ndarray) -> float:
    """Between the maxima in `found` and scipy's, over the segments, measures with alpha and coefficients."""
    keys = ("dataset", "embedder", "segment", "measure", "coefficient")
    ours = {tuple(row[key] for key in keys): row["best_value"] for row in found.to_pylist()}
    worst = 0.0
    for segment in segments:
        rows = rows_of_segment(graded, segment)
        for measure in WITH_ALPHA:
            for name, value in scipy_best(rows, measure, alphas).items():
                got = ours[(segment["dataset"], segment["embedder"], segment["segment"], measure, name)]
                if np.isnan(value) != np.isnan(got):
                    return np.inf
                worst = max(worst, 0.0 if np.isnan(value) else abs(value - got))
    return worst


def main() -> None:
    from ragauge.io import read_graded
    from ragauge.stats.alpha import LOG_ALPHAS
    from ragauge.study import correlate

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=61_608)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=28, help="scipy does every n-th segment; its time is scaled up")
    parser.add_argument("--bootstrap", type=int, default=1000, help="replicates; 0 = none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples_graded.json"
        path.write_text(json.dumps(make_rows(options.rows, options.seed)))
        print(f"{options.rows} rows, {path.stat().st_size / 1e6:.0f} MB, {os.cpu_count()} cores")
        correlate(read_graded(path).slice(0, 100))  # imports are not what is timed
        start = time.process_time()
        graded = timed("read_graded", lambda: read_graded(path))
    found = timed("correlate, 702 alphas", lambda: correlate(graded, alphas="log"))
    ours = time.process_time() - start
    timed("correlate, all of 0..1", lambda: correlate(graded))
    timed("correlate by width, all of 0..1", lambda: correlate(graded, by="width"))
    if options.bootstrap:
        title = f"correlate, all of 0..1, {options.bootstrap} replicates"
        timed(title, lambda: correlate(graded, bootstrap=options.bootstrap))
    segments = segments_of(found)
    chosen = segments[:: options.every]
    start = time.process_time()
    title = f"scipy, 702 alphas, {len(chosen)} of {len(segments)} segments"
    difference = timed(title, lambda: largest_difference(graded, found, chosen, np.array(LOG_ALPHAS)))
    scipy = (time.process_time() - start) * len(segments) / len(chosen)
    print(
        f"scipy on all segments would take {scipy:.0f} s of processor time, {scipy / ours:.0f} times read and correlate"
    )
    print(f"largest difference of the maxima: {difference:.0e} (four coefficients of F and T(form=count))")


def timed(what: str, work: Callable[[], Any]) -> Any:
    """What `work` gives; its wall and processor time are printed."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{what:60s} {wall:6.1f} s wall {processor:6.1f} s processor", flush=True)
    return result


if __name__ == "__main__":
    main()
