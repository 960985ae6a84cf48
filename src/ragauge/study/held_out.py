"""Alpha chosen on other data sets: of the same embedder and range of K, the one at hand left out."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragauge.stats.alpha import AlphaFamily
from ragauge.stats.best import Alphas, AlphaSearch
from ragauge.stats.optimism import leave_one_group_out
from ragauge.study.cells import distinct_rows
from ragauge.study.contestants import MEASURES, Contestant
from ragauge.study.segments import SegmentCells

__all__ = ["alphas_of_other_data_sets"]

Key = tuple[str, str, str, str, str]


def alphas_of_other_data_sets(
    segments: Sequence[SegmentCells], alphas: Alphas, names: Sequence[str]
) -> dict[Key, float]:
    """Each coefficient of each measure with alpha, at the alpha that the other data sets chose.

    Args:
        segments: All of them.
        alphas: The competing alphas.
        names: Names of `stats.COEFFICIENTS`.

    Returns:
        By (embedder, segment, measure, coefficient, data set); nothing where only one data set has the segment.
    """
    groups: dict[tuple[str, str], list[SegmentCells]] = {}
    for segment in segments:
        groups.setdefault((segment.embedder, segment.name), []).append(segment)
    found: dict[Key, float] = {}
    for (embedder, name), members in groups.items():
        for measure in MEASURES if len(members) > 1 else ():
            if measure.family is not None:
                for coefficient, parts in _left_out(measure, members, alphas, names).items():
                    for member, value in zip(members, parts, strict=True):
                        found[embedder, name, measure.name, coefficient, member.dataset] = value
    return found


def _left_out(
    measure: Contestant, members: Sequence[SegmentCells], alphas: Alphas, names: Sequence[str]
) -> dict[str, tuple[float, ...]]:
    kept = [member.where(measure.defined(member.cells)) for member in members]
    families = [_family(measure, member) for member in kept]
    joined = _joined(families)
    grades, column = np.unique(np.concatenate([member.cells.grade for member in kept]), return_inverse=True)
    first, state = distinct_rows([joined.start, joined.end, joined.scale])
    if not len(first):
        return {}
    group = np.repeat(np.arange(len(kept)), [len(member.cells.grade) for member in kept])
    shape = (len(first), len(grades), len(kept))
    place = np.ravel_multi_index((state, column, group), shape)
    weights = np.bincount(place, weights=np.concatenate([m.weights for m in kept]), minlength=int(np.prod(shape)))
    search = AlphaSearch.of(joined.of(first), grades, alphas)
    left_out = leave_one_group_out(search, weights.reshape(shape).astype(np.float64), names=names)
    return {name: one.parts for name, one in left_out.items()}


def _family(measure: Contestant, member: SegmentCells) -> AlphaFamily:
    assert measure.family is not None
    return measure.family(member.cells)


def _joined(families: Sequence[AlphaFamily]) -> AlphaFamily:
    def column(name: str) -> npt.NDArray[np.int64]:
        return np.concatenate([getattr(family, name) for family in families])

    any_open = any(family.open_at_zero for family in families)
    return AlphaFamily(column("start"), column("end"), column("scale"), families[0].form, any_open)
