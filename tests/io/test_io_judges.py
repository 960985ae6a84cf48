"""Rankings that name the judge of each label."""

import json
from pathlib import Path

import pyarrow as pa

from ragauge.io import read_labels, read_rankings, write_rankings_of_judges
from ragauge.measures import judge
from ragauge.schema import LABELS


def test_each_label_stands_beside_its_judge_and_no_label_has_none(tmp_path: Path) -> None:
    rankings = read_rankings({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    rows = [("a", 1.0, None, "dear"), ("b", 0.0, None, "cheap"), ("c", None, "budget", "dear")]
    labels = pa.Table.from_pylist(
        [{"query_id": "q", "doc_id": d, "label": x, "reason": why, "judge": who} for d, x, why, who in rows],
        schema=LABELS,
    )
    path = tmp_path / "labelled.jsonl"
    write_rankings_of_judges(judge(rankings, labels, complete="unknown"), labels, path)
    documents = json.loads(path.read_text())["documents"]
    assert [document.get("judge") for document in documents] == ["dear", "cheap", None]
    assert [(row["label"], row["judge"]) for row in read_labels(path).to_pylist()] == [(1.0, "dear"), (0.0, "cheap")]
