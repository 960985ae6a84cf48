"""Two judges, one cheap and one dear: the cheap one settles what is clearly not relevant, the dear one the rest.

Models call too much relevant rather than too little, so it is their "no" that can be trusted. How far is not assumed:
the dear judge sees a random share of what was settled as well, and tells how much was settled wrongly.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.examine import only_pairs
from ragauge.llm.judge import Judge
from ragauge.llm.label import label_rankings
from ragauge.llm.model import Model
from ragauge.llm.pool import NOT_YET, Ask, ask_all
from ragauge.llm.survey import CallPlan, Survey
from ragauge.results import Estimate
from ragauge.schema import LABELS
from ragauge.stats import mean_interval
from ragauge.store import Store
from ragauge.wire import Prices

__all__ = ["CascadePlan", "Cascaded", "Stage", "label_in_cascade", "plan_cascade"]


@dataclass(frozen=True)
class Stage:
    """A model and how it is asked.

    Attributes:
        model: Whom to ask.
        judge: How it is asked.
        ask: How its replies are got. Budgets within one, each with the prices of its model, make both share caps.
    """

    model: Model
    judge: Judge = field(default_factory=Judge)
    ask: Ask = ask_all


@dataclass(frozen=True)
class Cascaded:
    """Labels by two judges, and what the shortcut costs.

    Attributes:
        labels: `schema.LABELS`: the dear judge's where it was asked, else 0 by the cheap one. `judge` says which.
        n_settled: Documents that the cheap judge settled and the dear one was not asked about.
        n_audited: Documents the cheap judge would have settled that the dear one labelled to check.
        missed: Share of the settled documents that the dear judge finds relevant, estimated from those audited. Its
            interval is that of a random draw of documents: it speaks of these rankings, not of other queries.
            Undefined when nothing was audited.
        n_missed: `missed` times the settled documents: how many relevant ones the labels lack.
    """

    labels: pa.Table
    n_settled: int
    n_audited: int
    missed: Estimate
    n_missed: float


@dataclass(frozen=True)
class CascadePlan:
    """What a cascade would ask.

    Attributes:
        labels: `schema.LABELS`: what is known; the reason "not_asked" stands where a judge would be asked.
        cheap: The cheap judge's calls.
        dear_at_most: The dear judge's calls if nothing more is settled: about what it would take without a cascade.
        dear_expected: Its calls if what is to come is settled as often as what is known; None where nothing is known.
        n_known: Documents that the cheap judge has labelled already.
        settled: Share of those that it settles; NaN where there are none.
    """

    labels: pa.Table
    cheap: CallPlan
    dear_at_most: CallPlan
    dear_expected: CallPlan | None
    n_known: int
    settled: float


@dataclass(frozen=True)
class _First:
    """The cheap judge's labels, and what they decide; numbers are places among the rows."""

    rows: list[dict[str, Any]]
    low: list[int]
    audited: set[int]
    known: set[int]

    @property
    def settled(self) -> set[int]:
        return set(self.low) - self.audited - self.known


