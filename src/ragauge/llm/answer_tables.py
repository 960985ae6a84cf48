"""Grades and preferences of whole tables of answers, as systems gave them."""

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

import pyarrow as pa

from ragauge.errors import InputError
from ragauge.llm.grade import GradeTask, RepeatedGrade, grade_repeatedly
from ragauge.llm.model import Model
from ragauge.llm.pool import UNSENT, Ask, ask_all
from ragauge.llm.prefer import TIE_MARGIN, PairTask, Preference, prefer_all
from ragauge.llm.prompts import COMPARE, GRADE
from ragauge.schema import ANSWER_GRADES, ANSWERS, LABELS, PREFERENCES, check
from ragauge.store import Store

__all__ = ["answer_pairs", "compare_answers", "grade_answers"]

Row = dict[str, Any]


def grade_answers(
    answers: pa.Table,
    *,
    model: Model,
    store: Store,
    repeats: int = 1,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> pa.Table:
    """A grade of 1 to 5 for every answer, and its spread over `repeats`; kept in the store as judgements, too.

    Args:
        answers: `schema.ANSWERS`.
        model: The grader.
        store: Holds and keeps all replies; the grades become its judgements with the task "grade", of the judge and the
            rubric "grade/1", or "grade/1 x3" for the mean of three.
        repeats: How often each answer is graded, see `grade_repeatedly`.
        on_progress: Called with the number of gradings just done, of answers.num_rows * repeats.
        ask: How replies are got; `functools.partial(ask_all, budget=...)` bounds what they may cost.

    Returns:
        `schema.ANSWER_GRADES`, one row an answer, answers to one query next to each other.

    Raises:
        InputError: `repeats` is below 1.
        SchemaError: `answers` is not as its schema says.
        StoreError: The store cannot be read or written.
    """
    rows = [row for of_query in _by_query(answers) for row in of_query]
    tasks = [GradeTask(row["query"], row["ideal"] or "", row["answer"] or "") for row in rows]
    found = grade_repeatedly(tasks, repeats=repeats, model=model, store=store, on_progress=on_progress, ask=ask)
    rubric = GRADE.id if repeats == 1 else f"{GRADE.id} x{repeats}"
    judge = f"{model.name} {rubric}"
    graded = [_graded(row, one, judge) for row, one in zip(rows, found, strict=True)]
    _keep(graded, found, store, rubric)
    return pa.Table.from_pylist(graded, schema=ANSWER_GRADES)


def compare_answers(
    answers: pa.Table,
    *,
    model: Model,
    store: Store,
    margin: float = TIE_MARGIN,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> pa.Table:
    """Which of each two systems answers each query better, asked in both orders; see `prefer_all`.

    Args:
        answers: `schema.ANSWERS` of two systems or more, each with one answer a query. Of a query, the systems that
            answered it are compared.
        model: Who compares.
        store: Holds and keeps all replies.
        margin: Mean probabilities nearer than this to 0.5 are ties.
        on_progress: Called with the number of calls just done, of 2 * len(answer_pairs(answers)).
        ask: How replies are got.

    Returns:
        `schema.PREFERENCES`, query by query; `first` is the system that stands first in `answers`.

    Raises:
        InputError: No query was answered by two systems, a system answered one twice, or one has two ideal answers.
        SchemaError: `answers` is not as its schema says.
        StoreError: The store cannot be read or written.
    """
    pairs = answer_pairs(answers)
    tasks = [PairTask(one["query"], one["ideal"] or "", one["answer"] or "", two["answer"] or "") for one, two in pairs]
    found = prefer_all(tasks, model=model, store=store, margin=margin, on_progress=on_progress, ask=ask)
    judge = f"{model.name} {COMPARE.id}"
    rows = [_preferred(one, two, what, judge) for (one, two), what in zip(pairs, found, strict=True)]
    return pa.Table.from_pylist(rows, schema=PREFERENCES)


def answer_pairs(answers: pa.Table) -> list[tuple[Row, Row]]:
    """Each two answers to one query, query by query; Raises as `compare_answers`."""
    place = {system: at for at, system in enumerate(dict.fromkeys(answers.column("system").to_pylist()))}
    queries = [sorted(rows, key=lambda row: place[row["system"]]) for rows in _by_query(answers)]
    if problems := [problem for rows in queries for problem in _incomparable(rows)]:
        raise InputError.collect(problems)
    pairs = [pair for rows in queries for pair in combinations(rows, 2)]
    if not pairs:
        raise InputError(
            f"no query has answers of two systems; found: {', '.join(place) or 'no answers'}; name the system of each "
            "answer in a column 'system', or give a file for each"
        )
    return pairs


def _by_query(answers: pa.Table) -> list[list[Row]]:
    """The rows of each query, queries in the order of their first row."""
    queries: dict[str, list[Row]] = {}
    for row in check(answers, ANSWERS, what="answers").select(ANSWERS.names).to_pylist():
        queries.setdefault(row["query_id"], []).append(row)
    return list(queries.values())


def _incomparable(rows: Sequence[Row]) -> list[str]:
    """What hinders comparing the answers to one query, which are sorted by system."""
    query = f"query {rows[0]['query_id']!r}"
    found = [
        f"{query}: system {one['system']!r} has two answers; each system needs one a query to be compared"
        for one, two in pairwise(rows)
        if one["system"] == two["system"]
    ]
    if len({row["ideal"] for row in rows}) > 1:
        found.append(f"{query} has two ideal answers; systems are compared against one")
    return found


def _graded(row: Row, found: RepeatedGrade, judge: str) -> Row:
    named = {name: row[name] for name in ("query_id", "answer_id", "system")}
    read = {name: getattr(found, name) for name in ("grade", "repeat_sd", "expected", "expected_sd", "reason")}
    return named | read | {"grades": list(found.grades), "judge": judge}


def _keep(graded: Sequence[Row], found: Sequence[RepeatedGrade], store: Store, rubric: str) -> None:
    """Puts the grades into the store; an answer that was not asked about, or not as often as wanted, was not judged."""
    rows, keys = [], []
    for row, one in zip(graded, found, strict=True):
        if row["reason"] not in UNSENT:
            reason = row["reason"] if row["grade"] is None else None
            said = {"doc_id": row["answer_id"], "label": row["grade"], "reason": reason}
            rows.append({"query_id": row["query_id"], "judge": row["judge"]} | said)
            keys.append(one.outcomes[0].reply_key if len(one.outcomes) == 1 else None)
    labels = pa.Table.from_pylist(rows, schema=LABELS)
    store.put_labels(labels, kind="model", rubric=rubric, task="grade", reply_keys=keys)


def _preferred(one: Row, two: Row, found: Preference, judge: str) -> Row:
    read = {name: getattr(found, name) for name in ("p_first", "as_a", "as_b", "verdict", "by_order", "reason")}
    return {"query_id": one["query_id"], "first": one["system"], "second": two["system"], "judge": judge} | read
