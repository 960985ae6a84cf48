"""`ragauge score`: each policy as an option, and what is printed beside a number."""

import json
from pathlib import Path

import pytest

QRELS = "q1 0 dA 0\nq1 0 dB 1\nq2 0 dC 1\nq3 0 dA 0\n"
TIED = "q1 Q0 dA 1 1.0 bm25\nq1 Q0 dB 2 1.0 bm25\nq9 Q0 dA 1 1.0 bm25\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "run.txt").write_text(TIED)
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


@pytest.fixture
def means(ragauge, files: Path):
    """means("--ties", "trec", ...) -> {printed measure: mean}, for run.txt and qrels.txt."""

    def run(*args: object, rankings: str = "run.txt") -> dict[str, float | None]:
        ran = ragauge("score", files / rankings, "--labels", files / "qrels.txt", "--format", "json", *args)
        assert ran.code == 0, ran.err
        return {entry["measure"]: entry["mean"] for entry in json.loads(ran.out)["measures"]}

    return run


# q1 alone is ranked; q2 and q3 are missing, so each mean is a third of the value of q1
TIES = [("trec", 1.0), ("input", 0.5), ("expected", 0.75)]


@pytest.mark.parametrize(("ties", "value"), TIES)
def test_trap_T1_ties_go_as_they_are_told(means, ties: str, value: float) -> None:
    assert means("-m", "RR", "--ties", ties) == {"RR": pytest.approx(value / 3)}


def test_a_trec_run_goes_by_trec_evals_order_and_other_files_by_their_own(means, files: Path) -> None:
    documents = [{"doc_id": "dA", "score": 1.0}, {"doc_id": "dB", "score": 1.0}]
    (files / "run.jsonl").write_text(json.dumps({"query_id": "q1", "documents": documents}) + "\n")
    assert means("-m", "RR") == {"RR": pytest.approx(1 / 3)}
    assert means("-m", "RR", rankings="run.jsonl") == {"RR": pytest.approx(0.5 / 3)}


CHOICES = [
    (("--missing", "skip"), {"P@1": 1.0, "R@1": 1.0}),
    (("--missing", "worst"), {"P@1": 1 / 3, "R@1": 0.5}),
    (("--extra", "zero"), {"P@1": 1 / 4, "R@1": 1 / 3}),
    (("--no-relevant", "zero"), {"P@1": 1 / 3, "R@1": 1 / 3}),
    (("--no-relevant", "skip"), {"P@1": 0.5, "R@1": 0.5}),
]


@pytest.mark.parametrize(("options", "expected"), CHOICES)
def test_traps_T4_to_T6_queries_count_as_they_are_told(
    means, options: tuple[str, ...], expected: dict[str, float]
) -> None:
    assert means("-m", "P@1", "-m", "R@1", *options) == {name: pytest.approx(value) for name, value in expected.items()}


def test_json_names_the_policies_and_counts_what_they_did(ragauge, files: Path) -> None:
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "P@1", "--format", "json")
    found = json.loads(ran.out)
    assert found["policies"]["ties"] == "trec"
    assert found["policies"]["missing"] == "zero"
    assert found["coverage"] == [{"run": "bm25", "n_ranked": 1, "n_missing": 2, "n_extra": 1}]
    assert found["changes"]["n_no_relevant"] == 1
    assert (found["n_queries"], found["measures"][0]["n_tied"]) == (3, 1)
    assert found["measures"][0]["attainable"] == pytest.approx(2 / 3)


def test_the_table_says_what_it_is_over_and_fits_80_columns(ragauge, files: Path) -> None:
    measures = [text for name in ("T(alpha=0.3)@10", "nDCG(ideal=retrieved)@10", "R@10") for text in ("-m", name)]
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", *measures, "--unjudged", "bounds")
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80
    for words in ("undef", "judged", "tied", "max", "worst", "best", "Over 3 labelled queries.", "last first"):
        assert words in ran.out
    assert "No ranking for 2 labelled queries: scored as empty rankings." in ran.out
    assert "No label for 1 query ranked: left out." in ran.out


def test_compat_counts_as_trec_eval_and_an_option_overrides_it(means) -> None:
    # q1 has dB first (1 of 1, T 0.5/2 - 0.5/2), q2 is missing, q3 has nothing relevant: 0, and counted
    compat = ("--compat", "trec_eval", "-m", "R@1", "-m", "T@2")
    assert means(*compat) == {"R@1": pytest.approx(1 / 3), "T(unjudged=negative)@2": 0.0}
    assert means(*compat, "--no-relevant", "undefined", "--ties", "input")["R@1"] == 0.0


