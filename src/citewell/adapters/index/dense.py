"""The nearest rows by cosine: a fast pass over everything visible, then exact scores for the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.segment import Integers
from citewell.adapters.index.view import Part
from citewell.ports import Vector

ROWS_PER_SLICE = 8
"""Runs of at least this many rows on average are scored in place; shorter ones are gathered first."""

ROUNDING = 1e-5
"""More than float32 products of unit vectors can be off by; rows this near to the last place are scored exactly."""


def nearest(parts: Sequence[Part], vector: Vector, *, limit: int) -> list[Integers]:
    """Positions, part by part, that hold at least the `limit` nearest of all parts together."""
    scores = [_products(part, vector) for part in parts]
    floor = _floor(scores, limit) - 2 * ROUNDING
    return [np.flatnonzero(score >= floor) for score in scores]


def exact_cosines(part: Part, positions: Integers, vector: Vector) -> NDArray[np.float64]:
    """Cosines that do not depend on what else is in the index: each row is summed alone, in double precision."""
    rows = part.segment.matrix[part.rows_at(positions)].astype(np.float64)
    cosines: NDArray[np.float64] = (rows * vector.astype(np.float64)).sum(axis=1)
    return cosines


def _products(part: Part, vector: Vector) -> NDArray[np.float32]:
    """The product of every visible row with the vector."""
    matrix = part.segment.matrix
    if part.is_whole:
        return matrix @ vector
    if part.rows < ROWS_PER_SLICE * len(part.run_rows):
        return matrix[part.all_rows()] @ vector
    products = np.empty(part.rows, dtype=np.float32)
    sizes = np.diff(part.run_positions).tolist()
    for row, position, size in zip(part.run_rows.tolist(), part.run_positions.tolist(), sizes, strict=False):
        np.matmul(matrix[row : row + size], vector, out=products[position : position + size])
    return products


def _floor(scores: Sequence[NDArray[np.float32]], limit: int) -> float:
    """The score of the last of the first `limit`."""
    best = [np.partition(score, -limit)[-limit:] if len(score) > limit else score for score in scores]
    top = np.concatenate(best)
    return float(np.partition(top, -limit)[-limit]) if len(top) > limit else -np.inf
