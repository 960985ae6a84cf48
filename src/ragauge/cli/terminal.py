"""What all commands share: progress bars on stderr, tables on stdout, files written whole."""

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from ragauge.errors import InputError

__all__ = ["Progress", "bars", "echo_json", "echo_records", "make_folder", "note", "quiet_option", "write_text"]

Progress = Callable[[str, int], Any]

quiet_option = click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")


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
    Console(width=width, highlight=False, markup=False).print(table)


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
        writer.writerows(records)
    return out.getvalue()


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
        raise InputError(f"cannot make the folder {folder}: {error.strerror}; choose another with --out") from error
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
        raise InputError(f"cannot write {path}: {error.strerror}; choose another place with --out") from error
    return path
