"""Bytes to text and back: gzip, UTF-8, line numbers, and files that are either written whole or not at all."""

import gzip
import hashlib
import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

from ragauge.errors import FormatError, InputError, RunError

__all__ = [
    "content_id",
    "extension",
    "first_lines",
    "head",
    "numbered_lines",
    "read_bytes",
    "read_text",
    "stem",
    "write_atomically",
]

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SAVE = "save what comes through it to a file first"


def extension(path: str | Path) -> str:
    """The lower-case extension, `.gz` looked through.

    >>> extension("run.TREC.gz")
    '.trec'
    """
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).suffix.lower()


def stem(path: str | Path) -> str:
    """The file's name without folder, extension and `.gz`.

    >>> stem("runs/bm25.jsonl.gz")
    'bm25'
    """
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).stem


def content_id(text: str) -> str:
    """The id of a text that came without one: "sha256:" and the first 16 hex digits of its SHA-256 in UTF-8.

    >>> content_id("abc")
    'sha256:ba7816bf8f01cfea'
    """
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def read_bytes(path: str | Path) -> bytes:
    """All bytes of the file, unpacked where it is gzip, whatever its name.

    Raises:
        FormatError: There is no such file, it is a folder, cannot be read, is empty, or is broken gzip.
    """
    try:
        raw = Path(path).read_bytes()
        unpacked = gzip.decompress(raw) if raw.startswith(_GZIP_MAGIC) else raw
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error
    if not unpacked:
        raise FormatError(f"{path} is empty")
    return unpacked


def head(path: str | Path, size: int = 4096) -> bytes:
    """The first `size` unpacked bytes, to tell the format from.

    Raises:
        FormatError: As `read_bytes`.
    """
    try:
        with Path(path).open("rb") as file:
            if not file.seekable():
                raise FormatError(f"{path} is a pipe, and a file is read more than once; {_SAVE}")
            packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            file.seek(0)
            return gzip.GzipFile(fileobj=file).read(size) if packed else file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def first_lines(path: str | Path, count: int, *, size: int = 1 << 20) -> list[str]:
    """Up to `count` of the first lines that are not blank, to tell the format from; none that `size` cuts.

    Bytes that are not UTF-8 are replaced: whoever reads the file says where they are.

    Raises:
        FormatError: As `read_text`, but for bytes that are not UTF-8.
    """
    raw = head(path, size)
    if raw.startswith(_UTF16_MARKS):
        raise FormatError(f"{path} is UTF-16; save it as UTF-8")
    lines = raw.decode("utf-8-sig", errors="replace").split("\n")
    if len(raw) == size:
        lines.pop()
    found = [line.rstrip("\r") for line in lines if line and not line.isspace()][:count]
    return found or [line for _, line in islice(numbered_lines(path), count)]


def read_text(path: str | Path) -> str:
    """The file's text, which must be UTF-8; a byte order mark is dropped.

    Raises:
        FormatError: As `read_bytes`, or a byte is not UTF-8; the message names the byte's offset and line.
    """
    raw = read_bytes(path)
    if raw.startswith(_UTF16_MARKS):
        raise FormatError(f"{path} is UTF-16; save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        offset = len(raw) - len(error.object) + error.start  # the codec counts from behind the mark
        line = raw.count(b"\n", 0, offset) + 1
        raise FormatError(
            f"{path} is not UTF-8: byte 0x{raw[offset]:02x} at offset {offset}, line {line}; save it as UTF-8"
        ) from error
    if not text or text.isspace():
        raise FormatError(f"{path} is empty")
    return text


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Line number from 1 and line, blank lines left out.

    Lines end at a line feed alone: JSON strings and ids may hold the other characters `str.splitlines` cuts at.

    Raises:
        FormatError: As `read_text`.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line and not line.isspace():
            yield number, line.rstrip("\r")


@contextmanager
def write_atomically(path: str | Path) -> Iterator[BufferedIOBase]:
    """A binary file that stands at `path` once the block has ended well, and never half; packed where it ends in .gz.

    Raises:
        InputError: The file cannot be created there.
        RunError: Writing failed half-way, for instance because the disk is full; what stood at `path` is untouched.
    """
    target = Path(path).resolve()  # the file a link points to is replaced, not the link
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        file = temporary.open("xb")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror} ({target.parent})") from error
    try:
        with file:
            yield from _packed(file, path)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise RunError(f"writing {path} failed: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _packed(file: BufferedIOBase, path: str | Path) -> Iterator[BufferedIOBase]:
    """`file`, or a gzip writer over it without name and time, so that equal content gives equal bytes."""
    if Path(path).suffix.lower() != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        yield packed


def _unreadable(path: str | Path, error: Exception) -> FormatError:
    """What hinders reading, in words."""
    if isinstance(error, FileNotFoundError):
        return FormatError(f"no file {path}" + (f"; standard input is not read: {_SAVE}" if str(path) == "-" else ""))
    if isinstance(error, IsADirectoryError):
        return FormatError(f"{path} is a folder; name a file in it")
    if isinstance(error, OSError) and error.strerror:
        return FormatError(f"cannot read {path}: {error.strerror}")
    return FormatError(f"{path} is broken gzip: {error}")
