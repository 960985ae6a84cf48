"""Against ir_measures, query by query: SDCG and RBP (its cwl_eval), ERR and exponential nDCG (its gdeval.pl, which
prints five decimals), Judged, SetP and SetF.

gdeval.pl wants whole numbers as query ids, so they are numbered.
"""

import importlib.util
import math
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ragauge.io import read_labels, read_rankings
from ragauge.measures import judge, parse_measure, score

ir = pytest.importorskip("ir_measures", reason="ir-measures is not installed")

DATA = Path(__file__).parents[2].parent / "shared/data"
RUNS = sorted(DATA.glob("*/runs/*.run.gz"))
FIRST = [path for at, path in enumerate(RUNS) if at == 0 or RUNS[at - 1].parent != path.parent]
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not RUNS, reason="no shared/data beside the checkout"),
]
needs_cwl = pytest.mark.skipif(importlib.util.find_spec("cwl") is None, reason="cwl-eval is not installed")
needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval.pl needs perl")

CWL = {
    "SDCG(max_label=3)@10": ir.SDCG(max_rel=3) @ 10,
    "SDCG(max_label=3)@100": ir.SDCG(max_rel=3) @ 100,
    "RBP(p=0.9)": ir.RBP(rel=1, p=0.9),
    "RBP(p=0.5,rel=2)": ir.RBP(rel=2, p=0.5),
}
GDEVAL = {
    "ERR(max_label=4)@10": ir.ERR @ 10,
    "ERR(max_label=4)@20": ir.ERR @ 20,
    "nDCG(gain=exponential)@10": ir.nDCG(dcg="exp-log2") @ 10,
}
OTHERS = {
    "Judged@10": ir.Judged @ 10,
    "Judged@100": ir.Judged @ 100,
    "SetF": ir.SetF,
    "SetP(rel=2)": ir.SetP(rel=2),
}


@dataclass(frozen=True)
class Collection:
    """One run and its labels, for us and for ir_measures."""

    judged: pa.Table
    number: dict[str, str]
    run: list[Any]
    qrels: list[Any]


@cache
def collection(path: Path) -> Collection:
    table, labels = read_rankings(path), read_labels(path.parents[1] / "qrels.tsv")
    ids = list(dict.fromkeys(labels.column("query_id").to_pylist()))
    number = {query_id: str(at) for at, query_id in enumerate(ids, start=1)}
    rows = zip(table.column("query_id").to_pylist(), table.column("doc_ids").to_pylist(), strict=True)
    run = [
        ir.ScoredDoc(number[query_id], doc, float(-rank))
        for query_id, docs in rows
        if query_id in number
        for rank, doc in enumerate(docs)
    ]
    qrels = [ir.Qrel(number[row["query_id"]], row["doc_id"], int(row["label"])) for row in labels.to_pylist()]
    return Collection(judge(table, labels), number, run, qrels)


@pytest.mark.parametrize("path", FIRST, ids=lambda path: path.parts[-3])
@pytest.mark.parametrize(
    ("pairs", "tolerance"),
    [
        pytest.param(CWL, 1e-12, marks=needs_cwl, id="cwl_eval"),
        pytest.param(GDEVAL, 5.01e-6, marks=needs_perl, id="gdeval"),
        pytest.param(OTHERS, 1e-12, id="others"),
    ],
)
def test_a_measure_is_that_of_ir_measures_for_each_query(pairs: dict[str, Any], tolerance: float, path: Path) -> None:
    known = collection(path)
    texts = {peer: str(parse_measure(text)) for text, peer in pairs.items()}
    rows = score(known.judged, [parse_measure(text) for text in pairs]).to_pylist()
    ours = {known.number[row["query_id"]]: row for row in rows if row["query_id"] in known.number}
    compared = 0
    for metric in ir.iter_calc(list(texts), known.qrels, known.run):
        if metric.query_id in ours:  # a query without a ranking counts 0 there
            value = ours[metric.query_id][texts[metric.measure]]
            assert (0.0 if math.isnan(value) else value) == pytest.approx(metric.value, abs=tolerance)
            compared += 1
    assert compared == len(ours) * len(pairs)
