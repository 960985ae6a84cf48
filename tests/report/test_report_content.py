"""What the reports say, before it is HTML."""

import pyarrow as pa
import pytest
from report_tables import correlations_table, estimate, graded_table

from ragauge.errors import InputError, SchemaError
from ragauge.report import Example, examples_of
from ragauge.report.content import finite, number, span, whole
from ragauge.report.correlation_rows import cell_records
from ragauge.report.grades import against_grade, grade_counts
from ragauge.report.score_content import interval_records, label_records, rank_records, score_content
from ragauge.report.study_content import study_content
from ragauge.report.verdict_content import pooled_records, verdict_content
from ragauge.schema import CONTEST, CORRELATIONS, GRADED, JUDGED

NAN = float("nan")


def judged_of(*labels, **changes):
    """One ranking a list of labels."""
    rows = [
        {
            "query_id": f"q{i}",
            "query": f"query {i}",
            "run": "bm25",
            "doc_ids": [f"d{j}" for j in range(len(row))],
            "texts": [f"text {j}" for j in range(len(row))],
            "scores": [1.0] * len(row),
            "labels": row,
        }
        | changes
        for i, row in enumerate(labels)
    ]
    return pa.Table.from_pylist(rows, schema=JUDGED)


def scores_of(**values):
    """A per-query table; the ids are q0, q1, ..."""
    n = len(next(iter(values.values())))
    return pa.table({"query_id": [f"q{i}" for i in range(n)], "run": ["bm25"] * n, **values})


def graded_of(*rows):
    """Graded answers from (cutoff, n_relevant, labels, grade)."""
    keys = ("cutoff", "n_relevant", "labels", "grade")
    fixed = {"dataset": "d", "embedder": "e", "n_candidates": 9}
    made = [fixed | {"query_id": f"q{i}"} | dict(zip(keys, row, strict=True)) for i, row in enumerate(rows)]
    return pa.Table.from_pylist(made, schema=GRADED)


def example(grade, labels):
    return Example("q", "?", "d", "e", len(labels), grade, "ideal", "answer", tuple((label, "") for label in labels))


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (-0.5, "−0.500"), (-0.0001, "0.000"), (NAN, "–"), (None, "–")]
)
def test_a_number_has_three_decimals_and_a_dash_where_undefined(value, shown):
    assert number(value) == shown


def test_a_whole_label_has_no_decimals():
    assert [whole(3.0), whole(0.974), whole(None)] == ["3", "0.97", "–"]


def test_what_json_cannot_say_becomes_none():
    assert [finite(NAN), finite(float("inf")), finite(None), finite(0.5)] == [None, None, None, 0.5]


def test_a_span_of_one_number_is_that_number():
    assert [span([]), span([4, 4]), span([20, 1])] == ["–", "4", "1 to 20"]


def test_whole_labels_are_counted_one_bar_a_label():
    # labels 0, 0, 2 and one unjudged: shares 2/3 and 1/3 of the three judged
    records = label_records(judged_of([0.0, 2.0], [0.0, None]), 1.0)
    assert [(r["label"], r["count"], r["kind"]) for r in records] == [("0", 2, "not relevant"), ("2", 1, "relevant")]
    assert [r["share"] for r in records] == [pytest.approx(2 / 3, abs=1e-6), pytest.approx(1 / 3, abs=1e-6)]


def test_a_bin_that_holds_the_threshold_is_split():
    # bins of 0.05: 0.51 and 0.54 share [0.50, 0.55), the threshold 0.52 lies between them
    records = label_records(judged_of([0.51, 0.54]), 0.52)
    assert [(r["low"], r["count"], r["kind"]) for r in records] == [(0.5, 1, "not relevant"), (0.5, 1, "relevant")]


def test_a_label_that_is_not_finite_counts_as_unjudged():
    assert [r["label"] for r in label_records(judged_of([NAN, 1.0]), 1.0)] == ["1"]


def test_shares_at_a_rank_are_of_the_rankings_that_reach_it():
    # rank 1: relevant in 1 of 2; rank 2 exists in one ranking alone and is unjudged there
    records = rank_records(judged_of([1.0, None], [0.0]), 1.0)
    found = {(r["rank"], r["kind"]): (r["count"], r["of"]) for r in records}
    assert found[1, "relevant"] == (1, 2)
    assert found[2, "unjudged"] == (1, 1)


