"""The options of `ragauge score` for an estimated number of relevant documents, and what is printed about it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.terminal import seed_option
from ragauge.errors import FormatError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ragauge.measures import Measure
    from ragauge.results import RelevantCount

__all__ = [
    "ESTIMATOR_NAMES",
    "OWN_LISTS",
    "count_lines",
    "estimator_option",
    "planned_labels",
    "relevant_options",
    "uses_own_lists",
]

Command = TypeVar("Command", bound=Callable[..., Any])

ESTIMATOR_NAMES = (
    "2k-x-c",
    "union",
    "own-list",
    "chapman",
    "lincoln-petersen",
    "chao2",
    "horvitz-thompson",
    "rank-decay",
)
"""Those of `label_plan.ESTIMATORS`, written out so that --help imports nothing."""

PLANNED = ("2k-x-c", "horvitz-thompson")
LOWER_BOUNDS = ("union", "own list")

OWN_LISTS = (
    "Warning: Fe and own-list measure each system against what it found itself, which flatters the weaker one. On TREC "
    "DL 2021 (66 systems) the order by such a recall agrees with the true order at Kendall's tau .23, by P@10 at .89, "
    "by recall of what all systems found at .94. Use --relevant-count union, or compare P@K."
)


def relevant_options(command: Command) -> Command:
    """Adds --relevant-count, --label-plan and --seed."""
    command = seed_option("Of --relevant-count's intervals.")(command)
    command = click.option(
        "--label-plan", type=click.Path(path_type=Path), help="What ragauge plan-labels wrote. Default: LABELS itself."
    )(command)
    return estimator_option("--relevant-count", "Estimate N_p for R, F and nDCG")(command)


def estimator_option(name: str, text: str) -> Callable[[Command], Command]:
    """An option that takes the name of an estimator."""
    return click.option(
        name,
        type=click.Choice(ESTIMATOR_NAMES),
        metavar="NAME",
        help=f"{text}: {', '.join(ESTIMATOR_NAMES)}.",
    )


def planned_labels(given: Mapping[str, Any], labels: Path | None) -> "pa.Table | None":
    """The plan of --label-plan, or that in --labels where the estimator needs one."""
    from ragauge.io import read_label_plan

    path = given["label_plan"] or (labels if given["relevant_count"] in PLANNED else None)
    if path and not given["relevant_count"]:
        raise InputError("--label-plan goes with --relevant-count; without it, give the labels with --labels")
    if not path:
        return None
    try:
        return read_label_plan(path)
    except FormatError as error:
        first = str(error).partition("\n")[0]
        raise InputError(
            f"--label-plan takes what ragauge plan-labels wrote, and {path} is not that: {first}"
        ) from error


def uses_own_lists(measures: Sequence["Measure"], given: Mapping[str, Any]) -> bool:
    """Whether a measure divides by what each system found by itself."""
    return given["relevant_count"] == "own-list" or any(measure.name == "Fe" for measure in measures)


def count_lines(records: Mapping[tuple[str, str], "RelevantCount"]) -> list[str]:
    """A sentence for each different number, and what it is not."""
    found = list(dict.fromkeys(f"{f'{run}: ' if run else ''}{record}." for (_, run), record in records.items()))
    for depth in sorted({record.depth for record in records.values()} - {0}):
        found.append(f"Relevant documents below rank {depth:,} are not counted.")
    missing = sum({run: record.n_unlabelled for (_, run), record in records.items()}.values())
    if missing:
        found.append(f"{missing:,} documents that it looks at have no label: those at the top count as not relevant.")
    if any(record.estimator in LOWER_BOUNDS for record in records.values()):
        found.append("N_p is a lower bound: the interval does not hold what nobody looked at, and recall is too high.")
    return found
