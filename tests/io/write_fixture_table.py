"""Writes the table of real trace files into docs/formats.md; the test of that name checks that it is not stale."""

from pathlib import Path

from ragauge.errors import FormatError
from ragauge.io import scan_labels, scan_rankings

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT.parent / "shared/data/trace-fixtures"
PAGE = ROOT / "docs/formats.md"
BEGIN, END = "<!-- table of real files: begin -->\n", "<!-- table of real files: end -->\n"


def files() -> list[Path]:
    return sorted(path for path in FIXTURES.glob("*/*") if path.is_file())


def row(path: Path) -> str:
    """One line of the table."""
    name = f"{path.parent.name}/{path.stem.partition('__')[0]}"
    try:
        reading = scan_rankings(path, duplicates="keep")
    except FormatError as error:
        why = str(error).removeprefix(f"{path}: ").partition("; known formats")[0].replace(str(path), path.name)
        return f"| {name} | | | {_n_labels(path)} | {why} |"
    n_documents = sum(map(len, reading.table.column("doc_ids").to_pylist()))
    said = str(reading).partition(f"{reading.n_read} ranking")[2].lstrip("s")
    return f"| {name} | {reading.n_read} | {n_documents} | {_n_labels(path)} | {reading.title}{said} |"


def table() -> str:
    head = "| file | rankings | documents | labels | read as, and what was skipped |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row(path)}\n" for path in files())


def _n_labels(path: Path) -> int:
    try:
        return scan_labels(path).n_read
    except FormatError:
        return 0


def main() -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
