"""Every way the documents of tied blocks can stand, gone through one by one: for small blocks and few labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import comb, factorial, prod

from ragauge.errors import InputError

__all__ = ["MAX_WAYS", "Block", "Way", "orders", "splits"]

Block = tuple[int, ...]
"""The documents of a block, each as the number of its label: equal numbers, equal labels."""

MAX_WAYS = 20_000
"""Most ways of one ranking that are gone through."""


@dataclass(frozen=True)
class Way:
    """One way to arrange a ranking, and its weight; the weights of a ranking add to 1."""

    weight: float
    blocks: tuple[Block, ...]


def splits(row: Sequence[Block], cuts: list[int], what: str) -> list[Way]:
    """Every way to share out the labels of each block among the parts that the cuts make of it."""
    choices: list[list[Way]] = []
    begin = 0
    for block in row:
        inside = sorted({cut - begin for cut in cuts if 0 < cut - begin < len(block)})
        sizes = [stop - start for start, stop in pairwise([0, *inside, len(block)])]
        choices.append(list(_shared_out(block, sizes)) if len(set(block)) > 1 else [Way(1.0, (block,))])
        begin += len(block)
    _check_number(prod(map(len, choices)), what, "compositions")
    return [_joined(ways) for ways in product(*choices)]


def _shared_out(labels: Block, sizes: list[int]) -> Iterator[Way]:
    """Every composition of the parts of `sizes`, weighted by how many of the orders give it."""
    if len(sizes) == 1:
        yield Way(1.0, (labels,))
        return
    kinds = sorted(set(labels))
    counts = [labels.count(kind) for kind in kinds]
    for taken in _count_vectors(counts, sizes[0]):
        weight = prod(comb(n, k) for n, k in zip(counts, taken, strict=True)) / comb(len(labels), sizes[0])
        first = tuple(kind for kind, k in zip(kinds, taken, strict=True) for _ in range(k))
        left = tuple(kind for kind, n, k in zip(kinds, counts, taken, strict=True) for _ in range(n - k))
        for rest in _shared_out(left, sizes[1:]):
            yield Way(weight * rest.weight, (first, *rest.blocks))


def _count_vectors(counts: list[int], total: int) -> Iterator[tuple[int, ...]]:
    """How many of each kind, `total` in all."""
    if len(counts) == 1:
        yield (total,)
        return
    for taken in range(max(0, total - sum(counts[1:])), min(counts[0], total) + 1):
        for rest in _count_vectors(counts[1:], total - taken):
            yield (taken, *rest)


def orders(row: Sequence[Block], what: str) -> list[Way]:
    """Every distinct order of the labels of each block; all are equally likely."""
    numbers = [factorial(len(block)) // prod(factorial(block.count(kind)) for kind in set(block)) for block in row]
    _check_number(prod(numbers), what, "orders")
    choices = [[Way(1 / n, (order,)) for order in _distinct(block)] for block, n in zip(row, numbers, strict=True)]
    return [_joined(ways) for ways in product(*choices)]


def _distinct(labels: Block) -> list[Block]:
    """The distinct permutations."""
    if len(set(labels)) <= 1:
        return [labels]
    found = []
    for kind in set(labels):
        at = labels.index(kind)
        found += [(kind, *rest) for rest in _distinct(labels[:at] + labels[at + 1 :])]
    return found


def _joined(ways: tuple[Way, ...]) -> Way:
    return Way(prod(way.weight for way in ways), tuple(block for way in ways for block in way.blocks))


def _check_number(number: int, what: str, kind: str) -> None:
    if number > MAX_WAYS:
        raise InputError(
            f"the mean of {what} over ties needs {number:,} {kind} of one ranking, at most {MAX_WAYS:,} are gone "
            "through; choose ties='trec' or 'input', or leave this measure out"
        )
