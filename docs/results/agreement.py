"""How far people agree with each other and models with people: every number of agreement.md.

python docs/results/agreement.py [FOLDER]    FOLDER holds csfcube, mtrag-human-ratings, ragchecker-human-pairs,
                                             trecdl-llm-labels and trec-rag25-labels
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ragauge.io import read_ratings
from ragauge.results import Agreement
from ragauge.stats import joint_agreement, pairwise_agreement

COEFFICIENTS = (
    "agreement",
    "kappa",
    "kappa_quadratic",
    "tau_b",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "ac1",
)
BINARY = ("agreement", "kappa", "alpha_nominal", "ac1")
"""With two categories the others equal one of these."""


def main(folder: Path) -> None:
    experts(folder / "csfcube/ratings.tsv")
    answers(folder / "mtrag-human-ratings/ratings.tsv")
    preferences(folder / "ragchecker-human-pairs")
    models(folder / "trecdl-llm-labels")
    rag(folder / "trec-rag25-labels/labels.tsv")
    selection(folder / "csfcube/ratings.tsv")


def experts(path: Path) -> None:
    """Four annotators of CSFCube, two a pair; clusters are queries."""
    columns = [f"annotator{n}" for n in range(1, 5)]
    table = read_ratings(path, units=["query_id", "doc_id"], raters=columns, cluster="query_id").to_pydict()
    ratings = [None if one is None else float(one) for one in table["rating"]]
    arguments = (table["unit_id"], table["rater"], ratings)
    found = [joint_agreement(*arguments, clusters=table["cluster"])]
    found += pairwise_agreement(*arguments, clusters=table["cluster"])
    show("CSFCube: experts, grades 0 to 3", found)
    yes = [None if one is None else float(one >= 2) for one in ratings]
    show("CSFCube: grade 2 or 3, or not", [joint_agreement(*arguments[:2], yes, clusters=table["cluster"])], BINARY)


def answers(path: Path) -> None:
    """Three raters of each answer of mtRAG; clusters are tasks, three answers each."""
    rows = pl.read_csv(path, separator="\t")
    for criterion in ("naturalness", "appropriateness", "completeness", "faithfulness", "win-rate"):
        part = rows.filter(pl.col("criterion") == criterion)
        units = (part["task_id"] + " " + part["model"]).to_list()
        found = joint_agreement(
            units, part["rater"].to_list(), part["value"].to_list(), clusters=part["task_id"].to_list()
        )
        top, n = Counter(part["value"].to_list()).most_common(1)[0]
        show(f"mtRAG: {criterion} ({n / len(part):.0%} of the ratings are {top:g})", [found])


def preferences(folder: Path) -> None:
    """Two annotators of RAGChecker, -2 to 2; clusters are the pairs: each is a query of its own."""
    rows = pl.read_csv(folder / "ratings.tsv", separator="\t")
    for criterion in ("correctness", "completeness", "overall"):
        columns = (rows["pair_id"].to_list(), rows["annotator"].to_list())
        show(f"RAGChecker: {criterion}", [joint_agreement(*columns, rows[criterion].to_list())])


def models(folder: Path) -> None:
    """NIST and each model, grades and at the cut, and two passes of one model."""
    rows = pl.concat(
        pl.read_csv(folder / f"labels.{year}.tsv", separator="\t", null_values="NA").with_columns(
            pl.col("query_id", "doc_id").cast(pl.String)
        )
        for year in (2019, 2020, 2021)
    )
    graded = ("umbrela_gpt4o", "umbrela_gpt4", "umbrela_llama32_pass1")
    show("TREC DL: people and a model, grades 0 to 3", [two(rows, "human", name) for name in graded])
    cuts = {"umbrela_gpt4o": 2, "umbrela_gpt4": 2, "umbrela_llama32_pass1": 2, "binary_gpt4o": 1, "exam_graded_gpt4": 4}
    at_cut = rows.with_columns(pl.col("human") >= 2, *(pl.col(name) >= cut for name, cut in cuts.items())).cast(
        dict.fromkeys(["human", *cuts], pl.Int64)
    )
    show("TREC DL: people and a model, relevant or not", [two(at_cut, "human", name) for name in cuts], BINARY)
    show(
        "TREC DL: a model and itself, or another",
        [two(rows, "umbrela_llama32_pass1", "umbrela_llama32_pass2"), two(rows, "umbrela_gpt4", "umbrela_gpt4o")],
    )
    matrix(two(rows, "human", "umbrela_gpt4o"))


def rag(path: Path) -> None:
    rows = pl.read_csv(path, separator="\t").with_columns(pl.col("query_id").cast(pl.String))
    found = two(rows, "human", "umbrela2")
    show("TREC RAG 2025: people and UMBRELA, grades 0 to 4", [found])
    matrix(found)


def selection(path: Path) -> None:
    """What happens to the experts' agreement when only some pairs are rated a second time."""
    columns = [f"annotator{n}" for n in range(1, 5)]
    rows = pl.read_csv(path, separator="\t").with_columns(pl.col(columns).cast(pl.Int64))
    units = (rows["query_id"] + " " + rows["doc_id"].cast(pl.String)).to_list()
    first, second = [], []
    for row in rows.select(columns).iter_rows():
        given = [one for one in row if one is not None]
        first.append(given[0])
        second.append(given[1] if len(given) > 1 else None)
    designs = {
        "all": second,
        "a random third": [one if at % 3 == 0 else None for at, one in enumerate(second)],
        "where the first grade is 0 or 1": [b if a <= 1 else None for a, b in zip(first, second, strict=True)],
        "where the first grade is 2 or 3": [b if a >= 2 else None for a, b in zip(first, second, strict=True)],
    }
    raters = ["first"] * len(units) + ["second"] * len(units)
    clusters = rows["query_id"].to_list() * 2
    found = {
        name: joint_agreement(units * 2, raters, first + other, clusters=clusters) for name, other in designs.items()
    }
    print("\n### CSFCube again: who is rated a second time\n")
    header = ["rated a second time", "pairs", "agreement", "kappa_quadratic", "alpha_ordinal", "warned of"]
    rows_ = [
        [
            name,
            one.n_units,
            *(cell(one, c) for c in header[2:5]),
            "yes" if any("depend" in w for w in one.warnings) else "no",
        ]
        for name, one in found.items()
    ]
    table(header, rows_)


