"""What both reports are made of, without HTML: plain records, and numbers as people read them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

__all__ = ["Document", "Example", "Fact", "Record", "finite", "number", "span", "whole"]

Record = dict[str, Any]
"""One row of chart data: JSON-safe values only, None for what is undefined."""


@dataclass(frozen=True)
class Example:
    """One graded answer with what it was written from, to be read by a person.

    Attributes:
        query_id: Id of the query.
        query: Its text; "" when it is not known.
        dataset: Name of the data set.
        embedder: Name of the retriever.
        cutoff: K, the number of documents the answer was written from.
        grade: 1 (worst) .. 5 (best); None = not graded.
        answer_ideal: Answer from all relevant documents; None or "" when there is none.
        answer_topk: Answer from the top K; None or "" when there is none.
        documents: (label, text) in rank order; label 1 = relevant, 0 = not, None = unjudged; text "" = not known.
    """

    query_id: str
    query: str
    dataset: str
    embedder: str
    cutoff: int
    grade: float | None
    answer_ideal: str | None
    answer_topk: str | None
    documents: tuple[tuple[float | None, str], ...]

    @property
    def n_positive(self) -> int:
        """Relevant documents (label >= 1) among those shown."""
        return sum(label is not None and label >= 1 for label, _ in self.documents)

    @property
    def precision(self) -> float:
        """P = n_p / K, 0..1."""
        return self.n_positive / self.cutoff if self.cutoff else 0.0


@dataclass(frozen=True)
class Fact:
    """One figure of the strip at the top of a report."""

    name: str
    value: str


@dataclass(frozen=True)
class Document:
    """One retrieved document as a report shows it; `relevant` None = unjudged."""

    rank: int
    label: str
    score: str
    text: str
    relevant: bool | None


def finite(value: float | None) -> float | None:
    """`value`, or None where it is null, NaN or infinite: JSON has no word for those.

    >>> finite(float("nan")) is None
    True
    """
    return None if value is None or not isfinite(value) else round(float(value), 6)


def number(value: float | None, *, digits: int = 3, missing: str = "–") -> str:
    """`value` with a real minus sign, or `missing` where it is undefined.

    >>> number(-0.25), number(float("nan")), number(2.0, digits=1)
    ('−0.250', '–', '2.0')
    """
    if value is None or not isfinite(value):
        return missing
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0 else text).replace("-", "−")


def whole(value: float | None, *, missing: str = "–") -> str:
    """A label or grade: without decimals when it has none, else with two.

    >>> whole(3.0), whole(0.97), whole(None)
    ('3', '0.97', '–')
    """
    if value is None or not isfinite(value):
        return missing
    return number(value, digits=0 if float(value).is_integer() else 2)


def span(values: Iterable[int]) -> str:
    """The smallest and largest of whole numbers, as "1 to 20"; "–" when there are none."""
    found: Sequence[int] = sorted(set(values))
    if not found:
        return "–"
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
