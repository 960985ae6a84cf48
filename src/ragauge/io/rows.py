"""From what stands on the lines of a file to a table; every problem is kept with its line, all are shown together."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import FormatError, InputError
from ragauge.matching import repeats
from ragauge.schema import LABELS, POOLED_UNJUDGED, RANKINGS

__all__ = [
    "POOLED_UNJUDGED",
    "Duplicates",
    "Rows",
    "check_ranking",
    "check_rankings",
    "finite",
    "grade",
    "labels_table",
    "parse",
    "raise_problems",
    "rankings_table",
    "repeated",
    "unique",
]

Item = TypeVar("Item")
Row = TypeVar("Row")
Duplicates = Literal["error", "keep"]
"""What to do with a document that stands in one ranking more than once."""
_LISTS = ("doc_ids", "texts", "scores", "labels")


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """What could be read from a file, in its order, and what could not.

    Attributes:
        path: The file, as the caller named it.
        rows: One a line that was right.
        lines: Where each of `rows` stands, from 1.
        problems: One message a line that was wrong.
        unit: What `lines` counts: "line", "row" or "record".
    """

    path: str
    rows: tuple[Row, ...]
    lines: tuple[int, ...]
    problems: tuple[str, ...]
    unit: str = "line"

    def problem(self, line: int, message: str) -> str:
        """`message` with the place it is about."""
        return f"{self.path}, {self.unit} {line}: {message}"


def parse(
    path: str | Path, items: Iterable[tuple[int, Item]], read: Callable[[Item], Row], *, unit: str = "line"
) -> Rows[Row]:
    """`read` called on each numbered item; an InputError it raises becomes a problem of that line."""
    rows, lines, problems = [], [], []
    for line, item in items:
        try:
            rows.append(read(item))
            lines.append(line)
        except InputError as error:
            problems.append(f"{path}, {unit} {line}: {error}")
    return Rows(str(path), tuple(rows), tuple(lines), tuple(problems), unit)


def finite(text: str, what: str) -> float:
    """The number `text` spells; `what` is how the message names it.

    Raises:
        FormatError: It is no number, or not a finite one.
    """
    try:
        value = float(text)
    except ValueError as error:
        hint = "; write decimals with a point" if "," in text else ""
        raise FormatError(f"{what} {text!r} is not a number{hint}") from error
    if "_" in text or not isfinite(value):  # float() takes 1_0 for 10
        raise FormatError(f"{what} {text!r} is not a finite number")
    return value


def grade(text: str) -> tuple[float | None, str | None]:
    """The label a grade in qrels stands for, and why there is none.

    >>> grade("2"), grade("-1")
    ((2.0, None), (None, 'pooled_unjudged'))
    """
    value = finite(text, "label")
    return (value, None) if value >= 0 else (None, POOLED_UNJUDGED)


def raise_problems(problems: Sequence[str]) -> None:
    """Raises the first twenty problems, and how many more there are, as one FormatError, if there are any."""
    if problems:
        raise FormatError.collect(problems)


def unique(rows: Rows[Row], key: Callable[[Row], object], describe: Callable[[Row], str]) -> Rows[Row]:
    """`rows` without those whose key came before; each of these becomes a problem that names both lines."""
    first: dict[object, int] = {}
    kept, lines, problems = [], [], list(rows.problems)
    for line, row in zip(rows.lines, rows.rows, strict=True):
        earlier = first.setdefault(key(row), line)
        if earlier == line:
            kept.append(row)
            lines.append(line)
        else:
            problems.append(rows.problem(line, f"{describe(row)} stands on {rows.unit} {earlier} already"))
    return Rows(rows.path, tuple(kept), tuple(lines), tuple(problems), rows.unit)


def rankings_table(rows: Rows[dict[str, Any]]) -> pa.Table:
    """The RANKINGS of `rows`, one a (query, run).

    Raises:
        FormatError: A line was wrong, or two rankings have the same query and run.
    """
    good = unique(
        rows, lambda row: (row["query_id"], row["run"]), lambda row: f"query {row['query_id']!r} of run {row['run']!r}"
    )
    raise_problems(good.problems)
    return pa.Table.from_pylist(good.rows, schema=RANKINGS)


def labels_table(rows: Rows[dict[str, Any]]) -> pa.Table:
    """The LABELS of `rows`; what one judge said twice, alike, is kept once.

    Raises:
        FormatError: A line was wrong, or one judge gave a document two labels for a query.
    """
    first: dict[tuple[str, str, str | None], tuple[int, dict[str, Any]]] = {}
    problems = list(rows.problems)
    for line, row in zip(rows.lines, rows.rows, strict=True):
        key = (row["query_id"], row["doc_id"], row.get("judge"))
        earlier, other = first.setdefault(key, (line, row))
        if other["label"] != row["label"]:
            problems.append(
                rows.problem(
                    line,
                    f"document {key[1]!r} of query {key[0]!r} is labelled {_show(row)} here "
                    f"and {_show(other)} on {rows.unit} {earlier}",
                )
            )
    raise_problems(problems)
    return pa.Table.from_pylist([row for _, row in first.values()], schema=LABELS)


def check_rankings(table: pa.Table, path: str | Path, *, duplicates: Duplicates = "error") -> pa.Table:
    """`table`, if its rows are rankings: lists of equal length, each document once, finite numbers, no pair twice.

    Raises:
        FormatError: They are not; all that is wrong is named by row, from 1.
    """
    if not _are_rankings(table, duplicates):  # row by row, to say what is wrong
        check_row = partial(check_ranking, duplicates=duplicates)
        rankings_table(parse(path, enumerate(table.to_pylist(), start=1), check_row, unit="row"))
    return table


def check_ranking(row: dict[str, Any], *, duplicates: Duplicates = "error") -> dict[str, Any]:
    """`row`, if it is a ranking; with `duplicates="keep"` a document may stand in it twice.

    Raises:
        FormatError: Its lists differ in length, a document has no id or stands twice, or a number is not finite.
    """
    ids = row["doc_ids"]
    if any(len(row[name]) != len(ids) for name in _LISTS):
        lengths = ", ".join(f"{len(row[name])} {name}" for name in _LISTS)
        raise FormatError(f"query {row['query_id']!r}: a ranking's lists must be equally long, got {lengths}")
    if not all(ids):
        raise FormatError(f"query {row['query_id']!r}: document {_first_falsy(ids)} has no doc_id")
    if duplicates == "error" and len(set(ids)) != len(ids):
        raise FormatError(f"query {row['query_id']!r}: document {repeated(ids)!r} stands in the ranking twice")
    for name in ("scores", "labels"):
        if not all(value is None or isfinite(value) for value in row[name]):
            raise FormatError(f"query {row['query_id']!r}: its {name} must be finite numbers or null")
    return row


def _are_rankings(table: pa.Table, duplicates: Duplicates) -> bool:
    """What `check_ranking` asks of each row, and that no query and run stands twice, without a Python object a row."""
    lengths = [pc.list_value_length(table.column(name)) for name in _LISTS]
    ids, scores, labels = (pc.list_flatten(table.column(name)) for name in ("doc_ids", "scores", "labels"))
    if lengths[0].null_count or ids.null_count or any(not length.equals(lengths[0]) for length in lengths):
        return False
    right = (pc.not_equal(ids, ""), pc.is_finite(scores), pc.is_finite(labels))
    if any(pc.all(column).as_py() is False for column in right):
        return False
    if table.group_by(["query_id", "run"]).aggregate([]).num_rows < table.num_rows:
        return False
    offsets = np.append(0, np.cumsum(lengths[0].to_numpy(), dtype=np.int64))
    return duplicates == "keep" or not repeats(ids, offsets).places.size


def repeated(ids: Sequence[str]) -> str:
    """The first id that stands in `ids` more than once; there must be one."""
    return next(id_ for id_, times in Counter(ids).items() if times > 1)


def _first_falsy(ids: Sequence[str | None]) -> int:
    """Its place, from 1."""
    return next(place for place, id_ in enumerate(ids, start=1) if not id_)


def _show(row: dict[str, Any]) -> str:
    return "null" if row["label"] is None else f"{row['label']:g}"
