"""Which measure follows the grades: segments, states, what is left out, and scipy as the reference."""

import json
import runpy
from math import isnan, log2
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats

from ragauge.errors import InputError, SchemaError
from ragauge.io import read_graded
from ragauge.measures import parse_measure
from ragauge.schema import CORRELATIONS, GRADED
from ragauge.stats.alpha import GRID_ALPHAS
from ragauge.study import correlate

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "correlate_60k.py"))
MEASURES = ["n_p", "P", "R", "DCG", "F", "Fe(x=2)", "T(form=count)", "nDCG(ideal=retrieved)", "nDCG(ideal=qrels)"]
COEFFICIENTS = ["spearman", "pearson", "tau_b", "tau_c"]


def answer(query_id, labels, n_relevant, grade, *, cutoff=None, n_positive_2k=None, dataset="nq", embedder="e5"):
    """One graded answer; `labels` as a string of 1, 0 and ? (not judged)."""
    return {
        "query_id": query_id,
        "dataset": dataset,
        "embedder": embedder,
        "n_candidates": 50,
        "n_relevant": n_relevant,
        "cutoff": len(labels) if cutoff is None else cutoff,
        "grade": grade,
        "labels": [None if label == "?" else float(label) for label in labels],
        "n_positive_2k": n_positive_2k,
    }


def table_of(*rows):
    return pa.Table.from_pylist(list(rows), schema=GRADED)


def found_in(correlations, **wanted):
    """The rows of the table with these values."""
    return [row for row in correlations.to_pylist() if all(row[key] == value for key, value in wanted.items())]


def the(correlations, measure, coefficient="spearman", **wanted):
    (row,) = found_in(correlations, measure=measure, coefficient=coefficient, **wanted)
    return row


HALF_RATIO = table_of(  # K = N_p / 2
    answer("a", "10", 4, 2, n_positive_2k=2),
    answer("b", "11", 4, 4, n_positive_2k=3),
    answer("c", "00", 4, 1, n_positive_2k=1),
    answer("d", "101", 6, 3, n_positive_2k=4),
    answer("e", "111", 6, 5, n_positive_2k=3),
    answer("f", "001", 6, 2, n_positive_2k=3),
    answer("g", "010", 6, 1, n_positive_2k=1),
)


def test_every_measure_and_coefficient_of_a_segment_stands_in_the_table_once():
    found = correlate(HALF_RATIO)
    assert found.schema.equals(CORRELATIONS)
    assert found_in(found, segment="K/N_p=0.5", ratio=0.5) == found.to_pylist()
    assert [(row["measure"], row["coefficient"]) for row in found.to_pylist()] == [
        (measure, coefficient) for measure in MEASURES for coefficient in COEFFICIENTS
    ]


def test_names_are_printed_measures_without_their_cutoff():
    for name in MEASURES:
        assert parse_measure(f"{name}@5").cutoff == 5


def test_values_are_those_of_scipy_on_the_rows():
    n, K = np.array([1, 2, 0, 2, 3, 1, 1]), np.array([2, 2, 2, 3, 3, 3, 3])
    n_e, grade = np.array([2, 3, 1, 4, 3, 3, 1]), np.array([2, 4, 1, 3, 5, 2, 1])
    by_hand = {"n_p": n, "P": n / K, "R": n / (2 * K), "Fe(x=2)": n / (K + n_e), "T(form=count)": n - (K - n) / K}
    found = correlate(HALF_RATIO)
    for measure, values in by_hand.items():
        values = np.round(values, 12)
        assert the(found, measure)["value"] == pytest.approx(stats.spearmanr(values, grade)[0], abs=1e-12)
        assert the(found, measure, "pearson")["value"] == pytest.approx(stats.pearsonr(values, grade)[0], abs=1e-12)
        assert the(found, measure, "tau_b")["value"] == pytest.approx(stats.kendalltau(values, grade)[0], abs=1e-12)


def test_ndcg_takes_its_ideal_from_the_retrieved_or_from_n_p():
    d = [1 / log2(i + 1) for i in range(1, 4)]
    # top 2 of "10": ideal of the 1 retrieved = d1, of min(2, 4) = d1 + d2; "001": d3 / d1 and d3 / (d1 + d2 + d3)
    retrieved = [1, 1, 0, (d[0] + d[2]) / (d[0] + d[1]), 1, d[2] / d[0], d[1] / d[0]]
    all_three = sum(d)
    qrels = [d[0] / (d[0] + d[1]), 1, 0, (d[0] + d[2]) / all_three, 1, d[2] / all_three, d[1] / all_three]
    grade = [2, 4, 1, 3, 5, 2, 1]
    found = correlate(HALF_RATIO)
    for ideal, values in {"retrieved": retrieved, "qrels": qrels}.items():
        row = the(found, f"nDCG(ideal={ideal})", "pearson")
        assert row["value"] == pytest.approx(stats.pearsonr(values, grade)[0], abs=1e-10)


