"""Frozen records that functions return instead of bare numbers; each prints as one line."""

from dataclasses import dataclass
from math import isnan, nan

__all__ = ["Agreement", "Association", "Coefficient", "Comparison", "Corrected", "Estimate", "RelevantCount"]


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
        method: How the interval was made: "wilson", "t" or "bootstrap".
        reason: Why there is no mean or no interval, else "".
        n_tied: Queries with documents of equal score and different labels within the cutoff: how ties are ordered may
            matter to them.
        attainable: The largest mean that the labels allow, where that is less than the measure's upper bound; NaN where
            it is not, or is not known.
        bound_low: Mean over the same queries when the missing labels turn out worst; NaN when not computed.
        bound_high: The same when they turn out best.
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
    n_tied: int = 0
    attainable: float = nan
    bound_low: float = nan
    bound_high: float = nan

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
        gamma: Goodman and Kruskal's gamma, -1..1; ties left out.
        somers_yx: Somers' D of the second column on the first: (C - D) / pairs that differ in the first, -1..1.
        somers_xy: Somers' D of the first column on the second, -1..1.
        n: Rows.
        reason: Why all are NaN, else "".
    """

    spearman: float
    pearson: float
    tau_b: float
    tau_c: float
    gamma: float
    somers_yx: float
    somers_xy: float
    n: int
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"undefined over {self.n} rows ({self.reason})"
        return (
            f"Spearman {self.spearman:.3f}, Pearson {self.pearson:.3f}, "
            f"tau-b {self.tau_b:.3f}, tau-c {self.tau_c:.3f}, n = {self.n}"
        )


@dataclass(frozen=True)
class Comparison:
    """One measure of two systems on the same queries; the difference is system - baseline.

    Attributes:
        measure: Printed form of the measure.
        mean_baseline: The baseline's mean over the pairs.
        mean_system: The system's mean over the pairs.
        difference: Mean difference; NaN when there is no pair.
        low: Lower bound of its interval; NaN when there is none, and then `reason` says why.
        high: Upper bound.
        level: Confidence level of the interval.
        p: Of the sign-flip test, in (0, 1]; NaN when there is no pair.
        alternative: What p is about: "two-sided", "greater" or "less".
        wins: Queries where the system has the higher value.
        ties: Queries where both have the same value.
        losses: Queries where the baseline has the higher value.
        n: Pairs: queries where both have a value.
        n_undefined: Queries left out, as one of the two has none.
        n_clusters: Independent units the interval rests on; n unless there are clusters.
        detectable: The true difference that such a comparison finds four times in five (or as `power` says).
        n_needed: Queries it takes to find the observed (or the wanted) difference as often, rounded up; NaN when
            that difference is 0.
        reason: Why there is no interval, or why it says little, else "".
        baseline: Name of the baseline.
        system: Name of the system.
        p_holm: p after Holm's correction for all comparisons made together; p itself when it is the only one.
        judged_baseline: Share of judged documents among those the measure reads, 0..1; NaN when not known.
        judged_system: The same of the system.
        n_missing_baseline: Queries that the baseline returned no ranking for.
        n_missing_system: The same of the system.
    """

    measure: str
    mean_baseline: float
    mean_system: float
    difference: float
    low: float
    high: float
    level: float
    p: float
    alternative: str
    wins: int
    ties: int
    losses: int
    n: int
    n_undefined: int
    n_clusters: int
    detectable: float
    n_needed: float
    reason: str = ""
    baseline: str = "baseline"
    system: str = "system"
    p_holm: float = nan
    judged_baseline: float = nan
    judged_system: float = nan
    n_missing_baseline: int = 0
    n_missing_system: int = 0

    def __str__(self) -> str:
        pair = f"{self.measure}: {self.system} - {self.baseline}"
        if isnan(self.difference):
            return f"{pair} undefined ({self.reason})"
        interval = f"[{self.low:+.3f}, {self.high:+.3f}]" if not isnan(self.low) else f"(no interval: {self.reason})"
        return (
            f"{pair} = {self.difference:+.3f} {interval}, p = {self.p:.3f}, "
            f"won {self.wins}, tied {self.ties}, lost {self.losses}, n = {self.n}"
        )


@dataclass(frozen=True)
class Corrected:
    """The mean of one measure from a model's labels on all queries, corrected by people's labels on some.

    Attributes:
        measure: Printed form of the measure.
        mean: The corrected mean; NaN when there is none.
        low: Lower bound of its interval; NaN when it cannot be had.
        high: Upper bound.
        error: Standard error of the mean.
        level: Confidence level, such as 0.95.
        n_human: Queries that people labelled (and the model too).
        n_model: Queries that only the model labelled.
        human_mean: Mean by people's labels alone, over their queries.
        model_mean: Mean by the model's labels alone, over all queries; biased as the model is.
        weight: How much of the model's mean is used, 0..1.
        correlation: Of the measure by people's and by the model's labels, over queries, -1..1; NaN when constant.
        gain: How many times as many queries people would have to label for an interval as narrow without the model.
        warnings: What to know before believing it.
        reason: Why there is no mean or no interval, else "".
    """

    measure: str
    mean: float
    low: float
    high: float
    error: float
    level: float
    n_human: int
    n_model: int
    human_mean: float
    model_mean: float
    weight: float
    correlation: float
    gain: float
    warnings: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if isnan(self.mean):
            return f"{self.measure}: undefined ({self.reason})"
        queries = f"{self.n_human} queries labelled by people, {self.n_model} by the model alone"
        if isnan(self.low):
            return f"{self.measure} = {self.mean:.3f} (no interval: {self.reason}), {queries}"
        gain = f"rho {self.correlation:.2f}, gain {self.gain:.2f}"
        return f"{self.measure} = {self.mean:.3f} [{self.low:.3f}, {self.high:.3f}], {queries}, {gain}"


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of agreement.

    Attributes:
        name: Such as "alpha_ordinal".
        value: 1 = always agree, 0 = as by chance (for the raw agreement: never); NaN = undefined.
        low: Lower bound of its interval; NaN when it cannot be had.
        high: Upper bound.
        reason: Why there is no value or no interval, else "".
    """

    name: str
    value: float
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class Agreement:
    """How far two or more raters agree, over the units that at least two of them rated.

    Attributes:
        raters: Their names.
        n_units: Units that at least two of them rated.
        n_ratings: Ratings of those units.
        n_clusters: Clusters (queries) of those units: what the intervals resample.
        categories: The ratings there are, ascending.
        confusion: Of two raters: how often the first gave each category (row) and the second gave each (column); else
            empty.
        coefficients: One record each.
        level: Confidence level of the intervals.
        warnings: What to know before believing them.
    """

    raters: tuple[str, ...]
    n_units: int
    n_ratings: int
    n_clusters: int
    categories: tuple[float | str, ...]
    confusion: tuple[tuple[int, ...], ...]
    coefficients: tuple[Coefficient, ...]
    level: float
    warnings: tuple[str, ...] = ()

    def coefficient(self, name: str) -> Coefficient:
        """The coefficient of that name; KeyError, with the names there are, when there is none."""
        for one in self.coefficients:
            if one.name == name:
                return one
        raise KeyError(f"no coefficient {name!r}; there are: {', '.join(one.name for one in self.coefficients)}")

    def __str__(self) -> str:
        values = ", ".join(f"{one.name} {one.value:.3f}" for one in self.coefficients)
        return f"{' and '.join(self.raters)}: {values}; {self.n_units} units, {self.n_clusters} clusters"


