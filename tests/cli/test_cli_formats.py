"""Traces on the command line: what they were read as is said, and a file without retrievals is bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = {"id": "s0", "trace_id": "t1", "run_type": "chain", "inputs": {"input": "which fruit?"}, "outputs": {}}
RUN = {
    **ROOT,
    "id": "s1",
    "parent_run_id": "s0",
    "run_type": "retriever",
    "outputs": {"documents": [{"id": "d1", "page_content": "apple"}, {"id": "d2", "page_content": "pear"}]},
}


def put(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_score_reads_traces_and_says_as_what(ragauge: Callable[..., Any], tmp_path: Path) -> None:
    labels = put(tmp_path / "labels.jsonl", {"query_id": "t1/s1", "doc_id": "d1", "label": 1})
    runs = put(tmp_path / "runs.jsonl", ROOT, RUN)
    ran = ragauge("score", runs, "--labels", labels, "-m", "P@2", "--format", "json")
    assert json.loads(ran.out)["measures"][0]["mean"] == 0.5  # d1 of two
    said = "read as LangSmith runs: 1 ranking; skipped 1: 1 not retrieval spans (first: line 1)"
    assert f"{runs}: {said}" in ran.err


def test_a_file_without_retrievals_ends_with_code_2_and_the_reason(ragauge: Callable[..., Any], tmp_path: Path) -> None:
    ran = ragauge("score", put(tmp_path / "runs.jsonl", ROOT))
    assert ran.code == 2
    assert "read as LangSmith runs, and there are no rankings in it; skipped 1 not retrieval spans" in ran.err


def test_the_format_can_be_forced_and_an_unknown_one_lists_the_known(
    ragauge: Callable[..., Any], tmp_path: Path
) -> None:
    path = put(tmp_path / "runs.jsonl", RUN)
    assert "no key 'documents'" in ragauge("score", path, "--input-format", "jsonl").err
    assert "unknown format 'xml'; known formats: trec, jsonl" in ragauge("score", path, "--input-format", "xml").err
