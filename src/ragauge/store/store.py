"""The store: replies by the key of their request, failures by the time they happened, vectors by model and text."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ragauge.errors import InputError
from ragauge.store.keys import canonical_json, request_key, text_hash

if TYPE_CHECKING:
    from ragauge.store.database import Database

__all__ = ["Store", "StoredFailure", "StoredReply", "Usage"]

_REPLY_COLUMNS = (
    *("key", "kind", "model", "endpoint", "prompt_id", "reply"),
    *("prompt_tokens", "completion_tokens", "latency_s", "created_at"),
)
"""In the order of `StoredReply`'s fields."""

_VECTOR_TYPE = np.dtype("<f4")


@dataclass(frozen=True)
class StoredReply:
    """A finished call.

    Attributes:
        key: `request_key` of the whole request.
        kind: "chat", or what the writer called it.
        model: Model's name as it was asked for.
        endpoint: Base URL it was asked at.
        prompt_id: Name and version of the prompt, such as "label/1"; "" for none.
        reply_json: The endpoint's JSON answer, whole, as text; `reply` is the same, read.
        prompt_tokens: Tokens read; None where the endpoint did not tell.
        completion_tokens: Tokens written; None where the endpoint did not tell.
        latency_s: Seconds from asking to the whole answer.
        created_at: When it was stored, ISO 8601 in UTC.
    """

    key: str
    kind: str
    model: str
    endpoint: str
    prompt_id: str
    reply_json: str
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_s: float
    created_at: str

    @property
    def reply(self) -> dict[str, Any]:
        """The endpoint's JSON answer; read anew at each use, as reading takes longer than fetching."""
        return cast(dict[str, Any], json.loads(self.reply_json))


@dataclass(frozen=True)
class StoredFailure:
    """A call that failed, or an answer that could not be read: why, and what was sent."""

    key: str
    reason: str
    raw: str
    created_at: str


@dataclass(frozen=True)
class Usage:
    """What the finished calls of one model with one prompt cost.

    Attributes:
        kind: As in `StoredReply`, like `model`, `endpoint` and `prompt_id`.
        calls: Finished calls.
        prompt_tokens: Tokens read, over the calls that told; None when none did.
        completion_tokens: Tokens written, likewise.
        calls_without_tokens: Calls for which the endpoint told no tokens, so that the sums are too low by them.
        seconds: Sum of the calls' latencies; calls that ran side by side count each.
    """

    kind: str
    model: str
    endpoint: str
    prompt_id: str
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    calls_without_tokens: int
    seconds: float

    def __str__(self) -> str:
        read = "?" if self.prompt_tokens is None else f"{self.prompt_tokens:,}"
        written = "?" if self.completion_tokens is None else f"{self.completion_tokens:,}"
        return (
            f"{self.model} {self.prompt_id or self.kind}: {self.calls:,} calls, "
            f"{read} tokens read, {written} written, {self.seconds:,.1f} s"
        )


