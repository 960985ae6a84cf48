"""What the scripts beside it share: lines of JSON in, Markdown out."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["lines", "table", "title"]


def lines(path: Path) -> Iterator[dict[str, str]]:
    """The records of a JSON Lines file, packed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from (json.loads(line) for line in file)


def title(name: str, what: str) -> None:
    """Prints a heading and what stands below it."""
    print(f"### {name}\n\n{what}\n")


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table."""
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)