def test_ideal_of_a_wide_ranking_holds_no_more_than_n_p_documents():
    # N_p = 1: "1000" is ideal (1), "0100" is d2, "0001" is d4
    rows = [answer(q, labels, 1, g) for q, labels, g in [("a", "1000", 5), ("b", "0100", 2), ("c", "0001", 1)]]
    row = the(correlate(table_of(*rows)), "nDCG(ideal=qrels)", "pearson")
    assert row["value"] == pytest.approx(stats.pearsonr([1, 1 / log2(3), 1 / log2(5)], [5, 2, 1])[0], abs=1e-10)


def test_at_constant_ratio_f_p_and_r_order_alike_and_alpha_cannot_matter():
    found = correlate(HALF_RATIO)
    for coefficient in COEFFICIENTS:
        f, p, r = (the(found, name, coefficient) for name in ("F", "P", "R"))
        assert f["value"] == pytest.approx(p["value"], abs=1e-12)
        assert f["value"] == pytest.approx(r["value"], abs=1e-12)
        assert not f["alpha_matters"]
        assert f["best_value"] == pytest.approx(f["value"], abs=1e-12)


def test_at_constant_cutoff_t_orders_as_p_and_alpha_cannot_matter():
    rows = [answer(q, labels, N, g) for q, labels, N, g in [("a", "110", 2, 5), ("b", "100", 3, 2), ("c", "000", 2, 1)]]
    found = correlate(table_of(*rows, answer("d", "111", 3, 4)), by="width", alphas=[0, 0.5, 1])
    t = the(found, "T(form=count)")
    assert t["value"] == the(found, "P")["value"]
    assert not t["alpha_matters"]
    assert t["best_alpha"] == 0.5


def test_measures_without_alpha_have_no_best_value():
    for row in correlate(HALF_RATIO).to_pylist():
        has_alpha = row["measure"] in ("F", "Fe(x=2)", "T(form=count)")
        assert (row["best_value"] is not None, row["best_alpha"] is not None) == (has_alpha, has_alpha)


def test_rounding_errors_of_values_that_cancel_do_not_break_ties_of_t():
    # alpha = .8, K = 4: two of four positive are worth .2 * 2 - .8 * 2/4 = 0, as much as nothing returned; in floating
    # point the first is -1e-16, which no rounding to significant digits can mend
    assert (1 - 0.8) * 2 - 0.8 * 2 / 4 != 0
    rows = [
        answer("a", "1100", 4, 1),
        answer("b", "", 4, 2, cutoff=4),
        answer("c", "1111", 4, 3),
        answer("d", "0000", 4, 1),
    ]
    row = the(correlate(table_of(*rows), alphas=[0.8]), "T(form=count)", "tau_b")
    assert row["best_value"] == pytest.approx(stats.kendalltau([0, 0, 0.8, -0.8], [1, 2, 3, 1])[0])


def test_rows_without_a_deeper_count_are_left_out_of_fe_alone():
    rows = [*HALF_RATIO.to_pylist(), answer("h", "11", 4, 1)]
    found = correlate(table_of(*rows))
    assert (the(found, "Fe(x=2)")["n_rows"], the(found, "F")["n_rows"]) == (7, 8)
    assert the(found, "Fe(x=2)")["value"] == the(correlate(HALF_RATIO), "Fe(x=2)")["value"]


def test_fe_without_any_deeper_count_is_undefined_with_the_reason():
    rows = [row | {"n_positive_2k": None} for row in HALF_RATIO.to_pylist()]
    row = the(correlate(table_of(*rows)), "Fe(x=2)")
    assert isnan(row["value"])
    assert isnan(row["best_value"])
    assert (row["n_rows"], row["reason"]) == (0, "fewer than 3 rows")


def test_rows_without_a_grade_are_left_out_and_counted():
    rows = [*HALF_RATIO.to_pylist(), answer("h", "11", 4, None), answer("i", "11", 4, None)]
    found = correlate(table_of(*rows))
    assert found.schema.metadata == {b"n_ungraded": b"2"}
    assert found.to_pylist() == correlate(HALF_RATIO).to_pylist()


