"""What `ragauge correlate` and `ragauge study` print: an overview, a table a segment and what its alphas are worth, a
legend."""

from collections.abc import Sequence
from itertools import groupby
from math import isfinite, isnan
from operator import itemgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.contest_table import echo_contest
from ragauge.cli.correlation_overview import echo_overview
from ragauge.cli.terminal import echo_json, echo_records

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["echo_correlations", "legend"]

Record = dict[str, Any]

MOST_TABLES = 6
"""More segments than this are left to the overview, unless all are asked for."""

_WIDTH = 80
_PLACE = itemgetter("dataset", "embedder", "segment")
_CANNOT = "cannot matter"
_OPTIONAL = {"corrected_value": "corrected", "held_out": "held out", "within": "within"}
"""Column that may be empty -> its head."""
_LEGEND = """\
value           at alpha = 0.5; CI: its {level:.0%} confidence interval, leaving out one query at a time
max over alpha  the largest, and where: too high, alpha was chosen on these rows
cannot matter   no alpha changes the coefficient there, such as that of F where K / N_p is constant
corrected       the maximum less what the choice adds (bootstrap), with its interval (CI)
held out        at an alpha that other {others} chose
within          for the same query: do its rows follow their grades?"""


def echo_correlations(
    found: "pa.Table",
    *,
    coefficient: str,
    format: str,
    level: float = 0.95,
    contest: "pa.Table | None" = None,
    tables: Literal["few", "all"] = "few",
) -> bool:
    """The correlations of one coefficient (or all) on stdout: an overview, a table a segment, the contest if there was
    one.

    Args:
        found: `schema.CORRELATIONS`.
        coefficient: A name of `stats.COEFFICIENTS`, or "all".
        format: "table", "json" (all there is) or "csv" (the rows of the coefficient).
        level: Confidence level of the intervals.
        contest: `schema.CONTEST`.
        tables: Those of the segments: "all", or none where there are more than a "few" and an overview.

    Returns:
        Whether there was a table of a segment, for `legend` to explain.
    """
    rows, met = found.to_pylist(), None if contest is None else contest.to_pylist()
    if format == "json":
        echo_json({"correlations": rows} | ({} if met is None else {"contest": met}))
        return False
    shown = [row for row in rows if coefficient in ("all", row["coefficient"])]
    if format == "csv":
        echo_records(shown, format="csv")
        return False
    segments = [(place, list(group)) for place, group in groupby(shown, key=_PLACE)]
    overview = echo_overview(shown, met)
    n_tables = sum(not _why_nothing(group) for _, group in segments)
    each = tables == "all" or n_tables <= MOST_TABLES or not overview
    if each:
        for place, group in segments:
            _echo_segment("  ".join(place), group, _columns(found), level, several=coefficient == "all")
    else:
        click.echo(f"{len(segments)} segments, each with its intervals and alphas: ragauge correlate --all\n")
    if contest is not None:
        echo_contest(contest)
    return each


def legend(found: "pa.Table", *, level: float, held_out: str | None) -> str:
    """The lines about the columns that are there."""
    absent = tuple(head for name, head in _OPTIONAL.items() if name not in _columns(found))
    text = _LEGEND.format(level=level, others="data sets" if held_out == "datasets" else "queries")
    return "\n".join(line for line in text.splitlines() if not line.startswith(absent))


def _columns(found: "pa.Table") -> set[str]:
    """The optional columns that hold anything."""
    return {name for name in _OPTIONAL if found.column(name).null_count < len(found)}


def _echo_segment(name: str, rows: Sequence[Record], columns: set[str], level: float, *, several: bool) -> None:
    """A segment: one line where there is little to say, else its measures, then what choosing alpha is worth."""
    title = f"{name}  ({_size(rows)})"
    if nothing := _why_nothing(rows):
        click.echo(fill(f"{title}: {nothing}", _WIDTH, subsequent_indent="  "))
        return
    measures = [_measure(row, columns, level, several=several) for row in rows]
    echo_records(measures, format="table", title=title)
    tuned = [_tuned(row, columns, level, several=several) for row in rows if row["alpha_matters"]]
    if tuned and columns & {"corrected_value", "held_out"}:
        click.echo()
        echo_records(tuned, format="table")
    click.echo()


def _why_nothing(rows: Sequence[Record]) -> str:
    """Why a table of these rows would say nothing, else ""."""
    from ragauge.stats.intervals import MIN_QUERIES

    if all(isnan(row["value"]) for row in rows):
        return "; ".join(dict.fromkeys(row["reason"] or "undefined" for row in rows))
    few = max(row["n_queries"] for row in rows) < MIN_QUERIES
    return "too few for an interval" if few else ""


def _size(rows: Sequence[Record]) -> str:
    """Queries and answers of the segment, and of the measure that has fewer of them."""
    most = max(rows, key=itemgetter("n_rows"))
    fewer = {row["measure"]: row["n_rows"] for row in rows if row["n_rows"] < most["n_rows"]}
    queries, answers = _counted(most["n_queries"], "query", "queries"), _counted(most["n_rows"], "answer", "answers")
    return "; ".join([f"{queries}, {answers}", *(f"{name}: {n}" for name, n in fewer.items())])


def _counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _measure(row: Record, columns: set[str], level: float, *, several: bool) -> Record:
    record = _named(row, several=several) | {"value": row["value"], f"{level:.0%} CI": _span(row["low"], row["high"])}
    record["max over alpha"] = _maximum(row)
    return record | ({"within": row["within"]} if "within" in columns else {})


def _tuned(row: Record, columns: set[str], level: float, *, several: bool) -> Record:
    record = _named(row, several=several) | {"max over alpha": _maximum(row)}
    if "corrected_value" in columns:
        record["corrected"] = row["corrected_value"]
        record[f"{level:.0%} CI"] = _span(row["corrected_low"], row["corrected_high"])
    return record | ({"held out": row["held_out"]} if "held_out" in columns else {})


def _named(row: Record, *, several: bool) -> Record:
    return {"measure": row["measure"]} | ({"of": row["coefficient"]} if several else {})


def _maximum(row: Record) -> str:
    if row["alpha_matters"]:
        return f"{row['best_value']:.3f} at {row['best_alpha']:.2f}"
    return "" if row["best_value"] is None or isnan(row["best_value"]) else _CANNOT


def _span(low: float, high: float) -> str:
    if not (isfinite(low) and isfinite(high)):
        return ""
    return f"{round(low, 2) + 0.0:.2f}..{round(high, 2) + 0.0:.2f}"  # + 0.0, lest there be a -0.00
