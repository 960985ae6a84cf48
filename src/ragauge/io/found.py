"""What is found in files that other tools wrote: retrievals, what was skipped, and the tables made of them.

An adapter turns each record of a file into `Retrieval`s and `Skip`s. Nothing is dropped in silence: a `Reading` counts
what was skipped by reason and says where it was first seen.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import FormatError
from ragauge.io.rows import Duplicates, raise_problems, repeated
from ragauge.io.text import content_id
from ragauge.schema import LABELS, RANKINGS

__all__ = [
    "Document",
    "Found",
    "Label",
    "Reading",
    "Retrieval",
    "Skip",
    "Skipped",
    "check_text",
    "labels_reading",
    "n_repeating",
    "rankings_reading",
]

_TWICE = (
    "stands in the ranking twice; say which one counts with --duplicates first or max "
    '(from Python, duplicates="keep" reads both)'
)
NO_ID = "with neither a query nor an id"
NO_RANKING = "with labels and no ranking"


@dataclass(frozen=True, slots=True)
class Label:
    """What one judge said of one document; `value` None = nothing, and then `reason` says why."""

    value: float | None
    reason: str | None = None
    judge: str | None = None

    def __post_init__(self) -> None:
        _check_texts(self.reason, self.judge)


@dataclass(frozen=True, slots=True)
class Document:
    """A retrieved document; it has an id, a text or both."""

    doc_id: str | None
    text: str | None = None
    score: float | None = None
    labels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        _check_texts(self.doc_id, self.text)
        if not self.doc_id and not self.text:
            raise FormatError("a document has neither an id nor a text")

    @property
    def key(self) -> str:
        """Its id, else the hash of its text."""
        return self.doc_id or content_id(self.text or "")

    @property
    def label(self) -> float | None:
        """The label, where all who gave one agree."""
        values = {label.value for label in self.labels if label.value is not None}
        return values.pop() if len(values) == 1 else None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One ranking, best document first.

    Attributes:
        query_id: None = the hash of the query.
        query: Its text.
        documents: None where a record tells labels and no ranking.
        run: None = the file's name.
        relevant: Labels of documents that need not have been retrieved.
    """

    query_id: str | None
    query: str | None
    documents: tuple[Document, ...] | None
    run: str | None = None
    relevant: tuple[tuple[str, Label], ...] = field(default=())

    def __post_init__(self) -> None:
        _check_texts(self.query_id, self.query, self.run, *(doc_id for doc_id, _ in self.relevant))


@dataclass(frozen=True, slots=True)
class Skip:
    """A record that holds no ranking, and why."""

    reason: str


Found = tuple[str, Retrieval | Skip]
"""Where it stands, such as "line 3", and what stands there."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many records were left out for one reason, and where the first of them stands."""

    reason: str
    count: int
    first: str

    def __str__(self) -> str:
        return f"{self.count} {self.reason} (first: {self.first})"


@dataclass(frozen=True)
class Reading:
    """A table, and what became of the records it was made of.

    Attributes:
        source: The file, as the caller named it.
        title: What it was read as, such as "LangSmith runs".
        unit: What a row of the table is called: "ranking" or "label".
        table: `schema.RANKINGS` or `schema.LABELS`.
        skipped: One entry a reason, the most frequent first.
        n_repeating: Rankings that hold a document more than once (only with `duplicates="keep"`).
    """

    source: str
    title: str
    unit: str
    table: pa.Table
    skipped: tuple[Skipped, ...] = ()
    n_repeating: int = 0

    @property
    def n_read(self) -> int:
        """Rows of the table."""
        return int(self.table.num_rows)

    def __str__(self) -> str:
        text = f"{self.source}: read as {self.title}: {self.n_read} {self.unit}{'' if self.n_read == 1 else 's'}"
        if self.skipped:
            text += f"; skipped {sum(one.count for one in self.skipped)}: {', '.join(map(str, self.skipped))}"
        if self.n_repeating:
            text += f"; {self.n_repeating} with a document more than once"
        return text


def rankings_reading(
    found: Iterable[Found], problems: Sequence[str], *, source: str, title: str, run: str, duplicates: Duplicates
) -> Reading:
    """The RANKINGS among what was found.

    Args:
        found: In the file's order.
        problems: What was wrong with records that could not be read; raised together with what is wrong here.
        source: The file.
        title: What it was read as.
        run: The run of rankings that name none.
        duplicates: Whether a document twice in a ranking is an error.

    Raises:
        FormatError: There were problems, two rankings have the same query and run, a document stands in a ranking
            twice, or there is no ranking at all.
    """
    rows, skips, faults, places = [], _Skips(), list(problems), dict[tuple[str, str], str]()
    for place, query_id, one in _named(found, run, skips):
        if one.documents is None:
            skips.add(place, NO_RANKING)
            continue
        row = _row(query_id, one, run)
        earlier = places.setdefault((query_id, row["run"]), place)
        if earlier != place:
            faults.append(f"{source}, {place}: query {query_id!r} of run {row['run']!r} stands at {earlier} already")
        elif duplicates == "error" and len(set(row["doc_ids"])) != len(row["doc_ids"]):
            twice = repeated(row["doc_ids"])
            faults.append(f"{source}, {place}: query {query_id!r}: document {twice!r} {_TWICE}")
        rows.append(row)
    raise_problems(faults)
    _refuse_nothing(rows, skips, source, title, "rankings")
    return Reading(source, title, "ranking", pa.Table.from_pylist(rows, RANKINGS), skips.counted())


