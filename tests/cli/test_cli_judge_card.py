"""`ragauge judge-card`: asked of a model, recorded, and made again from what was recorded."""

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragauge.testing import ScriptedModel, ScriptedReply

N_QUERIES = 12


def files(folder: Path) -> tuple[Path, Path]:
    """Twelve queries with four documents each; the first two are relevant by people's grade 2."""
    lines, labels = [], ["query_id,doc_id,label"]
    for q in range(N_QUERIES):
        documents = [{"doc_id": f"{q}-{i}", "text": f"document {i} about topic {q}"} for i in range(4)]
        lines.append(json.dumps({"query_id": f"q{q}", "query": f"topic {q}?", "documents": documents}))
        labels += [f"q{q},{q}-{i},{2 if i < 2 else 1}" for i in range(4)]
    (folder / "retrieved.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "people.csv").write_text("\n".join(labels) + "\n")
    return folder / "retrieved.jsonl", folder / "people.csv"


def fair(request: dict[str, Any]) -> ScriptedReply:
    """P(yes) .8 for documents 0 and 1 of the query's topic, else .1; led by what says that it is relevant."""
    content = request["messages"][-1]["content"]
    query = re.search(r"Query: topic (\d+)", content)
    document = content.split("<doc>")[-1]
    assert query is not None
    right = re.search(rf"document [01] about topic {query[1]}\b", document)
    p = 0.8 if right or "perfectly relevant" in document else 0.1
    return ScriptedReply("yes" if p > 0.5 else "no", {"yes": math.log(p), "no": math.log(1 - p)})


def test_a_card_is_asked_recorded_and_made_again(ragauge, tmp_path: Path) -> None:
    retrieved, people = files(tmp_path)
    with ScriptedModel(fair) as model:
        asked = ragauge(
            *("judge-card", retrieved, "--labels", people, "--rel", 2, "--base-url", model.base_url, "--model", "m"),
            *("--store", tmp_path / "s.db", "--record", tmp_path / "card", "--canaries", 6, "--repeated", 8),
        )
        n_asked = len(model.requests)
    assert asked.code == 0, asked.err
    assert "48 pairs of 12 queries; people found 24 relevant" in asked.out
    assert re.search(r"AUC +1\.000", asked.out)
    assert re.search(r"told +1\.00 .*6/6 +0\.10 → 0\.80", asked.out)
    assert re.search(r"stuffed +0\.00 .*6/6", asked.out)
    assert re.search(r"buried +0\.00 .*6/6", asked.out)
    assert "Asked again: 8 pairs, each 2 times in all; same verdict 1.00" in asked.out
    assert f"{n_asked:,} requests sent" in asked.err
    again = ragauge("judge-card", tmp_path / "card", "--rel", 2)
    assert (again.code, again.out) == (0, asked.out)


def test_recorded_tables_hold_no_text(ragauge, tmp_path: Path) -> None:
    retrieved, people = files(tmp_path)
    with ScriptedModel(fair) as model:
        ragauge(
            *("judge-card", retrieved, "--labels", people, "--rel", 2, "--base-url", model.base_url, "--model", "m"),
            *("--store", tmp_path / "s.db", "--record", tmp_path / "card"),
        )
    recorded = {path.name: path.read_text() for path in (tmp_path / "card").iterdir()}
    assert sorted(recorded) == ["canaries.csv", "cost.csv", "pairs.csv", "repeats.csv"]
    assert not any("about topic" in text for text in recorded.values())


def card(folder: Path, labels: list[float | None]) -> Path:
    """A recorded card of pairs alone; every other one is relevant."""
    folder.mkdir()
    with (folder / "pairs.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["query_id", "doc_id", "rank", "words", "human", "label", "reason", "judge"])
        for i, label in enumerate(labels):
            shown = "" if label is None else label
            writer.writerow([f"q{i // 2}", i, 1 + i, 9, i % 2, shown, "refused" if label is None else "", "m label/1"])
    return folder


def test_json_holds_every_figure(ragauge, tmp_path: Path) -> None:
    ran = ragauge("judge-card", card(tmp_path / "c", [0.1, 0.9] * 12 + [None]), "--format", "json")
    found = json.loads(ran.out)
    assert (ran.code, found["n_pairs"], found["unlabelled"]) == (0, 24, {"refused": 1})
    assert found["discrimination"]["auc"] == 1.0
    assert found["repeated"] is None
    assert found["overall"]["sensitivity"]["mean"] == 1.0


def test_the_page_is_one_file_with_its_charts(ragauge, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    page = tmp_path / "card.html"
    ran = ragauge("judge-card", card(tmp_path / "c", [0.1, 0.9, 0.4, 0.3] * 6), "--html", page)
    assert ran.code == 0, ran.err
    text = page.read_text()
    assert "Judge card: m label/1" in text
    assert 'data-chart="calibration"' in text
    assert not re.search(r'(src|href)="https?:', text)


def test_pairs_without_a_label_end_a_run_as_incomplete(ragauge, tmp_path: Path) -> None:
    retrieved, people = files(tmp_path)

    def sometimes(request: dict[str, Any]) -> ScriptedReply:
        if "document 3 about topic 3" in request["messages"][-1]["content"].split("<doc>")[-1]:
            return ScriptedReply("I'm sorry, but I can't.")
        return fair(request)

    with ScriptedModel(sometimes) as model:
        ran = ragauge(
            *("judge-card", retrieved, "--labels", people, "--rel", 2, "--base-url", model.base_url, "--model", "m"),
            *("--store", tmp_path / "s.db", "--canaries", 0, "--repeats", 0),
        )
    assert ran.code == 1
    assert "Unlabelled: 1 refused" in ran.out
    assert "1 pairs have no label" in ran.err


PAGE = Path(__file__).parents[2] / "docs/results/judge_card.md"


def test_the_page_of_results_holds_what_its_script_prints() -> None:
    script = [sys.executable, str(PAGE.with_suffix(".py"))]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    blocks = printed.strip().split("\n\nJudge: ")
    assert len(blocks) == 3
    assert all(part in PAGE.read_text() for part in printed.strip().split("\n\n"))


MISTAKES = [
    (["--labels", "people.csv"], "give --base-url"),
    (["--base-url", "http://127.0.0.1:1/v1", "--model", "m"], "give --labels"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_what_is_missing_is_named(ragauge, tmp_path: Path, options: list[str], message: str) -> None:
    retrieved, _ = files(tmp_path)
    ran = ragauge("judge-card", retrieved, *options)
    assert ran.code == 2
    assert message in ran.err


def test_a_folder_of_something_else_is_refused(ragauge, tmp_path: Path) -> None:
    ran = ragauge("judge-card", tmp_path)
    assert ran.code == 2
    assert "holds no pairs.csv" in ran.err


def test_label_takes_scale_criteria_examples_and_batches(ragauge, tmp_path: Path) -> None:
    retrieved, people = files(tmp_path)
    (tmp_path / "criteria.txt").write_text("It is about the topic.")

    def graded(request: dict[str, Any]) -> str:
        n = len(re.findall(r"<doc \d+>", request["messages"][-1]["content"]))
        return json.dumps({"verdicts": ["2"] * n})

    with ScriptedModel(graded) as model:
        ran = ragauge(
            *("label", retrieved, "--base-url", model.base_url, "--model", "m", "--store", tmp_path / "s.db"),
            *("--out", tmp_path / "out.jsonl", "--scale", "graded", "--criteria", f"@{tmp_path / 'criteria.txt'}"),
            *("--examples", people, "--batch-size", 3, "--permutations", 2, "--seed", 5),
        )
        bodies = [request.body for request in model.requests]
    assert ran.code == 0, ran.err
    assert "It is about the topic." in bodies[0]["messages"][0]["content"]
    assert [message["content"] for message in bodies[0]["messages"]].count('{"verdicts": ["2"]}') == 3
    labelled = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert [document["label"] for document in labelled["documents"]] == [2.0] * 4


def test_criteria_that_cannot_be_read_are_named(ragauge, tmp_path: Path) -> None:
    retrieved, _ = files(tmp_path)
    ran = ragauge(
        *("label", retrieved, "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--out", tmp_path / "o.jsonl"),
        *("--store", tmp_path / "s.db", "--criteria", "@gone.txt"),
    )
    assert ran.code == 2
    assert "cannot read the criteria in gone.txt" in ran.err