def test_a_count_has_another_axis_than_a_share():
    records = interval_records(
        {"LLM": [estimate("P@5", 0.4), estimate("n_p@5", 2.0), estimate("T(form=count)@5", 1.0)]}
    )
    assert [r["unit"] for r in records] == ["share", "count", "count"]


def test_the_chart_knows_what_can_be_reached_and_what_missing_labels_leave_open():
    (record,) = interval_records(
        {"LLM": [estimate("P@5", 0.4, n_tied=2, attainable=0.8, bound_low=0.3, bound_high=0.6)]}
    )
    assert {name: record[name] for name in ("largest", "worst", "best", "tied")} == {
        "largest": 0.8,
        "worst": 0.3,
        "best": 0.6,
        "tied": 2,
    }


def test_worst_queries_come_lowest_first_and_undefined_ones_are_counted():
    scores = scores_of(P=pa.array([0.5, 0.1, NAN, None]))
    content = score_content(
        title="t", estimates={}, judged=judged_of([1.0], [0.0], [0.0], [0.0]), scores=scores, rel=1.0
    )
    assert [card.query_id for card in content.worst] == ["q1", "q0"]
    assert content.worst_note == "The 2 lowest of 2 by P. Undefined, and so left out: 2."


def test_worst_queries_can_be_chosen_by_another_measure():
    scores = scores_of(P=[0.1, 0.9], R=[0.9, 0.1])
    given = {"title": "t", "estimates": {}, "judged": judged_of([1.0], [0.0]), "scores": scores, "rel": 1.0}
    assert score_content(**given, worst_by="R").worst[0].query_id == "q1"
    with pytest.raises(InputError, match="worst_by must be a column of the scores, got 'F'; found: P, R"):
        score_content(**given, worst_by="F")


def test_a_document_without_text_is_named_by_its_id():
    judged = judged_of([1.0], texts=[None])
    content = score_content(title="t", estimates={}, judged=judged, scores=scores_of(P=[0.0]), rel=1.0)
    assert content.worst[0].documents[0].text == "(text not in the file; document id d0)"


def test_a_table_that_is_not_judged_rankings_is_refused():
    with pytest.raises(SchemaError, match="no column 'query_id' in judged rankings"):
        score_content(title="t", estimates={}, judged=pa.table({"a": [1]}), scores=scores_of(P=[0.1]), rel=1.0)


def test_baselines_stand_last_and_alpha_is_marked(correlations, graded):
    summary = study_content(title="t", correlations=correlations, graded=graded).summary
    assert [row.measure for row in summary[-3:]] == ["n_p", "P", "R"]
    assert all(row.baseline for row in summary[-3:])
    alphas = {row.measure: row.alpha for row in summary}
    assert (alphas["F"], alphas["T(form=count)"], alphas["P"]) == ("cannot", "matters", "none")


def test_only_a_measure_whose_alpha_matters_has_an_in_sample_maximum(correlations, graded):
    content = study_content(title="t", correlations=correlations, graded=graded)
    lines = {row.measure: dict(row.cells[0].lines) for row in content.segments[0].rows}
    assert lines["F"] == lines["P"] == {}
    assert lines["T(form=count)"]["in-sample max"].endswith(" at 0.87")


def test_why_alpha_cannot_matter_stands_beside_the_measure(correlations, graded):
    rows = [row | {"alpha_note": "K / N_p is the same"} for row in correlations.to_pylist() if row["measure"] == "F"]
    table = pa.Table.from_pylist(rows, schema=CORRELATIONS)
    (segment, *_) = study_content(title="t", correlations=table, graded=graded).segments
    assert [(row.alpha, row.alpha_note) for row in segment.rows] == [("cannot", "K / N_p is the same")]


def test_alpha_that_matters_to_one_coefficient_is_marked_where_it_cannot():
    table = correlations_table(datasets=("d",), embedders=("e",), ratios=(1,), measures=("T(form=count)",))
    rows = [row | {"alpha_matters": row["coefficient"] == "pearson"} for row in table.to_pylist()]
    table = pa.Table.from_pylist(rows, schema=CORRELATIONS)
    (row,) = study_content(title="t", correlations=table, graded=graded_table(3)).segments[0].rows
    assert row.alpha == "some"
    assert [name for cell in row.cells for name, _ in cell.lines] == ["alpha", "in-sample max", "alpha", "alpha"]


