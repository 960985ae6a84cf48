"""`ragauge gate`: exit codes, what it prints and writes for continuous integration, and what it refuses."""

import json
from xml.etree import ElementTree

import pytest

N = 40


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, hits in (("new", 30), ("old", 20)):
        documents = ["d1" if at < hits else "d2" for at in range(N)]
        (tmp_path / f"{name}.run").write_text("".join(f"q{at} Q0 {doc} 1 1.0 x\n" for at, doc in enumerate(documents)))
    (tmp_path / "qrels.txt").write_text("".join(f"q{at} 0 d1 1\nq{at} 0 d2 0\n" for at in range(N)))
    return tmp_path


def gate(ragauge, *args):
    return ragauge("gate", *args, "--labels", "qrels.txt")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("P@1 > 0.5",), 0),
        (("P@1 > 0.5", "delta P@1 > 0 vs old.run"), 0),
        (("P@1 > 0.9",), 1),
        (("P@1 > 0.5", "P@1 > 0.9"), 1),
        (("P@1 > 0.7",), 1),  # .75, and the interval holds .7
        (("P@1 > 0.7", "--undecided", "pass"), 0),
        (("P@1 > 0.7", "--on", "point"), 0),
    ],
)
def test_exit_code_is_the_verdict(ragauge, files, args, code):
    assert gate(ragauge, *args, "new.run").code == code


def test_table_says_why_a_rule_did_not_pass_in_80_columns(ragauge, files):
    ran = gate(ragauge, "P@1 > 0.5", "P@1 > 0.7", "P@1 > 0.9", "new.run")
    assert "P@1 > 0.7\n    undecided: 0." in ran.out
    assert "P@1 > 0.9\n    fails: 0.750, interval" in ran.out
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80


def test_json_holds_every_rule(ragauge, files):
    found = json.loads(gate(ragauge, "P@1 > 0.5", "P@1 > 0.9", "new.run", "--format", "json").out)
    assert (found["rankings"], found["passed"]) == ("new.run", False)
    assert [rule["outcome"] for rule in found["rules"]] == ["pass", "fail"]


