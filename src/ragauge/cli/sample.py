"""`ragauge sample`: the packaged knowledge base as files to play with."""

from pathlib import Path

import click

from ragauge.cli.terminal import make_folder, note, quiet_option
from ragauge.errors import InputError


@click.command("sample")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@quiet_option
def sample_command(folder: Path, quiet: bool) -> None:
    """Write the packaged sample (corpus, queries, hand labels, pools and a study plan) into FOLDER.

    \b
    Example:
      ragauge sample kb
      ragauge retrieve kb/corpus.jsonl kb/queries.jsonl --out retrieved.jsonl
    """
    from ragauge.sample import copy_to

    try:
        files = copy_to(make_folder(folder))
    except FileExistsError as error:
        raise InputError(f"{error.filename or error} is there already; choose an empty folder") from error
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; choose another folder") from error
    for file in files:
        click.echo(file)
    note(f"Next: ragauge retrieve {folder}/corpus.jsonl {folder}/queries.jsonl --out retrieved.jsonl", quiet=quiet)
