"""What the tests of the measures share: small tables, and every measure once more, slowly, from its formula."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor, isnan, log2, nan
from typing import Any

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


def known(row: Labels) -> list[float | None]:
    """The labels as every measure but infAP sees them: a negative one is no label."""
    return [None if label is None or label < 0 else label for label in row]


def _hits(row: Labels, rel: float) -> list[int]:
    return [int(label is not None and label >= rel) for label in row]


def _positives(row: Labels, rel: float) -> int:
    return sum(_hits(row, rel))


def _negatives(row: Labels, rel: float, unjudged: str = "ignore") -> int:
    return sum(label < rel if label is not None else unjudged == "negative" for label in row)


def _expected(row: Labels) -> tuple[float, float]:
    """Expected positives and negatives where labels are probabilities."""
    judged = [label for label in row if label is not None]
    return sum(judged), sum(1 - label for label in judged)


def _ratio(above: float, below: float) -> float:
    return above / below if below else nan


GAINS: dict[str, Callable[[float], float]] = {
    "linear": lambda label: label,
    "exponential": lambda label: 2.0**label - 1,
    "binary": lambda label: float(label >= 1),
}


def _dcg(row: Labels, gain: str = "linear") -> float:
    return sum(GAINS[gain](label or 0.0) / log2(rank + 1) for rank, label in enumerate(row, start=1))


def _recall(row: Labels, pool: Labels, K: int | None, rel: float, cap: bool = False) -> float:
    total = _positives(pool, rel)
    return _ratio(_positives(row[:K], rel), min(total, K) if cap and K else total)


def _f(row: Labels, pool: Labels, slots: int, alpha: float, rel: float) -> float:
    """`row` is already cut; `slots` is K, or the number of documents returned."""
    total = _positives(pool, rel)
    return _ratio(_positives(row, rel), alpha * slots + (1 - alpha) * total) if total else nan


def _fe(row: Labels, K: int, alpha: float, x: float, rel: float) -> float:
    depth = floor(Fraction(str(x)) * K + Fraction(1, 2))
    return _ratio(_positives(row[:K], rel), alpha * K + (1 - alpha) * _positives(row[:depth], rel))


def _t(n_p: float, n_n: float, K: int, alpha: float, form: str = "paper") -> float:
    return (1 - alpha) * n_p - alpha * n_n / K if form == "count" else ((1 - alpha) * n_p - alpha * n_n) / K


def _rr(row: Labels, rel: float) -> float:
    hits = _hits(row, rel)
    return 1 / (hits.index(1) + 1) if any(hits) else 0.0


def _ap(row: Labels, pool: Labels, rel: float) -> float:
    hits = _hits(row, rel)
    return _ratio(sum(sum(hits[:i]) / i for i in range(1, len(hits) + 1) if hits[i - 1]), _positives(pool, rel))


def _rprec(row: Labels, pool: Labels, rel: float) -> float:
    total = _positives(pool, rel)
    return _ratio(_positives(row[:total], rel), total)


def _ndcg(row: Labels, pool: Labels, K: int | None, ideal: str, gain: str = "linear") -> float:
    labels = [label for label in (row[:K] if ideal == "retrieved" else pool) if label is not None]
    best = _dcg(sorted(labels, reverse=True)[:K], gain)
    return _dcg(row[:K], gain) / best if best else (0.0 if ideal == "retrieved" else nan)


def _sdcg(row: Labels, K: int, max_label: float, gain: str = "linear") -> float:
    return _dcg(row[:K], gain) / _dcg([max_label] * K, gain)


def _err(row: Labels, max_label: float) -> float:
    value, reads_on = 0.0, 1.0
    for rank, label in enumerate(row, start=1):
        satisfied = (2 ** (label or 0.0) - 1) / 2**max_label
        value += reads_on * satisfied / rank
        reads_on *= 1 - satisfied
    return value


def _rbp(row: Labels, p: float, rel: float) -> float:
    return sum((1 - p) * p**at for at, hit in enumerate(_hits(row, rel)) if hit)


def _residual(row: Labels, p: float) -> float:
    return sum((1 - p) * p**at for at, label in enumerate(row) if label is None) + p ** len(row)


def _judged(row: Labels) -> float:
    return _ratio(sum(label is not None for label in row), len(row))


def _bpref(row: Labels, pool: Labels, rel: float) -> float:
    R, N = _positives(pool, rel), _negatives(pool, rel)
    value = 0.0
    for at, hit in enumerate(_hits(row, rel)):
        above = _negatives(row[:at], rel)
        value += (1 - min(above, R) / min(N, R) if above else 1) if hit else 0
    return _ratio(value, R)


def _inf_ap(row: Labels, pool: Labels, rel: float) -> float:
    """`row` with its negative labels: pooled, not judged."""
    e, value = 1e-5, 0.0
    for at, hit in enumerate(_hits(row, rel)):
        r, n = _positives(row[:at], rel), _negatives(known(row[:at]), rel)
        u = sum(label is not None and label < 0 for label in row[:at])
        i = at + 1
        share = (r + e) / (r + n + 2 * e)
        value += hit * (1 / i + at / i * ((r + n + u) / at * share if at else 0))
    return _ratio(value, _positives(pool, rel))


def _udcg(row: Labels, distraction: float) -> float:
    signed = [0.0 if label is None else 2 * label - 1 for label in row]
    total = sum(s if s > 0 else distraction * s for s in signed)
    return 1 / (1 + exp(-total / len(row))) if row else 0.5


@dataclass(frozen=True)
class Case:
    """One measure: how it is written without @K, the slow reference, and the invariance sets it belongs to.

    `cut` False: tried without @K, and the reference gets K = None. `unit`: its labels must lie in 0..1. `pooled`: its
    reference sees negative labels.
    """

    text: str
    reference: Callable[[Labels, Labels, Any], float]
    unchanged_by_not_relevant: bool = True
    monotone: bool = True
    cut: bool = True
    unit: bool = False
    pooled: bool = False

    def at(self, K: int) -> Measure:
        return parse_measure(f"{self.text}@{K}" if self.cut else self.text)

    def expected(self, row: Labels, pool: Labels, K: int) -> float:
        return self.reference(row if self.pooled else known(row), known(pool), K if self.cut else None)

    def labels(self, row: Labels) -> list[float | None]:
        """`row` with labels that the measure takes."""
        return [label if label is None or not self.unit else min(label, 1.0) for label in row]


def _t_case(text: str, alpha: float, form: str = "paper", unjudged: str = "ignore", rel: float = 1) -> Case:
    return Case(
        text,
        lambda row, pool, K: _t(_positives(row[:K], rel), _negatives(row[:K], rel, unjudged), K, alpha, form),
        unchanged_by_not_relevant=False,
    )


CASES = (
    Case("n_p", lambda row, pool, K: _positives(row[:K], 1)),
    Case("n_p(labels=probability)", lambda row, pool, K: _expected(row[:K])[0], unit=True),
    Case("n_n", lambda row, pool, K: _negatives(row[:K], 1), False, False),
    Case("n_n(unjudged=negative,rel=2)", lambda row, pool, K: _negatives(row[:K], 2, "negative"), False, False),
    Case("n_n(labels=probability)", lambda row, pool, K: _expected(row[:K])[1], False, False, unit=True),
    Case("P", lambda row, pool, K: _positives(row[:K], 1) / K),
    Case("P(rel=2)", lambda row, pool, K: _positives(row[:K], 2) / K),
    Case("P(labels=probability)", lambda row, pool, K: _expected(row[:K])[0] / K, unit=True),
    Case("SetP", lambda row, pool, K: _ratio(_positives(row[:K], 1), len(row[:K])), False),
    Case("SetP(rel=2)", lambda row, pool, K: _ratio(_positives(row, 2), len(row)), False, cut=False),
    Case("R", lambda row, pool, K: _recall(row, pool, K, 1)),
    Case("R(rel=0.5)", lambda row, pool, K: _recall(row, pool, K, 0.5)),
    Case("R(rel=2)", lambda row, pool, K: _recall(row, pool, K, 2), cut=False),
    Case("R(cap=cutoff)", lambda row, pool, K: _recall(row, pool, K, 1, cap=True)),
    Case("F", lambda row, pool, K: _f(row[:K], pool, K, 0.5, 1)),
    Case("F(alpha=0)", lambda row, pool, K: _f(row[:K], pool, K, 0, 1)),
    Case("F(alpha=0.3,rel=2)", lambda row, pool, K: _f(row[:K], pool, K, 0.3, 2)),
    Case("SetF", lambda row, pool, K: _f(row[:K], pool, len(row[:K]), 0.5, 1), False),
    Case("SetF(beta=2,rel=0.5)", lambda row, pool, K: _f(row, pool, len(row), 0.2, 0.5), False, cut=False),
    Case("Fe", lambda row, pool, K: _fe(row, K, 0.5, 2, 1), monotone=False),
    Case("Fe(alpha=0,x=1.5)", lambda row, pool, K: _fe(row, K, 0, 1.5, 1), monotone=False),
    _t_case("T", 0.5),
    _t_case("T(alpha=0.3,unjudged=negative)", 0.3, unjudged="negative"),
    _t_case("T(alpha=0.9,form=count,rel=2)", 0.9, "count", rel=2),
    Case("T(alpha=0.3,labels=probability)", lambda row, pool, K: _t(*_expected(row[:K]), K, 0.3), False, unit=True),
    Case("Success", lambda row, pool, K: float(_positives(row[:K], 1) > 0)),
    Case("RR", lambda row, pool, K: _rr(row[:K], 1)),
    Case("RR(rel=2)", lambda row, pool, K: _rr(row, 2), cut=False),
    Case("AP", lambda row, pool, K: _ap(row[:K], pool, 1)),
    Case("AP(rel=0.5)", lambda row, pool, K: _ap(row, pool, 0.5), cut=False),
    Case("Rprec", lambda row, pool, K: _rprec(row, pool, 1), cut=False),
    Case("Rprec(rel=2)", lambda row, pool, K: _rprec(row, pool, 2), cut=False),
    Case("DCG", lambda row, pool, K: _dcg(row[:K])),
    Case("DCG(gain=exponential)", lambda row, pool, K: _dcg(row, "exponential"), cut=False),
    Case("DCG(gain=binary)", lambda row, pool, K: _dcg(row[:K], "binary")),
    Case("nDCG", lambda row, pool, K: _ndcg(row, pool, K, "qrels")),
    Case("nDCG(gain=exponential)", lambda row, pool, K: _ndcg(row, pool, K, "qrels", "exponential")),
    Case("nDCG(gain=binary)", lambda row, pool, K: _ndcg(row, pool, K, "qrels", "binary"), cut=False),
    Case("nDCG(ideal=retrieved)", lambda row, pool, K: _ndcg(row, pool, K, "retrieved"), monotone=False),
    Case("SDCG(max_label=3)", lambda row, pool, K: _sdcg(row, K, 3)),
    Case("SDCG(max_label=4,gain=exponential)", lambda row, pool, K: _sdcg(row, K, 4, "exponential")),
    Case("SDCG(max_label=3,gain=binary)", lambda row, pool, K: _sdcg(row, K, 3, "binary")),
    Case("ERR(max_label=3)", lambda row, pool, K: _err(row[:K], 3)),
    Case("ERR(max_label=4)", lambda row, pool, K: _err(row, 4), cut=False),
    Case("RBP", lambda row, pool, K: _rbp(row[:K], 0.8, 1)),
    Case("RBP(p=0.5,rel=2)", lambda row, pool, K: _rbp(row, 0.5, 2), cut=False),
    Case("RBP(p=0)", lambda row, pool, K: _rbp(row[:K], 0, 1)),
    Case("RBPres", lambda row, pool, K: _residual(row[:K], 0.8), False, False),
    Case("RBPres(p=0.95)", lambda row, pool, K: _residual(row, 0.95), False, False, cut=False),
    Case("Judged", lambda row, pool, K: _judged(row[:K]), False),
    Case("bpref", lambda row, pool, K: _bpref(row, pool, 1), False, cut=False),
    Case("bpref(rel=2)", lambda row, pool, K: _bpref(row, pool, 2), False, cut=False),
    Case("infAP", lambda row, pool, K: _inf_ap(row, pool, 1), monotone=False, cut=False, pooled=True),
    Case("UDCG", lambda row, pool, K: _udcg(row[:K], 1 / 3), False, unit=True),
    Case("UDCG(distraction=1)", lambda row, pool, K: _udcg(row, 1), False, cut=False, unit=True),
)
"""A new measure adds its row here: it is then compared with its reference and tried in the invariance sets."""
