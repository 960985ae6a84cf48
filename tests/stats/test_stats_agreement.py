"""Agreement: worked values, the reference packages, what is undefined, warned of and refused."""

from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import associate, joint_agreement, pairwise_agreement

# Krippendorff's example: 4 raters, 12 units, with gaps
REFERENCE = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
)
DATA = Path(__file__).parents[2].parent / "shared/data/trecdl-llm-labels"
A, B = (1, 2, 3, 4, 5, 5, 4, 3, 2, 1), (1, 2, 3, 4, 4, 5, 4, 2, 2, 2)


def together(table, **options):
    """Agreement of a table with a row a rater and a column a unit."""
    table = np.asarray(table)
    rater, unit = np.indices(table.shape)
    if "clusters" in options:
        options["clusters"] = np.broadcast_to(options["clusters"], table.shape).ravel()
    return joint_agreement(unit.ravel(), rater.ravel(), table.ravel(), **options)


def value(found, name):
    return found.coefficient(name).value


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (REFERENCE, {"alpha_nominal": 0.7434, "alpha_ordinal": 0.8154, "alpha_interval": 0.8491}),
        (
            [A, B],
            {
                "agreement": 0.7,
                "kappa": 0.625,
                "kappa_linear": 0.8,
                "kappa_quadratic": 0.914286,
                "alpha_nominal": 0.6346,
                "alpha_ordinal": 0.9150,
                "alpha_interval": 0.9185,
            },
        ),
    ],
)
def test_worked_values(table, expected):
    found = together(table, resamples=10)
    for name, wanted in expected.items():
        assert value(found, name) == pytest.approx(wanted, abs=5e-5), name


def test_prevalence_lowers_kappa_and_alpha_and_leaves_ac1():
    # 1000 units: both 1, 951; apart, 17 and 18; both 0, 14
    a = [1] * 951 + [1] * 17 + [0] * 18 + [0] * 14
    b = [1] * 951 + [0] * 17 + [1] * 18 + [0] * 14
    found = together([a, b], resamples=10)
    # chance of AC1: 2 q (1 - q), q = (968 + 969) / 2000 = .9685
    assert value(found, "ac1") == pytest.approx((0.965 - 2 * 0.9685 * 0.0315) / (1 - 2 * 0.9685 * 0.0315))
    # chance of kappa: .968 * .969 + .032 * .031 = .938984
    assert value(found, "kappa") == pytest.approx((0.965 - 0.938984) / (1 - 0.938984))
    assert any("97% of the ratings are 1" in warning for warning in found.warnings)


def test_ac1_counts_units_rated_once_in_its_shares():
    # units 0 0, 0 1, 1 1 and one 1 alone: agreement 2/3; share of 1: (0 + 1/2 + 1 + 1) / 4 = .625
    found = together([[0, 0, 1, 1], [0, 1, 1, nan]], resamples=1)
    chance = 2 * 0.625 * 0.375
    assert value(found, "ac1") == pytest.approx((2 / 3 - chance) / (1 - chance))
    assert (found.n_units, found.n_ratings) == (3, 6)


def test_three_raters_agree_by_the_pairs_of_each_unit():
    # unit 1: three alike, 3 of 3 pairs; unit 2: two alike, 1 of 3; unit 3 rated twice, apart: 0
    found = together([[1, 0, 0], [1, 0, 1], [1, 1, nan]], resamples=1)
    assert value(found, "agreement") == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert "kappa" not in {one.name for one in found.coefficients}
    assert found.confusion == ()


def test_alpha_equals_the_krippendorff_package():
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(8)
    for _ in range(40):
        raters, units = rng.integers(2, 6), rng.integers(5, 40)
        table = rng.integers(0, rng.integers(2, 6), (raters, units)).astype(float)
        table[rng.random(table.shape) < rng.choice([0, 0.3])] = nan
        if len(np.unique(table[:, (~np.isnan(table)).sum(0) > 1])) < 3:  # nan counts as one
            continue
        found = together(table, resamples=1)
        for scale in ("nominal", "ordinal", "interval"):
            expected = krippendorff.alpha(reliability_data=table, level_of_measurement=scale)
            assert value(found, f"alpha_{scale}") == pytest.approx(expected, abs=1e-10)


def test_kappa_equals_statsmodels():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(9)
    a = rng.integers(0, 4, 60)
    b = np.clip(a + rng.integers(-1, 2, 60), 0, 3)
    found = pairwise_agreement(np.tile(np.arange(60), 2), ["a"] * 60 + ["b"] * 60, np.r_[a, b], resamples=1)[0]
    for name, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
        expected = inter_rater.cohens_kappa(np.array(found.confusion), wt=weights, return_results=False)
        assert value(found, name) == pytest.approx(expected, abs=1e-10)


