"""Makes the judge card from tables of ids and numbers: the verdicts first, then one figure after the other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.card import Bin, Cost, Group, JudgeCard, Repeated
from ragauge.llm.examine import COST, PAIRS, REPEATS
from ragauge.llm.led import canary_results
from ragauge.results import Agreement, Estimate
from ragauge.schema import check
from ragauge.stats import calibrate_judge, joint_agreement, mean_interval
from ragauge.stats.roc import best_cut, cross_fitted_cuts, discrimination

__all__ = ["judge_card"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

RANK_BANDS = ((1, 3), (4, 10), (11, 30), (31, None))
"""First and last rank of each group."""

N_BINS = 5
"""Groups of the calibration curve, at most."""

N_LENGTHS = 3
"""Groups of document lengths, at most."""

FOLDS = 5
"""Parts of the queries: cuts and calibrations come from the others."""

MIN_CALIBRATED = 10
"""Fewest queries to calibrate with."""


@dataclass(frozen=True)
class _Data:
    """The labelled pairs as columns."""

    queries: list[str]
    rank: Floats
    words: Floats
    label: Floats
    is_relevant: Bools
    verdict: Bools
    level: float

    def group(self, name: str, inside: Bools) -> Group:
        return Group(
            name,
            self.share("sensitivity", inside & self.is_relevant, self.verdict),
            self.share("specificity", inside & ~self.is_relevant, ~self.verdict),
        )

    def share(self, name: str, inside: Bools, which: Bools) -> Estimate:
        """The share of `which` inside, with its interval over queries."""
        clusters = [query for query, is_in in zip(self.queries, inside, strict=True) if is_in]
        values = which[inside].astype(np.float64)
        return mean_interval(values, measure=name, bounds=(0, 1), clusters=clusters, level=self.level)


def judge_card(
    pairs: pa.Table,
    *,
    repeats: pa.Table | None = None,
    canaries: pa.Table | None = None,
    cost: pa.Table | None = None,
    rel: float = 1.0,
    cut: float | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> JudgeCard:
    """The card of a judge from the tables of `ragauge.llm.examine`.

    The verdict is "relevant" from a cut on. Without `cut` it is chosen by the pairs themselves (largest sensitivity +
    specificity), always on other queries than those it is used for, so that the figures are not too good. Canaries are
    judged with the cut that is best on all pairs.

    Args:
        pairs: As `PAIRS` says.
        repeats: As `REPEATS` says.
        canaries: As `CANARIES` says.
        cost: As `COST` says.
        rel: People's label of a relevant document.
        cut: The judge's label from which on its verdict is "relevant"; None = chosen as above.
        seed: Of the folds and the bootstrap.
        level: Confidence level, strictly between 0 and 1.

    Raises:
        InputError: The judge labelled no pair, or people found all, or none, of those it labelled relevant.
        SchemaError: A table is not what its name promises.
    """
    table = check(pairs, PAIRS, what="pairs")
    rows = [row for row in table.to_pylist() if row["label"] is not None]
    data, whole = _data(rows, rel, cut, seed, level)
    calibrated, constant = _calibrated(data, seed)
    is_probability = bool(data.label.min() >= 0 and data.label.max() <= 1)
    return JudgeCard(
        judge=rows[0]["judge"] or "",
        rel=rel,
        n_pairs=len(rows),
        n_queries=len(set(data.queries)),
        unlabelled=dict(Counter(row["reason"] or "unknown" for row in table.to_pylist() if row["label"] is None)),
        discrimination=discrimination(data.label, data.is_relevant, data.queries, level=level),
        cut=whole,
        cut_is_given=cut is not None,
        overall=data.group("all", np.ones(len(rows), dtype=np.bool_)),
        agreement=_agreement(data, seed),
        by_rank=_by_rank(data),
        by_length=_by_length(data),
        calibration=_bins(data),
        brier=float(((data.label - data.is_relevant) ** 2).mean()) if is_probability else nan,
        brier_calibrated=calibrated,
        brier_constant=constant,
        repeated=None if repeats is None else _repeated(check(repeats, REPEATS, what="repeats"), whole, seed, level),
        canaries=() if canaries is None else canary_results(canaries, cut=whole, level=level),
        cost=None if cost is None else Cost(**check(cost, COST, what="cost").select(COST.names).to_pylist()[0]),
    )


def _data(
    rows: Sequence[Mapping[str, object]], rel: float, cut: float | None, seed: int, level: float
) -> tuple[_Data, float]:
    """The columns, and the cut for what is outside of them."""
    if not rows:
        raise InputError("the judge labelled none of the pairs that people labelled")
    judges = sorted({str(row["judge"]) for row in rows})
    if len(judges) > 1:
        raise InputError(f"a card is of one judge, the pairs are labelled by {', '.join(judges)}")
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in ("rank", "words", "label")}
    is_relevant = np.array([row["human"] for row in rows], dtype=np.float64) >= rel
    if is_relevant.all() or not is_relevant.any():
        which = "all" if is_relevant.all() else "none"
        raise InputError(f"people found {which} of the {len(rows)} pairs relevant (label {rel:g} and up); see --rel")
    queries = [str(row["query_id"]) for row in rows]
    whole = best_cut(columns["label"], is_relevant) if cut is None else cut
    cuts: Floats = np.full(len(rows), whole)
    if cut is None:
        fitted = cross_fitted_cuts(columns["label"], is_relevant, queries, n_folds=FOLDS, seed=seed)
        cuts = np.where(np.isnan(fitted), whole, fitted)
    return _Data(queries, **columns, is_relevant=is_relevant, verdict=columns["label"] >= cuts, level=level), whole


def _agreement(data: _Data, seed: int) -> Agreement:
    n = len(data.queries)
    verdicts = [*data.is_relevant.astype(int).tolist(), *data.verdict.astype(int).tolist()]
    units = [*range(n), *range(n)]
    raters = ["people"] * n + ["judge"] * n
    return joint_agreement(units, raters, verdicts, clusters=data.queries * 2, seed=seed, level=data.level)


def _by_rank(data: _Data) -> tuple[Group, ...]:
    found = []
    for first, last in RANK_BANDS:
        inside = (data.rank >= first) & (data.rank <= (last or np.inf))
        if inside.any():
            name = f"ranks {first} to {last}" if last else f"ranks {first} and on"
            found.append(data.group(name, inside))
    return tuple(found)


def _by_length(data: _Data) -> tuple[Group, ...]:
    """Three groups of about as many pairs each; equal lengths stay together."""
    number = _quantile_groups(data.words, N_LENGTHS)
    found = []
    for one in np.unique(number):
        inside = number == one
        low, high = int(data.words[inside].min()), int(data.words[inside].max())
        found.append(data.group(f"{low} to {high} words", inside))
    return tuple(found)


def _quantile_groups(values: Floats, n_groups: int) -> npt.NDArray[np.int64]:
    """The group of each value: its rank's middle among all, in n equal parts."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / len(values)
    return np.minimum(n_groups - 1, (n_groups * middle).astype(np.int64))[place]


