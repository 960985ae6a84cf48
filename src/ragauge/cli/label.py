"""`ragauge label`: what a system retrieved, labelled by a language model; every reply is kept in the store."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragauge.cli.terminal import bars, note, quiet_option
from ragauge.errors import IncompleteError, InputError

if TYPE_CHECKING:
    import pyarrow as pa


def model_options(command: click.decorators.FC) -> click.decorators.FC:
    """The options that name a model and where it is."""
    options = (
        click.option("--base-url", required=True, help="An OpenAI-compatible URL, or local:1.5b for ragauge's own."),
        click.option("--model", help="The model's name there; not needed with local."),
        click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Variable that holds the key."),
        click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Requests in flight."),
    )
    for option in reversed(options):
        command = option(command)
    return command


store_option = click.option(
    "--store", default="ragauge.db", show_default=True, help="Where replies are kept: a file or a database URL."
)


@click.command("label")
@click.argument("rankings", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The same records with labels (JSONL).")
@click.option("--top", type=click.IntRange(1), help="Label only the first documents of each ranking.")
@model_options
@store_option
@quiet_option
def label_command(
    rankings: Path,
    out: Path,
    top: int | None,
    base_url: str,
    model: str | None,
    api_key_env: str,
    concurrency: int,
    store: str,
    quiet: bool,
) -> None:
    """Label every retrieved document of RANKINGS by the probability that it is relevant.

    A document that could not be labelled stays without a label, and FILE.unlabelled.jsonl says why. Started again,
    the command asks only what the store does not hold yet.

    \b
    Examples:
      ragauge label retrieved.jsonl --base-url local:1.5b --out labelled.jsonl
      ragauge label retrieved.jsonl --base-url http://127.0.0.1:8000/v1 \\
        --model qwen --out labelled.jsonl
    """
    from ragauge.io import read_rankings, write_rankings
    from ragauge.llm import label_rankings
    from ragauge.measures import judge
    from ragauge.store import Store
    from ragauge.study import ModelPlan, open_model

    table = read_rankings(rankings)
    progress = bars(quiet=quiet)
    plan = ModelPlan(base_url, model, concurrency=concurrency, api_key_env=api_key_env)
    if problems := plan.problems():
        raise InputError.collect(problems)
    n = count_documents(table, top)
    with Store.open(store) as kept, open_model(plan, progress) as asked, progress("label documents", n) as advance:
        labels = label_rankings(table, model=asked, store=kept, top=top, on_progress=advance)
    write_rankings(judge(table, labels, complete="unknown"), out)
    report_labels(labels, out, quiet=quiet)


def count_documents(rankings: "pa.Table", top: int | None) -> int:
    """Documents within the first `top` of each ranking."""
    lengths = rankings.column("doc_ids").combine_chunks().value_lengths().to_pylist()
    return sum(length if top is None else min(top, length) for length in lengths)


def report_labels(labels: "pa.Table", out: Path, *, quiet: bool) -> None:
    """Say how many labels there are; list what has none beside `out`, and then end as incomplete."""
    import pyarrow.compute as pc

    from ragauge.io import write_table

    missing = labels.filter(pc.is_null(labels.column("label")))
    unlabelled = out.with_name(out.name + ".unlabelled.jsonl")
    unlabelled.unlink(missing_ok=True)
    note(f"{labels.num_rows - missing.num_rows}/{labels.num_rows} labelled: {out}", quiet=quiet)
    if missing.num_rows:
        write_table(missing, unlabelled)
        reasons = ", ".join(
            f"{n} {reason}" for reason, n in Counter(missing.column("reason").to_pylist()).most_common()
        )
        raise IncompleteError(
            f"{missing.num_rows} of {labels.num_rows} documents have no label ({reasons}); "
            f"they are listed in {unlabelled}; the same command asks again for those that failed on the way"
        )
