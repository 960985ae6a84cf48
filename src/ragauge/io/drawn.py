"""Rankings of which a label design drew some documents: the design stands in each record, so the two cannot part.

    {"query_id": "q1", "run": "bm25", "design": {"name": "one-per-query", "cutoff": 10}, "documents": [
        {"doc_id": "d1", "score": 3.2}, {"doc_id": "d2", "score": 2.9, "label": 1, "drawn": true}, ...]}

"stratum" names a document's stratum where the design has more than one, "turn" and "n_pilot" stand in the design of
queries that were labelled one after the other. Readers of plain rankings pass over all of this.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import (
    QUERY_ID,
    Record,
    decode_record,
    identifier,
    number,
    objects,
    parse_records,
    ranking_record,
    string,
)
from ragauge.io.rows import raise_problems
from ragauge.io.text import numbered_lines, stem, write_atomically
from ragauge.schema import DRAWN, RANKINGS, conform

__all__ = ["design_of_file", "read_drawn", "write_drawn_rankings"]

_ONE_STRATUM = "all"


def write_drawn_rankings(rankings: pa.Table, drawn: pa.Table, path: str | Path) -> None:
    """Writes RANKINGS with the DRAWN of the same rows, one a line."""
    plan = conform(drawn, DRAWN, what="label design")
    rows = rankings.select(RANKINGS.names).to_pylist()
    with write_atomically(path) as file:
        for row, design in zip(rows, plan.to_pylist(), strict=True):
            file.write(json.dumps(_record(row, design), ensure_ascii=False).encode() + b"\n")


def design_of_file(path: str | Path) -> str:
    """The name of the design by which a file was labelled, by its first line; "" where it is a plain one."""
    try:
        first = decode_record(next((line for _, line in numbered_lines(path)), "{}"))
        design = first.get("design")
        return (string(design, "name") or "") if isinstance(design, dict) and "documents" in first else ""
    except FormatError:  # some other kind of file, which its own reader will say more of
        return ""


def read_drawn(path: str | Path) -> pa.Table:
    """DRAWN from a file that `write_drawn_rankings` wrote.

    Raises:
        FormatError: A line has no design, or its documents are not marked as it needs.
    """
    run = stem(path)
    found = parse_records(path, lambda record: _row(record, run))
    raise_problems(found.problems)
    return pa.Table.from_pylist(list(found.rows), schema=DRAWN)


def _record(row: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    record = ranking_record(row)
    design = {"name": plan["design"], "cutoff": plan["cutoff"], "turn": plan["turn"], "n_pilot": plan["n_pilot"]}
    for document, drawn, stratum in zip(record["documents"], plan["drawn"], plan["strata"], strict=False):
        document |= {"stratum": stratum} if stratum != _ONE_STRATUM else {}
        document |= {"drawn": True} if drawn else {}
    shown = {key: value for key, value in design.items() if value is not None}
    return {key: value for key, value in record.items() if key != "documents"} | {
        "design": shown,
        "documents": record["documents"],
    }


def _row(record: Record, run: str) -> dict[str, Any]:
    design = record.get("design")
    if not isinstance(design, dict) or not string(design, "name"):
        raise FormatError("no 'design' with a 'name'; ragauge label --design writes it into every record")
    cutoff = number(design, "cutoff")
    if cutoff is None or cutoff < 1 or cutoff != int(cutoff):
        raise FormatError(f"the cutoff of a design must be a positive whole number, got {design.get('cutoff')!r}")
    query = string(record, "query")
    top = objects(record, "documents")[: int(cutoff)]
    return {
        "query_id": identifier(record, QUERY_ID, query, text_key="query"),
        "run": string(record, "run") or run,
        "design": design["name"],
        "cutoff": int(cutoff),
        "turn": _whole(design, "turn"),
        "n_pilot": _whole(design, "n_pilot"),
        "strata": [string(document, "stratum") or _ONE_STRATUM for document in top],
        "drawn": [bool(number(document, "drawn")) for document in top],
    }


def _whole(record: Record, key: str) -> int | None:
    value = number(record, key)
    return None if value is None else int(value)