def test_tau_b_is_that_of_the_two_columns():
    assert value(together([A, B], resamples=1), "tau_b") == pytest.approx(associate(A, B).tau_b)


def test_shift_of_one_grade_leaves_the_order_and_lowers_the_rest():
    a = np.repeat([1, 2, 3, 4], 50)
    found = together([a, a + 1], resamples=1)
    assert value(found, "tau_b") == pytest.approx(1)
    assert value(found, "agreement") == 0
    # independent a and b = a + 1: mean (a - b)^2 = 2 * 1.25 + 1; all 400 ratings: variance 1.25 + 1/4
    assert value(found, "kappa_quadratic") == pytest.approx(1 - 1 / 3.5)
    assert value(found, "alpha_interval") == pytest.approx(1 - 399 / 400 / (2 * 1.5))


def test_words_get_the_coefficients_that_need_no_order():
    found = together(np.array([["no", "yes", "yes", ""], ["no", "no", "yes", "yes"]], dtype=object), resamples=1)
    assert [one.name for one in found.coefficients] == ["agreement", "kappa", "alpha_nominal", "ac1"]
    assert found.categories == ("no", "yes")
    assert value(found, "agreement") == pytest.approx(2 / 3)


def test_pairs_come_with_their_confusion_matrix():
    # raters 0 and 1 rate units 0..2, rater 2 unit 2 alone: pair 0-2 has one unit, with 1 and 2
    found = pairwise_agreement([0, 1, 2, 0, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2], [1, 2, 1, 1, 1, 1, 2], resamples=1)
    assert [one.raters for one in found] == [("0", "1"), ("0", "2"), ("1", "2")]
    assert found[0].confusion == ((2, 0), (1, 0))
    assert found[1].confusion == ((0, 1), (0, 0))
    assert (found[1].n_units, found[1].n_ratings) == (1, 2)


def test_raters_without_a_common_unit_are_no_pair():
    assert pairwise_agreement([1, 2], ["a", "b"], [0, 1]) == []


def test_interval_resamples_clusters_with_all_that_is_in_them():
    # ten copies of each unit in one cluster: an interval over clusters is that of the units without copies
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, 40)
    b = np.where(rng.random(40) < 0.7, a, rng.integers(0, 3, 40))
    plain = together([a, b])
    copied = together([np.repeat(a, 10), np.repeat(b, 10)], clusters=np.repeat(np.arange(40), 10))
    for name in ("agreement", "kappa_quadratic"):
        one, other = plain.coefficient(name), copied.coefficient(name)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    as_if_independent = together([np.repeat(a, 10), np.repeat(b, 10)]).coefficient("agreement")
    one = copied.coefficient("agreement")
    assert as_if_independent.high - as_if_independent.low < 0.5 * (one.high - one.low)


def test_interval_does_not_depend_on_the_order_of_rows_and_does_on_the_seed():
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 3, (2, 50))
    order = rng.permutation(100)
    units, raters, ratings = np.tile(np.arange(50), 2), np.repeat(["a", "b"], 50), np.r_[a, b]
    one = joint_agreement(units, raters, ratings, resamples=200)
    assert joint_agreement(units[order], raters[order], ratings[order], resamples=200) == one
    other = joint_agreement(units, raters, ratings, resamples=200, seed=1)
    assert other.coefficient("kappa").low != one.coefficient("kappa").low


def test_raters_who_always_agree_have_no_interval():
    one = together([A, A]).coefficient("kappa")
    assert one.value == 1
    assert isnan(one.low)
    assert one.reason == "the same in all replicates"


def test_one_category_alone_is_undefined():
    found = together([[2] * 10, [2] * 10])
    assert value(found, "agreement") == 1
    for name in ("kappa", "kappa_quadratic", "tau_b", "alpha_nominal", "alpha_ordinal", "ac1"):
        assert isnan(value(found, name)), name
        assert found.coefficient(name).reason == "all ratings are alike, or none is double"


def test_no_unit_with_two_ratings_is_undefined_and_said():
    found = joint_agreement([1, 2, 3], ["a", "b", "a"], [0, 1, 1])
    assert isnan(value(found, "agreement"))
    assert found.warnings == ("no unit has two ratings",)
    assert (found.n_units, found.n_clusters) == (0, 0)


def test_few_clusters_have_a_value_and_no_interval():
    found = together([A, B], clusters=[0] * 5 + [1] * 5)
    assert value(found, "agreement") == pytest.approx(0.7)
    assert found.coefficient("agreement").reason == "2 clusters; an interval needs 5"
    assert any("only 2 clusters" in warning for warning in found.warnings)


