"""One rater against the others taken together."""

import math
from typing import Any

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import against_panel, pairwise_agreement

PEOPLE = ["anna", "ben", "carla"]


def columns(by_rater: dict[str, list[float | None]]) -> tuple[list[int], list[str], list[float | None]]:
    rows = [(unit, who, rating) for who, given in by_rater.items() for unit, rating in enumerate(given)]
    units, raters, ratings = zip(*rows, strict=True)
    return list(units), list(raters), list(ratings)


RATINGS: dict[str, list[float | None]] = {
    "anna": [1, 2, 5, 4, 3],
    "ben": [1, 3, 4, 4, 3],
    "carla": [2, 3, 5, 1, 3],
    "model": [2, 3, 5, 5, 1],
}


def test_the_median_is_a_rater_like_any_other() -> None:
    found = against_panel(*columns(RATINGS), rater="model", panel=PEOPLE)
    # medians 1, 3, 5, 4, 3, and the model 2, 3, 5, 5, 1
    assert found.agreement.raters == ("median of others", "model")
    by_hand = pairwise_agreement(*columns({"median of others": [1, 3, 5, 4, 3], "model": [2, 3, 5, 5, 1]}))[0]
    for one in by_hand.coefficients:
        assert found.agreement.coefficient(one.name).value == pytest.approx(one.value)
    assert found.difference.mean == pytest.approx((1 + 0 + 0 + 1 - 2) / 5)


def test_the_mean_keeps_fractions() -> None:
    found = against_panel(*columns(RATINGS), rater="model", panel=PEOPLE, by="mean")
    means = [4 / 3, 8 / 3, 14 / 3, 3, 3]
    assert found.agreement.categories == tuple(sorted({*means, 1.0, 2.0, 3.0, 5.0}))
    assert found.difference.mean == pytest.approx((16 - sum(means)) / 5)


def test_only_units_that_two_of_the_panel_rated_count() -> None:
    sparse = RATINGS | {"anna": [1, None, None, 4, None], "ben": [1, None, 4, None, None], "model": [None, 3, 5, 5, 1]}
    found = against_panel(*columns(sparse), rater="model", panel=PEOPLE)
    # units 2 (ben, carla) and 3 (anna, carla) have two of the panel and the model: medians 4.5 and 2.5
    assert found.agreement.n_units == 2
    assert found.difference.mean == pytest.approx((0.5 + 2.5) / 2)


def test_without_a_common_unit_all_is_undefined() -> None:
    found = against_panel(*columns(RATINGS | {"model": [None] * 5}), rater="model", panel=PEOPLE)
    assert found.agreement.n_units == 0
    assert math.isnan(found.difference.mean)


def test_many_rough_people_together_are_a_better_yardstick_than_each() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 400)

    def rough(sd: float) -> list[Any]:
        return np.clip(np.rint(truth + rng.normal(0, sd, 400)), 1, 5).tolist()

    given = {**{f"p{n}": rough(1.2) for n in range(5)}, "model": rough(0.3)}
    panel = [f"p{n}" for n in range(5)]
    together = against_panel(*columns(given), rater="model", panel=panel, resamples=10)
    singly = [pair for pair in pairwise_agreement(*columns(given), resamples=10) if "model" in pair.raters]
    best = max(pair.coefficient("kappa_quadratic").value for pair in singly)
    assert together.agreement.coefficient("kappa_quadratic").value > best + 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"panel": ["anna"]}, "a panel needs two raters other than 'model', got anna"),
        ({"panel": ["anna", "model"]}, "a panel needs two raters other than 'model'"),
        ({"panel": PEOPLE, "by": "mode"}, "by must be one of median, mean, got 'mode'"),
    ],
)
def test_what_makes_no_panel_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        against_panel(*columns(RATINGS), rater="model", **options)


def test_words_have_no_median() -> None:
    with pytest.raises(InputError, match="ratings that are numbers"):
        against_panel([1, 1, 1], ["a", "b", "c"], ["yes", "no", "yes"], rater="a", panel=["b", "c"])
