"""What a model's labels are worth beside people's: every number of model_labels.md.

python docs/results/model_labels.py [FOLDER]    FOLDER holds trecdl-llm-labels, trecdl-2021-passage, trec-rag25-labels
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from ragauge.io import read_rankings
from ragauge.measures import judge, parse_measure, score
from ragauge.results import Corrected, Estimate
from ragauge.schema import LABELS
from ragauge.stats import calibrate_judge, choose_pairs, corrected_mean, stratified_mean

Floats = npt.NDArray[np.float64]

DRAWS = 1000
RUN_DRAWS = 400
BUDGET = 300
YEARS = (2019, 2020, 2021)
LLAMA = "umbrela_llama32_pass1"
JUDGES = {
    "UMBRELA, gpt-4o, grade >= 2": ("umbrela_gpt4o", 2),
    "UMBRELA, gpt-4, grade >= 2": ("umbrela_gpt4", 2),
    "yes or no, gpt-4o": ("binary_gpt4o", 1),
    "rubric, gpt-4, grade >= 4": ("exam_graded_gpt4", 4),
    "UMBRELA, llama-3.2, grade >= 2": (LLAMA, 2),
}


def main(folder: Path) -> None:
    pairs = pl.concat(
        pl.read_csv(folder / f"trecdl-llm-labels/labels.{year}.tsv", separator="\t", null_values="NA").with_columns(
            pl.lit(year).alias("year"), pl.col("query_id", "doc_id").cast(pl.String)
        )
        for year in YEARS
    )
    rag = pl.read_csv(folder / "trec-rag25-labels/labels.tsv", separator="\t")
    whole_queries(pairs)
    runs(pairs, folder / "trecdl-2021-passage/runs")
    grades(pairs)
    chosen_pairs(pairs)
    one_collection_more(rag)


def whole_queries(pairs: pl.DataFrame) -> None:
    """Share of relevant among the judged pairs of each query; people label n of the 150 queries."""
    title("Whole queries", f"{len(pairs)} pairs, {pairs['query_id'].n_unique()} queries, {DRAWS} draws")
    rows = []
    for name, (column, cut) in JUDGES.items():
        known = pairs.filter(pl.col(column).is_not_null())
        y, f, rates = by_query(known, "human", 2), by_query(known, column, cut), counts_by_query(known, column, cut)
        rows += [[name, f"{corr(y, f):.2f}", n, *resampled(y, f, n, rates)] for n in (15, 30, 50)]
    for name, column in (("UMBRELA, gpt-4o, mean grade / 3", "umbrela_gpt4o"), ("llama-3.2, mean grade / 3", LLAMA)):
        y, f, rates = by_query(pairs, "human", 2), mean_grade(pairs, column), counts_by_query(pairs, column, 2)
        rows += [[name, f"{corr(y, f):.2f}", n, *resampled(y, f, n, rates)[:-1], ""] for n in (15, 30, 50)]
    header = ["judge", "rho", "n", "people alone", "corrected, w = 1", "corrected, w tuned", "gain, w = 1"]
    table([*header, "gain, w tuned", "gain it shows", "Rogan-Gladen"], rows)


def resampled(y: Floats, f: Floats, n: int, rates: Floats) -> list[str]:
    """Coverage of the mean over all queries, and squared error of people alone over that of each estimator."""
    rng = np.random.default_rng(n)
    truth, covered, error, shown = y.mean(), np.zeros(3), np.zeros(4), []
    for _ in range(DRAWS):
        chosen = rng.choice(len(y), n, replace=False)
        found = [corrected(y, f, chosen, weight) for weight in (0.0, 1.0, None)]
        covered += [one.low <= truth <= one.high for one in found]
        means = [one.mean for one in found] + [rogan_gladen(f.mean(), rates[chosen].sum(0))]
        error += (np.array(means) - truth) ** 2
        shown.append(found[2].gain)
    gains = error[0] / error
    return [f"{share:.3f}" for share in covered / DRAWS] + [
        f"{gain:.2f}" for gain in (gains[1], gains[2], np.median(shown), gains[3])
    ]


def corrected(y: Floats, f: Floats, chosen: npt.NDArray[np.int64], weight: float | None) -> Corrected:
    """The mean of y over all, from f for all and y for those that were chosen."""
    human = np.full(len(y), np.nan)
    human[chosen] = y[chosen]
    return corrected_mean(human, f, measure="share", target="these", weight=weight)


def rogan_gladen(apparent: float, counts: Floats) -> float:
    """(apparent + specificity - 1) / (sensitivity + specificity - 1), rates from the pairs people labelled."""
    relevant_, hits, other, false = counts
    youden = hits / relevant_ - false / other
    return float(np.clip((apparent - false / other) / youden, 0, 1)) if youden > 0 else apparent


def counts_by_query(pairs: pl.DataFrame, column: str, cut: int, human_cut: int = 2) -> Floats:
    """Of each query: pairs relevant to people, how many the model found, other pairs, how many it took for relevant."""
    yes, seen = pl.col("human") >= human_cut, pl.col(column) >= cut
    sums = pairs.group_by("query_id").agg(
        yes.sum().alias("a"), (yes & seen).sum().alias("b"), (~yes).sum().alias("c"), (~yes & seen).sum().alias("d")
    )
    return sums.sort("query_id").select("a", "b", "c", "d").to_numpy().astype(float)


def runs(pairs: pl.DataFrame, folder: Path) -> None:
    """P@10 of the 66 runs of 2021, unjudged counted as not relevant; people label 30 of the 53 queries."""
    labels = pairs.filter(pl.col("year") == 2021)
    values = {
        path.name: (p_at_10(path, labels, "human"), p_at_10(path, labels, "umbrela_gpt4o"))
        for path in sorted(folder.glob("*.gz"))
    }
    people = {name: y for name, (y, _) in values.items()}
    baseline = "rankllm.BM25.run.gz"
    title("P@10 of runs", f"{len(values)} runs, {len(people[baseline])} queries, UMBRELA gpt-4o, people label 30")
    rng = np.random.default_rng(30)
    samples = [rng.choice(53, 30, replace=False) for _ in range(RUN_DRAWS)]
    one = [sampled_run(y, f, samples) for y, f in values.values()]
    differences = [(y - people[baseline], f - values[baseline][1]) for y, f in values.values()]
    other = [sampled_run(y, f, samples) for y, f in differences if np.ptp(y) > 0]
    rows = [["P@10", len(one), *quartiles(one)], ["P@10 less that of BM25", len(other), *quartiles(other)]]
    header = [
        "of each run",
        "runs",
        "rho, median (quartiles)",
        "model alone less people, median",
        "gain, median (quartiles)",
    ]
    table([*header, "coverage, people alone", "coverage, corrected"], rows)


def sampled_run(y: Floats, f: Floats, samples: Sequence[npt.NDArray[np.int64]]) -> list[float]:
    """rho, bias of the model, gain in squared error, and both coverages."""
    covered, error = np.zeros(2), np.zeros(2)
    for chosen in samples:
        found = [corrected(y, f, chosen, weight) for weight in (0.0, None)]
        covered += [one.low <= y.mean() <= one.high for one in found]
        error += [(one.mean - y.mean()) ** 2 for one in found]
    return [corr(y, f), float((f - y).mean()), float(error[0] / error[1]), *(covered / len(samples))]


def quartiles(rows: Sequence[Sequence[float]]) -> list[str]:
    low, middle, high = np.quantile(np.array(rows), [0.25, 0.5, 0.75], axis=0)
    mean = np.array(rows).mean(0)
    return [
        f"{middle[0]:.2f} ({low[0]:.2f} to {high[0]:.2f})",
        f"{middle[1]:+.3f}",
        f"{middle[2]:.2f} ({low[2]:.2f} to {high[2]:.2f})",
        f"{mean[3]:.3f}",
        f"{mean[4]:.3f}",
    ]


def p_at_10(path: Path, labels: pl.DataFrame, column: str) -> Floats:
    rows = labels.select("query_id", pl.col("doc_id").cast(pl.String), pl.col(column).cast(pl.Float64).alias("label"))
    table_ = rows.with_columns(pl.lit(None, pl.String).alias("reason"), pl.lit(column).alias("judge")).to_arrow()
    judged = judge(read_rankings(path, format="trec"), table_.cast(pa.schema(LABELS)))
    measure = parse_measure("P(rel=2)@10")
    scores = score(judged.sort_by("query_id"), [measure])
    return np.nan_to_num(scores.column(str(measure)).to_numpy())


def grades(pairs: pl.DataFrame) -> None:
    """What people say of each grade, by year, and how well one year's curve serves another."""
    title("Grades", "UMBRELA, gpt-4o; share that people call relevant (grade >= 2)")
    rows = []
    for year in YEARS:
        part = pairs.filter(pl.col("year") == year)
        y, grade = relevant(part), part["umbrela_gpt4o"].to_numpy()
        sure = grade >= 2
        found = [f"{y[grade == g].mean():.2f}" for g in range(4)]
        rates = (sure[y == 1].mean(), (~sure)[y == 0].mean())
        rows.append([year, *found, f"{y.mean():.3f}", f"{sure.mean():.3f}", f"{rates[0]:.2f}", f"{rates[1]:.2f}"])
    header = ["year", "grade 0", "1", "2", "3", "relevant, people", "relevant, model", "sensitivity", "specificity"]
    table(header, rows)
    title("Calibration", "mean squared error of the probability, cross-fitted by query over 5 folds")
    rows = []
    for name, (column, cut) in JUDGES.items():
        part = pairs.filter(pl.col(column).is_not_null())
        grade, y, query = part[column].to_numpy().astype(float), relevant(part), part["query_id"].to_list()
        found = [calibrate_judge(grade, y, query, method=method) for method in ("isotonic", "logistic")]
        label = ((grade >= cut) - y) ** 2
        rows.append(
            [name, f"{found[0].brier_constant:.3f}", f"{label.mean():.3f}", *(f"{one.brier:.3f}" for one in found)]
        )
    table(["judge", "the mean alone", "the label as it is", "isotonic", "logistic"], rows)