def two(rows: pl.DataFrame, first: str, second: str) -> Agreement:
    """Two columns of labels; clusters are queries."""
    n = len(rows)
    units = (rows["query_id"] + " " + rows["doc_id"].cast(pl.String)).to_list() * 2
    ratings = rows[first].to_list() + rows[second].to_list()
    return joint_agreement(units, [first] * n + [second] * n, ratings, clusters=rows["query_id"].to_list() * 2)


def show(name: str, found: Sequence[Agreement], names: Sequence[str] = COEFFICIENTS) -> None:
    print(f"\n### {name}\n")
    shown = [c for c in names if any(c == one.name for f in found for one in f.coefficients)]
    rows = []
    for one in found:
        rows.append([_who(one), one.n_units, one.n_clusters, *(cell(one, name) for name in shown)])
    table(["raters", "units", "clusters", *shown], rows)
    about: dict[str, list[str]] = {}
    for one in found:
        for text in one.warnings:
            about.setdefault(text, []).append(_who(one))
    for text, who in about.items():
        print(f"\nWarned of ({', '.join(who)}): {text}.")


def _who(found: Agreement) -> str:
    return " - ".join(found.raters) if len(found.raters) == 2 else f"{len(found.raters)} together"


def cell(found: Agreement, name: str) -> str:
    one = next((c for c in found.coefficients if c.name == name), None)
    return "" if one is None else f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def matrix(found: Agreement) -> None:
    print(f"\nRows: {found.raters[0]}. Columns: {found.raters[1]}.\n")
    names = [f"{one:g}" for one in found.categories if not isinstance(one, str)]
    table(["", *names], [[name, *counts] for name, counts in zip(names, found.confusion, strict=True)])


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(one) for one in row) + " |")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3] / "shared/data")