def test_all_that_is_known_of_a_coefficient_is_shown_with_its_interval():
    table = correlations_table(datasets=("d",), embedders=("e",), ratios=(1,), measures=("T(form=count)",))
    known = {"corrected_value": 0.3, "corrected_low": 0.1, "corrected_high": 0.5, "held_out": 0.28}
    known |= {"within": -0.2, "within_low": -0.4, "within_high": 0.1}
    table = pa.Table.from_pylist([row | known for row in table.to_pylist()], schema=CORRELATIONS)
    content = study_content(title="t", correlations=table, graded=graded_table(3))
    lines = dict(content.segments[0].rows[0].cells[0].lines)
    assert lines.pop("in-sample max").endswith(" at 0.87")
    assert lines == {
        "corrected": "0.300 (0.100 to 0.500)",
        "held out": "0.280",
        "same question": "−0.200 (−0.400 to 0.100)",
    }
    assert content.columns == ("in-sample max", "corrected", "held out", "same question")


def test_a_value_without_interval_says_why():
    table = correlations_table(datasets=("d",), embedders=("e",), ratios=(1,), measures=("P",))
    bare = {"low": NAN, "high": NAN, "reason": "4 queries; an interval needs 5"}
    table = pa.Table.from_pylist([row | bare for row in table.to_pylist()], schema=CORRELATIONS)
    cell = study_content(title="t", correlations=table, graded=graded_table(3)).segments[0].rows[0].cells[0]
    assert (cell.detail, cell.reason) == ("", "no interval: 4 queries; an interval needs 5")


def test_a_segment_in_which_nothing_is_defined_says_why_instead_of_a_table():
    table = correlations_table(ratios=(1,), measures=("P", "F"), undefined=("P", "F"))
    content = study_content(title="t", correlations=table, graded=graded_table(3))
    assert {segment.undefined for segment in content.segments} == {"x is constant"}


def test_segments_of_few_queries_are_counted_and_in_no_median():
    # 19 of the contest's 20 queries in the segment of ratio 2
    rows = correlations_table(datasets=("d",), embedders=("e",), ratios=(1, 2), measures=("P",)).to_pylist()
    table = pa.Table.from_pylist(
        [row | {"n_queries": 19 if row["ratio"] == 2 else 48} for row in rows], schema=CORRELATIONS
    )
    content = study_content(title="t", correlations=table, graded=graded_table(3))
    assert content.few.startswith("1 of 2 segments have fewer than 20 queries")
    assert [segment.few for segment in content.segments] == [False, True]
    assert content.n_segments == 1
    assert content.summary[0].cells[0].value == number(rows[0]["value"])


def test_verdicts_name_what_cannot_be_told_apart_and_pooled_measures_have_intervals(contest):
    found = verdict_content(contest)
    assert [one.text for one in found.segments] == [
        "best: R",
        "no winner: F leads; not distinguishable: P; the simplest is P",
    ]
    assert [one.won for one in found.segments] == [True, False]
    (pooled,) = found.pooled
    assert found.headline == "Over all segments pooled, no winner: F leads; not distinguishable: P; the simplest is P."
    assert [(row.value, row.interval, row.standing) for row in pooled.rows] == [
        ("0.500", "0.400 to 0.600", "in the set, leads"),
        ("0.400", "0.300 to 0.500", "in the set"),
        ("0.100", "0.000 to 0.200", "struck out"),
    ]
    assert [row.difference for row in pooled.rows] == ["", "−0.120 (−0.300 to +0.060)", "−0.120 (−0.300 to +0.060)"]
    assert [record["pool"] for record in pooled_records(contest)] == ["all segments"] * 3


def test_an_empty_contest_says_nothing():
    assert verdict_content(CONTEST.empty_table()) is None


def test_a_segment_without_a_contest_says_why(contest):
    rows = [row | {"standing": "not compared", "reason": "the grade is constant"} for row in contest.to_pylist()[:3]]
    found = verdict_content(pa.Table.from_pylist(rows, schema=CONTEST))
    assert (found.segments, found.headline) == ((), "No segment holds a contest.")
    assert found.without == ("1 of 1 segments hold no contest: the grade is constant.",)


