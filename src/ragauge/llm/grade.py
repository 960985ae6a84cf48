"""Grades an answer against the ideal one, 1..5, on completeness and agreement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragauge.llm.model import Model
from ragauge.llm.prompts import GRADE
from ragauge.llm.reply import Outcome, Reply
from ragauge.llm.verdict import ask_verdicts
from ragauge.store import Store

__all__ = ["GradeTask", "grade_all"]


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


def grade_all(
    tasks: Sequence[GradeTask], *, model: Model, store: Store, on_progress: Callable[[int], None] | None = None
) -> list[Outcome]:
    """One grade a task, in order; equal tasks are asked once.

    The value is a whole number from 1 (nothing of the ideal answer, or wrong) to 5 (all of it, nothing contradicts):
    the digit the model finds likeliest, the lower of two equally likely ones. `expected` is the mean grade under the
    model's probabilities, 1.0..5.0; it equals the value where the endpoint gives no log-probabilities. What cannot be
    read is no grade: the value is None and the reason says why. An empty answer or ideal has the reason "no_text".

    Args:
        tasks: Put the answers to one question next to each other: what they share is then read once.
        model: The grader.
        store: Holds and keeps all replies.
        on_progress: Called with the number of tasks just done, from another thread.

    Raises:
        StoreError: The store cannot be read or written.

    Source: after the grading of Schwartz et al., "How important is Recall for Measuring Retrieval Quality?"
        (arXiv 2512.20854), with a rubric of our own.
    """
    asked = [i for i, task in enumerate(tasks) if task.answer.strip() and task.ideal.strip()]
    if on_progress and len(tasks) > len(asked):
        on_progress(len(tasks) - len(asked))
    questions = [{"query": tasks[i].query, "ideal": tasks[i].ideal, "answer": tasks[i].answer} for i in asked]
    graded = ask_verdicts(GRADE, questions, _grade, model=model, store=store, on_progress=on_progress)
    outcomes = [Outcome(None, "no_text", "") for _ in tasks]
    for i, outcome in zip(asked, graded, strict=True):
        outcomes[i] = outcome
    return outcomes


def _grade(reply: Reply, probabilities: Mapping[str, float]) -> Outcome:
    """max() takes the first of equals, and the choices rise."""
    likeliest = max(probabilities, key=probabilities.__getitem__)
    expected = sum(int(digit) * probability for digit, probability in probabilities.items())
    return reply.outcome(float(likeliest), expected=expected)
