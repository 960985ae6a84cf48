"""The judge card: what is known of a judge, from pairs people labelled, repeats and canaries.

A label by a model is worth what this card says: how well the judge orders documents (AUC), how far its verdicts agree
with people's beyond chance, where it errs (by rank, by length), whether it says the same twice, whether it can be led,
and what it costs. Intervals are over queries.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ragauge.llm.led import CanaryResult
from ragauge.results import Agreement, Estimate
from ragauge.stats.roc import Discrimination

__all__ = ["Bin", "Cost", "Group", "JudgeCard", "Repeated"]


@dataclass(frozen=True)
class Group:
    """How the judge does on some of the pairs.

    Attributes:
        name: Such as "ranks 1 to 3".
        sensitivity: Share of the documents relevant to people that the judge finds relevant.
        specificity: Share of the others that it does not.
    """

    name: str
    sensitivity: Estimate
    specificity: Estimate


@dataclass(frozen=True)
class Bin:
    """Pairs with labels near each other.

    Attributes:
        low: Lowest label.
        high: Highest.
        mean: Mean label.
        relevant: Share that people found relevant.
    """

    low: float
    high: float
    mean: float
    relevant: Estimate


@dataclass(frozen=True)
class Repeated:
    """Whether the judge says the same when it is asked again.

    Attributes:
        n_pairs: Pairs asked again.
        n_draws: How often each was asked, the first time included.
        same: Share of pairs with one verdict in all draws.
        agreement: Of the draws with each other.
        mean_change: Mean absolute difference of a pair's labels to its first.
        largest_change: The largest.
    """

    n_pairs: int
    n_draws: int
    same: Estimate
    agreement: Agreement
    mean_change: float
    largest_change: float


@dataclass(frozen=True)
class Cost:
    """What the labels of the pairs cost.

    Attributes:
        calls: Calls made.
        documents: Documents labelled.
        prompt_tokens: Tokens read; None where the endpoint did not tell.
        completion_tokens: Tokens written, likewise.
        seconds: Sum of the calls' latencies.
    """

    calls: int
    documents: int
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


@dataclass(frozen=True)
class JudgeCard:
    """What is known of a judge.

    Attributes:
        judge: Model and prompt.
        rel: People's label of a relevant document.
        n_pairs: Pairs that both labelled.
        n_queries: Their queries.
        unlabelled: Reason -> pairs the judge did not label.
        discrimination: How well its labels order documents.
        cut: From this label on the judge's verdict is "relevant": as given, or the best on all pairs.
        cut_is_given: Whether the cut was given; else each query's verdicts use the cut that is best on other queries.
        overall: Sensitivity and specificity.
        agreement: Of its verdicts with people's.
        by_rank: The same by rank.
        by_length: The same by words of the document.
        calibration: Groups of pairs by label, ascending.
        brier: Mean squared difference of the label, as a probability, to people's verdict; NaN for grades.
        brier_calibrated: The same after calibration on other queries; NaN where there are too few.
        brier_constant: The same for the share of relevant pairs in other queries.
        repeated: Self-agreement; None when nothing was asked again.
        canaries: One a kind; empty when none were asked.
        cost: None when it is not known.
    """

    judge: str
    rel: float
    n_pairs: int
    n_queries: int
    unlabelled: Mapping[str, int]
    discrimination: Discrimination
    cut: float
    cut_is_given: bool
    overall: Group
    agreement: Agreement
    by_rank: tuple[Group, ...]
    by_length: tuple[Group, ...]
    calibration: tuple[Bin, ...]
    brier: float
    brier_calibrated: float
    brier_constant: float
    repeated: Repeated | None
    canaries: tuple[CanaryResult, ...]
    cost: Cost | None
