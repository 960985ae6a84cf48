"""What all commands share: progress bars on stderr, tables on stdout, files written whole."""

import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from ragauge.errors import InputError

__all__ = [
    "EXIT_CODE",
    "RANKINGS_FILE",
    "TABLE_FILE",
    "OutFile",
    "Progress",
    "bars",
    "counted",
    "echo_json",
    "echo_records",
    "make_folder",
    "note",
    "quiet_option",
    "seed_option",
    "write_text",
]

Progress = Callable[[str, int], Any]

EXIT_CODE = "ragauge.exit_code"
"""Key of `click.Context.meta`: the exit code of a command that decided before it printed; it holds though nobody reads
on."""

quiet_option = click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")


def seed_option(of: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """--seed, 0 where it is not given; `of` says what it is the seed of."""
    return click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help=of)


def bars(*, quiet: bool) -> Progress:
    """A progress as `study.stages.Progress` wants it, on stderr.

    One bar a stage in a terminal, a line for each tenth of a stage elsewhere, nothing with `quiet`.
    """
    if quiet:
        return _silent
    return _bar if sys.stderr.isatty() else _lines


def _silent(stage: str, total: int) -> Any:
    return nullcontext(lambda done: None)


@contextmanager
def _bar(stage: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description:<26}"),
        rich.BarColumn(bar_width=None),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(stage, total=total)
        yield lambda done: shown.advance(task, done)


@contextmanager
def _lines(stage: str, total: int) -> Iterator[Callable[[int], None]]:
    finished = 0

    def advance(done: int) -> None:
        nonlocal finished
        tenths = 10 * finished // max(1, total)
        finished += done
        if 10 * finished // max(1, total) > tenths:
            click.echo(f"{stage}: {finished} of {total}", err=True)

    yield advance


def note(text: str, *, quiet: bool = False) -> None:
    """One line on stderr, unless `quiet`."""
    if not quiet:
        click.echo(text, err=True)


def echo_records(records: Sequence[Mapping[str, Any]], *, format: str, title: str = "") -> None:
    """Records on stdout as a table, or CSV with a header line. JSON has its own shape in each command."""
    if format == "csv":
        click.echo(_csv(records), nl=False)
    else:
        _echo_table(records, title)


def echo_json(value: Any) -> None:
    """`value` as JSON on stdout; NaN, which JSON does not know, as null."""
    click.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=False))


def _echo_table(records: Sequence[Mapping[str, Any]], title: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for key in records[0] if records else ():
        is_number = any(isinstance(record[key], int | float) for record in records)
        table.add_column(key, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for record in records:
        table.add_row(*(_cell(value) for value in record.values()))
    width = None if sys.stdout.isatty() else 200
    if title:
        click.echo(title)
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as drawn:
        console.print(table)
    click.echo(drawn.get(), nl=False)  # rich would leave with code 1 where nobody reads on


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.3f}"
    return str(value)


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _csv_value(value) for key, value in record.items()} for record in records)
    return out.getvalue()


def _csv_value(value: Any) -> Any:
    """As `io.write_table` writes it: NaN by name, yes and no as in JSON; None is an empty cell."""
    if isinstance(value, bool):
        return json.dumps(value)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value


def make_folder(folder: Path) -> Path:
    """The folder, made if need be.

    Raises:
        InputError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}; choose another") from error
    return folder


def write_text(path: Path, text: str) -> Path:
    """Write a file whole or not at all; its folder is made.

    Raises:
        InputError: The folder cannot be written to.
    """
    try:
        make_folder(path.parent)
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place") from error
    return path


class OutFile(click.Path):
    """A file to be written: its folder is made, and what cannot be written is refused before the work begins.

    Args:
        endings: What its name may end in; none = anything.
    """

    def __init__(self, *endings: str) -> None:
        super().__init__(path_type=Path, dir_okay=False)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        name = path.name.lower().removesuffix(".gz")
        if self.endings and not name.endswith(self.endings):
            raise InputError(
                f"cannot tell from the name of {path} how to write it; let it end in {', '.join(self.endings)}"
            )
        folder = make_folder(path.parent)
        if not os.access(folder, os.W_OK):
            raise InputError(f"cannot write {path}: no permission to write to {folder}; choose another place")
        return path


RANKINGS_FILE = OutFile(".jsonl", ".ndjson", ".run", ".trec", ".parquet")
TABLE_FILE = OutFile(".parquet", ".jsonl", ".csv", ".tsv")


def counted(n: int, noun: str) -> str:
    """How many, in words.

    >>> counted(1, "ranking"), counted(1200, "ranking")
    ('1 ranking', '1,200 rankings')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
