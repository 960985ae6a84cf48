"""`ragauge store`: what was asked, answered and judged: checked, counted, written to files, put together."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.terminal import bars, echo_json, echo_records, note, quiet_option
from ragauge.errors import InputError, StoreError

if TYPE_CHECKING:
    from ragauge.store import Damage, StoreStats, Usage

N_SHOWN = 20

format_option = click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)


@click.group("store")
def store_group() -> None:
    """Check, count, export and merge what is kept of models' replies and of judgements.

    STORE is a file or a database URL, as --store of the commands that ask models. The password of a PostgreSQL URL is
    better kept in PGPASSWORD or ~/.pgpass.

    \b
    Example:
      ragauge store stats ragauge.db
    """


@store_group.command("verify")
@click.argument("store")
@quiet_option
def verify_command(store: str, quiet: bool) -> None:
    """Check that STORE is as it was written; exit code 1 when something is damaged.

    \b
    Checked are the database's own structure, that each request is the one its
    key was made of, that replies can be read, and that what rows refer to is there.

    \b
    Example:
      ragauge store verify ragauge.db
    """
    from ragauge.store import Store

    with Store.open(store, missing="error") as kept:
        n_rows = kept.count_rows()
        with bars(quiet=quiet)("check rows", n_rows) as advance:
            damaged = kept.verify(on_progress=advance)
    if damaged:
        _echo_damage(damaged)
        raise StoreError(
            f"{len(damaged)} places of {_shown(store)} are damaged; keep the file, copy what is sound to a new store "
            "and go on with that one, which asks again for what is missing: ragauge store merge NEW.db " + _shown(store)
        )
    click.echo(f"{n_rows:,} rows, all as they were written")


@store_group.command("stats")
@click.argument("store")
@format_option
@quiet_option
def stats_command(store: str, format: str, quiet: bool) -> None:
    """Count what STORE holds: calls, tokens and cost by model and prompt, judgements by judge.

    \b
    Example:
      ragauge store stats ragauge.db --format json
    """
    from ragauge.store import Store

    with Store.open(store, missing="error") as kept:
        stats = kept.stats()
    if format == "json":
        echo_json(asdict(stats))
    else:
        _echo_stats(stats)


@store_group.command("export")
@click.argument("store")
@click.option("--replies", type=click.Path(path_type=Path), help="Requests and replies: .jsonl or .parquet.")
@click.option("--labels", type=click.Path(path_type=Path), help="Labels in force: .jsonl, .parquet, .csv or .tsv.")
@click.option("--history", type=click.Path(path_type=Path), help="All judgements, and what superseded them; likewise.")
@click.option("--judge", help="Only this judge's labels and judgements.")
@click.option("--kind", type=click.Choice(["human", "model"]), help="Only people's, or models'.")
@quiet_option
def export_command(
    store: str,
    replies: Path | None,
    labels: Path | None,
    history: Path | None,
    judge: str | None,
    kind: Any,
    quiet: bool,
) -> None:
    """Write what STORE holds to files that other programs read. No API key is in them.

    \b
    Examples:
      ragauge store export ragauge.db --replies replies.jsonl
      ragauge store export ragauge.db --labels labels.csv --kind human
    """
    from ragauge.io import write_table
    from ragauge.store import Store

    if not (replies or labels or history):
        raise InputError("say what to write: --replies FILE, --labels FILE or --history FILE")
    with Store.open(store, missing="error") as kept:
        if replies:
            note(f"{kept.export_replies(replies):,} replies: {replies}", quiet=quiet)
        if labels:
            table = kept.labels(judge=judge, kind=kind)
            write_table(table, labels)
            note(f"{table.num_rows:,} labels: {labels}", quiet=quiet)
        if history:
            table = kept.judgements(judge=judge, kind=kind)
            write_table(table, history)
            note(f"{table.num_rows:,} judgements: {history}", quiet=quiet)


@store_group.command("import")
@click.argument("store")
@click.argument("labels", type=click.Path(path_type=Path))
@click.option("--judge", help="Who judged, where LABELS does not say.")
@click.option("--kind", type=click.Choice(["human", "model"]), default="human", show_default=True)
@click.option("--rubric", default="", help="Name and version of what was judged by, such as guide/2.")
@quiet_option
def import_command(store: str, labels: Path, judge: str | None, kind: Any, rubric: str, quiet: bool) -> None:
    """Put people's LABELS, in any format that score reads, into STORE beside the model's.

    A label that differs from the judge's last one supersedes it, and both are kept; one file can be put in twice.

    \b
    Example:
      ragauge store import ragauge.db qrels.txt --judge anna --rubric guide/1
    """
    from ragauge.io import read_labels
    from ragauge.store import Store

    table = read_labels(labels)
    with Store.open(store) as kept:
        added = kept.put_labels(table, kind=kind, judge=judge or labels.name, rubric=rubric)
    note(f"{added:,} of {table.num_rows:,} labels are new", quiet=quiet)


@store_group.command("merge")
@click.argument("into")
@click.argument("others", metavar="FROM...", nargs=-1, required=True)
@format_option
@quiet_option
def merge_command(into: str, others: tuple[str, ...], format: str, quiet: bool) -> None:
    """Add to INTO what the stores FROM hold and it does not; INTO is made when there is none.

    Where both have a reply to one request, INTO's stays in use and the other is kept beside it; of two judgements the
    later one is in force. Merging again adds nothing. Damaged rows are left out and listed: exit code 1.

    \b
    Examples:
      ragauge store merge team.db anna.db ben.db
      ragauge store merge postgresql://me@host/labels ragauge.db
    """
    from ragauge.store import Store

    records: list[dict[str, Any]] = []
    damaged: list[Damage] = []
    with Store.open(into) as kept:
        for name in others:
            with (
                Store.open(name, missing="error") as other,
                bars(quiet=quiet)(f"check {_shown(name)}", other.count_rows()) as advance,
            ):
                merged = kept.merge(other, on_progress=advance)
            counts = asdict(merged)
            damaged += merged.damaged
            records.append({"from": _shown(name), **counts, "damaged": len(merged.damaged)})
    if format == "json":
        echo_json(records)
    else:
        echo_records(
            [{key.replace("_", " "): value for key, value in record.items()} for record in records], format="table"
        )
    if damaged:
        _echo_damage(damaged)
        raise StoreError(
            f"{len(damaged)} rows are damaged and were left out; what they held is asked again when needed"
        )


def _shown(store: str) -> str:
    """A file's name, or a URL without its password."""
    if "://" not in store:
        return os.path.basename(store)  # noqa: PTH119 - a name to show
    from ragauge.store.engine import name_of, url_of

    return name_of(url_of(store))