def double_rated(rng, chosen):
    """1000 units graded 0..4 by a; b grades those that are `chosen` by a's grade, and errs a little."""
    a = rng.integers(0, 5, 1000)
    b = np.clip(a + rng.integers(-1, 2, 1000), 0, 4).astype(float)
    return [a, np.where(chosen(a), b, nan)]


def test_second_ratings_of_low_grades_alone_are_warned_of():
    rng = np.random.default_rng(12)
    found = together(double_rated(rng, lambda a: a <= 2), resamples=10)
    assert any("depend on the first" in warning for warning in found.warnings)
    assert any(warning.startswith("0 gave ") for warning in found.warnings)


@pytest.mark.parametrize("seed", range(10))
def test_second_ratings_of_a_random_sample_are_not(seed):
    rng = np.random.default_rng(seed)
    found = together(double_rated(rng, lambda a: rng.random(1000) < 0.3), resamples=10)
    assert found.warnings == ()


def test_judge_who_rates_all_beside_a_person_with_other_standards_is_not_selective():
    # the judge gives 1 to everything it likes, the person rates a random third more strictly
    rng = np.random.default_rng(13)
    judge = rng.integers(0, 2, 900)
    person = np.where(rng.random(900) < 0.5, 0, judge).astype(float)
    found = together([judge, np.where(np.arange(900) < 300, person, nan)], resamples=10)
    assert not any("depend" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (([1, 1], ["a"], [0, 1]), {}, "need one entry a rating"),
        (([1, 1], ["a", "a"], [0, 1]), {}, "a rated 1 more than once"),
        (([1, 1], ["a", "b"], [0, "no"]), {}, "1 of 2 ratings are words"),
        (([1, 1], ["a", "b"], [0, float("inf")]), {}, "ratings must be finite"),
        ((range(300), ["a"] * 300, range(300)), {}, "300 different ratings; at most 200 are grades"),
        (([1, 1], ["a", "b"], [0, 1]), {"clusters": ["q", "r"]}, "1 is in more than one cluster: 'q', 'r'"),
        (([1, 1], ["a", "b"], [0, 1]), {"level": 0.0}, "level must lie strictly"),
        (([1, 1], ["a", "b"], [0, 1]), {"resamples": 0}, "resamples must be positive, got 0"),
    ],
)
def test_bad_input_is_refused(columns, options, message):
    with pytest.raises(InputError, match=message):
        joint_agreement(*columns, **options)


def test_unknown_coefficient_names_those_there_are():
    with pytest.raises(KeyError, match="no coefficient 'pi'; there are: agreement, kappa"):
        together([A, B], resamples=1).coefficient("pi")


def test_interval_is_symmetric_on_fishers_scale_with_t_of_the_clusters():
    # agreement .7: 2 p - 1 = .4, error of one of 10 independent shares sqrt(.7 * .3 / 9) = .15275,
    # on the scale 2 * .15275 / (1 - .16) = .36370, times t_9 = 2.26216
    one = together([A, B], resamples=20_000).coefficient("agreement")
    low, high = np.tanh(np.arctanh(0.4) + np.array([-1, 1]) * 2.26216 * 0.36370)
    assert (one.low, one.high) == pytest.approx(((low + 1) / 2, (high + 1) / 2), abs=0.005)


def test_raters_who_never_agree_have_no_interval_of_the_agreement():
    assert together([[0, 1] * 5, [1, 0] * 5]).coefficient("agreement").reason == "the same in all replicates"


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="no shared/data/trecdl-llm-labels beside the checkout")
def test_a_model_and_people_on_trec_dl_agree_as_published():
    rows = [line.split("\t") for year in (2019, 2020, 2021) for line in lines_of(DATA / f"labels.{year}.tsv")]
    units = [(row[0], row[1]) for row in rows] * 2
    raters = ["human"] * len(rows) + ["model"] * len(rows)
    grades = [int(row[2]) for row in rows] + [int(row[4]) for row in rows]
    found = joint_agreement(units, raters, grades, resamples=1)
    assert value(found, "alpha_nominal") == pytest.approx(0.368, abs=0.001)
    assert value(found, "alpha_ordinal") == pytest.approx(0.623, abs=0.001)
    assert value(found, "kappa_quadratic") == pytest.approx(0.623, abs=0.001)
    at_cut = joint_agreement(units, raters, [grade >= 2 for grade in grades], resamples=1)
    assert value(at_cut, "kappa") == pytest.approx(0.509, abs=0.001)


def lines_of(path):
    """All but the header: query_id, doc_id, human, umbrela_gpt4, umbrela_gpt4o, ..."""
    return path.read_text().splitlines()[1:]
