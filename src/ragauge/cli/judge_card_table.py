"""A judge card on the terminal: tables of its figures, and sentences for what is no table."""

from math import isnan
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.terminal import echo_records

if TYPE_CHECKING:
    from ragauge.llm import JudgeCard
    from ragauge.llm.card import Group
    from ragauge.results import Estimate

__all__ = ["echo_card"]

COEFFICIENTS = ("agreement", "kappa", "alpha_nominal", "ac1")
"""Of two verdicts the others equal one of these."""

WIDTH = 80
"""Columns of a sentence."""


def echo_card(card: "JudgeCard") -> None:
    """The card on stdout."""
    found = card.discrimination
    click.echo(f"Judge: {card.judge}")
    click.echo(
        f"{card.n_pairs} pairs of {card.n_queries} queries; people found {found.n_relevant} relevant "
        f"(label {card.rel:g} and up)"
    )
    if card.unlabelled:
        click.echo("Unlabelled: " + ", ".join(f"{n} {reason}" for reason, n in card.unlabelled.items()))
    click.echo()
    echo_records(_figures(card), format="table")
    _say(_cut(card))
    click.echo()
    echo_records(_calibration(card), format="table", title="Calibration: the model's label, and what people found")
    _say(_worth(card))
    click.echo()
    echo_records([_group(one) for one in (*card.by_rank, *card.by_length)], format="table", title="Where it errs")
    click.echo()
    if card.canaries:
        echo_records(
            _canaries(card),
            format="table",
            title="Canaries: share that led the judge, of those whose control was judged right",
        )
        click.echo()
    for line in _notes(card):
        _say(line)


def _say(text: str) -> None:
    click.echo(fill(text, WIDTH))


def _figures(card: "JudgeCard") -> list[dict[str, Any]]:
    found = card.discrimination
    auc = {"figure": "AUC", "value": found.auc, "interval": _span(found.interval.low, found.interval.high)}
    rates = [
        {"figure": one.measure, "value": one.mean, "interval": _span(one.low, one.high)}
        for one in (card.overall.sensitivity, card.overall.specificity)
    ]
    agree = [
        {"figure": one.name, "value": one.value, "interval": _span(one.low, one.high)}
        for one in map(card.agreement.coefficient, COEFFICIENTS)
    ]
    return [auc, *rates, *agree]


def _cut(card: "JudgeCard") -> str:
    if card.cut_is_given:
        return f"Verdict: relevant from label {card.cut:.3g} on, as given."
    return (
        f"Verdict: relevant from the cut that is best on other queries; on all pairs that is {card.cut:.3g}, "
        "which the canaries are judged with."
    )


def _calibration(card: "JudgeCard") -> list[dict[str, Any]]:
    return [
        {
            "label": f"{one.low:.2f} to {one.high:.2f}",
            "mean": one.mean,
            "relevant": one.relevant.mean,
            "interval": _span(one.relevant.low, one.relevant.high),
            "pairs": one.relevant.n,
        }
        for one in card.calibration
    ]


def _worth(card: "JudgeCard") -> str:
    if isnan(card.brier_calibrated):
        return "Too few queries to say what a calibration would be worth."
    raw = "" if isnan(card.brier) else f"{card.brier:.3f} as it is, "
    return (
        f"Squared error of the label as a probability: {raw}{card.brier_calibrated:.3f} calibrated on other queries, "
        f"{card.brier_constant:.3f} by their share of relevant pairs alone."
    )


def _group(one: "Group") -> dict[str, Any]:
    return {
        "pairs": one.name,
        "sensitivity": _rate(one.sensitivity),
        "of": one.sensitivity.n,
        "specificity": _rate(one.specificity),
        "of ": one.specificity.n,
    }


def _canaries(card: "JudgeCard") -> list[dict[str, Any]]:
    return [
        {
            "canary": one.kind,
            "led": _rate(one.flipped),
            "of": f"{one.n}/{one.n + one.n_control_wrong + one.n_unlabelled}",
            "label": ("" if isnan(one.control) else f"{one.control:.2f} → ") + f"{one.label:.2f}",
            "what": one.what,
        }
        for one in card.canaries
    ]


def _notes(card: "JudgeCard") -> list[str]:
    lines = []
    if card.repeated:
        one = card.repeated
        lines.append(
            f"Asked again: {one.n_pairs} pairs, each {one.n_draws} times in all; same verdict {_rate(one.same)}, "
            f"labels moved by {one.mean_change:.3f} on average, {one.largest_change:.3f} at most."
        )
    if missing := ", ".join(f"{found.n_unlabelled} {found.kind}" for found in card.canaries if found.n_unlabelled):
        lines.append(f"Canaries without a label, left out: {missing}.")
    if card.cost:
        lines.append(_cost(card))
    return lines


def _cost(card: "JudgeCard") -> str:
    one = card.cost
    assert one is not None
    tokens = (
        ""
        if one.prompt_tokens is None
        else f", {one.prompt_tokens:,} tokens read, {one.completion_tokens or 0:,} written"
    )
    each = f" ({one.seconds / one.documents:.2f} s a document)" if one.documents else ""
    return f"Cost of the pairs: {one.calls:,} calls{tokens}, {one.seconds:,.0f} s{each}."


def _rate(one: "Estimate") -> str:
    if isnan(one.mean):
        return "undefined"
    return f"{one.mean:.2f}" + ("" if isnan(one.low) else f" {_span(one.low, one.high, 2)}")


def _span(low: float, high: float, digits: int = 3) -> str:
    return "" if isnan(low) else f"{low:.{digits}f}..{high:.{digits}f}"
