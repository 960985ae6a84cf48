"""What a measure is worth once its alpha was chosen on the same rows.

One idea: the maximum over alpha of an in-sample correlation is too high, because alpha also fits the noise. Do the
choice again on replicates of the data, and see how much worse the chosen alpha does on data that did not choose it:
bootstrap replicates (the default), folds of queries left out in turn, or whole data sets left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atanh, isnan, nan, tanh

import numpy as np
import numpy.typing as npt

from ragauge.errors import InputError
from ragauge.stats.best import AlphaSearch, Selected
from ragauge.stats.bootstrap import QueryCells
from ragauge.stats.intervals import MIN_QUERIES, check_level, t_quantile

__all__ = ["Corrected", "HeldOut", "corrected_maximum", "cross_validated", "leave_one_group_out"]

Floats = npt.NDArray[np.float64]

_INSIDE = 1 - 1e-9  # atanh of 1 would outweigh all other parts

MIN_REPLICATES = 0.9
"""Share of the replicates that must have a coefficient; with fewer there is no correction."""


@dataclass(frozen=True)
class Corrected:
    """A maximum over alpha less its optimism.

    Attributes:
        apparent: The in-sample maximum.
        value: apparent - optimism; NaN when undefined.
        optimism: By how much alpha chosen on a replicate does better there than on the data, on average; >= 0.
        low: Lower bound of the interval of `value`; NaN when there is none.
        high: Upper bound.
        level: Confidence level.
        alpha: The alpha of the maximum.
        n_draws: Replicates.
        n_undefined: Replicates in which a column is constant, left out.
        reason: Why there is no value or no interval, else "".
    """

    apparent: float
    value: float
    optimism: float
    low: float
    high: float
    level: float
    alpha: float
    n_draws: int
    n_undefined: int
    reason: str = ""


@dataclass(frozen=True)
class HeldOut:
    """A coefficient on rows that had no part in the choice of alpha.

    Attributes:
        value: Mean over the parts on Fisher's scale, tanh(mean atanh); NaN when no part has one.
        parts: The coefficient of each part, NaN where undefined.
        alphas: The alpha that the other parts chose for it.
    """

    value: float
    parts: tuple[float, ...]
    alphas: tuple[float, ...]


def corrected_maximum(
    search: AlphaSearch,
    queries: QueryCells,
    *,
    names: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> dict[str, Corrected]:
    """The maximum over alpha, corrected for optimism by a bootstrap over queries.

    corrected = max_a r(a) - mean_b [max_a r_b(a) - r(a_b)] + mean_b [r_b(a*) - r(a*)], r the coefficient on the data,
    r_b on replicate b, a* the alpha that is best on the data and a_b that on replicate b. The first mean is the
    optimism of Efron and Harrell; the second, which is near 0 and has nothing to do with the choice, takes the noise of
    the replicates off it: what is left is never negative, and 0 where alpha cannot matter.

    The interval is tanh(atanh(corrected) -+ t se), se the standard deviation over the replicates of atanh(r_b(a*)), t
    of queries - 1 degrees of freedom; percentiles of max_a r_b(a) would be too high by about twice the optimism.

    Args:
        search: The measure, its states and the competing alphas.
        queries: Rows of each query in each cell; cell = state * grades + grade.
        names: Names of `COEFFICIENTS`.
        n_draws: Replicates, 1 or more.
        rng: Where they are drawn from.
        level: Confidence level, strictly between 0 and 1.

    Returns:
        One record a name. NaN, with the reason, when the coefficient is undefined on the data or in a tenth of the
        replicates; no interval for fewer than 5 queries.

    Raises:
        InputError: n_draws is below 1 or the level not in (0, 1).

    Source:
        Efron, "Estimating the error rate of a prediction rule", JASA 78 (1983), doi:10.1080/01621459.1983.10477973.
        Harrell, Lee and Mark, "Multivariable prognostic models", Statistics in Medicine 15 (1996),
        doi:10.1002/(SICI)1097-0258(19960229)15:4<361::AID-SIM168>3.0.CO;2-4.
    """
    check_level(level)
    if n_draws < 1:
        raise InputError(f"the number of replicates must be 1 or more, got {n_draws}")
    shape = (len(search.family.scale), len(search.grades), -1)
    whole = queries.total.reshape(shape)
    apparent = search.select(whole, whole, names)
    chosen = {name: float(one.alpha[0]) for name, one in apparent.items()}
    batches = [
        search.select(drawn.reshape(shape), whole, names, reference=chosen)
        for drawn in queries.draws(n_draws, rng, batch=search.batch)
    ]
    return {
        name: _corrected(apparent[name], [batch[name] for batch in batches], queries.n_queries, level) for name in names
    }


def _corrected(whole: Selected, batches: Sequence[Selected], n_queries: int, level: float) -> Corrected:
    apparent, alpha = float(whole.trained[0]), float(whole.alpha[0])
    at_chosen = np.concatenate([one.at_reference for one in batches])
    gain = np.concatenate([one.trained - one.tested for one in batches]) - (at_chosen - apparent)
    kept = ~(np.isnan(gain) | np.isnan(at_chosen))
    n_undefined = int((~kept).sum())
    record = Corrected(apparent, nan, nan, nan, nan, level, alpha, len(gain), n_undefined)
    if isnan(apparent):
        return replace(record, reason="undefined on the data")
    if kept.sum() < MIN_REPLICATES * len(gain):
        return replace(record, reason=f"undefined in {n_undefined} of {len(gain)} replicates")
    optimism = float(gain[kept].mean())
    record = replace(record, value=max(-1.0, apparent - optimism), optimism=optimism)
    if n_queries < MIN_QUERIES:
        named = "query" if n_queries == 1 else "queries"
        return replace(record, reason=f"{n_queries} {named}; an interval needs {MIN_QUERIES}")
    if abs(record.value) == 1 or (np.abs(at_chosen[kept]) == 1).any() or kept.sum() < 2:
        return replace(record, reason="the coefficient is -1 or 1 in some replicate, or there is but one")
    half = t_quantile(level, n_queries - 1) * float(np.arctanh(at_chosen[kept]).std(ddof=1))
    centre = atanh(record.value)
    return replace(record, low=tanh(centre - half), high=tanh(centre + half))


def cross_validated(
    search: AlphaSearch, queries: QueryCells, *, names: Sequence[str], rng: np.random.Generator, n_folds: int = 5
) -> dict[str, HeldOut]:
    """Alpha chosen on all folds of queries but one, the coefficient on that one, in turn.

    Args:
        search: The measure, its states and the competing alphas.
        queries: Rows of each query in each cell; cell = state * grades + grade.
        names: Names of `COEFFICIENTS`.
        rng: Deals the queries out.
        n_folds: 2 or more.

    Returns:
        One record a name, its parts the folds.

    Raises:
        InputError: Fewer than 2 folds, or fewer queries than folds.
    """
    if not 2 <= n_folds <= queries.n_queries:
        raise InputError(f"n_folds must be 2 or more and no more than the {queries.n_queries} queries, got {n_folds}")
    shape = (len(search.family.scale), len(search.grades), n_folds)
    folds = queries.folds(n_folds, rng)
    rest = queries.total[:, None] - folds
    found = search.select(rest.reshape(shape), folds.reshape(shape), names)
    return {name: _held_out(one.tested, one.alpha) for name, one in found.items()}


def leave_one_group_out(search: AlphaSearch, groups: Floats, *, names: Sequence[str]) -> dict[str, HeldOut]:
    """Alpha chosen on all groups (data sets) but one, the coefficient on that one, in turn.

    The others choose together, group by group: the alpha of the largest mean atanh of their coefficients, so that
    differences between groups play no part.

    Args:
        search: The measure, its states (of all groups) and the competing alphas; "exact" tries one alpha an order.
        groups: Weights, shape (S, G, groups), 2 groups or more.
        names: Names of `COEFFICIENTS`.

    Returns:
        One record a name, its parts the groups.

    Raises:
        InputError: Fewer than 2 groups.
    """
    n_groups = groups.shape[2]
    if n_groups < 2:
        raise InputError(f"leaving one group out needs 2 or more, got {n_groups}")
    found = {}
    for name, curve in search.curves(groups, names).items():
        height = np.arctanh(np.clip(curve, -_INSIDE, _INSIDE))
        known = ~np.isnan(height)
        filled = np.where(known, height, 0.0)
        n_others = known.sum(1, keepdims=True) - known
        others = (filled.sum(1, keepdims=True) - filled) / np.maximum(n_others, 1)
        chosen = np.where(n_others > 0, others, -np.inf).argmax(0)
        found[name] = _held_out(curve[chosen, np.arange(n_groups)], search.alphas[chosen])
    return found


def _held_out(parts: Floats, alphas: Floats) -> HeldOut:
    known = parts[~np.isnan(parts)]
    value = float(np.tanh(np.arctanh(np.clip(known, -_INSIDE, _INSIDE)).mean())) if len(known) else nan
    return HeldOut(value, tuple(parts.tolist()), tuple(alphas.tolist()))
