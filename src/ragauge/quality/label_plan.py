"""Which documents to label so that the number of relevant ones can be estimated: the top of every ranking, and a few
documents drawn at random from further down.

A document that several systems retrieved stands at its best rank. All documents down to round(xK) are labelled; those
below are put in strata that double in depth (21 to 40, 41 to 80, ...), and each stratum gives documents in proportion
to the square root of its size: the best split where relevant documents thin out as 1 / rank.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.errors import InputError
from ragauge.measures.f_measure import fe_depth
from ragauge.measures.measure import MAX_CUTOFF
from ragauge.schema import LABEL_PLAN, LABELS, RANKINGS, conform
from ragauge.stats import PairChoice, choose_pairs

__all__ = ["ESTIMATORS", "NEAR", "Estimator", "candidates", "draw_ranks", "estimator_of", "plan_labels", "with_labels"]

Ints = npt.NDArray[np.int64]

NEAR = "near"
"""The stratum of documents that are all labelled."""


@dataclass(frozen=True)
class Estimator:
    """A way to estimate the number of relevant documents.

    Attributes:
        name: As it is asked for.
        title: As it is printed.
        x: All documents down to round(xK) of each ranking are labelled.
        deep: Labels a query below that, drawn at random.
        scope: Whose documents a stratum holds: of "all" queries, or of each "query"; "" = nothing is drawn.
        runs: Least number of rankings a query it needs.
        what: What it is, in a line.
    """

    name: str
    title: str
    x: float
    what: str
    deep: int = 0
    scope: str = ""
    runs: int = 1


ESTIMATORS = {
    each.name: each
    for each in (
        Estimator("2k-x-c", "2K x c", 2, "found in the top 2K, times one factor from random deep labels", 2, "all"),
        Estimator("union", "union", 1, "found by all systems together: a lower bound"),
        Estimator("own-list", "own list", 2, "found in the system's own top 2K: a lower bound, and unfair"),
        Estimator("chapman", "Chapman", 2, "from the overlap of two systems, Chapman's form", runs=2),
        Estimator("lincoln-petersen", "Lincoln-Petersen", 2, "from the overlap of two systems, n1 n2 / m", runs=2),
        Estimator("chao2", "Chao2", 2, "from what one and two systems found: a lower bound in expectation", runs=2),
        Estimator("horvitz-thompson", "Horvitz-Thompson", 1, "random labels below K, query by query", 10, "query"),
        Estimator("rank-decay", "rank decay", 2, "extrapolated by rank: a baseline", 2, "all"),
    )
}


def estimator_of(name: str) -> Estimator:
    """The estimator of that name.

    Raises:
        InputError: There is none.
    """
    if name not in ESTIMATORS:
        raise InputError(
            f"no estimator {name!r} of the number of relevant documents; there are: {', '.join(ESTIMATORS)}"
        )
    return ESTIMATORS[name]


def plan_labels(
    rankings: pa.Table,
    *,
    cutoff: int,
    estimator: str = "2k-x-c",
    depth: int = 500,
    x: float | None = None,
    deep: int | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> pa.Table:
    """The documents to label.

    Args:
        rankings: `schema.RANKINGS` of any number of runs, as deep as can be had: what lies below is never counted.
        cutoff: K of the measures to come.
        estimator: A name of `ESTIMATORS`.
        depth: Documents of a ranking below this rank are left out.
        x: All documents down to round(xK) are labelled; None = as the estimator has it.
        deep: Labels a query below that; None = as the estimator has it.
        budget: Labels in all; what the top leaves of it is drawn from below, in place of `deep`. A stratum gives at
            least two documents where it has them, even if that exceeds it.
        seed: Of the draw.

    Returns:
        `schema.LABEL_PLAN`, queries in the order of the rankings, documents by rank. Labels inside the rankings are
        kept.

    Raises:
        InputError: No such estimator, too few runs, a number out of range, or a budget that the top alone exceeds.

    >>> from ragauge import read_rankings
    >>> ranking = read_rankings({"q1": {f"d{rank:02}": float(-rank) for rank in range(1, 41)}})
    >>> plan = plan_labels(ranking, cutoff=5, deep=4).to_pylist()
    >>> [(row["stratum"], row["probability"]) for row in plan[9:]]
    [('near', 1.0), ('11-20', 0.2), ('11-20', 0.2), ('21-40', 0.1), ('21-40', 0.1)]
    """
    chosen = estimator_of(estimator)
    near = fe_depth(cutoff, chosen.x if x is None else x)
    _check(rankings, chosen, cutoff, near, depth)
    pool = candidates(rankings, depth=depth)
    top, below = (pool.filter(mask(pool.column("rank"), near)) for mask in (pc.less_equal, pc.greater))
    n_queries = pc.count_distinct(pool.column("query_id")).as_py()
    n_deep = (chosen.deep if deep is None else deep) * n_queries
    if budget is not None:
        n_deep = _left(budget, top.num_rows, near, chosen)
    parts = [_part(top, pa.array([NEAR] * top.num_rows), np.ones(top.num_rows), chosen)]
    if chosen.scope and n_deep and below.num_rows:
        parts += _drawn(below, near, n_deep, chosen, seed)
    return _in_order(pa.concat_tables(parts), pool)


def candidates(rankings: pa.Table, *, depth: int | None = None) -> pa.Table:
    """Every document that some run retrieved for a query, once, at its best rank.

    Args:
        rankings: `schema.RANKINGS`.
        depth: Documents below this rank are left out; None = all count.

    Returns:
        query_id, query, doc_id, text, rank (1 = first), label; queries in their order, documents by rank. Text and
        label are those of the run that ranks it best.

    >>> from ragauge import read_rankings
    >>> candidates(read_rankings({"q1": {"a": 0.9, "b": 0.5}})).column("rank").to_pylist()
    [1, 2]
    """
    table = conform(rankings, RANKINGS, what="rankings")
    row = np.repeat(np.arange(table.num_rows), pc.list_value_length(table.column("doc_ids")).to_numpy())
    first = np.searchsorted(row, row)
    flat = pa.table(
        {
            "query_id": table.column("query_id").take(pa.array(row)),
            "query": table.column("query").take(pa.array(row)),
            "doc_id": pc.list_flatten(table.column("doc_ids")),
            "text": pc.list_flatten(table.column("texts")),
            "rank": pa.array(np.arange(len(row)) - first + 1),
            "label": pc.list_flatten(table.column("labels")),
        }
    )
    if depth is not None:
        flat = flat.filter(pc.less_equal(flat.column("rank"), depth))
    query = pc.index_in(flat.column("query_id"), value_set=pc.unique(table.column("query_id")))
    order = np.lexsort((flat.column("rank").to_numpy(), query.to_numpy()))
    flat = flat.take(pa.array(order)).append_column("place", pa.array(np.arange(len(order))))
    best = flat.group_by(["query_id", "doc_id"]).aggregate([("place", "min")]).column("place_min")
    return flat.take(pa.array(np.sort(best.to_numpy()))).drop_columns("place")


def with_labels(plan: pa.Table, labels: pa.Table) -> pa.Table:
    """The plan with these labels in place of its own; null where a document has none.

    Args:
        plan: `schema.LABEL_PLAN`.
        labels: `schema.LABELS`.
    """
    known = conform(labels, LABELS, what="labels").select(["query_id", "doc_id", "label"])
    place = pa.array(np.arange(plan.num_rows))
    joined = plan.drop_columns("label").append_column("place", place).join(known, ["query_id", "doc_id"])
    return conform(joined.sort_by("place"), LABEL_PLAN, what="label plan")


def _check(rankings: pa.Table, chosen: Estimator, cutoff: int, near: int, depth: int) -> None:
    n_runs = pc.count_distinct(rankings.column("run")).as_py()
    if n_runs < chosen.runs:
        raise InputError(f"{chosen.title} needs rankings of {chosen.runs} systems, got {n_runs}")
    if cutoff < 1 or depth < near:
        raise InputError(f"the cutoff must be 1 or more, and the depth at least {near}; got {cutoff} and {depth}")
    if depth > MAX_CUTOFF:
        raise InputError(f"the depth must be at most {MAX_CUTOFF}, got {depth}")


def _left(budget: int, n_near: int, near: int, chosen: Estimator) -> int:
    """What the top leaves of the budget."""
    if budget < n_near:
        raise InputError(
            f"a budget of {budget} labels is less than the {n_near} documents in the top {near} of the rankings, "
            f"all of which {chosen.title} needs; allow more, or take fewer queries or systems"
        )
    return budget - n_near


def _drawn(below: pa.Table, near: int, n: int, chosen: Estimator, seed: int) -> Iterator[pa.Table]:
    """Documents drawn from strata: of all queries, or n shared out evenly over the queries."""
    if chosen.scope == "all":
        yield _draw(below, near, 2, n, chosen, seed)
        return
    query_ids = pc.unique(below.column("query_id"))
    seeds = np.random.default_rng(seed).integers(2**32, size=len(query_ids))
    for query_id, own in zip(query_ids, seeds.tolist(), strict=True):
        part = below.filter(pc.equal(below.column("query_id"), query_id))
        yield _draw(part, near, 4, n // len(query_ids), chosen, own)


def _draw(below: pa.Table, near: int, ratio: int, n: int, chosen: Estimator, seed: int) -> pa.Table:
    """About n of these documents, at least two of each stratum; strata deepen by `ratio`."""
    rank = below.column("rank").to_numpy()
    choice = draw_ranks(rank, near=near, ratio=ratio, n=n, seed=seed)
    share = np.bincount(choice.stratum) / choice.sizes
    names = [f"{near * ratio**h + 1}-{min(near * ratio ** (h + 1), int(rank.max()))}" for h in choice.names]
    stratum = pa.array([names[h] for h in choice.stratum.tolist()])
    return _part(below.take(pa.array(choice.index)), stratum, share[choice.stratum], chosen)


def draw_ranks(rank: npt.NDArray[np.int64], *, near: int, ratio: int, n: int, seed: int) -> PairChoice:
    """About n documents by their ranks below `near`, from strata that deepen by `ratio`; at least two of each stratum.

    Args:
        rank: Ranks of all documents below `near`.
        near: The last rank that is labelled whole.
        ratio: Stratum h holds the ranks near ratio^h + 1 to near ratio^(h + 1).
        n: Documents to draw; more where that leaves a stratum with fewer than two.
        seed: Of the draw.

    >>> choice = draw_ranks(np.arange(11, 41), near=10, ratio=2, n=4, seed=0)
    >>> choice.names, choice.sizes.tolist()
    ((0, 1), [10, 20])
    """
    edges = [near * ratio]
    while edges[-1] < rank.max():
        edges.append(edges[-1] * ratio)
    stratum = np.searchsorted(edges, rank, side="left")
    present, sizes = np.unique(stratum, return_counts=True)
    least = int(np.minimum(sizes, 2).sum())
    spread = {h: 1 / np.sqrt(size) for h, size in zip(present.tolist(), sizes.tolist(), strict=True)}
    return choose_pairs(stratum, min(max(n, least), len(rank)), spread=spread, seed=seed)


def _part(table: pa.Table, stratum: pa.Array, probability: npt.NDArray[np.float64], chosen: Estimator) -> pa.Table:
    columns = {"stratum": stratum.cast(pa.string()), "probability": pa.array(probability)}
    columns["scope"] = pa.array([chosen.scope or "none"] * table.num_rows, pa.string())
    for name, column in columns.items():
        table = table.append_column(name, column)
    return conform(table, LABEL_PLAN, what="label plan")


def _in_order(plan: pa.Table, pool: pa.Table) -> pa.Table:
    query = pc.index_in(plan.column("query_id"), value_set=pc.unique(pool.column("query_id"))).to_numpy()
    return plan.take(pa.array(np.lexsort((plan.column("rank").to_numpy(), query))))
