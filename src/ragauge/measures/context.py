"""UDCG: what the documents do to the model that reads them all, useful ones and distracting ones alike."""

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.measures.definition import Definition, Floats, Number, Values, format_value
from ragauge.ragged import Ragged, head, segment_sum

__all__ = ["DEFINITIONS", "help_label"]


def help_label(relevant: npt.ArrayLike, abstention: npt.ArrayLike) -> Floats:
    """The label UDCG takes: 1 = surely useful, 0.5 = does nothing, 0 = surely distracting.

    A document's utility u = 1 - abstention is how far a model that reads it alone does answer. A relevant one is useful
    by u, label 0.5 + u/2; another one distracts by u, label 0.5 - u/2. The arguments broadcast.

    Args:
        relevant: Whether the document holds the answer.
        abstention: Probability that the model declines to answer when it is given this document alone, 0..1.

    Raises:
        InputError: An abstention outside 0..1.

    >>> help_label([True, True, False], [0.0, 1.0, 0.0]).tolist()
    [1.0, 0.5, 0.0]
    """
    declines = np.asarray(abstention, dtype=np.float64)
    if not ((declines >= 0) & (declines <= 1)).all():
        raise InputError("abstention must be a probability in 0..1")
    return np.asarray(0.5 + np.where(np.asarray(relevant, dtype=np.bool_), 0.5, -0.5) * (1 - declines))


def _udcg(labels: Ragged, pool: Ragged, *, cutoff: int | None, distraction: float) -> Floats:
    top = head(labels, cutoff)
    outside = top.values[top.valid & (top.values > 1)]
    if outside.size:
        raise InputError(
            f"UDCG needs labels in 0..1 (0.5 = does nothing), got a label of {format_value(float(outside[0]))}; "
            "help_label makes them from relevance and abstention"
        )
    signed = np.where(top.valid, 2 * top.values - 1, 0.0)
    weighted = segment_sum(np.where(signed > 0, signed, distraction * signed), top.offsets)
    return _sigmoid(weighted / np.maximum(top.lengths, 1))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    low, high = _sigmoid(np.array([-float(values["distraction"]), 1.0])).tolist()
    return low, high


_UDCG_NOTES = """\
**Its label** is how far the document helps a model that reads it alone: 1 = surely, 0.5 = does nothing, 0 = surely
distracts. `help_label(relevant, abstention)` makes it from the two annotations of the paper: a relevant document of
utility u (1 - the probability that the model declines to answer) has label 0.5 + u/2, another one 0.5 - u/2. Labels of
0 and 1 alone say that every negative document distracts fully. A label above 1 is an error.

**What is computed** is the version without a position discount, with the weights of the authors' public code: the mean
over the documents returned, through a sigmoid. An unjudged document adds 0 and is counted in the mean, as there. With
nothing returned it is sigmoid(0) = 0.5 here, as much as a document that does nothing; their code says 0.

**A worked value.** Labels 1, 0.5, 0: (1 + 0 - 1/3) / 3 = 0.2222, sigmoid 0.5553."""

_UDCG = Definition(
    name="UDCG",
    title="utility- and distraction-aware cumulative gain",
    summary="Whether the documents help or mislead a model that reads them all, whatever their order.",
    formula="sigmoid(mean over the top K of s_i), s_i = 2 label_i - 1, and distraction * (2 label_i - 1) where that is "
    "below 0",
    zero="never reached; 0.5 = as good as documents that do nothing",
    one="never reached; with all documents surely useful it is sigmoid(1) = 0.7311",
    undefined="never; with nothing returned it is 0.5",
    unjudged="does nothing, as a label of 0.5 does",
    source="Trappolini, Cuconasu, Filice, Maarek, Silvestri, Redefining retrieval evaluation in the era of LLMs, "
    "arXiv 2510.21440 (2025), and its public code",
    kernel=_udcg,
    labels="graded",
    parameters=(Number("distraction", "weight of a distracting document against a useful one", 1 / 3, low=0.0),),
    cutoff="optional",
    bounds=_bounds,
    capped=False,
    range="sigmoid(-distraction)..sigmoid(1), by default 0.4174..0.7311",
    notes=_UDCG_NOTES,
)

DEFINITIONS = (_UDCG,)
