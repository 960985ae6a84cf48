"""The mean of a measure over all orders of documents with equal scores, exactly: no sampling, no approximation.

Each tied block is in uniform random order, independently of the others. How the mean is had depends on the measure:

- a sum over slots (P, R, F, T, DCG, nDCG, RBP, ...): each block is rotated through its n rotations, in which each
  document stands once at each rank, so that the mean over n rotations is the mean over n! orders;
- a first hit (Success, RR, ERR): the chance that the first j of a block hold no hit is the mean of the products over
  its j-subsets, an elementary symmetric polynomial over C(n, j);
- pairs (AP, bpref): each document's chance to stand at a rank, and the documents expected above it there;
- what depends on which documents stand above a cut (Fe, UDCG, nDCG(ideal=retrieved)): every composition of the part
  above the cut, weighted by the hypergeometric distribution, is a sum over slots again;
- any other measure: every distinct order, as long as there are at most `MAX_WAYS`.

Source: McSherry, Najork, "Computing information retrieval performance measures efficiently in the presence of tied
scores", ECIR (2008), doi:10.1007/978-3-540-78646-7_38.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragauge.measures.counts import n_relevant
from ragauge.measures.measure import Measure
from ragauge.measures.orders import Block, Way, orders, splits
from ragauge.measures.ties import mixed_blocks, order_matters, tied_blocks
from ragauge.ragged import Ragged, parts, positions, segment_sum, take_rows

__all__ = ["expected_values"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CHUNK = 4_000_000  # documents of rotated rankings held at a time
_ROWS = 256  # rankings whose ways are held at a time


@dataclass(frozen=True)
class _Tied:
    """Rankings in which the order of ties matters to a measure."""

    measure: Measure
    labels: Ragged
    pool: Ragged
    blocks: Ints

    @property
    def depth(self) -> int:
        """How many documents of the longest ranking are read."""
        longest = int(self.labels.lengths.max(initial=0))
        return longest if self.measure.depth is None else min(longest, self.measure.depth)


def expected_values(labels: Ragged, pool: Ragged, scores: Ragged, measure: Measure) -> Floats:
    """The measure for each ranking, its mean over all orders of documents with equal scores.

    Args:
        labels: In the order of the scores, highest first.
        pool: All labels of each query, as kernels take them.
        scores: Of the documents; null = not tied with anything.
        measure: What is computed.

    Returns:
        One value a row. NaN where the measure is undefined for one of the orders.

    Raises:
        InputError: The mean needs more than `MAX_WAYS` orders to be gone through.

    >>> labels, pool = Ragged.from_lists([[1, 0]]), Ragged.from_lists([[1, 0]])
    >>> scores = Ragged.from_lists([[7.0, 7.0]])  # the relevant document is first, or second: (1 + 1/2) / 2
    >>> expected_values(labels, pool, scores, Measure.of("RR", None)).tolist()
    [0.75]
    """
    values = measure.values(labels, pool)
    rows = np.flatnonzero(order_matters(labels, scores, depth=measure.depth) & ~np.isnan(values))
    if rows.size:
        blocks = tied_blocks(take_rows(scores, rows))
        tied = _sorted_inside(take_rows(labels, rows), blocks)
        values[rows] = _method(measure)(_Tied(measure, tied, take_rows(pool, rows), blocks))
    return values


def _sorted_inside(labels: Ragged, blocks: Ints) -> Ragged:
    """The labels of each block in one order, so that equal rankings get equal means to the last bit."""
    order = np.lexsort((labels.values, labels.valid, blocks))
    return Ragged(labels.values[order], labels.offsets, labels.valid[order])


def _method(measure: Measure) -> Callable[[_Tied], Floats]:
    if measure.linear:
        return _mean_over_rotations
    if measure.name == "nDCG":  # its ideal is made of what stands above the cutoff
        return _mean_over_compositions
    return _METHODS.get(measure.name, _mean_over_orders)


def _mean_over_rotations(tied: _Tied) -> Floats:
    """f + sum over blocks of the mean over its rotations of (f of the rotated ranking - f)."""
    labels = tied.labels
    base = tied.measure.values(labels, tied.pool)
    block = mixed_blocks(labels, tied.blocks, depth=tied.depth)
    size = np.bincount(tied.blocks, minlength=len(tied.blocks))[block]
    row = np.searchsorted(labels.offsets, block, side="right") - 1
    mean = base.copy()
    copied = np.minimum(labels.lengths[row], tied.depth) + tied.pool.lengths[row]
    for part in parts(((size - 1) * copied).astype(np.int64), most=_CHUNK):
        copies = np.repeat(np.arange(len(block))[part], size[part] - 1)
        shift = 1 + positions(np.concatenate([[0], np.cumsum(size[part] - 1)]))
        rotated = _rotated(labels, row[copies], block[copies], size[copies], shift, tied.depth)
        values = tied.measure.values(rotated, take_rows(tied.pool, row[copies]))
        mean += np.bincount(row[copies], (values - base[row[copies]]) / size[copies], minlength=len(mean))
    return mean


def _rotated(labels: Ragged, row: Ints, block: Ints, size: Ints, shift: Ints, depth: int) -> Ragged:
    """The top `depth` of a ranking a row, in which one block is rotated by `shift`."""
    lengths = np.minimum(labels.lengths[row], depth)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(labels.offsets[row], lengths) + positions(offsets)
    block, size, shift = np.repeat(block, lengths), np.repeat(size, lengths), np.repeat(shift, lengths)
    inside = (at >= block) & (at < block + size)
    at = np.where(inside, block + (at - block + shift) % size, at)
    return Ragged(labels.values[at], offsets, labels.valid[at])


def _first_hit(tied: _Tied) -> Floats:
    """The expected worth of the first hit: 1 / rank for RR and ERR, 1 for Success."""
    labels = tied.labels
    alone = Ragged(labels.values, np.arange(len(labels.values) + 1), labels.valid)
    no_pool = Ragged(np.zeros(0), np.zeros(len(labels.values) + 1, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    miss = 1.0 - tied.measure.values(alone, no_pool)  # of a ranking of this document alone: the chance that it hits
    worth = np.ones(tied.depth) if tied.measure.name == "Success" else 1.0 / np.arange(1, tied.depth + 1)
    values = np.zeros(labels.n_rows)
    for row, (start, stop) in enumerate(zip(labels.offsets[:-1], labels.offsets[1:], strict=True)):
        still = _no_hit_yet(miss[start:stop], tied.blocks[start:stop], tied.depth)
        values[row] = -np.diff(still) @ worth[: len(still) - 1]
    return values


def _no_hit_yet(miss: Floats, blocks: Ints, depth: int) -> Floats:
    """The chance that no document of the top j hits, j = 0..depth."""
    chances = [1.0]
    for part in np.split(miss, np.flatnonzero(np.diff(blocks)) + 1):
        before = chances[-1]
        means = _mean_products(part, min(len(part), depth + 1 - len(chances)))
        chances += (before * means[1:]).tolist()
        if len(chances) > depth:
            break
    return np.array(chances)


def _mean_products(values: Floats, n: int) -> Floats:
    """The mean over all j-subsets of the product of their values, j = 0..n.

    With e_j(m) = sum over the j-subsets of the first m values, e_j(m) = e_j(m-1) + v_m e_{j-1}(m-1); divided by C(m, j)
    it stays between the smallest and the largest product.
    """
    means = np.zeros(n + 1)
    means[0] = 1.0
    j = np.arange(1, n + 1)
    for m, value in enumerate(values, start=1):
        share = np.minimum(j / m, 1.0)
        means[1:] = (1 - share) * means[1:] + share * value * means[:-1]
    return means


@dataclass(frozen=True)
class _Flagged:
    """For a yes-or-no property of documents, one an element: how many have it in the document's block and above."""

    size: Floats
    place: Ints
    """Rank inside the block, from 0."""
    inside: Floats
    above: Floats


