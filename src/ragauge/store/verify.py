"""Whether a store is still as it was written: the database's own check, and ours of every row."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Row, Table, func, select

from ragauge.errors import StoreError
from ragauge.store.database import Database
from ragauge.store.keys import key_text
from ragauge.store.packing import unpack
from ragauge.store.records import Damage
from ragauge.store.replies import SOURCE, Source, find_known, named_sources, reply_problem
from ragauge.store.tables import failures, judgements, judges, later_replies, replies, vectors
from ragauge.store.vectors import VECTOR_TYPE

__all__ = ["count_rows", "find_damage", "row_name"]

_TABLES = (replies, later_replies, failures, judgements, vectors)


def count_rows(database: Database) -> int:
    """Rows that `find_damage` looks at."""
    return sum(
        database.read(lambda connection, table=table: connection.execute(_count(table)).scalar_one())  # type: ignore[misc]
        for table in _TABLES
    )


def row_name(table: Table, row: Row[Any]) -> str:
    """How a `Damage` names the row."""
    if table in (replies, later_replies):
        return key_text(row.key)
    return f"{row.model_id} {row.text_hash}" if table is vectors else str(row.id)


def _count(table: Table) -> Any:
    return select(func.count()).select_from(table)


def find_damage(database: Database, *, on_progress: Callable[[int], None]) -> Iterator[Damage]:
    """Every row that is damaged, table by table."""
    yield from _file_damage(database)
    known_sources: dict[int, Source] = {}
    known_judges: set[int] = set()
    try:
        known_sources = database.read(named_sources)
        known_judges = {row.id for page in database.pages(judges) for row in page}
    except StoreError as error:
        yield Damage("sources and judges", "", str(error))
    checks: list[tuple[Table, Callable[[Sequence[Row[Any]]], Iterator[Damage]]]] = [
        (replies, lambda page: _reply_damage(replies, page, known_sources)),
        (later_replies, lambda page: _later_damage(database, page, known_sources)),
        (failures, _failure_damage),
        (judgements, lambda page: _judgement_damage(database, page, known_judges)),
        (vectors, _VectorCheck()),
    ]
    for table, check in checks:
        lost: list[int] = []
        try:
            for page in database.pages(table, lost=lost):
                yield from check(page)
                on_progress(len(page))
        except StoreError as error:
            yield Damage(table.name, "and all after it", str(error))
        for first, last in _runs(lost):
            rows = f"row {first}" if first == last else f"rows {first} to {last}"
            yield Damage(table.name, rows, "cannot be read: that part of the file is damaged")


def _runs(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of ids that follow each other."""
    places = [place for place, id_ in enumerate(ids) if not place or ids[place - 1] + 1 < id_]
    yield from ((ids[first], ids[end - 1]) for first, end in pairwise([*places, len(ids)]))


def _file_damage(database: Database) -> Iterator[Damage]:
    """SQLite's own check of its pages and indexes; PostgreSQL checks what it reads by itself."""
    if database.dialect != "sqlite":
        return
    try:
        found = database.read(lambda connection: connection.exec_driver_sql("PRAGMA integrity_check").scalars().all())
    except StoreError as error:
        yield Damage("file", database.name, str(error))
        return
    yield from (Damage("file", database.name, text) for text in found if text != "ok")


def _reply_damage(table: Table, page: Sequence[Row[Any]], known_sources: dict[int, Source]) -> Iterator[Damage]:
    for row in page:
        problem = (
            reply_problem(row.key, row.request, row.reply)
            or _source_problem(row, known_sources)
            or _time_problem(row.created_at)
        )
        if problem:
            yield _damage(table, row, problem)


def _source_problem(row: Row[Any], known_sources: dict[int, Source]) -> str | None:
    source = known_sources.get(row.source_id)
    if source is None:
        return f"its source {row.source_id} is not there"
    request = json.loads(unpack(row.request))
    if any(str(request.get(name) or "") != value for name, value in zip(SOURCE[1:], source[1:], strict=True)):
        return "its source is not the model, endpoint and prompt of its request"
    return None


def _time_problem(created_at: str) -> str | None:
    try:
        datetime.fromisoformat(created_at)
    except ValueError:
        return f"its time cannot be read ({created_at!r:.40})"
    return None


def _later_damage(database: Database, page: Sequence[Row[Any]], known_sources: dict[int, Source]) -> Iterator[Damage]:
    yield from _reply_damage(later_replies, page, known_sources)
    known = database.read(lambda connection: find_known(connection, [bytes(row.key) for row in page]))
    for row in page:
        if row.key not in known:
            yield _damage(later_replies, row, "there is no first reply to its request")


def _failure_damage(page: Sequence[Row[Any]]) -> Iterator[Damage]:
    for row in page:
        if problem := _time_problem(row.created_at):
            yield _damage(failures, row, problem)


def _judgement_damage(database: Database, page: Sequence[Row[Any]], known_judges: set[int]) -> Iterator[Damage]:
    keys = sorted({bytes(row.reply_key) for row in page if row.reply_key is not None})
    known = database.read(lambda connection: find_known(connection, keys))
    for row in page:
        if problem := _judgement_problem(row, known, known_judges):
            yield _damage(judgements, row, problem)


def _judgement_problem(row: Row[Any], known: set[bytes], known_judges: set[int]) -> str | None:
    if row.judge_id not in known_judges:
        return f"its judge {row.judge_id} is not there"
    if row.label is None and not row.reason:
        return "it has neither a label nor a reason"
    if row.label is not None and not np.isfinite(row.label):
        return f"its label is {row.label}"
    if row.reply_key is not None and row.reply_key not in known:
        return f"the reply {key_text(row.reply_key)} that it was read from is not there"
    return _time_problem(row.created_at)


class _VectorCheck:
    """Each vector is finite and as long as it says, and all of one model are equally long."""

    def __init__(self) -> None:
        self._dimension_of: dict[str, int] = {}

    def __call__(self, page: Sequence[Row[Any]]) -> Iterator[Damage]:
        for row in page:
            if problem := self._problem(row):
                yield _damage(vectors, row, problem)

    def _problem(self, row: Row[Any]) -> str | None:
        if len(row.vector) != VECTOR_TYPE.itemsize * row.dimension:
            return f"it has {len(row.vector)} bytes, a vector of dimension {row.dimension} has {4 * row.dimension}"
        if not np.isfinite(np.frombuffer(row.vector, dtype=VECTOR_TYPE)).all():
            return "it is not finite"
        expected = self._dimension_of.setdefault(row.model_id, row.dimension)
        return None if row.dimension == expected else f"its dimension is {row.dimension}, others have {expected}"


def _damage(table: Table, row: Row[Any], problem: str) -> Damage:
    return Damage(table.name, row_name(table, row), problem)
