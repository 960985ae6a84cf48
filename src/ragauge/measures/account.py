"""What the policies did to an evaluation, in sentences: so that a number is never printed without its denominator."""

from collections.abc import Iterator

from ragauge.measures.prepare import Prepared
from ragauge.measures.ties import number_format, order_matters
from ragauge.ragged import from_arrow, from_labels

__all__ = ["account"]

_MISSING = {"zero": "scored as empty rankings", "worst": "given the lowest value", "skip": "left out", "error": ""}
_EXTRA = {"skip": "left out", "zero": "scored 0", "error": ""}
_NO_RELEVANT = {
    "undefined": "undefined for measures that divide by their number",
    "zero": "scored 0",
    "skip": "left out for all measures",
}


def account(prepared: Prepared, n_queries: int) -> tuple[str, ...]:
    """One sentence for each thing that was counted, left out or put in another order; nothing for what did not occur.

    Args:
        prepared: From `prepare`.
        n_queries: Queries that have a row of scores.

    >>> from ragauge import read_labels, read_rankings
    >>> from ragauge.measures import prepare
    >>> labels = read_labels({"q1": {"a": 1}, "q2": {"b": 1}})
    >>> account(prepare(read_rankings({"q1": {"a": 0.9}}), labels), 2)
    ('Over 2 labelled queries.', 'No ranking for 1 labelled query: scored as empty rankings.')
    """
    return (*_queries(prepared, n_queries), *_documents(prepared), *_labels(prepared))


def _queries(prepared: Prepared, n_queries: int) -> Iterator[str]:
    policies, runs = prepared.policies, prepared.runs
    yield _denominator(prepared, n_queries)
    for run in runs:
        name = f" in run {run.run}" if len(runs) > 1 else ""
        if run.n_missing:
            yield f"No ranking{name} for {_count(run.n_missing, 'labelled query')}: {_MISSING[policies.missing]}."
        if run.n_extra:
            yield f"No label for {_count(run.n_extra, 'query')} ranked{name}: {_EXTRA[policies.extra]}."
    if prepared.changes.n_no_relevant:
        number = _count(prepared.changes.n_no_relevant, "query")
        yield f"No relevant document for {number}: {_NO_RELEVANT[policies.no_relevant]}."


def _denominator(prepared: Prepared, n_queries: int) -> str:
    if not prepared.runs:
        return f"Over {_count(n_queries, 'query')}, by the labels inside the rankings."
    n_labelled = prepared.runs[0].n_ranked + prepared.runs[0].n_missing
    if n_queries == n_labelled:
        return f"Over {_count(n_queries, 'labelled query')}."
    return f"Over {_count(n_queries, 'query')}; {n_labelled:,} are labelled."


def _documents(prepared: Prepared) -> Iterator[str]:
    changes, policies = prepared.changes, prepared.policies
    if changes.n_reordered:
        yield f"{_count(changes.n_reordered, 'ranking')} put in the order of the scores."
    if changes.n_unscored:
        yield f"{_count(changes.n_unscored, 'ranking')} left in the order given: a document has no score."
    if name := _rounded(prepared):
        yield f"All scores fit {name}: that some are equal may be due to rounding."
    if changes.n_identical:
        yield f"{_count(changes.n_identical, 'document')} dropped: the id is that of the query."
    if changes.n_duplicates:
        number = _count(changes.n_duplicates, "document")
        yield f"{number} dropped: there twice, {_kept(policies.duplicates)} kept."
    if changes.n_collapsed:
        number = _count(changes.n_collapsed, "chunk")
        yield f"{number} dropped: {_kept(policies.collapse)} chunk of the document stands for it."


def _rounded(prepared: Prepared) -> str:
    """The format that scores may have been rounded to, where equal scores can matter; "" otherwise."""
    labels, scores = from_labels(prepared.judged.column("labels")), from_arrow(prepared.judged.column("scores"))
    name = number_format(scores)
    return name if name and order_matters(labels, scores, depth=None).any() else ""


def _labels(prepared: Prepared) -> Iterator[str]:
    changes, policies = prepared.changes, prepared.policies
    if changes.n_negative_grades:
        meaning = "unjudged" if policies.negative_grades == "unjudged" else "judged and not relevant"
        yield f"{_count(changes.n_negative_grades, 'grade')} below 0: {meaning}."
    if policies.unjudged == "skip":
        yield "Unjudged documents were taken out first; judged is the share before that."


def _kept(policy: str) -> str:
    return "the first" if policy == "first" else "the best-scored"


def _count(number: int, what: str) -> str:
    """'1 query', '2,000 queries'."""
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{number:,} {what if number == 1 else plural}"
