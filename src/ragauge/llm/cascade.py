"""Two judges, one cheap and one dear: the cheap one settles what is clearly not relevant, the dear one the rest.

Models call too much relevant rather than too little, so it is their "no" that can be trusted. How far is not assumed:
the dear judge sees a random share of what was settled as well, and tells how much was settled wrongly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.examine import only_pairs
from ragauge.llm.judge import Judge
from ragauge.llm.label import label_rankings
from ragauge.llm.model import Model
from ragauge.llm.pool import Ask, ask_all
from ragauge.results import Estimate
from ragauge.schema import LABELS
from ragauge.stats import mean_interval
from ragauge.store import Store

__all__ = ["Cascaded", "Stage", "label_in_cascade"]


@dataclass(frozen=True)
class Stage:
    """A model and how it is asked.

    Attributes:
        model: Whom to ask.
        judge: How it is asked.
    """

    model: Model
    judge: Judge = field(default_factory=Judge)


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
    ask: Ask = ask_all,
) -> Cascaded:
    """Labels for every retrieved document, most of them by the cheap judge where most are not relevant.

    Documents the cheap judge could not label go on to the dear one. Settled documents have the label 0.

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
        ask: How replies are got.

    Raises:
        InputError: `audit` is outside 0..1, or as for `label_rankings`.
    """
    if not 0 <= audit <= 1:
        raise InputError(f"audit must be a share of the settled documents, 0 to 1, got {audit:g}")
    first = label_rankings(
        rankings, model=cheap.model, store=store, judge=cheap.judge, top=top, on_progress=on_progress, ask=ask
    ).to_pylist()
    low = [i for i, row in enumerate(first) if row["label"] is not None and row["label"] < settle_below]
    audited = _drawn(low, audit, seed)
    settled = set(low) - audited
    going_on = {(row["query_id"], row["doc_id"]) for i, row in enumerate(first) if i not in settled}
    second = _second(rankings, going_on, dear, store, ask)
    rows = [
        row | {"label": 0.0} if i in settled else second[row["query_id"], row["doc_id"]] for i, row in enumerate(first)
    ]
    missed = _missed([rows[i] for i in sorted(audited)], dear.judge.middle if cut is None else cut)
    labels = pa.Table.from_pylist(rows, schema=LABELS)
    return Cascaded(labels, len(settled), len(audited), missed, missed.mean * len(settled) if settled else 0.0)


def _drawn(low: list[int], audit: float, seed: int) -> set[int]:
    n = min(len(low), max(1, round(audit * len(low)))) if audit > 0 else 0
    return {low[place] for place in np.random.default_rng(seed).choice(len(low), size=n, replace=False)} if n else set()


def _second(
    rankings: pa.Table, pairs: set[tuple[str, str]], dear: Stage, store: Store, ask: Ask
) -> dict[tuple[str, str], dict[str, Any]]:
    labels = label_rankings(only_pairs(rankings, pairs), model=dear.model, store=store, judge=dear.judge, ask=ask)
    return {(row["query_id"], row["doc_id"]): row for row in labels.to_pylist()}


def _missed(audited: Sequence[Mapping[str, Any]], cut: float) -> Estimate:
    known = [row for row in audited if row["label"] is not None]
    found = mean_interval([float(row["label"] >= cut) for row in known], measure="settled wrongly", bounds=(0, 1))
    return replace(found, n_undefined=len(audited) - len(known))
