"""The documents to label, as rankings on JSON lines that people, or `ragauge label`, fill in.

    {"query_id": "q1", "query": "...", "run": "label plan", "scope": "all", "documents": [
        {"doc_id": "d1", "text": "...", "rank": 1, "stratum": "near", "probability": 1.0, "label": null}, ...]}

`ragauge label` writes the same documents with labels and without strata, so keep the plan: scoring reads both.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import DOC_ID, QUERY_ID, Record, identifier, number, objects, parse_records, string
from ragauge.io.rows import raise_problems
from ragauge.io.text import write_atomically
from ragauge.schema import LABEL_PLAN, conform

__all__ = ["read_label_plan", "write_label_plan"]

SCOPES = ("all", "query", "none")


def read_label_plan(path: str | Path) -> pa.Table:
    """LABEL_PLAN from a file that `write_label_plan` wrote, with the labels that were filled in since.

    Raises:
        FormatError: A line is not a query of such a plan.
    """
    found = parse_records(path, _rows)
    raise_problems(found.problems)
    return pa.Table.from_pylist([row for rows in found.rows for row in rows], schema=LABEL_PLAN)


def write_label_plan(plan: pa.Table, path: str | Path) -> None:
    """Writes LABEL_PLAN one query a line; documents keep their order."""
    rows = conform(plan, LABEL_PLAN, what="label plan").to_pylist()
    with write_atomically(path) as file:
        for _, documents in groupby(rows, key=lambda row: row["query_id"]):
            file.write(json.dumps(_record(documents), ensure_ascii=False).encode() + b"\n")


def _record(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    documents = list(rows)
    head = {name: documents[0][name] for name in ("query_id", "query") if documents[0][name] is not None}
    keys = ("doc_id", "text", "rank", "stratum", "probability", "label")
    listed = [{key: row[key] for key in keys if key != "text" or row[key] is not None} for row in documents]
    return {**head, "run": "label plan", "scope": documents[0]["scope"], "documents": listed}


def _rows(record: Record) -> list[dict[str, Any]]:
    query, scope = string(record, "query"), string(record, "scope")
    if scope not in SCOPES:
        raise FormatError(f"'scope' must be one of {', '.join(SCOPES)}, got {scope!r}; ragauge plan-labels writes it")
    query_id = identifier(record, QUERY_ID, query, text_key="query")
    head = {"query_id": query_id, "query": query, "scope": scope}
    return [{**head, **_document(document)} for document in objects(record, "documents")]


def _document(document: Record) -> dict[str, Any]:
    text, stratum = string(document, "text"), string(document, "stratum")
    probability, rank = number(document, "probability"), number(document, "rank")
    if stratum is None or rank is None or probability is None or not 0 < probability <= 1:
        raise FormatError("a planned document needs 'rank', 'stratum' and a 'probability' in 0..1, above 0")
    label = number(document, "label")
    if label is not None and label < 0:
        raise FormatError(f"'label' must be 0 or more, got {label:g}; write null for what is not judged")
    doc_id = identifier(document, DOC_ID, text, text_key="text")
    values = {"text": text, "rank": int(rank), "stratum": stratum, "probability": probability, "label": label}
    return {"doc_id": doc_id, **values}
