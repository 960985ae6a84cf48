"""How often canaries led a judge: from the labels they got to a figure a kind, and what that means for other labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.llm.canary import PROBES, control_of
from ragauge.llm.examine import CANARIES
from ragauge.results import Estimate
from ragauge.schema import check
from ragauge.stats import mean_interval

__all__ = ["LED_OFTEN", "CanaryResult", "canary_results", "meanings"]

LED_OFTEN = 0.25
"""From this share of led canaries on, and not for a single one, `meanings` speaks."""

_MEANINGS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("stuffed", "query"),
        "It takes the query's words for an answer: passages that repeat the query are labelled too high.",
    ),
    (
        ("told", "ordered", "markup", "foreign"),
        "It believes what a passage says about itself: where others write the documents, do not rely on its labels.",
    ),
    (("blank",), "It finds relevant what holds no text: look for empty passages among those it labelled high."),
    (("buried",), "It misses an answer amid other words: long documents are labelled too low."),
)
"""Kinds that tell the same, and what it is."""


@dataclass(frozen=True)
class CanaryResult:
    """What one kind of canary did.

    Attributes:
        kind: Name of the kind.
        what: What it is.
        n: Canaries that count: with a label, and whose control was judged right, where the kind has one.
        n_led: Those of them that were judged wrong.
        flipped: Their share.
        control: Mean label of the controls; NaN without one.
        label: Mean label of the canaries.
        n_control_wrong: Canaries left out, as the control itself was judged wrong or not at all.
        n_unlabelled: Canaries left out, as they have no label themselves.
    """

    kind: str
    what: str
    n: int
    n_led: int
    flipped: Estimate
    control: float
    label: float
    n_control_wrong: int
    n_unlabelled: int


def canary_results(canaries: pa.Table, *, cut: float, level: float = 0.95) -> tuple[CanaryResult, ...]:
    """One result a kind of canary that was asked about, in the order of `PROBES`.

    Args:
        canaries: As `ragauge.llm.examine.CANARIES` says, of one judge.
        cut: The judge's label from which on its verdict is "relevant".
        level: Confidence level, strictly between 0 and 1.

    Raises:
        SchemaError: The table is not what its name promises.

    Example:
        >>> rows = [{"query_id": "q", "kind": kind, "label": label, "reason": None}
        ...         for kind, label in [("unrelated", 0.1), ("told", 0.9), ("blank", 0.2)]]
        >>> found = canary_results(pa.Table.from_pylist(rows, schema=CANARIES), cut=0.5)
        >>> [(one.kind, one.n_led, one.n) for one in found]
        [('told', 1, 1), ('blank', 0, 1)]
    """
    table = check(canaries, CANARIES, what="canaries")
    labels = {(row["kind"], row["query_id"]): row["label"] for row in table.to_pylist()}
    kinds = {kind for kind, _ in labels}
    return tuple(_result(kind, labels, cut, level) for kind in PROBES if kind in kinds)


def meanings(results: Sequence[CanaryResult]) -> tuple[str, ...]:
    """A sentence for each weakness that the canaries found often: what it means for the judge's labels."""
    found = []
    for kinds, meaning in _MEANINGS:
        own = [one for one in results if one.kind in kinds]
        n_led = sum(one.n_led for one in own)
        if n_led > 1 and n_led >= LED_OFTEN * sum(one.n for one in own):
            found.append(meaning)
    return tuple(found)


def _result(kind: str, labels: Mapping[tuple[str, str], float | None], cut: float, level: float) -> CanaryResult:
    """A label that is not there is neither right nor wrong: NaN compares false both ways."""
    control = control_of(kind)
    queries = sorted(query for one, query in labels if one == kind)
    probe = np.array([_number(labels[kind, query]) for query in queries])
    before = np.array([_number(labels.get((control or "", query))) for query in queries])
    is_wrong, was_right = (probe < cut, before >= cut) if control == "relevant" else (probe >= cut, before < cut)
    usable = was_right if control else np.ones(len(queries), dtype=np.bool_)
    led = is_wrong[usable & ~np.isnan(probe)].astype(np.float64)
    return CanaryResult(
        kind=kind,
        what=PROBES[kind],
        n=len(led),
        n_led=int(led.sum()),
        flipped=mean_interval(led, measure=kind, bounds=(0, 1), level=level),
        control=_mean(before),
        label=_mean(probe),
        n_control_wrong=int((~usable).sum()),
        n_unlabelled=int((usable & np.isnan(probe)).sum()),
    )


def _number(label: float | None) -> float:
    return nan if label is None else label


def _mean(labels: npt.NDArray[np.float64]) -> float:
    known = labels[~np.isnan(labels)]
    return float(known.mean()) if len(known) else nan