@dataclass(frozen=True)
class RelevantCount:
    """How many relevant documents there are for all queries together, estimated.

    Attributes:
        estimator: How it was estimated, such as "2K x c".
        total: The estimate; NaN when there is none.
        low: Lower bound of its interval, over queries and the estimator's own draws; NaN when there is none.
        high: Upper bound.
        level: Confidence level of the interval, such as 0.95.
        n_queries: Queries that have an estimate: those the total is over.
        n_found: Relevant documents that were seen.
        n_labels: Labels that were used.
        n_unlabelled: Documents that the estimator wanted a label of and has none; near the top, counted not relevant.
        n_undefined: Queries without an estimate.
        factor: By how much what was found near the top was scaled up (c); NaN where nothing was.
        depth: Rank below which nothing is counted; 0 = not known.
        reason: Why there is no estimate, else "".
    """

    estimator: str
    total: float
    low: float
    high: float
    level: float
    n_queries: int
    n_found: int
    n_labels: int
    n_unlabelled: int = 0
    n_undefined: int = 0
    factor: float = nan
    depth: int = 0
    reason: str = ""

    def __str__(self) -> str:
        name = f"Relevant documents ({self.estimator})"
        if isnan(self.total):
            return f"{name}: undefined ({self.reason})"
        factor = "" if isnan(self.factor) else f", c = {self.factor:.2f}"
        interval = f"[{self.low:.1f}, {self.high:.1f}]"
        labels = f"{self.n_found} found with {self.n_labels} labels"
        return f"{name} = {self.total:.1f} {interval}, {labels}{factor}, n = {self.n_queries}"
