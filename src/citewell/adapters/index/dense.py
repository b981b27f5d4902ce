"""The nearest rows by cosine: a fast pass over what is visible, then exact scores for the few that may be nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.helper_threads import HelperThreads
from citewell.adapters.index.scope_view import SegmentView
from citewell.adapters.index.segment import Integers, expand
from citewell.ports import Vector, Vectors, products
from citewell.ports.reading import MANY_ROWS

Numbers: TypeAlias = NDArray[np.floating]

_BLOCK = 64

_GATHERING_COST = 6
"""Gathering a score takes as long as going past this many."""


class BlockMaxima:
    """Scores, with the highest of every block of them.

    A block is every n-th score, not a stretch: the highest of all blocks are then found many at a time.

    >>> BlockMaxima(np.arange(1000.0)).reaching(997.0).tolist()
    [997, 998, 999]
    """

    def __init__(self, scores: Numbers) -> None:
        self.scores = scores
        self._count = len(scores) // _BLOCK
        self._peaks: Numbers = scores[: self._count * _BLOCK].reshape(_BLOCK, self._count).max(axis=0)

    @property
    def peaks(self) -> Numbers:
        """The highest of every block, and the scores that fill none."""
        return np.concatenate((self._peaks, self.scores[self._count * _BLOCK :]))

    def reaching(self, least: float) -> NDArray[np.int64]:
        """The places of the scores that are at least so high, rising."""
        blocks = np.flatnonzero(self._peaks >= least)
        if _GATHERING_COST * len(blocks) >= self._count:
            return np.flatnonzero(self.scores >= least)
        places = (np.arange(0, self._count * _BLOCK, self._count)[:, np.newaxis] + blocks).ravel()
        places = np.concatenate((places, np.arange(self._count * _BLOCK, len(self.scores))))
        return places[self.scores.take(places) >= least]


def floor(many: Sequence[BlockMaxima], count: int) -> float:
    """The score that is `count`-th from the highest of all; below all where there are fewer.

    >>> floor([BlockMaxima(np.arange(1024.0)), BlockMaxima(np.arange(2000.0))], 3)
    1997.0
    >>> floor([BlockMaxima(np.arange(3.0))], 5)
    -inf
    """
    peaks = np.concatenate([block_maxima.peaks for block_maxima in many])
    if len(peaks) < count:
        high = np.concatenate([block_maxima.scores for block_maxima in many])
    else:
        # As many blocks as scores are wanted have a peak this high, so that it takes none that is lower.
        least = float(np.partition(peaks, -count)[-count])
        high = np.concatenate([block_maxima.scores[block_maxima.reaching(least)] for block_maxima in many])
    return float(np.partition(high, -count)[-count]) if len(high) >= count else -np.inf


ROWS_PER_SLICE = 8
"""Runs of at least this many rows on average are scored in place; shorter ones are gathered first."""

FEW_ROWS = 4096
"""Fewer rows than this are always gathered."""

ROUGH_SHARE = 0.25
"""The rough pass goes over whole segments: it pays where at least this share of one is visible."""

MAX_SURVIVING_SHARE = 1 / 16
"""Where bounds leave more rows than this, all are scored: that is faster than gathering so many."""

ROUNDING = 1e-5
"""More than float32 products of unit vectors can be off by; rows this near to the last place are scored exactly."""

Scored: TypeAlias = NDArray[np.float32] | None
"""The products with every row of a part, where these are known."""

ROWS_TO_SHARE = 1024
"""From so many rows on it takes less time to fetch them on two cores than on one."""


def nearest(
    parts: Sequence[SegmentView], vector: Vector, scored: Sequence[Scored], *, limit: int, hands: HelperThreads
) -> list[Integers]:
    """Positions, part by part, that hold the `limit` nearest of all parts together, and few others.

    What was scored already is not scored again.
    """
    bounds = [_bounds(part, vector) for part in parts]
    # The rows with the best bounds are scored: the last of the best `limit` among them is no nearer than the one
    # that is sought, so that a row whose bound is below it cannot be among the nearest.
    known = [
        BlockMaxima(_products(part, vector, bound.reaching(floor([bound], 2 * limit)) if bound else None, scores))
        for part, bound, scores in zip(parts, bounds, scored, strict=True)
    ]
    least = floor(known, limit) - 2 * ROUNDING
    return [
        _survivors(part, vector, bound, least, hands) if bound else scores.reaching(least)
        for part, bound, scores in zip(parts, bounds, known, strict=True)
    ]


def scored_together(part: SegmentView, vectors: Sequence[Vector]) -> list[Scored]:
    """For each of several vectors its product with every row of a part, which is read once; None where bounds spare
    most of the rows, or where too many would have to be gathered.
    """
    is_few = part.rows < (FEW_ROWS if part.shifts is not None else MANY_ROWS)
    if len(vectors) == 1 or part.segment.rough is not None or not is_few:
        return [None] * len(vectors)
    matrix = part.segment.matrix
    rows = matrix if part.shifts is None else matrix.take(part.rows_at(np.arange(part.rows)), axis=0)
    return list(np.ascontiguousarray(np.vecdot(rows[:, np.newaxis], np.stack(vectors)).T))


def cosines_of(rows: Vectors, vector: Vector) -> NDArray[np.float64]:
    """Cosines that do not depend on what else is in the index: each row is summed alone, and always in one order.

    In single precision, as vectors are kept: the last digits are no better than theirs, and half the memory is read.
    """
    cosines: NDArray[np.float64] = np.vecdot(rows, vector).astype(np.float64)
    return cosines


def _survivors(part: SegmentView, vector: Vector, bounds: BlockMaxima, least: float, hands: HelperThreads) -> Integers:
    """The positions that score at least so much; only those whose bound reaches it are scored."""
    positions = bounds.reaching(least)
    if len(positions) > MAX_SURVIVING_SHARE * part.rows:
        return np.flatnonzero(_products(part, vector) >= least)
    if len(positions) < ROWS_TO_SHARE:
        return positions[_products(part, vector, positions) >= least]
    half = len(positions) // 2
    halves = hands.both(
        lambda: _products(part, vector, positions[:half]), lambda: _products(part, vector, positions[half:])
    )
    return positions[np.concatenate(halves) >= least]


def _bounds(part: SegmentView, vector: Vector) -> BlockMaxima | None:
    """A bound on the score at every position, where the segment has a rough copy and enough of it is visible."""
    segment = part.segment
    if segment.rough is None or part.rows < ROUGH_SHARE * segment.rows or vector @ vector > 1.001:
        return None
    rough = segment.rough.get()
    if rough is None:
        return None
    bounds = rough.bounds(vector)
    if part.shifts is not None:
        bounds = bounds[expand(part.run_rows, np.diff(part.run_positions))]
    return BlockMaxima(bounds)


def _products(
    part: SegmentView, vector: Vector, positions: Integers | None = None, scored: Scored = None
) -> NDArray[np.float32]:
    """The product with the row at every position, or at these."""
    matrix = part.segment.matrix
    if scored is not None:
        return scored if positions is None else scored.take(positions)
    if positions is not None:
        return products(matrix.take(part.rows_at(positions), axis=0), vector)
    if part.shifts is None:
        return products(matrix, vector)
    sizes = np.diff(part.run_positions)
    if part.rows < max(FEW_ROWS, ROWS_PER_SLICE * len(sizes)):
        return products(matrix.take(expand(part.run_rows, sizes), axis=0), vector)
    runs = zip(part.run_rows.tolist(), (part.run_rows + sizes).tolist(), strict=True)
    return np.concatenate([products(matrix[first:end], vector) for first, end in runs])
