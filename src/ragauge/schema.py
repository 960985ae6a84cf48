"""The Arrow tables that cross package borders: their columns, types and meaning.

A ranking is one row; what belongs to its documents stands in list columns of equal length, in rank order.
A null is "not known" (an unjudged document, an unknown count), never zero.
"""

from collections.abc import Iterable

import pyarrow as pa

from ragauge.errors import SchemaError

__all__ = [
    "ANSWERS",
    "ANSWER_GRADES",
    "CONTEST",
    "CORPUS",
    "CORRELATIONS",
    "DRAWN",
    "GRADED",
    "JUDGED",
    "JUDGEMENTS",
    "LABELS",
    "LABEL_PLAN",
    "POOLED_UNJUDGED",
    "POOLS",
    "PREFERENCES",
    "QUERIES",
    "RANKINGS",
    "RATINGS",
    "check",
    "conform",
]


def _required(name: str, type_: pa.DataType) -> pa.Field:
    return pa.field(name, type_, nullable=False)


_DOCUMENTS = pa.list_(pa.struct([_required("doc_id", pa.string()), _required("text", pa.string())]))

CORPUS = pa.schema([_required("doc_id", pa.string()), pa.field("title", pa.string()), _required("text", pa.string())])
"""The knowledge base: one row a document."""

QUERIES = pa.schema(
    [_required("query_id", pa.string()), _required("query", pa.string()), pa.field("answer", pa.string())]
)
"""One row a query; `answer` is the ideal answer where one is known."""

POOLS = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("dataset", pa.string()),
        _required("query", pa.string()),
        pa.field("answer", pa.string()),
        _required("positives", _DOCUMENTS),
        _required("negatives", _DOCUMENTS),
    ]
)
"""One row a query with all its candidates: N_p = len(positives), N_c = len(positives) + len(negatives)."""

RANKINGS = pa.schema(
    [
        _required("query_id", pa.string()),
        pa.field("query", pa.string()),
        _required("run", pa.string()),
        _required("doc_ids", pa.list_(pa.string())),
        _required("texts", pa.list_(pa.string())),
        _required("scores", pa.list_(pa.float64())),
        _required("labels", pa.list_(pa.float64())),
    ]
)
"""One row a ranking (query x run), best document first. `texts`, `scores` and `labels` hold null where not known."""

LABELS = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("doc_id", pa.string()),
        pa.field("label", pa.float64()),
        pa.field("reason", pa.string()),
        pa.field("judge", pa.string()),
    ]
)
"""One row a judged pair. `label` null = unlabelled, and then `reason` says why. `judge` is a person or a model."""

JUDGEMENTS = pa.schema(
    [
        _required("id", pa.int64()),
        _required("query_id", pa.string()),
        _required("doc_id", pa.string()),
        pa.field("label", pa.float64()),
        pa.field("reason", pa.string()),
        _required("judge", pa.string()),
        _required("kind", pa.string()),
        _required("task", pa.string()),
        _required("rubric", pa.string()),
        pa.field("reply_key", pa.string()),
        _required("created_at", pa.string()),
        pa.field("superseded_by", pa.int64()),
        pa.field("superseded_at", pa.string()),
    ]
)
"""One row a time a judge judged a pair, as the store keeps them. `kind`: "human" or "model". `task`: "label" (of a
document) or "grade" (of an answer, which `doc_id` names). `rubric`: version of the rubric or prompt. `reply_key`: the
model's reply it was read from. `superseded_by`: the `id` of what the same judge said next of the pair, by the same
rubric; null = in force."""

POOLED_UNJUDGED = "pooled_unjudged"
"""The reason of a null label that stands for a negative grade in qrels: the document was pooled, nobody judged it."""

RATINGS = pa.schema(
    [
        _required("unit_id", pa.string()),
        _required("rater", pa.string()),
        pa.field("rating", pa.string()),
        _required("cluster", pa.string()),
    ]
)
"""One row a rating of anything by a person or a model. `rating` is a number or a word as written; null = not rated.
`cluster` is what units belong together: the query of a document."""

ANSWERS = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("query", pa.string()),
        pa.field("ideal", pa.string()),
        _required("answer_id", pa.string()),
        _required("system", pa.string()),
        pa.field("answer", pa.string()),
    ]
)
"""One row an answer of a system, beside the ideal one. An `answer_id` names one text of its query."""

