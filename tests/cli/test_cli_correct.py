"""`ragauge draw`, `ragauge correct` and `ragauge budget`: from a draw to a corrected mean."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from ragauge.io import read_rankings
from ragauge.stats import corrected_mean

N_QUERIES, N_HUMAN, K = 60, 35, 5


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two runs of 60 queries labelled by a model; people labelled all of the first 35 and two documents of q40."""
    rng = np.random.default_rng(3)
    lines, people = [], ["query_id,doc_id,label\n"]
    for run in ("bm25", "dense"):
        for q in range(N_QUERIES):
            relevant = rng.random(K) < rng.beta(1.2, 1.2)
            seen = np.where(relevant, rng.random(K) < 0.9, rng.random(K) < 0.2).astype(int)
            ids = [f"{run}-{q}-{d}" for d in range(K)]
            documents = [{"doc_id": id_, "label": int(label)} for id_, label in zip(ids, seen, strict=True)]
            lines.append(json.dumps({"query_id": f"q{q}", "run": run, "documents": documents}) + "\n")
            n = K if q < N_HUMAN else 2 if q == 40 else 0
            people += [f"q{q},{ids[d]},{int(relevant[d])}\n" for d in range(n)]
    (tmp_path / "model.jsonl").write_text("".join(lines))
    (tmp_path / "people.csv").write_text("".join(people))
    return tmp_path


def shares(path: Path, run: str) -> list[float]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [np.mean([d["label"] for d in row["documents"]]) for row in rows if row["run"] == run]


def test_corrected_mean_is_that_of_the_library(ragauge, files: Path) -> None:
    ran = ragauge("correct", files / "model.jsonl", "--human", files / "people.csv", "-m", "P@5", "--format", "json")
    found = json.loads(ran.out)["corrected"]
    assert [one["run"] for one in found] == ["bm25", "dense", "dense - bm25"]
    labels: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO((files / "people.csv").read_text())):
        if row["doc_id"].startswith("bm25") and row["query_id"] != "q40":
            labels.setdefault(row["query_id"], []).append(float(row["label"]))
    human = [np.mean(values) for values in labels.values()] + [None] * (N_QUERIES - N_HUMAN)
    expected = corrected_mean(human, shares(files / "model.jsonl", "bm25"), measure="P@5", bounds=(0, 1))
    assert found[0]["mean"] == pytest.approx(expected.mean)
    assert (found[0]["low"], found[0]["gain"]) == pytest.approx((expected.low, expected.gain))
    assert (found[0]["n_human"], found[0]["n_model"], found[0]["n_partly"]) == (35, 25, 1)
    assert found[2]["human_mean"] == pytest.approx(found[1]["human_mean"] - found[0]["human_mean"])


def test_table_fits_80_columns_and_says_what_people_and_model_alone_would(ragauge, files: Path) -> None:
    ran = ragauge("correct", files / "model.jsonl", "--human", files / "people.csv")
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80
    assert all(word in ran.out for word in ("dense - bm25", "P@5", "T@5", "people", "model", "rho", "gain"))
    assert "people labelled 1 query only in part" in ran.err


def test_csv_has_a_row_a_run_and_measure(ragauge, files: Path) -> None:
    ran = ragauge("correct", files / "model.jsonl", "--human", files / "people.csv", "-m", "P@5", "--format", "csv")
    assert [row["run"] for row in csv.DictReader(io.StringIO(ran.out))] == ["bm25", "dense", "dense - bm25"]


def test_measure_that_reads_fewer_documents_counts_the_query_labelled_that_far(ragauge, files: Path) -> None:
    ran = ragauge("correct", files / "model.jsonl", "--human", files / "people.csv", "-m", "P@2", "--format", "json")
    assert json.loads(ran.out)["corrected"][0]["n_human"] == 36


