"""The folder of a BEIR data set: corpus.jsonl, queries.jsonl and qrels/*.tsv, each of which may be packed with gzip."""

from pathlib import Path

from ragauge.errors import FormatError

__all__ = ["collection_file", "labels_file"]

_ENDINGS = ("", ".gz")


def labels_file(path: str | Path) -> str | Path:
    """`path`, if it is no folder; else the qrels in it: of the test split, or the only ones there are.

    Raises:
        FormatError: The folder holds no qrels, or several and none of them called test.
    """
    folder = Path(path)
    if not _is_folder(folder):
        return path
    inside = folder / "qrels" if (folder / "qrels").is_dir() else folder
    test = _first(inside, ("test.tsv", "qrels.tsv"))
    if test:
        return test
    splits = sorted(file for file in inside.glob("*.tsv*") if inside != folder and file.is_file())
    if len(splits) == 1:
        return splits[0]
    found = ", ".join(file.name for file in splits)
    which = f"has qrels/ with {found}; name one of them" if found else "is a folder; name a file in it"
    raise FormatError(f"{path} {which}")


def collection_file(path: str | Path, name: str) -> str | Path:
    """`path`, if it is no folder; else the file `name` in it, such as "corpus.jsonl".

    Raises:
        FormatError: There is none.
    """
    folder = Path(path)
    if not _is_folder(folder):
        return path
    found = _first(folder, (name,))
    if found is None:
        raise FormatError(f"{path} has no {name} and is a folder; name a file in it")
    return found


def _is_folder(path: Path) -> bool:
    """Whether it is one; a name that cannot be looked up is none, and whoever opens it says why."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    files = (folder / f"{name}{ending}" for name in names for ending in _ENDINGS)
    return next((file for file in files if file.is_file()), None)
