"""The table of formats: a name, how it is recognised, read and written. To add one, add a line.

A format is recognised by content; a name that ends in .run, .trec, .qrels or .qrel is a TREC file. The first format of
the table that fits is taken, and said: `str(scan_rankings(path))`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io import beir, records, traces
from ragauge.io.adapters import Format, adapter
from ragauge.io.columnar import Order
from ragauge.io.content import Content, content_of, in_place
from ragauge.io.conventions import CONVENTIONS, Convention
from ragauge.io.found import Reading, n_repeating
from ragauge.io.mistaken import refuse_labels, refuse_rankings
from ragauge.io.ours import JSONL, PARQUET, ROWS, SCORES, TREC, trec_rankings
from ragauge.io.rows import Duplicates, raise_problems
from ragauge.io.spans import settle
from ragauge.io.text import extension, read_text
from ragauge.schema import RANKINGS, check

__all__ = ["FORMATS", "read_labels", "read_rankings", "scan_labels", "scan_rankings", "write_rankings"]


def scan_rankings(
    source: object, *, format: str | None = None, duplicates: Duplicates = "error", order: Order = "trec"
) -> Reading:
    """The rankings in a file or an object, what it was read as, and what was skipped and why.

    Args:
        source: A path; an Arrow table, a pandas or Polars data frame; {query: {document: score}}; a list of records as
            they would stand in a file.
        format: A name of `FORMATS`; None = recognised by content.
        duplicates: A document that stands in a ranking more than once. "error": refused. "keep": kept and counted.
        order: Of a TREC run: "trec" = by score and document id, as trec_eval; "input" = as its lines stand.

    Returns:
        The table, one row a query and run, and the counts; `str()` of it is one sentence.

    Raises:
        FormatError: The file cannot be read, has no ranking in it, looks like labels (with no `format`), or something
            in it is wrong; the first problems are shown together.
        InputError: `source` is none of these.

    >>> reading = scan_rankings({"q1": {"d1": 0.5, "d2": 0.7}})
    >>> str(reading), reading.table.column("doc_ids").to_pylist()
    ('the dict: read as scores by query and document: 1 ranking', [['d2', 'd1']])
    """
    content = content_of(source)
    if format is None:
        refuse_labels(content)
    chosen = _choose(content, format, "rankings")
    read = partial(trec_rankings, order=order) if chosen is TREC else chosen.rankings
    reading = read(content, duplicates)
    return reading if duplicates == "error" else replace(reading, n_repeating=n_repeating(reading.table))


def scan_labels(source: object, *, format: str | None = None) -> Reading:
    """The labels in a file or an object, what it was read as, and what was skipped and why.

    Args:
        source: As in `scan_rankings`, and the folder of a BEIR data set. Rankings are read for the labels inside them,
            and for the relevant documents that they name.
        format: A name of `FORMATS`; None = recognised by content.

    Raises:
        FormatError: The file cannot be read, has no label in it, looks like rankings (with no `format`), or something
            in it is wrong; the first problems are shown together.
        InputError: `source` is none of these.

    >>> scan_labels({"q1": {"d1": 1, "d2": 0}}).table.select(["doc_id", "label"]).to_pylist()
    [{'doc_id': 'd1', 'label': 1.0}, {'doc_id': 'd2', 'label': 0.0}]
    """
    content = content_of(beir.labels_file(source) if isinstance(source, str | Path) else source)
    if format is None:
        refuse_rankings(content)
    return _choose(content, format, "labels").labels(content)


def read_rankings(
    source: object, *, format: str | None = None, duplicates: Duplicates = "error", order: Order = "trec"
) -> pa.Table:
    """RANKINGS from a TREC run, JSON Lines, Parquet, CSV, other tools' traces and records, a data frame or a dict.

    Documents stand in rank order: a TREC run and a table with scores and no ranks ordered as trec_eval does, all others
    as written. What else the file holds is skipped; `scan_rankings` says how much and why.

    Args:
        source: A path or an object, as in `scan_rankings`.
        format: A name of `FORMATS`; None = recognised by content.
        duplicates: A document that stands in a ranking more than once: "error" or "keep".
        order: Of a TREC run: "trec" or "input".

    Raises:
        FormatError: As in `scan_rankings`.
        InputError: As in `scan_rankings`.
    """
    return scan_rankings(source, format=format, duplicates=duplicates, order=order).table


def read_labels(source: object, *, format: str | None = None) -> pa.Table:
    """LABELS from TREC qrels, a CSV or TSV with a header (BEIR's too), JSON Lines, Parquet, or records that hold some.

    A negative grade in qrels is a null label with the reason "pooled_unjudged".

    Args:
        source: A path or an object, as in `scan_labels`.
        format: A name of `FORMATS`; None = recognised by content.

    Raises:
        FormatError: As in `scan_labels`.
        InputError: As in `scan_labels`.
    """
    return scan_labels(source, format=format).table


def write_rankings(table: pa.Table, path: str | Path, *, format: str | None = None) -> None:
    """Writes RANKINGS: all of the file or nothing, packed where the name ends in .gz.

    Args:
        table: RANKINGS; further columns are not written.
        path: The file; its folder must be there.
        format: "trec", "jsonl" or "parquet"; None = by extension.

    Raises:
        SchemaError: `table` is not RANKINGS.
        FormatError: The extension names no format.
        InputError: The file cannot be created, or the format cannot hold the rankings.
    """
    check(table, RANKINGS, what="the rankings table")
    ending = extension(path)
    by_extension = next((known for known in FORMATS.values() if ending in known.extensions), None)
    chosen = _named(format) if format else by_extension
    if chosen is None or chosen.write is None:
        writable = ", ".join(f"{name} ({' '.join(one.extensions)})" for name, one in FORMATS.items() if one.write)
        raise FormatError(f"cannot tell from the name of {path} how to write it; formats that are written: {writable}")
    chosen.write(table.select(RANKINGS.names), path)


def _choose(content: Content, name: str | None, what: str) -> Format:
    """By name, else by content."""
    if name:
        return _named(name)
    chosen = next((known for known in FORMATS.values() if known.recognise(content)), None)
    if chosen is None:
        _raise_nearer_reason(content)
        raise FormatError(
            f"cannot tell what format the {what} in {content.name} have; {_looked_at(content)}; {_known()}"
        )
    return chosen


def _raise_nearer_reason(content: Content) -> None:
    """Bytes that are not UTF-8, or records that are broken, are why nothing was recognised."""
    if content.path is not None and content.kind != "table":
        read_text(content.path)
    if not content.sample:
        problems: list[str] = []
        list(in_place(content.records(), problems, content.name))
        raise_problems(problems)


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise FormatError(f"unknown format {name!r}; {_known()}")
    return FORMATS[name]


def _looked_at(content: Content) -> str:
    """What was to be seen, for the message that nothing is known."""
    if content.sample:
        keys = dict.fromkeys(str(key) for record in content.sample for key in record)
        return f"its records have the keys {', '.join(list(keys)[:12]) or 'none'}"
    return f"it begins with {content.first_line[:40]!r}" if content.first_line else "it has no records"


def _known() -> str:
    return f"known formats: {', '.join(FORMATS)}"


def _spans(convention: Convention) -> Format:
    return adapter(convention.title, convention.recognise, convention.spans, settle)


def _mteb() -> Format:
    """Rows as MTEB stores them; the same columns as text are BEIR's qrels, which `csv` reads faster."""
    rows = adapter("MTEB rows", records.is_mteb, records.mteb)
    return replace(rows, recognise=lambda content: content.kind != "csv" and rows.recognise(content))


FORMATS: Mapping[str, Format] = {
    "trec": TREC,
    "jsonl": JSONL,
    "parquet": PARQUET,
    **{name: _spans(convention) for name, convention in CONVENTIONS.items()},
    "langsmith": adapter("LangSmith runs", traces.is_langsmith, traces.langsmith_spans, settle),
    "langfuse": adapter("Langfuse observations", traces.is_langfuse, traces.langfuse_spans, settle),
    "deepeval-traces": adapter("DeepEval traces", traces.is_deepeval_trace, traces.deepeval_spans, settle),
    "trulens-records": adapter("TruLens records", traces.is_trulens_record, traces.trulens_calls, settle),
    "bedrock": adapter("Amazon Bedrock answers", traces.is_bedrock, traces.bedrock),
    "umbrela": adapter("Ragnarok and umbrela records", records.is_umbrela, records.umbrela),
    "trec-rag": adapter("TREC RAG answers", records.is_trec_rag, records.trec_rag),
    "autorag": adapter("AutoRAG results", records.is_autorag, records.autorag),
    "ragas": adapter("ragas samples", records.is_ragas, records.ragas),
    "retrieval-response": adapter("graded answers", records.is_graded_answer, records.graded_answer),
    "mteb": _mteb(),
    "llama-index-dataset": adapter("a LlamaIndex data set", records.is_llama_dataset, records.llama_dataset),
    "documents": adapter("LangChain or LlamaIndex documents", records.is_with_documents, records.with_documents),
    "deepeval": adapter("deepeval test cases", records.is_deepeval_case, records.deepeval_case),
    "csv": ROWS,
    "scores": SCORES,
}
"""In the order in which they are tried: the more telling marks first."""