def chosen_pairs(pairs: pl.DataFrame) -> None:
    """People label 300 pairs of 2020 and 2021; what is known of the grades beforehand comes from 2019."""
    earlier, part = pairs.filter(pl.col("year") == 2019), pairs.filter(pl.col("year") > 2019)
    y, grade = relevant(part), part["umbrela_gpt4o"].to_numpy()
    curve = [relevant(earlier)[earlier["umbrela_gpt4o"].to_numpy() == g].mean() for g in range(4)]
    spread = {g: float(np.sqrt(p * (1 - p))) for g, p in enumerate(curve)}
    probability = np.array(curve)[grade]
    title("Single pairs", f"{len(y)} pairs of 2020 and 2021, people label {BUDGET}, {DRAWS} draws")
    designs: dict[str, Callable[[int], Corrected | Estimate]] = {
        "at random, people alone": lambda seed: at_random(y, probability, seed, 0.0),
        "at random, corrected by the 0/1 label, w = 1": lambda seed: at_random(y, grade >= 2, seed, 1.0),
        "at random, corrected by the 0/1 label, w tuned": lambda seed: at_random(y, grade >= 2, seed, None),
        "at random, corrected by the probability of the grade, w tuned": lambda seed: at_random(
            y, probability, seed, None
        ),
        "by grade, in proportion": lambda seed: by_grade(y, grade, seed, None),
        "by grade, Neyman": lambda seed: by_grade(y, grade, seed, spread),
    }
    rows, alone = [], 0.0
    for name, design in designs.items():
        found = [design(seed) for seed in range(DRAWS)]
        error = float(np.mean([(one.mean - y.mean()) ** 2 for one in found]))
        alone = alone or error
        covered = np.mean([one.low <= y.mean() <= one.high for one in found])
        width = np.mean([one.high - one.low for one in found]) / 2
        rows.append([name, f"{alone / error:.2f}", f"{covered:.3f}", f"{width:.4f}"])
    table(["pairs drawn", "gain", "coverage", "half width"], rows)


