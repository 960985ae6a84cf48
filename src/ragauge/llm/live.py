"""What comes of judging one ranking while a user waits."""

from dataclasses import dataclass
from math import isnan, nan
from typing import Literal

__all__ = ["LiveAssessment", "LiveLabel", "LiveValue", "Status", "Stop"]

Status = Literal["known", "labelled", "unlabelled", "late", "not asked"]
Stop = Literal["complete", "enough", "deadline"]


@dataclass(frozen=True)
class LiveLabel:
    """What came of one document.

    Attributes:
        label: By the judge's scale; None when there is none.
        status: "known" (it was in the store), "labelled", "unlabelled" (asked, without a label: see `reason`), "late"
            (asked, no reply in time; it is stored when it comes) or "not asked".
        reason: Why there is no label, as in `Outcome`, "no_text" for an empty document; None otherwise.
    """

    label: float | None
    status: Status
    reason: str | None = None


@dataclass(frozen=True)
class LiveValue:
    """What is known of one measure.

    Attributes:
        measure: Printed form.
        low: Its value if every missing label turns out worst: certain.
        high: The same if they turn out best. Equal to `low` when all documents are labelled.
        expected: The value when all are labelled; before that, what a trusted relevance model expects; else NaN.
        likely_low: Lower end of the 90 % interval by the relevance model; NaN without one.
        likely_high: Upper end.
    """

    measure: str
    low: float
    high: float
    expected: float = nan
    likely_low: float = nan
    likely_high: float = nan

    @property
    def half_width(self) -> float:
        """Half of high - low, or of the likely interval where that is narrower."""
        likely = self.likely_high - self.likely_low
        return (self.high - self.low if isnan(likely) else min(likely, self.high - self.low)) / 2

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.measure} = {self.low:.3f}"
        about = "" if isnan(self.expected) else f", about {self.expected:.3f}"
        return f"{self.measure} in {self.low:.3f}..{self.high:.3f}{about}"


@dataclass(frozen=True)
class LiveAssessment:
    """One ranking, as far as it could be judged.

    Attributes:
        labels: One a document, in rank order.
        values: One a measure, in the order asked for.
        stop: "complete" (every document has its outcome), "enough" (the first measure is known closely enough) or
            "deadline".
        elapsed_s: Seconds it took.
    """

    labels: tuple[LiveLabel, ...]
    values: tuple[LiveValue, ...]
    stop: Stop
    elapsed_s: float

    @property
    def n_labelled(self) -> int:
        """Documents that have a label."""
        return sum(label.label is not None for label in self.labels)

    def __str__(self) -> str:
        values = "; ".join(map(str, self.values))
        return f"{values} ({self.n_labelled}/{len(self.labels)} labelled, {self.stop}, {self.elapsed_s:.2f} s)"
