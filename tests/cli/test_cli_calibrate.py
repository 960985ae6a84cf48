"""`ragauge calibrate`: from a judge's grades to probabilities."""

import json
from pathlib import Path

import numpy as np
import pytest

from ragauge.io import read_labels

SHARES = (0.0, 0.25, 1.0)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Ten queries of six documents, graded 0, 1, 2 twice; people, in eight of them, find 0, 1/4 and all relevant."""
    model, people = [], ["query_id,doc_id,label\n"]
    for q in range(10):
        for d in range(6):
            grade = d % 3
            model.append(json.dumps({"query_id": f"q{q}", "doc_id": f"d{d}", "label": grade, "judge": "m"}) + "\n")
            relevant = grade == 2 or (grade == 1 and q % 2 == 0 and d < 3)
            people += [f"q{q},d{d},{3 if relevant else 0}\n"] if q < 8 else []
    (tmp_path / "model.jsonl").write_text("".join(model))
    (tmp_path / "people.csv").write_text("".join(people))
    return tmp_path


def test_curve_is_the_share_that_people_find_relevant(ragauge, files: Path) -> None:
    ran = ragauge("calibrate", files / "model.jsonl", "--human", files / "people.csv", "--format", "json")
    found = json.loads(ran.out)
    assert [row["probability"] for row in found["curve"]] == pytest.approx(SHARES)
    assert [row["pairs"] for row in found["curve"]] == [16, 16, 16]
    assert found["brier"] < found["brier_constant"]


def test_table_says_what_it_is_worth_and_where_to_cut(ragauge, files: Path) -> None:
    ran = ragauge("calibrate", files / "model.jsonl", "--human", files / "people.csv")
    assert "probability" in ran.out
    assert "rather relevant than not from a score of 2 on" in ran.err


def test_labels_are_written_as_probabilities(ragauge, files: Path) -> None:
    out = files / "calibrated.jsonl"
    ran = ragauge("calibrate", files / "model.jsonl", "--human", files / "people.csv", "--out", out, "--quiet")
    assert (ran.code, ran.err) == (0, "")
    unseen = [row for row in read_labels(out).to_pylist() if row["query_id"] == "q9"]
    assert [row["label"] for row in unseen] == pytest.approx([*SHARES, *SHARES])
    assert {row["judge"] for row in unseen} == {"m"}


def test_many_scores_are_shown_in_ten_groups(ragauge, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(400).round(3)
    relevant = rng.random(400) < p**2
    lines = [f"q{n // 10},d{n},{value}\n" for n, value in enumerate(p)]
    (tmp_path / "model.csv").write_text("".join(["query_id,doc_id,label\n", *lines]))
    lines = [f"q{n // 10},d{n},{int(value)}\n" for n, value in enumerate(relevant)]
    (tmp_path / "people.csv").write_text("".join(["query_id,doc_id,label\n", *lines]))
    ran = ragauge("calibrate", tmp_path / "model.csv", "--human", tmp_path / "people.csv", "--method", "logistic")
    assert sum(".." in line for line in ran.out.splitlines()) == 10


def test_labels_that_say_nothing_are_called_so(ragauge, files: Path) -> None:
    rows = [json.loads(line) for line in (files / "model.jsonl").read_text().splitlines()]
    shuffled = [json.dumps(row | {"label": int(row["doc_id"][1] in "01")}) + "\n" for row in rows]
    (files / "bad.jsonl").write_text("".join(shuffled))
    ran = ragauge("calibrate", files / "bad.jsonl", "--human", files / "people.csv")
    assert "say nothing about what people find relevant" in ran.err


def test_two_judges_in_one_file_are_refused(ragauge, files: Path) -> None:
    text = (files / "model.jsonl").read_text()
    (files / "two.jsonl").write_text(text + text.replace('"judge": "m"', '"judge": "n"'))
    ran = ragauge("calibrate", files / "two.jsonl", "--human", files / "people.csv")
    assert ran.code == 2
    assert "labels some pairs more than once (judges: m, n)" in ran.err


def test_files_without_a_common_pair_are_refused(ragauge, files: Path) -> None:
    (files / "others.csv").write_text("query_id,doc_id,label\nz,d1,1\n")
    ran = ragauge("calibrate", files / "model.jsonl", "--human", files / "others.csv")
    assert ran.code == 2
    assert "no pair of query and document is labelled both" in ran.err
