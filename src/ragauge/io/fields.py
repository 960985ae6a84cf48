"""Files of fields separated by spaces, as TREC writes them, parsed into columns without a Python object a line.

The parser is Arrow's, which knows one separator and numbers as a program prints them. What does not fit (tabs, runs of
spaces, CRLF, blank lines, comments, gzip) is brought into that form first; what does not fit even then is left to a
reader that goes line by line, and which alone decides what is right: `read_columns` answers None.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.io.text import head, read_bytes

__all__ = ["is_comment", "read_columns"]

_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 20
"""Bytes looked at together."""
_PARSED = 4 << 20
"""Bytes a thread of the parser takes at a time."""
_WHITE_TO_SPACE = bytes.maketrans(b"\t\r\v\f", b"    ")
_SPACE, _FEED = ord(" "), ord("\n")


def is_comment(line: str, n_fields: int) -> bool:
    """Whether a line begins with # and has not the fields of an entry: no entry is dropped in silence.

    >>> is_comment("# my run", 6), is_comment("#1 Q0 d1 1 0.5 tag", 6)
    (True, False)
    """
    return line.startswith("#") and len(line.encode().split()) != n_fields


def read_columns(
    path: str | Path, names: Sequence[str], types: Mapping[str, pa.DataType]
) -> dict[str, pa.ChunkedArray] | None:
    """The columns in `types` of a file whose lines have the fields `names`; None where only a closer look can tell.

    Args:
        path: The file, gzip or not.
        names: The fields of a line, in order.
        types: Which of them are wanted, as what. Strings are never null and never empty; numbers may be NaN.

    Raises:
        FormatError: The file cannot be opened or unpacked.
    """
    for source in _sources(path, len(names)):
        try:
            table = _parse(source, names, types)
        except pa.ArrowInvalid:
            continue
        return dict(zip(table.column_names, table.columns, strict=True)) if table.num_rows else None
    return None


def _sources(path: str | Path, n_fields: int) -> Iterator[pa.NativeFile]:
    """The file as it is, if it looks as the parser wants it; and what it becomes when it is brought into that form."""
    if not head(path, len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
        with Path(path).open("rb") as file:
            plain = _is_plain(file)
        if plain:
            yield pa.OSFile(str(path))
    yield pa.BufferReader(b"".join(_normalised(read_bytes(path), n_fields)))


def _parse(source: pa.NativeFile, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    from pyarrow import csv  # slow to import, and many runs read no such file

    return csv.read_csv(
        source,
        read_options=csv.ReadOptions(column_names=list(names), block_size=_PARSED),
        parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
        convert_options=csv.ConvertOptions(include_columns=list(types), column_types=dict(types), null_values=[]),
        memory_pool=pa.system_memory_pool(),  # Arrow's own takes a third longer, for huge pages it need not have
    )


def _is_plain(file: BinaryIO) -> bool:
    """Whether one space or line feed stands between two fields, and no other white space is there."""
    block = bytearray(b"\n") + bytearray(_BLOCK)  # the first byte is the last one of the block before
    while n := file.readinto(memoryview(block)[1:]):  # type: ignore[attr-defined]
        codes = np.frombuffer(block, dtype=np.uint8, count=n + 1)
        gap = codes <= _SPACE
        if (gap[1:] & gap[:-1]).any():
            return False
        if np.count_nonzero(codes[1:] < _SPACE) != np.count_nonzero(codes[1:] == _FEED):
            return False
        block[0] = block[n]
    return block[0] != _SPACE


def _normalised(raw: bytes, n_fields: int) -> Iterator[bytes]:
    """The same fields with one space between them and none at the ends of a line, without comments."""
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start + _BLOCK) + 1 or len(raw)
        block = _squeezed(raw[start:end].translate(_WHITE_TO_SPACE))
        if b"#" in block:
            block = re.sub(rb"(?m)^#.*\n?", lambda line: _unless_comment(line[0], n_fields), block)
        yield block
        start = end


def _squeezed(block: bytes) -> bytes:
    """Without each space that follows a space or a line feed, and then without each that stands before a line feed."""
    codes = np.frombuffer(block, dtype=np.uint8)
    before = np.append(_FEED, codes[:-1])
    codes = _without(codes, (codes == _SPACE) & ((before == _SPACE) | (before == _FEED)))
    after = np.append(codes[1:], _FEED)
    return _without(codes, (codes == _SPACE) & (after == _FEED)).tobytes()


def _without(codes: npt.NDArray[np.uint8], mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return codes[~mask]


def _unless_comment(line: bytes, n_fields: int) -> bytes:
    return b"" if is_comment(line.decode(errors="replace"), n_fields) else line