def test_the_summary_is_the_median_over_segments():
    # three ratios: the median of three values is the middle one
    table = correlations_table(datasets=("d",), embedders=("e",), ratios=(0.5, 1, 2), measures=("P",))
    values = sorted(row["value"] for row in table.to_pylist() if row["coefficient"] == "spearman")
    cell = study_content(title="t", correlations=table, graded=graded_table(3)).summary[0].cells[0]
    assert cell.value == number(values[1])
    assert cell.detail == f"{number(values[0])} to {number(values[2])}"


def test_measures_that_coincide_are_named(correlations, graded):
    assert study_content(title="t", correlations=correlations, graded=graded).coinciding == ("F, P and R",)


def test_an_undefined_cell_keeps_its_reason(correlations):
    gone = [cell for cell in cell_records(correlations) if cell["value"] is None]
    assert {cell["reason"] for cell in gone} == {"x is constant"}


def test_grades_are_counted_by_data_set_and_retriever():
    counts = grade_counts(graded_of((2, 2, [1.0, 0.0], 5.0), (2, 2, [1.0, 0.0], 5.0), (2, 2, [0.0, 0.0], 1.0)))
    assert [(r["group"], r["grade"], r["count"]) for r in counts] == [("d · e", 1, 1), ("d · e", 5, 2)]


def test_measures_at_a_grade_are_means_of_narrow_and_wide_answers():
    # K=2, N_p=4, n_p=1: P = 1/2, F = 1/(1 + 2) = 1/3, T count = 0.5 - 0.25 = 0.25; nDCG of (0, 1) = 1/log2(3)
    means = against_grade(graded_of((2, 4, [0.0, 1.0], 3.0))).means
    found = {r["measure"]: (r["regime"], r["value"]) for r in means}
    narrow = "narrow (K < N_p)"
    assert found == {
        "P": (narrow, 0.5),
        "F": (narrow, 0.3333),
        "T(form=count)": (narrow, 0.25),
        "nDCG(ideal=retrieved)": (narrow, 0.6309),
    }


def test_bubbles_are_fewer_than_answers_and_count_them_all(graded):
    found = against_grade(graded)
    n_graded = graded.num_rows - graded.column("grade").null_count
    assert sum(r["count"] for r in found.bubbles if r["measure"] == "P") == n_graded
    assert len(found.bubbles) <= 4 * 5 * 21


def test_ungraded_answers_are_counted_by_reason(correlations, graded):
    ungraded = study_content(title="t", correlations=correlations, graded=graded).ungraded
    assert {row["reason"] for row in ungraded} == {"the verdict cannot be read"}
    assert sum(row["count"] for row in ungraded) == graded.column("grade").null_count


def test_a_low_grade_despite_high_precision_is_shown_apart(correlations, graded):
    good, surprising, poor = example(5.0, [1, 1]), example(1.0, [1, 1]), example(1.0, [0, 0])
    content = study_content(
        title="t", correlations=correlations, graded=graded, examples=(good, poor, surprising, example(None, [1]))
    )
    assert content.surprising == (surprising,)
    assert content.lowest == (poor, good)


def test_examples_from_the_table_alone_start_with_the_surprising_ones():
    rows = graded_of((2, 2, [0.0, 0.0], 1.0), (2, 2, [1.0, 1.0], 2.0), (2, 2, [1.0, 1.0], None))
    assert [(e.query_id, e.precision) for e in examples_of(rows)] == [("q1", 1.0), ("q0", 0.0)]


def test_a_row_says_what_is_tied_what_can_be_reached_and_what_missing_labels_leave_open() -> None:
    rows = [
        estimate("P@5", 0.4, n_tied=3, attainable=0.8, bound_low=0.3, bound_high=0.55),
        estimate("Judged@5", 0.9),
    ]
    content = score_content(
        title="t", estimates={"run": rows}, judged=judged_of([1.0]), scores=scores_of(P=[0.2]), rel=1.0
    )
    shown = {name: (row.tied, row.largest, row.bounds) for name, (row,) in content.estimates.items()}
    assert shown == {"P@5": ("3", "0.800", "0.300 to 0.550"), "Judged@5": ("", "", "")}
