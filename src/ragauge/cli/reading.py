"""Rankings as an argument: the options that say how to read them, what they were read as, and whether any is judged."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.terminal import note
from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "check_judged",
    "input_format_option",
    "labels_option",
    "nothing_judged",
    "read_noted",
    "reading_options",
    "refuse_designs",
]

Command = TypeVar("Command", bound=Callable[..., Any])

labels_option = click.option(
    "--labels", type=click.Path(path_type=Path), help="Qrels, CSV, JSONL or Parquet. Default: those inside."
)
input_format_option = click.option(
    "--input-format", help="Read RANKINGS as this format; default: recognised by content."
)


def reading_options(command: Command) -> Command:
    """Adds --input-format and --duplicates, for `read_noted`."""
    command = click.option(
        "--duplicates",
        type=click.Choice(["error", "first", "max"]),
        default="error",
        help="A document twice in a ranking. Default: error.",
    )(command)
    return input_format_option(command)


def read_noted(path: Path | str, given: Mapping[str, Any], *, quiet: bool) -> "pa.Table":
    """The rankings in a file, each document once; what it was read as goes to stderr.

    Args:
        path: The file.
        given: What `reading_options` passes to the command; other keys are not looked at.
        quiet: No note.

    Raises:
        FormatError: The file cannot be read, or a document stands in a ranking twice and --duplicates is not given.
        InputError: --duplicates max, and a document that stands twice has no score.
    """
    from ragauge.io import scan_rankings
    from ragauge.measures import arrange

    choice = given["duplicates"]
    reading = scan_rankings(path, format=given["input_format"], duplicates="error" if choice == "error" else "keep")
    note(str(reading), quiet=quiet)
    return arrange(reading.table, duplicates=choice).rankings if reading.n_repeating else reading.table


def check_judged(judged: "pa.Table", rankings: Path, labels: Path | None) -> None:
    """Refuses rankings without a single label, and those of which a design labelled a part.

    Raises:
        InputError: Not one of their documents is judged, or `refuse_designs` refuses their file.
    """
    refuse_designs([rankings], labels)
    if told := nothing_judged(judged, rankings, labels):
        raise InputError(told)


def refuse_designs(rankings: Sequence[Path], labels: Path | None) -> None:
    """Refuses files whose labels a design drew: all others would count as not relevant.

    Raises:
        InputError: The labels stand inside, and are those of a design.
    """
    from ragauge.io import design_of_file

    for path in rankings if labels is None else ():
        if design := design_of_file(path):
            raise InputError(
                f"{path} was labelled in part, by the design {design}: only ragauge score can use it, file by file"
            )


def nothing_judged(judged: "pa.Table", rankings: Path, labels: Path | None) -> str:
    """What to say where not one retrieved document has a label, else "".

    Args:
        judged: Rankings with their labels.
        rankings: Their file.
        labels: That of the labels, None = they stand inside.
    """
    import pyarrow.compute as pc

    found = pc.list_flatten(judged.column("labels"))
    if pc.any(pc.greater_equal(found, 0)).as_py():
        return ""
    if labels is None:
        return f"no document in {rankings} has a label; give --labels, or make some with: ragauge label {rankings}"
    ids = pc.list_flatten(judged.column("doc_ids"))
    example = f" (such as {ids[0]} for query {judged['query_id'][0]})" if len(ids) else ""
    return (
        f"no document retrieved in {rankings}{example} has a label in {labels}; "
        "query and document ids must be the same in both files"
    )
