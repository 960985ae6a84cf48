"""Whether second ratings depend on the first: then what is rated twice is no fair sample, and agreement is off."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.stats.ratings import Ratings, show_category

__all__ = ["selective_rating"]

_SHIFT = 0.05  # a difference in shares smaller than this is not worth a warning
_RARE = 0.001  # chance of a false warning, all tests together
_MIN_RATINGS = 10  # of a rater, with and without a second rating, to compare the two


@dataclass(frozen=True)
class _Shift:
    """The category whose share differs most, in standard errors, between what was rated twice and once."""

    rater: str
    category: str
    twice: float
    once: float
    z: float


def selective_rating(data: Ratings) -> tuple[str, ...]:
    """A warning when some rater's grades differ between the units that others rated too and those they did not.

    For each rater and category the difference of its share in the two groups, over its standard error by clusters,
    against the normal quantile at `_RARE` divided by the number of tests.
    """
    from scipy.special import ndtri

    several = data.n_of_unit[data.unit] >= 2
    shifts = [
        _shift_of(data, rater, several)
        for rater in range(len(data.raters))
        if min(np.bincount(several[data.rater == rater], minlength=2)) >= _MIN_RATINGS
    ]
    if not shifts:
        return ()
    limit = -ndtri(_RARE / 2 / (len(shifts) * len(data.categories)))
    worst = max(shifts, key=lambda shift: abs(shift.z))
    if abs(worst.z) < limit or abs(worst.twice - worst.once) < _SHIFT:
        return ()
    message = (
        f"{worst.rater} gave {worst.category} to {worst.twice:.0%} of what others rated too and to {worst.once:.0%} of "
        "what they did not: second ratings seem to depend on the first, and then kappa and alpha are off; "
        "have a random sample rated twice"
    )
    return (message,)


def _shift_of(data: Ratings, rater: int, several: npt.NDArray[np.bool_]) -> _Shift:
    mine = data.rater == rater
    given = np.eye(len(data.categories))[data.category[mine]]
    twice = several[mine]
    shares = [given[twice].mean(0), given[~twice].mean(0)]
    weight = np.where(twice, 1 / twice.sum(), -1 / (~twice).sum())
    influence = weight[:, None] * (given - given.mean(0))  # about the common share: a share of 0 has an error too
    _, cluster = np.unique(data.cluster_of_unit[data.unit[mine]], return_inverse=True)
    sums = np.zeros((int(cluster.max()) + 1, given.shape[1]))
    np.add.at(sums, cluster, influence)
    error = np.sqrt((sums**2).sum(0))
    z = np.divide(shares[0] - shares[1], error, out=np.zeros_like(error), where=error > 0)
    top = int(np.abs(z).argmax())
    return _Shift(
        data.raters[rater],
        show_category(data.categories[top]),
        float(shares[0][top]),
        float(shares[1][top]),
        float(z[top]),
    )
