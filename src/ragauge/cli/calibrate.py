"""`ragauge calibrate`: what a judge's grades are worth, from pairs that people labelled too."""

from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.number_options import NUMBER
from ragauge.cli.terminal import TABLE_FILE, echo_json, echo_records, note, quiet_option, seed_option
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.stats import Calibration

MAX_ROWS = 12
"""Different scores that are shown one by one; more are shown in ten groups of about as many pairs."""


@click.command("calibrate")
@click.argument("labels", type=click.Path(path_type=Path))
@click.option("--human", type=click.Path(path_type=Path), required=True, help="People's labels of some of the pairs.")
@click.option("--human-rel", type=NUMBER, default=1.0, show_default=True, help="People's label of a relevant document.")
@click.option(
    "--method",
    type=click.Choice(["isotonic", "logistic"]),
    default="isotonic",
    show_default=True,
    help="isotonic for grades; logistic below 50 pairs.",
)
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts, by query, to check with.")
@seed_option("Of the split into folds.")
@click.option("--out", type=TABLE_FILE, help="Write the labels as probabilities (.jsonl .csv .parquet).")
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def calibrate_command(
    labels: Path,
    human: Path,
    human_rel: float,
    method: Literal["isotonic", "logistic"],
    folds: int,
    seed: int,
    out: Path | None,
    format: str,
    quiet: bool,
) -> None:
    """Say how probable it is that people find a document relevant, given the model's label in LABELS.

    A grade or P(yes) is a signal, not a probability. The curve from one to the other is fitted to the pairs that people
    labelled too; the error is measured on queries the curve has not seen.

    \b
    Example:
      ragauge calibrate model.jsonl --human people.csv --out calibrated.jsonl
      ragauge score run.txt --labels calibrated.jsonl --rel 0.5
    """
    from ragauge.io import read_labels, write_table
    from ragauge.stats import calibrate_judge

    table = _one_judge(read_labels(labels), labels)
    relevant = _by_people(read_labels(human), human_rel, table, human)
    scores, queries = table.column("label").to_pylist(), table.column("query_id").to_pylist()
    found = calibrate_judge(scores, relevant, queries, method=method, n_folds=folds, seed=seed)
    if out:
        write_table(_as_probabilities(table, found), out)
        note(f"Labels as probabilities: {out}", quiet=quiet)
    errors = {"brier": found.brier, "brier_constant": found.brier_constant}
    if format == "json":
        echo_json(errors | {"curve": _rows(found)})
        return
    echo_records(_groups(found) if format == "table" and len(found.score) > MAX_ROWS else _rows(found), format=format)
    note(_verdict(found), quiet=quiet)


def _one_judge(table: "pa.Table", path: Path) -> "pa.Table":
    """The labels that are there, if they are one a pair."""
    import pyarrow.compute as pc

    known = table.filter(pc.is_valid(table.column("label")))
    pairs = list(zip(known.column("query_id").to_pylist(), known.column("doc_id").to_pylist(), strict=True))
    if len(set(pairs)) < len(pairs):
        judges = sorted({str(judge) for judge in known.column("judge").to_pylist()})
        raise InputError(
            f"{path} labels some pairs more than once (judges: {', '.join(judges)}); give one judge's labels"
        )
    return known


def _by_people(people: "pa.Table", rel: float, table: "pa.Table", path: Path) -> list[float]:
    """People's verdict on each pair of the model's: 1 or 0, NaN without one."""
    known = {
        (row["query_id"], row["doc_id"]): float(row["label"] >= rel)
        for row in people.to_pylist()
        if row["label"] is not None
    }
    pairs = zip(table.column("query_id").to_pylist(), table.column("doc_id").to_pylist(), strict=True)
    found = [known.get(pair, nan) for pair in pairs]
    if all(isnan(one) for one in found):
        raise InputError(f"no pair of query and document is labelled both in {path} and by the model")
    return found


def _as_probabilities(table: "pa.Table", found: "Calibration") -> "pa.Table":
    import pyarrow as pa

    place = table.schema.get_field_index("label")
    return table.set_column(place, "label", pa.array(found.probability, pa.float64()))


def _rows(found: "Calibration") -> list[dict[str, Any]]:
    columns = (found.score, found.n, found.observed, found.curve)
    return [
        {"score": float(score), "pairs": int(n), "relevant": float(share), "probability": float(curve)}
        for score, n, share, curve in zip(*columns, strict=True)
    ]


def _groups(found: "Calibration") -> list[dict[str, Any]]:
    """Ten groups of neighbouring scores with about as many labelled pairs each."""
    import numpy as np

    group = np.minimum(9, (10 * (np.cumsum(found.n) - found.n / 2) / found.n.sum()).astype(np.int64))
    rows = []
    for number in np.unique(group):
        inside = group == number
        n, score = found.n[inside], found.score[inside]
        weights = n / n.sum() if n.sum() else np.full(len(n), 1 / len(n))
        relevant = float(np.nansum(found.observed[inside] * n)) / n.sum() if n.sum() else float("nan")
        mean = float(found.curve[inside] @ weights)
        about = {"score": f"{score[0]:.3g}..{score[-1]:.3g}", "pairs": int(n.sum())}
        rows.append(about | {"relevant": relevant, "probability": mean})
    return rows


def _verdict(found: "Calibration") -> str:
    """What the curve is worth, and from which score on a document is rather relevant than not."""
    worth = f"squared error {found.brier:.3f} on other queries, {found.brier_constant:.3f} by the mean label alone"
    if found.brier >= found.brier_constant:
        return f"{worth}: these labels say nothing about what people find relevant."
    likely = found.score[found.curve >= 0.5]
    cut = f"rather relevant than not from a score of {likely[0]:g} on" if len(likely) else "no score is rather relevant"
    return f"{worth}; {cut}."
