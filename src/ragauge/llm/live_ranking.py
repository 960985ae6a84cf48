"""The state of one ranking while its labels come in, and what is known of its measures at any moment."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ragauge.llm.judge import Judge
from ragauge.llm.label import ask_labels
from ragauge.llm.live import LiveAssessment, LiveLabel, LiveValue, Stop
from ragauge.llm.model import Model, Request
from ragauge.llm.pool import Ask
from ragauge.llm.readings import stored_replies
from ragauge.llm.reply import Outcome, Reply
from ragauge.measures import Measure
from ragauge.measures.bounds import label_bounds
from ragauge.ragged import Ragged
from ragauge.stats import RelevanceModel, labelling_order, likely_positives, rank_features
from ragauge.store import Store, request_key

__all__ = ["LiveRanking", "Prefer"]

Floats = npt.NDArray[np.float64]
T = TypeVar("T")
Prefer = Literal["speed", "few calls"]

LEVEL = 0.9
"""Of the interval by which a relevance model may stop a ranking."""

_ORDERLESS = ("P", "T", "n_p", "n_n", "SetP", "Success")  # the number of positives tells their value
_TOP = {"binary": 1.0, "graded": 3.0}


class LiveRanking:
    """Labels of one ranking on their way; `settled` is done when no more of them is waited for."""

    def __init__(
        self,
        query: str,
        texts: Sequence[str],
        scores: Sequence[float | None],
        *,
        judge: Judge,
        measures: Sequence[Measure],
        within: float,
        prefer: Prefer,
        relevance: RelevanceModel | None,
    ) -> None:
        self.settled: Future[Stop] = Future()
        self._started = time.monotonic()
        self._lock = threading.RLock()
        self._query, self._texts, self._judge = query, list(texts), judge
        self._top = _TOP[judge.scale]
        self._measures, self._within, self._prefer = tuple(measures), within, prefer
        self._p = None if relevance is None else relevance.probability(rank_features(scores))
        empty = LiveLabel(None, "unlabelled", "no_text")
        self._labels = [_NOT_ASKED if text else empty for text in texts]
        self._call: Callable[[list[str]], Future[list[Outcome]]]  # set by begin
        self._queue: list[list[str]] = []
        self._look_from = 0  # with fewer labels than this the measure cannot be certain enough
        self._n_open = 0  # texts in calls whose outcome is not marked yet
        self._calls: dict[Future[list[Outcome]], list[str]] = {}
        self._error: BaseException | None = None
        self._left = False

    def seconds_left(self, deadline_s: float) -> float:
        """Of the deadline, which began with the ranking."""
        return max(0.0, deadline_s - (time.monotonic() - self._started))

    def begin(self, model: Model, store: Store, ask: Ask, callers: Executor) -> None:
        """Takes what the store knows, then asks for the rest."""
        try:
            parts = self._groups() if self._judge.batch_size > 1 else [self._waiting()]
            known = [(part, self._outcomes(part, model, store, _stored_only)) for part in parts]
            with self._lock:
                for part, outcomes in known:
                    for text, outcome in zip(part, outcomes, strict=True):
                        if outcome.value is not None:
                            self._mark(text, LiveLabel(float(outcome.value), "known"))
                if not self._settle() and not self._left:
                    self._queue = self._groups()
                    self._look_from = 0 if self._p is not None else self._n_labelled() + self._fewest()
                    judged = partial(self._outcomes, model=model, store=store, ask=ask)
                    self._call = lambda texts: callers.submit(judged, texts)
                    self._send()
        except BaseException as error:  # whatever it is belongs to whoever waits
            self._fail(error)

    def leave(self) -> LiveAssessment:
        """Gives up what was not sent yet, and says what is known."""
        with self._lock:
            self._left = True
            self._cancel()
            for call, texts in self._calls.items():
                if not call.done():
                    for text in texts:
                        self._mark(text, LiveLabel(None, "late"))
            if self._error is not None:
                raise self._error
            stop = self.settled.result() if self.settled.done() else "deadline"
            values = tuple(self._value(measure) for measure in self._measures)
            return LiveAssessment(tuple(self._labels), values, stop, time.monotonic() - self._started)

    def _send(self) -> None:
        """Makes the calls that are wanted now, in order."""
        wanted = len(self._texts)
        if self._prefer == "few calls":
            wanted = self._fewest() if self._p is None else (self._fewest() + 1) // 2  # likely may be enough earlier
        while self._queue and self._n_open < wanted:
            texts = self._queue.pop(0)
            self._n_open += len(texts)
            call = self._call(texts)
            self._calls[call] = texts
            call.add_done_callback(self._arrived)

    def _fewest(self) -> int:
        """The fewest further labels that may make the first measure certain enough."""
        waiting = self._waiting()
        if not self._within:
            return len(waiting)

        def may_do(n: int) -> bool:
            widths = (self._half_width_if(waiting[:n], label) for label in (0.0, self._top))
            return any(width <= self._within + 1e-12 for width in widths)

        return 1 + bisect_left(range(1, len(waiting)), True, key=may_do)

    def _half_width_if(self, texts: Sequence[str], label: float) -> float:
        """Of the certain bounds of the first measure, were these documents all labelled so."""
        labels = [label if text in texts else each.label for text, each in zip(self._texts, self._labels, strict=True)]
        found = self._bounds(labels, self._measures[0])
        return (found.high - found.low) / 2

    def _outcomes(self, texts: Sequence[str], model: Model, store: Store, ask: Ask) -> list[Outcome]:
        questions = [{"query": self._query, "document": text} for text in texts]
        return ask_labels(self._judge, questions, model=model, store=store, ask=ask)

    def _waiting(self) -> list[str]:
        """The texts without an outcome, each once, the most telling first."""
        order = labelling_order(self._p, len(self._texts))
        return list(dict.fromkeys(self._texts[at] for at in order if self._labels[at] == _NOT_ASKED))

    def _groups(self) -> list[list[str]]:
        """What is asked in one call."""
        texts, size = self._waiting(), self._judge.batch_size
        return [texts[start : start + size] for start in range(0, len(texts), size)]

    def _arrived(self, call: "Future[list[Outcome]]") -> None:
        if call.cancelled():
            return
        if error := call.exception():
            self._fail(error)
            return
        with self._lock:
            if self._left:
                return
            texts, outcomes = self._calls[call], call.result()
            for text, outcome in zip(texts, outcomes, strict=True):
                self._mark(text, _label_of(outcome))
            self._n_open -= len(texts)
            if not self._settle() and (not self._n_open or any(outcome.value is None for outcome in outcomes)):
                self._send()

    def _mark(self, text: str, label: LiveLabel) -> None:
        for at, other in enumerate(self._texts):
            if other == text:
                self._labels[at] = label

    def _settle(self) -> bool:
        """Whether nothing more need be waited for; tells those who wait."""
        if _NOT_ASKED not in self._labels:
            stop: Stop = "complete"
        elif self._within and self._n_labelled() >= self._look_from and self._close_enough():
            stop = "enough"
        else:
            return False
        self._cancel()
        if not self.settled.done():
            self.settled.set_result(stop)
        return True

    def _close_enough(self) -> bool:
        return self._value(self._measures[0]).half_width <= self._within + 1e-12

    def _n_labelled(self) -> int:
        return sum(label.label is not None for label in self._labels)

    def _cancel(self) -> None:
        """Takes back the calls that have not begun."""
        for call in self._calls:
            call.cancel()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            if not self.settled.done():
                self.settled.set_result("complete")

    def _value(self, measure: Measure) -> LiveValue:
        found = self._bounds([each.label for each in self._labels], measure)
        if found.low == found.high:
            return replace(found, expected=found.low)
        options = dict(measure.parameters)
        if self._p is None or measure.name not in _ORDERLESS or options.get("labels") == "probability":
            return found
        return self._likely(measure, float(options["rel"]), found)

    def _bounds(self, labels: list[float | None], measure: Measure) -> LiveValue:
        """What is certain."""
        found = label_bounds(Ragged.from_lists([labels]), Ragged.from_lists([[]]), measure, max_label=self._top)
        return LiveValue(str(measure), float(found.low[0]), float(found.high[0]))

    def _likely(self, measure: Measure, rel: float, certain: LiveValue) -> LiveValue:
        """With what the relevance model makes of the labels seen."""
        top = self._labels[: measure.cutoff]
        p = np.asarray(self._p)[: len(top)]
        seen = np.array([each.label is not None for each in top])
        positive = np.array([each.label is not None and each.label >= rel for each in top])
        found = likely_positives(p[seen], positive[seen].astype(np.float64), p[~seen], level=LEVEL)
        by_count = _by_count(measure, len(top), max(rel, self._top))
        n_positive = int(positive.sum())
        expected = float(found.probability @ by_count[n_positive : n_positive + len(found.probability)])
        ends = sorted((float(by_count[found.low]), float(by_count[found.high])))
        return replace(certain, expected=expected, likely_low=ends[0], likely_high=ends[1])


_NOT_ASKED = LiveLabel(None, "not asked")


def _by_count(measure: Measure, n: int, positive: float) -> Floats:
    """The measure of n labelled documents of which 0, 1, ... n are positive."""
    rows: list[list[float | None]] = [[positive if at < x else 0.0 for at in range(n)] for x in range(n + 1)]
    return measure.values(Ragged.from_lists(rows), Ragged.from_lists([[] for _ in rows]))


def _label_of(outcome: Outcome) -> LiveLabel:
    if outcome.value is None:
        return LiveLabel(None, "unlabelled", outcome.reason)
    return LiveLabel(float(outcome.value), "labelled")


def _stored_only(
    requests: Sequence[Request],
    *,
    model: Model,
    store: Store,
    read: Callable[[Reply], T],
    on_progress: Callable[[int], None] | None = None,
) -> list[T]:
    """An `Ask` that asks nobody."""
    keys = [request_key(model.stored_request(request)) for request in requests]
    stored = dict(stored_replies(keys, store))
    return [read(stored.get(key, Reply(failure="not_asked"))) for key in keys]
