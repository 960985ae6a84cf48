"""Rankings and labels become what is scored, by the policies: which documents, in which order, for which queries.

`prepare` does what can be done before a measure is known, `policy_scores` the rest. Both keep count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ragauge.measures.arrange import arrange
from ragauge.measures.bounds import has_bounds
from ragauge.measures.condense import condense
from ragauge.measures.coverage import Covered, RunCoverage, cover
from ragauge.measures.judging import judge
from ragauge.measures.measure import Measure
from ragauge.measures.policies import DEFAULTS, Policies
from ragauge.measures.scoring import ScoreBounds, score, score_bounds
from ragauge.ragged import from_labels, segment_sum
from ragauge.schema import LABELS, POOLED_UNJUDGED, conform

__all__ = ["Changes", "Prepared", "policy_bounds", "policy_scores", "prepare"]

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Changes:
    """What the policies did to the rankings and labels that were given.

    Attributes:
        n_reordered: Rankings put in the order of their scores.
        n_unscored: Rankings that could not be, as a document has no score.
        n_duplicates: Documents dropped because they stood in their ranking already.
        n_collapsed: Chunks dropped because another chunk of their document stands for it.
        n_identical: Documents dropped because their id is that of the query.
        n_negative_grades: Labels below 0, which count as the policy says.
        n_no_relevant: Queries known to have no relevant document.
    """

    n_reordered: int = 0
    n_unscored: int = 0
    n_duplicates: int = 0
    n_collapsed: int = 0
    n_identical: int = 0
    n_negative_grades: int = 0
    n_no_relevant: int = 0


@dataclass(frozen=True)
class Prepared:
    """Judged rankings that count.

    Attributes:
        judged: `schema.JUDGED`, with the unjudged documents: what shares of judged documents are counted in.
        missing: bool, one a ranking: the run had none for this query.
        extra: bool, one a ranking: the query has no labels.
        runs: Which queries each run covers; empty where the labels stand inside the rankings.
        changes: What was done.
        policies: By which choices.
    """

    judged: pa.Table
    missing: Bools
    extra: Bools
    runs: tuple[RunCoverage, ...]
    changes: Changes
    policies: Policies

    @cached_property
    def scored(self) -> pa.Table:
        """The rankings as measures see them: condensed with unjudged="skip"."""
        return condense(self.judged) if self.policies.unjudged == "skip" else self.judged


def prepare(
    rankings: pa.Table, labels: pa.Table | None, policies: Policies = DEFAULTS, *, rel: float = 1.0
) -> Prepared:
    """The rankings that count, with labels.

    Args:
        rankings: `schema.RANKINGS`, of any number of runs.
        labels: `schema.LABELS`, all that is known; None = those inside the rankings, and then `missing` and `extra` do
            not apply: the queries are those of the rankings.
        policies: The choices.
        rel: A label of at least this is relevant; for `no_relevant`.

    Raises:
        InputError: What a policy refuses; or not one query of the rankings has a label.
        SchemaError: A column is missing or has another type.

    >>> from ragauge import read_labels, read_rankings
    >>> labels = read_labels({"q1": {"a": 1}, "q2": {"b": 0}})
    >>> found = prepare(read_rankings({"q1": {"a": 0.9, "c": 0.5}}), labels)
    >>> found.judged.column("labels").to_pylist(), found.changes.n_no_relevant
    ([[1.0, None], []], 1)
    """
    arranged = arrange(
        rankings,
        order="input" if policies.ties == "input" else "trec",
        duplicates=policies.duplicates,
        collapse=policies.collapse,
        doc_id_rule=policies.doc_id_rule,
        identical_ids=policies.identical_ids,
        depth=policies.depth,
    )
    known = None if labels is None else conform(labels, LABELS, what="labels")
    negative = None if known is None else _negative(known)
    if known is not None and policies.negative_grades == "negative":
        known = _as_zero(known, negative)
    covered = _covered(arranged.rankings, known, policies)
    judged = judge(covered.rankings, known)
    nothing = _no_relevant(judged, rel)
    changes = Changes(
        n_reordered=arranged.n_reordered,
        n_unscored=arranged.n_unscored,
        n_duplicates=arranged.n_duplicates,
        n_collapsed=arranged.n_collapsed,
        n_identical=arranged.n_identical,
        n_negative_grades=0 if negative is None else int(pc.sum(negative).as_py() or 0),
        n_no_relevant=pc.count_distinct(judged.column("query_id").filter(pa.array(nothing))).as_py(),
    )
    kept = ~nothing if policies.no_relevant == "skip" else np.ones(len(nothing), dtype=np.bool_)
    if not kept.all():
        judged = judged.filter(pa.array(kept))
    return Prepared(judged, covered.missing[kept], covered.extra[kept], covered.runs, changes, policies)


def policy_scores(prepared: Prepared, measures: Sequence[Measure]) -> pa.Table:
    """As `measures.score`, with what the policies say of missing and extra queries, and of those without relevant ones.

    Args:
        prepared: From `prepare`.
        measures: What to compute.

    Raises:
        MeasureError: As `measures.score`.
        InputError: As `measures.score`.

    >>> from ragauge import parse_measure, read_labels, read_rankings
    >>> labels = read_labels({"q1": {"a": 1}, "q2": {"b": 1}})
    >>> found = prepare(read_rankings({"q1": {"a": 0.9}}), labels, Policies(missing="worst"))
    >>> policy_scores(found, [parse_measure("T@1")]).column("T@1").to_pylist()
    [0.5, -0.5]
    """
    expected = prepared.policies.ties == "expected"
    scores = score(prepared.scored, measures, ties="expected" if expected else "given")
    has_pool = np.asarray(pc.is_valid(prepared.judged.column("pool_labels")).to_numpy())
    for measure in dict.fromkeys(measures):
        place = scores.schema.get_field_index(str(measure))
        values = _settled(scores.column(place), measure, prepared, has_pool)
        scores = scores.set_column(place, str(measure), values)
    return scores


def policy_bounds(
    prepared: Prepared, scores: pa.Table, measures: Sequence[Measure], *, max_label: float | None = None
) -> ScoreBounds:
    """As `measures.score_bounds`, where a policy gave a value of its own, that value.

    Args:
        prepared: From `prepare`.
        scores: From `policy_scores`.
        measures: What they hold.
        max_label: Top of the label scale; None = the highest label there is, at least 1.
    """
    bounds = score_bounds(prepared.judged, measures, max_label=max_label)
    low, high = bounds.low, bounds.high
    fixed = prepared.missing | prepared.extra
    for measure in dict.fromkeys(measures):
        name, place = str(measure), low.schema.get_field_index(str(measure))
        if low.column(name).null_count == len(fixed):
            continue
        value = scores.column(name).to_numpy()
        zero = (value == 0) & (prepared.policies.no_relevant == "zero") & measure.needs_pool
        lowest, highest = low.column(name).to_numpy(), high.column(name).to_numpy()
        lowest = np.where(fixed | np.isnan(lowest) | (zero & (lowest > 0)), value, lowest)
        highest = np.where(fixed | np.isnan(highest), value, highest)
        low = low.set_column(place, name, pa.array(lowest, mask=np.isnan(lowest) & _null(scores, name)))
        high = high.set_column(place, name, pa.array(highest, mask=np.isnan(highest) & _null(scores, name)))
    return ScoreBounds(low, high)


def _null(table: pa.Table, name: str) -> Bools:
    return np.asarray(pc.is_null(table.column(name)).to_numpy(), dtype=np.bool_)


def _negative(labels: pa.Table) -> pa.ChunkedArray:
    """Whether each label was a grade below 0; readers make these null, with a reason."""
    pooled = pc.and_(pc.is_null(labels.column("label")), pc.equal(labels.column("reason"), POOLED_UNJUDGED))
    return pc.fill_null(pc.or_kleene(pooled, pc.less(labels.column("label"), 0.0)), False)


def _as_zero(labels: pa.Table, negative: pa.ChunkedArray) -> pa.Table:
    """These labels as judged and not relevant."""
    for name, value in (("label", pa.scalar(0.0)), ("reason", pa.scalar(None, pa.string()))):
        place = LABELS.get_field_index(name)
        labels = labels.set_column(place, LABELS.field(name), pc.if_else(negative, value, labels.column(name)))
    return labels


def _covered(rankings: pa.Table, labels: pa.Table | None, policies: Policies) -> Covered:
    if labels is not None:
        return cover(rankings, labels, missing=policies.missing, extra=policies.extra)
    neither = np.zeros(rankings.num_rows, dtype=np.bool_)
    return Covered(rankings, missing=neither, extra=neither, runs=())


def _no_relevant(judged: pa.Table, rel: float) -> Bools:
    """Whether all labels of the query are known and none is relevant."""
    pool = from_labels(judged.column("pool_labels"))
    known = np.asarray(pc.is_valid(judged.column("pool_labels")).to_numpy(), dtype=np.bool_)
    none: Bools = segment_sum(pool.valid & (pool.values >= rel), pool.offsets) == 0
    return known & none


def _settled(column: pa.ChunkedArray, measure: Measure, prepared: Prepared, has_pool: Bools) -> pa.Array:
    """The values of a measure once the policies have been applied."""
    policies = prepared.policies
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    computed = np.asarray(pc.is_valid(column).to_numpy(), dtype=np.bool_)
    if policies.missing == "worst" and has_bounds(measure):
        values[prepared.missing & ~np.isnan(values)] = measure.bounds[0]
    if policies.no_relevant == "zero" and measure.needs_pool:
        values[has_pool & np.isnan(values)] = 0.0
    if policies.extra == "zero":
        values[prepared.extra] = 0.0
        computed = computed | prepared.extra
    return pa.array(values, mask=~computed)
