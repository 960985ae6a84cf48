"""The store: replies by the key of their request, failures by the time they happened, vectors by model and text, and
judgements by who judged which pair."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ragauge.schema import LABELS
from ragauge.store.keys import storable
from ragauge.store.records import Damage, FinishedCall, Merged, StoredFailure, StoredReply, StoreStats, Usage

if TYPE_CHECKING:
    from ragauge.store.database import Database

__all__ = ["Store"]


class Store:
    """Everything models were asked and answered, and what people and models judged, in one SQLite file or PostgreSQL.

    What a `put_` method was given is on disk when it returns: it outlives the process (SIGKILL) and the power.
    Several processes and threads may use one store at once; each process opens its own. Nothing is overwritten: of two
    answers to one request the first is used and the other kept, and a judgement is superseded by a later one.

    Example:
        >>> from ragauge.store import request_key
        >>> request = {"endpoint": "http://127.0.0.1/v1", "model": "m", "messages": []}
        >>> key = request_key(request)
        >>> with Store.open("sqlite://") as store:
        ...     store.put_replies([FinishedCall(key, request, {"choices": []}, latency_s=0.2)])
        ...     store.replies([key])[key].reply
        {'choices': []}
    """

    def __init__(self, database: "Database") -> None:
        self._database = database

    @classmethod
    def open(cls, where: str | Path, *, missing: Literal["make", "error"] = "make") -> Self:
        """Opens the store, and makes it (and the folders above it) when there is none.

        A store that an older ragauge wrote is brought to the present version, in one transaction.

        Args:
            where: A file for SQLite, or a SQLAlchemy URL: "sqlite:///labels.db", "sqlite://" (in memory, gone when
                closed), "postgresql://user@host/name" (needs the extra `postgres`; the password can stand in the
                URL, in PGPASSWORD or in ~/.pgpass).
            missing: What to do where there is no such file: "make" it, or raise an "error".

        Raises:
            InputError: The URL cannot be read, or names a database other than SQLite and PostgreSQL; or there is no
                such file, and none is to be made.
            MissingExtraError: psycopg is not installed.
            StoreError: It cannot be opened: a folder that cannot be written, a file that is no database, a store
                written by a newer ragauge.
        """
        from ragauge.store.database import Database  # loads SQLAlchemy, 0.2 s

        return cls(Database.open(where, missing=missing))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self._database.name!r})"

    def close(self) -> None:
        """Gives up the connection; closing twice is allowed, using a closed store is a StoreError."""
        self._database.close()

    def replies(self, keys: Iterable[str]) -> dict[str, StoredReply]:
        """The stored replies among `keys`, by key; a key without one is left out.

        Raises:
            StoreError: The store cannot be read, or one of the replies is damaged.
        """
        from ragauge.store.replies import find_replies

        distinct = _distinct(keys)
        found = self._database.read(lambda connection: find_replies(connection, distinct))
        return {reply.key: reply for reply in found}

    def put_replies(self, calls: Iterable[FinishedCall]) -> None:
        """Stores finished calls, all or none; on disk when this returns. A key that has a reply keeps using it.

        Raises:
            InputError: A key is not its request's, request or reply is not JSON, a request holds an API key, or a cost
                is below 0 or not finite.
            StoreError: They cannot be written.
        """
        from ragauge.store.replies import add_replies, new_reply

        at = _now()
        new = [new_reply(call, at=at) for call in calls]
        self._database.write(lambda connection: add_replies(connection, new))

    def failures(self, keys: Iterable[str] | None = None) -> list[StoredFailure]:
        """The failures of `keys` (None: all there are), oldest first.

        Raises:
            StoreError: The store cannot be read.
        """
        from ragauge.store.failures import find_failures

        distinct = None if keys is None else _distinct(keys)
        return self._database.read(lambda connection: find_failures(connection, distinct))

    def put_failure(self, key: str, reason: str, raw: str) -> None:
        """Appends one failure; a key may have many, and a reply as well.

        Args:
            key: `request_key` of the request that failed.
            reason: One word, such as an EndpointError's `reason`.
            raw: What the endpoint sent, as text; "" for nothing.

        Raises:
            StoreError: It cannot be written.
        """
        from ragauge.store.failures import add_failure

        row = {"key": key, "reason": reason, "raw": storable(raw), "created_at": _now()}
        self._database.write(lambda connection: add_failure(connection, row))

    def vectors(self, model_id: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The stored vectors among `texts`, by text; a text without one is left out.

        Args:
            model_id: Everything a vector depends on besides the text: model, version, and the role (query, document)
                where the model treats them differently.
            texts: Any number, repeats allowed.

        Returns:
            Read-only float32 arrays of shape (dimension,).

        Raises:
            StoreError: The store cannot be read.
        """
        from ragauge.store.vectors import find_vectors

        return self._database.read(lambda connection: find_vectors(connection, model_id, texts))

    def put_vectors(self, model_id: str, texts: Sequence[str], matrix: NDArray[np.floating]) -> None:
        """Stores one vector a text, all or none; a text that has one keeps it.

        Args:
            model_id: As in `vectors`.
            texts: The n texts.
            matrix: Shape (n, dimension), finite; kept as float32.

        Raises:
            InputError: Shapes do not fit, a value is not finite, or the model's stored vectors have another dimension.
            StoreError: They cannot be written.
        """
        from ragauge.store.vectors import add_vectors, checked_matrix

        if len(texts) or len(matrix):
            add_vectors(self._database, model_id, texts, checked_matrix(model_id, texts, matrix))

    def put_labels(
        self,
        labels: pa.Table,
        *,
        kind: Literal["human", "model"],
        judge: str | None = None,
        rubric: str = "",
        task: Literal["label", "grade"] = "label",
        reply_keys: Sequence[str | None] | None = None,
    ) -> int:
        """Appends people's or a model's judgements, and returns how many were new.

        A judgement that says what the same judge's last one on the pair says is not appended, so that one file can be
        put in twice. Any other one supersedes the last; both are kept, see `judgements`. A row with neither a label
        nor a reason is no judgement and is skipped.

        Args:
            labels: `schema.LABELS`. Ids name queries and documents, so keep one store a knowledge base.
            kind: Who judged: people ("human") or a "model".
            judge: Who, where the table's column `judge` is empty.
            rubric: Name and version of the rubric or prompt; what was judged by another one is not superseded.
            task: What was judged: the relevance of a document ("label") or an answer ("grade"), and then `doc_id`
                names the answer, such as its `text_hash`.
            reply_keys: Key of the stored reply that each row was read from; None = not read from one.

        Raises:
            InputError: A row has no judge, a label that is no finite number, or an id that no database can hold.
            SchemaError: The table is not as its schema says.
            StoreError: They cannot be written; then none is.
        """
        from ragauge.store.judgements import Judge, add_judgements, judgements_by_judge

        by_judge = judgements_by_judge(labels, judge, reply_keys)
        at = _now()
        return self._database.write(
            lambda connection: sum(
                add_judgements(connection, Judge(name, kind, task, storable(rubric)), new, at=at)
                for name, new in by_judge.items()
            )
        )

    def labels(
        self,
        *,
        judge: str | None = None,
        kind: Literal["human", "model"] | None = None,
        rubric: str | None = None,
        task: Literal["label", "grade"] = "label",
        query_ids: Iterable[str] | None = None,
    ) -> pa.Table:
        """The judgements in force, as `schema.LABELS`: one row a pair, judge and rubric, by query and document.

        Args:
            judge: Only this judge's; None = all.
            kind: Only people's ("human") or models' ("model"); None = both.
            rubric: Only by this rubric or prompt; None = all.
            task: Labels of documents, or grades of answers.
            query_ids: Only of these queries; None = all.

        Raises:
            StoreError: The store cannot be read.
        """
        found = self.judgements(
            judge=judge, kind=kind, rubric=rubric, task=task, query_ids=query_ids, history="in_force"
        )
        return found.select(LABELS.names).cast(LABELS)

    def judgements(
        self,
        *,
        judge: str | None = None,
        kind: Literal["human", "model"] | None = None,
        rubric: str | None = None,
        task: Literal["label", "grade"] | None = None,
        query_ids: Iterable[str] | None = None,
        history: Literal["in_force", "all"] = "all",
    ) -> pa.Table:
        """All judgements, or only those "in_force", with what superseded them and when, as `schema.JUDGEMENTS`.

        The other arguments are those of `labels`; `task` None = both. Raises StoreError like it.
        """
        from ragauge.store.judgements import find_judgements

        wanted = None if query_ids is None else _distinct(query_ids)
        equal = {"judge": judge, "kind": kind, "rubric": rubric, "task": task}
        return find_judgements(self._database, history=history, query_ids=wanted, **equal)

    def usage(self) -> list[Usage]:
        """What the stored calls cost, one record a (kind, model, endpoint, prompt id), in that order.

        Raises:
            StoreError: The store cannot be read.
        """
        from ragauge.store.replies import sum_usage

        return self._database.read(sum_usage)

    def stats(self) -> StoreStats:
        """What the store holds, in numbers.

        Raises:
            StoreError: The store cannot be read.
        """
        from ragauge.store.stats import store_stats

        return store_stats(self._database)

    def count_rows(self) -> int:
        """Rows that `verify` looks at, for its progress."""
        from ragauge.store.verify import count_rows

        return count_rows(self._database)

    def verify(self, *, on_progress: Callable[[int], None] = lambda done: None) -> list[Damage]:
        """Every row that is not as it was written; [] for a sound store.

        Checked: the database's own structure (SQLite), that each request is the one its key was made of, that JSON can
        be read, that what a row refers to is there, that labels and vectors are finite numbers and times are times.

        Args:
            on_progress: Called with the number of rows just checked.

        Raises:
            StoreError: The store cannot be read at all.
        """
        from ragauge.store.verify import find_damage

        return list(find_damage(self._database, on_progress=on_progress))

    def export_replies(self, path: str | Path) -> int:
        """Writes all replies to a .jsonl or .parquet file, whole or not at all, and returns how many they are.

        What stands beside a secret's name in a request or a reply is written as "[removed]".

        Raises:
            InputError: Another extension, or the file cannot be written.
            StoreError: The store cannot be read, or a row is damaged.
        """
        from ragauge.store.export import export_replies

        return export_replies(self._database, Path(path))

    def merge(self, other: "Store", *, on_progress: Callable[[int], None] = lambda done: None) -> Merged:
        """Adds what another store holds and this one does not; the other is only read, and may be damaged.

        Merging twice adds nothing the second time. Where both have a reply to one request this store's stays in use
        and the other's is kept beside it; of two judgements the later one is in force. Damaged rows are left out and
        listed, so that merging a damaged store into a new one saves what is sound.

        Args:
            other: Any store.
            on_progress: Called with the number of the other's rows just checked.

        Raises:
            StoreError: One of them cannot be read or written; what was added so far stays, and merging again goes on.
        """
        from ragauge.store.merge import merge_databases

        return merge_databases(self._database, other._database, on_progress=on_progress)


def _distinct(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
