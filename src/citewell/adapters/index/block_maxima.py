"""Finds the few high scores among many without looking at each of them twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
