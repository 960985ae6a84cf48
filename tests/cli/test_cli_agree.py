"""`ragauge agree`: what it prints of labels and of tables, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest

GRADES = [(2, 2), (0, 1), (1, 1), (2, 0), (0, 0), (1, 2), (2, 2), (0, 0)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Eight queries with one document each: people.qrels and model.jsonl; wide.csv holds both and a third rater.

    Three sheets for two answers: anna graded the first, ben the second, dora none.
    """
    (tmp_path / "people.qrels").write_text("".join(f"q{q} 0 d {a}\n" for q, (a, _) in enumerate(GRADES)))
    labels = [{"query_id": f"q{q}", "doc_id": "d", "label": b, "judge": "m"} for q, (_, b) in enumerate(GRADES)]
    (tmp_path / "model.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    wide = [f"q{q},{a},{b},{2 if q % 2 else ''}\n" for q, (a, b) in enumerate(GRADES)]
    (tmp_path / "wide.csv").write_text("".join(["query,anna,ben,carla\n", *wide]))
    for name, sheet in {"anna": "q1,a,4\nq2,a,\n", "ben": "q1,a,\nq2,a,5\n", "dora": "q1,a,\nq2,a,\n"}.items():
        (tmp_path / f"{name}.csv").write_text(f"query_id,answer_id,grade\n{sheet}")
    return tmp_path


def test_files_of_labels_are_raters_by_judge_or_by_name(ragauge, files: Path) -> None:
    ran = ragauge("agree", files / "people.qrels", files / "model.jsonl", "--format", "json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert found["together"]["raters"] == ["m", "people.qrels"]
    coefficients = {one["name"]: one["value"] for one in found["together"]["coefficients"]}
    assert coefficients["agreement"] == pytest.approx(5 / 8)
    # rows m, columns people: (0, 2), (2, 0), (1, 0), (2, 1) beside five equal; margins 3 2 3 and 3 2 3
    # squared: found (4 + 1 + 1) / 8, by chance 2 (2 * 3 * 2 * 1 + 3 * 3 * 4) / 64 = 96 / 64
    assert found["pairs"][0]["confusion"] == [[2, 0, 1], [1, 1, 0], [0, 1, 2]]
    assert coefficients["kappa_quadratic"] == pytest.approx(1 - (6 / 8) / (96 / 64))
    assert found["together"]["n_clusters"] == 8


def test_two_raters_get_all_coefficients_and_their_matrix(ragauge, files: Path) -> None:
    ran = ragauge("agree", files / "people.qrels", files / "model.jsonl")
    assert ran.out.startswith("m and people.qrels: 16 ratings of 8 units in 8 clusters")
    assert all(name in ran.out for name in ("kappa_quadratic", "alpha_ordinal", "ac1", "tau_b"))
    assert "Rows: m. Columns: people.qrels." in ran.out
    assert "only 8 clusters" in ran.err


def test_wide_table_shows_all_together_and_two_at_a_time(ragauge, files: Path) -> None:
    raters = ("--rater", "anna", "--rater", "ben", "--rater", "carla")
    ran = ragauge("agree", files / "wide.csv", "--unit", "query", *raters)
    assert "3 raters together: 20 ratings of 8 units" in ran.out
    assert "anna - ben" in ran.out and "ben - carla" in ran.out
    assert ran.out.count("Rows: ") == 3
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= 80


def test_long_table_gives_the_same_as_the_wide_one(ragauge, files: Path) -> None:
    rows = [
        f"q{q},{who},{grade}\n"
        for q, pair in enumerate(GRADES)
        for who, grade in zip(("anna", "ben"), pair, strict=True)
    ]
    (files / "long.csv").write_text("".join(["query,who,grade\n", *rows]))
    long = ragauge(
        *("agree", files / "long.csv", "--unit", "query", "--rater", "who", "--rating", "grade", "--format", "csv")
    )
    wide = ragauge(
        "agree", files / "wide.csv", "--unit", "query", "--rater", "anna", "--rater", "ben", "--format", "csv"
    )
    assert long.out == wide.out
    rows = list(csv.DictReader(io.StringIO(long.out)))
    assert {row["raters"] for row in rows} == {"anna - ben"}
    assert [row["name"] for row in rows][:2] == ["agreement", "kappa"]


def test_rel_compares_relevant_or_not(ragauge, files: Path) -> None:
    ran = ragauge("agree", files / "people.qrels", files / "model.jsonl", "--rel", "1", "--format", "json")
    found = json.loads(ran.out)["together"]
    assert found["categories"] == [0, 1]
    # apart at 1: (0, 1) and (2, 0)
    assert found["coefficients"][0]["value"] == pytest.approx(6 / 8)


def test_words_are_compared_as_words(ragauge, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("id,a,b\n" + "".join(f"{n},{'yes' if n % 2 else 'no'},yes\n" for n in range(10)))
    ran = ragauge("agree", tmp_path / "wide.csv", "--unit", "id", "--rater", "a", "--rater", "b")
    assert ran.code == 0
    assert "alpha_nominal" in ran.out and "alpha_ordinal" not in ran.out
    assert "yes" in ran.out


def test_seed_decides_the_interval_and_quiet_leaves_stderr_empty(ragauge, files: Path) -> None:
    command = ("agree", files / "people.qrels", files / "model.jsonl", "--quiet")
    one, same, other = (ragauge(*command, "--seed", seed) for seed in (1, 1, 2))
    assert one.out == same.out != other.out
    assert one.err == ""


BAD = [
    (("people.qrels",), "agreement needs two raters, found only people.qrels; give a file of labels for each"),
    (("wide.csv", "--unit", "query"), "name the columns of the unit and of the rater"),
    (("wide.csv", "--unit", "query", "--rater", "dora", "--rater", "ben"), "no column 'dora'"),
    (("wide.csv", "people.qrels", "--unit", "query", "--rater", "anna"), "one file of ratings, got 2"),
    (("wide.csv", "--unit", "query", "--rater", "query", "--rater", "ben", "--rel", "1"), "--rel needs ratings"),
    (("gone.csv",), "gone.csv"),
    (("anna.csv", "ben.csv"), "no unit has ratings of two raters (anna.csv, ben.csv)"),
    (("anna.csv", "dora.csv"), "found only anna.csv, and none by dora.csv"),
]


@pytest.mark.parametrize(("args", "message"), BAD)
def test_bad_input_exits_2_and_says_what_is_wrong(ragauge, files: Path, args: tuple[str, ...], message: str) -> None:
    ran = ragauge("agree", *(files / arg if "." in arg else arg for arg in args))
    assert ran.code == 2
    assert message in ran.err


def test_a_rater_can_be_set_against_the_others_together(ragauge, files: Path) -> None:
    raters = ("--rater", "anna", "--rater", "ben", "--rater", "carla")
    command = ("agree", files / "wide.csv", "--unit", "query", *raters, "--judge", "ben")
    shown, found = ragauge(*command), json.loads(ragauge(*command, "--format", "json").out)
    # all rated the odd queries: anna 0, 2, 1, 0 and carla 2, so medians 1, 2, 1.5, 1; ben 1, 0, 2, 0
    assert [(one["rater"], one["by"], one["agreement"]["n_units"]) for one in found["panel"]] == [
        ("ben", "median", 4),
        ("ben", "mean", 4),
    ]
    assert found["panel"][0]["difference"]["mean"] == pytest.approx((0 - 2 + 0.5 - 1) / 4)
    assert "Against others taken together. The judge: ben" in shown.out
    assert max(len(line.rstrip()) for line in shown.out.splitlines()) <= 80


def test_who_rated_nothing_and_who_has_nothing_in_common_is_named(ragauge, files: Path) -> None:
    (files / "both.csv").write_text("query_id,answer_id,grade\nq1,a,4\nq2,a,5\n")
    ran = ragauge("agree", *(files / f"{name}.csv" for name in ("anna", "ben", "dora", "both")))
    assert ran.code == 0
    assert "No ratings by dora.csv." in ran.err
    assert "No unit in common: anna.csv and ben.csv." in ran.err


def test_without_a_judge_nobody_is_set_against_the_others(ragauge, files: Path) -> None:
    raters = ("--rater", "anna", "--rater", "ben", "--rater", "carla")
    ran = ragauge("agree", files / "wide.csv", "--unit", "query", *raters)
    assert "Against others" not in ran.out


def test_an_unknown_judge_is_refused_with_the_names_there_are(ragauge, files: Path) -> None:
    ran = ragauge("agree", files / "people.qrels", files / "model.jsonl", "--judge", "dora")
    assert ran.code == 2
    assert "no rater 'dora'; there are: m, people.qrels" in ran.err
