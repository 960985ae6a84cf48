"""Tied blocks: runs of neighbours with equal scores, whose order says nothing about the retriever.

A block is named by the flat index of its first document; a document without a score is a block of its own. The order
inside a block can change a measure only if the block begins above the measure's depth and its labels differ.
"""

import numpy as np
import numpy.typing as npt

from ragauge.ragged import Ragged, positions

__all__ = ["mixed_blocks", "number_format", "order_matters", "tied_blocks"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_FORMATS = (("bfloat16", 8), ("float16", 11), ("float32", 24))
"""Floating point formats coarser than 64 bits, and their significant bits."""


def tied_blocks(scores: Ragged) -> Ints:
    """The block of each document: flat index of the first neighbour it shares its score with, one an element.

    >>> tied_blocks(Ragged.from_lists([[3, 2, 2, None, None], [2, 2]])).tolist()
    [0, 1, 1, 3, 4, 5, 5]
    """
    values, valid = scores.values, scores.valid
    tied = np.zeros(len(values), dtype=np.bool_)
    tied[1:] = (values[1:] == values[:-1]) & valid[1:] & valid[:-1]
    tied[scores.offsets[:-1][scores.lengths > 0]] = False
    return np.maximum.accumulate(np.where(tied, 0, np.arange(len(values))))


def mixed_blocks(labels: Ragged, blocks: Ints, *, depth: int | None) -> Ints:
    """The blocks that begin above rank `depth` (None = any) and hold different labels, unjudged being one more label.

    >>> labels = Ragged.from_lists([[1, 0, 1], [1, 1, None, None]])
    >>> mixed_blocks(labels, np.array([0, 1, 1, 3, 3, 5, 5]), depth=10).tolist()
    [1]
    """
    same_block = blocks[1:] == blocks[:-1]
    differs = (labels.values[1:] != labels.values[:-1]) | (labels.valid[1:] != labels.valid[:-1])
    mixed: Ints = np.unique(blocks[1:][same_block & differs])
    return mixed if depth is None else mixed[positions(labels.offsets)[mixed] < depth]


def order_matters(labels: Ragged, scores: Ragged, *, depth: int | None) -> Bools:
    """Whether a ranking has documents with equal scores and different labels, one of them above rank `depth`.

    Returns:
        One a row. False: every order of tied documents gives the same value. True: for measures that look at the order,
        or at what stands above a cutoff in the block, the value may depend on it.
    """
    mixed = mixed_blocks(labels, tied_blocks(scores), depth=depth)
    found = np.zeros(labels.n_rows, dtype=np.bool_)
    found[np.searchsorted(labels.offsets, mixed, side="right") - 1] = True
    return found


def number_format(scores: Ragged) -> str:
    """The floating point format that just holds the digits of all scores: what they may have been rounded to.

    Returns:
        "bfloat16", "float16" or "float32"; "" for finer scores, whole numbers, and steps coarser than bfloat16's.
        Decimals hide their origin: the float32 0.1 is told when it is written 0.10000000149011612, not as 0.1.

    >>> number_format(Ragged.from_lists([[0.333251953125, 0.5]])), number_format(Ragged.from_lists([[1 / 3, 2, 1]]))
    ('float16', '')
    """
    values = scores.values[scores.valid]
    if _significant_bits(values[:1000]) > _FORMATS[-1][1] or (values == np.round(values)).all():
        return ""
    bits = _significant_bits(values)
    return next((name for name, most in _FORMATS if bits <= most), "") if bits >= _FORMATS[0][1] else ""


def _significant_bits(values: npt.NDArray[np.float64]) -> int:
    """From the first to the last bit that any of the numbers needs, at most 53."""
    whole = np.ldexp(np.frexp(np.abs(values))[0], 53).astype(np.int64)  # 53-bit whole numbers
    union = int(np.bitwise_or.reduce(whole))
    return 54 - (union & -union).bit_length() if union else 0
