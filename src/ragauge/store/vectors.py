"""Vectors in the tables: what an embedder made of a text, kept as float32."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from ragauge.errors import InputError
from ragauge.store.database import Database, batches, insert_new
from ragauge.store.keys import text_hash
from ragauge.store.tables import vectors

__all__ = ["VECTOR_TYPE", "add_vectors", "checked_matrix", "find_vectors"]

VECTOR_TYPE = np.dtype("<f4")


def find_vectors(connection: Connection, model_id: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Text -> vector, for the texts that have one."""
    text_of = {text_hash(text): text for text in texts}
    statement = select(vectors.c.text_hash, vectors.c.vector).where(vectors.c.model_id == model_id)
    return {
        text_of[key]: np.frombuffer(vector, dtype=VECTOR_TYPE)
        for batch in batches(list(text_of))
        for key, vector in connection.execute(statement.where(vectors.c.text_hash.in_(batch)))
    }


def add_vectors(database: Database, model_id: str, texts: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Appends the vectors of the texts that have none."""
    rows = [
        {"model_id": model_id, "text_hash": text_hash(text), "dimension": matrix.shape[1], "vector": row.tobytes()}
        for text, row in zip(texts, matrix, strict=True)
    ]

    def work(connection: Connection) -> int:
        stored = connection.execute(select(vectors.c.dimension).where(vectors.c.model_id == model_id).limit(1)).scalar()
        if stored is not None and stored != matrix.shape[1]:
            raise InputError(
                f"model {model_id!r} has vectors of dimension {stored} in {database.name}, got {matrix.shape[1]}; "
                "give another model its own model_id"
            )
        return insert_new(connection, vectors, rows)

    database.write(work)


def checked_matrix(model_id: str, texts: Sequence[str], matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """The matrix as float32, if it has a finite row a text."""
    if matrix.ndim != 2 or len(matrix) != len(texts) or matrix.shape[1] == 0:
        raise InputError(
            f"vectors of {model_id!r} must have shape ({len(texts)}, dimension) for {len(texts)} texts, "
            f"got {matrix.shape}"
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite and is refused below
        narrow = np.ascontiguousarray(matrix, dtype=VECTOR_TYPE)
    broken = np.flatnonzero(~np.isfinite(narrow).all(axis=1))
    if broken.size:
        raise InputError(
            f"{broken.size} of {len(texts)} vectors of {model_id!r} are not finite, first for {texts[broken[0]]!r:.60}"
        )
    return narrow
