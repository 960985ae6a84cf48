"""What a format is, and how one is made of a function that reads a record: the frame that every adapter shares."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import InputError
from ragauge.io.content import Content, in_place
from ragauge.io.found import Found, Reading, labels_reading, rankings_reading
from ragauge.io.rows import Duplicates

__all__ = ["Format", "adapter", "labels_by", "rankings_by", "sample_has"]

Record = Mapping[str, Any]
Each = Callable[[Record], Iterable[Any]]
"""What a record holds: retrievals and skips, or items that a `Settle` makes them of."""
Settle = Callable[[Sequence[tuple[str, Any]]], Iterable[Found]]
"""Decides between the items of all records, such as the spans of a trace."""


@dataclass(frozen=True)
class Format:
    """How one kind of file is recognised, read and written.

    Attributes:
        title: What messages call it.
        recognise: Whether content is of the format.
        rankings: Reads RANKINGS.
        labels: Reads LABELS.
        write: Writes RANKINGS; None where the format is only read.
        extensions: Under which it is written, lower-case, with the dot.
    """

    title: str
    recognise: Callable[[Content], bool]
    rankings: Callable[[Content, Duplicates], Reading]
    labels: Callable[[Content], Reading]
    write: Callable[[pa.Table, str | Path], None] | None = None
    extensions: tuple[str, ...] = ()


def adapter(title: str, recognise: Callable[[Record], bool], each: Each, settle: Settle | None = None) -> Format:
    """A format that is read record by record; `settle` decides between what was found in all of them."""
    return Format(title, sample_has(recognise), rankings_by(title, each, settle), labels_by(title, each, settle))


def sample_has(recognise: Callable[[Record], bool]) -> Callable[[Content], bool]:
    return lambda content: any(map(recognise, content.sample))


def rankings_by(title: str, each: Each, settle: Settle | None = None) -> Callable[[Content, Duplicates], Reading]:
    def read(content: Content, duplicates: Duplicates) -> Reading:
        found, problems = _find(content, each, settle)
        return rankings_reading(
            found, problems, source=content.name, title=title, run=content.stem, duplicates=duplicates
        )

    return read


def labels_by(title: str, each: Each, settle: Settle | None = None) -> Callable[[Content], Reading]:
    def read(content: Content) -> Reading:
        found, problems = _find(content, each, settle)
        return labels_reading(found, problems, source=content.name, title=title, run=content.stem)

    return read


def _find(content: Content, each: Each, settle: Settle | None) -> tuple[list[Found], list[str]]:
    """What is found in all records, and what is wrong with some of them."""
    located: list[tuple[str, Any]] = []
    problems: list[str] = []
    for place, record in in_place(content.records(), problems, content.name):
        try:
            items = list(each(record))
        except InputError as error:
            problems.append(f"{content.name}, {place}: {error}")
            continue
        several = len(items) > 1
        located += [(f"{place}, item {n}" if several else place, item) for n, item in enumerate(items, start=1)]
    try:
        return (list(settle(located)) if settle else located), problems
    except InputError as error:
        return [], [*problems, f"{content.name}: {error}"]
