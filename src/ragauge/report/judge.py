"""The judge card as one HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from ragauge.llm.card import Group, JudgeCard
from ragauge.report import judge_charts as draw
from ragauge.report.content import Fact, Record, finite, number
from ragauge.report.judge_canaries import Row, canary_records, canary_row, interval_text, rate_text
from ragauge.report.look import Chart
from ragauge.report.render import page

__all__ = ["bin_records", "group_records", "judge_charts", "judge_report"]

COEFFICIENTS = {
    "agreement": "same verdict",
    "kappa": "Cohen's kappa",
    "alpha_nominal": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
}
"""Of two verdicts the others equal one of these."""


@dataclass(frozen=True)
class _Content:
    """What the template places."""

    title: str
    facts: tuple[Fact, ...]
    notes: tuple[str, ...]
    level: str
    figures: tuple[Row, ...]
    cut: str
    bins: tuple[Row, ...]
    worth: str
    groups: tuple[Row, ...]
    canaries: tuple[Row, ...]
    repeated: str


def judge_report(*, title: str, card: JudgeCard, notes: Sequence[str] = ()) -> str:
    """One HTML page that shows what a judge's labels are worth.

    Args:
        title: Heading of the page.
        card: From `ragauge.llm.judge_card`.
        notes: What the reader should know, one paragraph each.

    Returns:
        The page, to be written as UTF-8.

    Raises:
        MissingExtraError: altair, vl-convert or jinja2 is not installed.
    """
    return page("judge.html.j2", _content(title, card, notes), judge_charts(card))


def judge_charts(card: JudgeCard) -> dict[str, Chart]:
    """The charts of the page by name; those without data are left out."""
    top = max(1.0, max(one.high for one in card.calibration))
    charts = {
        "calibration": draw.calibration_curve(bin_records(card), top=top),
        "errors": draw.error_rates(group_records(card)),
    }
    if card.canaries:
        charts["canaries"] = draw.led_shares(canary_records(card.canaries))
    return charts


def bin_records(card: JudgeCard) -> list[Record]:
    """One record a group of the calibration."""
    return [
        {
            "label": f"{number(one.low)} to {number(one.high)}",
            "mean": finite(one.mean),
            "relevant": finite(one.relevant.mean),
            "low": finite(one.relevant.low),
            "high": finite(one.relevant.high),
            "pairs": one.relevant.n,
        }
        for one in card.calibration
    ]


def group_records(card: JudgeCard) -> list[Record]:
    """Two records a group: its sensitivity and its specificity."""
    return [
        {
            "by": by,
            "group": group.name,
            "rate": rate.measure,
            "value": finite(rate.mean),
            "low": finite(rate.low),
            "high": finite(rate.high),
            "pairs": rate.n,
        }
        for by, groups in (("rank", card.by_rank), ("length", card.by_length))
        for group in groups
        for rate in (group.sensitivity, group.specificity)
    ]


def _content(title: str, card: JudgeCard, notes: Sequence[str]) -> _Content:
    found = card.discrimination
    auc = Row("AUC", (number(found.auc), interval_text(found.interval.low, found.interval.high), f"{card.n_pairs:,}"))
    rates = (card.overall.sensitivity, card.overall.specificity)
    agreed = [card.agreement.coefficient(name) for name in COEFFICIENTS]
    return _Content(
        title=title,
        facts=_facts(card),
        notes=(*notes, *_unlabelled(card)),
        level=f"{100 * card.agreement.level:g} %",
        figures=(
            auc,
            *(Row(one.measure, (number(one.mean), interval_text(one.low, one.high), f"{one.n:,}")) for one in rates),
            *(
                Row(COEFFICIENTS[one.name], (number(one.value), interval_text(one.low, one.high), f"{card.n_pairs:,}"))
                for one in agreed
            ),
        ),
        cut=_cut(card),
        bins=tuple(
            Row(
                str(one["label"]),
                (number(one["mean"]), number(one["relevant"]), interval_text(one["low"], one["high"])),
            )
            for one in bin_records(card)
        ),
        worth=_worth(card),
        groups=tuple(_group(one) for one in (*card.by_rank, *card.by_length)),
        canaries=tuple(canary_row(one) for one in card.canaries),
        repeated=_repeated(card),
    )


def _facts(card: JudgeCard) -> tuple[Fact, ...]:
    facts = [
        Fact("Judge", card.judge),
        Fact("Pairs", f"{card.n_pairs:,}"),
        Fact("Queries", f"{card.n_queries:,}"),
        Fact("Relevant to people", f"{card.discrimination.n_relevant:,}"),
    ]
    if card.cost and card.cost.documents:
        facts.append(Fact("Seconds a document", number(card.cost.seconds / card.cost.documents, digits=2)))
    if card.cost and card.cost.prompt_tokens is not None:
        facts.append(Fact("Tokens read", f"{card.cost.prompt_tokens:,}"))
    return tuple(facts)


def _unlabelled(card: JudgeCard) -> list[str]:
    if not card.unlabelled:
        return []
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in card.unlabelled.items())
    return [f"Pairs the judge did not label, left out of every figure: {reasons}."]


def _cut(card: JudgeCard) -> str:
    if card.cut_is_given:
        return f"A verdict is “relevant” from the label {number(card.cut)} on, as given."
    return (
        "A verdict is “relevant” from the cut that is best on other queries; "
        f"on all pairs the best is {number(card.cut)}, which the canaries are judged with."
    )


def _worth(card: JudgeCard) -> str:
    if not isfinite(card.brier_calibrated):
        return "There are too few queries to say what a calibration would be worth."
    raw = f"{number(card.brier)} as it is, " if isfinite(card.brier) else ""
    return (
        f"Squared error of the label as a probability: {raw}{number(card.brier_calibrated)} calibrated on other "
        f"queries, {number(card.brier_constant)} by their share of relevant pairs alone."
    )


def _group(one: Group) -> Row:
    cells = [(rate_text(rate), f"{rate.n:,}") for rate in (one.sensitivity, one.specificity)]
    return Row(one.name, tuple(cell for pair in cells for cell in pair))


def _repeated(card: JudgeCard) -> str:
    one = card.repeated
    if one is None:
        return "The judge was not asked anything again."
    return (
        f"{one.n_pairs:,} pairs were asked about {one.n_draws} times. The verdict stayed the same for "
        f"{rate_text(one.same)} of them; labels moved by {number(one.mean_change)} on average and "
        f"{number(one.largest_change)} at most."
    )
