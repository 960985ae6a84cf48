"""`ragauge sample`: the packaged knowledge base as files to play with."""

from pathlib import Path

import click

from ragauge.errors import InputError


@click.command("sample")
@click.argument("folder", type=click.Path(path_type=Path))
def sample_command(folder: Path) -> None:
    """Write the packaged sample (corpus, queries, hand labels, pools and a study plan) into FOLDER.

    \b
    Example:
      ragauge sample kb
      ragauge retrieve kb/corpus.jsonl kb/queries.jsonl --out retrieved.jsonl
    """
    from ragauge.sample import copy_to

    try:
        files = copy_to(folder)
    except FileExistsError as error:
        raise InputError(f"{error.filename or error} is there already; choose an empty folder") from error
    for file in files:
        click.echo(file)
