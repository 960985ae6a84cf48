"""TREC's two text files: runs (`q1 Q0 d1 1 12.3 tag`) and qrels (`q1 0 d1 2`).

Fields are separated by spaces or tabs; a line that begins with # and has not as many fields is a comment. As in
trec_eval, a run is ordered by score, highest first, equal scores by document id, last in byte order first; the rank
field is not used.

A file is read as columns (`fields`, `columnar`). Where that does not go, or something is wrong in it, it is read again
line by line, which says what is wrong and where.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from ragauge.errors import FormatError, InputError
from ragauge.io.columnar import LABEL_TYPES, RUN_TYPES, Order, labels_of, rankings_of
from ragauge.io.fields import is_comment, read_columns
from ragauge.io.rows import (
    Duplicates,
    Rows,
    check_ranking,
    finite,
    grade,
    labels_table,
    parse,
    raise_problems,
    rankings_table,
    unique,
)
from ragauge.io.text import numbered_lines, write_atomically

__all__ = ["read_qrels", "read_run", "write_run"]

_RUN = ("query_id", "Q0", "doc_id", "rank", "score", "run")
_QRELS = ("query_id", "0", "doc_id", "label")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of a run."""

    query_id: str
    run: str
    doc_id: str
    score: float


def read_run(path: str | Path, *, order: Order = "trec", duplicates: Duplicates = "error") -> pa.Table:
    """RANKINGS from a TREC run: one a query and tag, in the order of their first lines; run = tag.

    Scores are compared as 64-bit floats (trec_eval before 9.0.8 had 32).

    Args:
        path: The file, gzip or not.
        order: "trec" = by score and document id; "input" = as the lines stand.
        duplicates: A document that stands in a ranking twice is refused, or kept twice.

    Raises:
        FormatError: A line has not six fields, a score is not a finite number, or a document stands twice in a
            ranking; the first problems are shown together.
    """
    columns = read_columns(path, _RUN, RUN_TYPES)
    table = None if columns is None else rankings_of(columns, order=order, duplicates=duplicates)
    return _run_by_lines(path, order, duplicates) if table is None else table


def read_qrels(path: str | Path) -> pa.Table:
    """LABELS from TREC qrels.

    A negative grade says "pooled, not judged": the label is null and the reason "pooled_unjudged". Grades may be
    fractions. What stands twice alike counts once.

    Raises:
        FormatError: A line has not four fields, a grade is not a finite number, or a document has two grades; the first
            problems are shown together.
    """
    columns = read_columns(path, _QRELS, LABEL_TYPES)
    table = None if columns is None else labels_of(columns)
    return labels_table(_parsed(path, _QRELS, _label)) if table is None else table


def write_run(table: pa.Table, path: str | Path) -> None:
    """Writes RANKINGS as a TREC run, which holds neither texts nor labels.

    Where the scores do not give back a ranking's order when read (one is missing, or equal ones stand otherwise than
    by descending id), n, n-1, ..., 1 are written in their place: the order is what was ranked.

    Raises:
        InputError: A ranking has no documents, which the format cannot say, or a query, document or run has a space in
            its name.
    """
    with write_atomically(path) as file:
        for row in table.to_pylist():
            file.write("".join(_run_lines(check_ranking(row))).encode())


def _run_by_lines(path: str | Path, order: Order, duplicates: Duplicates) -> pa.Table:
    """The same table, or what is wrong with each line."""
    entries = _parsed(path, _RUN, _entry)
    if duplicates == "error":
        entries = unique(
            entries,
            lambda entry: (entry.query_id, entry.run, entry.doc_id),
            lambda entry: f"document {entry.doc_id!r} of query {entry.query_id!r}",
        )
    raise_problems(entries.problems)
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for entry in entries.rows:
        found.setdefault((entry.query_id, entry.run), []).append((entry.score, entry.doc_id))
    rankings = tuple(_ranking(query_id, run, documents, order) for (query_id, run), documents in found.items())
    return rankings_table(Rows(str(path), rankings, tuple(range(1, len(rankings) + 1)), ()))


def _parsed(path: str | Path, names: tuple[str, ...], read: Callable[[str], Row]) -> Rows[Row]:
    """The lines as `read` takes them; for a file of the other kind one error, not one a line."""
    entries = parse(path, _entries(path, names), read)
    n_lines, other = len(entries.problems), _RUN if names is _QRELS else _QRELS
    if n_lines and not entries.rows and all(_n_fields(line) == len(other) for _, line in _entries(path, names)):
        has = f"{n_lines:,} line{'' if n_lines == 1 else 's'} of {len(other)} fields ({' '.join(other)})"
        if other is _QRELS:
            raise FormatError(f"{path} looks like labels (qrels), not rankings: it has {has}; give it with --labels")
        raise FormatError(f"{path} looks like a run, not labels (qrels): it has {has}; give it as RANKINGS")
    return entries


def _entries(path: str | Path, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The numbered lines that are neither blank nor comments."""
    return ((number, line) for number, line in numbered_lines(path) if not is_comment(line, len(names)))


def _n_fields(line: str) -> int:
    """Only ASCII space separates, as in C's isspace, so ids may hold any other character."""
    return len(line.encode().split())


def _fields(line: str, names: tuple[str, ...]) -> list[str]:
    """The fields of a line."""
    fields = [field.decode() for field in line.encode().split()]
    if len(fields) != len(names):
        raise FormatError(f"expected {len(names)} fields ({' '.join(names)}), got {len(fields)}")
    return fields


def _entry(line: str) -> _Entry:
    query_id, _, doc_id, _, score, run = _fields(line, _RUN)
    return _Entry(query_id, run, doc_id, finite(score, "score"))


def _label(line: str) -> dict[str, Any]:
    query_id, _, doc_id, text = _fields(line, _QRELS)
    label, reason = grade(text)
    return {"query_id": query_id, "doc_id": doc_id, "label": label, "reason": reason}


def _ranking(query_id: str, run: str, documents: list[tuple[float, str]], order: Order) -> dict[str, Any]:
    """One row of RANKINGS; strings compare by code point, which is the order of their UTF-8 bytes."""
    ordered = sorted(documents, reverse=True) if order == "trec" else documents
    nothing = [None] * len(ordered)
    return {
        "query_id": query_id,
        "run": run,
        "doc_ids": [doc_id for _, doc_id in ordered],
        "scores": [score for score, _ in ordered],
        "texts": nothing,
        "labels": nothing,
    }


def _run_lines(row: dict[str, Any]) -> Iterator[str]:
    """The lines of one ranking."""
    query_id, run, doc_ids = row["query_id"], row["run"], row["doc_ids"]
    if not doc_ids:
        raise InputError(f"query {query_id!r} has no documents, which a TREC run cannot say; write .jsonl or .parquet")
    for name in (query_id, run, *doc_ids):
        if len(name.encode().split()) != 1:
            raise InputError(f"{name!r} of query {query_id!r} has a space or is empty; write .jsonl or .parquet")
    for rank, (doc_id, score) in enumerate(zip(doc_ids, _ordering_scores(row), strict=True), start=1):
        yield f"{query_id} Q0 {doc_id} {rank} {score!r} {run}\n"


def _ordering_scores(row: dict[str, Any]) -> list[float]:
    """The scores, if sorting by them gives the ranking back; else falling whole numbers."""
    scores, doc_ids = row["scores"], row["doc_ids"]
    pairs = list(zip(scores, doc_ids, strict=True))
    if None not in scores and pairs == sorted(pairs, reverse=True):
        return list(scores)
    return list(range(len(doc_ids), 0, -1))
