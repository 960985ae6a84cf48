"""Rankings with labels by several judges: each label stands beside the name of who gave it.

    {"query_id": "q1", "run": "bm25", "documents": [{"doc_id": "d1", "label": 0.9, "judge": "gpt-4o label/1"}, ...]}

`read_labels` reads the judges too; readers of plain rankings pass over them.
"""

import json
from pathlib import Path

import pyarrow as pa

from ragauge.io.jsonl import ranking_record
from ragauge.io.text import write_atomically
from ragauge.schema import LABELS, RANKINGS, check

__all__ = ["write_rankings_of_judges"]


def write_rankings_of_judges(rankings: pa.Table, labels: pa.Table, path: str | Path) -> None:
    """Writes RANKINGS with their labels one a line, each label with its judge out of the LABELS it came from."""
    rows = check(labels, LABELS, what="labels").select(["query_id", "doc_id", "judge"]).to_pylist()
    judges = {(row["query_id"], row["doc_id"]): row["judge"] for row in rows}
    with write_atomically(path) as file:
        for row in check(rankings, RANKINGS, what="the rankings table").select(RANKINGS.names).to_pylist():
            record = ranking_record(row)
            for document in record["documents"]:
                judge = judges.get((row["query_id"], document["doc_id"]))
                document |= {"judge": judge} if judge and "label" in document else {}
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
