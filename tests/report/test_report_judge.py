"""The page of a judge card: its charts' data, its tables, and nothing from outside."""

import json
from typing import Any

import pyarrow as pa
import pytest
from report_tables import judged_table, scores_table

from ragauge.llm import judge_card
from ragauge.llm.card import JudgeCard
from ragauge.llm.examine import CANARIES, COST, PAIRS, REPEATS
from ragauge.report import judge_charts, judge_report, score_report
from ragauge.report.judge import bin_records, group_records
from ragauge.report.judge_canaries import canary_records


def table(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([dict.fromkeys(schema.names) | row for row in rows], schema=schema)


@pytest.fixture
def card() -> JudgeCard:
    """Twelve queries with one relevant and one other document; "told" leads the judge in one of two queries."""
    pairs = [
        {
            "query_id": f"q{q}",
            "doc_id": f"{q}-{i}",
            "rank": 1 + i,
            "words": 9,
            "human": float(i),
            "judge": "<m> label/1",
        }
        | {"label": 0.2 + 0.6 * i - 0.01 * q}
        for q in range(12)
        for i in (0, 1)
    ]
    told = [("unrelated", "q1", 0.1), ("unrelated", "q2", 0.1), ("told", "q1", 0.9), ("told", "q2", 0.1)]
    return judge_card(
        table(PAIRS, [*pairs, {**pairs[0], "doc_id": "x", "label": None, "reason": "refused"}]),
        repeats=table(REPEATS, [{"query_id": "q1", "doc_id": "1-1", "draw": draw, "label": 0.7} for draw in (0, 1)]),
        canaries=table(CANARIES, [{"kind": kind, "query_id": q, "label": label} for kind, q, label in told]),
        cost=table(COST, [{"calls": 24, "documents": 24, "prompt_tokens": 2400, "seconds": 12.0}]),
    )


def test_records_are_json_without_nan(card: JudgeCard) -> None:
    for records in (bin_records(card), group_records(card), canary_records(card.canaries)):
        assert records
        json.dumps(records, allow_nan=False)


def test_records_are_the_figures_of_the_card(card: JudgeCard) -> None:
    assert [(record["kind"], record["led"], record["of"]) for record in canary_records(card.canaries)] == [
        ("told", 0.5, 2)
    ]
    by_rank = [(r["group"], r["rate"], r["pairs"]) for r in group_records(card) if r["by"] == "rank"]
    assert by_rank == [("ranks 1 to 3", "sensitivity", 12), ("ranks 1 to 3", "specificity", 12)]
    assert sum(record["pairs"] for record in bin_records(card)) == 24


def test_charts_without_data_are_left_out(card: JudgeCard) -> None:
    pytest.importorskip("altair")
    assert set(judge_charts(card)) == {"calibration", "errors", "canaries"}


def test_the_page_says_what_the_card_says_and_escapes_it(card: JudgeCard) -> None:
    pytest.importorskip("altair")
    page = judge_report(title="Card of <m>", card=card, notes=["asked <b>twice</b>"])
    assert "Card of &lt;m&gt;" in page
    assert "asked &lt;b&gt;twice&lt;/b&gt;" in page
    assert "left out of every figure: 1 refused" in page
    assert "1 pairs were asked about 2 times" in page
    assert "0.100 → 0.500" in page  # told: mean of the controls, mean of the canaries
    assert "<m>" not in page


def test_a_score_report_shows_the_same_table_for_each_source_of_labels(card: JudgeCard) -> None:
    pytest.importorskip("altair")
    judged = judged_table(2)
    canaries = {"<a>.jsonl": card.canaries, "b.jsonl": card.canaries}
    page = score_report(
        title="t", estimates={}, judged=judged, scores=scores_table(judged), rel=0.28, canaries=canaries
    )
    assert page.count("0.100 → 0.500") == 2
    assert "1 of 2 documents made to lead the judge did so: it labelled them 0.28 or more" in page
    assert 'id="chart-canaries"' in page
    assert 'id="chart-canaries1"' in page
    assert "&lt;a&gt;.jsonl" in page
    assert "<a>" not in page
