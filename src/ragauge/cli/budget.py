"""`ragauge budget`: how many labels a mean takes, and which way of labelling is cheapest."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.number_options import RANK, NumberIn, level_option, rel_option
from ragauge.cli.reading import check_judged, labels_option, read_noted, reading_options
from ragauge.cli.terminal import echo_json, echo_records, note, quiet_option
from ragauge.errors import InputError

if TYPE_CHECKING:
    from ragauge.stats import Spread


@click.command("budget")
@click.argument("rankings", type=click.Path(path_type=Path), required=False)
@click.option(
    "--within",
    "half_width",
    type=NumberIn(0, min_open=True),
    default=0.02,
    show_default=True,
    help="Half width wanted.",
)
@click.option("-k", "--top", type=RANK, default=10, show_default=True, help="K of P@K or T@K.")
@labels_option
@rel_option
@click.option(
    "--mean",
    type=NumberIn(0, 1, True, True),
    help="Expected share of relevant documents. Default: from RANKINGS, else 0.5.",
)
@click.option(
    "--icc", type=NumberIn(0, 1), help="How alike labels of one query are. Default: from RANKINGS, else 0.25."
)
@click.option(
    "--correlation",
    type=NumberIn(-1, 1, True, True),
    default=0.0,
    help="Of a proxy known for all queries with P@K, if any.",
)
@click.option("--query-cost", type=NumberIn(0), default=0.0, show_default=True, help="What a query costs, in labels.")
@level_option
@reading_options
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def budget_command(
    rankings: Path | None,
    half_width: float,
    top: int,
    labels: Path | None,
    rel: float | None,
    mean: float | None,
    icc: float | None,
    correlation: float,
    query_cost: float,
    level: float,
    format: str,
    quiet: bool,
    **reading: Any,
) -> None:
    """Say how many labels the mean of P@K or T@K takes to be known within +-0.02.

    RANKINGS, if given, are ones that are labelled already; they tell the mean and the icc. One random document of each
    query needs the fewest labels, and gives the mean alone; ragauge draw draws them.

    \b
    Examples:
      ragauge budget --within 0.02 -k 10
      ragauge budget labelled.jsonl --within 0.05 --query-cost 2
    """
    from ragauge.stats import label_plans

    spread = _spread(rankings, reading, labels, top, rel, quiet) if rankings else None
    used_mean = mean if mean is not None else spread.mean if spread else 0.5
    used_icc = icc if icc is not None else max(0.0, spread.icc) if spread else 0.25
    plans = label_plans(
        half_width,
        cutoff=top,
        mean=used_mean,
        icc=used_icc,
        correlation=correlation,
        query_cost=query_cost,
        level=level,
    )
    if format == "json":
        echo_json({"mean": used_mean, "icc": used_icc, "plans": [asdict(plan) for plan in plans]})
        return
    note(f"mean {used_mean:.3f}, icc {used_icc:.3f}, +-{half_width:g} at level {level:g}", quiet=quiet)
    rows = [{"design": p.design, "queries": p.queries, "labels": p.labels} for p in plans]
    costs = [{"cost": f"{p.cost:g}"} if query_cost else {} for p in plans]
    echo_records([row | cost for row, cost in zip(rows, costs, strict=True)], format=format)


def _spread(
    rankings: Path, reading: Mapping[str, Any], labels: Path | None, top: int, rel: float | None, quiet: bool
) -> "Spread":
    """Mean and icc of the labels in the top K."""
    import numpy as np

    from ragauge.io import read_labels
    from ragauge.measures import judge
    from ragauge.quality.evaluate import labels_are_probabilities
    from ragauge.ragged import from_arrow, head
    from ragauge.stats import label_spread

    judged = judge(read_noted(rankings, reading, quiet=quiet), read_labels(labels) if labels else None)
    check_judged(judged, rankings, labels)
    cut = rel if rel is not None else 0.5 if labels_are_probabilities(judged) else 1.0
    read = head(from_arrow(judged.column("labels")), top)
    row = np.repeat(np.arange(read.n_rows), read.lengths)
    known = read.valid & (read.values >= 0)
    spread = label_spread((read.values[known] >= cut).astype(np.float64), row[known])
    if np.isnan(spread.icc) or not 0 < spread.mean < 1:
        raise InputError(f"labels of the top {top} in {rankings} do not vary enough to plan by; give --mean and --icc")
    note(f"from {spread.n_queries} queries with labels in the top {top}", quiet=quiet)
    return replace(spread, icc=min(1.0, spread.icc))
