"""`ragauge label`: what a system retrieved, labelled by a language model; every reply is kept in the store."""

from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.canaries import ask_about_canaries, canaries_of, canaries_option, count_canaries
from ragauge.cli.cascade_options import cascade_of, cascade_options, run_cascade
from ragauge.cli.design_options import design_options, drawn_first, label_by_design
from ragauge.cli.given_up import telling_why
from ragauge.cli.judge_options import judge_of, judge_options
from ragauge.cli.number_options import NumberIn
from ragauge.cli.reading import read_noted, reading_options
from ragauge.cli.spending import budget_of, echo_plan, model_plan, paced, prices_of, spending_options, spent
from ragauge.cli.terminal import RANKINGS_FILE, bars, note, quiet_option, seed_option
from ragauge.errors import IncompleteError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.llm import Ask, Judge, Model
    from ragauge.store import Store
    from ragauge.wire import Budget

_HINTS = {
    "budget": "a cap was reached: raise it, or start again for as much",
    "batch_pending": "batches are under way: the same command collects them",
    "not_asked": "the endpoint was given up: mend it and start again",
}
"""Reason -> what to do; else `_ANSWERED` or `_FAILED`."""

_FAILED = "the same command asks again for those that failed on the way"

_KEPT = {"no_verdict", "cut_off", "empty", "bad_json", "wrong_language", "contradictory", "wrong_count", "no_text"}
"""Reasons that asking again does not change, as the answers are in the store."""

_ANSWERED = "what was said is kept and not asked for again; docs/judge.md says what helps"


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
@click.option("--out", type=RANKINGS_FILE, help="The same records with labels (JSONL). Needed but for --dry-run.")
@click.option("--top", type=click.IntRange(1), help="Label only the first documents of each ranking.")
@model_options
@store_option
@judge_options
@design_options
@cascade_options
@canaries_option
@seed_option("Of the draw, the canaries, the examples and batches' orders.")
@spending_options
@click.option("--dry-run", is_flag=True, help="Ask nothing; print calls, tokens, cost and time.")
@click.option(
    "--format", type=click.Choice(["table", "json", "csv"]), default="table", help="Of --dry-run and of a cascade."
)
@click.option("--batch", type=click.Path(path_type=Path, file_okay=False), help="Send batch files, remembered there.")
@click.option("--batch-wait", type=NumberIn(0), help="Seconds to wait for them. Default: until they end.")
@reading_options
@quiet_option
def label_command(
    rankings: Path,
    out: Path | None,
    top: int | None,
    store: str,
    dry_run: bool,
    format: str,
    batch: Path | None,
    batch_wait: float | None,
    seed: int,
    quiet: bool,
    **given: Any,
) -> None:
    """Label every retrieved document of RANKINGS by the probability that it is relevant.

    A document that could not be labelled stays without a label, and FILE.unlabelled.jsonl says why. Started again,
    the command asks only what the store does not hold yet. A cap that is reached ends the run with what is left
    unlabelled. Once the labels are written, a few canaries show whether the judge can be led (FILE.canaries.csv).

    \b
    Examples:
      ragauge label retrieved.jsonl --base-url local:1.5b --out labelled.jsonl
      ragauge label retrieved.jsonl --base-url http://127.0.0.1:8000/v1 \\
        --model qwen --out labelled.jsonl
      ragauge label retrieved.jsonl --base-url local:1.5b --scale graded \\
        --criteria "relevant means: says what to do" --out graded.jsonl
      ragauge label retrieved.jsonl --base-url https://api.openai.com/v1 \\
        --model gpt-4o-mini --price-in 0.15 --price-out 0.6 --dry-run
      ragauge label retrieved.jsonl --base-url https://api.openai.com/v1 \\
        --model gpt-4o-mini --batch batches --out labelled.jsonl
      ragauge label retrieved.jsonl --base-url local:1.5b \\
        --design one-per-query --out sampled.jsonl
      ragauge label retrieved.jsonl --base-url https://api.openai.com/v1 \\
        --model gpt-4o --cheap-base-url local:1.5b --settle-below 0.25 \\
        --out labelled.jsonl
    """
    from ragauge.io import write_rankings
    from ragauge.llm import label_rankings
    from ragauge.measures import judge
    from ragauge.quality.designs import drawn_rankings
    from ragauge.store import Store
    from ragauge.study import named_model, open_model

    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out'; only --dry-run goes without.")
    budget = budget_of(given)
    table = read_noted(rankings, given, quiet=quiet)
    progress = bars(quiet=quiet)
    plan = model_plan(given)
    how = judge_of(given, table, seed=seed)
    drawn = drawn_first(table, given, top=top, out=out, batch=batch, seed=seed)
    part = table if drawn is None else drawn_rankings(table, drawn)
    if cascade := cascade_of(given, plan, how, table, top=top, seed=seed, out=out, batch=batch):
        by_both = run_cascade(cascade, table, store, out=None if dry_run else out, format=format, quiet=quiet)
        if by_both is not None and out is not None:
            report_labels(by_both, out, quiet=quiet)
        return
    opening = nullcontext(named_model(plan)) if dry_run else open_model(plan, progress)
    with Store.open(store) as kept, opening as opened:
        asked = paced(opened, given)
        if out is None or dry_run:
            _survey(table, part, how, asked, kept, top, seed, given | ({"canaries": 0} if batch else {}), format)
            return
        ask = way_of_asking(budget, batch, batch_wait, quiet=quiet)
        with progress("label documents", count_documents(part, top)) as advance:
            label = partial(label_rankings, model=asked, store=kept, judge=how, top=top, on_progress=advance, ask=ask)
            if drawn is None:
                labels = label(table)
                write_rankings(judge(table, labels, complete="unknown"), out)
            else:
                labels = label_by_design(table, label, drawn, given, rel=how.middle, seed=seed, out=out, quiet=quiet)
        canaries = canaries_of(given, labels, how, seed=seed)
        asking: dict[str, Any] = {"model": asked, "store": kept, "judge": how, "ask": ask}
        ask_about_canaries(canaries, table, labels, out, progress=progress, quiet=quiet, batch=batch, **asking)
    note(spent(budget), quiet=quiet)
    report_labels(labels, out, quiet=quiet)


