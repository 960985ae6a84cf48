"""Replies in the tables: the first to a request is used, later ones are kept beside it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select, union_all

from ragauge.errors import InputError, StoreError
from ragauge.store.database import batches, id_of, insert_new
from ragauge.store.keys import canonical_json, key_bytes, key_of_text, key_text, storable, text_hash
from ragauge.store.packing import pack, unpack
from ragauge.store.records import FinishedCall, StoredReply, Usage
from ragauge.store.tables import later_replies, replies, sources

__all__ = [
    "SOURCE",
    "Added",
    "NewReply",
    "Source",
    "add_replies",
    "find_known",
    "find_replies",
    "named_sources",
    "new_reply",
    "reply_problem",
    "sum_usage",
]

Source = tuple[str, str, str, str]

SOURCE = ("kind", "model", "endpoint", "prompt_id")
"""The columns of a source, in the order of `NewReply.source`."""

MAX_COUNT = 2**31
"""Counts of tokens from here on are not believed."""

_MEASURED = ("prompt_tokens", "completion_tokens", "latency_s", "created_at", "cost_usd")
"""The last columns of `StoredReply`, in its order."""


@dataclass(frozen=True)
class NewReply:
    """A reply on its way into the tables: its source, and the columns of `tables.replies` without id and source."""

    source: Source
    columns: Mapping[str, Any]


@dataclass(frozen=True)
class Added:
    """How many replies were first to their request, and how many came later and were kept beside the first."""

    first: int
    later: int


def new_reply(call: FinishedCall, *, at: str) -> NewReply:
    """The call as the tables hold it, stored at `at` (ISO 8601); raises InputError as `Store.put_replies` does."""
    request, cost_usd = canonical_json(call.request), call.cost_usd
    if call.key != key_of_text(request):
        raise InputError(f"key {call.key!r} is not the key of the request given with it; make it with request_key()")
    if cost_usd is not None and not (math.isfinite(cost_usd) and cost_usd >= 0):
        raise InputError(f"cost_usd must be a number of dollars, 0 or more, got {cost_usd}")
    model, endpoint, prompt_id = (storable(str(call.request.get(name) or "")) for name in SOURCE[1:])
    columns = {
        "key": key_bytes(call.key),
        "request": pack(request),
        "reply": pack(_reply_json(call.reply)),
        "prompt_tokens": _count(call.prompt_tokens),
        "completion_tokens": _count(call.completion_tokens),
        "cost_usd": cost_usd,
        "latency_s": float(call.latency_s),
        "created_at": at,
    }
    return NewReply((call.kind, model, endpoint, prompt_id), columns)


def _reply_json(reply: Mapping[str, object]) -> str:
    """JSON text; non-finite log-probabilities, which some servers send, are kept as they came."""
    try:
        return storable(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError) as error:
        raise InputError(f"a reply must be a JSON object: {error}") from error


def _count(tokens: int | None) -> int | None:
    return tokens if tokens is not None and 0 <= tokens < MAX_COUNT else None


def add_replies(connection: Connection, new: Sequence[NewReply]) -> Added:
    """Appends the replies; one that is there already, word for word, is not appended again."""
    ids = {
        source: id_of(connection, sources, dict(zip(SOURCE, source, strict=True)))
        for source in dict.fromkeys(reply.source for reply in new)
    }
    rows = [{**reply.columns, "source_id": ids[reply.source]} for reply in new]
    first = insert_new(connection, replies, rows)
    return Added(first, 0 if first == len(rows) else _keep_later(connection, rows))


def _keep_later(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
    used: dict[bytes, bytes] = {}
    for batch in batches([row["key"] for row in rows]):
        found = select(replies.c.key, replies.c.reply).where(replies.c.key.in_(batch))
        used.update((bytes(key), bytes(reply)) for key, reply in connection.execute(found))
    later = [row for row in rows if not _same(used[row["key"]], row["reply"])]
    return insert_new(connection, later_replies, [{**row, "digest": text_hash(unpack(row["reply"]))} for row in later])


def _same(one: bytes, other: bytes) -> bool:
    """Whether two packed texts are one; another zlib may pack one text into other bytes."""
    if one == other:
        return True
    try:
        return unpack(one) == unpack(other)
    except StoreError:
        return False


def find_replies(connection: Connection, keys: Sequence[str]) -> list[StoredReply]:
    """The first replies to these requests."""
    packed = [key_bytes(key) for key in keys]
    rows = [row for batch in batches(packed) for row in connection.execute(_find_replies(), {"keys": batch})]
    source_of = named_sources(connection) if rows else {}
    return [_stored(key, source_of[source_id], reply, measured) for key, source_id, reply, *measured in rows]


@cache  # building it takes longer than executing it
def _find_replies() -> Select[Any]:
    columns = (replies.c.key, replies.c.source_id, replies.c.reply, *(replies.c[name] for name in _MEASURED))
    return select(*columns).where(replies.c.key.in_(bindparam("keys", expanding=True)))


def named_sources(connection: Connection) -> dict[int, Source]:
    """Id -> source."""
    rows = connection.execute(select(sources.c.id, *(sources.c[name] for name in SOURCE)))
    return {row.id: (row.kind, row.model, row.endpoint, row.prompt_id) for row in rows}


def find_known(connection: Connection, keys: Sequence[bytes]) -> set[bytes]:
    """The keys that have a reply."""
    statement = select(replies.c.key)
    return {
        bytes(key) for batch in batches(keys) for key in connection.scalars(statement.where(replies.c.key.in_(batch)))
    }


def _stored(packed_key: bytes, source: Source, reply: bytes, measured: Sequence[Any]) -> StoredReply:
    key = key_text(packed_key)
    try:
        text = unpack(reply)
    except StoreError as error:
        raise StoreError(
            f"the reply {key} in the store is damaged: it {error}; see what else is with: ragauge store verify, and "
            "copy what is sound to a new store with: ragauge store merge"
        ) from error
    return StoredReply(key, *source, text, *measured)


def reply_problem(key: bytes, request: bytes, reply: bytes) -> str | None:
    """What is wrong with a stored reply, in words that follow "the row"; None when it is sound."""
    try:
        request_text, reply_text = unpack(request), unpack(reply)
    except StoreError as error:
        return str(error)
    if key_text(key) != key_of_text(request_text):
        return "its request is not the one its key was made of"
    try:
        values = (json.loads(request_text), json.loads(reply_text))
    except ValueError as error:
        return f"its JSON cannot be read ({error})"
    return None if all(isinstance(value, dict) for value in values) else "its JSON is no object"


def sum_usage(connection: Connection) -> list[Usage]:
    """Usage a source, over all replies that were paid for."""
    names = ("source_id", "prompt_tokens", "completion_tokens", "latency_s", "cost_usd", "created_at")
    paid = union_all(*(select(*(table.c[name] for name in names)) for table in (replies, later_replies))).subquery()
    by = tuple(sources.c[name] for name in SOURCE)
    sums = (
        func.count(),
        func.sum(paid.c.prompt_tokens),
        func.sum(paid.c.completion_tokens),
        func.count() - func.count(paid.c.prompt_tokens),
        func.sum(paid.c.latency_s),
        func.sum(paid.c.cost_usd),
        func.count() - func.count(paid.c.cost_usd),
        func.min(paid.c.created_at),
        func.max(paid.c.created_at),
    )  # in the order of Usage's fields
    statement = select(*by, *sums).join(paid, paid.c.source_id == sources.c.id).group_by(*by).order_by(*by)
    return [Usage(*row) for row in connection.execute(statement)]
