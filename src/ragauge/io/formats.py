"""The table of formats: a name, how to read and write it, and the extensions it goes by. To add one, add a line.

A format is found by the file's extension, else by its first line that is not blank.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io import jsonl, tabular, trec
from ragauge.io.text import extension, head
from ragauge.schema import RANKINGS, check

__all__ = ["LABEL_FORMATS", "RANKING_FORMATS", "Format", "read_labels", "read_rankings", "write_rankings"]


@dataclass(frozen=True)
class Format:
    """How one kind of file is read and written.

    Attributes:
        read: The table in a file.
        extensions: Lower-case, with the dot.
        begins: Whether a file whose first line this is can be of the format.
        write: Writes a table; None where `write_table` does, by extension.
    """

    read: Callable[[str | Path], pa.Table]
    extensions: tuple[str, ...]
    begins: Callable[[str], bool]
    write: Callable[[pa.Table, str | Path], None] | None = None


def _json(line: str) -> bool:
    return line.startswith("{")


def _parquet(line: str) -> bool:
    return line.startswith("PAR1")


def _run(line: str) -> bool:
    return len(line.split()) == 6


def _qrels(line: str) -> bool:
    return len(line.split()) == 4 and _is_number(line.split()[3])


def _header(line: str) -> bool:
    return "," in line or "\t" in line


RANKING_FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl.read_rankings, (".jsonl", ".ndjson"), _json, jsonl.write_rankings),
    "parquet": Format(tabular.read_parquet_rankings, (".parquet",), _parquet, tabular.write_parquet_rankings),
    "trec": Format(trec.read_run, (".run", ".trec"), _run, trec.write_run),
}
LABEL_FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl.read_labels, (".jsonl", ".ndjson"), _json),
    "parquet": Format(tabular.read_parquet_labels, (".parquet",), _parquet),
    "trec": Format(trec.read_qrels, (".qrels", ".qrel"), _qrels),
    "csv": Format(tabular.read_delimited_labels, (".csv",), _header),
}
"""A .tsv is told by its content: qrels separated by tabs are as common as tables with a header."""


def read_rankings(path: str | Path, *, format: str | None = None) -> pa.Table:
    """RANKINGS from a TREC run, JSON Lines or Parquet, gzip or not.

    Args:
        path: The file.
        format: "trec", "jsonl" or "parquet"; None = by extension, else by content.

    Returns:
        One row a query and run, documents in rank order: a TREC run ordered as trec_eval does, the others as written.

    Raises:
        FormatError: The file cannot be read, or something in it is wrong; the first ten problems are shown together.
    """
    return _choose(path, RANKING_FORMATS, format, "rankings").read(path)


def read_labels(path: str | Path, *, format: str | None = None) -> pa.Table:
    """LABELS from TREC qrels, a CSV or TSV with a header (BEIR's too), JSON Lines or Parquet, gzip or not.

    Rankings as JSON Lines are read for the labels inside. A negative grade in qrels, CSV or TSV is a null label with
    the reason "pooled_unjudged".

    Args:
        path: The file.
        format: "trec", "csv" (TSV too), "jsonl" or "parquet"; None = by extension, else by content.

    Raises:
        FormatError: The file cannot be read, or something in it is wrong; the first ten problems are shown together.
    """
    return _choose(path, LABEL_FORMATS, format, "labels").read(path)


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
    chosen = _by_name(format, RANKING_FORMATS) if format else _by_extension(path, RANKING_FORMATS)
    if chosen is None or chosen.write is None:
        raise FormatError(f"cannot tell from the name of {path} how to write it; {_known(RANKING_FORMATS)}")
    chosen.write(table.select(RANKINGS.names), path)


def _choose(path: str | Path, formats: Mapping[str, Format], name: str | None, what: str) -> Format:
    """By name, else by extension, else by content."""
    chosen = _by_name(name, formats) if name else _by_extension(path, formats) or _by_content(path, formats)
    if chosen is None:
        raise FormatError(f"cannot tell what format the {what} in {path} have; {_known(formats)}")
    return chosen


def _by_name(name: str, formats: Mapping[str, Format]) -> Format:
    if name not in formats:
        raise FormatError(f"unknown format {name!r}; {_known(formats)}")
    return formats[name]


def _by_extension(path: str | Path, formats: Mapping[str, Format]) -> Format | None:
    ending = extension(path)
    return next((known for known in formats.values() if ending in known.extensions), None)


def _by_content(path: str | Path, formats: Mapping[str, Format]) -> Format | None:
    lines = head(path).decode("utf-8-sig", errors="replace").split("\n")
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise FormatError(f"{path} is empty")
    return next((known for known in formats.values() if known.begins(first)), None)


def _known(formats: Mapping[str, Format]) -> str:
    return "known formats: " + ", ".join(f"{name} ({' '.join(known.extensions)})" for name, known in formats.items())


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