def _echo_damage(damaged: "Sequence[Damage]") -> None:
    for one in damaged[:N_SHOWN]:
        click.echo(str(one))
    if len(damaged) > N_SHOWN:
        click.echo(f"... and {len(damaged) - N_SHOWN:,} more")


def _echo_stats(stats: "StoreStats") -> None:
    echo_records([_usage_row(usage) for usage in stats.usage], format="table", title="Replies")
    if stats.judges:
        rows = [
            {
                "judge": count.judge,
                "kind": count.kind,
                "rubric": count.rubric,
                "task": count.task,
                "n": count.judgements,
                "without": count.without_label,
                "last": count.last_at[:10],
            }
            for count in stats.judges
        ]
        echo_records(rows, format="table", title="\nJudgements, superseded ones included")
    rest = [
        ("second replies to a request, kept and not used", stats.later_replies),
        *((f"calls that failed: {reason}", n) for reason, n in stats.failures),
        *((f"vectors of {model_id}", n) for model_id, n in stats.vectors),
    ]
    click.echo()
    for name, n in rest:
        if n:
            click.echo(f"{n:,} {name}")
    click.echo(f"{(stats.size_bytes or 0) / 1e6:,.1f} MB")


def _usage_row(usage: "Usage") -> dict[str, Any]:
    """One line of the table; what no endpoint told is empty."""
    return {
        "model": usage.model,
        "prompt": usage.prompt_id or usage.kind,
        "calls": usage.calls,
        "read": usage.prompt_tokens,
        "written": usage.completion_tokens,
        "USD": usage.cost_usd,
        "first": usage.first_at[:10],
        "last": usage.last_at[:10],
    }
