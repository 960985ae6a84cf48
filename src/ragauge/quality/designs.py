"""Label designs: which documents of the top K to label when only the mean over queries is wanted.

One idea: the mean of P@K does not need every document of every query. A design draws some, at random and with a record
of what was drawn (`schema.DRAWN`), and `designed.estimate_by_design` makes the mean and its interval as that design
asks for. What a design cannot give, such as nDCG or the value of one query, it refuses.

`until` labels one query after the other in random order and stops by itself: "until" in two stages, where a pilot fixes
how many queries there will be; "until-anytime" as soon as a confidence sequence is narrow enough, which takes four to
five times as many labels and may be looked at, and stopped, whenever one likes. docs/results/label_designs.md has the
figures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.measures import Measure, judge
from ragauge.quality.designed import DOCUMENT_MEANS, document_values
from ragauge.schema import DRAWN, LABELS, RANKINGS, conform
from ragauge.stats import MIN_PILOT, choose_pairs, confidence_sequence, draw_documents, queries_needed, two_stage_mean

__all__ = ["N_STRATA", "DesignedLabels", "draw_design", "drawn_rankings", "label_until"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Label = Callable[[pa.Table], pa.Table]

N_STRATA = 5
"""Strata by score; more of them explained hardly more on seven collections."""

_PER_QUERY = {"one-per-query": 1, "two-per-query": 2}
_BATCH = 25  # queries labelled between two looks at the confidence sequence


@dataclass(frozen=True)
class DesignedLabels:
    """What `label_until` did.

    Attributes:
        labels: `schema.LABELS`.
        drawn: `schema.DRAWN`, a row a ranking, in their order.
        half_width: Of the interval reached, by the measure that was asked for.
        enough: Whether it is as narrow as was asked; if not, all queries are used up.
    """

    labels: pa.Table
    drawn: pa.Table
    half_width: float
    enough: bool


def draw_design(
    rankings: pa.Table, *, design: str = "one-per-query", cutoff: int = 10, n: int | None = None, seed: int = 0
) -> pa.Table:
    """The documents to label.

    Args:
        rankings: `schema.RANKINGS`; of each run its own documents are drawn.
        design: "one-per-query" or "two-per-query": documents at random of each query's top K; "stratified": n of all
            documents of a run, in proportion out of `N_STRATA` strata by score (standardised within the query; by rank
            where a ranking has no scores).
        cutoff: K.
        n: Documents of each run, for "stratified"; None = as many as there are queries.
        seed: Of the draw.

    Returns:
        `schema.DRAWN`.

    Raises:
        InputError: No such design, or `n` does not fit.

    >>> from ragauge import read_rankings
    >>> ranking = read_rankings({"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 1.0}})
    >>> draw_design(ranking, cutoff=2).column("drawn").to_pylist()
    [[False, True], [True]]
    """
    table = conform(rankings, RANKINGS, what="rankings")
    if n is not None and design != "stratified":
        raise InputError(f"n goes with the design 'stratified' alone, got it with {design!r}")
    lengths = _lengths(table, cutoff)
    if design == "stratified":
        return _stratified(table, lengths, cutoff, n, seed)
    if design not in _PER_QUERY:
        raise InputError(f"no design {design!r} to draw; there are: {', '.join(_PER_QUERY)}, stratified")
    ranks = draw_documents(lengths, per_query=_PER_QUERY[design], seed=seed)
    return _table(table, design, cutoff, [_marks(length, at) for length, at in zip(lengths, ranks, strict=True)])


def drawn_rankings(rankings: pa.Table, drawn: pa.Table) -> pa.Table:
    """The rankings with the drawn documents alone, unlabelled: what `llm.label_rankings`, or people, are given.

    Args:
        rankings: `schema.RANKINGS`, as they were drawn from.
        drawn: `schema.DRAWN`.
    """
    return _picked(rankings, drawn.column("drawn").to_pylist())


def label_until(
    rankings: pa.Table,
    label: Label,
    *,
    half_width: float,
    measure: Measure,
    method: str = "until",
    per_query: int = 1,
    pilot: int = 100,
    level: float = 0.95,
    seed: int = 0,
) -> DesignedLabels:
    """Labels queries in random order until the mean of a measure is known within +-half_width.

    "until": the pilot's labels fix the number of queries (`stats.queries_needed`), those are labelled, and the interval
    is Stein's. "until-anytime": after every few queries the confidence sequence (`stats.confidence_sequence`) is looked
    at. Both intervals hold although the number of labels depends on the labels. When the queries run out first, the
    interval is wider than asked, and right.

    Args:
        rankings: `schema.RANKINGS` of one run.
        label: Rankings -> `schema.LABELS` of their documents: a model's (`llm.label_rankings`) or people's.
        half_width: In units of the measure, above 0.
        measure: P, T, n_p or n_n at a cutoff K, with the level that counts as relevant.
        method: "until" or "until-anytime".
        per_query: Documents of each query, drawn at random; K or more = all of the top K.
        pilot: Queries of the first stage of "until", at least 10; more make the number that follows steadier.
        level: Confidence level, strictly between 0 and 1.
        seed: Of the order and the draw.

    Raises:
        InputError: More than one run, an unknown method, a number out of range, or a measure that is no mean over
            documents.
    """
    table = conform(rankings, RANKINGS, what="rankings")
    _check_until(table, measure, method, half_width, pilot)
    cutoff = measure.cutoff or 1
    lengths = _lengths(table, cutoff)
    ranks = draw_documents(lengths, per_query=per_query, seed=seed)
    marks = [_marks(length, at) for length, at in zip(lengths, ranks, strict=True)]
    order = np.random.default_rng([seed, 1]).permutation(table.num_rows)
    state = _Until(table, marks, order, label, measure)
    half = state.two_stages(half_width, pilot, level) if method == "until" else state.anytime(half_width, level)
    turn = {int(row): at for at, row in enumerate(order[: state.done], start=1)}
    turns = [turn.get(row) for row in range(table.num_rows)]
    reached = [mark if at else [False] * len(mark) for mark, at in zip(marks, turns, strict=True)]
    n_pilot = min(pilot, table.num_rows) if method == "until" else None
    drawn = _table(table, method, cutoff, reached, turns=turns, n_pilot=n_pilot)
    return DesignedLabels(state.labels(), drawn, half, half <= half_width)


class _Until:
    """Labels so far, of the first `done` queries of the order."""

    def __init__(
        self, table: pa.Table, marks: Sequence[Sequence[bool]], order: Ints, label: Label, measure: Measure
    ) -> None:
        self._table, self._marks, self._order, self._label, self._measure = table, marks, order, label, measure
        self._parts: list[pa.Table] = []
        self._values: list[Floats] = []
        self.done = 0

    def two_stages(self, half_width: float, pilot: int, level: float) -> float:
        """Labels the pilot and what it asks for; the half width of Stein's interval."""
        known = self._known(self._go_to(pilot))
        wanted = queries_needed(known, half_width=half_width, bounds=self._measure.bounds, level=level)
        while len(known) < wanted and self.done < len(self._order):  # a query without a label needs another one
            known = self._known(self._go_to(self.done + wanted - len(known)))
        name, bounds = str(self._measure), self._measure.bounds
        found = two_stage_mean(self._all(), n_pilot=pilot, measure=name, bounds=bounds, level=level)
        return (found.high - found.low) / 2

    def anytime(self, half_width: float, level: float) -> float:
        """Labels until the confidence sequence is narrow enough; its half width."""
        half = np.inf
        while half > half_width and self.done < len(self._order):
            known = self._known(self._go_to(self.done + _BATCH))
            if len(known):
                found = confidence_sequence(known, bounds=self._measure.bounds, method="bernstein", level=level)
                half = float(found.high[-1] - found.low[-1]) / 2
        return half

    def labels(self) -> pa.Table:
        """`schema.LABELS` of all that was labelled."""
        return pa.concat_tables(self._parts) if self._parts else LABELS.empty_table()

    def _go_to(self, n: int) -> Floats:
        rows = self._order[self.done : n]
        if len(rows):
            part, marks = self._table.take(pa.array(rows)), [self._marks[row] for row in rows]
            labels = self._label(_picked(part, marks))
            self._parts.append(labels)
            self._values.append(document_values(judge(part, labels, complete="unknown"), marks, self._measure))
            self.done += len(rows)
        return self._all()

    def _all(self) -> Floats:
        return np.concatenate([np.zeros(0), *self._values])

    @staticmethod
    def _known(values: Floats) -> Floats:
        return values[~np.isnan(values)]


def _picked(rankings: pa.Table, drawn: Sequence[Sequence[bool]]) -> pa.Table:
    """The marked documents, unlabelled; a ranking without any is left out."""
    rows = []
    for row, marks in zip(rankings.to_pylist(), drawn, strict=True):
        kept = [at for at, mark in enumerate(marks) if mark]
        if kept:
            lists = {name: [row[name][at] for at in kept] for name in ("doc_ids", "texts", "scores")}
            rows.append(row | lists | {"labels": [None] * len(kept)})
    return pa.Table.from_pylist(rows, schema=RANKINGS)


def _stratified(table: pa.Table, lengths: Sequence[int], cutoff: int, n: int | None, seed: int) -> pa.Table:
    names: list[list[str]] = [[] for _ in lengths]
    marks = [[False] * length for length in lengths]
    runs = np.array(table.column("run").to_pylist(), dtype=object)
    for at, run in enumerate(dict.fromkeys(runs.tolist())):
        rows = np.flatnonzero(runs == run)
        scores = [_standardised(table.column("scores")[row].as_py()[:cutoff]) for row in rows.tolist()]
        flat = np.concatenate([np.zeros(0), *scores])
        if not len(flat):
            continue
        edges = np.quantile(flat, np.arange(1, N_STRATA) / N_STRATA)
        stratum = np.searchsorted(edges, flat, side="right")
        wanted = max(len(rows), 2 * N_STRATA) if n is None else n
        choice = choose_pairs(stratum, min(len(flat), wanted), seed=seed + at)
        drawn = np.zeros(len(flat), dtype=np.bool_)
        drawn[choice.index] = True
        ends = np.cumsum([len(part) for part in scores])
        for row, codes, mark in zip(rows, np.split(stratum, ends[:-1]), np.split(drawn, ends[:-1]), strict=True):
            names[row] = [f"score {code + 1} of {N_STRATA}" for code in codes.tolist()]
            marks[row] = mark.tolist()
    return _table(table, "stratified", cutoff, marks, strata=names)


def _standardised(scores: Sequence[float | None]) -> Floats:
    """(score - mean) / deviation over the documents; by rank where scores are missing or all alike."""
    known = [score for score in scores if score is not None]
    values = np.array(known) if len(known) == len(scores) and len(set(known)) > 1 else -np.arange(float(len(scores)))
    deviation = values.std() if len(values) else 0.0
    return np.asarray((values - values.mean()) / deviation if deviation > 0 else np.zeros(len(values)))


def _table(
    rankings: pa.Table,
    design: str,
    cutoff: int,
    marks: Sequence[Sequence[bool]],
    *,
    strata: Sequence[Sequence[str]] | None = None,
    turns: Sequence[int | None] | None = None,
    n_pilot: int | None = None,
) -> pa.Table:
    n = rankings.num_rows
    columns: dict[str, Any] = {
        "query_id": rankings.column("query_id").to_pylist(),
        "run": rankings.column("run").to_pylist(),
        "design": [design] * n,
        "cutoff": [cutoff] * n,
        "turn": [None] * n if turns is None else turns,
        "n_pilot": [n_pilot] * n,
        "strata": [["all"] * len(row) for row in marks] if strata is None else strata,
        "drawn": marks,
    }
    return pa.table(columns, schema=DRAWN)


def _marks(length: int, ranks: Ints) -> list[bool]:
    chosen = set(ranks.tolist())
    return [at in chosen for at in range(length)]


def _lengths(table: pa.Table, cutoff: int) -> list[int]:
    if cutoff < 1:
        raise InputError(f"cutoff must be positive, got {cutoff}")
    return [min(cutoff, len(ids)) for ids in table.column("doc_ids").to_pylist()]


def _check_until(table: pa.Table, measure: Measure, method: str, half_width: float, pilot: int) -> None:
    runs = table.column("run").unique().to_pylist()
    rules = [
        (len(runs) == 1, f"labelling until a width is reached takes the rankings of one run, got {len(runs)}"),
        (method in ("until", "until-anytime"), f"method must be 'until' or 'until-anytime', got {method!r}"),
        (half_width > 0, f"half_width must be above 0, got {half_width:g}"),
        (measure.name in DOCUMENT_MEANS, f"{measure} cannot be estimated from a few documents; take P, T, n_p or n_n"),
        (pilot >= MIN_PILOT, f"a pilot needs at least {MIN_PILOT} queries, got {pilot}"),
    ]
    problems = [message for holds, message in rules if not holds]
    if problems:
        raise InputError.collect(problems)
