"""How many labels a second the measures read, how the time grows, and how much memory a stream of rankings takes.

    python bench/kernels.py [--rankings 10000 100000 1000000 10000000] [--rounds 3] [--stream 10000000]

P@10, T@10 and nDCG(ideal=retrieved)@10 of rankings of 20 labels that stand in an Arrow list column, on one core. Then a
Parquet file of rankings is written and read back in batches, in a process of its own whose largest memory is told.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ragauge.measures import parse_measure
from ragauge.ragged import Ragged, from_labels

MEASURES = ("P@10", "T@10", "nDCG(ideal=retrieved)@10")
WIDTH, BATCH = 20, 100_000


def label_column(n_rankings: int, rng: np.random.Generator, *, equal: bool) -> pa.ListArray:
    """Labels 0, 1, 2 that thin out; 20 a ranking, or 1 to 39 where not `equal`."""
    lengths = np.full(n_rankings, WIDTH) if equal else rng.integers(1, 2 * WIDTH, n_rankings)
    offsets = np.append(0, np.cumsum(lengths))
    labels = rng.choice(np.array([0.0, 1.0, 2.0]), offsets[-1], p=[0.8, 0.15, 0.05])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(labels))


def sums(column: "pa.ListArray | pa.ChunkedArray") -> np.ndarray:
    """The sum of each measure over the rankings."""
    labels = from_labels(column)
    no_pool = Ragged(np.zeros(0), np.zeros(labels.n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    return np.array([parse_measure(name).values(labels, no_pool).sum() for name in MEASURES])


def show_speed(n_rankings: int, rounds: int, rng: np.random.Generator, *, equal: bool) -> None:
    column = label_column(n_rankings, rng, equal=equal)
    n_labels, times = len(column.flatten()), []
    for _ in range(rounds):
        start = time.process_time()
        sums(column)
        times.append(time.process_time() - start)
    took = statistics.median(times)
    kind = f"{WIDTH} labels each" if equal else f"1 to {2 * WIDTH - 1} labels"
    print(
        f"{n_rankings:>9d} rankings of {kind:16s} {took:8.4f} s {n_labels / took / 1e6:7.0f} million labels/s",
        flush=True,
    )


def write_stream(path: Path, n_rankings: int, rng: np.random.Generator) -> None:
    schema = pa.schema([pa.field("labels", pa.list_(pa.float64()))])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(-(-n_rankings // BATCH)):
            writer.write_table(pa.table([label_column(BATCH, rng, equal=True)], schema=schema))


def stream(path: Path) -> None:
    """Reads the file in batches and prints what it took."""
    start, totals, n_rankings = time.process_time(), np.zeros(len(MEASURES)), 0
    for batch in pq.ParquetFile(path).iter_batches(BATCH):
        totals += sums(batch.column("labels"))
        n_rankings += batch.num_rows
    took, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    means = "  ".join(f"{name} {total / n_rankings:.6f}" for name, total in zip(MEASURES, totals, strict=True))
    print(f"{n_rankings:>9d} rankings from Parquet, {took:.2f} s of processor time, {peak:.2f} GB at most; {means}")


def show_stream(n_rankings: int) -> None:
    """Writing and reading in processes of their own: a process inherits the peak of the one that starts it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.parquet"
        for work in (["--write", str(n_rankings)], []):
            subprocess.run([sys.executable, __file__, "--file", str(path), *work], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rankings", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stream", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rng = np.random.default_rng(options.seed)
    if options.file:
        write_stream(options.file, options.write, rng) if options.write else stream(options.file)
        return
    for n_rankings in options.stream:
        show_stream(n_rankings)
    for equal in (True, False):
        for n_rankings in options.rankings:
            show_speed(n_rankings, options.rounds, rng, equal=equal)


if __name__ == "__main__":
    main()
