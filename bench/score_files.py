"""From TREC files to mean scores: how long, and how much memory, side by side with other tools and a bare parse.

    python bench/score_files.py [--queries 10000 100000] [--rounds 3] [--peers-python PATH]

Writes a run (100 documents a query) and qrels (50 labels a query) to a temporary folder. Each contender reads both and
gives the means of nDCG@10, P@10, R@100, AP@100 and RR, in a process of its own, the contenders taking turns. Wall and
processor time begin after imports and a first call on three queries (some compile at first use) and end with the means;
"whole process" is from its start to its end, imports and first call included. polars only parses the same bytes.
pytrec_eval, ranx and ir_measures run in the interpreter given by --peers-python; without it, they do not run.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEPTH, JUDGED = 100, 50
HERE = ("ragauge", "polars")
PEERS = ("pytrec_eval", "ranx", "ir_measures")


def ragauge(run: Path, qrels: Path) -> list[float]:
    import numpy as np

    from ragauge.io import read_labels, read_rankings
    from ragauge.measures import judge, parse_measure, score

    measures = [parse_measure(name) for name in ("nDCG@10", "P@10", "R@100", "AP@100", "RR")]
    scores = score(judge(read_rankings(run), read_labels(qrels)), measures)
    return [float(np.nanmean(scores.column(str(measure)).to_numpy())) for measure in measures]


def polars(run: Path, qrels: Path) -> list[float]:
    import polars as pl

    for path in (run, qrels):
        pl.read_csv(path, separator=" ", has_header=False)
    return []


def pytrec_eval(run: Path, qrels: Path) -> list[float]:
    import pytrec_eval

    with qrels.open() as file:
        labels = pytrec_eval.parse_qrel(file)
    with run.open() as file:
        rankings = pytrec_eval.parse_run(file)
    names = ("ndcg_cut_10", "P_10", "recall_100", "map_cut_100", "recip_rank")
    wanted = {"ndcg_cut.10", "P.10", "recall.100", "map_cut.100", "recip_rank"}
    values = pytrec_eval.RelevanceEvaluator(labels, wanted).evaluate(rankings).values()
    return [statistics.fmean(query[name] for query in values) for name in names]


def ranx(run: Path, qrels: Path) -> list[float]:
    from ranx import Qrels, Run, evaluate

    names = ["ndcg@10", "precision@10", "recall@100", "map@100", "mrr"]
    found = evaluate(Qrels.from_file(str(qrels), kind="trec"), Run.from_file(str(run), kind="trec"), names)
    return [float(found[name]) for name in names]


def ir_measures(run: Path, qrels: Path) -> list[float]:
    import ir_measures as ir

    measures = [ir.nDCG @ 10, ir.P @ 10, ir.R @ 100, ir.AP @ 100, ir.RR]
    found = ir.calc_aggregate(measures, ir.read_trec_qrels(str(qrels)), ir.read_trec_run(str(run)))
    return [float(found[measure]) for measure in measures]


CONTENDERS: dict[str, Callable[[Path, Path], list[float]]] = {
    "ragauge": ragauge,
    "polars": polars,
    "pytrec_eval": pytrec_eval,
    "ranx": ranx,
    "ir_measures": ir_measures,
}


def write_files(folder: Path, n_queries: int, seed: int) -> None:
    """A run and qrels; documents of a query are a walk through 5 million ids, half of its labels are retrieved."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(seed)
    n_documents = 5_000_000
    steps = rng.integers(1, 20_000, (n_queries, 1)) * 2 + 1
    documents = (rng.integers(0, n_documents, (n_queries, 1)) + np.arange(2 * DEPTH) * steps) % n_documents
    judged = np.take_along_axis(documents, np.argsort(rng.random(documents.shape), axis=1)[:, :JUDGED], axis=1)
    scores = np.sort(rng.normal(10, 3, (n_queries, DEPTH)), axis=1)[:, ::-1]
    queries = np.arange(n_queries)
    run = {
        "query": pl.Series(queries.repeat(DEPTH)).cast(str).str.zfill(6),
        "Q0": "Q0",
        "document": pl.Series(documents[:, :DEPTH].ravel()).cast(str).str.zfill(7),
        "rank": np.tile(np.arange(1, DEPTH + 1), n_queries),
        "score": scores.ravel().round(6),
        "tag": "bm25",
    }
    qrels = {
        "query": pl.Series(queries.repeat(JUDGED)).cast(str).str.zfill(6),
        "0": 0,
        "document": pl.Series(judged.ravel()).cast(str).str.zfill(7),
        "label": rng.choice([0, 0, 0, 1, 1, 2], judged.size),
    }
    for name, columns in (("x.run", run), ("x.qrels", qrels)):
        frame = pl.DataFrame(columns).with_columns(
            query=pl.format("q{}", "query"), document=pl.format("doc{}", "document")
        )
        frame.write_csv(folder / name, separator=" ", include_header=False)


