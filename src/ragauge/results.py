"""Frozen records that functions return instead of bare numbers; each prints as one line."""

from dataclasses import dataclass
from math import isnan

__all__ = ["Association", "Estimate"]


@dataclass(frozen=True)
class Estimate:
    """The mean of one measure over queries, with its interval.

    Attributes:
        measure: Printed form of the measure.
        mean: Mean over the queries where it is defined; NaN when there are none.
        low: Lower bound of the interval; NaN when it cannot be had (fewer than two queries).
        high: Upper bound.
        level: Confidence level of the interval, such as 0.95.
        n: Queries the mean is over.
        n_undefined: Queries where the measure is undefined (NaN) or could not be computed (null).
        judged: Share of the retrieved documents up to the cutoff that are judged, 0..1; NaN when nothing was retrieved.
        method: How the interval was made: "wilson" or "t".
        reason: Why there is no mean or no interval, else "".
    """

    measure: str
    mean: float
    low: float
    high: float
    level: float
    n: int
    n_undefined: int
    judged: float
    method: str
    reason: str = ""

    def __str__(self) -> str:
        if isnan(self.mean):
            return f"{self.measure}: undefined ({self.reason})"
        interval = f"[{self.low:.3f}, {self.high:.3f}]" if not isnan(self.low) else f"(no interval: {self.reason})"
        judged = "" if isnan(self.judged) else f", judged {self.judged:.0%}"
        return f"{self.measure} = {self.mean:.3f} {interval}, n = {self.n}{judged}"


@dataclass(frozen=True)
class Association:
    """How two columns move together, ties counted exactly.

    Attributes:
        spearman: Pearson correlation of mid-ranks, -1..1.
        pearson: Product-moment correlation, -1..1.
        tau_b: Kendall's tau-b, -1..1.
        tau_c: Stuart's tau-c, -1..1.
        n: Rows.
        reason: Why all four are NaN, else "".
    """

    spearman: float
    pearson: float
    tau_b: float
    tau_c: float
    n: int
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"undefined over {self.n} rows ({self.reason})"
        return (
            f"Spearman {self.spearman:.3f}, Pearson {self.pearson:.3f}, "
            f"tau-b {self.tau_b:.3f}, tau-c {self.tau_c:.3f}, n = {self.n}"
        )
