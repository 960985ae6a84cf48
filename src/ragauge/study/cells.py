"""Graded answers as cells: how often each combination of counts and grade occurs, and in which queries.

One idea: every measure here is a function of six numbers of a row (n_p, n_n, K, N_p, positives in the top 2K, DCG), so
a row is the number of its cell (those six and the grade), its query and its segment: a dozen bytes. Batches of rows are
turned into that as they come, and may be more than memory holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.errors import InputError
from ragauge.ragged import from_arrow
from ragauge.schema import GRADED, check

__all__ = [
    "GRADED_COLUMNS",
    "Cells",
    "GradedCells",
    "Numbers",
    "distinct_cells",
    "distinct_rows",
    "graded_cells",
    "numbered",
    "small_type",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.signedinteger[Any]]

GRADED_COLUMNS = (
    "query_id",
    "dataset",
    "embedder",
    "n_relevant",
    "cutoff",
    "grade",
    "labels",
    "n_positive_2k",
)
"""The columns of `schema.GRADED` that correlations read."""

_NAMED = ("query_id", "dataset", "embedder")
_BATCH_ROWS = 65_536
_CELL = np.dtype(np.int32)
_TYPES: tuple[np.dtype[Any], ...] = (_CELL,) * 5 + (np.dtype(np.float64),) * 2  # of the columns of Cells, kept small
_CODES = 2**62  # numbers of combinations are kept below
_LARGEST = 2 * 10**9
_NO_COUNT = -1  # stands for an unknown number of positives in the top 2K
_STRINGS = pa.dictionary(pa.int32(), pa.string())
_NEEDED = pa.schema([GRADED.field(name) for name in GRADED_COLUMNS])


@dataclass(frozen=True)
class Cells:
    """What rows consist of, one entry a cell (or a row)."""

    n_p: Ints
    n_n: Ints
    K: Ints
    N_p: Ints
    n_2k: Ints
    dcg: Floats
    grade: Floats

    def at(self, index: npt.NDArray[Any]) -> "Cells":
        return Cells(*(column[index] for column in self.columns()))

    def widened(self) -> "Cells":
        """The counts as int64: room for their products."""
        n_p, n_n, K, N_p, n_2k = (count.astype(np.int64) for count in self.columns()[:5])
        return Cells(n_p, n_n, K, N_p, n_2k, self.dcg, self.grade)

    def columns(self) -> list[npt.NDArray[Any]]:
        return [getattr(self, field.name) for field in fields(self)]

    @property
    def n_deep(self) -> Floats:
        """Positives in the top 2K, NaN where not known."""
        return np.where(self.n_2k == _NO_COUNT, nan, self.n_2k)


@dataclass(frozen=True)
class GradedCells:
    """All rows: cells, each once a batch, and of each row its cell, query, data set and embedder, as numbers."""

    cells: Cells
    cell: Numbers
    query: Numbers
    dataset: Numbers
    embedder: Numbers
    datasets: tuple[str, ...]
    embedders: tuple[str, ...]
    n_ungraded: int


def graded_cells(graded: pa.Table | Iterable[pa.RecordBatch]) -> GradedCells:
    """Rows of `schema.GRADED`, a table or batches of it, as cells.

    Raises:
        SchemaError: A column is missing or has another type.
        InputError: Counts that cannot be (more labels than K, more positives than N_p, ...).
    """
    if isinstance(graded, pa.Table):
        graded = check(graded, _NEEDED, what="graded answers").select(GRADED_COLUMNS).to_batches(_BATCH_ROWS)
    columns = [bytearray() for _ in fields(Cells)]  # grow in place: many small arrays would leave holes in memory
    cell = bytearray()
    names: dict[str, list[pa.DictionaryArray]] = {name: [] for name in _NAMED}
    for batch in graded:
        table = check(pa.Table.from_batches([batch]), _NEEDED, what="graded answers")
        rows = _rows(table, first_row=len(cell) // _CELL.itemsize)
        first, code = distinct_cells(rows)
        cell += (len(columns[0]) // _CELL.itemsize + code).astype(_CELL).tobytes()
        for column, values, dtype in zip(columns, rows.at(first).columns(), _TYPES, strict=True):
            column += values.astype(dtype).tobytes()
        for name in _NAMED:
            names[name].append(batch.column(name).dictionary_encode())
    query = _indices(pa.chunked_array(names.pop("query_id"), _STRINGS).unify_dictionaries())
    dataset, datasets = _sorted_names(pa.chunked_array(names.pop("dataset"), _STRINGS))
    embedder, embedders = _sorted_names(pa.chunked_array(names.pop("embedder"), _STRINGS))
    cells = Cells(*(np.frombuffer(column, dtype) for column, dtype in zip(columns, _TYPES, strict=True)))
    number = np.frombuffer(cell, _CELL)
    n_ungraded = int(np.isnan(cells.grade)[number].sum())
    return GradedCells(cells, number, query, dataset, embedder, datasets, embedders, n_ungraded)


def _rows(table: pa.Table, first_row: int) -> Cells:
    """The six numbers and the grade of each row."""
    labels = from_arrow(table.column("labels"))
    places = np.flatnonzero(labels.valid & (labels.values >= 1))
    row_of_label = np.repeat(np.arange(labels.n_rows), labels.lengths)
    row = row_of_label[places]
    discounts = 1 / np.log2(np.arange(2, int(labels.lengths.max(initial=0)) + 2))
    n_p = np.bincount(row, minlength=labels.n_rows)
    n_judged = np.bincount(row_of_label[labels.valid], minlength=labels.n_rows)
    rows = Cells(
        n_p=n_p,
        n_n=n_judged - n_p,
        K=_integers(table, "cutoff"),
        N_p=_integers(table, "n_relevant"),
        n_2k=_integers(table, "n_positive_2k"),
        dcg=np.bincount(row, discounts[places - labels.offsets[row]], labels.n_rows).astype(np.float64),
        grade=table.column("grade").to_numpy().astype(np.float64),
    )
    _check_counts(rows, labels.lengths, table, first_row)
    return rows


def _integers(table: pa.Table, name: str) -> Ints:
    values: Ints = table.column(name).fill_null(_NO_COUNT).to_numpy().astype(np.int64)
    return values


def _check_counts(rows: Cells, n_labels: Ints, table: pa.Table, first_row: int) -> None:
    """Every row of the batch in which a count contradicts another, at once."""
    rules = {
        "a count is above two billion": np.max([rows.K, rows.N_p, rows.n_2k], axis=0, initial=0) > _LARGEST,
        "cutoff is below 1": rows.K < 1,
        "n_relevant is below 1": rows.N_p < 1,
        "there are more labels than the cutoff": n_labels > rows.K,
        "there are more positive labels than n_relevant": rows.n_p > rows.N_p,
        "n_positive_2k is less than the positives in the top K": (rows.n_2k != _NO_COUNT) & (rows.n_2k < rows.n_p),
    }
    problems = [
        _problem(table, int(row), first_row, text) for text, broken in rules.items() for row in np.flatnonzero(broken)
    ]
    if problems:
        raise InputError.collect(problems)


def _problem(table: pa.Table, row: int, first_row: int, text: str) -> str:
    query, embedder, cutoff = (table.column(name)[row].as_py() for name in ("query_id", "embedder", "cutoff"))
    return f"graded answers, row {first_row + row + 1} (query {query!r}, {embedder}, K={cutoff}): {text}"


def _sorted_names(column: pa.ChunkedArray) -> tuple[Numbers, tuple[str, ...]]:
    """The number of each value among the distinct ones in order, and those."""
    unified = column.unify_dictionaries()
    values = unified.chunk(0).dictionary.to_pylist() if unified.num_chunks else []
    place = np.empty(len(values), dtype=small_type(len(values)))
    place[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
    return place[_indices(unified)], tuple(sorted(values))


def _indices(column: pa.ChunkedArray) -> Numbers:
    return _join([chunk.indices.to_numpy() for chunk in column.chunks]).astype(np.int32, copy=False)


def _join(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def distinct_cells(rows: Cells) -> tuple[Ints, Ints]:
    """`distinct_rows` of cells, numbers that are not whole by their bits."""
    return distinct_rows([c if c.dtype.kind == "i" else numbered(c.view(np.int64))[1] for c in rows.columns()])


def distinct_rows(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first of each set of equal rows, and the set of each row, numbered by first appearance."""
    code, n_codes = np.zeros(len(columns[0]), dtype=np.int64), 1
    for whole in columns if len(code) else ():
        low, span = int(whole.min()), int(whole.max()) - int(whole.min()) + 1
        if n_codes * span >= _CODES:
            code, whole = numbered(code)[1], numbered(whole)[1]
            low, n_codes, span = 0, len(code), len(code)
        code, n_codes = code * span + (whole - low), n_codes * span
    code = numbered(code)[1]
    first = np.empty(int(code.max(initial=-1)) + 1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first, code


def numbered(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """Distinct values in the order of first appearance, and which one each is."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy().astype(np.int64)


def small_type(n: int) -> type[np.int16] | type[np.int32]:
    """The type for numbers below n; numpy sorts two bytes in linear time."""
    return np.int16 if n < 2**15 else np.int32
