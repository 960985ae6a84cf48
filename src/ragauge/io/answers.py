"""Answers to grade, with the ideal ones; the sheet on which people grade them, and grades, theirs and a model's.

    {"query_id": "q1", "query": "...", "ideal": "...", "system": "bm25", "answer_id": "a1", "answer": "..."}

JSON Lines, a JSON list, CSV or TSV with a header, or Parquet; a missing id is the hash of the text it would name.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.attributes import lookup
from ragauge.io.content import Content, content_of
from ragauge.io.jsonl import identifier
from ragauge.io.rows import Rows, finite, labels_table, parse, raise_problems
from ragauge.io.tabular import write_table
from ragauge.io.text import content_id, stem
from ragauge.schema import ANSWERS, check

__all__ = ["is_grades", "read_answers", "read_grades", "write_answer_sheet"]

Record = Mapping[str, Any]

_QUERY_ID = ("query_id", "_id", "id", "query-id", "qid")
_SYSTEM = ("system", "run", "model")
_TEXTS = {
    "query": ("query", "question", "user_input", "input", "inputs.question", "inputs.query"),
    "ideal": (
        *("ideal", "ideal_answer", "answer_ideal", "reference", "reference_answer", "ground_truth", "ground_truths"),
        *("expected_output", "expectedOutput", "expected_answer", "expectations.expected_response"),
    ),
    "answer": ("answer", "response", "actual_output", "actualOutput", "answer_topk", "answer_topK", "outputs"),
}
"""The spellings of ours, ragas, deepeval, MLflow and the public retrieval-response data; the first one found counts."""

_LOWEST, _HIGHEST = 1, 5
_SHEET = ("query_id", "answer_id", "grade")
"""What a sheet of grades needs, as `ragauge grade` names it."""


def read_answers(paths: Sequence[str | Path]) -> pa.Table:
    """ANSWERS from one file or several; an answer that names no system is of the one its file is named after.

    Args:
        paths: Files of records with the texts `query`, `ideal` (ragas: `reference`, deepeval: `expected_output`) and
            `answer` (`response`, `actual_output`), and where there are such, the ids `query_id` and `answer_id` and the
            name of the `system` (`run`, `model`).

    Returns:
        One row an answer. Empty texts of answers and ideal answers are null: they cannot be graded.

    Raises:
        FormatError: A file cannot be read, has no column for one of the texts, or has a question without a text; a
            query has two texts, an `answer_id` names two of its answers, or a system gave one of them twice.
    """
    names = [stem(path) for path in paths]
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for path, name in zip(paths, names, strict=True):
        content = content_of(path)
        system = name if names.count(name) == 1 else str(path)
        _check_columns(content)
        found = _parsed(content, partial(_answer, system=system))
        rows += found.rows
        problems += found.problems
    raise_problems([*problems, *_contradictions(rows)])
    return pa.Table.from_pylist(rows, schema=ANSWERS)


def is_grades(path: str | Path) -> bool:
    """Whether there is such a file, and it holds grades of answers: records with `answer_id` and `grade`.

    Raises:
        FormatError: It cannot be read.
    """
    return Path(path).is_file() and any({"answer_id", "grade"} <= record.keys() for record in content_of(path).sample)


def read_grades(path: str | Path) -> pa.Table:
    """LABELS from a sheet that somebody filled in, or from what `ragauge grade` wrote; `doc_id` names the answer.

    Columns: query_id, answer_id, grade, and where there are such, judge (or rater) and reason. An empty grade is null.
    What one judge said of one answer twice, alike, is kept once: systems may have given the same answer.

    Raises:
        FormatError: The file cannot be read, lacks a column, a grade is not of 1 to 5, or a judge gave one answer two.
    """
    content = content_of(path)
    found = list(dict.fromkeys(key for record in content.sample for key in record))
    if missing := [name for name in _SHEET if name not in found]:
        raise FormatError(f"no column {', '.join(map(repr, missing))} in {content.name}; found: {', '.join(found)}")
    return labels_table(_parsed(content, _grade_row))


def write_answer_sheet(answers: pa.Table, path: str | Path, *, seed: int = 0) -> int:
    """Writes ANSWERS as a sheet for people to grade on, and returns how many answers it has.

    Columns: query_id, answer_id, query, ideal, answer, and an empty grade. Queries stand in random order, and so do the
    answers to each; what system gave them is not told, and an answer that several gave stands once. Answers that cannot
    be graded are left out.

    Args:
        answers: `schema.ANSWERS`.
        path: .csv, .tsv, .jsonl or .parquet.
        seed: Of the order.

    Raises:
        FormatError: Another extension.
    """
    names = ("query_id", "answer_id", "query", "ideal", "answer")
    rows = check(answers, ANSWERS, what="answers").to_pylist()
    once = {(row["query_id"], row["answer_id"]): row for row in rows if row["ideal"] and row["answer"]}
    distinct = list(once.values())
    place = np.random.default_rng(seed).permutation(len(distinct))
    first: dict[str, int] = {}
    for at in place:
        first.setdefault(distinct[at]["query_id"], len(first))
    ordered = sorted((distinct[at] for at in place), key=lambda row: first[row["query_id"]])
    columns = {name: pa.array([row[name] for row in ordered], pa.string()) for name in names}
    write_table(pa.table(columns | {"grade": pa.nulls(len(ordered), pa.float64())}), path)
    return len(ordered)


def _parsed(content: Content, read: Callable[[Record], dict[str, Any]]) -> Rows[dict[str, Any]]:
    """`read` called on each record; places are such as "line 3"."""
    numbered = [(place.partition(" "), decode) for place, decode in content.records()]
    if not numbered:
        raise FormatError(f"{content.name} holds no records; give JSON Lines, a JSON list, CSV, TSV or Parquet")
    unit = numbered[0][0][0]
    items = ((int(number), decode) for (_, _, number), decode in numbered)
    return parse(content.name, items, lambda decode: read(decode()), unit=unit)


def _check_columns(content: Content) -> None:
    """The first records say each text under one of its names."""
    for name, spellings in _TEXTS.items():
        if content.sample and not any(_has(record, spelling) for record in content.sample for spelling in spellings):
            found = ", ".join(dict.fromkeys(key for record in content.sample for key in record))
            raise FormatError(
                f"no column {name!r} in {content.name}, nor another name of it ({', '.join(spellings[1:])}); "
                f"found: {found or 'none'}"
            )


def _has(record: Record, spelling: str) -> bool:
    return spelling in record or lookup(record, spelling) is not None


def _answer(record: Record, *, system: str) -> dict[str, Any]:
    """One row of ANSWERS."""
    texts = {name: _text(record, name) for name in _TEXTS}
    if texts["query"] is None:
        raise FormatError(f"no text for 'query'; found: {', '.join(record) or 'no keys'}")
    named = next((record[name] for name in _SYSTEM if record.get(name)), system)
    return {
        "query_id": identifier(record, _QUERY_ID, texts["query"], text_key="query"),
        "answer_id": _answer_id(record, texts["answer"] or ""),
        "system": str(named),
        **texts,
    }


def _answer_id(record: Record, answer: str) -> str:
    given = record.get("answer_id") is not None
    return identifier(record, ("answer_id",), None, text_key="answer") if given else content_id(answer)


def _text(record: Record, name: str) -> str | None:
    """The text under one of its names, or the only one of a list; None where it is empty."""
    for spelling in _TEXTS[name]:
        value = lookup(record, spelling)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None:
            continue
        if not isinstance(value, str):
            what = f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
            raise FormatError(f"{spelling!r} must be one text, got {what}")
        return value.strip() or None
    return None


def _contradictions(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Ids that name two things, and answers that stand twice."""
    found: dict[str, None] = {}
    queries: dict[str, str] = {}
    answers: dict[tuple[str, str], str | None] = {}
    given: set[tuple[str, str, str]] = set()
    for row in rows:
        query_id, answer_id, system = row["query_id"], row["answer_id"], row["system"]
        if queries.setdefault(query_id, row["query"]) != row["query"]:
            found[f"query {query_id!r} has two texts: {queries[query_id]!r} and {row['query']!r}"] = None
        if answers.setdefault((query_id, answer_id), row["answer"]) != row["answer"]:
            hint = "give each answer its own, or leave the column out"
            found[f"answer_id {answer_id!r} names two answers to query {query_id!r}; {hint}"] = None
        elif (query_id, answer_id, system) in given:
            found[f"answer {answer_id!r} to query {query_id!r} stands twice for system {system!r}"] = None
        given.add((query_id, answer_id, system))
    return list(found)


def _grade_row(record: Record) -> dict[str, Any]:
    """One row of LABELS."""
    grade = record.get("grade")
    label = None if grade is None or not str(grade).strip() else finite(str(grade).strip(), "grade")
    if label is not None and not _LOWEST <= label <= _HIGHEST:
        raise FormatError(
            f"a grade must be {_LOWEST} to {_HIGHEST}, got {label:g}; of another scale, name the columns with --unit, "
            "--rater and --rating"
        )
    return {
        "query_id": identifier(record, ("query_id",), None, text_key="query_id"),
        "doc_id": identifier(record, ("answer_id",), None, text_key="answer_id"),
        "label": label,
        "reason": record.get("reason"),
        "judge": record.get("judge") or record.get("rater"),
    }
