"""Statistics of measures: intervals over queries, correlations with ties, the best alpha. Numbers in, records out."""

from ragauge.stats.association import (
    COEFFICIENTS,
    MIN_ROWS,
    Coefficients,
    ContingencyTable,
    associate,
    table_association,
    table_coefficients,
    tabulate,
)
from ragauge.stats.best import BestAlpha, alpha_curve, best_alpha
from ragauge.stats.intervals import Interval, correlation_interval, mean_interval, table_intervals, wilson_interval

__all__ = [
    "COEFFICIENTS",
    "MIN_ROWS",
    "BestAlpha",
    "Coefficients",
    "ContingencyTable",
    "Interval",
    "alpha_curve",
    "associate",
    "best_alpha",
    "correlation_interval",
    "mean_interval",
    "table_association",
    "table_coefficients",
    "table_intervals",
    "tabulate",
    "wilson_interval",
]
