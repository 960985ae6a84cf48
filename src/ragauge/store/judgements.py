"""Judgements in the tables: people's and models' side by side, the last word of each judge on a pair in force."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from sqlalchemy import Connection, Select, func, insert, select

from ragauge.errors import InputError
from ragauge.schema import JUDGEMENTS, LABELS, check
from ragauge.store.database import Database, batches, id_of
from ragauge.store.keys import key_bytes, key_text, storable
from ragauge.store.records import JudgeCount
from ragauge.store.tables import Moment, judgements, judges

__all__ = ["Judge", "NewJudgement", "add_judgements", "count_judgements", "find_judgements", "judgements_by_judge"]


@dataclass(frozen=True)
class Judge:
    """Who judges what, by which version of which rubric or prompt."""

    judge: str
    kind: str
    task: str
    rubric: str


@dataclass(frozen=True)
class NewJudgement:
    """A judgement on its way into the tables."""

    query_id: str
    doc_id: str
    label: float | None
    reason: str | None
    reply_key: bytes | None = None

    def says(self) -> tuple[float | None, str | None, bytes | None]:
        """What is compared with the judgement in force."""
        return (self.label, self.reason, self.reply_key)


def judgements_by_judge(
    labels: pa.Table, judge: str | None, reply_keys: Sequence[str | None] | None
) -> dict[str, list[NewJudgement]]:
    """Judge -> judgements, in the order of the table; rows without a label and a reason are none."""
    check(labels, LABELS, what="labels")
    rows = labels.select(LABELS.names).to_pylist()
    keys = [None] * len(rows) if reply_keys is None else reply_keys
    if len(keys) != len(rows):
        raise InputError(f"reply_keys must be one a row, got {len(keys)} for {len(rows)} labels")
    by_judge: dict[str, list[NewJudgement]] = {}
    problems = []
    for row, key in zip(rows, keys, strict=True):
        who = storable(row["judge"] or judge or "")
        if row["label"] is None and not row["reason"]:
            continue
        if problem := _label_problem(row, who):
            problems.append(f"document {row['doc_id']!r} of query {row['query_id']!r}: {problem}")
        else:
            by_judge.setdefault(who, []).append(_new_judgement(row, key))
    if problems:
        raise InputError.collect(problems)
    return by_judge


def _label_problem(row: Mapping[str, Any], who: str) -> str | None:
    if not who:
        return "nobody is named as its judge; fill the column 'judge', or name one for all"
    if row["label"] is not None and not math.isfinite(row["label"]):
        return f"a label must be a finite number, got {row['label']}"
    return "an id must not hold the character NUL" if "\0" in row["query_id"] + row["doc_id"] else None


def _new_judgement(row: Mapping[str, Any], key: str | None) -> NewJudgement:
    reason = None if row["reason"] is None else storable(row["reason"])
    return NewJudgement(row["query_id"], row["doc_id"], row["label"], reason, None if key is None else key_bytes(key))


def add_judgements(connection: Connection, judge: Judge, new: Sequence[NewJudgement], *, at: str) -> int:
    """Appends those that say something else than the judgement in force; how many they were."""
    judge_id = id_of(connection, judges, vars(judge))
    added = 0
    for batch in batches(new):
        in_force = _in_force(connection, judge_id, sorted({one.query_id for one in batch}))
        rows = []
        for one in batch:
            pair = (one.query_id, one.doc_id)
            if in_force.get(pair) != one.says():
                in_force[pair] = one.says()
                rows.append({**vars(one), "judge_id": judge_id, "created_at": at})
        if rows:
            connection.execute(insert(judgements), rows)
        added += len(rows)
    return added


def _in_force(connection: Connection, judge_id: int, query_ids: Sequence[str]) -> dict[tuple[str, str], Any]:
    """Pair -> what this judge last said of it."""
    columns = judgements.c
    statement = (
        select(columns.query_id, columns.doc_id, columns.label, columns.reason, columns.reply_key)
        .where(columns.query_id.in_(query_ids), columns.judge_id == judge_id)
        .order_by(columns.created_at, columns.id)
    )
    return {(row[0], row[1]): (row[2], row[3], _bytes(row[4])) for row in connection.execute(statement)}


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def find_judgements(
    database: Database, *, history: Literal["in_force", "all"], query_ids: Sequence[str] | None, **equal: str | None
) -> pa.Table:
    """`schema.JUDGEMENTS` of the judges with these properties (None: any), by query, document and time."""
    statement = _statement(history, equal)
    if query_ids is None:
        rows = database.read(lambda connection: _records(connection, statement))
    else:
        rows = database.read(
            lambda connection: [
                record
                for batch in batches(sorted(set(query_ids)))
                for record in _records(connection, statement, query_ids=batch)
            ]
        )
    return pa.Table.from_pylist(rows, schema=JUDGEMENTS)


def _statement(history: str, equal: dict[str, str | None]) -> Select[Any]:
    columns = judgements.c
    pair = (columns.judge_id, columns.query_id, columns.doc_id)
    by_time = (columns.created_at, columns.id)
    rows = (
        select(
            *(columns.id, columns.query_id, columns.doc_id, columns.label, columns.reason),
            *(judges.c.judge, judges.c.kind, judges.c.task, judges.c.rubric),
            *(columns.reply_key, columns.created_at),
            func.lead(columns.id).over(partition_by=pair, order_by=by_time).label("superseded_by"),
            func.lead(columns.created_at, type_=Moment)
            .over(partition_by=pair, order_by=by_time)
            .label("superseded_at"),
        )
        .join(judges)
        .where(*(judges.c[name] == value for name, value in equal.items() if value is not None))
        .subquery()
    )
    statement = select(rows).order_by(rows.c.query_id, rows.c.doc_id, rows.c.created_at, rows.c.id)
    return statement if history == "all" else statement.where(rows.c.superseded_by.is_(None))


def _records(
    connection: Connection, statement: Select[Any], *, query_ids: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    if query_ids is not None:
        statement = statement.where(statement.selected_columns["query_id"].in_(query_ids))
    return list(_readable(connection, statement))


def _readable(connection: Connection, statement: Select[Any]) -> Iterator[dict[str, Any]]:
    for row in connection.execute(statement).mappings():
        key = row["reply_key"]
        yield {**row, "reply_key": None if key is None else key_text(key)}


def count_judgements(connection: Connection) -> list[JudgeCount]:
    """How much each judge judged."""
    by = (judges.c.judge, judges.c.kind, judges.c.task, judges.c.rubric)
    counts = (
        func.count(),
        func.count() - func.count(judgements.c.label),
        func.min(judgements.c.created_at),
        func.max(judgements.c.created_at),
    )  # in the order of JudgeCount's fields
    statement = select(*by, *counts).select_from(judgements).join(judges).group_by(*by).order_by(*by)
    return [JudgeCount(*row) for row in connection.execute(statement)]
