"""A cascade on the command line: a cheap judge settles clear negatives, and the one of --base-url labels the rest."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.canaries import ask_about_canaries, canaries_of, count_canaries
from ragauge.cli.cascade_table import echo_cascade, echo_cascade_plan
from ragauge.cli.given_up import telling_why
from ragauge.cli.judge_options import judge_of
from ragauge.cli.number_options import NUMBER, NumberIn
from ragauge.cli.spending import budget_of, paced, prices_of, spent
from ragauge.cli.terminal import Progress, bars, note
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import Ask, Judge, Model
    from ragauge.store import Store
    from ragauge.study import ModelPlan
    from ragauge.wire import Budget, Prices

__all__ = ["Cascade", "cascade_of", "cascade_options", "run_cascade"]

Command = TypeVar("Command", bound=Callable[..., Any])

AUDIT = 0.1
KEY = "OPENAI_API_KEY"
TOP_LABEL = {"binary": 1.0, "graded": 3.0}

_HOW_LOW = (
    "--cheap-base-url needs --settle-below: what the cheap judge labels below it is settled as not relevant. How low "
    "it must be depends on that judge: ragauge judge-card RANKINGS --labels PEOPLE --base-url CHEAP shows, under "
    "Calibration, how much people found relevant at each height of its label"
)


def cascade_options(command: Command) -> Command:
    """Adds the options that `cascade_of` reads."""
    price = NumberIn(0)
    options = (
        click.option(
            "--cheap-base-url", help="A cheap judge that settles clear negatives; --base-url labels the rest."
        ),
        click.option("--cheap-model", help="Its name there; not needed with local."),
        click.option("--cheap-api-key-env", help=f"Variable that holds its key. Default: {KEY}."),
        click.option("--cheap-scale", type=click.Choice(list(TOP_LABEL)), help="Its scale. Default: binary."),
        click.option("--cheap-price-in", type=price, help="Dollars a million tokens it reads. Default for local: 0."),
        click.option("--cheap-price-out", type=price, help="Dollars a million tokens it writes. Likewise."),
        click.option(
            "--settle-below",
            type=NumberIn(0, min_open=True),
            help="Its labels below this are settled as 0. Has no default: see its judge card.",
        ),
        click.option(
            "--audit",
            type=NumberIn(0, 1),
            help=f"Share of what it settles that --base-url labels too, to tell what is missed. Default: {AUDIT:g}.",
        ),
        click.option(
            "--cut",
            type=NUMBER,
            help="Its label of a relevant document, for the audit. Default: the middle of its scale.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True)
class Side:
    """One of the two judges.

    Attributes:
        plan: The model.
        judge: How it is asked.
        prices: Of its tokens.
    """

    plan: "ModelPlan"
    judge: "Judge"
    prices: "Prices | None"


@dataclass(frozen=True)
class Cascade:
    """A cascade as the options describe it.

    Attributes:
        cheap: The judge that is asked about everything.
        dear: That of --base-url.
        settle_below: The cheap judge's labels below this are settled.
        audit: Share of them that the dear judge labels as well.
        cut: Its label of a relevant document.
        top: Documents of each ranking to label; None = all.
        seed: Of the draw.
        given: The command's options, for pace, caps and canaries.
    """

    cheap: Side
    dear: Side
    settle_below: float
    audit: float
    cut: float
    top: int | None
    seed: int
    given: Mapping[str, Any]

    @property
    def how(self) -> dict[str, Any]:
        """What `label_in_cascade` and `plan_cascade` are told besides."""
        return {"settle_below": self.settle_below, "audit": self.audit, "top": self.top, "seed": self.seed}


def cascade_of(
    given: Mapping[str, Any],
    dear: "ModelPlan",
    judge: "Judge",
    table: "pa.Table",
    *,
    top: int | None,
    seed: int,
    out: Path | None,
    batch: Path | None,
) -> Cascade | None:
    """The cascade that the options describe; None where they name no cheap judge.

    Args:
        given: The command's options.
        dear: The model of --base-url.
        judge: How that is asked; the cheap one likewise, but for the scale.
        table: Where the texts of examples are.
        top: Documents of each ranking to label; None = all.
        seed: Of the draw.
        out: Where the labels are to be written.
        batch: The folder of batch files.

    Raises:
        InputError: An option is missing, out of its range, or does not go with another.
    """
    if given["cheap_base_url"] is None:
        _refuse_alone(given)
        return None
    scale = given["cheap_scale"] or "binary"
    key = given["cheap_api_key_env"] or KEY
    cheap = replace(dear, base_url=given["cheap_base_url"], name=given["cheap_model"], api_key_env=key)
    problems = [f"--cheap-base-url, --cheap-model: {problem}" for problem in cheap.problems()]
    same = not problems and scale == judge.scale and _known_as(cheap) == _known_as(dear)
    problems += _of_settling(given["settle_below"], scale) + _not_together(given, same=same, out=out, batch=batch)
    if problems:
        raise InputError.collect(problems)
    cheap_side = Side(cheap, judge_of({**given, "scale": scale}, table, seed=seed), _cheap_prices(given, cheap))
    audit = AUDIT if given["audit"] is None else given["audit"]
    cut = judge.middle if given["cut"] is None else given["cut"]
    dear_side = Side(dear, judge, prices_of(given))
    return Cascade(cheap_side, dear_side, given["settle_below"], audit, cut, top, seed, given)


def _known_as(plan: "ModelPlan") -> tuple[str, str]:
    """What tells a model from others: a local one's name is the file's, whatever it was given."""
    from ragauge.study import named_model

    model = named_model(plan)
    return model.name, model.identity or model.endpoint.base_url


def _refuse_alone(given: Mapping[str, Any]) -> None:
    names = [name for name in given if name.startswith("cheap_") or name in ("settle_below", "audit", "cut")]
    if alone := [f"--{name.replace('_', '-')}" for name in names if given[name] is not None]:
        raise InputError(f"{', '.join(alone)} goes with --cheap-base-url, which names the cheap judge of a cascade")


def _of_settling(below: float | None, scale: str) -> list[str]:
    if below is None:
        return [_HOW_LOW]
    highest = TOP_LABEL[scale]
    over = f"--settle-below must be at most {highest:g}, the top of the cheap judge's {scale} scale, got {below:g}"
    return [over] if below > highest else []


def _not_together(given: Mapping[str, Any], *, same: bool, out: Path | None, batch: Path | None) -> list[str]:
    found = []
    if same:
        found.append("--cheap-base-url names the judge of --base-url: a cascade needs two")
    if given["design"] != "all":
        found.append(f"--design {given['design']} draws what one judge is to label: leave out --cheap-base-url")
    if batch is not None:
        found.append(
            "--batch brings labels a day later, and the cheap judge's decide what the other is asked: leave it out"
        )
    if out is not None and not out.name.endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")):
        found.append(
            f"a cascade writes who gave each label, in JSON lines: name the output something.jsonl, not {out.name}"
        )
    return found


def _cheap_prices(given: Mapping[str, Any], cheap: "ModelPlan") -> "Prices | None":
    from ragauge.study.plan import LOCAL
    from ragauge.wire import Prices

    found, dear = prices_of(given, of="cheap-"), prices_of(given)
    if found is None and dear is not None and cheap.base_url in LOCAL:
        return Prices(0, 0)
    if (found is None) != (dear is None):
        raise InputError(
            "give the prices of both judges or of none: --price-in, --price-out, --cheap-price-in, --cheap-price-out"
        )
    return found


def run_cascade(
    cascade: Cascade, table: "pa.Table", store: str, *, out: Path | None, format: str, quiet: bool
) -> "pa.Table | None":
    """Labels, writes the rankings, says on stdout what the shortcut costs, and gives the labels.

    Args:
        cascade: From `cascade_of`.
        table: All rankings.
        store: A file or a database URL; holds and keeps all replies.
        out: Where the rankings are written; None = only say what would be asked: nothing is fetched, started or asked,
            and there are no labels.
        format: Of what is said: "table", "json" or "csv".
        quiet: No notes and no progress.
    """
    from ragauge.store import Store

    with Store.open(store) as kept:
        if out is None:
            _plan(cascade, table, kept, format)
            return None
        return _label(cascade, table, kept, out, format, quiet)


def _plan(cascade: Cascade, table: "pa.Table", store: "Store", format: str) -> None:
    from ragauge.llm import Stage, Survey, plan_cascade
    from ragauge.study import named_model

    cheap, dear = cascade.cheap, cascade.dear
    stages = [Stage(paced(named_model(side.plan), cascade.given), side.judge) for side in (cheap, dear)]
    found = plan_cascade(table, *stages, store=store, **cascade.how, cheap_prices=cheap.prices, dear_prices=dear.prices)
    canaries = canaries_of(cascade.given, found.labels, dear.judge, seed=cascade.seed)
    asking = {"model": stages[1].model, "store": store, "judge": dear.judge, "ask": Survey()}
    n_canaries = count_canaries(canaries, table, found.labels, **asking)
    echo_cascade_plan(found, audit=cascade.audit, n_canaries=n_canaries, format=format)


def _label(cascade: Cascade, table: "pa.Table", store: "Store", out: Path, format: str, quiet: bool) -> "pa.Table":
    from ragauge.io import write_rankings_of_judges
    from ragauge.llm import Stage, label_in_cascade
    from ragauge.measures import judge
    from ragauge.wire import Budget

    progress, given = bars(quiet=quiet), cascade.given
    whole = budget_of(given)
    with ExitStack() as opened:
        sides = (cascade.cheap, cascade.dear)
        budgets = [Budget(prices=side.prices, within=whole) for side in sides]
        models = [paced(model, given) for model in _open(cascade, opened, progress)]
        stages = [
            Stage(model, side.judge, _with_bar(_ask(budget, quiet=quiet), progress, f"ask the {name} judge"))
            for name, side, model, budget in zip(("cheap", "dear"), sides, models, budgets, strict=True)
        ]
        found = label_in_cascade(table, *stages, store=store, **cascade.how, cut=cascade.cut)
        labels = found.labels
        write_rankings_of_judges(judge(table, labels, complete="unknown"), labels, out)
        canaries = canaries_of(given, labels, cascade.dear.judge, seed=cascade.seed)
        asking: dict[str, Any] = {"model": models[1], "store": store, "judge": cascade.dear.judge}
        ask = _ask(Budget(prices=cascade.dear.prices, within=whole), quiet=quiet)
        ask_about_canaries(canaries, table, labels, out, progress=progress, quiet=quiet, ask=ask, **asking)
    names = [f"{model.name} {side.judge.id}" for model, side in zip(models, sides, strict=True)]
    echo_cascade(found, names, budgets, settle_below=cascade.settle_below, cut=cascade.cut, format=format)
    note(spent(whole), quiet=quiet)
    return labels


def _open(cascade: Cascade, opened: ExitStack, progress: Progress) -> "tuple[Model, Model]":
    """Both models; one server is enough where they differ in the scale alone."""
    from ragauge.study import open_model

    cheap = opened.enter_context(open_model(cascade.cheap.plan, progress))
    same = _known_as(cascade.cheap.plan) == _known_as(cascade.dear.plan)
    return cheap, cheap if same else opened.enter_context(open_model(cascade.dear.plan, progress))


def _ask(budget: "Budget", *, quiet: bool) -> "Ask":
    from ragauge.llm import ask_all

    return telling_why(partial(ask_all, budget=budget), quiet=quiet)


def _with_bar(ask: "Ask", progress: Progress, stage: str) -> "Ask":
    """A bar for each time that requests are asked: how many the dear judge gets is known only then."""

    def asked(requests: Sequence[Any], **how: Any) -> list[Any]:
        if not requests:
            return []
        with progress(stage, len(requests)) as advance:
            return ask(requests, **{**how, "on_progress": advance})

    return asked
