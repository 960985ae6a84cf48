"""The gate: what passes, what fails, what is undecided, and that nothing broken gets through."""

import math

import pyarrow as pa
import pytest

from ragauge.errors import FormatError, InputError, MeasureError
from ragauge.io import read_labels, write_table
from ragauge.measures import Policies
from ragauge.quality.gate import Source, assert_quality, check_rules, read_source
from ragauge.quality.rules import parse_rule

N = 40


def lines(hits, run="new"):
    """A TREC run of N queries; the top 2 of the first `hits` queries are d1 d2, of the others d3 d4."""
    documents = [("d1", "d2") if at < hits else ("d3", "d4") for at in range(N)]
    return "".join(f"q{at} Q0 {a} 1 2.0 {run}\nq{at} Q0 {b} 2 1.0 {run}\n" for at, (a, b) in enumerate(documents))


QRELS = "".join(f"q{at} 0 d1 1\nq{at} 0 d2 0\nq{at} 0 d3 0\nq{at} 0 d4 0\n" for at in range(N))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "new.run").write_text(lines(30))
    (tmp_path / "old.run").write_text(lines(20, run="old"))
    return tmp_path


def check(*rules, file="new.run", labels="qrels.txt", **options):
    table = read_labels(labels) if labels else None
    return check_rules([parse_rule(rule) for rule in rules], read_source(file), table, **options)


def test_rules_pass_fail_and_stay_undecided_by_the_interval(folder):
    # P@2 is .5 on 30 of 40 queries: .375; its interval holds .35 and .4 and neither .2 nor .5
    found = check("P@2 > 0.2", "P@2 > 0.35", "P@2 > 0.5", "P@2 < 0.5", "P@2 <= 0.4")
    assert [one.outcome for one in found] == ["pass", "undecided", "fail", "pass", "undecided"]
    assert [one.passed for one in found] == [True, False, False, True, False]
    assert found[0].value == pytest.approx(0.375)
    assert (found[0].n, found[0].judged) == (N, 1)
    assert found[0].low < 0.375 < found[0].high


def test_policies_apply_to_both_sides_of_a_rule(folder):
    twice = "q0 Q0 d2 1 2.0 x\nq0 Q0 d1 2 1.5 x\nq0 Q0 d2 3 1.0 x\nq1 Q0 d1 1 1.0 x\n"
    (folder / "twice.run").write_text(twice)
    (folder / "few.txt").write_text("q0 0 d1 1\nq1 0 d1 1\n")
    rules = ("RR@2 >= 1", "delta RR@2 >= 0 vs twice.run")
    policies = Policies(duplicates="first", unjudged="skip")
    assert_quality("twice.run", "few.txt", *rules, on="point", policies=policies)
    with pytest.raises(AssertionError, match=r"RR@2 >= 1: 0.750"):  # (1/2 + 1) / 2, with d2 not relevant
        assert_quality("twice.run", "few.txt", *rules, on="point", policies=Policies(duplicates="first"))


def test_bounds_are_not_what_a_rule_can_be_checked_on(folder):
    with pytest.raises(InputError, match="unjudged=bounds gives two; choose negative or skip"):
        check("P@2 > 0.2", policies=Policies(unjudged="bounds"))


def test_undecided_can_be_let_through_and_the_point_can_decide(folder):
    assert check("P@2 > 0.35", undecided="pass")[0].passed
    assert check("P@2 > 0.35", on="point")[0].outcome == "pass"
    assert check("P@2 > 0.38", on="point", undecided="pass")[0].outcome == "fail"


def test_difference_to_a_baseline_is_decided_on_its_own_interval(folder):
    # .5 more on 10 of 40 queries: +.125
    found = check("delta P@2 > 0 vs old.run", "delta P@2 > 0.2 vs old.run", "delta P@2 > 0.1 vs old.run")
    assert [one.outcome for one in found] == ["pass", "fail", "undecided"]
    assert found[0].value == pytest.approx(0.125)


