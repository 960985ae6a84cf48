"""One store into another: what is there already is not added again, what differs is added beside it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select

from ragauge.errors import StoreError
from ragauge.store.database import Database, batches, id_of, insert_new
from ragauge.store.records import Damage, Merged
from ragauge.store.replies import NewReply, Source, add_replies, named_sources
from ragauge.store.tables import failures, judgements, judges, later_replies, replies, vectors
from ragauge.store.verify import find_damage, row_name

__all__ = ["merge_databases"]

Rows = Sequence[Row[Any]]

_REPLY_COLUMNS = tuple(column.name for column in replies.columns if column.name not in ("id", "source_id"))
_FAILURE_COLUMNS = ("key", "reason", "raw", "created_at")
_JUDGEMENT_COLUMNS = ("query_id", "doc_id", "label", "reason", "reply_key", "created_at")


@dataclass(frozen=True)
class _Names:
    """What the other store's ids of sources and judges stand for."""

    sources: Mapping[int, Source]
    judges: Mapping[int, Mapping[str, str]]


def merge_databases(into: Database, other: Database, *, on_progress: Callable[[int], None]) -> Merged:
    """Adds the sound rows of `other`, a page a transaction; stopped at any point, it can be started again."""
    damaged = tuple(find_damage(other, on_progress=on_progress))
    names = _Names(
        other.read(named_sources),
        {row.id: {name: row._mapping[name] for name in _JUDGE_COLUMNS} for page in other.pages(judges) for row in page},
    )
    added: Counter[str] = Counter()
    for table, add in _ADDERS:
        for rows in _sound_pages(other, table, damaged):
            added.update(into.write(lambda connection, add=add, rows=rows: add(connection, rows, names)))  # type: ignore[misc]
    return Merged(**{table.name: added[table.name] for table, _ in _ADDERS}, damaged=damaged)


def _sound_pages(other: Database, table: Table, damaged: Sequence[Damage]) -> Iterator[Rows]:
    left_out = {damage.row for damage in damaged if damage.table == table.name}
    try:
        for page in other.pages(table, lost=[]):
            yield [row for row in page if row_name(table, row) not in left_out]
    except StoreError:
        if not left_out:  # else the damage that ends the table here has been found, and is reported
            raise


def _add_replies(connection: Connection, rows: Rows, names: _Names) -> dict[str, int]:
    new = [
        NewReply(names.sources[row.source_id], {name: row._mapping[name] for name in _REPLY_COLUMNS}) for row in rows
    ]
    added = add_replies(connection, new)
    return {replies.name: added.first, later_replies.name: added.later}


def _add_failures(connection: Connection, rows: Rows, names: _Names) -> dict[str, int]:
    columns = [failures.c[name] for name in _FAILURE_COLUMNS]
    known: set[tuple[Any, ...]] = set()
    for batch in batches(sorted({row.key for row in rows})):
        known.update(tuple(row) for row in connection.execute(select(*columns).where(failures.c.key.in_(batch))))
    values = [tuple(row._mapping[name] for name in _FAILURE_COLUMNS) for row in rows]
    new = [dict(zip(_FAILURE_COLUMNS, value, strict=True)) for value in values if value not in known]
    return {failures.name: _insert(connection, failures, new)}


def _add_judgements(connection: Connection, rows: Rows, names: _Names) -> dict[str, int]:
    columns = [judgements.c[name] for name in ("judge_id", *_JUDGEMENT_COLUMNS)]
    known: set[tuple[Any, ...]] = set()
    for batch in batches(sorted({row.query_id for row in rows})):
        statement = select(*columns).where(judgements.c.query_id.in_(batch))
        known.update(tuple(row) for row in connection.execute(statement))
    ids = {id_: id_of(connection, judges, names.judges[id_]) for id_ in {row.judge_id for row in rows}}
    values = [(ids[row.judge_id], *(row._mapping[name] for name in _JUDGEMENT_COLUMNS)) for row in rows]
    new = [dict(zip(("judge_id", *_JUDGEMENT_COLUMNS), value, strict=True)) for value in values if value not in known]
    return {judgements.name: _insert(connection, judgements, new)}


def _add_vectors(connection: Connection, rows: Rows, names: _Names) -> dict[str, int]:
    return {vectors.name: insert_new(connection, vectors, [dict(row._mapping) for row in rows])}


def _insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    for batch in batches(rows):
        connection.execute(insert(table), list(batch))
    return len(rows)


_JUDGE_COLUMNS = ("judge", "kind", "task", "rubric")

_ADDERS: tuple[tuple[Table, Callable[[Connection, Rows, _Names], dict[str, int]]], ...] = (
    (replies, _add_replies),
    (later_replies, _add_replies),
    (failures, _add_failures),
    (judgements, _add_judgements),
    (vectors, _add_vectors),
)
"""Replies before what refers to them."""