def _flagged(tied: _Tied, flag: npt.NDArray[np.bool_]) -> _Flagged:
    labels, blocks = tied.labels, tied.blocks
    n = len(blocks)
    running = np.concatenate([[0.0], np.cumsum(flag, dtype=np.float64)])
    return _Flagged(
        size=np.bincount(blocks, minlength=n)[blocks].astype(np.float64),
        place=np.arange(n) - blocks,
        inside=np.bincount(blocks, flag, minlength=n)[blocks].astype(np.float64),
        above=running[blocks] - np.repeat(running[labels.offsets[:-1]], labels.lengths),
    )


def _average_precision(tied: _Tied) -> Floats:
    """A relevant document at place k of its block has k (r - 1) / (n - 1) of the block's others above it."""
    rel = float(dict(tied.measure.parameters)["rel"])
    positive = _flagged(tied, tied.labels.valid & (tied.labels.values >= rel))
    rank = positions(tied.labels.offsets) + 1
    others = positive.place * (positive.inside - 1) / np.maximum(positive.size - 1, 1)
    gain = positive.inside / positive.size * (positive.above + 1 + others) / rank
    gain[rank > tied.depth] = 0.0
    return segment_sum(gain, tied.labels.offsets) / n_relevant(tied.pool, rel)


def _binary_preference(tied: _Tied) -> Floats:
    """Above a relevant document stand 0..m of the m not relevant ones of its block, each count equally likely."""
    rel = float(dict(tied.measure.parameters)["rel"])
    labels, pool = tied.labels, tied.pool
    positive = _flagged(tied, labels.valid & (labels.values >= rel))
    negative = _flagged(tied, labels.valid & (labels.values < rel))
    n_positive = n_relevant(pool, rel)
    n_negative = segment_sum(pool.valid & (pool.values < rel), pool.offsets)
    most = np.repeat(n_positive, labels.lengths)
    least = np.maximum(np.repeat(np.minimum(n_positive, n_negative), labels.lengths), 1)
    low, high = negative.above, negative.above + negative.inside
    worse = (_capped_sum(high, most) - _capped_sum(low - 1, most)) / (high - low + 1)
    return segment_sum(positive.inside / positive.size * (1 - worse / least), labels.offsets) / n_positive


