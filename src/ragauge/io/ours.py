"""Formats with readers of their own: TREC files, our JSON Lines, our tables, CSV, and scores by query and document."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ragauge.errors import FormatError, InputError
from ragauge.io import jsonl, long, tabular, trec
from ragauge.io.adapters import Format, labels_by, rankings_by, sample_has
from ragauge.io.columnar import Order
from ragauge.io.content import Content, is_trec
from ragauge.io.found import Reading
from ragauge.io.rows import Duplicates
from ragauge.io.text import extension

__all__ = ["JSONL", "PARQUET", "ROWS", "SCORES", "TREC", "TREC_RUN", "trec_rankings"]

Record = Mapping[str, Any]

TREC_RUN = "a TREC run"
"""What a reading of one is called."""


def _path(content: Content) -> str | Path:
    """The file; formats of ours are read from files or from decoded records."""
    if content.path is None:
        raise InputError(f"{content.name} is no file, and this format is read from files")
    return content.path


def _is_trec(content: Content) -> bool:
    named = extension(content.path) in (".run", ".trec", ".qrels", ".qrel") if content.path else False
    return named or (content.kind == "text" and is_trec(content.first_line))


def _is_ours(content: Content) -> bool:
    """A file of broken lines alone is read as ours too: its reader says what is wrong with them."""
    lines = content.kind == "jsonl" and not content.sample
    return lines or (content.kind in ("jsonl", "json") and any(map(jsonl.is_record, content.sample)))


def _is_our_table(content: Content) -> bool:
    if content.table is None:
        return False
    names = set(content.table.column_names)
    retrieved = names & {*long.COLUMNS["rank"], *long.COLUMNS["score"]}  # a row is then a retrieved document
    return {"query_id", "doc_ids"} <= names or ({"query_id", "doc_id", "label"} <= names and not retrieved)


def trec_rankings(content: Content, duplicates: Duplicates, order: Order = "trec") -> Reading:
    """A TREC run, by score and document id or in the order of its lines."""
    table = trec.read_run(_path(content), order=order, duplicates=duplicates)
    return Reading(content.name, TREC_RUN, "ranking", table)


def _trec_labels(content: Content) -> Reading:
    return Reading(content.name, "TREC qrels", "label", trec.read_qrels(_path(content)))


def _our_rankings(content: Content, duplicates: Duplicates) -> Reading:
    flat = (long.is_long(record) and "documents" not in record for record in content.sample)
    if content.sample and all(flat):  # a row a retrieved document, with its label beside its score or rank
        return ROWS.rankings(content, duplicates)
    if content.path is not None and content.kind in ("jsonl", "text"):
        table = jsonl.read_rankings(content.path, duplicates=duplicates)
    else:
        numbered = enumerate(_all(content), start=1)
        table = jsonl.rankings_of(numbered, content.name, content.stem, duplicates=duplicates)
    return Reading(content.name, "JSON Lines", "ranking", table)


def _our_labels(content: Content) -> Reading:
    if content.path is not None and content.kind in ("jsonl", "text"):
        table = jsonl.read_labels(content.path)
    else:
        table = jsonl.labels_of(enumerate(_all(content), start=1), content.name)
    return Reading(content.name, "JSON Lines", "label", table)


def _all(content: Content) -> Iterable[Record]:
    """All records, the first broken one being an error."""
    for place, decode in content.records():
        try:
            yield decode()
        except InputError as error:
            raise FormatError(f"{content.name}, {place}: {error}") from error


def _table_rankings(content: Content, duplicates: Duplicates) -> Reading:
    table = tabular.read_parquet(_path(content)) if content.table is None else content.table
    rankings = tabular.rankings_in(table, content.name, duplicates=duplicates)
    return Reading(content.name, "a table of rankings", "ranking", rankings)


def _table_labels(content: Content) -> Reading:
    table = tabular.read_parquet(_path(content)) if content.table is None else content.table
    return Reading(content.name, "a table of labels", "label", tabular.labels_in(table, content.name))


def _delimited_labels(content: Content) -> Reading:
    return Reading(content.name, "CSV", "label", tabular.read_delimited_labels(_path(content)))


def _scores() -> Format:
    """{query: {document: number}}: as rankings the numbers are scores, as labels they are labels."""
    rankings = rankings_by("scores by query and document", long.score_tables)
    labels = labels_by("labels by query and document", long.label_tables)
    return Format("scores by query and document", sample_has(long.is_scores), rankings, labels)


def _rows() -> Format:
    """A row a document: as rankings by rank or score, as labels by label."""
    title = "a table of retrieved documents"
    ranked, judged = rankings_by(title, long.long_row, long.rankings_of_rows), labels_by("labels", long.label_row)

    def recognise(content: Content) -> bool:
        return content.kind == "csv" or any(long.is_long(row) or long.is_labelled(row) for row in content.sample)

    def rankings(content: Content, duplicates: Duplicates) -> Reading:
        names = {str(name) for record in content.sample for name in record}
        if content.sample and (missing := long.missing_column(names)):
            raise FormatError(f"no column {missing!r} in {content.name}; found: {', '.join(content.sample[0])}")
        return ranked(content, duplicates)

    def labels(content: Content) -> Reading:
        return _delimited_labels(content) if content.kind == "csv" else judged(content)

    return Format(title, recognise, rankings, labels)


TREC = Format("TREC", _is_trec, trec_rankings, _trec_labels, trec.write_run, (".run", ".trec"))
JSONL = Format("JSON Lines", _is_ours, _our_rankings, _our_labels, jsonl.write_rankings, (".jsonl", ".ndjson"))
PARQUET = Format(
    "a table of rankings", _is_our_table, _table_rankings, _table_labels, tabular.write_parquet_rankings, (".parquet",)
)
ROWS = _rows()
SCORES = _scores()
