"""`ragauge correlate`: its columns, what is computed only when asked for, and bad input."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest

from ragauge.io import write_graded_json, write_table
from ragauge.schema import GRADED


def study_rows(datasets=("nq", "arxiv")):
    """Data sets of 30 queries, K = N_p and 2 N_p; the grade follows recall, with noise."""
    rng = np.random.default_rng(0)
    rows = []
    for dataset in datasets:
        for number in range(30):
            n_relevant, ease = int(rng.integers(2, 9)), rng.beta(2, 2)
            found = int(rng.binomial(n_relevant, ease))
            ranking = rng.permutation([1.0] * found + [0.0] * (2 * n_relevant - found))
            for cutoff in (n_relevant, 2 * n_relevant):
                n_p = int(ranking[:cutoff].sum())
                rows.append(
                    {
                        "query_id": f"{dataset}-{number}",
                        "dataset": dataset,
                        "embedder": "e5",
                        "n_candidates": 50,
                        "n_relevant": n_relevant,
                        "cutoff": cutoff,
                        "grade": float(np.clip(round(1 + 4 * n_p / n_relevant + rng.normal()), 1, 5)),
                        "labels": ranking[:cutoff].tolist(),
                    }
                )
    return pa.Table.from_pylist(rows, schema=GRADED)


@pytest.fixture
def graded(tmp_path):
    path = tmp_path / "graded.parquet"
    write_table(study_rows(), path)
    return path


def rows_of(ran):
    return json.loads(ran.out)["correlations"]


def widest(text):
    return max(len(line.rstrip()) for line in text.splitlines())


def test_table_fits_80_columns_and_the_legend_explains_what_is_there(ragauge, graded):
    ran = ragauge("correlate", graded, "--by", "all", "--held-out", "folds")
    assert ran.code == 0
    assert "nq  e5  all  (30 queries, 60 answers; Fe(x=2): 0)" in ran.out
    assert widest(ran.out) <= 80
    assert "held out" in ran.out and "at an alpha that other queries chose" in ran.err
    assert "within" in ran.out and "corrected" not in ran.out + ran.err


@pytest.mark.parametrize("coefficient", ["spearman", "all"])
def test_bootstrap_adds_the_corrected_maximum_and_hides_nothing(ragauge, graded, coefficient):
    given = ("correlate", graded, "--by", "all", "--bootstrap", 50, "--seed", 3, "--coefficient", coefficient)
    ran = ragauge(*given)
    assert ran.code == 0
    assert "corrected" in ran.out and "within" in ran.out
    assert widest(ran.out) <= 80
    assert ran.out == ragauge(*given, "--quiet").out


def test_where_alpha_cannot_matter_the_table_says_so(ragauge, graded):
    # K / N_p is constant in each of these segments, so alpha only rescales F
    ran = ragauge("correlate", graded, "--bootstrap", 50)
    of_f = [line for line in ran.out.splitlines() if line.startswith("F ")][1:]  # the first is that of the overview
    assert len(of_f) == 4 and all(line.rstrip().endswith("cannot matter") for line in of_f)
    assert "cannot matter" in ran.err


def test_a_segment_too_small_for_an_interval_is_one_line(ragauge, tmp_path):
    rows = study_rows().to_pylist()
    few = [row | {"dataset": "few"} for row in rows[:8]] + [row | {"dataset": "one"} for row in rows[:2]]
    write_table(pa.Table.from_pylist(few, schema=GRADED), tmp_path / "few.parquet")
    ran = ragauge("correlate", tmp_path / "few.parquet", "--quiet")
    assert ran.out.splitlines() == [
        "few  e5  K/N_p=1.0  (4 queries, 4 answers; Fe(x=2): 0): too few for an interval",
        "few  e5  K/N_p=2.0  (4 queries, 4 answers; Fe(x=2): 0): too few for an interval",
        "one  e5  K/N_p=1.0  (1 query, 1 answer; Fe(x=2): 0): fewer than 3 rows",
        "one  e5  K/N_p=2.0  (1 query, 1 answer; Fe(x=2): 0): fewer than 3 rows",
    ]


@pytest.fixture
def many(tmp_path):
    """Eight segments, and two of ten queries each."""
    small = [row for row in study_rows(["small"]).to_pylist() if int(row["query_id"].split("-")[1]) < 10]
    rows = study_rows(["a", "b", "c", "d"]).to_pylist() + small
    path = tmp_path / "many.parquet"
    write_table(pa.Table.from_pylist(rows, schema=GRADED), path)
    return path


def test_many_segments_are_one_table_unless_all_are_asked_for(ragauge, many):
    ran = ragauge("correlate", many)
    lines = ran.out.splitlines()
    assert lines[0] == "spearman over 8 segments of 20 queries or more; 2 have fewer"
    assert lines[-2] == "10 segments, each with its intervals and alphas: ragauge correlate --all"
    assert "max over alpha" not in ran.out + ran.err
    assert widest(ran.out) <= 80
    every = ragauge("correlate", many, "--all")
    assert every.out.startswith("\n".join(lines[:-2]))
    assert every.out.count("max over alpha") == 10 and "max over alpha" in every.err


def test_the_overview_holds_median_range_and_how_often_a_measure_is_the_best(ragauge, many):
    out = ragauge("correlate", many, "--quiet").out
    rows = [row for row in rows_of(ragauge("correlate", many, "--format", "json", "--quiet")) if row["n_queries"] == 30]
    rows = [row for row in rows if row["coefficient"] == "spearman"]
    largest = {}
    for row in rows:
        place = row["dataset"], row["segment"]
        largest[place] = max(row["value"] or -1, largest.get(place, -1))
    mine = [row for row in rows if row["measure"] == "R"]
    values = [row["value"] for row in mine]
    n_best = sum(row["value"] > largest[row["dataset"], row["segment"]] - 1e-9 for row in mine)
    n_near = sum(row["high"] >= largest[row["dataset"], row["segment"]] for row in mine)
    numbers = [f"{number:.3f}" for number in (np.median(values), min(values), max(values))]
    of_r = next(line for line in out.splitlines() if line.startswith("R "))
    assert of_r.split() == ["R", *numbers, "8", str(n_best), str(n_near)]
    assert 0 < n_best <= n_near <= 8


def test_a_contest_counts_the_confidence_sets_in_the_overview(ragauge, many):
    out = ragauge("correlate", many, "--contest", "--quiet").out
    met = json.loads(ragauge("correlate", many, "--contest", "--format", "json", "--quiet").out)["contest"]
    n_in_set = sum(
        row["measure"] == "R" and row["dataset"] != "*" and row["standing"] in ("winner", "leader", "in the set")
        for row in met
    )
    of_r = next(line for line in out.splitlines() if line.startswith("R "))
    assert "in set" in out.splitlines()[1]
    assert of_r.split()[-1] == str(n_in_set)


def test_json_and_csv_are_the_same_for_few_tables_and_all(ragauge, many):
    for format in ("json", "csv"):
        few, every = (ragauge("correlate", many, "--format", format, "--quiet", *more).out for more in ((), ("--all",)))
        assert few == every


def test_json_holds_four_coefficients_and_the_one_asked_for(ragauge, graded):
    rows = rows_of(ragauge("correlate", graded, "--coefficient", "gamma", "--format", "json", "--quiet"))
    assert {row["coefficient"] for row in rows} == {"spearman", "pearson", "tau_b", "tau_c", "gamma"}
    assert {row["corrected_value"] for row in rows} == {None}


def test_csv_has_the_rows_of_the_coefficient_shown(ragauge, graded):
    ran = ragauge("correlate", graded, "--coefficient", "somers_yx", "--format", "csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert {row["coefficient"] for row in rows} == {"somers_yx"}
    assert {row["measure"] for row in rows} >= {"n_p", "P", "R", "DCG", "F"}


def test_a_public_file_gives_what_our_parquet_gives(ragauge, graded, tmp_path):
    write_graded_json(study_rows(), tmp_path / "samples_graded.json")
    one, other = (
        rows_of(ragauge("correlate", path, "--format", "json", "--quiet"))
        for path in (graded, tmp_path / "samples_graded.json")
    )
    for mine, theirs in zip(one, other, strict=True):
        if mine["measure"] != "Fe(x=2)":  # the public file knows the top 2K of K = N_p, ours here does not
            assert mine == {k: pytest.approx(v, abs=1e-12) if isinstance(v, float) else v for k, v in theirs.items()}


def test_alphas_of_a_grid_reach_no_higher_than_all_of_them(ragauge, graded):
    exact, grid = (
        rows_of(ragauge("correlate", graded, "--by", "all", "--alphas", alphas, "--format", "json", "--quiet"))
        for alphas in ("exact", "grid")
    )
    for one, other in zip(exact, grid, strict=True):
        assert one["best_value"] is None or one["best_value"] >= other["best_value"] - 1e-9


def test_alpha_may_be_chosen_on_the_other_data_sets(ragauge, graded):
    ran = ragauge("correlate", graded, "--by", "all", "--held-out", "datasets")
    assert "at an alpha that other data sets chose" in ran.err
    assert ran.code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--level", "1"], "0<x<1"),
        (["--bootstrap", "-5"], "x>=0"),
        (["--coefficient", "tau_d"], "tau_d"),
        (["--alphas", "fine"], "fine"),
    ],
)
def test_bad_options_are_refused(ragauge, graded, options, message):
    ran = ragauge("correlate", graded, *options)
    assert ran.code == 2
    assert message in ran.err


def test_a_parquet_file_without_the_columns_is_refused(ragauge, tmp_path):
    write_table(pa.table({"query_id": ["a"]}), tmp_path / "other.parquet")
    ran = ragauge("correlate", tmp_path / "other.parquet")
    assert ran.code == 2
    assert "no column 'dataset'" in ran.err
    (tmp_path / "no.parquet").write_text("no")
    ran = ragauge("correlate", tmp_path / "no.parquet")
    assert ran.code == 2
    assert "no.parquet cannot be read as Parquet" in ran.err
