"""`ragauge tune`: what it prints and refuses."""

import csv
import io
import json

import numpy as np
import pytest


@pytest.fixture
def deep(tmp_path):
    """60 rankings of 30 labelled documents; relevant with .8 at the first rank, down to .05."""
    rng = np.random.default_rng(1)
    path = tmp_path / "deep.jsonl"
    with path.open("w") as file:
        for query in range(60):
            shares = np.clip(0.8 - 0.03 * np.arange(30), 0.05, 1)
            documents = [
                {"doc_id": f"d{at}", "score": round(float(share), 3), "label": int(rng.random() < share)}
                for at, share in enumerate(shares)
            ]
            file.write(json.dumps({"query_id": f"q{query}", "documents": documents}) + "\n")
    return path


def test_json_holds_the_gain_and_every_candidate(ragauge, deep):
    ran = ragauge("tune", deep, "-m", "T(alpha=0.5)@30", "--today", 30, "--format", "json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert found["measure"] == "T@30"
    # P(relevant) passes alpha = .5 at rank 11
    assert 8 <= found["best"]["value"] <= 14
    assert found["low"] > 0 and found["gain"] <= found["gain_in_sample"]
    assert len(found["candidates"]) == 30


def test_table_marks_the_best_and_todays_and_fits_80_columns(ragauge, deep):
    out = ragauge("tune", deep, "-m", "T@30").out
    assert sum("best here" in line for line in out.splitlines()) == 1
    assert sum("top 10 " in line and "today" in line for line in out.splitlines()) == 1
    assert "Gain to expect over the top 10:" in out
    assert "In-sample gain of the best:" in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80


def test_cutoffs_end_with_the_rankings_and_today_with_k(ragauge, deep):
    found = [json.loads(ragauge("tune", deep, "-m", name, "--format", "json").out) for name in ("T@900", "T@5")]
    assert [len(one["candidates"]) for one in found] == [30, 5]
    assert [one["today"]["value"] for one in found] == [10, 5]


def test_score_threshold_is_tuned_too(ragauge, deep):
    ran = ragauge("tune", deep, "-m", "T@30", "--by", "score", "--today", 30, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    best = max(rows, key=lambda row: float(row["mean"]))
    assert 0.35 <= float(best["value"]) <= 0.65


def test_html_is_a_report(ragauge, deep):
    target = deep.with_name("tuned.html")
    ran = ragauge("tune", deep, "-m", "T@30", "--html", target)
    assert ran.code == 0, ran.err
    assert "gain to expect" in target.read_text(encoding="utf-8")


def test_same_seed_gives_the_same_answer(ragauge, deep):
    first, again, other = (ragauge("tune", deep, "-m", "T@30", "--seed", seed).out for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_missing_labels_are_a_warning(ragauge, tmp_path):
    record = '{{"query_id": "q{}", "documents": [{{"doc_id": "a", "label": 1}}, {{"doc_id": "b"}}]}}\n'
    (tmp_path / "half.jsonl").write_text("".join(record.format(at) for at in range(5)))
    ran = ragauge("tune", tmp_path / "half.jsonl", "-m", "T@2", "--today", 2)
    assert "50% of the first 2 are judged; the others count neither way" in ran.err


def test_policies_decide_which_documents_are_cut(ragauge, deep):
    ran = ragauge("tune", deep, "-m", "T@30", "--depth", 12, "--ties", "trec", "--format", "json")
    found = json.loads(ran.out)
    assert len(found["candidates"]) == 12
    assert (found["policies"]["depth"], found["policies"]["ties"]) == (12, "trec")
    told = "Policies: depth 12; the others by default.\n"
    assert ragauge("tune", deep, "-m", "T@30", "--depth", 12).out.endswith(told)
    assert "Policies" not in ragauge("tune", deep, "-m", "T@30").out


def test_queries_without_a_ranking_are_left_out_where_asked(ragauge, tmp_path):
    (tmp_path / "x.run").write_text("".join(f"q{at} Q0 d1 1 1.0 x\n" for at in range(4)))
    (tmp_path / "qrels.txt").write_text("".join(f"q{at} 0 d1 1\n" for at in range(6)))
    args = (
        "tune",
        tmp_path / "x.run",
        "--labels",
        tmp_path / "qrels.txt",
        "-m",
        "T@2",
        "--today",
        1,
        "--format",
        "json",
    )
    assert [json.loads(ragauge(*args, "--missing", word).out)["n"] for word in ("zero", "skip")] == [6, 4]


BAD = [
    (("--unjudged", "skip"), "No such option '--unjudged'"),
    (("--ties", "expected"), "is not one of 'trec', 'input'"),
    (("-m", "P@10"), "tuning maximises T or F"),
    (("-m", "T@5", "--today", "10"), "today must be 1..5, the K of T@5, got 10"),
    (("-m", "F@20"), "give qrels, or use T"),
    (("--run", "other"), "holds 1 run (deep); there is no 'other'"),
    (("--folds", "1"), "--folds"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_bad_options_exit_2_and_say_what_is_wrong(ragauge, deep, args, message):
    ran = ragauge("tune", deep, *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
