"""The choices every evaluation makes, mostly without saying so: here each has a name, a default, and a count."""

from dataclasses import dataclass, replace
from typing import Literal, get_args, get_type_hints

from ragauge.errors import InputError
from ragauge.measures.arrange import Collapse, Duplicates, IdenticalIds
from ragauge.measures.coverage import Extra, Missing
from ragauge.measures.measure import Measure

__all__ = ["DEFAULTS", "TREC_EVAL", "Policies", "as_trec_eval"]

Ties = Literal["trec", "input", "expected"]
NoRelevant = Literal["undefined", "zero", "skip"]
Unjudged = Literal["negative", "skip", "bounds"]
NegativeGrades = Literal["unjudged", "negative"]
_WORDS = (
    *("ties", "duplicates", "collapse", "identical_ids", "missing", "extra", "no_relevant", "unjudged"),
    "negative_grades",
)
"""The policies that are one of a few words."""


@dataclass(frozen=True)
class Policies:
    """What to do where the data leave a choice.

    Attributes:
        ties: Documents with equal scores. "input": in the order given. "trec": by document id, last first (and by score
            before that), as trec_eval. "expected": the mean over all their orders, exactly; rankings go by score.
        duplicates: A document twice in a ranking: "error", keep the "first", or the one with the highest score ("max").
        collapse: Chunks of a document: "none", or its "first" or best-scored ("max") chunk stands for it.
        doc_id_rule: How a chunk's id names its document: a separator, or a pattern with one group; with `collapse`.
        identical_ids: A document whose id is the query's: "keep" or "drop".
        depth: How many documents of a ranking count at all, as trec_eval's -M; None = all.
        missing: A labelled query without a ranking: scored as an empty ranking ("zero"), given the lowest value of each
            measure ("worst"), left out ("skip"), or refused ("error").
        extra: A ranking of a query without labels: left out ("skip"), counted as 0 ("zero"), or refused ("error").
        no_relevant: A query known to have no relevant document, where the measure has no value: NaN, counted
            ("undefined"), or 0 ("zero"). "skip": such queries are left out for all measures.
        unjudged: A document without a label: not relevant ("negative"), taken out of the ranking ("skip": condensed
            lists), or not relevant and beside it the lowest and the highest value over all its labels ("bounds").
            Measures with an `unjudged` parameter of their own (T, n_n) keep to that parameter.
        negative_grades: A grade below 0: pooled and not judged ("unjudged"), as in TREC's qrels, or judged and not
            relevant ("negative"), as where -2 means spam.

    Raises:
        InputError: A value that is not one of those, or two that do not go together.

    >>> Policies(ties="trec").missing
    'zero'
    """

    ties: Ties = "input"
    duplicates: Duplicates = "error"
    collapse: Collapse = "none"
    doc_id_rule: str | None = None
    identical_ids: IdenticalIds = "keep"
    depth: int | None = None
    missing: Missing = "zero"
    extra: Extra = "skip"
    no_relevant: NoRelevant = "undefined"
    unjudged: Unjudged = "negative"
    negative_grades: NegativeGrades = "unjudged"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name in _WORDS:
            if getattr(self, name) not in (options := get_args(hints[name])):
                raise InputError(f"{name} must be one of {', '.join(options)}, got {getattr(self, name)!r}")
        if self.ties == "expected" and self.unjudged == "bounds":
            raise InputError("unjudged=bounds needs one order of the documents; choose ties=trec or ties=input")


DEFAULTS = Policies()

TREC_EVAL = Policies(ties="trec", no_relevant="zero")
"""What trec_eval 9 does with -c: ties by id, every labelled query counted, 0 where nothing is relevant."""


def as_trec_eval(measure: Measure) -> Measure:
    """The measure with an unjudged document counted as negative, where it says nothing about them itself.

    >>> str(as_trec_eval(Measure.of("T", 10)))
    'T(unjudged=negative)@10'
    """
    values = dict(measure.parameters)
    if values.get("unjudged") != "ignore":
        return measure
    return replace(measure, parameters=tuple((values | {"unjudged": "negative"}).items()))
