"""What `ragauge correlate --contest` prints: a verdict a segment, and the pooled measures one by one."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isnan
from operator import itemgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.terminal import echo_records

if TYPE_CHECKING:
    import pyarrow as pa

_WIDTH = 78
_PLACE = itemgetter("dataset", "embedder", "segment")


def echo_contest(found: "pa.Table") -> None:
    """A `schema.CONTEST` on stdout: a verdict a segment, how many segments hold no contest, and the pooled measures."""
    from ragauge.study import POOLED, verdicts

    rows = {place: list(members) for place, members in groupby(found.to_pylist(), key=_PLACE)}
    decided = {place: text for place, text in verdicts(found).items() if not text.startswith("not decided")}
    click.echo("Which measure may be the best: the confidence set of each segment\n")
    for place, text in decided.items():
        if POOLED not in place:
            click.echo(f"{'  '.join(place)}  ({rows[place][0]['n_queries']} queries)")
            click.echo(fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  "))
    n_segments = sum(POOLED not in place for place in rows)
    n_without = n_segments - sum(POOLED not in place for place in decided)
    if n_without:
        click.echo(f"{n_without} of {n_segments} segments hold no contest (too few queries, or a constant column).")
    click.echo()
    for place, text in decided.items():
        if POOLED in place:
            met = [row for row in rows[place] if row["p_set"] is not None]
            echo_records([_row(row) for row in met], format="table", title=_title(rows[place]))
            reasons = [f"{row['measure']}: {row['reason']}" for row in rows[place] if row["reason"]]
            click.echo("\n".join(fill(line, _WIDTH) for line in [text, *reasons]) + "\n")


def _title(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is pooled, and which measure differences are taken from."""
    segment = rows[0]["segment"].replace("*", "all segments")
    against = next((row["against"] for row in rows if row["against"]), "")
    differences = f", differences from {against}" if against else ""
    return f"Pooled over {segment}{differences}  ({rows[0]['n_queries']} queries)"


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    difference = ""
    if row["low"] is not None and not isnan(row["low"]):
        difference = f"{row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
    return {
        "measure": row["measure"],
        "value": row["value"],
        "standing": f"same as {row['same_as']}" if row["same_as"] else row["standing"],
        "difference in z": difference,
        "p (Holm)": _p(row["p_holm"]),
    }


def _p(value: float | None) -> str:
    if value is None or isnan(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