def _survey(
    table: "pa.Table",
    part: "pa.Table",
    how: "Judge",
    model: "Model",
    store: "Store",
    top: int | None,
    seed: int,
    given: Mapping[str, Any],
    format: str,
) -> None:
    """What the run would ask, on stdout."""
    from ragauge.llm import Survey, label_rankings

    survey = Survey()
    labels = label_rankings(part, model=model, store=store, judge=how, top=top, ask=survey)
    chosen = canaries_of(given, labels, how, seed=seed)
    n_canaries = count_canaries(chosen, table, labels, model=model, store=store, judge=how, ask=survey)
    echo_plan(labels, survey.plan(model, store, prices=prices_of(given)), canaries=n_canaries, format=format)


def way_of_asking(budget: "Budget", batch: Path | None, wait_s: float | None, *, quiet: bool) -> "Ask":
    """At once, or through batch files that `batch` remembers."""
    from ragauge.llm import BatchAsk, ask_all

    if batch is None:
        return telling_why(partial(ask_all, budget=budget), quiet=quiet)
    return BatchAsk(batch, wait_s=wait_s, budget=budget, on_note=partial(note, quiet=quiet))


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
        found = set(missing.column("reason").to_pylist())
        hints = [hint for reason, hint in _HINTS.items() if reason in found]
        advice = "; ".join(hints) or (_ANSWERED if found <= _KEPT else _FAILED)
        raise IncompleteError(
            f"{missing.num_rows} of {labels.num_rows} documents have no label ({reasons}); "
            f"they are listed in {unlabelled}; {advice}"
        )
