"""The nearest rows by cosine: a fast pass over everything visible, then exact scores for the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.segment import Integers, expand
from citewell.adapters.index.view import Part
from citewell.ports import Vector

ROWS_PER_SLICE = 8
"""Runs of at least this many rows on average are scored in place; shorter ones are gathered first."""

ROUNDING = 1e-5
"""More than float32 products of unit vectors can be off by; rows this near to the last place are scored exactly."""

_BLOCK = 64


def nearest(parts: Sequence[Part], vector: Vector, *, limit: int) -> list[Integers]:
    """Positions, part by part, that hold at least the `limit` nearest of all parts together."""
    scores = [_products(part, vector) for part in parts]
    least = floor(scores, limit) - 2 * ROUNDING
    return [np.flatnonzero(score >= least) for score in scores]


def exact_cosines(part: Part, positions: Integers, vector: Vector) -> NDArray[np.float64]:
    """Cosines that do not depend on what else is in the index: each row is summed alone, in double precision."""
    rows = part.segment.matrix[part.rows_at(positions)].astype(np.float64)
    rows *= vector
    cosines: NDArray[np.float64] = rows.sum(axis=1)
    return cosines


def floor(scores: Sequence[NDArray[np.float32] | NDArray[np.float64]], limit: int) -> float:
    """A score that at least `limit` of all reach, and not many more: the best of each block are compared, not all.

    >>> floor([np.arange(1024.0), np.arange(10.0)], 2)
    959.0
    >>> floor([np.arange(3.0)], 5)
    -inf
    """
    best = np.concatenate([_block_best(score) for score in scores])
    if len(best) < limit:
        best = np.concatenate(scores)
    return float(np.partition(best, -limit)[-limit]) if len(best) >= limit else -np.inf


def _block_best(scores: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float32] | NDArray[np.float64]:
    """The best score of every block, and the scores that fill none."""
    whole = len(scores) - len(scores) % _BLOCK
    return np.concatenate((scores[:whole].reshape(-1, _BLOCK).max(axis=1), scores[whole:]))


def _products(part: Part, vector: Vector) -> NDArray[np.float32]:
    """The product of every visible row with the vector."""
    matrix = part.segment.matrix
    if part.shifts is None:
        return matrix @ vector
    sizes = np.diff(part.run_positions)
    if part.rows < ROWS_PER_SLICE * len(sizes):
        return matrix[expand(part.run_rows, sizes)] @ vector
    products = np.empty(part.rows, dtype=np.float32)
    position = 0
    for row, size in zip(part.run_rows.tolist(), sizes.tolist(), strict=True):
        np.matmul(matrix[row : row + size], vector, out=products[position : position + size])
        position += size
    return products
