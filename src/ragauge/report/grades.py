"""Graded answers, counted: how often each grade was given, and what the measures were where it was."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from ragauge.measures import f_alpha, precision, t_alpha
from ragauge.measures.gain import dcg
from ragauge.ragged import Ragged, descending, from_arrow, segment_sum
from ragauge.report.content import Record
from ragauge.report.study_content import grade_records

__all__ = ["AgainstGrade", "against_grade", "grade_counts"]

ALPHA = 0.5
NARROW, WIDE = "narrow (K < N_p)", "wide (K ≥ N_p)"
N_LEVELS = 20
"""Circles stand at this many heights between the smallest and the largest value of a measure."""


@dataclass(frozen=True)
class AgainstGrade:
    """Chart data of the measures against the grade.

    Attributes:
        bubbles: measure, grade, value (binned), count.
        means: measure, regime, grade, value (the mean), low and high (the middle half of the values), count.
    """

    bubbles: tuple[Record, ...]
    means: tuple[Record, ...]


def grade_counts(graded: pa.Table) -> list[Record]:
    """One record a (data set and retriever, grade): group, grade, count, share of that group's graded answers.

    Grades that are not whole are rounded to the nearest whole one.
    """
    frame = grade_records(graded).with_columns(pl.col("grade").round().cast(pl.Int64))
    counted = frame.group_by("group", "grade").agg(pl.len().alias("count"))
    shares = counted.with_columns((pl.col("count") / pl.col("count").sum().over("group")).round(6).alias("share"))
    order = {group: i for i, group in enumerate(frame.get_column("group").unique(maintain_order=True))}
    return sorted(shares.to_dicts(), key=lambda record: (order[record["group"]], record["grade"]))


def against_grade(graded: pa.Table) -> AgainstGrade:
    """P, F, T (count form) and nDCG (retrieved ideal), at alpha = 0.5, of every graded answer, by grade.

    An answer at which a measure is undefined is left out of that measure.
    """
    frame = grade_records(graded)
    if frame.is_empty():
        return AgainstGrade((), ())
    regime = pl.when(pl.col("cutoff") < pl.col("n_relevant")).then(pl.lit(NARROW)).otherwise(pl.lit(WIDE))
    values = _values(frame)
    wide = frame.select(pl.col("grade").round().cast(pl.Int64), regime.alias("regime")).with_columns(
        pl.Series(name, column) for name, column in values.items()
    )
    long = wide.unpivot(list(values), index=["grade", "regime"], variable_name="measure", value_name="value")
    long = long.filter(pl.col("value").is_finite())
    return AgainstGrade(_bubbles(long, list(values)), _means(long, list(values)))


def _values(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    labels = from_arrow(frame.get_column("labels").to_arrow())
    n_p = segment_sum(labels.valid & (labels.values >= 1), labels.offsets)
    k, n_relevant = (frame.get_column(name).to_numpy() for name in ("cutoff", "n_relevant"))
    return {
        "P": precision(n_p, k),
        "F": f_alpha(n_p, k, n_relevant, ALPHA),
        "T(form=count)": t_alpha(n_p, k - n_p, k, ALPHA, "count"),
        "nDCG(ideal=retrieved)": _ndcg_retrieved(labels),
    }


def _ndcg_retrieved(labels: Ragged) -> np.ndarray:
    """nDCG of each row against its own best order, at the row's full length; 0 without a positive."""
    longest = max(1, int(labels.lengths.max(initial=0)))
    best = dcg(descending(labels), cutoff=longest)
    return np.where(best > 0, dcg(labels, cutoff=longest) / np.where(best > 0, best, 1.0), 0.0)


def _bubbles(long: pl.DataFrame, order: Sequence[str]) -> tuple[Record, ...]:
    low, high = pl.col("value").min().over("measure"), pl.col("value").max().over("measure")
    step = pl.when(high > low).then((high - low) / N_LEVELS).otherwise(1.0)
    binned = (low + ((pl.col("value") - low) / step).round() * step).round(4).alias("value")
    counted = long.with_columns(binned).group_by("measure", "grade", "value").agg(pl.len().alias("count"))
    return _sorted(counted, order, ["grade", "value"])


def _means(long: pl.DataFrame, order: Sequence[str]) -> tuple[Record, ...]:
    value = pl.col("value")
    figures = [
        value.mean().round(4).alias("mean"),
        value.quantile(0.25, "linear").round(4).alias("low"),
        value.quantile(0.75, "linear").round(4).alias("high"),
        pl.len().alias("count"),
    ]
    counted = long.group_by("measure", "regime", "grade").agg(figures).rename({"mean": "value"})
    return _sorted(counted, order, ["regime", "grade"])


def _sorted(frame: pl.DataFrame, order: Sequence[str], keys: Sequence[str]) -> tuple[Record, ...]:
    place = pl.col("measure").replace_strict({name: i for i, name in enumerate(order)}).alias("place")
    return tuple(frame.with_columns(place).sort("place", *keys).drop("place").to_dicts())