def test_undefined_measure_has_no_estimate_and_says_so(ragauge, files: Path) -> None:
    # recall where people found nothing relevant
    ran = ragauge(
        *("correct", files / "model.jsonl", "--labels", files / "model.jsonl", "--human", files / "people.csv"),
        *("-m", "R@5", "--format", "json"),
    )
    found = json.loads(ran.out)["corrected"][0]
    assert found["mean"] is None
    assert "undefined for" in found["reason"]


def test_labels_of_people_and_model_may_have_their_own_threshold(ragauge, files: Path) -> None:
    text = (files / "people.csv").read_text()
    (files / "graded.csv").write_text(text.replace(",1\n", ",3\n").replace(",0\n", ",1\n"))
    one = ragauge("correct", files / "model.jsonl", "--human", files / "people.csv", "-m", "P@5")
    other = ragauge("correct", files / "model.jsonl", "--human", files / "graded.csv", "-m", "P@5", "--human-rel", "2")
    assert one.out == other.out


def test_draw_of_queries_takes_every_run_of_them_and_no_label(ragauge, files: Path) -> None:
    out = files / "drawn.jsonl"
    assert ragauge("draw", files / "model.jsonl", "--queries", "7", "--seed", "2", "--out", out).code == 0
    drawn = read_rankings(out)
    assert drawn.num_rows == 14
    assert len(set(drawn.column("query_id").to_pylist())) == 7
    assert {label for labels in drawn.column("labels").to_pylist() for label in labels} == {None}


def test_draw_of_documents_takes_some_of_the_top_of_each_ranking(ragauge, files: Path) -> None:
    out = files / "drawn.jsonl"
    ran = ragauge("draw", files / "model.jsonl", "--documents", "2", "-k", "4", "--out", out)
    drawn = read_rankings(out).column("doc_ids").to_pylist()
    assert [len(ids) for ids in drawn] == [2] * 120
    ranks = [int(id_.rsplit("-", 1)[1]) for ids in drawn for id_ in ids]
    assert set(ranks) == {0, 1, 2, 3}
    assert "240 documents to label" in ran.err


def test_short_rankings_are_mentioned(ragauge, files: Path) -> None:
    ran = ragauge("draw", files / "model.jsonl", "--documents", "1", "--out", files / "drawn.jsonl")
    assert "120 rankings with fewer than 10 documents" in ran.err


def test_budget_without_rankings_uses_what_it_is_told(ragauge) -> None:
    ran = ragauge("budget", "--within", "0.02", "--mean", "0.6", "--icc", "0.2847", "--format", "json")
    plans = json.loads(ran.out)["plans"]
    assert [plan["labels"] for plan in plans] == [8220, 2305]


def test_budget_from_labelled_rankings_says_where_it_has_mean_and_icc_from(ragauge, files: Path) -> None:
    ran = ragauge("budget", files / "model.jsonl", "--within", "0.05", "-k", "5", "--query-cost", "2")
    assert "from 120 queries" in ran.err
    assert "cost" in ran.out and "one random document of each query" in ran.out


BAD = [
    (("draw", "model.jsonl", "--out", "x.jsonl"), "give either --queries N or --documents N"),
    (("draw", "model.jsonl", "--queries", "61", "--out", "x.jsonl"), "more than the 60 queries there are"),
    (("correct", "model.jsonl", "--human", "people.csv", "-m", "P@0"), "cutoff must be a positive integer"),
    (("correct", "model.jsonl", "--human", "gone.csv"), "gone.csv"),
    (("correct", "model.jsonl"), "--human"),
    (("budget", "--within", "0"), "'--within': 0.0 is not in the range x>0"),
    (("budget", "model.jsonl", "--rel", "5"), "do not vary enough to plan by; give --mean and --icc"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_bad_input_exits_2_and_says_what_is_wrong(ragauge, files: Path, args: tuple[str, ...], message: str) -> None:
    ran = ragauge(*(files / arg if arg.endswith((".jsonl", ".csv")) else arg for arg in args))
    assert ran.code == 2
    assert message in ran.err
