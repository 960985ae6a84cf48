"""Traps of other tools, as they would meet a user of the command line. docs/traps.md lists all of them."""

import json
from pathlib import Path

import numpy as np
import pytest

QRELS = "q1 0 dA 1\nq1 0 dB 0\nq2 0 dB 1\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text("q1 Q0 dA 1 2.0 bm25\nq1 Q0 dC 2 1.0 bm25\n")
    (tmp_path / "other.txt").write_text("q1 Q0 dB 1 2.0 dense\nq2 Q0 dB 2 1.0 dense\n")
    (tmp_path / "inside.jsonl").write_text('{"query_id": "q1", "documents": [{"doc_id": "dA", "label": 1}]}\n')
    for name in ("empty.run", "empty.jsonl", "empty.qrels"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.fixture
def score(ragauge, files: Path):
    """score("run.txt", "-m", "P@1", ...) against qrels.txt."""
    return lambda name, *args: ragauge("score", files / name, "--labels", files / "qrels.txt", *args)


def test_trap_10_ties_of_half_precision_scores_are_said(score, files: Path) -> None:
    # 0.91 and 0.9101 are one number in 16 bits
    scores = np.array([0.9101, 0.91, 1 / 3], np.float16).astype(float)
    documents = [{"doc_id": doc, "score": s} for doc, s in zip(("dB", "dA", "dC"), scores.tolist(), strict=True)]
    (files / "half.jsonl").write_text(json.dumps({"query_id": "q1", "documents": documents}))
    out = score("half.jsonl", "-m", "RR").out
    assert "All scores fit float16: that some are equal may be due to rounding." in " ".join(out.split())


def test_trap_12_each_query_has_a_line_and_a_missing_one_its_zero(score, files: Path) -> None:
    score("run.txt", "-m", "P@1", "--per-query", files / "each.csv")
    assert (files / "each.csv").read_text().splitlines() == ["query_id,run,P@1", "q1,bm25,1.0", "q2,bm25,0.0"]


def test_trap_24_fractional_labels_are_read_and_their_threshold_is_said(score, files: Path) -> None:
    (files / "qrels.txt").write_text("q1 0 dA 0.75\nq1 0 dC 0.25\n")
    ran = score("run.txt", "-m", "DCG@1", "-m", "T(labels=probability)@2", "-m", "P@2", "--format", "json")
    found = {each["measure"]: each["mean"] for each in json.loads(ran.out)["measures"]}
    # .75; expected n_p = 1, n_n = 1: (.5 - .5) / 2; one label of at least .5
    assert found == {"DCG@1": 0.75, "T(labels=probability)@2": 0.0, "P(rel=0.5)@2": 0.5}
    assert "Labels are probabilities: 0.5 and above counts as relevant" in ran.err


NEEDS_N_P = ["R@1", "F@1", "AP", "nDCG@1", "Rprec", "bpref", "infAP", "SetF"]


@pytest.mark.parametrize("name", NEEDS_N_P)
def test_trap_33_what_needs_the_number_of_relevant_documents_is_refused_without_it(
    ragauge, files: Path, name: str
) -> None:
    ran = ragauge("score", files / "inside.jsonl", "-m", name)
    assert (ran.code, ran.out) == (2, "")
    assert "must know the labels of documents that were not retrieved" in ran.err
    assert "or use what works without: n_p, n_n, P, SetP, Success, Fe, T," in ran.err


def test_trap_33_measures_without_it_are_scored(ragauge, files: Path) -> None:
    names = ("P@1", "T@1", "SDCG(max_label=1)@2", "nDCG(ideal=retrieved)@1")
    ran = ragauge(
        "score", files / "inside.jsonl", *(word for name in names for word in ("-m", name)), "--format", "csv"
    )
    assert (ran.code, len(ran.out.splitlines())) == (0, 1 + len(names))


def test_trap_36_the_p_of_the_table_is_corrected_and_both_are_in_the_file(ragauge, files: Path) -> None:
    arguments = (files / "run.txt", files / "other.txt", "--labels", files / "qrels.txt", "-m", "P@1", "-m", "RR")
    found = json.loads(ragauge("compare", *arguments, "--format", "json").out)["comparisons"]
    assert all(one["p_holm"] >= one["p"] for one in found)
    assert "p      corrected for all tests above (Holm)" in ragauge("compare", *arguments).out


EMPTY = [
    ("empty.run", "qrels.txt", "empty.run is empty"),
    ("empty.jsonl", "qrels.txt", "empty.jsonl is empty"),
    ("run.txt", "empty.qrels", "empty.qrels is empty"),
]


@pytest.mark.parametrize(("rankings", "labels", "message"), EMPTY)
def test_trap_39_an_empty_file_is_an_error_that_names_it(
    ragauge, files: Path, rankings: str, labels: str, message: str
) -> None:
    ran = ragauge("score", files / rankings, "--labels", files / labels, "-m", "P@1")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_trap_43_the_share_of_judged_documents_stands_beside_every_mean(ragauge, score, files: Path) -> None:
    # dA is judged, dC is not; of the first one all is judged
    names = ("P@1", "P@2", "nDCG@2", "Success@2", "RR")
    measures = [word for name in names for word in ("-m", name)]
    found = json.loads(score("run.txt", *measures, "--format", "json").out)["measures"]
    assert [each["judged"] for each in found] == [1.0, 0.5, 0.5, 0.5, 0.5]
    assert "judged" in score("run.txt", *measures, "--format", "csv").out.splitlines()[0].split(",")
    assert "judged" in score("run.txt", *measures).out.splitlines()[0].split()
    both = (files / "run.txt", files / "other.txt", "--labels", files / "qrels.txt")
    (one,) = json.loads(ragauge("compare", *both, "-m", "P@2", "--format", "json").out)["comparisons"]
    assert (one["judged_baseline"], one["judged_system"]) == (0.5, 1.0)


def test_trap_44_a_depth_holds_for_measures_without_a_cutoff(score, files: Path) -> None:
    (files / "deep.run").write_text("q1 Q0 dB 1 2.0 x\nq1 Q0 dA 2 1.0 x\n")
    names = ("AP", "RR", "bpref", "SetP", "nDCG")
    measures = [word for name in names for word in ("-m", name)]
    ran = score("deep.run", *measures, "--missing", "skip", "--depth", "1", "--format", "json")
    assert [each["mean"] for each in json.loads(ran.out)["measures"]] == [0.0] * 5


@pytest.mark.parametrize("name", ["P@0", "P.0", "R@1e1", "ndcg@", "P", "NDCG_10", "rbp(0.9)", "RBP(p=90)"])
def test_trap_T14_a_measure_that_cannot_be_is_exit_code_2_and_says_what_can(score, name: str) -> None:
    ran = score("run.txt", "-m", name)
    assert (ran.code, ran.out) == (2, "")
    assert "Error: " in ran.err and repr(name.split("(")[0][:3])[1:3] in ran.err


def test_trap_T16_a_measure_that_is_scored_can_be_reported_under_its_name(ragauge, files: Path) -> None:
    both = (files / "run.txt", files / "other.txt", "--labels", files / "qrels.txt")
    names = ("RBP(p=0.9)", "RBP@90")  # @90 is a cutoff; the patience has its own name
    measures = [word for name in names for word in ("-m", name)]
    ran = ragauge("compare", *both, *measures, "--html", files / "page.html", "--format", "json")
    assert tuple(one["measure"] for one in json.loads(ran.out)["comparisons"]) == names
    assert all(name in (files / "page.html").read_text() for name in names)


def test_trap_T16_the_same_seed_gives_the_same_answer(ragauge, files: Path) -> None:
    rng = np.random.default_rng(16)
    lines = {run: [f"q{at} Q0 {rng.choice(['dA', 'dB'])} 1 1.0 {run}" for at in range(40)] for run in ("a", "b")}
    (files / "qrels.txt").write_text("".join(f"q{at} 0 dA 1\n" for at in range(40)))
    outputs = set()
    for turn in (1, -1):  # the order of the lines does not matter
        for run, of_run in lines.items():
            (files / f"{run}.run").write_text("\n".join(of_run[::turn]) + "\n")
        arguments = (files / "a.run", files / "b.run", "--labels", files / "qrels.txt", "-m", "P@1", "--seed", "7")
        outputs.add(ragauge("compare", *arguments, "--format", "json").out)
    assert len(outputs) == 1