ANSWER_GRADES = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("answer_id", pa.string()),
        _required("system", pa.string()),
        pa.field("grade", pa.float64()),
        pa.field("repeat_sd", pa.float64()),
        pa.field("expected", pa.float64()),
        pa.field("expected_sd", pa.float64()),
        _required("grades", pa.list_(pa.float64())),
        pa.field("reason", pa.string()),
        pa.field("judge", pa.string()),
    ]
)
"""One row an answer that was graded, 1..5, once or several times. `grades`: of each repeat, null where it has none;
`grade`: their mean; `repeat_sd`: their standard deviation. `expected`, `expected_sd`: mean and standard deviation under
the model's probabilities. `reason`: why a repeat has no grade."""

PREFERENCES = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("first", pa.string()),
        _required("second", pa.string()),
        pa.field("p_first", pa.float64()),
        pa.field("as_a", pa.float64()),
        pa.field("as_b", pa.float64()),
        pa.field("verdict", pa.string()),
        pa.field("by_order", pa.bool_()),
        pa.field("reason", pa.string()),
        pa.field("judge", pa.string()),
    ]
)
"""One row a query that the systems `first` and `second` both answered. `p_first`: probability that the first one's
answer is nearer to the ideal answer, the mean of `as_a` (asked with it in front) and `as_b` (behind). `verdict`:
"first", "second" or "tie", null = none, and then `reason` says why; `by_order`: each order prefers the same place."""

JUDGED = pa.schema([*RANKINGS, pa.field("pool_labels", pa.list_(pa.float64()))])
"""Rankings with labels. `pool_labels` holds the known labels of *all* judged documents of the query, retrieved or not;
null = nobody knows what else is relevant, so N_p is unknown and measures that need it cannot be computed. A negative
label says that the document was pooled and not judged, as in TREC's qrels: unjudged to measures (`from_labels`)."""

LABEL_PLAN = pa.schema(
    [
        _required("query_id", pa.string()),
        pa.field("query", pa.string()),
        _required("doc_id", pa.string()),
        pa.field("text", pa.string()),
        _required("rank", pa.int64()),
        _required("stratum", pa.string()),
        _required("probability", pa.float64()),
        _required("scope", pa.string()),
        pa.field("label", pa.float64()),
    ]
)
"""One row a document to label. `rank` is its best over the runs; `stratum` is "near" (all are labelled, probability 1)
or a range of ranks of which each document was drawn with `probability`. `scope`: strata are of "all" queries together,
each "query" has its own, or "none" was drawn from."""

DRAWN = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("run", pa.string()),
        _required("design", pa.string()),
        _required("cutoff", pa.int64()),
        pa.field("turn", pa.int64()),
        pa.field("n_pilot", pa.int64()),
        _required("strata", pa.list_(pa.string())),
        _required("drawn", pa.list_(pa.bool_())),
    ]
)
"""One row a ranking: which documents of its top `cutoff` a label design drew, and of which stratum each is. `turn`: the
query's place, from 1, in the random order in which queries were labelled, null = its turn did not come; `n_pilot`: how
many of the first turns fixed how many were to follow. Both are null where all queries were drawn at once."""

