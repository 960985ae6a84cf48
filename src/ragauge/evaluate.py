"""From judged rankings to estimates: every measure, its mean over queries, and how sure we are of it."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ragauge.measures import Measure, judged_share, score
from ragauge.results import Estimate
from ragauge.stats import mean_interval

__all__ = ["estimates", "evaluate", "labels_are_probabilities"]


def evaluate(judged: pa.Table, measures: Sequence[Measure], *, level: float = 0.95) -> list[Estimate]:
    """The mean of each measure over the rankings, with an interval over queries.

    Args:
        judged: `schema.JUDGED`, the rankings of one run.
        measures: What to compute.
        level: Confidence level of the intervals, 0..1.

    Returns:
        One estimate a measure, in the order given.

    Raises:
        MeasureError: A measure needs N_p, and the labels do not tell it.
    """
    return estimates(judged, score(judged, measures), measures, level=level)


def estimates(
    judged: pa.Table, scores: pa.Table, measures: Sequence[Measure], *, level: float = 0.95
) -> list[Estimate]:
    """The same from scores that are already there (`measures.score` of the same rankings)."""
    return [
        mean_interval(
            scores.column(str(measure)).to_numpy(),
            measure=str(measure),
            bounds=measure.bounds,
            level=level,
            judged=judged_share(judged, measure),
        )
        for measure in measures
    ]


def labels_are_probabilities(judged: pa.Table) -> bool:
    """Whether all labels lie in 0..1 and some strictly between: P(relevant), not grades."""
    labels = pc.drop_null(pc.list_flatten(judged.column("labels")))
    if not len(labels):
        return False
    allowed = pc.and_(pc.greater_equal(labels, 0), pc.less_equal(labels, 1))
    between = pc.and_(pc.greater(labels, 0), pc.less(labels, 1))
    return bool(pc.all(allowed).as_py() and pc.any(between).as_py())
