"""Answers a query from documents alone, as a RAG system would: the top K, or all relevant ones for the ideal answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragauge.llm.model import Model
from ragauge.llm.pool import ask_all
from ragauge.llm.prompts import ANSWER, Prompt
from ragauge.llm.reply import Outcome, Reply
from ragauge.store import Store

__all__ = ["AnswerTask", "answer_all"]


@dataclass(frozen=True)
class AnswerTask:
    """A question and what may be used to answer it.

    Attributes:
        query: The question.
        documents: Texts in rank order.
    """

    query: str
    documents: tuple[str, ...]


def answer_all(
    tasks: Sequence[AnswerTask],
    *,
    model: Model,
    store: Store,
    prompt: Prompt = ANSWER,
    on_progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """One answer a task, in order; equal tasks are asked once.

    The outcome's value is the text. A task without documents has none, for the reason "no_text". An answer that the
    token limit ended is kept, as a reader would have seen it, and bears the reason "cut_off" beside its value.

    Args:
        tasks: Put tasks that begin alike next to each other, smaller K first: a server that keeps the beginning of
            the last prompt then reads each document once.
        model: Who answers.
        store: Holds and keeps all replies.
        prompt: ANSWER, or one with the same fields (query, documents).
        on_progress: Called with the number of tasks just done, from another thread.

    Raises:
        StoreError: The store cannot be read or written.
    """
    asked = [i for i, task in enumerate(tasks) if task.documents]
    requests = [prompt.request(query=tasks[i].query, documents=tasks[i].documents) for i in asked]
    if on_progress and len(tasks) > len(asked):
        on_progress(len(tasks) - len(asked))
    answers = ask_all(requests, model=model, store=store, read=_read, on_progress=on_progress)
    outcomes = [Outcome(None, "no_text", "") for _ in tasks]
    for i, answer in zip(asked, answers, strict=True):
        outcomes[i] = answer
    return outcomes


def _read(reply: Reply) -> Outcome:
    failed = reply.failed()
    if failed is not None:
        return failed
    if not reply.text:
        return reply.outcome(None, "cut_off" if reply.cut_off else "empty")
    return reply.outcome(reply.text, "cut_off" if reply.cut_off else None)
