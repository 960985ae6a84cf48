"""Ratings from the tables that annotators keep: one row a rating, or one row a unit with a column a rater; and labels.

long:  unit, rater, rating      wide:  unit, anna, ben, carla
       7     anna   2                  7     2     3
       7     ben    3                  8           1      1
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragauge.errors import FormatError
from ragauge.io.jsonl import parse_records
from ragauge.io.rows import raise_problems
from ragauge.io.tabular import delimited_rows, is_parquet, read_parquet
from ragauge.io.text import extension
from ragauge.schema import RATINGS

__all__ = ["label_ratings", "read_ratings"]

_EMPTY = ("", "NA", "NaN", "nan", "null", "None")
_UNIT_MARK = " / "


def read_ratings(
    path: str | Path,
    *,
    units: Sequence[str],
    raters: Sequence[str],
    rating: str | None = None,
    cluster: str | None = None,
) -> pa.Table:
    """RATINGS from CSV or TSV with a header, JSON Lines or Parquet, long or wide.

    Args:
        path: The file.
        units: Columns that together name what was rated.
        raters: Long: the one column that names the rater. Wide: each rater's own column.
        rating: Long: the column with the rating. None = wide.
        cluster: The column of what units belong together; None = each unit on its own.

    Returns:
        One row a rating; empty cells and NA are null.

    Raises:
        FormatError: The file cannot be read, or lacks a column.

    Note:
        A wide file has each unit once, a long file each unit and rater once; who computes with them checks it.
    """
    if rating is not None and len(raters) != 1:
        raise FormatError(f"with a rating column, one column names the rater, got {', '.join(raters) or 'none'}")
    if not units or not raters:
        raise FormatError("name the columns of the unit and of the rater")
    rows = []
    needed = [*units, *raters, *([rating] if rating else []), *([cluster] if cluster else [])]
    for record in _records(path, needed):
        unit = _UNIT_MARK.join(_text(record[name]) or "" for name in units)
        kin = {"unit_id": unit, "cluster": (_text(record[cluster]) or "") if cluster else unit}
        pairs = [(_text(record[raters[0]]) or "", record[rating])] if rating else [(r, record[r]) for r in raters]
        rows += [{**kin, "rater": rater, "rating": _text(value)} for rater, value in pairs]
    return pa.Table.from_pylist(rows, schema=RATINGS)


def label_ratings(tables: Mapping[str, pa.Table]) -> pa.Table:
    """RATINGS from LABELS: the unit is the pair of query and document, the cluster the query, the rater the judge.

    Args:
        tables: LABELS by the name of who gave those that name no judge, such as the file's.
    """
    rows = [
        {
            "unit_id": f"{row['query_id']}{_UNIT_MARK}{row['doc_id']}",
            "rater": row["judge"] or name,
            "rating": _text(row["label"]),
            "cluster": row["query_id"],
        }
        for name, table in tables.items()
        for row in table.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=RATINGS)


def _records(path: str | Path, needed: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Each row as a record that has the columns needed."""
    if is_parquet(path):
        yield from _from_parquet(path, needed)
    elif extension(path) in (".jsonl", ".ndjson"):
        rows = parse_records(path, lambda record: _with_columns(record, needed))
        raise_problems(rows.problems)
        yield from rows.rows
    else:
        yield from _from_delimited(path, needed)


def _from_parquet(path: str | Path, needed: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    table = read_parquet(path)
    _check_columns(table.column_names, needed, path)
    yield from table.select(list(dict.fromkeys(needed))).to_pylist()


def _from_delimited(path: str | Path, needed: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    (_, names), *rows = delimited_rows(path)
    _check_columns(names, needed, path)
    for line, cells in rows:
        if len(cells) != len(names):
            raise FormatError(f"{path}, line {line}: {len(cells)} fields, the header has {len(names)}")
        yield dict(zip(names, cells, strict=True))


def _with_columns(record: Mapping[str, Any], needed: Sequence[str]) -> Mapping[str, Any]:
    """A key that is absent from a JSON record is an empty cell, unless none of them is there."""
    if not any(name in record for name in needed):
        raise FormatError(f"none of {', '.join(needed)} found; there are: {', '.join(record)}")
    return {name: record.get(name) for name in needed}


def _check_columns(names: Sequence[str], needed: Sequence[str], path: str | Path) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        raise FormatError(f"no column {', '.join(map(repr, missing))} in {path}; found: {', '.join(names)}")


def _text(value: Any) -> str | None:
    """A cell as it is written, whole numbers without a point; None where there is nothing."""
    if value is None or str(value).strip() in _EMPTY:
        return None
    return f"{value:.17g}" if isinstance(value, float) else str(value).strip()