def at_random(y: Floats, f: npt.NDArray[np.generic], seed: int, weight: float | None) -> Corrected | Estimate:
    chosen = np.random.default_rng(seed).choice(len(y), BUDGET, replace=False)
    return corrected(y, f.astype(float), chosen, weight)


def by_grade(
    y: Floats, grade: npt.NDArray[np.int64], seed: int, spread: dict[int, float] | None
) -> Corrected | Estimate:
    choice = choose_pairs(grade, BUDGET, spread=spread, seed=seed)
    return stratified_mean(y[choice.index], choice)


def one_collection_more(rag: pl.DataFrame) -> None:
    """TREC RAG 2025: 22 queries."""
    title("TREC RAG 2025", f"{len(rag)} pairs, {rag['query_id'].n_unique()} queries, UMBRELA; people label 15 queries")
    rows = []
    for cut in (1, 2, 3):
        y, f = by_query(rag, "human", cut), by_query(rag, "umbrela2", cut)
        rows.append(
            [
                f">= {cut}",
                f"{y.mean():.3f}",
                f"{f.mean():.3f}",
                f"{corr(y, f):.2f}",
                *resampled(y, f, 15, counts_by_query(rag, "umbrela2", cut, cut)),
            ]
        )
    header = ["relevant", "people", "model", "rho", "people alone", "corrected, w = 1", "corrected, w tuned"]
    table([*header, "gain, w = 1", "gain, w tuned", "gain it shows", "Rogan-Gladen"], rows)


def relevant(pairs: pl.DataFrame) -> Floats:
    return (pairs["human"].to_numpy() >= 2).astype(float)


def by_query(pairs: pl.DataFrame, column: str, cut: int) -> Floats:
    """Share of the query's pairs at or above the cut, queries in order."""
    shares = pairs.group_by("query_id").agg((pl.col(column) >= cut).mean().alias("share")).sort("query_id")
    return shares["share"].to_numpy()


def mean_grade(pairs: pl.DataFrame, column: str) -> Floats:
    """Mean grade of the query's pairs, on 0 to 1, queries in order."""
    means = pairs.group_by("query_id").agg((pl.col(column) / 3).mean().alias("grade")).sort("query_id")
    return means["grade"].to_numpy()


def corr(y: Floats, f: Floats) -> float:
    return float(np.corrcoef(y, f)[0, 1])


def title(text: str, about: str) -> None:
    print(f"\n### {text}\n\n{about}\n")


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3] / "shared/data")
