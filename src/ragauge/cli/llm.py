"""`ragauge llm`: the small local model, fetched once and served on loopback."""

import time
from typing import Literal

import click

from ragauge.cli.terminal import bars, note, quiet_option

size_option = click.option("--size", type=click.Choice(["1.5b", "0.5b"]), default="1.5b", show_default=True)


@click.group("llm")
def llm_group() -> None:
    """Fetch and serve the small local language model.

    \b
    Example:
      ragauge llm fetch && ragauge llm serve --port 8080
    """


@llm_group.command("fetch")
@size_option
@quiet_option
def fetch_command(size: Literal["1.5b", "0.5b"], quiet: bool) -> None:
    """Download the model into the user's cache folder, once; its sha256 is checked.

    \b
    Example:
      ragauge llm fetch --size 0.5b
    """
    from ragauge.llm import fetch, parts_of

    with bars(quiet=quiet)(f"fetch the local model ({size})", parts_of(size)) as advance:
        path = fetch(size, on_progress=advance)
    click.echo(path)


@llm_group.command("serve")
@size_option
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 = any free one.")
@click.option("--threads", type=click.IntRange(1), help="Default: all cores.")
@quiet_option
def serve_command(size: Literal["1.5b", "0.5b"], port: int, threads: int | None, quiet: bool) -> None:
    """Serve the model on this machine alone, with the OpenAI wire format, until Ctrl-C.

    \b
    Example:
      ragauge llm serve --port 8080
    """
    from ragauge.llm import LocalServer, fetch

    with LocalServer(fetch(size), port=port, threads=threads) as server:
        click.echo(server.base_url)
        note("Ctrl-C stops it.", quiet=quiet)
        while server.is_alive():
            time.sleep(0.5)
