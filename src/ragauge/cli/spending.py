"""What a labelling run may spend: the options for pace, caps and prices, and the plan that `--dry-run` prints."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from ragauge.cli.number_options import NumberIn
from ragauge.cli.terminal import echo_json, echo_records
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import Model
    from ragauge.llm.survey import CallPlan
    from ragauge.study import ModelPlan
    from ragauge.wire import Budget, Prices

__all__ = ["budget_of", "duration", "echo_plan", "model_plan", "paced", "prices_of", "spending_options", "spent"]

Command = TypeVar("Command", bound=Callable[..., Any])

_ABOVE_0 = NumberIn(0, min_open=True)


def spending_options(command: Command) -> Command:
    """Adds pace, caps and prices, for the other functions of this module."""
    options = (
        click.option("--rpm", type=_ABOVE_0, help="Requests a minute. Default: what the server's headers allow."),
        click.option("--tpm", type=_ABOVE_0, help="Tokens a minute. Default: likewise."),
        click.option("--timeout", type=_ABOVE_0, help="Seconds a try may take. Default: 120, local 600."),
        click.option("--max-calls", type=click.IntRange(0), help="Requests to send at most, failed ones included."),
        click.option("--max-tokens", type=click.IntRange(0), help="Tokens to use at most, read and written."),
        click.option("--max-cost", type=NumberIn(0), help="Dollars to spend at most; needs the prices."),
        click.option("--price-in", type=NumberIn(0), help="Dollars a million tokens read."),
        click.option("--price-out", type=NumberIn(0), help="Dollars a million tokens written."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def prices_of(given: Mapping[str, Any], *, of: Literal["", "cheap-"] = "") -> "Prices | None":
    """The prices, when both are given; `of` stands before the options' names."""
    from ragauge.wire import Prices

    read, written = (given[f"{of}price-{way}".replace("-", "_")] for way in ("in", "out"))
    if (read is None) != (written is None):
        raise InputError(f"give --{of}price-in and --{of}price-out together, in dollars a million tokens")
    return None if read is None else Prices(read, written)


def budget_of(given: Mapping[str, Any]) -> "Budget":
    """The caps of one run."""
    from ragauge.wire import Budget

    prices = prices_of(given)
    if given["max_cost"] is not None and prices is None:
        raise InputError("--max-cost needs --price-in and --price-out, in dollars a million tokens")
    return Budget(
        max_calls=given["max_calls"], max_tokens=given["max_tokens"], max_cost_usd=given["max_cost"], prices=prices
    )


def model_plan(given: Mapping[str, Any]) -> "ModelPlan":
    """The model that --base-url, --model, --concurrency and --api-key-env name.

    Raises:
        InputError: They name none.
    """
    from ragauge.study import ModelPlan

    plan = ModelPlan(
        given["base_url"], given["model"], concurrency=given["concurrency"], api_key_env=given["api_key_env"]
    )
    if problems := plan.problems():
        raise InputError.collect(problems)
    return plan


def paced(model: "Model", given: Mapping[str, Any]) -> "Model":
    """The model, asked at the pace that was given."""
    wanted = {"rpm": given["rpm"], "tpm": given["tpm"], "timeout_s": given["timeout"]}
    changes = {name: value for name, value in wanted.items() if value is not None}
    return replace(model, endpoint=replace(model.endpoint, **changes)) if changes else model


def spent(budget: "Budget") -> str:
    """What a run has used, in words."""
    used, cost = budget.spent, budget.cost_usd
    dollars = "" if cost is None else f", ${cost:.4f}"
    tokens = f"{used.prompt_tokens:,} tokens read, {used.completion_tokens or 0:,} written"
    return f"{budget.calls:,} requests sent, {tokens}{dollars}"


def echo_plan(labels: "pa.Table", plan: "CallPlan", *, canaries: int = 0, format: str) -> None:
    """What a run would do, on stdout; `labels` are those of a survey, `canaries` are among the calls."""
    n_to_ask = labels.column("reason").to_pylist().count("not_asked")
    if format == "json":
        echo_json({**vars(plan), "pairs": labels.num_rows, "known": labels.num_rows - n_to_ask, "canaries": canaries})
        return
    cost = "unknown" if plan.cost_usd is None else f"${plan.cost_usd:.4f}"
    time = "unknown" if plan.seconds is None else duration(plan.seconds)
    rows = [
        ("pairs", f"{labels.num_rows:,}", ""),
        ("known already", f"{labels.num_rows - n_to_ask:,}", "in the store, or without a text"),
        ("calls", f"{plan.calls:,}", f"up to {canaries:,} of them about canaries" if canaries else ""),
        ("tokens read", f"{plan.prompt_tokens:,}", plan.counted_by),
        ("tokens written", f"{plan.completion_tokens:,}", ""),
        ("cost", cost, "" if plan.cost_usd is not None else "give --price-in and --price-out"),
        ("time", time, plan.timed_by),
    ]
    echo_records([{"what": what, "amount": amount, "how": how} for what, amount, how in rows], format=format)


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, rounded up.

    >>> duration(3724.2)
    '1:02:05'
    """
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