def test_segment_without_a_grade_stays_in_the_table():
    row = the(correlate(table_of(answer("a", "11", 4, None))), "P")
    assert (row["n_rows"], row["n_queries"], row["reason"]) == (0, 0, "fewer than 3 rows")


def test_constant_measure_and_constant_grade_are_undefined_with_the_reason():
    same = [answer(str(i), "10", 4, i) for i in range(1, 6)]
    graded_alike = [row | {"grade": 3.0} for row in HALF_RATIO.to_pylist()]
    for rows, reason in ((same, "the measure is constant"), (graded_alike, "the grade is constant")):
        row = the(correlate(table_of(*rows)), "P")
        assert isnan(row["value"])
        assert row["reason"] == reason


def test_few_queries_have_a_value_and_no_interval():
    row = the(correlate(HALF_RATIO.slice(0, 4)), "P")
    assert not isnan(row["value"])
    assert isnan(row["low"])
    assert row["reason"] == "4 queries; an interval needs 5"


def test_rows_of_one_query_count_as_one_query():
    rows = [row | {"query_id": row["query_id"] if row["query_id"] < "f" else "a"} for row in HALF_RATIO.to_pylist()]
    row = the(correlate(table_of(*rows)), "P")
    assert (row["n_rows"], row["n_queries"]) == (7, 5)
    assert row["low"] < row["value"] < row["high"]


def test_ratio_is_rounded_to_one_decimal():
    rows = [answer("a", "1", 3, 2), answer("b", "11", 3, 2), answer("c", "101", 3, 2), answer("d", "1011", 3, 2)]
    found = correlate(table_of(*rows))
    assert sorted({(row["segment"], row["ratio"]) for row in found.to_pylist()}) == [
        ("K/N_p=0.3", 0.3),
        ("K/N_p=0.7", 0.7),
        ("K/N_p=1.0", 1.0),
        ("K/N_p=1.3", 1.3),
    ]


def test_width_is_narrow_below_n_p_and_wide_from_n_p_on():
    rows = [answer("a", "11", 3, 2), answer("b", "101", 3, 2), answer("c", "1011", 3, 2)]
    found = correlate(table_of(*rows), by="width")
    assert [
        (row["segment"], row["ratio"], row["n_rows"]) for row in found_in(found, measure="P", coefficient="tau_b")
    ] == [
        ("narrow", None, 1),
        ("wide", None, 2),
    ]


def test_data_sets_and_embedders_are_segments_of_their_own():
    rows = [
        row | {"dataset": dataset, "embedder": embedder}
        for dataset in ("nq", "arxiv")
        for embedder in ("e5", "bge")
        for row in HALF_RATIO.to_pylist()
    ]
    found = correlate(table_of(*rows))
    keys = [(row["dataset"], row["embedder"]) for row in found_in(found, measure="P", coefficient="pearson")]
    assert keys == [("arxiv", "bge"), ("arxiv", "e5"), ("nq", "bge"), ("nq", "e5")]
    assert {row["value"] for row in found_in(found, measure="P", coefficient="pearson")} == {
        the(correlate(HALF_RATIO), "P", "pearson")["value"]
    }


def test_progress_is_told_of_each_segment():
    steps = []
    rows = table_of(answer("a", "1", 2, 1), answer("b", "11", 2, 1))
    correlate(rows, on_progress=lambda finished, total: steps.append((finished, total)))
    assert steps == [(1, 2), (2, 2)]


def test_no_rows_give_no_correlations():
    assert correlate(GRADED.empty_table()).num_rows == 0