def test_junit_file_has_a_case_a_rule(ragauge, files):
    ran = gate(ragauge, "P@1 > 0.5", "P@1 <= 0.2", "new.run", "--junit", "out/gate.xml")
    suite = ElementTree.parse(files / "out" / "gate.xml").getroot()
    assert ran.code == 1
    assert suite.attrib | {"name": ""} == {"name": "", "tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    passed, failed = suite.findall("testcase")
    assert passed.find("failure") is None
    assert failed.get("name") == "P@1 <= 0.2"
    assert failed.find("failure").get("type") == "fail"


def test_summary_is_appended_to_the_file_of_github(ragauge, files, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    (files / "summary.md").write_text("# Before\n")
    gate(ragauge, "P@1 < 0.9", "new.run", "--github-summary", "--quiet")
    text = (files / "summary.md").read_text()
    assert text.startswith("# Before\n### Retrieval quality of new.run: 1 of 1 rules hold\n")
    assert "| pass | P@1 &lt; 0.9 | 0.750 |" in text


def test_summary_goes_to_a_file_that_is_named(ragauge, files):
    gate(ragauge, "P@1 > 0.5", "new.run", "--github-summary=mine.md")
    assert "1 of 1 rules hold" in (files / "mine.md").read_text()


def test_unlabelled_rankings_exit_1(ragauge, files):
    ran = ragauge("gate", "P@1 <= 0.9", "--undecided", "pass", "new.run")
    assert ran.code == 1
    assert "no retrieved document is judged in new.run" in ran.out


BAD = [
    (("P@1 >> 0.5", "new.run"), "at character 5: expected >="),
    (("P@1 > 0.5",), "files found: none"),
    (("P@1 > 0.5", "new.run", "old.run"), "files found: 'new.run', 'old.run'"),
    (("new.run",), "no rule given"),
    (("P@1 > 0.5", "gone.run"), "no file gone.run"),
    (("delta P@1 > 0 vs gone.run", "new.run"), "no file gone.run"),
    (("P@1 > 0.5", "new.run", "--github-summary"), "needs a file where $GITHUB_STEP_SUMMARY is not set"),
    (("--github-summary", "P@1 > 0.5", "new.run"), "took 'P@1 > 0.5' for its file"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_bad_input_exits_2_and_says_what_is_wrong(ragauge, files, monkeypatch, args, message):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    ran = ragauge("gate", "--labels", "qrels.txt", *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.fixture
def unlike(files):
    """Two documents of equal score a query, given as d2 d1: d1 is relevant, d2 is not judged."""
    (files / "tied.run").write_text("".join(f"q{at} Q0 d2 1 1.0 x\nq{at} Q0 d1 2 1.0 x\n" for at in range(N)))
    (files / "few.txt").write_text("".join(f"q{at} 0 d1 1\n" for at in range(N)))
    return files


@pytest.mark.parametrize(
    ("policy", "value"),
    [
        ((), 0.5),  # trec: d2 before d1
        (("--unjudged", "skip"), 1),
        (("--ties", "expected"), 0.75),
    ],
)
def test_policies_decide_what_a_rule_is_checked_on(ragauge, unlike, policy, value):
    ran = ragauge("gate", "RR@2 > 0.4", "tied.run", "--labels", "few.txt", "--format", "json", *policy)
    found = json.loads(ran.out)
    assert found["rules"][0]["value"] == value
    assert found["policies"]["ties"] == ("expected" if "expected" in policy else "trec")


def test_policies_that_are_not_the_default_are_said(ragauge, unlike):
    args = ("gate", "T@2 > 0.1", "tied.run", "--labels", "few.txt", "--github-summary=mine.md")
    told = "Policies (as trec_eval): ties trec, no-relevant zero, unjudged skip; the others\n  by default.\n"
    assert ragauge(*args, "--compat", "trec_eval", "--unjudged", "skip").out.endswith(told)
    assert "Policies" in (unlike / "mine.md").read_text()
    assert "Policies" not in ragauge(*args).out


def test_a_document_twice_is_refused_or_counts_once(ragauge, files):
    (files / "twice.run").write_text("q0 Q0 d1 1 2.0 x\nq0 Q0 d1 2 1.0 x\nq1 Q0 d1 1 1.0 x\n")
    assert gate(ragauge, "n_p@2 > 0", "twice.run").code == 2
    found = gate(
        ragauge,
        "n_p@2 > 0",
        "delta n_p@2 > -1 vs twice.run",
        "twice.run",
        "--duplicates",
        "max",
        "--missing",
        "skip",
        "--format",
        "json",
    )
    assert [rule["value"] for rule in json.loads(found.out)["rules"]] == [1, 0]


def test_policies_are_refused_where_there_are_only_scores(ragauge, files):
    ragauge("score", "old.run", "--labels", "qrels.txt", "-m", "P@1", "--per-query", "old.parquet")
    ran = ragauge("gate", "P@1 > 0.3", "old.parquet", "--ties", "trec")
    assert (ran.code, ran.out) == (2, "")
    found = json.loads(ragauge("gate", "P@1 > 0.3", "old.parquet", "--format", "json").out)
    assert found["policies"] is None
    assert "old.parquet holds scores, which ragauge score computed by its own policies. Policies: ties trec" in ran.err


def test_score_writes_what_gate_takes_for_a_baseline(ragauge, files):
    ragauge("score", "old.run", "--labels", "qrels.txt", "-m", "P@1", "--per-query", "old.parquet")
    assert gate(ragauge, "delta P@1 > 0 vs old.parquet", "new.run").code == 0
    assert ragauge("gate", "P@1 > 0.3", "old.parquet").code == 0
