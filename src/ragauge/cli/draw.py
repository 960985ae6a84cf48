"""`ragauge draw`: what to label, chosen at random: whole queries, or a few documents of each query."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.number_options import RANK
from ragauge.cli.reading import read_noted, reading_options
from ragauge.cli.terminal import RANKINGS_FILE, counted, note, quiet_option, seed_option
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("draw")
@click.argument("rankings", type=click.Path(path_type=Path))
@click.option("--queries", type=click.IntRange(1), help="So many queries, with all of their top documents.")
@click.option("--documents", type=click.IntRange(1), help="So many documents of the top K of each query.")
@click.option("-k", "--top", type=RANK, default=10, show_default=True, help="K.")
@seed_option("Of the draw.")
@click.option("--out", type=RANKINGS_FILE, required=True, help="The drawn rankings (JSONL).")
@reading_options
@quiet_option
def draw_command(
    rankings: Path,
    queries: int | None,
    documents: int | None,
    top: int,
    seed: int,
    out: Path,
    quiet: bool,
    **reading: Any,
) -> None:
    """Draw from RANKINGS at random what is to be labelled; labels inside are left out.

    --queries 50: for people, who label the top K of 50 queries (of all runs), so that ragauge correct can set right
    what a model said of all. --documents 1: one document of the top K of every query gives the mean of P@K with a
    third of the labels or less: label the drawn file and score it at -m P@1 (P@2 for two documents, and so on).

    \b
    Examples:
      ragauge draw labelled.jsonl --queries 50 --out for_people.jsonl
      ragauge draw retrieved.jsonl --documents 1 --out few.jsonl
    """
    from ragauge.io import write_rankings

    if (queries is None) == (documents is None):
        raise InputError("give either --queries N or --documents N")
    table = _top(read_noted(rankings, reading, quiet=quiet), top)
    drawn = _queries(table, queries, seed) if queries else _documents(table, documents or 1, top, seed, quiet)
    write_rankings(drawn, out)
    n = sum(drawn.column("doc_ids").combine_chunks().value_lengths().to_pylist())
    note(f"{counted(drawn.num_rows, 'ranking')} with {counted(n, 'document')} to label: {out}", quiet=quiet)


def _top(table: "pa.Table", top: int) -> "pa.Table":
    """The first K of each ranking, labels taken off."""
    return _picked(table, [list(range(min(top, len(ids)))) for ids in table.column("doc_ids").to_pylist()])


def _picked(table: "pa.Table", ranks: list[list[int]]) -> "pa.Table":
    """Each ranking with the documents at `ranks` alone, unlabelled."""
    import pyarrow as pa

    rows = table.to_pylist()
    for row, kept in zip(rows, ranks, strict=True):
        for name in ("doc_ids", "texts", "scores"):
            row[name] = [row[name][at] for at in kept]
        row["labels"] = [None] * len(kept)
    return pa.Table.from_pylist(rows, schema=table.schema)


def _queries(table: "pa.Table", n: int, seed: int) -> "pa.Table":
    """All runs' rankings of n queries."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    names = sorted(set(table.column("query_id").to_pylist()))
    if n > len(names):
        raise InputError(f"--queries {n} asks for more than the {len(names)} queries there are")
    chosen = [names[at] for at in np.random.default_rng(seed).choice(len(names), n, replace=False)]
    return table.filter(pc.is_in(table.column("query_id"), value_set=pa.array(chosen, pa.string())))


def _documents(table: "pa.Table", n: int, top: int, seed: int, quiet: bool) -> "pa.Table":
    from ragauge.stats import draw_documents

    lengths = [len(ids) for ids in table.column("doc_ids").to_pylist()]
    short = sum(length < top for length in lengths)
    if short:
        note(
            f"{counted(short, 'ranking')} with fewer than {top} documents: P@{n} of the draw counts them as full.",
            quiet=quiet,
        )
    return _picked(table, [ranks.tolist() for ranks in draw_documents(lengths, per_query=n, seed=seed)])
