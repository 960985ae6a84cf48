"""Files of fields separated by spaces, as TREC writes them, parsed into columns without a Python object a line.

The parser is Arrow's, which knows one separator and numbers as a program prints them. What does not fit (tabs, runs of
spaces, CRLF, blank lines, comments, gzip) is brought into that form first; what does not fit even then is left to a
reader that goes line by line, and which alone decides what is right: `read_columns` answers None.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from os import SEEK_END
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ragauge.io.text import head, read_bytes
from ragauge.threads import each

__all__ = ["NAME", "Columns", "Names", "is_comment", "read_columns"]

Ints = npt.NDArray[np.int64]

NAME = pa.dictionary(pa.int32(), pa.string())
"""The type of a column to be read as `Names`."""

_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 2 << 20
"""Bytes looked at and parsed together."""
_MOST_BYTES = 2**31 - 1
"""What the offsets of a string array can reach."""
_WHITE_TO_SPACE = bytes.maketrans(b"\t\r\v\f", b"    ")
_SPACE, _FEED = ord(" "), ord("\n")


def is_comment(line: str, n_fields: int) -> bool:
    """Whether a line begins with # and has not the fields of an entry: no entry is dropped in silence.

    >>> is_comment("# my run", 6), is_comment("#1 Q0 d1 1 0.5 tag", 6)
    (True, False)
    """
    return line.startswith("#") and len(line.encode().split()) != n_fields


@dataclass(frozen=True)
class Names:
    """A column in which neighbours are mostly equal: names[i] stands from line starts[i] on."""

    names: pa.Array
    starts: Ints

    def at(self, lines: Ints) -> pa.Array:
        """The name on each of these lines."""
        return self.names.take(pa.array(np.searchsorted(self.starts, lines, side="right") - 1))


Columns = dict[str, Any]
"""A column is an Arrow array, or `Names`."""


def read_columns(path: str | Path, names: Sequence[str], types: Mapping[str, pa.DataType]) -> Columns | None:
    """The columns in `types` of a file whose lines have the fields `names`; None where only a closer look can tell.

    Args:
        path: The file, gzip or not.
        names: The fields of a line, in order.
        types: Which of them are wanted, as what: float64, which may be NaN; string, never null and never empty; or
            `NAME`, a string that makes `Names`.

    Raises:
        FormatError: The file cannot be opened or unpacked.
    """
    parse = partial(_parse, names=names, types=types)

    def joined(blocks: Iterator[pa.Table], size: int) -> Columns | None:
        return _joined(blocks, types, most_lines=(size + 1) // (2 * len(names)), most_bytes=size)

    if not head(path, len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
        with suppress(pa.ArrowInvalid):
            return joined(each(lambda span: parse(_plain(path, span)), _spans(path)), Path(path).stat().st_size)
    with suppress(pa.ArrowInvalid):
        raw = read_bytes(path)
        return joined(each(parse, _normalised(raw, len(names))), len(raw))
    return None


def _spans(path: str | Path) -> Iterator[tuple[int, int]]:
    """Where blocks of whole lines begin and end."""
    with Path(path).open("rb") as file:
        size, start = file.seek(0, SEEK_END), 0
        while start < size:
            file.seek(start + _BLOCK)
            file.readline()
            end = min(file.tell(), size)
            yield start, end
            start = end


def _plain(path: str | Path, span: tuple[int, int]) -> bytes:
    """The bytes there; ArrowInvalid where the parser would not get them right."""
    start, end = span
    with Path(path).open("rb") as file:
        file.seek(start)
        block = file.read(end - start)
    if not _is_plain(block):
        raise pa.ArrowInvalid("white space other than one space or line feed between two fields")
    return block


def _parse(block: bytes, *, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    from pyarrow import csv  # slow to import, and many runs read no such file

    if not block:
        return pa.table({name: pa.array([], type_) for name, type_ in types.items()})
    return csv.read_csv(
        pa.py_buffer(block),
        read_options=csv.ReadOptions(column_names=list(names), block_size=len(block) + 1, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
        convert_options=csv.ConvertOptions(include_columns=list(types), column_types=dict(types), null_values=[]),
        memory_pool=pa.system_memory_pool(),
    )


def _is_plain(block: bytes) -> bool:
    """Whether one space or line feed stands between two fields, and no other white space is there."""
    codes = np.frombuffer(block, dtype=np.uint8)
    gap = codes <= _SPACE
    if gap[0] or codes[-1] == _SPACE or (gap[1:] & gap[:-1]).any():
        return False
    return bool(np.count_nonzero(codes < _SPACE) == np.count_nonzero(codes == _FEED))


def _joined(
    blocks: Iterable[pa.Table], types: Mapping[str, pa.DataType], *, most_lines: int, most_bytes: int
) -> Columns | None:
    """The columns of all blocks, each in one array; None when there is no line, or strings have more bytes than fit.

    Each block is copied when it comes and dropped, so that the next one takes its memory. Room for more than comes
    costs nothing: the system hands out what is written to.
    """
    piles, n_lines = {name: _pile(type_, most_lines, most_bytes) for name, type_ in types.items()}, 0
    for table in blocks:
        n_lines += table.num_rows
        for name, pile in piles.items():
            for chunk in table.column(name).chunks:
                if len(chunk) and not pile.add(chunk):
                    return None
    return {name: pile.column() for name, pile in piles.items()} if n_lines else None


def _pile(type_: pa.DataType, most_lines: int, most_bytes: int) -> "_Numbers | _Strings | _Stretches":
    if type_ == NAME:
        return _Stretches()
    return _Numbers(most_lines) if type_ == pa.float64() else _Strings(most_lines, min(most_bytes, _MOST_BYTES))


class _Numbers:
    """Arrays of float64 without nulls that become one."""

    def __init__(self, most_lines: int) -> None:
        self.values = np.empty(most_lines)
        self.n = 0

    def add(self, part: pa.Array) -> bool:
        self.values[self.n : self.n + len(part)] = part.to_numpy()
        self.n += len(part)
        return True

    def column(self) -> pa.Array:
        return pa.array(self.values[: self.n])


class _Strings:
    """Arrays of strings without nulls that become one."""

    def __init__(self, most_lines: int, most_bytes: int) -> None:
        self.ends, self.data = np.zeros(most_lines + 1, dtype=np.int32), np.empty(most_bytes, dtype=np.uint8)
        self.n = self.n_bytes = 0

    def add(self, part: pa.Array) -> bool:
        """Whether there was room for it."""
        n, first = len(part), part.offset
        offsets = np.frombuffer(part.buffers()[1], dtype=np.int32)[first : first + n + 1]
        data = np.frombuffer(part.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
        if self.n_bytes + len(data) > len(self.data):
            return False
        self.ends[self.n + 1 : self.n + n + 1] = offsets[1:] + np.int32(self.n_bytes - offsets[0])
        self.data[self.n_bytes : self.n_bytes + len(data)] = data
        self.n, self.n_bytes = self.n + n, self.n_bytes + len(data)
        return True

    def column(self) -> pa.Array:
        buffers = [None, pa.py_buffer(self.ends[: self.n + 1]), pa.py_buffer(self.data[: self.n_bytes])]
        return pa.Array.from_buffers(pa.string(), self.n, buffers, null_count=0)


class _Stretches:
    """Dictionary arrays that become `Names`."""

    def __init__(self) -> None:
        self.n = 0
        self.names: list[pa.Array] = []
        self.starts: list[Ints] = []

    def add(self, part: pa.DictionaryArray) -> bool:
        codes = part.indices.to_numpy()
        firsts = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
        self.names.append(part.dictionary.take(pa.array(codes[firsts])))
        self.starts.append(self.n + firsts)
        self.n += len(part)
        return True

    def column(self) -> Names:
        return Names(pa.concat_arrays(self.names), np.concatenate(self.starts))


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
