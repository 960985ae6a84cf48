"""`ragauge grade` as a user runs it: grades, repeats, pairs, caps, the sheet, and on to `ragauge agree`."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from ragauge.store import Store
from ragauge.testing import ScriptedModel, ScriptedReply

QUALITY = {"x": 5, "y": 2}
"""What the scripted grader thinks of each system."""


def grader(request: dict[str, Any]) -> ScriptedReply:
    """Nine tenths on the grade of the answer's system, or on the better of two, wherever it stands."""
    asked = request["messages"][-1]["content"]
    if "<answer A>" in asked:
        likely, other = ("A", "B") if "<answer A>by x" in asked else ("B", "A")
    else:
        likely, other = (str(QUALITY["x"]), "4") if "<answer>by x" in asked else (str(QUALITY["y"]), "3")
    return ScriptedReply(likely, top_logprobs={likely: math.log(0.9), other: math.log(0.1)})


def answers(folder: Path, *, queries: int = 6) -> Path:
    """Two systems' answers to each query."""
    path = folder / "answers.jsonl"
    records = [
        {"query_id": f"q{q}", "query": f"what {q}?", "ideal": f"ideal {q}", "system": s, "answer": f"by {s} to {q}"}
        for q in range(queries)
        for s in QUALITY
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def grade(folder: Path, model: ScriptedModel, *more: object) -> tuple[object, ...]:
    return ("grade", answers(folder), "--base-url", model.base_url, "--model", "m", "--store", folder / "s.db", *more)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_answer_gets_a_grade_and_every_system_its_mean(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "graded.csv"
    with ScriptedModel(grader) as model:
        ran = ragauge(*grade(tmp_path, model, "--out", out))
    assert ran.code == 0, ran.err
    assert "12 answers to 6 queries by 2 systems" in ran.err
    rows = rows_of(out)
    assert [(row["system"], row["grade"]) for row in rows[:2]] == [("x", "5.0"), ("y", "2.0")]
    assert float(rows[0]["expected"]) == pytest.approx(4.9)
    assert float(rows[0]["expected_sd"]) == pytest.approx(0.3)  # sqrt(.9 * .1)
    assert {row["judge"] for row in rows} == {"m grade/1"}
    assert "x       6  5.00" in ran.out
    assert "repeat sd" not in ran.out


def test_json_has_each_system_with_its_interval(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(grader) as model:
        ran = ragauge(*grade(tmp_path, model, "--out", tmp_path / "g.jsonl", "--format", "json", "--repeats", 2))
    found = {one["system"]: one for one in json.loads(ran.out)}
    assert (found["y"]["grade"]["mean"], found["y"]["n_queries"], found["y"]["at_lowest"]) == (2.0, 6, 0.0)
    assert (found["y"]["repeat_sd"], found["y"]["same"]) == (0.0, 1.0)
    assert found["y"]["expected_sd"] == pytest.approx(0.3)


def test_csv_has_a_line_a_system(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(grader) as model:
        ran = ragauge(*grade(tmp_path, model, "--out", tmp_path / "g.parquet", "--format", "csv"))
    x, _ = csv.DictReader(ran.out.splitlines())
    assert (x["system"], x["grade"], x["n_queries"], x["repeat_sd"]) == ("x", "5.0", "6", "NaN")
    assert float(x["low"]) < 5 == float(x["high"])


def test_repeats_stand_beside_each_other_and_are_asked_once(ragauge, tmp_path: Path) -> None:
    def wavering(request: dict[str, Any]) -> str:
        return str(3 + request.get("seed", 0))

    out = tmp_path / "graded.csv"
    with ScriptedModel(wavering) as model:
        ran = ragauge(*grade(tmp_path, model, "--out", out, "--repeats", 3, "--temperature", 1))
        assert len(model.requests) == 36
        assert {request.body["temperature"] for request in model.requests} == {1.0}
        ragauge(*grade(tmp_path, model, "--out", out, "--repeats", 3, "--temperature", 1))
        assert len(model.requests) == 36
    row = rows_of(out)[0]
    assert (row["grades"], row["grade"], row["repeat_sd"], row["expected_sd"]) == ("3 4 5", "4.0", "1.0", "")
    assert "repeat sd" in ran.out
    with Store.open(tmp_path / "s.db") as store:
        kept = store.labels(task="grade").to_pylist()
    assert len(kept) == 12
    assert (kept[0]["label"], kept[0]["judge"]) == (4.0, "m grade/1 x3")


def test_pairwise_tells_wins_and_what_the_order_decided(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "preferences.csv"
    with ScriptedModel(grader) as model:
        ran = ragauge(*grade(tmp_path, model, "--pairwise", "--out", out))
        assert len(model.requests) == 12  # six queries, two orders
    assert ran.code == 0, ran.err
    rows = rows_of(out)
    assert {(row["first"], row["second"], row["verdict"], row["by_order"]) for row in rows} == {
        ("x", "y", "first", "false")
    }
    # six wins of six: Wilson's lower bound with t on 5 degrees, 2.5706^2 = 6.608, is 6 / (6 + 6.608)
    assert "x - y    6/0/0          1.00   0.48..1.00  0%        50%" in ran.out


def test_tables_fit_in_eighty_columns(ragauge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with ScriptedModel(grader) as model:
        grades = ragauge(*grade(tmp_path, model, "--out", tmp_path / "g.csv", "--repeats", 2))
        wins = ragauge(*grade(tmp_path, model, "--out", tmp_path / "p.csv", "--pairwise"))
        more = ragauge(*grade(tmp_path, model, "--repeats", 5, "--dry-run"))
    sheet = ragauge("grade", answers(tmp_path), "--sheet", tmp_path / "s.csv")
    assert "second call" not in more.out  # further repeats are asked for their own sake
    for ran in (grades, wins, more, sheet):
        assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80


def test_a_cap_ends_the_run_as_incomplete_and_the_next_run_does_the_rest(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "graded.csv"
    with ScriptedModel(grader) as model:
        first = ragauge(*grade(tmp_path, model, "--out", out, "--max-calls", 5))
        assert len(model.requests) == 5
        second = ragauge(*grade(tmp_path, model, "--out", out))
        assert len(model.requests) == 12
    assert first.code == 1
    assert "7 of 12 answers lack a grade (7 budget)" in first.err
    assert "a cap was reached" in first.err
    assert second.code == 0


def test_an_answer_that_cannot_be_graded_has_a_reason_and_no_grade(ragauge, tmp_path: Path) -> None:
    out = tmp_path / "graded.csv"
    with ScriptedModel(lambda request: "Quite good, I think") as model:
        ran = ragauge(*grade(tmp_path, model, "--out", out))
    assert ran.code == 1
    assert {(row["grade"], row["reason"]) for row in rows_of(out)} == {("", "no_verdict")}
    assert "12 of 12 answers lack a grade (12 no_verdict)" in ran.err


def test_a_dry_run_counts_and_asks_nothing(ragauge, tmp_path: Path) -> None:
    with ScriptedModel(grader) as model:
        ran = ragauge(*grade(tmp_path, model, "--dry-run", "--repeats", 3, "--format", "json"))
        pairs = ragauge(*grade(tmp_path, model, "--dry-run", "--pairwise", "--format", "json"))
        assert not model.requests
    assert json.loads(ran.out)["calls"] == 36
    assert json.loads(pairs.out)["calls"] == 12


def test_three_people_and_the_model_agree_on_the_same_answers(ragauge, tmp_path: Path) -> None:
    graded = tmp_path / "graded.csv"
    with ScriptedModel(grader) as model:
        ragauge(*grade(tmp_path, model, "--out", graded))
    sheet = ragauge("grade", answers(tmp_path), "--sheet", tmp_path / "sheet.csv")
    assert "5 = all of the ideal answer" in sheet.out
    given = {"anna": lambda at, good: 5 if good else 2, "ben": lambda at, good: 4 if good else 1 + at % 2}
    given["carla"] = lambda at, good: 3 if at == 0 else 5 if good else 1
    for name, opinion in given.items():
        rows = rows_of(tmp_path / "sheet.csv")
        for at, row in enumerate(rows):
            row["grade"] = str(opinion(at, "by x" in row["answer"]))
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    files = [tmp_path / f"{name}.csv" for name in given]
    shown = ragauge("agree", *files, graded)
    found = json.loads(ragauge("agree", *files, graded, "--format", "json").out)
    assert shown.code == 0, shown.err
    assert shown.out.startswith("4 raters together: 48 ratings of 12 units in 6 clusters")
    assert "Against others taken together. The judge: m grade/1" in shown.out
    with_anna = next(pair for pair in found["pairs"] if pair["raters"] == ["anna.csv", "m grade/1"])
    assert {one["name"]: one["value"] for one in with_anna["coefficients"]}["kappa_quadratic"] == pytest.approx(1.0)
    assert [(one["rater"], one["by"], len(one["panel"])) for one in found["panel"]] == [
        *(("m grade/1", "median", 3), ("m grade/1", "mean", 3)),
        *((f"{name}.csv", "mean", 2) for name in given),
    ]


REFUSED = [
    ((), "Missing option '--base-url'"),
    (("--base-url", "http://127.0.0.1:1/v1", "--model", "m"), "Missing option '--out'"),
    (("--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--sheet", "o.csv"), "--sheet is for people"),
    (("--sheet", "o.csv", "--pairwise"), "--sheet asks no model: leave out --pairwise"),
    (("--sheet", "o.csv", "--out", "o.tsv"), "--sheet asks no model: leave out --out"),
    (("--sheet", "answers.jsonl"), "answers.jsonl holds the answers and would be overwritten"),
    (("--base-url", "ftp://x", "--out", "o.csv"), "base_url must be an http(s) URL"),
    (("--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--out", "o.xls"), "cannot tell from the name"),
    (("--base-url", "http://x", "--model", "m", "--out", "o.csv", "--pairwise", "--repeats", "2"), "use one of them"),
]


@pytest.mark.parametrize(("args", "message"), REFUSED)
def test_options_that_make_no_sense_are_refused(ragauge, args: tuple[str, ...], message: str, tmp_path: Path) -> None:
    given = (tmp_path / arg if arg.startswith(("o.", "answers")) else arg for arg in args)
    ran = ragauge("grade", answers(tmp_path), *given)
    assert ran.code == 2
    assert message in ran.err


def test_what_people_filled_in_is_not_overwritten(ragauge, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    command = ("grade", answers(tmp_path), "--sheet", sheet)
    assert [ragauge(*command).code for _ in range(2)] == [0, 0]  # an empty sheet may be written again
    filled = sheet.read_text().replace(",\n", ",4\n", 1)
    sheet.write_text(filled)
    ran = ragauge(*command)
    assert ran.code == 2
    assert "holds 1 grade by people; choose another name" in ran.err
    assert sheet.read_text() == filled


def test_ids_that_tell_the_system_are_noted(ragauge, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("query,ideal,system,answer_id,answer\nq?,i,bm25,bm25-1,a\nq?,i,dense,dense-1,b\n")
    ran = ragauge("grade", path, "--sheet", tmp_path / "sheet.csv")
    assert ran.code == 0
    assert "Ids of answers hold names of systems" in ran.err
