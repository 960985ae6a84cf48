"""How many documents to return: the cutoff or the score threshold that serves best.

The best of many candidates looks better than it is, as it was also the luckiest. So the gain over today's cutoff is
cross-validated: the queries are split in folds, a candidate is chosen without a fold and measured on it.

What is returned varies, so the objectives count documents, not slots: T(alpha) is worth (1 - alpha) a positive document
and -alpha a negative one, over the K slots there are (slots left empty count neither way); F(alpha) is
n_p / (alpha n + (1 - alpha) N_p) with n documents returned.
"""

from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError, MeasureError
from ragauge.measures import Measure, judged_share, t_alpha
from ragauge.ragged import from_arrow, positions, segment_sum
from ragauge.schema import JUDGED, conform
from ragauge.stats.choice import choice_gain

__all__ = ["MAX_THRESHOLDS", "By", "Candidate", "Tuned", "tune_cutoff"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
By = Literal["cutoff", "score"]

MAX_THRESHOLDS = 200
"""More distinct scores than this are reduced to as many quantiles."""


@dataclass(frozen=True)
class Candidate:
    """One way to cut rankings.

    Attributes:
        by: "cutoff": the first `value` documents; "score": of the first K, those that score at least `value`.
        value: The number of documents, or the score.
        mean: Mean of the objective over queries, in-sample.
        n_returned: Documents returned, mean over queries.
        precision: Share of the returned documents that are positive, over all queries together; NaN = none returned.
    """

    by: By
    value: float
    mean: float
    n_returned: float
    precision: float


@dataclass(frozen=True)
class Tuned:
    """What tuning found.

    Attributes:
        measure: Printed form of the objective.
        today: The cutoff in use.
        best: The candidate with the highest mean over all queries; of equal ones the one that returns least.
        chosen: The value chosen in each fold.
        gain: Cross-validated mean gain over today's cutoff: what to expect of a candidate chosen like this.
        low: Lower bound of its interval.
        high: Upper bound.
        level: Confidence level of the interval.
        gain_in_sample: The best candidate's mean less today's on the queries it was chosen by: too high.
        n: Queries.
        n_undefined: Queries left out, as the objective is undefined for them (no positive document is known, for F).
        judged: Share of judged documents among the first K; unjudged ones count as the measure says.
        candidates: All of them, strictest first; cutoffs go as far as the longest ranking.
    """

    measure: str
    today: Candidate
    best: Candidate
    chosen: tuple[float, ...]
    gain: float
    low: float
    high: float
    level: float
    gain_in_sample: float
    n: int
    n_undefined: int
    judged: float
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        cut = f"{self.best.by} {self.best.value:g}"
        return (
            f"{self.measure}: best {cut}, gain over {self.today.value:g} documents {self.gain:+.3f} "
            f"[{self.low:+.3f}, {self.high:+.3f}] (in-sample {self.gain_in_sample:+.3f}), n = {self.n}"
        )


@dataclass(frozen=True)
class _Documents:
    """The first K documents of all rankings, flat; row = the query each stands in."""

    row: Ints
    rank: Ints
    score: Floats
    positive: Bools
    negative: Bools


@dataclass(frozen=True)
class _Cuts:
    """Candidates, strictest first, and what each (column) keeps of each query (row)."""

    by: By
    values: Floats
    n_positive: Floats
    n_negative: Floats
    n_returned: Floats

    def of(self, rows: Bools) -> "_Cuts":
        """Of some queries only."""
        kept = (counts[rows] for counts in (self.n_positive, self.n_negative, self.n_returned))
        return _Cuts(self.by, self.values, *kept)


def tune_cutoff(
    judged: pa.Table,
    measure: Measure,
    *,
    today: int,
    by: By = "cutoff",
    folds: int = 5,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Tuned:
    """The cutoff or score threshold that maximises the mean of T or F, and what it gains on other queries.

    Args:
        judged: `schema.JUDGED`, rankings of one run, as deep as they are.
        measure: T or F with its K: no more than K documents are ever returned.
        today: Documents returned today, 1..K; the gain is over this.
        by: What to choose: how many documents, or the score from which on a document is returned.
        folds: In how many parts the queries are split, at least 2; as many as queries at most.
        level: Confidence level of the interval of the gain, strictly between 0 and 1.
        resamples: Bootstrap samples of queries for the standard error of the gain.
        seed: Of the folds and the bootstrap; the same seed gives the same answer whatever the order of the rankings.

    Returns:
        What was found. The interval is gain +- t_{n-1} se; se is the standard deviation of the gain over bootstrap
        samples of the queries, in each of which the candidates are chosen anew.

    Raises:
        MeasureError: Another measure than T or F.
        InputError: Rankings of several runs, none, a document without score (by="score"), fewer than two queries with
            a value, F without known N_p, or an option outside what is allowed.
    """
    table = conform(judged, JUDGED, what="judged rankings").sort_by("query_id")
    K = _check(table, measure, today)
    documents, n_relevant = _documents(table, measure, K), _n_relevant(table, measure)
    last = max(today, int(documents.rank.max(initial=0)) + 1)  # a cutoff below all rankings keeps what they end with
    cutoffs = _cuts("cutoff", np.arange(1.0, last + 1), documents.rank, documents, len(n_relevant))
    cuts = cutoffs if by == "cutoff" else _score_cuts(documents, len(n_relevant))
    now = _objective(cutoffs, measure, n_relevant)[:, today - 1]
    defined = ~np.isnan(now)
    if defined.sum() < 2:
        raise InputError(f"{measure} is defined for {defined.sum()} of {len(now)} queries; tuning needs 2")
    cutoffs, cuts, n_relevant, now = cutoffs.of(defined), cuts.of(defined), n_relevant[defined], now[defined]
    values = _objective(cuts, measure, n_relevant)
    found = choice_gain(values, now, folds=folds, level=level, resamples=resamples, seed=seed)
    candidates = tuple(_candidate(cuts, at, values[:, at]) for at in range(len(cuts.values)))
    return Tuned(
        measure=str(measure),
        today=_candidate(cutoffs, today - 1, now),
        best=candidates[found.best],
        chosen=tuple(cuts.values[list(found.chosen)].tolist()),
        gain=found.gain,
        low=found.low,
        high=found.high,
        level=level,
        gain_in_sample=found.gain_in_sample,
        n=len(now),
        n_undefined=int((~defined).sum()),
        judged=judged_share(table, measure),
        candidates=candidates,
    )


def _documents(table: pa.Table, measure: Measure, K: int) -> _Documents:
    labels, scores = from_arrow(table.column("labels")), from_arrow(table.column("scores"))
    rank = positions(labels.offsets)
    top = rank < K
    parameters = dict(measure.parameters)
    positive = labels.valid & (labels.values >= float(parameters["rel"]))
    negative = labels.valid & ~positive
    if parameters.get("unjudged") == "negative":
        negative = ~positive
    score = np.where(scores.valid, scores.values, nan)
    row = np.repeat(np.arange(labels.n_rows), labels.lengths)
    return _Documents(row[top], rank[top], score[top], positive[top], negative[top])


def _n_relevant(table: pa.Table, measure: Measure) -> Floats:
    """N_p of each query; NaN where nobody knows it, or the measure does not ask."""
    if not measure.needs_pool:
        return np.full(table.num_rows, nan)
    pool = from_arrow(table.column("pool_labels"))
    known = np.asarray(pc.is_valid(table.column("pool_labels")).to_numpy())
    if not known.any():
        raise MeasureError(
            f"{measure} needs the number of relevant documents, which no query has; give qrels, or use T"
        )
    count = segment_sum(pool.valid & (pool.values >= float(dict(measure.parameters)["rel"])), pool.offsets)
    return np.where(known, count, nan)


def _score_cuts(documents: _Documents, n_rows: int) -> _Cuts:
    """A candidate a distinct score, or a quantile of the scores where there are too many."""
    n_unscored = int(np.isnan(documents.score).sum())
    if n_unscored:
        raise InputError(f"{n_unscored} of {len(documents.score)} documents have no score; tune the cutoff instead")
    values = np.unique(documents.score)[::-1]
    if len(values) > MAX_THRESHOLDS:
        shares = np.linspace(1, 0, MAX_THRESHOLDS)
        values = np.unique(np.quantile(documents.score, shares, method="higher"))[::-1]
    return _cuts("score", values, np.searchsorted(-values, -documents.score), documents, n_rows)


def _cuts(by: By, values: Floats, first: Ints, documents: _Documents, n_rows: int) -> _Cuts:
    """`first` is the strictest candidate that keeps each document: counts of it and all laxer ones go up by one."""
    cell, shape = documents.row * len(values) + first, (n_rows, len(values))

    def kept(weights: Bools | None) -> Floats:
        counts = np.bincount(cell, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
        return np.cumsum(counts, axis=1, dtype=np.float64)

    return _Cuts(by, values, kept(documents.positive), kept(documents.negative), kept(None))


def _objective(cuts: _Cuts, measure: Measure, n_relevant: Floats) -> Floats:
    """The value of each query under each candidate."""
    parameters = dict(measure.parameters)
    alpha = float(parameters["alpha"])
    if measure.name == "T":
        form: Literal["count", "paper"] = "count" if parameters["form"] == "count" else "paper"
        return t_alpha(cuts.n_positive, cuts.n_negative, measure.cutoff or 1, alpha, form)
    total = n_relevant[:, None]
    effort = alpha * cuts.n_returned + (1 - alpha) * total
    return np.where(total > 0, cuts.n_positive / np.where(effort > 0, effort, 1.0), nan)


def _candidate(cuts: _Cuts, at: int, values: Floats) -> Candidate:
    returned = float(cuts.n_returned[:, at].sum())
    return Candidate(
        by=cuts.by,
        value=float(cuts.values[at]),
        mean=float(values.mean()),
        n_returned=returned / len(values),
        precision=float(cuts.n_positive[:, at].sum()) / returned if returned else nan,
    )


def _check(table: pa.Table, measure: Measure, today: int) -> int:
    """K, the most documents there may be."""
    runs = pc.unique(table.column("run")).to_pylist()
    if len(runs) != 1:
        raise InputError(f"tuning is of one run, got {len(runs)}: {', '.join(runs) or 'none'}")
    if measure.name not in ("T", "F") or measure.cutoff is None:
        raise MeasureError(f"tuning maximises T or F, such as 'T(alpha=0.3)@10', got {str(measure)!r}")
    if not 1 <= today <= measure.cutoff:
        raise InputError(f"today must be 1..{measure.cutoff}, the K of {measure}, got {today}")
    return measure.cutoff