def label_in_cascade(
    rankings: pa.Table,
    cheap: Stage,
    dear: Stage,
    *,
    store: Store,
    settle_below: float,
    cut: float | None = None,
    audit: float = 0.1,
    seed: int = 0,
    top: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Cascaded:
    """Labels for every retrieved document, most of them by the cheap judge where most are not relevant.

    Documents the cheap judge gave no readable label go on to the dear one; those it was not asked about, because its
    endpoint was given up or a cap is reached, stay unlabelled. Settled documents have the label 0. What the dear judge
    has labelled before is never settled: that label is used.

    Args:
        rankings: `schema.RANKINGS`.
        cheap: The judge that is asked about everything.
        dear: The judge that is asked about what is not settled, and about the audit.
        store: Holds and keeps all replies.
        settle_below: The cheap judge's labels below this are settled; choose it on labelled pairs so that few relevant
            documents lie below, see the calibration of the judge card.
        cut: The dear judge's label of a relevant document; None = the middle of its scale.
        audit: Share of the documents to be settled that the dear judge labels as well, drawn at random, 0..1; at least
            one document where it is above 0.
        seed: Of the draw.
        top: Documents of each ranking to label; None = all.
        on_progress: Called with the number of documents that the cheap judge has just done.

    Raises:
        InputError: `audit` is outside 0..1, or as for `label_rankings`.
    """
    _check_share(audit)
    by_cheap = label_rankings(
        rankings, model=cheap.model, store=store, judge=cheap.judge, top=top, on_progress=on_progress, ask=cheap.ask
    )
    first = _sorted_out(by_cheap, rankings, dear, store, settle_below, audit, seed)
    not_yet = {i for i, row in enumerate(first.rows) if row["reason"] in NOT_YET}
    stay = first.settled | not_yet  # the dear judge is not asked instead of a cheap one that is out of reach
    second = _ask_second(rankings, first, stay, dear, store)
    rows = [
        row | ({"label": 0.0} if i in first.settled else {}) if i in stay else second[_pair(row)]
        for i, row in enumerate(first.rows)
    ]
    missed = _missed([rows[i] for i in sorted(first.audited)], dear.judge.middle if cut is None else cut)
    labels = pa.Table.from_pylist(rows, schema=LABELS)
    n_settled = len(first.settled)
    return Cascaded(labels, n_settled, len(first.audited), missed, missed.mean * n_settled if n_settled else 0.0)


def plan_cascade(
    rankings: pa.Table,
    cheap: Stage,
    dear: Stage,
    *,
    store: Store,
    settle_below: float,
    audit: float = 0.1,
    seed: int = 0,
    top: int | None = None,
    cheap_prices: Prices | None = None,
    dear_prices: Prices | None = None,
) -> CascadePlan:
    """What `label_in_cascade` would ask, without asking anything.

    Args:
        rankings: As for `label_in_cascade`, as are those not named here.
        cheap: Its `ask` is not used.
        dear: Likewise.
        store: What it holds is known already.
        settle_below: As for `label_in_cascade`.
        audit: As for `label_in_cascade`.
        seed: As for `label_in_cascade`.
        top: As for `label_in_cascade`.
        cheap_prices: Of the cheap model's tokens.
        dear_prices: Of the dear model's.

    Raises:
        InputError: As for `label_in_cascade`.
    """
    _check_share(audit)
    of_cheap, of_dear = Survey(), Survey()
    by_cheap = label_rankings(rankings, model=cheap.model, store=store, judge=cheap.judge, top=top, ask=of_cheap)
    first = _sorted_out(by_cheap, rankings, dear, store, settle_below, audit, seed)
    second = _ask_second(rankings, first, first.settled, replace(dear, ask=of_dear), store)
    rows = [second.get(_pair(row), row | {"label": 0.0}) for row in first.rows]
    at_most = of_dear.plan(dear.model, store, prices=dear_prices)
    n_known = sum(row["label"] is not None for row in first.rows)
    settled = len(first.low) / n_known if n_known else float("nan")
    n_to_ask = sum(row["reason"] == "not_asked" for row in rows)
    n_open = sum(row["reason"] == one["reason"] == "not_asked" for row, one in zip(rows, first.rows, strict=True))
    left_out = settled * (1 - audit) * n_open / n_to_ask if n_open else 0.0
    expected = None if n_open and not n_known else _part_of(at_most, 1 - left_out)
    labels = pa.Table.from_pylist(rows, schema=LABELS)
    at_cheap = of_cheap.plan(cheap.model, store, prices=cheap_prices)
    return CascadePlan(labels, at_cheap, at_most, expected, n_known, settled)


def _check_share(audit: float) -> None:
    if not 0 <= audit <= 1:
        raise InputError(f"audit must be a share of the settled documents, 0 to 1, got {audit:g}")


def _sorted_out(
    labels: pa.Table,
    rankings: pa.Table,
    dear: Stage,
    store: Store,
    settle_below: float,
    audit: float,
    seed: int,
) -> _First:
    rows = labels.to_pylist()
    low = [i for i, row in enumerate(rows) if row["label"] is not None and row["label"] < settle_below]
    ranked = sorted(low, key=lambda i: _lot(rows[i], seed))
    audited = set(ranked[: max(1, round(audit * len(low)))] if audit > 0 else [])
    others = only_pairs(rankings, {_pair(rows[i]) for i in low if i not in audited})
    stored = label_rankings(others, model=dear.model, store=store, judge=dear.judge, ask=Survey())
    known = {_pair(row) for row in stored.to_pylist() if row["label"] is not None}
    return _First(rows, low, audited, {i for i in low if _pair(rows[i]) in known})


def _lot(row: Mapping[str, Any], seed: int) -> bytes:
    """A document's lot: the same however many others are drawn from, so that a later run audits what this one did."""
    return hashlib.sha256(json.dumps([seed, *_pair(row)]).encode()).digest()


def _pair(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["query_id"], row["doc_id"]


def _ask_second(
    rankings: pa.Table, first: _First, stay: set[int], dear: Stage, store: Store
) -> dict[tuple[str, str], dict[str, Any]]:
    """The dear judge's labels of all documents but those that stay as they are."""
    pairs = {_pair(row) for i, row in enumerate(first.rows) if i not in stay}
    labels = label_rankings(only_pairs(rankings, pairs), model=dear.model, store=store, judge=dear.judge, ask=dear.ask)
    return {_pair(row): row for row in labels.to_pylist()}


def _missed(audited: Sequence[Mapping[str, Any]], cut: float) -> Estimate:
    known = [row for row in audited if row["label"] is not None]
    found = mean_interval([float(row["label"] >= cut) for row in known], measure="settled wrongly", bounds=(0, 1))
    return replace(found, n_undefined=len(audited) - len(known))


def _part_of(plan: CallPlan, share: float) -> CallPlan:
    """A plan for a share of the calls."""
    return replace(
        plan,
        calls=round(plan.calls * share),
        prompt_tokens=round(plan.prompt_tokens * share),
        completion_tokens=round(plan.completion_tokens * share),
        cost_usd=None if plan.cost_usd is None else plan.cost_usd * share,
        seconds=None if plan.seconds is None else plan.seconds * share,
    )
