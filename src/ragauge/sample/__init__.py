"""A small knowledge base with queries and hand labels, inside the package: something to measure before you have data.

The handbook of an invented bicycle-share, 24 queries, and a label of 0 to 3 for each pair that any of several
retrievers put in its top 10. "Relevant" means a label of 2 or more. README.md in this folder says how it was judged.
"""

import errno
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["copy_to", "corpus", "labels", "queries"]

FILE_NAMES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")

_STRING = pa.string()
_CORPUS = pa.schema([pa.field(name, _STRING, nullable=False) for name in ("doc_id", "lang", "title", "text")])
_QUERIES = pa.schema(
    [
        pa.field("query_id", _STRING, nullable=False),
        pa.field("query", _STRING, nullable=False),
        pa.field("answer", _STRING),
    ]
)
_LABELS = pa.schema(
    [
        pa.field("query_id", _STRING, nullable=False),
        pa.field("doc_id", _STRING, nullable=False),
        pa.field("label", pa.float64()),
    ]
)


def corpus() -> pa.Table:
    """The passages, in an order that says nothing about relevance.

    Returns:
        Columns doc_id, lang ("en" or "fr"), title, text; one row a passage.

    Example:
        >>> corpus().column_names
        ['doc_id', 'lang', 'title', 'text']
    """
    return pa.Table.from_pylist(_records("corpus.jsonl"), schema=_CORPUS)


def queries() -> pa.Table:
    """The queries with their ideal answers.

    Returns:
        Columns query_id, query, answer; one row a query. `answer` is null where no passage answers.

    Example:
        >>> queries().num_rows, queries()["answer"].null_count
        (24, 2)
    """
    return pa.Table.from_pylist(_records("queries.jsonl"), schema=_QUERIES)


def labels() -> pa.Table:
    """The hand labels: 3 answers, 2 answers a part, 1 is on the topic only, 0 is not relevant.

    Returns:
        Columns query_id, doc_id, label; one row a judged pair. A pair that is absent was not judged.

    Example:
        >>> labels().column_names, str(labels().schema.field("label").type)
        (['query_id', 'doc_id', 'label'], 'double')
    """
    pairs = [line.split("\t") for line in _text("qrels.tsv").splitlines()[1:]]
    rows = [{"query_id": query_id, "doc_id": doc_id, "label": float(grade)} for query_id, doc_id, grade in pairs]
    return pa.Table.from_pylist(rows, schema=_LABELS)


def copy_to(folder: Path) -> list[Path]:
    """Write the three files of the sample into a folder, for commands that read files.

    Args:
        folder: Made where absent. None of the three files may be in it.

    Returns:
        The files written: corpus.jsonl, queries.jsonl, qrels.tsv.

    Raises:
        FileExistsError: One of the files is there already (`filename` says which); then nothing is written.
    """
    targets = [folder / name for name in FILE_NAMES]
    for target in targets:
        if target.exists():
            raise FileExistsError(errno.EEXIST, "is there already; choose an empty folder", str(target))
    folder.mkdir(parents=True, exist_ok=True)
    for target in targets:
        target.write_bytes(files(__name__).joinpath(target.name).read_bytes())
    return targets


def _text(name: str) -> str:
    """One packaged file."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _records(name: str) -> list[dict[str, Any]]:
    """The objects of one packaged JSON Lines file."""
    return [json.loads(line) for line in _text(name).splitlines()]