def test_unjudged_documents_fill_a_slot_and_are_not_negative():
    # T(.5, count) of "1?0": .5 * 1 - .5 * 1/3, of "100": .5 - .5 * 2/3; P is 1/3 for both
    rows = [answer("a", "1?0", 3, 3), answer("b", "100", 3, 2), answer("c", "000", 3, 1)]
    found = correlate(table_of(*rows))
    assert the(found, "T(form=count)", "tau_b")["value"] == 1
    assert the(found, "P", "tau_b")["value"] == pytest.approx(2 / 6**0.5)  # C = 2, one pair tied in P


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {"by": "query"}, "by must be 'ratio', 'width' or 'all', got 'query'"),
        ([], {"alphas": [0.5, 1.5]}, r"alphas must be at least one number in 0..1, got \[0.5, 1.5\]"),
        ([], {"alphas": []}, "alphas must be at least one number"),
        ([], {"coefficients": ["tau_d"]}, "coefficients must be among spearman, .*, got tau_d"),
        ([], {"bootstrap": -1}, "bootstrap must be 0"),
        ([], {"held_out": "queries"}, "held_out must be 'folds', 'datasets' or None, got 'queries'"),
        ([answer("a", "1", 0, 3)], {}, r"row 1 \(query 'a', e5, K=1\): n_relevant is below 1"),
        ([answer("a", "", 2, 3)], {}, "cutoff is below 1"),
        ([answer("a", "110", 2, 3, cutoff=2)], {}, "there are more labels than the cutoff"),
        ([answer("a", "11", 1, 3)], {}, "there are more positive labels than n_relevant"),
        ([answer("a", "11", 3, 3, n_positive_2k=1)], {}, "n_positive_2k is less than the positives in the top K"),
    ],
)
def test_what_cannot_be_is_refused(rows, options, message):
    with pytest.raises(InputError, match=message):
        correlate(table_of(*rows), **options)


def test_bad_level_is_refused():
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        correlate(HALF_RATIO, level=95)


def test_table_without_a_column_is_refused():
    with pytest.raises(SchemaError, match="no column 'labels' in graded answers"):
        correlate(HALF_RATIO.drop_columns(["labels"]))


def study(n_queries, *, seed=0, ratios=(0.5, 1, 2), datasets=("nq",), embedders=("e5",)):
    """Graded answers of a made-up study: hits overdispersed, the grade a noisy step of recall."""
    rng, rows = np.random.default_rng(seed), []
    for dataset in datasets:
        for number in range(n_queries):
            n_relevant, ease = int(rng.integers(1, 6)) * 2, rng.beta(2, 2)
            for embedder in embedders:
                order = rng.random(40) < ease * np.linspace(1, 0, 40)
                for ratio in ratios:
                    top = order[: int(ratio * n_relevant)]
                    top = top & (np.cumsum(top) <= n_relevant)
                    grade = int(np.clip(1 + 4 * top.sum() / n_relevant + rng.normal(), 1, 5))
                    labels = "".join(str(int(label)) for label in top)
                    rows.append(answer(f"q{number}", labels, n_relevant, grade, dataset=dataset, embedder=embedder))
    return table_of(*rows)


def test_all_seven_coefficients_can_be_asked_for():
    found = correlate(study(30), coefficients=("somers_yx", "gamma", "somers_xy"), by="all")
    row = the(found, "R", "somers_yx")
    assert {r["coefficient"] for r in found.to_pylist()} == {"somers_yx", "gamma", "somers_xy"}
    tau = the(correlate(study(30), by="all"), "R", "tau_b")["value"]
    assert row["value"] * the(found, "R", "somers_xy")["value"] == pytest.approx(tau**2)


def test_batches_give_the_table_of_the_whole():
    rows = study(40, datasets=("nq", "arxiv"), embedders=("e5", "bge"))
    whole, batches = correlate(rows), correlate(iter(rows.to_batches(max_chunksize=37)))
    assert without_nan(whole) == without_nan(batches)


def without_nan(table):
    """Records with NaN as a word, so that they can be compared."""
    return [{key: "NaN" if value != value else value for key, value in row.items()} for row in table.to_pylist()]


def test_error_in_a_later_batch_names_the_row_of_the_whole():
    rows = table_of(answer("a", "1", 2, 3), answer("b", "1", 2, 3), answer("c", "1", 0, 3))
    with pytest.raises(InputError, match=r"row 3 \(query 'c'"):
        correlate(iter(rows.to_batches(max_chunksize=2)))


def test_exact_maximum_is_no_less_than_that_of_any_grid():
    rows = study(60)
    exact, grid, log = (correlate(rows, by="all", alphas=alphas) for alphas in ("exact", "grid", "log"))
    for measure in ("F", "T(form=count)"):
        for name in COEFFICIENTS:
            best = the(exact, measure, name)["best_value"]
            assert best >= the(grid, measure, name)["best_value"] - 1e-9
            assert best >= the(log, measure, name)["best_value"] - 1e-9


