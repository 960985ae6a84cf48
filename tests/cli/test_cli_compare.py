"""`ragauge compare`: what it prints, writes, and refuses."""

import csv
import io
import json
import re

import pyarrow.parquet as pq
import pytest

N = 30


def run_of(order, run="rank"):
    """A TREC run of N queries whose documents stand in this order, turned round for every third query."""
    lines = []
    for at in range(N):
        documents = order if at % 3 else order[::-1]
        lines += [f"q{at} Q0 {doc} {rank} {9 - rank} {run}\n" for rank, doc in enumerate(documents)]
    return "".join(lines)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "old.run").write_text(run_of(["d2", "d1", "d3"]))
    (tmp_path / "new.run").write_text(run_of(["d1", "d4", "d2"]))
    (tmp_path / "qrels.txt").write_text("".join(f"q{at} 0 d1 1\nq{at} 0 d2 0\nq{at} 0 d3 0\n" for at in range(N)))
    return tmp_path


def compared(ragauge, files, *more):
    return ragauge("compare", files / "old.run", files / "new.run", "--labels", files / "qrels.txt", *more)


def test_json_holds_every_figure(ragauge, files):
    ran = compared(ragauge, files, "-m", "P@1", "-m", "R@2", "--format", "json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert (found["baseline"], found["systems"]) == ("old", ["new"])
    p1, r2 = found["comparisons"]
    # old: d2 first, or d3; new: d1 first on two of three queries
    assert (p1["measure"], p1["mean_baseline"], p1["mean_system"]) == ("P@1", 0, pytest.approx(2 / 3))
    assert (p1["wins"], p1["ties"], p1["losses"], p1["n"]) == (20, 10, 0, N)
    assert p1["low"] < 2 / 3 < p1["high"]
    # old: d1 second whatever the order; new: first, or third
    assert r2["difference"] == pytest.approx(-1 / 3)
    assert p1["p_holm"] == pytest.approx(2 / 10001, abs=1e-3) and p1["p"] <= p1["p_holm"]
    assert (p1["judged_baseline"], p1["judged_system"]) == (1, pytest.approx(1))


def test_csv_has_a_row_a_comparison(ragauge, files):
    rows = list(csv.DictReader(io.StringIO(compared(ragauge, files, "-m", "P@1", "--format", "csv").out)))
    assert [(row["measure"], row["system"]) for row in rows] == [("P@1", "new")]


def test_policies_are_in_json_and_said_where_they_are_not_the_default(ragauge, files):
    ran = compared(ragauge, files, "-m", "P@1", "--unjudged", "skip")
    assert ran.out.endswith("\nPolicies: unjudged skip; the others by default.\n")
    assert "Policies" not in compared(ragauge, files, "-m", "P@1").out
    found = json.loads(compared(ragauge, files, "-m", "P@1", "--unjudged", "skip", "--format", "json").out)
    assert (found["policies"]["unjudged"], found["policies"]["ties"]) == ("skip", "trec")


def test_table_fits_80_columns_and_shows_no_p_of_zero(ragauge, files):
    ran = compared(ragauge, files, "-m", "P@1", "-m", "T(alpha=0.3)@3")
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80
    assert "<0.001" in ran.out
    assert "P@1   baseline old: 0.000" in ran.out
    assert re.search(r"T\(alpha=0.3\)@3 +new +30 +0 +100%, 67%", ran.out)
    assert "Warning: 100% of what old returned is judged, and 67% of what new returned" in ran.err


def test_same_seed_gives_the_same_answer(ragauge, files):
    (files / "new.run").write_text(run_of(["d2", "d1", "d4"]).replace("q7 Q0 d2 0 9", "q7 Q0 d2 0 1"))
    first, again = (compared(ragauge, files, "-m", "P@1", "--format", "json", "--seed", 3).out for _ in range(2))
    assert first == again


def test_several_runs_of_one_file_are_compared(ragauge, files):
    (files / "both.run").write_text(run_of(["d2", "d1", "d3"], "one") + run_of(["d1", "d2", "d3"], "two"))
    ran = ragauge(
        *("compare", files / "both.run", "--labels", files / "qrels.txt", "-m", "P@1", "--format", "json"),
        *("--baseline", "two"),
    )
    found = json.loads(ran.out)
    assert (found["baseline"], found["systems"]) == ("two", ["one"])


def test_per_query_values_are_written(ragauge, files):
    ran = compared(ragauge, files, "-m", "P@1", "--per-query", files / "out.parquet", "--quiet")
    table = pq.read_table(files / "out.parquet")
    assert (table.num_rows, ran.err) == (N, "")
    assert set(table.column("difference").to_pylist()) == {0.0, 1.0}


def test_clusters_come_from_a_file(ragauge, files):
    sessions = "".join(f"q{at},u{at // 10},s{at // 5}\n" for at in range(N))
    (files / "sessions.csv").write_text("query_id,user_id,session_id\n" + sessions)
    ran = compared(
        *(ragauge, files, "-m", "P@1", "--format", "json"),
        *("--cluster", files / "sessions.csv", "--cluster-by", "session_id"),
    )
    assert json.loads(ran.out)["comparisons"][0]["n_clusters"] == 6


def test_detect_says_how_many_queries_a_difference_takes(ragauge, files):
    wanted, observed = (
        json.loads(compared(ragauge, files, "-m", "P@1", "--format", "json", *more).out)["comparisons"][0]["n_needed"]
        for more in (("--detect", 0.1), ())
    )
    assert wanted > observed


BAD = [
    (("-m", "P@1", "--baseline", "other"), "no run 'other'"),
    (("-m", "PP@1"), "unknown measure"),
    (("-m", "P@1", "--cluster", "gone.csv"), "no file gone.csv"),
    (("-m", "P@1", "--alternative", "better"), "--alternative"),
    (("-m", "P@1", "--resamples", "0"), "--resamples"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_bad_options_exit_2_and_say_what_is_wrong(ragauge, files, args, message):
    ran = compared(ragauge, files, *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_html_is_a_report(ragauge, files):
    ran = compared(ragauge, files, "-m", "P@1", "--html", files / "out" / "page.html")
    assert ran.code == 0, ran.err
    assert "old against others" in (files / "out" / "page.html").read_text(encoding="utf-8")


def test_one_run_alone_exits_2(ragauge, files):
    ran = ragauge("compare", files / "old.run", "--labels", files / "qrels.txt")
    assert ran.code == 2
    assert "two runs or more, got rank" in ran.err
