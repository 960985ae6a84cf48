"""Which measure may be the best: winners, ties that cannot be broken, pooling, and what is not compared."""

from math import isnan

import numpy as np
import pyarrow as pa
import pytest

from ragauge.errors import InputError
from ragauge.schema import CONTEST, GRADED
from ragauge.stats import compare_correlations, correlation_interval, holm
from ragauge.study import Place, contest, contest_values, verdicts

MEASURES = {"n_p", "P", "R", "F", "Fe(x=2)", "T(form=count)", "nDCG(ideal=retrieved)", "nDCG(ideal=qrels)"}


def answers(n_queries, *, follows, ratios=(1.0,), embedders=("e5",), noise=0.5, seed=0):
    """Graded answers whose grade is 1 + 4 `follows`(n_p, K, N_p) and some noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(n_queries):
        N_p = int(rng.integers(2, 9))
        for ratio in ratios:
            K = max(1, round(ratio * N_p))
            for embedder in embedders:
                labels = np.zeros(K)
                labels[rng.permutation(K)[: rng.integers(0, min(K, N_p) + 1)]] = 1
                n_p = int(labels.sum())
                grade = 1 + 4 * follows(n_p, K, N_p) + noise * rng.normal()
                rows.append(
                    {
                        "query_id": f"q{q}",
                        "dataset": "nq",
                        "embedder": embedder,
                        "n_candidates": 50,
                        "n_relevant": N_p,
                        "cutoff": K,
                        "grade": float(np.clip(round(grade), 1, 5)),
                        "labels": labels.tolist(),
                        "n_positive_2k": min(N_p, n_p + int(rng.integers(0, 3))),
                    }
                )
    return pa.Table.from_pylist(rows, schema=GRADED)


def recall_of(n_p, K, N_p):
    return n_p / N_p


def count_of(n_p, K, N_p):
    return n_p / 8


def found_in(table, **wanted):
    return [row for row in table.to_pylist() if all(row[key] == value for key, value in wanted.items())]


WIDE = answers(100, follows=recall_of, ratios=(0.5, 1.0, 3.0))


@pytest.fixture(scope="module")
def of_wide():
    return contest(WIDE, by="width", n_draws=200)


def test_the_measure_the_grade_was_made_of_wins(of_wide):
    assert of_wide.schema.equals(CONTEST)
    leader = found_in(of_wide, segment="wide")[0]
    assert (leader["measure"], leader["standing"]) == ("R", "winner")
    assert verdicts(of_wide)["nq", "e5", "wide"] == "best: R"


def test_every_measure_stands_in_each_segment_once(of_wide):
    for segment in ("narrow", "wide", "*"):
        rows = found_in(of_wide, segment=segment)
        assert {row["measure"] for row in rows} >= MEASURES
        assert len(rows) == len({row["measure"] for row in rows})


def test_at_a_constant_ratio_precision_recall_and_f_are_one_measure():
    found = contest(answers(150, follows=recall_of, ratios=(1.0,), noise=0.2), n_draws=200)
    same = {row["measure"]: row["same_as"] for row in found.to_pylist()}
    assert {name: same[name] for name in ("P", "R", "F")} == {"P": None, "R": "P", "F": "P"}
    assert verdicts(found)["nq", "e5", "K/N_p=1.0"].startswith("best: P = R = F")
    (p, r, f) = (found_in(found, measure=name)[0]["value"] for name in ("P", "R", "F"))
    assert p == pytest.approx(r, abs=1e-12) and p == pytest.approx(f, abs=1e-12)


def test_where_nothing_is_won_the_measure_that_needs_to_know_least_is_suggested():
    found = contest(answers(25, follows=recall_of, noise=2.0, seed=3), n_draws=200)
    verdict = verdicts(found)["nq", "e5", "K/N_p=1.0"]
    assert verdict.startswith("no winner: ")
    assert verdict.endswith("; the simplest is n_p")
    assert {row["standing"] for row in found.to_pylist()} <= {"leader", "in the set", "struck out"}


def test_difference_from_the_leader_is_the_jackknife_over_queries():
    rows = answers(60, follows=count_of, ratios=(1.0, 2.0), seed=5)
    table = {row["measure"]: row for row in contest(rows, by="width", n_draws=200).to_pylist()}
    assert table["n_p"]["standing"] == "winner"
    n_p = [sum(labels) for labels in rows["labels"].to_pylist()]
    P = np.divide(n_p, rows["cutoff"].to_numpy())
    expected = compare_correlations(P, n_p, rows["grade"].to_numpy(), rows["query_id"].to_pylist())
    assert table["P"]["difference"] == pytest.approx(expected.difference, abs=1e-12)
    assert (table["P"]["low"], table["P"]["high"]) == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert table["P"]["p"] == pytest.approx(expected.p, rel=1e-8)


def test_differences_may_be_taken_from_a_measure_named_in_advance():
    table = answers(60, follows=recall_of, ratios=(1.0, 3.0), noise=1.0)
    leader = contest(table, by="width", n_draws=200)
    against_f = contest(table, by="width", n_draws=200, against="F")
    value = {row["measure"]: row["value"] for row in leader.to_pylist()}
    for row in against_f.to_pylist():
        if row["measure"] == "F":
            assert (row["difference"], row["p"], row["against"]) == (None, None, None)
        else:
            assert row["difference"] == pytest.approx(value[row["measure"]] - value["F"], abs=1e-12)
            assert row["against"] == "F"
    assert leader.select(["measure", "standing", "p_set"]).equals(against_f.select(["measure", "standing", "p_set"]))


def test_values_have_the_interval_of_the_jackknife_over_queries():
    rows = answers(60, follows=count_of, ratios=(1.0, 2.0), seed=5)
    n_p = [sum(labels) for labels in rows["labels"].to_pylist()]
    expected = correlation_interval(n_p, rows["grade"].to_numpy(), rows["query_id"].to_pylist())["spearman"]
    (row,) = found_in(contest(rows, by="width", n_draws=200), measure="n_p")
    assert (row["value_low"], row["value_high"]) == pytest.approx((expected.low, expected.high), abs=1e-10)


def test_pooled_over_copies_of_one_segment_the_interval_is_that_of_one():
    # a segment and its copy say the same of the same queries: the mean of both is as sure as either
    own, copy = answers(50, follows=recall_of, noise=1.0), answers(50, follows=recall_of, noise=1.0)
    copy = copy.set_column(copy.schema.get_field_index("embedder"), GRADED.field("embedder"), pa.array(["bge"] * 50))
    found = contest(pa.concat_tables([own, copy]), n_draws=200)
    (one,) = found_in(found, embedder="e5", measure="n_p")
    (both,) = found_in(found, embedder="*", measure="n_p")
    for name in ("value", "value_low", "value_high"):
        assert both[name] == pytest.approx(one[name], abs=1e-6)


def test_any_columns_may_meet():
    # "twice" orders as "own" does; the query "a" of two data sets is two queries
    rng = np.random.default_rng(4)
    own, grade = rng.integers(0, 5, 60).astype(float), rng.integers(1, 6, 60).astype(float)
    places = [Place("first", "e5", "all")] * 30 + [Place("second", "e5", "all")] * 30
    values = {"own": own, "twice": 2 * own, "gap": np.where(np.arange(60) == 3, np.nan, own)}
    found = contest_values(values, grade, [*range(30), *range(30)], places, n_draws=200)
    first = {row["measure"]: row for row in found_in(found, dataset="first")}
    assert first["twice"]["same_as"] == "own"
    assert first["gap"]["reason"] == "undefined in 1 of 30 answers"
    assert found_in(found, dataset="*", measure="own")[0]["n_queries"] == 60
    (gap,) = found_in(found, dataset="*", measure="gap")
    assert gap["reason"] == "takes no part, as it is missing in some of the 2 segments"


def test_p_is_adjusted_over_the_measures_of_the_segment_each_counted_once(of_wide):
    rows = found_in(of_wide, segment="narrow")
    tests = [row for row in rows if row["p"] is not None and row["same_as"] is None]
    assert [row["p_holm"] for row in tests] == pytest.approx(holm([row["p"] for row in tests]).tolist())
    assert all(row["p_bh"] >= row["p"] for row in tests)
    assert rows[0]["p"] is None  # the leader is not compared with itself


def test_pooled_value_is_the_mean_on_fishers_scale_weighted_by_queries_less_three():
    table = answers(40, follows=recall_of, ratios=(1.0,), embedders=("e5", "bge"), noise=2.0)
    found = contest(table, n_draws=200)
    for measure in ("n_p", "P", "T(form=count)"):
        single = [row["value"] for row in found_in(found, measure=measure) if row["dataset"] == "nq"]
        (pooled,) = found_in(found, measure=measure, dataset="*")
        assert pooled["value"] == pytest.approx(np.tanh(np.mean(np.arctanh(single))))  # 40 queries in both
        assert (pooled["embedder"], pooled["segment"]) == ("*", "K/N_p=1.0")
        assert (pooled["n_queries"], pooled["n_rows"]) == (40, 80)


def test_pooled_difference_is_that_of_the_pooled_values():
    table = answers(80, follows=recall_of, ratios=(0.5, 2.0), embedders=("e5", "bge"), noise=1.0)
    rows = found_in(contest(table, by="width", n_draws=200), dataset="*", segment="*")
    leader = rows[0]
    for row in rows[1:]:
        expected = np.arctanh(row["value"]) - np.arctanh(leader["value"])
        assert row["difference"] == pytest.approx(expected, abs=1e-9)
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["n_segments"] == 4
        assert row["tau2"] >= 0


def test_an_embedder_that_retrieves_the_same_adds_nothing():
    one = answers(60, follows=recall_of, noise=1.5)
    both = pa.concat_tables([one, one.set_column(2, GRADED.field("embedder"), pa.array(["copy"] * one.num_rows))])
    found = contest(both, n_draws=200)
    for row in found_in(found, dataset="*"):
        (single,) = found_in(found, embedder="e5", measure=row["measure"])
        assert row["value"] == pytest.approx(single["value"])
        if row["p"] is not None and row["same_as"] is None:  # nearly that of one embedder, not of twice the queries
            assert row["p"] == pytest.approx(single["p"], abs=0.05)


def test_fewer_than_twenty_queries_hold_no_contest():
    found = contest(answers(19, follows=recall_of), n_draws=200)
    assert {row["standing"] for row in found.to_pylist()} == {"not compared"}
    assert verdicts(found)["nq", "e5", "K/N_p=1.0"] == "not decided: too few queries: 19; a contest needs 20"
    assert not isnan(found_in(found, measure="P")[0]["value"])


def test_measure_that_is_undefined_in_an_answer_does_not_take_part_and_costs_no_answer():
    rows = answers(40, follows=recall_of).to_pylist()
    rows[3]["n_positive_2k"] = None
    found = contest(pa.Table.from_pylist(rows, schema=GRADED), n_draws=200)
    (fe,) = found_in(found, measure="Fe(x=2)")
    assert (fe["standing"], fe["reason"]) == ("not compared", "undefined in 1 of 40 answers")
    assert found_in(found, measure="P")[0]["n_rows"] == 40


def test_constant_grade_is_said():
    rows = [row | {"grade": 5.0} for row in answers(40, follows=recall_of).to_pylist()]
    found = contest(pa.Table.from_pylist(rows, schema=GRADED), n_draws=200)
    assert verdicts(found)["nq", "e5", "K/N_p=1.0"] == "not decided: the grade is constant"


def test_same_seed_same_table_and_another_seed_moves_the_set_alone():
    table = answers(40, follows=recall_of, noise=2.0)
    first, again, other = (contest(table, n_draws=200, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    columns = ["measure", "value", "difference", "low", "high", "p"]
    assert first.select(columns).equals(other.select(columns))
    assert not first.equals(other)


def test_progress_is_told_of_each_segment():
    told = []
    contest(WIDE, by="width", n_draws=100, on_progress=lambda *progress: told.append(progress))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coefficient": "kappa"}, "coefficient must be one of spearman"),
        ({"n_draws": 99}, "n_draws must be 100 or more, got 99"),
        ({"by": "depth"}, "by must be 'ratio', 'width' or 'all'"),
        ({"against": "MAP"}, "against must be one of n_p, P,.* got 'MAP'"),
        ({"level": 2.0}, "level must lie strictly between 0 and 1"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        contest(WIDE, **change)


def test_columns_of_different_length_are_refused():
    with pytest.raises(InputError, match=r"must be equally long, got \[2, 3\]"):
        contest_values({"own": [1, 2, 3]}, [1, 2, 3], ["a", "b", "c"], [Place("d", "e", "all")] * 2)


def pooled_false_findings(n_queries, icc, runs, seed):
    """Share of samples in which two equal measures differ at the 5 % level over four segments of the same queries."""
    rng = np.random.default_rng(seed)
    places = [Place("nq", "e5", f"segment {i}") for i in range(4) for _ in range(n_queries)]
    queries = [*range(n_queries)] * 4
    found = 0
    for _ in range(runs):

        def noise():
            own = rng.normal(size=(4, n_queries))
            return np.sqrt(icc) * rng.normal(size=n_queries) + np.sqrt(1 - icc) * own

        latent = noise()
        first, second = (np.clip(np.rint(6 + 1.4 * (latent + noise())), 0, 12).ravel() for _ in range(2))
        grade = np.clip(np.rint(3 + 0.9 * (latent + noise())), 1, 5).ravel()
        table = contest_values({"a": first, "b": second}, grade, queries, places, against="a", n_draws=100)
        (row,) = found_in(table, segment="*", measure="b")
        found += row["p"] < 0.05
    return found / runs


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.0, 0.6])
def test_equal_measures_differ_over_segments_of_the_same_queries_in_five_percent_of_samples(icc):
    runs = 300
    found = pooled_false_findings(60, icc, runs, seed=2)
    assert found < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert found > 0.01  # not much below either
