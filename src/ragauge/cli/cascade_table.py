"""A cascade in a terminal: what it would ask, and what came of it."""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.spending import duration
from ragauge.cli.terminal import counted, echo_json, echo_records

if TYPE_CHECKING:
    from ragauge.llm import Cascaded, CascadePlan
    from ragauge.llm.survey import CallPlan
    from ragauge.wire import Budget

__all__ = ["echo_cascade", "echo_cascade_plan"]

_TITLES = {"cheap": "cheap", "dear_expected": "dear, expected", "dear_at_most": "dear, at most"}
_ROWS = ("known already", "calls", "tokens read", "tokens written", "cost", "time")


def echo_cascade_plan(found: "CascadePlan", *, audit: float, n_canaries: int, format: str) -> None:
    """What a cascade would ask, on stdout."""
    plans = {name: getattr(found, name) for name in _TITLES}
    if format == "json":
        of_each = {name: plan and vars(plan) for name, plan in plans.items()}
        known = {"n_labelled": found.n_known, "settled": found.settled, "audit": audit, "canaries": n_canaries}
        echo_json({"pairs": found.labels.num_rows, **known, **of_each})
        return
    columns = {title: _column(plans[name]) for name, title in _TITLES.items()}
    rows = [{"what": what, **{title: column[what] for title, column in columns.items()}} for what in _ROWS]
    echo_records(rows, format=format)
    if format == "table":
        click.echo()
        for line in _assumed(found, audit, n_canaries):
            _say(line)


def _column(plan: "CallPlan | None") -> dict[str, str]:
    if plan is None:
        return dict.fromkeys(_ROWS, "unknown")
    numbers = [f"{n:,}" for n in (plan.known, plan.calls, plan.prompt_tokens, plan.completion_tokens)]
    time = "unknown" if plan.seconds is None else duration(plan.seconds)
    return dict(zip(_ROWS, (*numbers, _dollars(plan.cost_usd), time), strict=True))


def _assumed(found: "CascadePlan", audit: float, n_canaries: int) -> list[str]:
    pairs = f"{found.labels.num_rows:,} documents; known already: replies in the store."
    if found.dear_expected is None:
        expected = (
            "Expected: unknown, as the cheap judge has labelled none of these documents yet; let it label some, "
            "with --max-calls 100 for instance, and plan again."
        )
    else:
        expected = (
            f"Expected: of what the cheap judge is still asked it settles {found.settled:.0%}, as of the "
            f"{found.n_known:,} documents it has labelled; the dear one audits {audit:.0%} of that."
        )
    most = "At most: nothing more is settled; without a cascade, the dear judge takes about as much."
    canaries = [f"Up to {n_canaries:,} further calls of the dear judge about canaries."] if n_canaries else []
    sources = [
        f"Tokens of the {name} judge: {plan.counted_by}. Time: {plan.timed_by}."
        for name, plan in (("cheap", found.cheap), ("dear", found.dear_at_most))
        if plan.calls
    ]
    return [pairs, expected, most, *canaries, *sources]


def echo_cascade(
    found: "Cascaded",
    names: Sequence[str],
    budgets: "Sequence[Budget]",
    *,
    settle_below: float,
    cut: float,
    format: str,
) -> None:
    """What came of a cascade, on stdout.

    Args:
        found: The labels and the audit.
        names: Of the cheap and the dear judge, as in the labels.
        budgets: What each has spent.
        settle_below: The cheap judge's labels below this were settled.
        cut: The dear judge's label of a relevant document.
        format: "table", "json" or "csv".
    """
    judges = _judges(found, budgets)
    if format == "json":
        named = [{"name": name, **row} for name, row in zip(names, judges, strict=True)]
        echo_json({"settled": found.n_settled, "audited": found.n_audited, **_missed(found), "judges": named})
    elif format == "csv":
        echo_records(_long(found, judges), format=format)
    else:
        _echo_judges(judges)
        click.echo()
        for line in _outcome(found, settle_below, cut):
            _say(line)
        click.echo(f"Cheap: {names[0]}\nDear: {names[1]}")


def _missed(found: "Cascaded") -> dict[str, dict[str, float]]:
    """The missed share and the number of documents it amounts to, each with its interval."""
    share = {"value": found.missed.mean, "low": found.missed.low, "high": found.missed.high}
    n = found.n_settled
    documents = {"value": found.n_missed, **{bound: n * share[bound] if n else 0.0 for bound in ("low", "high")}}
    return {"missed_share": share, "missed_documents": documents}


def _long(found: "Cascaded", judges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a figure."""
    spent = {f"{row['judge']}_{name}": {"value": row[name]} for row in judges for name in row if name != "judge"}
    counts = {"settled": {"value": found.n_settled}, "audited": {"value": found.n_audited}}
    figures: dict[str, Mapping[str, Any]] = {**counts, **_missed(found), **spent}
    return [{"figure": name, "value": None, "low": None, "high": None, **row} for name, row in figures.items()]


def _judges(found: "Cascaded", budgets: "Sequence[Budget]") -> list[dict[str, Any]]:
    n_labels = found.labels.num_rows - found.labels.column("label").null_count
    n_of_each = (found.n_settled, n_labels - found.n_settled)
    return [
        {
            "judge": judge,
            "labels": n,
            "calls": budget.calls,
            "tokens_read": budget.spent.prompt_tokens,
            "tokens_written": budget.spent.completion_tokens,
            "cost_usd": budget.cost_usd,
        }
        for judge, n, budget in zip(("cheap", "dear"), n_of_each, budgets, strict=True)
    ]


def _echo_judges(judges: Sequence[Mapping[str, Any]]) -> None:
    rows = [{**row, "cost_usd": _dollars(row["cost_usd"])} for row in judges]
    titles = {name: name.removesuffix("_usd").replace("_", " ") for name in rows[0]}
    echo_records([{titles[name]: value for name, value in row.items()} for row in rows], format="table")


def _outcome(found: "Cascaded", settle_below: float, cut: float) -> list[str]:
    settled = counted(found.n_settled, "document")
    lines = [f"Settled: {settled} below {settle_below:g} got the label 0 without the dear judge."]
    if found.n_audited:
        drawn = counted(found.n_audited, "more document")
        went = "went to the dear judge"
        if found.missed.n_undefined:
            went = f"are the dear judge's; {found.missed.n_undefined} of them have no label from it"
        lines.append(f"Audited: {drawn} below it, drawn at random, {went}.")
    if not found.n_settled:
        return [*lines, "Missed: nothing, as nothing was settled unseen."]
    if isnan(found.missed.mean):
        why = "none of those audited has a label" if found.n_audited else "nothing was audited"
        return [*lines, f"Missed: not known, as {why}."]
    missed = _missed(found)
    share, documents = _interval(missed["missed_share"], 3), _interval(missed["missed_documents"], 1)
    by = f"the dear judge finds a share of {share} relevant ({cut:g} and up) among the audited"
    return [*lines, f"Missed: {by}; so {documents} of the {settled} settled are relevant to it."]


def _interval(figure: Mapping[str, float], digits: int) -> str:
    """The value, and its interval where there is one."""
    value, low, high = (f"{figure[name]:.{digits}f}" for name in ("value", "low", "high"))
    return value if isnan(figure["low"]) else f"{value} [{low}, {high}]"


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def _say(line: str) -> None:
    click.echo(click.wrap_text(line, 80, subsequent_indent="  "))
