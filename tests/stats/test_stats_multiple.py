"""Adjusted p values: the worked values, statsmodels, and what is not a p value."""

import numpy as np
import pytest

from ragauge.errors import InputError
from ragauge.stats import benjamini_hochberg, benjamini_yekutieli, holm

ADJUSTMENTS = {"holm": holm, "fdr_bh": benjamini_hochberg, "fdr_by": benjamini_yekutieli}
FIVE = (0.001, 0.008, 0.012, 0.03, 0.2)


@pytest.mark.parametrize(
    ("adjust", "expected"),
    [
        # 5 x .001, 4 x .008, 3 x .012, 2 x .03, .2
        (holm, (0.005, 0.032, 0.036, 0.06, 0.2)),
        # 5 x .001, 5/2 x .008 = .02, 5/3 x .012 = .02, 5/4 x .03, .2
        (benjamini_hochberg, (0.005, 0.02, 0.02, 0.0375, 0.2)),
        # the same times 1 + 1/2 + 1/3 + 1/4 + 1/5 = 2.283333
        (benjamini_yekutieli, (0.011417, 0.045667, 0.045667, 0.085625, 0.456667)),
    ],
)
def test_five_p_values_give_the_printed_digits(adjust, expected):
    assert adjust(FIVE) == pytest.approx(expected, abs=5e-7)


def test_holm_never_falls_along_the_order_of_p():
    # 3 x .01 = .03, then 2 x .03 = .06, then .04 is below the one before it
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_bh_of_the_largest_is_itself_and_caps_the_one_before():
    # 2 x .9 = 1.8 would pass the .95 of the larger one
    assert benjamini_hochberg([0.9, 0.95]) == pytest.approx([0.95, 0.95])


@pytest.mark.parametrize("method", ADJUSTMENTS)
@pytest.mark.parametrize("m", [1, 2, 17, 400])
def test_statsmodels_gives_the_same(method, m):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(m)
    p = np.round(rng.uniform(size=m) ** 3, 3)  # with ties and zeros
    assert ADJUSTMENTS[method](p) == pytest.approx(multitest.multipletests(p, method=method)[1], abs=1e-10)


@pytest.mark.parametrize("adjust", ADJUSTMENTS.values())
def test_a_test_that_was_not_made_does_not_count(adjust):
    with_gap = adjust([0.01, np.nan, 0.04])
    assert np.isnan(with_gap[1])
    assert with_gap[[0, 2]].tolist() == adjust([0.01, 0.04]).tolist()


@pytest.mark.parametrize("adjust", ADJUSTMENTS.values())
def test_no_test_gives_nothing(adjust):
    assert adjust([]).size == 0


@pytest.mark.parametrize("adjust", ADJUSTMENTS.values())
@pytest.mark.parametrize(
    ("p", "message"), [([0.5, 1.2], "1 of 2 p values lie outside 0..1, such as 1.2"), ([[0.5]], "must be one column")]
)
def test_what_is_no_p_value_is_refused(adjust, p, message):
    with pytest.raises(InputError, match=message):
        adjust(p)
