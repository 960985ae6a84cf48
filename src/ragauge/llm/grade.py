"""Grades an answer against the ideal one, 1..5, on completeness and agreement; once, or several times with the spread.

A grade has two spreads, and they are kept apart. `expected_sd` is how unsure one reply is: the standard deviation of
the grade under the model's probabilities, which costs no further call. `repeat_sd` is how far replies to the same
question differ.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from ragauge.errors import InputError
from ragauge.llm.model import Model
from ragauge.llm.pool import Ask, ask_all
from ragauge.llm.prompts import GRADE
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.verdict import ask_verdicts, shares
from ragauge.store import Store

__all__ = ["GradeTask", "RepeatedGrade", "grade_all", "grade_repeatedly"]


@dataclass(frozen=True)
class GradeTask:
    """An answer and what it is compared to.

    Attributes:
        query: The question.
        ideal: The answer as it should be.
        answer: The answer to grade.
    """

    query: str
    ideal: str
    answer: str


@dataclass(frozen=True)
class RepeatedGrade:
    """What came of grading one answer several times.

    Attributes:
        outcomes: One a repeat, in order; the first is what `grade_all` gives.

    Example:
        >>> found = RepeatedGrade(tuple(Outcome(grade, None, "") for grade in (4.0, 5.0, 3.0)))
        >>> found.grade, found.repeat_sd, found.expected_sd
        (4.0, 1.0, None)
    """

    outcomes: tuple[Outcome, ...]

    @property
    def grades(self) -> tuple[float | None, ...]:
        """The grade of each repeat, 1.0..5.0; None where there is none."""
        return tuple(None if one.value is None else float(one.value) for one in self.outcomes)

    @property
    def grade(self) -> float | None:
        """Mean of the grades there are; None when there is none."""
        return _mean(self.grades)

    @property
    def repeat_sd(self) -> float | None:
        """Standard deviation of the grades (n - 1); None with fewer than two. 0 = all repeats said the same."""
        known = [grade for grade in self.grades if grade is not None]
        return stdev(known) if len(known) > 1 else None

    @property
    def expected(self) -> float | None:
        """Mean of the repeats' mean grades under the model's probabilities."""
        return _mean([one.expected for one in self.outcomes])

    @property
    def expected_sd(self) -> float | None:
        """Root mean square of the repeats' standard deviations under the model's probabilities; None without them."""
        square = _mean([None if one.expected_sd is None else one.expected_sd**2 for one in self.outcomes])
        return None if square is None else math.sqrt(square)

    @property
    def reason(self) -> str | None:
        """Why the first repeat without a grade has none; None when all have one."""
        return next((one.reason for one in self.outcomes if one.value is None), None)


def grade_all(
    tasks: Sequence[GradeTask],
    *,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> list[Outcome]:
    """One grade a task, in order; equal tasks are asked once.

    The value is a whole number from 1 (nothing of the ideal answer, or wrong) to 5 (all of it, nothing contradicts):
    the digit the model finds likeliest, the lower of two equally likely ones. `expected` is the mean grade under the
    model's probabilities, 1.0..5.0, and `expected_sd` its standard deviation; where the endpoint gives no
    log-probabilities, the first equals the value and the second is None. What cannot be read is no grade: the value is
    None and the reason says why. An empty answer or ideal has the reason "no_text".

    Args:
        tasks: Put the answers to one question next to each other: what they share is then read once.
        model: The grader.
        store: Holds and keeps all replies.
        on_progress: Called with the number of tasks just done, from another thread.
        ask: How replies are got; `functools.partial(ask_all, budget=...)` bounds what they may cost.

    Raises:
        StoreError: The store cannot be read or written.

    Source: after the grading of Schwartz et al., "How important is Recall for Measuring Retrieval Quality?"
        (arXiv 2512.20854), with a rubric of our own.
    """
    asked = [i for i, task in enumerate(tasks) if task.answer.strip() and task.ideal.strip()]
    if on_progress and len(tasks) > len(asked):
        on_progress(len(tasks) - len(asked))
    questions = [{"query": tasks[i].query, "ideal": tasks[i].ideal, "answer": tasks[i].answer} for i in asked]
    graded = ask_verdicts(GRADE, questions, _grade, model=model, store=store, on_progress=on_progress, ask=ask)
    outcomes = [Outcome(None, "no_text", "") for _ in tasks]
    for i, outcome in zip(asked, graded, strict=True):
        outcomes[i] = outcome
    return outcomes


def grade_repeatedly(
    tasks: Sequence[GradeTask],
    *,
    repeats: int,
    model: Model,
    store: Store,
    on_progress: Callable[[int], None] | None = None,
    ask: Ask = ask_all,
) -> list[RepeatedGrade]:
    """Each task graded several times, all tasks once before any of them again.

    The first time is `grade_all`'s; each later one has its number added to the model's "seed", so that it is a request
    of its own, which the store keeps: no reply counts twice, and a larger `repeats` asks only what is new. Where the
    endpoint gives log-probabilities the grade is read from them and not from the token that was drawn, so that repeats
    are equal but for the server's own noise, at any temperature; `expected_sd` then says more, for a single call.
    Elsewhere they can differ only at a temperature above 0: `Model(..., parameters={"temperature": 1})`.

    Args:
        tasks: As for `grade_all`.
        repeats: How often, 1 or more.
        model: The grader.
        store: Holds and keeps all replies.
        on_progress: Called with the number of gradings just done, of len(tasks) * repeats.
        ask: How replies are got.

    Raises:
        InputError: `repeats` is below 1.
        StoreError: The store cannot be read or written.
    """
    if repeats < 1:
        raise InputError(f"repeats must be a positive number, got {repeats}")
    draws = [
        grade_all(tasks, model=model.redrawn(draw), store=store, on_progress=on_progress, ask=ask)
        for draw in range(repeats)
    ]
    return [RepeatedGrade(outcomes) for outcomes in zip(*draws, strict=True)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _grade(reply: Reply, probabilities: Mapping[str, float]) -> Outcome:
    """max() takes the first of equals, and the choices rise."""
    likeliest = max(probabilities, key=probabilities.__getitem__)
    expected = sum(int(digit) * probability for digit, probability in probabilities.items())
    variance = sum((int(digit) - expected) ** 2 * probability for digit, probability in probabilities.items())
    told = shares(reply.first_token(), GRADE.choices)
    return reply.outcome(float(likeliest), expected=expected, expected_sd=math.sqrt(variance) if told else None)
