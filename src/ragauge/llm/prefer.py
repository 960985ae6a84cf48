"""Which of two answers to one question is nearer to the ideal one: asked in both orders, so that the place cancels.

Models favour a place whatever stands there. With p the probability that the first answer is nearer, asked once with it
as A and once as B: `p_first` is the mean of the two, and where the two orders name the same place and not the same
answer, it was the order that decided.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragauge.errors import InputError
from ragauge.llm.model import Model
from ragauge.llm.pool import Ask, ask_all
from ragauge.llm.prompts import COMPARE
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.verdict import ask_verdicts
from ragauge.store import Store

__all__ = ["TIE_MARGIN", "PairTask", "Preference", "prefer_all"]

TIE_MARGIN = 0.1
"""A mean probability nearer than this to 0.5 is a tie."""

Verdict = Literal["first", "second", "tie"]


@dataclass(frozen=True)
class PairTask:
    """Two answers to one question, and what they are compared to.

    Attributes:
        query: The question.
        ideal: The answer as it should be.
        first: One answer.
        second: The other one.
    """

    query: str
    ideal: str
    first: str
    second: str


@dataclass(frozen=True)
class Preference:
    """What came of comparing two answers.

    Attributes:
        as_a: Probability, 0..1, that the first answer is nearer, asked with it in the first place; None without one.
        as_b: The same, asked with it in the second place.
        reason: Why there is no preference, in one word as of `Outcome.reason`; None when there is one.
        margin: See `verdict`.

    Example:
        >>> Preference(0.9, 0.7).verdict, Preference(0.9, 0.2).verdict, Preference(0.9, 0.2).by_order
        ('first', 'tie', True)
    """

    as_a: float | None
    as_b: float | None
    reason: str | None = None
    margin: float = TIE_MARGIN

    @property
    def p_first(self) -> float | None:
        """Mean over both orders of the probability that the first answer is nearer; None when one is missing."""
        return None if self.as_a is None or self.as_b is None else (self.as_a + self.as_b) / 2

    @property
    def by_order(self) -> bool | None:
        """Whether the order decided: each order prefers the same place, and so another answer. None when not known."""
        if self.as_a is None or self.as_b is None:
            return None
        return (self.as_a - 0.5) * (self.as_b - 0.5) < 0

    @property
    def verdict(self) -> Verdict | None:
        """The nearer answer; "tie" where the order decided or `p_first` is within `margin` of 0.5."""
        if self.p_first is None:
            return None
        if self.by_order or abs(self.p_first - 0.5) < self.margin:
            return "tie"
        return "first" if self.p_first > 0.5 else "second"


def prefer_all(
    tasks: Sequence[PairTask],
    *,
    model: Model,
    store: Store,
    margin: float = TIE_MARGIN,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> list[Preference]:
    """One preference a task, in order: two calls each, one an order.

    Where the endpoint gives no log-probabilities, the letter said counts as probability 1 or 0. Equal answers are a tie
    and are not asked about; an empty answer or ideal has the reason "no_text".

    Args:
        tasks: Put the pairs of one question next to each other: what they share is then read once.
        model: Who compares.
        store: Holds and keeps all replies.
        margin: Mean probabilities nearer than this to 0.5 are ties, 0..0.5.
        on_progress: Called with the number of calls just done, of 2 * len(tasks), from another thread.
        ask: How replies are got; `functools.partial(ask_all, budget=...)` bounds what they may cost.

    Raises:
        InputError: `margin` is out of its range.
        StoreError: The store cannot be read or written.
    """
    if not 0 <= margin <= 0.5:
        raise InputError(f"margin must be a probability of 0 to 0.5, got {margin}")
    settled = [_settled(task, margin) for task in tasks]
    asked = [i for i, one in enumerate(settled) if one is None]
    if on_progress and len(tasks) > len(asked):
        on_progress(2 * (len(tasks) - len(asked)))
    questions = [question for i in asked for question in _both_orders(tasks[i])]
    outcomes = ask_verdicts(COMPARE, questions, _p_a, model=model, store=store, on_progress=on_progress, ask=ask)
    found = dict(zip(asked, zip(outcomes[0::2], outcomes[1::2], strict=True), strict=True))
    return [one if one is not None else _preference(*found[i], margin) for i, one in enumerate(settled)]


def _settled(task: PairTask, margin: float) -> Preference | None:
    """What needs no question."""
    texts = [text.strip() for text in (task.ideal, task.first, task.second)]
    if not all(texts):
        return Preference(None, None, "no_text", margin)
    return Preference(0.5, 0.5, None, margin) if texts[1] == texts[2] else None


def _both_orders(task: PairTask) -> tuple[Mapping[str, str], Mapping[str, str]]:
    shared = {"query": task.query, "ideal": task.ideal}
    return (
        {**shared, "first": task.first, "second": task.second},
        {**shared, "first": task.second, "second": task.first},
    )


def _p_a(reply: Reply, probabilities: Mapping[str, float]) -> Outcome:
    return reply.outcome(probabilities["a"])


def _preference(as_a: Outcome, as_b: Outcome, margin: float) -> Preference:
    """In the second order the first answer is B."""
    return Preference(
        None if as_a.value is None else float(as_a.value),
        None if as_b.value is None else 1 - float(as_b.value),
        as_a.reason or as_b.reason,
        margin,
    )
