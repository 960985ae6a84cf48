"""How long `correlate` takes on millions of graded answers in a Parquet file, and how much memory, streamed in batches.

    python bench/correlate_stream.py [--rows 10000000] [--seed 0]

Writes the file to a temporary folder, group by group, and correlates it in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ragauge.ragged import segment_cumsum
from ragauge.schema import GRADED

RATIOS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
DATASETS = ("hotpot", "msmarco", "nq", "arxiv", "squad")
EMBEDDERS = ("minilm", "e5", "bge", "gte")
ROWS_A_GROUP = 280_000  # whole queries: 4 embedders x 7 ratios

CHILD = """
import resource, sys, time
from ragauge.io import graded_batches
from ragauge.study import correlate
from ragauge.study.cells import GRADED_COLUMNS
start, processor = time.perf_counter(), time.process_time()
found = correlate(graded_batches(sys.argv[1], GRADED_COLUMNS), alphas="log")
wall, processor = time.perf_counter() - start, time.process_time() - processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"correlate, streamed: {wall:.1f} s wall, {processor:.1f} s processor, {peak:.0f} MB at most")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graded.parquet"
        write_rows(path, options.rows, np.random.default_rng(options.seed))
        print(f"{options.rows} rows, {path.stat().st_size / 1e6:.0f} MB", flush=True)
        subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True)


def write_rows(path: Path, n_rows: int, rng: np.random.Generator) -> None:
    """Answers of made-up queries, each at 4 embedders and 7 ratios, a row group at a time."""
    with pq.ParquetWriter(path, GRADED) as writer:
        for done in range(0, n_rows, ROWS_A_GROUP):
            writer.write_table(rows_of_queries(done // 28, min(ROWS_A_GROUP, n_rows - done), rng))


def rows_of_queries(first_query: int, n_rows: int, rng: np.random.Generator) -> pa.Table:
    """One row group: hits thin out with rank, the grade is a noisy step of recall and precision."""
    each = np.arange(n_rows)
    local, embedder, ratio = each // 28, each // 7 % 4, np.array(RATIOS)[each % 7]
    n_queries = int(local.max()) + 1
    n_relevant = rng.integers(1, 8, n_queries)[local] * 2
    cutoff = (ratio * n_relevant).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(cutoff)])
    rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], cutoff)
    hit = rng.random(offsets[-1]) < np.repeat(rng.beta(2, 2, n_queries)[local], cutoff) / (1 + rank / 6)
    hit &= segment_cumsum(hit.astype(np.float64), offsets) <= np.repeat(n_relevant, cutoff)
    n_p = np.add.reduceat(hit.astype(np.int64), offsets[:-1])
    quality = 1.6 * n_p / n_relevant + 0.8 * n_p / cutoff + rng.normal(scale=0.6, size=n_rows)
    number = np.char.add("q", (first_query + np.arange(n_queries)).astype(str))
    columns = {
        "query_id": pa.array(number).take(pa.array(local)),
        "dataset": pa.array(DATASETS).take(pa.array((first_query + local) % 5)),
        "embedder": pa.array(EMBEDDERS).take(pa.array(embedder)),
        "n_candidates": pa.array(np.full(n_rows, 150)),
        "n_relevant": pa.array(n_relevant),
        "cutoff": pa.array(cutoff),
        "grade": pa.array(1.0 + np.searchsorted([0.3, 0.8, 1.3, 1.9], quality)),
        "labels": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(hit.astype(np.float64))),
        "n_positive_2k": pa.array((n_p + n_relevant + 1) // 2),
    }
    empty = {name: pa.nulls(n_rows, GRADED.field(name).type) for name in GRADED.names if name not in columns}
    return pa.table([(columns | empty)[name] for name in GRADED.names], schema=GRADED)


if __name__ == "__main__":
    main()
