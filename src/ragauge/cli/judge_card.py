"""`ragauge judge-card`: what a model's labels are worth, against people's: order, agreement, errors, canaries, cost."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.judge_card_table import echo_card
from ragauge.cli.judge_options import judge_of, judge_options
from ragauge.cli.label import store_option
from ragauge.cli.number_options import NUMBER, NumberIn
from ragauge.cli.reading import read_noted, reading_options
from ragauge.cli.recorded import recorded_table
from ragauge.cli.spending import budget_of, model_plan, paced, spending_options, spent
from ragauge.cli.terminal import Progress, bars, echo_json, make_folder, note, quiet_option, seed_option, write_text
from ragauge.errors import IncompleteError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.study import ModelPlan


@click.command("judge-card")
@click.argument("rankings", type=click.Path(path_type=Path))
@click.option("--labels", type=click.Path(path_type=Path), help="Labels by people, of some of the documents.")
@click.option("--rel", type=NUMBER, default=1.0, show_default=True, help="People's label of a relevant document.")
@click.option(
    "--cut", type=NUMBER, help="The model's label of a relevant document. Default: the best on other queries."
)
@click.option("--base-url", help="An OpenAI-compatible URL, or local:1.5b for ragauge's own.")
@click.option("--model", help="The model's name there; not needed with local.")
@click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Variable that holds the key.")
@click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Requests in flight.")
@store_option
@judge_options
@spending_options
@click.option("--sample", type=click.IntRange(1), help="Ask about so many of the labelled pairs, drawn at random.")
@click.option(
    "--repeats", type=click.IntRange(0), default=1, show_default=True, help="Times some pairs are asked again."
)
@click.option("--repeated", type=click.IntRange(1), default=60, show_default=True, help="Pairs that are asked again.")
@click.option("--canaries", type=click.IntRange(0), default=10, show_default=True, help="Queries to make canaries for.")
@click.option("--record", type=click.Path(path_type=Path), help="Folder to write ids and numbers to, without texts.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the card as one page that opens offline.")
@seed_option("Of samples, orders, folds and the bootstrap.")
@click.option("--level", type=NumberIn(0, 1, True, True), default=0.95, show_default=True, help="Confidence.")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@reading_options
@quiet_option
def judge_card_command(
    rankings: Path,
    record: Path | None,
    html: Path | None,
    format: str,
    quiet: bool,
    **given: Any,
) -> None:
    """Say what a model's relevance labels are worth, from documents that people labelled too.

    RANKINGS are retrievals with texts, or the folder that --record wrote: then nothing is asked.

    \b
    Examples:
      ragauge judge-card retrieved.jsonl --labels people.csv --rel 2 \\
        --base-url local:1.5b --record card/
      ragauge judge-card card/ --rel 2 --html card.html
    """
    from ragauge.llm import judge_card

    tables = _recorded(rankings) if rankings.is_dir() else _asked(rankings, given, quiet)
    if record:
        _write(tables, record)
        note(f"Recorded: {record}", quiet=quiet)
    figures = {name: given[name] for name in ("rel", "cut", "seed", "level")}
    card = judge_card(tables.pop("pairs"), **tables, **figures)
    if html:
        from ragauge.report import judge_report

        write_text(html, judge_report(title=f"Judge card: {card.judge}", card=card))
        note(f"Report: {html}", quiet=quiet)
    if format == "json":
        echo_json(asdict(card))
    else:
        echo_card(card)
    if card.unlabelled and not rankings.is_dir():
        raise IncompleteError(f"{sum(card.unlabelled.values())} pairs have no label; the same command asks again")


def _asked(path: Path, given: dict[str, Any], quiet: bool) -> "dict[str, pa.Table]":
    """The tables of the card, asked of the model and the store."""
    from ragauge.io import read_labels
    from ragauge.llm import ask_all, ask_pairs, cost_of
    from ragauge.store import Store
    from ragauge.study import open_model

    plan = _model_plan(given)
    table, human = read_noted(path, given, quiet=quiet), read_labels(given["labels"])
    seed, progress = given["seed"], bars(quiet=quiet)
    judge, budget = judge_of(given, table, seed=seed), budget_of(given)
    with Store.open(given["store"]) as store, open_model(plan, progress) as opened:
        how: dict[str, Any] = {"model": paced(opened, given), "store": store, "judge": judge}
        ask = how | {"ask": partial(ask_all, budget=budget)}
        with progress("label pairs", _n_pairs(table, human, given["sample"])) as advance:
            pairs = ask_pairs(table, human, **ask, sample=given["sample"], seed=seed, on_progress=advance)
        found = {"pairs": pairs, "cost": cost_of(table, pairs, **how)}
        if given["repeats"]:
            found["repeats"] = _repeats(table, pairs, given, ask, progress)
        if given["canaries"]:
            found["canaries"] = _canaries(table, human, given, ask, progress)
    note(spent(budget), quiet=quiet)
    return found


def _model_plan(given: Mapping[str, Any]) -> "ModelPlan":
    if missing := [name for name in ("labels", "base_url") if not given[name]]:
        raise InputError.collect(
            [f"give --{name.replace('_', '-')}, or the folder that --record wrote" for name in missing]
        )
    return model_plan(given)


def _repeats(
    table: "pa.Table", pairs: "pa.Table", given: Mapping[str, Any], ask: Mapping[str, Any], progress: Progress
) -> "pa.Table":
    from ragauge.llm import ask_again

    n, repeats = min(given["repeated"], pairs.num_rows), given["repeats"]
    with progress("ask again", n * repeats) as advance:
        return ask_again(table, pairs, **ask, n_pairs=n, repeats=repeats, seed=given["seed"], on_progress=advance)


def _canaries(
    table: "pa.Table", human: "pa.Table", given: Mapping[str, Any], ask: Mapping[str, Any], progress: Progress
) -> "pa.Table":
    from ragauge.llm import ask_canaries, canary_probes, relevant_to_people

    relevant = relevant_to_people(human, rel=given["rel"])
    probes = canary_probes(table, relevant, n_queries=given["canaries"], seed=given["seed"])
    with progress("ask about canaries", len(probes)) as advance:
        return ask_canaries(probes, **ask, on_progress=advance)


def _n_pairs(table: "pa.Table", human: "pa.Table", sample: int | None) -> int:
    """Retrieved documents with a label by people."""
    retrieved = {
        (row["query_id"], doc_id)
        for row in table.select(["query_id", "doc_ids"]).to_pylist()
        for doc_id in row["doc_ids"]
    }
    n = len(retrieved & set(zip(*(human.column(name).to_pylist() for name in ("query_id", "doc_id")), strict=True)))
    return n if sample is None else min(sample, n)


def _recorded(folder: Path) -> "dict[str, pa.Table]":
    from ragauge.llm.examine import CANARIES, COST, PAIRS, REPEATS

    if not (folder / "pairs.csv").is_file():
        raise InputError(f"{folder} holds no pairs.csv; give the folder that --record wrote, or rankings")
    schemas = {"pairs": PAIRS, "repeats": REPEATS, "canaries": CANARIES, "cost": COST}
    paths = {name: folder / f"{name}.csv" for name in schemas}
    return {name: recorded_table(path, schemas[name]) for name, path in paths.items() if path.is_file()}


def _write(tables: "dict[str, pa.Table]", folder: Path) -> None:
    from ragauge.io import write_table

    make_folder(folder)
    for name, table in tables.items():
        write_table(table, folder / f"{name}.csv")