def test_unchanged_system_does_not_fall_below_its_baseline(folder):
    found = check("delta P@2 > -0.02 vs old.run", "delta P@2 > 0 vs old.run", file="old.run")
    assert [one.outcome for one in found] == ["pass", "fail"]
    assert found[0].reason == "no query tells the systems apart"


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_baseline_and_new_may_be_scores_of_queries(folder, suffix):
    for name, hits in (("new", 30), ("old", 20)):
        values = [0.5] * hits + [0.0] * (N - hits)
        ids = [f"q{at}" for at in range(N)]
        write_table(pa.table({"query_id": ids, "run": ["x"] * N, "P@2": values}), folder / f"{name}.{suffix}")
    by_scores = check(f"delta P@2 > 0 vs old.{suffix}")[0]
    assert (by_scores.outcome, by_scores.value) == ("pass", pytest.approx(0.125))
    both = check("P@2 > 0.2", f"delta P@2 > 0 vs old.{suffix}", file=f"new.{suffix}", labels=None)
    assert [one.outcome for one in both] == ["pass", "pass"]
    assert math.isnan(both[0].judged)
    with pytest.raises(InputError, match="has no scores for R@2; found: P@2"):
        check(f"delta R@2 > 0 vs old.{suffix}")


def test_query_the_new_system_gave_up_counts_as_zero(folder):
    # without labels the queries of the baseline are what counts, scores or rankings
    short = "".join(f'{{"query_id": "q{at}", "documents": [{{"doc_id": "d1", "label": 1}}]}}\n' for at in range(20))
    (folder / "short.jsonl").write_text(short)
    full = pa.table({"query_id": [f"q{at}" for at in range(N)], "run": ["x"] * N, "P@1": [1.0] * N})
    write_table(full, folder / "full.csv")
    found = check("delta P@1 > -0.1 vs full.csv", file="short.jsonl", labels=None)[0]
    assert (found.outcome, found.value, found.n) == ("fail", -0.5, N)


def test_baseline_that_lost_its_rankings_is_not_easier_to_beat(folder):
    # of the baseline the first 15 queries are left, all hits; the new run has 10 hits, all among these
    (folder / "broken.run").write_text("".join(lines(30).splitlines(keepends=True)[:30]))
    (folder / "worse.run").write_text(lines(10))
    found = check("delta P@2 > 0 vs broken.run", file="worse.run")[0]
    assert (found.outcome, found.n, found.n_undefined, found.n_missing) == ("fail", 15, 25, 0)
    assert found.value < 0


def test_queries_without_a_ranking_are_counted(folder):
    (folder / "short.run").write_text("".join(lines(30).splitlines(keepends=True)[:20]))
    found = check("P@2 > 0.2", file="short.run")[0]
    assert (found.value, found.n, found.n_missing) == (0.125, N, 30)


@pytest.mark.parametrize("options", [{}, {"undecided": "pass"}, {"on": "point"}])
def test_unlabelled_rankings_pass_nothing(folder, options):
    found = check("P@2 <= 0.5", "T@2 >= -0.1", "delta P@2 > -0.02 vs old.run", labels=None, **options)
    assert [one.outcome for one in found] == ["fail"] * 3
    assert "no retrieved document is judged in new.run" in found[0].reason
    assert not any(one.passed for one in found)


def test_run_that_returns_nothing_passes_nothing(folder):
    (folder / "empty.jsonl").write_text('{"query_id": "q1", "documents": []}\n')
    found = check("P@2 <= 0.5", file="empty.jsonl", undecided="pass")[0]
    assert (found.outcome, found.passed) == ("fail", False)
    assert "no document was retrieved" in found.reason


def test_measure_that_is_undefined_everywhere_passes_nothing(folder):
    (folder / "none.qrels").write_text(QRELS.replace(" 1\n", " 0\n"))
    found = check("R@2 >= 0", labels="none.qrels", undecided="pass")[0]
    assert (found.outcome, found.n, found.n_undefined) == ("fail", 0, N)
    assert "no query has a value" in found.reason