def first_lines(source: Path, target: Path, n: int) -> None:
    with source.open() as whole:
        target.write_text("".join(next(whole) for _ in range(n)))


def contend(name: str, folder: Path) -> dict[str, Any]:
    """What one contender needs, measured in this process."""
    (folder / "small").mkdir(exist_ok=True)
    for file, n_lines in (("x.run", 3 * DEPTH), ("x.qrels", 3 * JUDGED)):
        first_lines(folder / file, folder / "small" / file, n_lines)
    CONTENDERS[name](folder / "small" / "x.run", folder / "small" / "x.qrels")
    wall, processor = time.perf_counter(), time.process_time()
    means = CONTENDERS[name](folder / "x.run", folder / "x.qrels")
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"wall": wall, "processor": processor, "peak": peak, "means": means}


def compare(folder: Path, interpreters: dict[str, str], rounds: int) -> None:
    """Prints the medians as a Markdown table; the contenders take turns."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in interpreters}
    for _ in range(rounds):
        for name, python in interpreters.items():
            command, start = [python, __file__, "--contender", name, "--folder", str(folder)], time.perf_counter()
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[name].append({**json.loads(out), "whole": time.perf_counter() - start})
    columns = {"wall": "s wall", "processor": "s processor", "peak": "GB at most", "whole": "s whole process"}
    medians = {
        name: {key: statistics.median(one[key] for one in runs) for key in columns} for name, runs in found.items()
    }
    print(f"| | {' | '.join(columns.values())} | wall, processor, memory in multiples of ours |")
    print("|---" * (len(columns) + 2) + "|")
    for name, theirs in medians.items():
        against = ", ".join(f"{theirs[key] / medians['ragauge'][key]:.2f}" for key in ("wall", "processor", "peak"))
        print(f"| {name} | {' | '.join(f'{theirs[key]:.2f}' for key in columns)} | {against} |")
    print()
    for name, runs in found.items():
        if runs[0]["means"]:
            print(f"    {name:12s}" + "".join(f"  {mean:.6f}" for mean in runs[0]["means"]), flush=True)


def show_start(folder: Path, rounds: int) -> None:
    """How long it takes to import the package, and to score 30 queries from the shell."""
    for file, n_lines in (("x.run", 30 * DEPTH), ("x.qrels", 30 * JUDGED)):
        first_lines(folder / file, folder / f"few.{file}", n_lines)
    score = ["score", str(folder / "few.x.run"), "--labels", str(folder / "few.x.qrels"), "-m", "nDCG@10", "--quiet"]
    start = "from ragauge.cli.main import main; main()"
    for title, command in (
        ("import ragauge", ["-c", "import ragauge"]),
        ("import ragauge, and score", ["-c", "import ragauge; ragauge.score"]),
        ("ragauge score, 30 queries", ["-c", start, *score]),
    ):
        times = []
        for _ in range(rounds):
            begin = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            times.append(time.perf_counter() - begin)
        print(f"    {title:28s}{statistics.median(times):6.2f} s whole process")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers-python", help="an interpreter with pytrec_eval, ranx and ir_measures")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_files(options.folder, options.write, options.seed)
        return
    if options.contender:
        print(json.dumps(contend(options.contender, options.folder)))
        return
    interpreters = dict.fromkeys(HERE, sys.executable)
    interpreters |= dict.fromkeys(PEERS, options.peers_python) if options.peers_python else {}
    for n_queries in options.queries:
        with tempfile.TemporaryDirectory() as folder:
            # in a process of its own, as a process inherits the peak of the one that starts it: this one stays small
            writing = ["--write", str(n_queries), "--seed", str(options.seed), "--folder", folder]
            subprocess.run([sys.executable, __file__, *writing], check=True)
            sizes = ", ".join(f"{(Path(folder) / name).stat().st_size / 1e6:.0f} MB" for name in ("x.run", "x.qrels"))
            print(f"\n{n_queries} queries, {DEPTH} documents and {JUDGED} labels each ({sizes}):\n", flush=True)
            compare(Path(folder), interpreters, options.rounds)
            if n_queries == options.queries[-1]:
                print("\nFrom a standstill:\n")
                show_start(Path(folder), 5)


if __name__ == "__main__":
    main()
