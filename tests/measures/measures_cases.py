"""What the tests of the measures share: small tables, and every measure once more, slowly, from its formula."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isnan, log2, nan

import pyarrow as pa

from ragauge.measures import Measure, judge, parse_measure, score
from ragauge.schema import JUDGED, LABELS, RANKINGS

Labels = Sequence[float | None]


def rankings(documents: dict[str, Sequence[str]], run: str = "run") -> pa.Table:
    """One ranking a query, without labels."""
    rows = [
        {
            "query_id": query_id,
            "query": None,
            "run": run,
            "doc_ids": list(ids),
            "texts": [None] * len(ids),
            "scores": [None] * len(ids),
            "labels": [None] * len(ids),
        }
        for query_id, ids in documents.items()
    ]
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def labels_table(labels: dict[tuple[str, str], float | None]) -> pa.Table:
    rows = [{"query_id": query_id, "doc_id": doc_id, "label": label} for (query_id, doc_id), label in labels.items()]
    return pa.Table.from_pylist(rows, schema=LABELS)


def judged(rows: Sequence[Labels], pools: Sequence[Labels | None] | None = None) -> pa.Table:
    """Judged rankings from the labels alone."""
    names = {f"q{at}": [f"d{rank}" for rank in range(len(row))] for at, row in enumerate(rows)}
    table = judge(rankings(names), None)
    columns = {"labels": [list(row) for row in rows], "pool_labels": pools or [None] * len(rows)}
    for name, values in columns.items():
        at = JUDGED.get_field_index(name)
        table = table.set_column(at, JUDGED.field(name), pa.array(values, JUDGED.field(name).type))
    return table


def value(text: str, row: Labels, pool: Labels | None = None) -> float | None:
    """The measure `text` of one ranking."""
    measure = parse_measure(text)
    return score(judged([row], [pool]), [measure]).column(str(measure))[0].as_py()


def same(actual: float | None, expected: float | None, tolerance: float = 1e-12) -> bool:
    """Equal, where NaN equals NaN only and null equals null only."""
    if actual is None or expected is None:
        return actual is expected
    if isnan(actual) or isnan(expected):
        return isnan(actual) and isnan(expected)
    return abs(actual - expected) <= tolerance * max(1.0, abs(expected))


def _positives(row: Labels, rel: float) -> int:
    return sum(label is not None and label >= rel for label in row)


def _ratio(above: float, below: float) -> float:
    return above / below if below else nan


def _dcg(row: Labels) -> float:
    return sum(max(label or 0.0, 0.0) / log2(rank + 1) for rank, label in enumerate(row, start=1))


def _f(row: Labels, pool: Labels, K: int, alpha: float, rel: float) -> float:
    total = _positives(pool, rel)
    return _ratio(_positives(row[:K], rel), alpha * K + (1 - alpha) * total) if total else nan


def _fe(row: Labels, K: int, alpha: float, x: float, rel: float) -> float:
    depth = floor(Fraction(str(x)) * K + Fraction(1, 2))
    return _ratio(_positives(row[:K], rel), alpha * K + (1 - alpha) * _positives(row[:depth], rel))


def _t(row: Labels, K: int, alpha: float, form: str, unjudged: str, rel: float) -> float:
    top = row[:K]
    n_p = _positives(top, rel)
    n_n = sum(label < rel if label is not None else unjudged == "negative" for label in top)
    return (1 - alpha) * n_p - alpha * n_n / K if form == "count" else ((1 - alpha) * n_p - alpha * n_n) / K


def _ndcg(row: Labels, pool: Labels, K: int, ideal: str) -> float:
    known = [label for label in (row[:K] if ideal == "retrieved" else pool) if label is not None]
    best = _dcg(sorted(known, reverse=True)[:K])
    return _dcg(row[:K]) / best if best else (0.0 if ideal == "retrieved" else nan)


def _sdcg(row: Labels, K: int, max_label: float) -> float:
    return _dcg(row[:K]) / _dcg([max_label] * K)


def _judged(row: Labels, K: int) -> float:
    return _ratio(sum(label is not None for label in row[:K]), len(row[:K]))


@dataclass(frozen=True)
class Case:
    """One measure: how it is written without @K, the slow reference, and the invariance sets it belongs to."""

    text: str
    reference: Callable[[Labels, Labels, int], float]
    unchanged_by_not_relevant: bool = True
    monotone: bool = True

    def at(self, K: int) -> Measure:
        return parse_measure(f"{self.text}@{K}")


CASES = (
    Case("n_p", lambda row, pool, K: _positives(row[:K], 1)),
    Case("P", lambda row, pool, K: _positives(row[:K], 1) / K),
    Case("P(rel=2)", lambda row, pool, K: _positives(row[:K], 2) / K),
    Case("R", lambda row, pool, K: _ratio(_positives(row[:K], 1), _positives(pool, 1))),
    Case("R(rel=0.5)", lambda row, pool, K: _ratio(_positives(row[:K], 0.5), _positives(pool, 0.5))),
    Case("F", lambda row, pool, K: _f(row, pool, K, 0.5, 1)),
    Case("F(alpha=0)", lambda row, pool, K: _f(row, pool, K, 0, 1)),
    Case("F(alpha=0.3,rel=2)", lambda row, pool, K: _f(row, pool, K, 0.3, 2)),
    Case("Fe", lambda row, pool, K: _fe(row, K, 0.5, 2, 1), monotone=False),
    Case("Fe(alpha=0,x=1.5)", lambda row, pool, K: _fe(row, K, 0, 1.5, 1), monotone=False),
    Case("T", lambda row, pool, K: _t(row, K, 0.5, "paper", "ignore", 1), False),
    Case("T(alpha=0.3,unjudged=negative)", lambda row, pool, K: _t(row, K, 0.3, "paper", "negative", 1), False),
    Case("T(alpha=0.9,form=count,rel=2)", lambda row, pool, K: _t(row, K, 0.9, "count", "ignore", 2), False),
    Case("Success", lambda row, pool, K: float(_positives(row[:K], 1) > 0)),
    Case("nDCG", lambda row, pool, K: _ndcg(row, pool, K, "qrels")),
    Case("nDCG(ideal=retrieved)", lambda row, pool, K: _ndcg(row, pool, K, "retrieved"), monotone=False),
    Case("SDCG(max_label=3)", lambda row, pool, K: _sdcg(row, K, 3)),
    Case("Judged", lambda row, pool, K: _judged(row, K), False),
)
"""A new measure adds its row here: it is then compared with its reference and tried in the invariance sets."""