class Store:
    """Everything models were asked and answered, in one SQLite file (or a PostgreSQL database).

    What a `put_` method was given is on disk when it returns: it outlives the process (SIGKILL) and the power.
    Several processes and threads may use one store at once; each process opens its own. Nothing is overwritten: of two
    answers to one request the first stays.

    Example:
        >>> request = {"endpoint": "http://127.0.0.1/v1", "model": "m", "messages": []}
        >>> key = request_key(request)
        >>> with Store.open("sqlite://") as store:
        ...     store.put_reply(key, request=request, reply={"choices": []}, latency_s=0.2)
        ...     store.replies([key])[key].reply
        {'choices': []}
    """

    def __init__(self, database: "Database") -> None:
        self._database = database

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Opens the store, and makes it (and the folders above it) when there is none.

        Args:
            where: A file for SQLite, or a SQLAlchemy URL: "sqlite:///labels.db", "sqlite://" (in memory, gone when
                closed), "postgresql+psycopg://user@host/name".

        Raises:
            InputError: The URL cannot be read, or names a database other than SQLite and PostgreSQL.
            StoreError: It cannot be opened: a folder that cannot be written, a file that is no database, a store
                written by a newer ragauge.
        """
        from ragauge.store.database import Database  # loads SQLAlchemy, 0.2 s

        return cls(Database.open(where))

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
            StoreError: The store cannot be read.
        """
        rows = self._database.find("replies", _REPLY_COLUMNS, by="key", among=_distinct(keys))
        return {row[0]: StoredReply(*row) for row in rows}

    def put_reply(
        self,
        key: str,
        *,
        request: Mapping[str, object],
        reply: Mapping[str, object],
        latency_s: float,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
        kind: str = "chat",
    ) -> None:
        """Stores one finished call; on disk when this returns. A key that has a reply keeps it.

        Args:
            key: `request_key(request)`.
            request: The whole request; its "model", "endpoint" and "prompt_id" become columns.
            reply: The endpoint's JSON answer, whole.
            latency_s: Seconds from asking to the whole answer.
            prompt_tokens: Tokens read; None when the endpoint did not tell.
            completion_tokens: Tokens written; None when the endpoint did not tell.
            kind: What sort of call it was.

        Raises:
            InputError: The key is not the request's, or request or reply is not JSON.
            StoreError: It cannot be written.
        """
        if key != request_key(request):
            raise InputError(f"key {key!r} is not the key of the request given with it; make it with request_key()")
        row = {
            "key": key,
            "kind": kind,
            **{name: str(request.get(name) or "") for name in ("model", "endpoint", "prompt_id")},
            "request": canonical_json(request),
            "reply": _reply_json(reply),
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "latency_s": float(latency_s),
            "created_at": _now(),
        }
        self._database.insert("replies", [row], existing="keep")

    def failures(self, keys: Iterable[str] | None = None) -> list[StoredFailure]:
        """The failures of `keys` (None: all there are), oldest first.

        Raises:
            StoreError: The store cannot be read.
        """
        columns = ("id", "key", "reason", "raw", "created_at")
        rows = self._database.find("failures", columns, by="key", among=None if keys is None else _distinct(keys))
        return [StoredFailure(*row[1:]) for row in sorted(rows)]

    def put_failure(self, key: str, reason: str, raw: str) -> None:
        """Appends one failure; a key may have many, and a reply as well.

        Args:
            key: `request_key` of the request that failed.
            reason: One word, such as an EndpointError's `reason`.
            raw: What the endpoint sent, as text; "" for nothing.

        Raises:
            StoreError: It cannot be written.
        """
        row = {"key": key, "reason": reason, "raw": _storable(raw), "created_at": _now()}
        self._database.insert("failures", [row], existing="error")

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
        text_of = {text_hash(text): text for text in texts}
        rows = self._database.find(
            "vectors", ("text_hash", "vector"), by="text_hash", among=list(text_of), model_id=model_id
        )
        return {text_of[text_key]: np.frombuffer(vector, dtype=_VECTOR_TYPE) for text_key, vector in rows}

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
        if not len(texts) and not len(matrix):
            return
        matrix = _checked_matrix(model_id, texts, matrix)
        self._check_dimension(model_id, matrix.shape[1])
        self._database.insert(
            "vectors",
            [
                {
                    "model_id": model_id,
                    "text_hash": text_hash(text),
                    "dimension": matrix.shape[1],
                    "vector": row.tobytes(),
                }
                for text, row in zip(texts, matrix, strict=True)
            ],
            existing="keep",
        )

    def usage(self) -> list[Usage]:
        """What the stored calls cost, one record a (kind, model, endpoint, prompt id), in that order.

        Raises:
            StoreError: The store cannot be read.
        """
        return [Usage(*row) for row in self._database.usage()]

    def _check_dimension(self, model_id: str, dimension: int) -> None:
        stored = self._database.first("vectors", "dimension", model_id=model_id)
        if stored is not None and stored != dimension:
            raise InputError(
                f"model {model_id!r} has vectors of dimension {stored} in {self._database.name}, got {dimension}; "
                "give another model its own model_id"
            )


def _checked_matrix(model_id: str, texts: Sequence[str], matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    if matrix.ndim != 2 or len(matrix) != len(texts) or matrix.shape[1] == 0:
        raise InputError(
            f"vectors of {model_id!r} must have shape ({len(texts)}, dimension) for {len(texts)} texts, "
            f"got {matrix.shape}"
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite and is refused below
        narrow = np.ascontiguousarray(matrix, dtype=_VECTOR_TYPE)
    broken = np.flatnonzero(~np.isfinite(narrow).all(axis=1))
    if broken.size:
        raise InputError(
            f"{broken.size} of {len(texts)} vectors of {model_id!r} are not finite, first for {texts[broken[0]]!r:.60}"
        )
    return narrow


def _reply_json(reply: Mapping[str, object]) -> str:
    """JSON text; non-finite log-probabilities, which some servers send, are kept as they came."""
    try:
        return _storable(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError) as error:
        raise InputError(f"a reply must be a JSON object: {error}") from error


def _storable(text: str) -> str:
    """What a server sent may hold NUL or half a character, which databases refuse; their place is kept visible."""
    return text.replace("\0", "�").encode("utf-8", "backslashreplace").decode("utf-8")


def _distinct(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(keys))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
