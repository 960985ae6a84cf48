"""One ranking judged while a user waits: labels inside a deadline, and bounds for what could not be labelled in time.

One idea: a ranking need not be labelled whole to say something certain. What the store knows counts at once; the rest
is asked for together, most telling document first; when the deadline comes, or the measure is known closely enough,
what is missing becomes the width of an interval, never a guess. Replies that come too late are stored all the same, as
they are paid for: the next time they are there.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Self, get_args

from ragauge.errors import InputError
from ragauge.llm.judge import Judge
from ragauge.llm.line import Line
from ragauge.llm.live import LiveAssessment
from ragauge.llm.live_ranking import LiveRanking, Prefer
from ragauge.llm.model import Model
from ragauge.measures import Measure
from ragauge.stats import RelevanceModel
from ragauge.store import Store

__all__ = ["LiveJudge"]

Document = str | Mapping[str, Any]

_LOOKUPS = 4  # rankings whose stored labels are looked up at once


class LiveJudge:
    """Judges single rankings inside a deadline, as often as wanted; close it, or use it in a `with` block.

    `assess` is awaited, on any event loop (a notebook's, uvloop's), `assess_now` is called; both may be used by any
    number of callers at once. All share the endpoint's `concurrency`. Its `timeout_s` and `max_retries` hold for calls
    whatever the deadline is: with long ones, calls that nobody waits for keep their place.

    Args:
        model: Whom to ask.
        store: What it holds is known at once, and all replies are kept in it.
        judge: How it is asked; None = yes or no, one document a call. One with a batch size makes fewer calls.
        relevance: A model of relevance by rank and score (`stats.fit_relevance`). It orders the calls and may stop
            them, if it is `trusted`; otherwise it is not used.

    Raises:
        MissingExtraError: aiohttp is not installed.

    Example:
        with LiveJudge(model, store) as judge:
            found = judge.assess_now("capital of France?", ["Paris is the capital.", "Bread is baked."], deadline_s=1)
            print(found)
    """

    def __init__(
        self, model: Model, store: Store, *, judge: Judge | None = None, relevance: RelevanceModel | None = None
    ) -> None:
        self._model, self._store, self._judge = model, store, judge or Judge()
        self._relevance = relevance if relevance is not None and relevance.trusted else None
        self._line = Line(model, store)
        self._lookups = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="ragauge-known")
        self._callers = ThreadPoolExecutor(model.endpoint.concurrency, thread_name_prefix="ragauge-live")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Waits for the replies that are still on their way, stores them, and closes the connections."""
        self._lookups.shutdown()
        self._callers.shutdown()
        self._line.close()

    async def assess(
        self,
        query: str,
        documents: Sequence[Document],
        *,
        deadline_s: float = 1.5,
        measures: Sequence[Measure] = (),
        within: float | None = None,
        prefer: Prefer = "speed",
    ) -> LiveAssessment:
        """Labels of one ranking, and the measures they give.

        Args:
            query: What was asked.
            documents: Best first: texts, or mappings with "text" and, where there is one, "score".
            deadline_s: Seconds until it returns with what is there.
            measures: What to compute, the first being the one that `within` is about; none that needs N_p. () = T and
                P at K = the number of documents, with the middle of the judge's scale as `rel`.
            within: Stop as soon as the first measure is known to +-within: certain, or with a trusted `relevance` 90 %
                likely. 0 = label all; None = 0 for fewer than 20 documents, and else 0.1.
            prefer: "speed": all calls at once, so that the slowest need not be waited for; "few calls": only as many at
                a time as may be enough, and more when they were not.

        Returns:
            Labels, values with bounds, and why it stopped.

        Raises:
            InputError: No query, no document, a measure that needs N_p, or a number out of range.
            StoreError: The store cannot be read or written.
        """
        ranking = self._start(query, documents, deadline_s, measures, within, prefer)
        try:
            await asyncio.wait({asyncio.wrap_future(ranking.settled)}, timeout=ranking.seconds_left(deadline_s))
        finally:
            found = ranking.leave()
        return found

    def assess_now(
        self,
        query: str,
        documents: Sequence[Document],
        *,
        deadline_s: float = 1.5,
        measures: Sequence[Measure] = (),
        within: float | None = None,
        prefer: Prefer = "speed",
    ) -> LiveAssessment:
        """As `assess`, from code that waits; where an event loop is running it would stand still meanwhile."""
        ranking = self._start(query, documents, deadline_s, measures, within, prefer)
        try:
            wait([ranking.settled], timeout=ranking.seconds_left(deadline_s))
        finally:
            found = ranking.leave()
        return found

    def _start(
        self,
        query: str,
        documents: Sequence[Document],
        deadline_s: float,
        measures: Sequence[Measure],
        within: float | None,
        prefer: Prefer,
    ) -> LiveRanking:
        """A ranking whose labels are being got."""
        texts, scores = _read(query, documents, deadline_s, within, prefer)
        k = len(texts)
        chosen = tuple(measures) or tuple(Measure.of(name, k, rel=self._judge.middle) for name in ("T", "P"))
        if needy := [str(measure) for measure in chosen if measure.needs_pool]:
            raise InputError(
                f"{', '.join(needy)} needs the number of relevant documents, which a ranking does not tell"
            )
        ranking = LiveRanking(
            query,
            texts,
            scores,
            judge=self._judge,
            measures=chosen,
            within=(0.1 if k >= 20 else 0.0) if within is None else within,
            prefer=prefer,
            relevance=self._relevance,
        )
        self._lookups.submit(ranking.begin, self._model, self._store, self._line.ask, self._callers)
        return ranking


def _read(
    query: str, documents: Sequence[Document], deadline_s: float, within: float | None, prefer: str
) -> tuple[list[str], list[float | None]]:
    problems = [
        message
        for broken, message in (
            (not query.strip(), "the query has no text"),
            (not documents, "there is no document to judge"),
            (not deadline_s > 0, f"deadline_s must be above 0, got {deadline_s:g}"),
            (within is not None and not within >= 0, f"within must be 0 or more, got {within}"),
            (prefer not in get_args(Prefer), f"prefer must be one of {', '.join(get_args(Prefer))}, got {prefer!r}"),
        )
        if broken
    ]
    if problems:
        raise InputError.collect(problems)
    rows: list[Mapping[str, Any]] = [{"text": each} if isinstance(each, str) else each for each in documents]
    if any(not isinstance(row.get("text") or "", str) for row in rows):
        raise InputError("a document is a text, or a mapping with its text under 'text'")
    return [(row.get("text") or "").strip() for row in rows], [row.get("score") for row in rows]
