"""Reports of comparisons and of tuning: what they say, and that nothing in a name gets out of its place."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from ragauge.measures import parse_measure
from ragauge.quality.compare import compare_systems
from ragauge.quality.systems import judge_systems
from ragauge.quality.tune import tune_cutoff
from ragauge.report import comparison_charts, comparison_report, export_charts, tuning_report
from ragauge.report.comparison_content import candidate_records, comparison_content, query_records, tuning_content
from ragauge.schema import RANKINGS

N = 30
ATTACK = "</script><script>alert(1)</script>"


def rankings(run, rate, depth=10, seed=1):
    rng = np.random.default_rng(seed)
    labels = (rng.random((N, depth)) < rate - 0.03 * np.arange(depth)).astype(float)
    return pa.Table.from_pylist(
        [
            {
                "query_id": f"q{at}",
                "query": None,
                "run": run,
                "doc_ids": [f"d{at}" for at in range(depth)],
                "texts": [None] * depth,
                "scores": [float(depth - at) for at in range(depth)],
                "labels": row.tolist(),
            }
            for at, row in enumerate(labels)
        ],
        schema=RANKINGS,
    )


@pytest.fixture(scope="module")
def compared():
    runs = [rankings("old", 0.4), rankings("new", 0.7, seed=2), rankings(ATTACK, 0.4)]
    measures = [parse_measure(name) for name in ("P@10", "T(alpha=0.3)@10", "n_p@10")]
    return compare_systems(judge_systems(pa.concat_tables(runs), None), measures)


@pytest.fixture(scope="module")
def tuned():
    judged = judge_systems(rankings("deep", 0.8, depth=20), None).judged
    return tune_cutoff(judged, parse_measure("T@20"), today=10, by="score")


def specs(page):
    found = re.findall(r'<script type="application/json" class="chart-spec" data-chart="(\w+)">(.*?)</script>', page)
    return {name: json.loads(text) for name, text in found}


def test_comparison_page_holds_every_figure_and_its_charts(compared):
    page = comparison_report(title="New against old", found=compared)
    one = compared.comparisons[0]
    for text in (
        f"+{one.difference:.3f}",
        f"{one.wins} / {one.ties} / {one.losses}",
        "New against old",
        "T(alpha=0.3)@10",
    ):
        assert text in page
    assert set(specs(page)) == {"differences_share", "differences_count", "queries"}
    assert page.partition("<footer>")[0].count("<tr>") == 2 * (1 + len(compared.comparisons))  # two tables


def test_names_cannot_become_markup(compared):
    page = comparison_report(title=ATTACK, found=compared)
    assert ATTACK not in page
    assert "alert(1)" in page


def test_circles_count_every_query_once_and_call_only_ties_ties(compared):
    records = query_records(compared)
    for one in compared.comparisons:
        own = [r for r in records if (r["measure"], r["system"]) == (one.measure, one.system)]
        counts = {name: sum(r["queries"] for r in own if r["outcome"] == name) for name in ("won", "tied", "lost")}
        assert counts == {"won": one.wins, "tied": one.ties, "lost": one.losses}


def test_undefined_comparison_is_said_and_drawn_nowhere():
    runs = pa.concat_tables([rankings("a", 0.5), rankings("b", 0.5)])
    labels = pa.table({"query_id": ["q1"], "doc_id": ["d1"], "label": [0.0]})
    found = compare_systems(judge_systems(runs, labels), [parse_measure("R@10")])
    content = comparison_content(title="x", found=found)
    (row,) = content.rows["R@10"]
    assert (row.mean, row.interval, row.p) == ("undefined", "none", "–")
    assert comparison_charts(found) == {}
    assert "no query has a value for both systems" in comparison_report(title="x", found=found)


def test_tuning_page_holds_the_gain_and_every_candidate(tuned):
    page = tuning_report(title="How many", found=tuned)
    content = tuning_content(title="How many", found=tuned)
    assert "gain to expect" in page
    assert page.partition("<footer>")[0].count("<tr>") == 1 + len(content.rows)
    assert [row.mark for row in content.rows].count("best here") == 1
    assert list(specs(page)) == ["curve"]


def test_today_is_marked_and_off_the_curve_of_scores(tuned):
    (today,) = [record for record in candidate_records(tuned) if record["mark"] == "today"]
    assert (today["cut"], today["documents"], today["line"]) == ("top 10", 10, False)


def test_charts_can_be_exported(compared, tmp_path):
    files = export_charts(comparison_charts(compared), tmp_path, "svg")
    assert [file.name for file in files] == ["differences_share.svg", "differences_count.svg", "queries.svg"]
