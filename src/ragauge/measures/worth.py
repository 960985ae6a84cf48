"""T: what the slots are worth when a positive document gains 1 - alpha and a negative one costs alpha."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from ragauge.measures.counts import LABELS, PAPER, REL, UNJUDGED, LabelKind, Unjudged, n_negative, n_positive, precision
from ragauge.measures.definition import Choice, Definition, Floats, Number, Values, always, unbounded
from ragauge.ragged import Ragged, head, slots

__all__ = ["DEFINITIONS", "t_alpha"]

Form = Literal["paper", "count"]


def t_alpha(
    n_p: npt.ArrayLike, n_n: npt.ArrayLike, K: npt.ArrayLike, alpha: npt.ArrayLike, form: Form = "paper"
) -> Floats:
    """What the K slots are worth when a positive document gains 1 - alpha and a negative one costs alpha.

    form "paper": ((1 - alpha) n_p - alpha n_n) / K, -alpha..1 - alpha. form "count": (1 - alpha) n_p - alpha n_n / K,
    -alpha..(1 - alpha) K. 0 = worth as much as returning nothing. Never undefined for K > 0. The arguments broadcast.

    >>> float(t_alpha(2, 1, 10, 0.5)), float(t_alpha(6, 4, 10, 0.5, "count"))
    (0.05, 2.8)
    """
    cost = np.asarray(alpha, dtype=np.float64)
    gained = np.asarray(n_p, dtype=np.float64) if form == "count" else precision(n_p, K)
    return np.asarray((1 - cost) * gained - cost * precision(n_n, K))


def _t_at_k(
    ranked: Ragged,
    pool: Ragged,
    /,
    *,
    cutoff: int,
    alpha: float,
    form: Form,
    unjudged: Unjudged,
    labels: LabelKind,
    rel: float,
) -> Floats:
    top = slots(ranked, cutoff) if unjudged == "ignore" else head(ranked, cutoff)
    positive = n_positive(top, cutoff=cutoff, rel=rel, labels=labels)
    negative = n_negative(top, cutoff=cutoff, rel=rel, labels=labels, unjudged=unjudged)
    return t_alpha(positive, negative, cutoff, alpha, form)


def _t_bounds(cutoff: int | None, values: Values) -> tuple[float, float]:
    alpha = float(values["alpha"])
    return 0.0 - alpha, (1 - alpha) * (unbounded(cutoff) if values["form"] == "count" else 1)


def _raises_t(labels: Floats, cutoff: int | None, values: Values) -> npt.NDArray[np.bool_]:
    """A positive document; with probabilities, one whose expected worth (1 - alpha) p - alpha (1 - p) / K' is above 0,
    K' = K for form=count and 1 for form=paper."""
    if values["labels"] == "grade":
        return np.asarray(labels >= values["rel"])
    alpha, divisor = values["alpha"], unbounded(cutoff) if values["form"] == "count" else 1.0
    return np.asarray((1 - alpha) * labels > alpha * (1 - labels) / divisor)


_T_NOTES = """\
**What alpha is** (form=paper). Returning one more document raises the expected T exactly when its chance of being
relevant is above alpha; at exactly alpha it is worth nothing on average. So alpha is the break-even probability. At
alpha = 0.3 a document with a chance of 40 % is worth returning, and one with 20 % is not.

**Full rankings.** With all K slots filled and judged, T = P - alpha (form=paper): it ranks queries and systems as P
does, whatever alpha. It says something new when fewer than K documents may be returned.

**Empty slots count neither way.** Three good documents returned, against the same three padded with seven bad ones to
K = 10:

| returned | n_p | n_n | P@10 | T(alpha=0.3)@10 | T@10 (alpha = 0.5) |
|---|---|---|---|---|---|
| 3 good | 3 | 0 | 0.30 | (0.7 * 3 - 0.3 * 0) / 10 = 0.21 | (0.5 * 3 - 0.5 * 0) / 10 = 0.15 |
| 3 good, 7 bad | 3 | 7 | 0.30 | (0.7 * 3 - 0.3 * 7) / 10 = 0.00 | (0.5 * 3 - 0.5 * 7) / 10 = -0.20 |

P cannot tell them apart; T can.

**Labels that are probabilities** (labels=probability). T is linear in the counts, so the sum of the probabilities in
place of n_p, and of their complements in place of n_n, gives the expected T without a threshold; `rel` is not used.

**form=count** is what the public code of the paper computes: a mix of the count n_p and P, in which alpha
is a weight and no break-even probability. At a constant K with all slots filled it ranks like P.

**trec_eval.** `trec_eval -M K -m utility.<1-alpha>,<-alpha>,0,0`, divided by K, is T(alpha=..,unjudged=negative)@K."""

_T = Definition(
    name="T",
    title="net worth of the slots",
    summary="Rewards positive documents, charges negative ones, and needs no N_p: good for a live system.",
    formula="paper: ((1 - alpha) n_p - alpha n_n) / K;  count: (1 - alpha) n_p - alpha n_n / K",
    zero="worth as much as returning nothing",
    one="never reached by form=paper for alpha > 0: with all K slots positive it is 1 - alpha",
    undefined="never; with nothing returned it is 0",
    unjudged="neither way by default (unjudged=ignore); unjudged=negative counts it as negative, as trec_eval does",
    source=PAPER + "; the linear utility of TREC Filtering (Hull, The TREC-7 Filtering Track, 1998), over K",
    kernel=_t_at_k,
    labels="binary",
    parameters=(
        Number("alpha", "break-even probability of being relevant", default=0.5, low=0.0, high=1.0),
        Choice("form", "what the first term is: a share of K or a count", ("paper", "count"), "paper"),
        UNJUDGED,
        LABELS,
        REL,
    ),
    bounds=_t_bounds,
    linear=always,
    worth=_raises_t,
    range="-alpha..1 - alpha (form=paper); -alpha..(1 - alpha) K (form=count)",
    aliases=("utility",),
    notes=_T_NOTES,
)

DEFINITIONS = (_T,)