def _bins(data: _Data) -> tuple[Bin, ...]:
    number = _quantile_groups(data.label, N_BINS)
    found = []
    for one in np.unique(number):
        inside = number == one
        labels = data.label[inside]
        share = data.share("relevant", inside, data.is_relevant)
        found.append(Bin(float(labels.min()), float(labels.max()), float(labels.mean()), share))
    return tuple(found)


def _calibrated(data: _Data, seed: int) -> tuple[float, float]:
    """Squared errors on other queries, of calibrated labels and of the mean alone; NaN with too few queries."""
    if len(set(data.queries)) < MIN_CALIBRATED:
        return nan, nan
    found = calibrate_judge(data.label, data.is_relevant, data.queries, method="logistic", n_folds=FOLDS, seed=seed)
    return found.brier, found.brier_constant


def _repeated(table: pa.Table, cut: float, seed: int, level: float) -> Repeated | None:
    by_pair: dict[tuple[str, str], list[float]] = {}
    missing: set[tuple[str, str]] = set()
    rows = sorted(table.to_pylist(), key=lambda row: (row["query_id"], row["doc_id"], row["draw"]))
    for row in rows:
        pair = row["query_id"], row["doc_id"]
        by_pair.setdefault(pair, []).append(row["label"] if row["label"] is not None else nan)
        if row["label"] is None:
            missing.add(pair)
    known = {pair: np.array(labels) for pair, labels in by_pair.items() if pair not in missing and len(labels) > 1}
    if not known:
        return None
    verdicts = {pair: labels >= cut for pair, labels in known.items()}
    changes = np.concatenate([np.abs(labels[1:] - labels[0]) for labels in known.values()])
    same = [float(one.all() or not one.any()) for one in verdicts.values()]
    ratings = [(pair, str(draw), int(one)) for pair, found in verdicts.items() for draw, one in enumerate(found)]
    units, raters, values = (list(column) for column in zip(*ratings, strict=True))
    queries = [pair[0] for pair in known]
    return Repeated(
        n_pairs=len(known),
        n_draws=max(len(labels) for labels in known.values()),
        same=mean_interval(same, measure="same verdict", bounds=(0, 1), clusters=queries, level=level),
        agreement=joint_agreement(
            units, raters, values, clusters=[pair[0] for pair, _, _ in ratings], seed=seed, level=level
        ),
        mean_change=float(changes.mean()),
        largest_change=float(changes.max()),
    )