def test_why_alpha_cannot_matter_is_said():
    found = correlate(study(20))
    assert (
        the(found, "F", segment="K/N_p=1.0")["alpha_note"] == "K / N_p is the same in all rows: alpha only rescales F"
    )
    same_k = correlate(study(20).filter(pc.equal(study(20)["cutoff"], 4)), by="width")
    notes = {row["alpha_note"] for row in found_in(same_k, measure="T(form=count)", coefficient="spearman")}
    assert notes == {"K is the same in all rows: T orders them as n_p for every alpha"}
    assert the(found, "P", segment="K/N_p=1.0")["alpha_note"] is None


def test_corrected_maximum_stands_beside_the_maximum_when_asked_for():
    rows = study(60)
    assert set(correlate(rows)["corrected_value"].to_pylist()) == {None}
    found = correlate(rows, by="all", bootstrap=100, seed=3)
    tuned = the(found, "F")
    assert tuned["corrected_low"] < tuned["corrected_value"] < tuned["corrected_high"]
    assert tuned["corrected_value"] < tuned["best_value"]
    assert without_nan(found) == without_nan(correlate(rows, by="all", bootstrap=100, seed=3))
    assert the(found, "P")["corrected_value"] is None


def test_where_alpha_cannot_matter_nothing_is_corrected():
    row = the(correlate(study(60), bootstrap=50), "F", segment="K/N_p=1.0")
    assert not row["alpha_matters"]
    assert (row["corrected_value"], row["corrected_low"]) == (row["value"], row["low"])


def test_alpha_may_be_chosen_on_other_queries_or_other_data_sets():
    rows = study(60, datasets=("nq", "arxiv"))
    folds, others = (correlate(rows, by="all", held_out=held_out) for held_out in ("folds", "datasets"))
    for found in (folds, others):
        row = the(found, "F", dataset="nq")
        assert row["value"] - 0.2 < row["held_out"] < row["best_value"] + 0.1
        assert the(found, "P", dataset="nq")["held_out"] is None
    alone = correlate(study(60), by="all", held_out="datasets")
    assert the(alone, "F")["held_out"] is None


def test_within_compares_rows_of_one_query_alone():
    # two queries, each with more hits at the larger K and the better grade there; the easy query has fewer hits and the
    # better grades, so that over all rows the count runs against the grade
    rows = [
        answer("hard", "110", 6, 1),
        answer("hard", "11011", 6, 2),
        answer("easy", "0", 1, 4),
        answer("easy", "01", 1, 5),
    ]
    found = correlate(table_of(*rows), by="all")
    assert the(found, "n_p", "tau_b")["value"] < 0
    assert the(found, "n_p", "tau_b")["within"] == 1
    assert the(found, "n_p", "tau_c")["within"] is None
    assert the(correlate(HALF_RATIO), "P", "tau_b")["within"] is None


def test_dcg_is_a_baseline():
    rows = [answer("a", "10", 4, 3), answer("b", "01", 4, 2), answer("c", "00", 4, 1)]
    assert the(correlate(table_of(*rows)), "DCG", "tau_b")["value"] == 1  # 1 > 1 / log2(3) > 0
    assert the(correlate(table_of(*rows)), "n_p", "tau_b")["value"] == pytest.approx(2 / 6**0.5)


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    """The 60,000 rows of the speed test, through the file."""
    path = tmp_path_factory.mktemp("study") / "samples_graded.json"
    path.write_text(json.dumps(BENCH["make_rows"](60_000, seed=0)))
    return read_graded(path)


@pytest.mark.parametrize(
    ("dataset", "embedder", "ratio"), [("nq", "e5", 0.5), ("arxiv", "bge", 1.0), ("squad", "gte", 3.0)]
)
def test_maxima_over_alpha_equal_those_of_scipy_on_the_rows_of_a_large_study(many_rows, dataset, embedder, ratio):
    grid = np.array(GRID_ALPHAS[::5])
    segment = BENCH["rows_of_segment"](many_rows, {"dataset": dataset, "embedder": embedder, "ratio": ratio})
    found = correlate(segment, alphas=grid)
    for measure in ("F", "Fe(x=2)", "T(form=count)"):
        # scipy on values rounded to 12 digits; on raw ones too, where no rounding error breaks a tie
        digits = (12,) if BENCH["has_floating_ties"](segment, measure, grid) else (12, None)
        for n_digits in digits:
            for coefficient, value in BENCH["scipy_best"](segment, measure, grid, digits=n_digits).items():
                assert the(found, measure, coefficient)["best_value"] == pytest.approx(value, abs=1e-9)