def test_trap_T10_a_document_twice_names_file_and_line_or_is_dropped_and_counted(ragauge, means, files: Path) -> None:
    (files / "twice.run").write_text("q1 Q0 dB 1 3.0 x\nq1 Q0 dA 2 2.0 x\nq1 Q0 dB 3 1.0 x\n")
    ran = ragauge("score", files / "twice.run", "--labels", files / "qrels.txt", "-m", "RR")
    assert ran.code == 2
    assert "twice.run, line 3" in ran.err and "dB" in ran.err
    for policy in ("first", "max"):
        assert means("-m", "RR", "--duplicates", policy, rankings="twice.run") == {"RR": pytest.approx(1 / 3)}
    ran = ragauge("score", files / "twice.run", "--labels", files / "qrels.txt", "-m", "RR", "--duplicates", "max")
    assert "1 document dropped: there twice, the best-scored kept." in ran.out


def test_chunks_are_collapsed_to_documents(means, files: Path) -> None:
    (files / "chunks.run").write_text("q1 Q0 dA#1 1 3.0 x\nq1 Q0 dA#2 2 2.0 x\nq1 Q0 dB#1 3 1.0 x\n")
    chosen = ("--collapse", "max", "--doc-id-rule", "#", "-m", "RR")
    assert means(*chosen, rankings="chunks.run") == {"RR": pytest.approx(0.5 / 3)}


def test_the_query_among_its_own_results_is_dropped_when_asked(means, files: Path) -> None:
    (files / "self.run").write_text("q1 Q0 q1 1 3.0 x\nq1 Q0 dB 2 2.0 x\n")
    assert means("-m", "RR", rankings="self.run") == {"RR": pytest.approx(0.5 / 3)}
    assert means("-m", "RR", "--ignore-identical-ids", rankings="self.run") == {"RR": pytest.approx(1 / 3)}


def test_trap_25_a_grade_below_0_can_be_a_verdict(means, files: Path) -> None:
    (files / "qrels.txt").write_text("q1 0 dA -2\nq1 0 dB 1\n")
    assert means("-m", "Judged@2") == {"Judged@2": 0.5}
    assert means("-m", "Judged@2", "--negative-grades", "negative") == {"Judged@2": 1.0}


def test_trap_T16_runs_of_one_name_in_two_files_stay_apart(ragauge, files: Path) -> None:
    (files / "other.txt").write_text(TIED.replace("dB", "dX"))
    both = (files / "run.txt", files / "other.txt")
    ran = ragauge("score", *both, "--labels", files / "qrels.txt", "-m", "P@1", "--format", "json")
    found = {entry["run"]: entry["mean"] for entry in json.loads(ran.out)["measures"]}
    assert len(found) == 2
    assert sorted(found.values()) == [0.0, pytest.approx(1 / 3)]


def test_trap_18_files_without_a_common_query_are_refused_with_samples(ragauge, files: Path) -> None:
    (files / "qrels.txt").write_text("topic-1 0 dA 1\n")
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "P@1")
    assert ran.code == 2
    assert "'q1', 'q9'" in ran.err and "'topic-1'" in ran.err


def test_per_query_values_hold_the_bounds(ragauge, files: Path) -> None:
    target = files / "scores.csv"
    ragauge(
        *("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "P@1"),
        *("--unjudged", "bounds", "--per-query", target),
    )
    assert target.read_text().splitlines()[0] == "query_id,run,P@1,low P@1,high P@1"


def test_csv_has_bounds_for_the_measures_that_have_some(ragauge, files: Path) -> None:
    ran = ragauge(
        *("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "Judged@1", "-m", "P@1"),
        *("--unjudged", "bounds", "--format", "csv"),
    )
    header, share, precision = ran.out.splitlines()
    assert header.endswith("n_tied,attainable,bound_low,bound_high")
    assert share.endswith("NaN,NaN")
    # q1 has dB first by id; q2 and q3 are missing
    assert [float(value) for value in precision.split(",")[-2:]] == [pytest.approx(1 / 3)] * 2


BAD = [
    (("--collapse", "max"), "belong together"),
    (("--unjudged", "bounds", "--ties", "expected"), "choose ties=trec or ties=input"),
    (("--missing", "error"), "query 'q2' has labels and no ranking in run 'bm25'"),
    (("--extra", "error"), "query 'q9' of run 'bm25' has no label"),
    (("--unjudged", "bounds", "--max-label", "0.5"), "a label of 1 exceeds max_label=0.5"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_choices_that_cannot_be_met_exit_2_and_say_why(
    ragauge, files: Path, options: tuple[str, ...], message: str
) -> None:
    ran = ragauge("score", files / "run.txt", "--labels", files / "qrels.txt", "-m", "P@1", *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