def n_repeating(rankings: pa.Table) -> int:
    """Rankings that hold a document more than once.

    >>> n_repeating(pa.table({"doc_ids": [["a", "b", "a", "a"], ["a", "b"], []]}))
    1
    """
    lists = rankings.column("doc_ids").combine_chunks()
    pairs = pa.table({"row": pc.list_parent_indices(lists), "doc_id": pc.list_flatten(lists)})
    times = pairs.group_by(["row", "doc_id"]).aggregate([([], "count_all")])
    return len(times.filter(pc.greater(times.column("count_all"), 1)).column("row").unique())


def labels_reading(found: Iterable[Found], problems: Sequence[str], *, source: str, title: str, run: str) -> Reading:
    """The LABELS among what was found: those on documents, and those of documents that need not have been retrieved.

    Raises:
        FormatError: There were problems, one judge gave a document two labels for a query, or there is no label.
    """
    skips, faults = _Skips(), list(problems)
    first: dict[tuple[str, str, str | None], tuple[str, dict[str, Any]]] = {}
    for place, query_id, one in _named(found, run, skips):
        mine = list(_labels(query_id, one))
        if not mine:
            skips.add(place, "without labels")
        for row in mine:
            earlier, other = first.setdefault((query_id, row["doc_id"], row["judge"]), (place, row))
            if other["label"] != row["label"]:
                faults.append(f"{source}, {place}: {_conflict(row, other)} at {earlier}")
    raise_problems(faults)
    _refuse_nothing(first, skips, source, title, "labels")
    rows = [row for _, row in first.values()]
    return Reading(source, title, "label", pa.Table.from_pylist(rows, LABELS), skips.counted())


def _named(found: Iterable[Found], run: str, skips: "_Skips") -> Iterator[tuple[str, str, Retrieval]]:
    """Place, query_id and retrieval. A query asked twice without an id is two queries: the second is "<hash>#2"."""
    asked: Counter[tuple[str, str]] = Counter()
    for place, one in found:
        if isinstance(one, Skip):
            skips.add(place, one.reason)
        elif one.query_id:
            yield place, one.query_id, one
        elif one.query:
            name = content_id(one.query)
            asked[name, one.run or run] += one.documents is not None  # a label alone is about the query's first ranking
            times = asked[name, one.run or run]
            yield place, name if times <= 1 or one.documents is None else f"{name}#{times}", one
        else:
            skips.add(place, NO_ID)


def _row(query_id: str, one: Retrieval, run: str) -> dict[str, Any]:
    """One row of RANKINGS."""
    documents = one.documents or ()
    return {
        "query_id": query_id,
        "query": one.query,
        "run": one.run or run,
        "doc_ids": [document.key for document in documents],
        "texts": [document.text for document in documents],
        "scores": [document.score for document in documents],
        "labels": [document.label for document in documents],
    }


def _labels(query_id: str, one: Retrieval) -> Iterator[dict[str, Any]]:
    """The rows of LABELS in one retrieval."""
    pairs = [(document.key, label) for document in one.documents or () for label in document.labels]
    for doc_id, label in (*pairs, *one.relevant):
        yield {
            "query_id": query_id,
            "doc_id": doc_id,
            "label": label.value,
            "reason": label.reason,
            "judge": label.judge,
        }


def _conflict(row: dict[str, Any], other: dict[str, Any]) -> str:
    here, there = ("null" if one["label"] is None else f"{one['label']:g}" for one in (row, other))
    return f"document {row['doc_id']!r} of query {row['query_id']!r} is labelled {here} here and {there}"


def _refuse_nothing(rows: Sized, skips: "_Skips", source: str, title: str, unit: str) -> None:
    if not rows:
        seen = "; skipped " + ", ".join(map(str, skips.counted())) if skips.counts else ""
        raise FormatError(f"{source}: read as {title}, and there are no {unit} in it{seen}")


class _Skips:
    """Counts of what was skipped, by reason."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, place: str, reason: str) -> None:
        self.counts[reason] += 1
        self.first.setdefault(reason, place)

    def counted(self) -> tuple[Skipped, ...]:
        return tuple(Skipped(reason, count, self.first[reason]) for reason, count in self.counts.most_common())


def check_text(text: str) -> None:
    """UTF-8 cannot hold half of a surrogate pair.

    Raises:
        FormatError: The text has one.
    """
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise FormatError(f"\\u{half:04x} is half a character (an unpaired surrogate)") from error


def _check_texts(*texts: str | None) -> None:
    for text in texts:
        if text is not None:
            check_text(text)