def test_single_query_has_no_interval_and_is_undecided(folder):
    (folder / "one.jsonl").write_text('{"query_id": "q", "documents": [{"doc_id": "d1", "label": 1}]}\n')
    found = check("P@1 > 0.5", file="one.jsonl", labels=None)[0]
    assert (found.outcome, found.reason) == ("undecided", "one query or cluster")


def test_probabilities_count_from_one_half(folder):
    record = '{{"query_id": "q{}", "documents": [{{"doc_id": "a", "label": 0.9}}, {{"doc_id": "b", "label": 0.2}}]}}\n'
    (folder / "p.jsonl").write_text("".join(record.format(at) for at in range(9)))
    found = check("P@2 > 0.1", file="p.jsonl", labels=None)[0]
    assert (found.rule, found.value) == ("P(rel=0.5)@2 > 0.1", 0.5)


def test_clusters_widen_the_interval(folder):
    clusters = {f"q{at}": str(at // 10) for at in range(N)}
    plain, wide = check("P@2 > 0.2")[0], check("P@2 > 0.2", clusters=clusters)[0]
    assert wide.low < plain.low
    assert check("delta P@2 > 0 vs old.run", clusters=clusters)[0].outcome == "undecided"


@pytest.mark.parametrize(
    ("rules", "file", "error", "message"),
    [
        ((), "new.run", InputError, "no rule given"),
        (("P@2 > 0",), "gone.run", FormatError, "no file gone.run"),
        (("delta P@2 > 0 vs gone.run",), "new.run", FormatError, "no file gone.run"),
        (("P@2 > 0",), "both.run", InputError, r"holds 2 runs \(new, old\); name one with --run"),
        (("delta P@2 > 0 vs both.run",), "third.run", InputError, "holds 2 runs .*there is no 'third'"),
    ],
)
def test_what_cannot_be_checked_is_refused(folder, rules, file, error, message):
    (folder / "both.run").write_text(lines(20) + lines(10, run="old"))
    (folder / "third.run").write_text(lines(20, run="third"))
    with pytest.raises(error, match=message):
        check(*rules, file=file)


def test_measure_that_needs_unknown_documents_is_refused(folder):
    (folder / "in.jsonl").write_text('{"query_id": "q", "documents": [{"doc_id": "d1", "label": 1}]}\n')
    with pytest.raises(MeasureError, match="R@1"):
        check("R@1 > 0.5", file="in.jsonl", labels=None)


@pytest.mark.parametrize("options", [{"on": "mean"}, {"undecided": "skip"}, {"level": 2.0}])
def test_option_that_is_not_allowed_is_refused(folder, options):
    with pytest.raises(InputError, match=next(iter(options))):
        check("P@2 > 0.2", **options)


def test_baseline_of_several_runs_is_the_run_of_the_same_name(folder):
    (folder / "both.run").write_text(lines(30) + lines(10, run="old"))
    assert check("delta P@2 > -0.02 vs both.run")[0].value == 0


def test_source_without_a_query_is_refused(folder):
    source = read_source("new.run")
    with pytest.raises(InputError, match="x must hold one run, got none"):
        Source("x", "rankings", source.table.slice(0, 0))


def test_assert_quality_is_silent_or_lists_every_rule(folder):
    assert_quality("new.run", "qrels.txt", "P@2 > 0.2")
    assert_quality(read_source("new.run").table, read_labels("qrels.txt"), "P@2 > 0.2")
    with pytest.raises(AssertionError) as error:
        assert_quality("new.run", "qrels.txt", "P@2 > 0.2", "P@2 > 0.6")
    first, passed, failed = str(error.value).splitlines()
    assert "new.run" in first
    assert passed.startswith("  pass ")
    assert failed.startswith("✗ fail       P@2 > 0.6: 0.375 [")


def test_verdict_prints_as_one_line(folder):
    assert str(check("P@2 <= 0.5", labels=None)[0]) == (
        "fail       P@2 <= 0.5: undefined, n = 40 (no retrieved document is judged in new.run; "
        "give labels, or make some with ragauge label)"
    )