GRADED = pa.schema(
    [
        _required("query_id", pa.string()),
        _required("dataset", pa.string()),
        _required("embedder", pa.string()),
        _required("n_candidates", pa.int64()),
        _required("n_relevant", pa.int64()),
        _required("cutoff", pa.int64()),
        pa.field("grade", pa.float64()),
        _required("labels", pa.list_(pa.float64())),
        pa.field("n_positive_2k", pa.int64()),
        pa.field("answer_ideal", pa.string()),
        pa.field("answer_topk", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""One row an answer written from a top K. `labels`: 1 or 0 for the K documents, in rank order; `n_positive_2k`:
positives in the top 2K; `grade` 1..5, null = not graded, and then `reason` says why."""

CORRELATIONS = pa.schema(
    [
        _required("dataset", pa.string()),
        _required("embedder", pa.string()),
        _required("segment", pa.string()),
        pa.field("ratio", pa.float64()),
        _required("measure", pa.string()),
        _required("coefficient", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("best_value", pa.float64()),
        pa.field("best_alpha", pa.float64()),
        _required("alpha_matters", pa.bool_()),
        pa.field("alpha_note", pa.string()),
        pa.field("corrected_value", pa.float64()),
        pa.field("corrected_low", pa.float64()),
        pa.field("corrected_high", pa.float64()),
        pa.field("held_out", pa.float64()),
        pa.field("within", pa.float64()),
        pa.field("within_low", pa.float64()),
        pa.field("within_high", pa.float64()),
        _required("n_rows", pa.int64()),
        _required("n_queries", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a (segment, measure, coefficient). `value` at alpha = 0.5 (or without alpha), `low`, `high` its interval.
`best_value` is the in-sample maximum over alpha, `best_alpha` where; `alpha_matters` false: no alpha changes it, and
`alpha_note` says why. `corrected_*`: the maximum less its optimism (null when not asked for); `held_out`: at an alpha
that other queries or data sets chose. `within_*`: inside queries, embedders apart. NaN = undefined; `reason` says why
of `value` and its interval."""

CONTEST = pa.schema(
    [
        _required("dataset", pa.string()),
        _required("embedder", pa.string()),
        _required("segment", pa.string()),
        pa.field("ratio", pa.float64()),
        _required("measure", pa.string()),
        _required("coefficient", pa.string()),
        _required("standing", pa.string()),
        pa.field("same_as", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("value_low", pa.float64()),
        pa.field("value_high", pa.float64()),
        pa.field("against", pa.string()),
        pa.field("difference", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("p", pa.float64()),
        pa.field("p_holm", pa.float64()),
        pa.field("p_bh", pa.float64()),
        pa.field("eliminated", pa.int64()),
        pa.field("p_set", pa.float64()),
        pa.field("tau2", pa.float64()),
        pa.field("i2", pa.float64()),
        pa.field("n_segments", pa.int64()),
        _required("n_rows", pa.int64()),
        _required("n_queries", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a (segment, measure), and pooled rows with "*" for what they are pooled over. `standing`: "winner" (alone in
the confidence set), "leader" (the largest, not alone), "in the set", "struck out" (as number `eliminated`) or "not
compared" (`reason`). `p_set` is the p of the step that struck it out, or of the last step. `same_as`: the measure it
never differs from here. `value` is its correlation, `value_low`..`value_high` its interval. `difference` from the
measure `against` with its interval, p, and p adjusted over the measures of the segment (`p_holm`) and over the table
(`p_bh`); pooled, it is in Fisher's z, with `tau2`, `i2`, `n_segments`."""


def check(table: pa.Table, schema: pa.Schema, *, what: str) -> pa.Table:
    """`table`, if it has every column of `schema` with its type; further columns are allowed.

    Args:
        table: Any Arrow table.
        schema: One of the schemas of this module.
        what: How the message names the table, such as "rankings" or "labels.csv".

    Raises:
        SchemaError: A column is missing, has another type, or holds null where none is allowed.
    """
    problems = list(_problems(table, schema, what))
    if problems:
        raise SchemaError("; ".join(problems), problems)
    return table


def conform(table: pa.Table, schema: pa.Schema, *, what: str) -> pa.Table:
    """`table` with exactly the columns of `schema`, in its order: types cast where lossless, absent nullable ones null.

    Raises:
        SchemaError: A required column is missing, or a value cannot be cast.
    """
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(_cast(table.column(field.name), field, what))
        elif field.nullable:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        else:
            raise SchemaError(f"no column {field.name!r} in {what}; found: {', '.join(table.column_names)}")
    return check(pa.table(columns, schema=schema), schema, what=what)


def _cast(column: pa.ChunkedArray, field: pa.Field, what: str) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"column {field.name!r} of {what} cannot be read as {field.type}: {error}") from error


def _problems(table: pa.Table, schema: pa.Schema, what: str) -> Iterable[str]:
    for field in schema:
        if field.name not in table.column_names:
            yield f"no column {field.name!r} in {what}; found: {', '.join(table.column_names)}"
            continue
        column = table.column(field.name)
        if column.type != field.type:
            yield f"column {field.name!r} of {what} is {column.type}, must be {field.type}"
        elif not field.nullable and column.null_count:
            yield f"column {field.name!r} of {what} has {column.null_count} empty values; each row needs one"
