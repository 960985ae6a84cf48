"""`ragauge correct`: the mean by people's standards, from a model's labels on all queries and people's on a few."""

from dataclasses import asdict
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ragauge.cli.number_options import NUMBER, level_option
from ragauge.cli.reading import check_judged, read_noted, reading_options
from ragauge.cli.terminal import echo_json, echo_records, note, quiet_option

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.quality.corrected import RunCorrected
    from ragauge.results import Corrected


@click.command("correct")
@click.argument("rankings", type=click.Path(path_type=Path))
@click.option(
    "--human", type=click.Path(path_type=Path), required=True, help="People's labels of a random few queries."
)
@click.option("--labels", type=click.Path(path_type=Path), help="The model's labels. Default: those inside RANKINGS.")
@click.option("-m", "--measure", "names", multiple=True, help="Such as P@10; may be given many times.")
@click.option(
    "--rel", type=NUMBER, help="A label of the model this high is relevant. Default: 1; 0.5 if probabilities."
)
@click.option("--human-rel", type=NUMBER, default=1.0, show_default=True, help="The same for people's labels.")
@click.option(
    "--target",
    type=click.Choice(["new", "these"]),
    default="new",
    show_default=True,
    help="The mean over queries like these, or over just these.",
)
@level_option
@reading_options
@click.option("--format", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@quiet_option
def correct_command(
    rankings: Path,
    human: Path,
    labels: Path | None,
    names: tuple[str, ...],
    rel: float | None,
    human_rel: float,
    target: Literal["new", "these"],
    level: float,
    format: str,
    quiet: bool,
    **reading: Any,
) -> None:
    """Correct what a model's labels say of RANKINGS by people's labels of some queries.

    People must have labelled the top K of queries drawn at random (ragauge draw): at least 30, better 50. The model
    has labelled all. With several runs, each is also compared with the first.

    rho is how the measure by the model follows that by people, over queries; gain is how many times as many queries
    people would have to label for as narrow an interval without the model.

    \b
    Example:
      ragauge draw labelled.jsonl --queries 50 --out for_people.jsonl
      ragauge correct labelled.jsonl --human people.csv -m P@10 -m "T@10"
    """
    from ragauge.io import read_labels
    from ragauge.measures import judge, parse_measure
    from ragauge.quality.corrected import correct
    from ragauge.quality.evaluate import at_level, labels_are_probabilities

    table = read_noted(rankings, reading, quiet=quiet)
    by_model = judge(table, read_labels(labels) if labels else None)
    check_judged(by_model, rankings, labels)
    by_people = judge(table, read_labels(human))
    check_judged(by_people, rankings, human)
    if rel is None and labels_are_probabilities(by_model):
        rel = 0.5
        note("The model's labels are probabilities: 0.5 and above counts as relevant (--rel).", quiet=quiet)
    measures = [parse_measure(name) for name in dict.fromkeys(names or default_names(by_model))]
    found = correct(
        by_model,
        by_people,
        [at_level(measure, 1.0 if rel is None else rel) for measure in measures],
        human_measures=[at_level(measure, human_rel) for measure in measures],
        target=target,
        level=level,
    )
    _echo(found, format)
    _notes(found, quiet=quiet)


def default_names(judged: "pa.Table") -> list[str]:
    """P and T at K = the longest ranking, at most 10."""
    import pyarrow.compute as pc

    k = max(1, min(10, pc.max(pc.list_value_length(judged.column("doc_ids"))).as_py() or 10))
    return [f"P@{k}", f"T@{k}"]


def _echo(found: "list[RunCorrected]", format: str) -> None:
    if format == "json":
        echo_json({"corrected": [{"run": one.run, "n_partly": one.n_partly} | asdict(one.estimate) for one in found]})
    elif format == "csv":
        echo_records([_csv_row(one) for one in found], format="csv")
    else:
        for run, group in groupby(found, key=lambda one: one.run):
            echo_records([_row(one.estimate) for one in group], format="table", title=run)


def _csv_row(one: "RunCorrected") -> dict[str, Any]:
    keys = ("mean", "low", "high", "n_human", "n_model", "human_mean", "model_mean", "correlation", "gain", "reason")
    about = {"run": one.run, "measure": one.estimate.measure}
    return about | {key: getattr(one.estimate, key) for key in keys}


def _row(estimate: "Corrected") -> dict[str, Any]:
    """A line of the table: what people alone and the model alone say stands beside it."""
    interval = "" if isnan(estimate.low) else f"{estimate.low:.3f}..{estimate.high:.3f}"
    return {
        "measure": estimate.measure,
        "mean": estimate.mean,
        "interval": interval,
        "people": estimate.human_mean,
        "model": estimate.model_mean,
        "n": estimate.n_human,
        "rho": _rounded(estimate.correlation),
        "gain": _rounded(estimate.gain),
    }


def _rounded(value: float) -> str:
    return "" if isnan(value) else f"{value:.2f}"


def _notes(found: "list[RunCorrected]", *, quiet: bool) -> None:
    """Each warning and reason once, with what it is about."""
    about: dict[str, list[str]] = {}
    for one in found:
        texts = [*one.estimate.warnings, *([one.estimate.reason] if one.estimate.reason else [])]
        if one.n_partly:
            partly = f"{one.n_partly} {'query' if one.n_partly == 1 else 'queries'}"
            texts.append(f"people labelled {partly} only in part; the model's labels stand there")
        for text in texts:
            about.setdefault(text, []).append(f"{one.run} {one.estimate.measure}")
    for text, names in about.items():
        where = "all" if len(names) == len(found) else ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        note(f"{where}: {text}", quiet=quiet)