def _capped_sum(last: Floats, cap: Floats) -> Floats:
    """Sum over x = 0..last of min(x, cap); 0 for last = -1."""
    inside = np.minimum(last, cap)
    return np.asarray(inside * (inside + 1) / 2 + (last - inside) * cap)


def _mean_over_compositions(tied: _Tied) -> Floats:
    """Blocks that a cut runs through are split there in every way; between the cuts the measure is a sum over slots."""
    cuts = [cut for cut in {tied.measure.cutoff, tied.measure.depth} if cut is not None]
    return _mean_of_ways(tied, lambda blocks: splits(blocks, cuts, str(tied.measure)), _mean_over_rotations)


def _mean_over_orders(tied: _Tied) -> Floats:
    """Every distinct order."""
    return _mean_of_ways(
        tied,
        lambda blocks: orders(blocks, str(tied.measure)),
        lambda arranged: arranged.measure.values(arranged.labels, arranged.pool),
    )


def _mean_of_ways(tied: _Tied, ways: Callable[[list[Block]], list[Way]], values: Callable[[_Tied], Floats]) -> Floats:
    """The weighted mean of `values` over the ways each ranking can be arranged, some rankings at a time."""
    kinds, kind = np.unique(np.stack([tied.labels.values, tied.labels.valid]), axis=1, return_inverse=True)
    means = np.zeros(tied.labels.n_rows)
    for first in range(0, len(means), _ROWS):
        rows = range(first, min(first + _ROWS, len(means)))
        each = [ways(_row_blocks(tied, kind.ravel(), row)) for row in rows]
        row = np.repeat(rows, [len(of_row) for of_row in each])
        flat = [way for of_row in each for way in of_row]
        arranged = _arranged(tied, flat, kinds, row)
        weight = np.array([way.weight for way in flat])
        means += np.bincount(row, values(arranged) * weight, minlength=len(means))
    return means


def _arranged(tied: _Tied, ways: list[Way], kinds: Floats, row: Ints) -> _Tied:
    """The rankings arranged in these ways; what is still a block is still in random order."""
    code = np.array([code for way in ways for block in way.blocks for code in block], dtype=np.int64)
    sizes = [len(block) for way in ways for block in way.blocks]
    lengths = [sum(map(len, way.blocks)) for way in ways]
    labels = Ragged(kinds[0][code], np.concatenate([[0], np.cumsum(lengths)]), kinds[1][code] > 0)
    blocks = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    return _Tied(tied.measure, labels, take_rows(tied.pool, row), blocks)


def _row_blocks(tied: _Tied, kind: Ints, row: int) -> list[Block]:
    """The blocks of a ranking, as far down as the measure reads."""
    start, stop = tied.labels.offsets[row], tied.labels.offsets[row + 1]
    edges = np.flatnonzero(np.diff(tied.blocks[start:stop])) + 1
    begins = np.concatenate([[0], edges])
    blocks = np.split(kind[start:stop], edges)
    return [tuple(block.tolist()) for begin, block in zip(begins, blocks, strict=True) if begin < tied.depth]


_METHODS: dict[str, Callable[[_Tied], Floats]] = {
    "RR": _first_hit,
    "ERR": _first_hit,
    "Success": _first_hit,
    "AP": _average_precision,
    "bpref": _binary_preference,
    "Fe": _mean_over_compositions,
    "UDCG": _mean_over_compositions,
}
