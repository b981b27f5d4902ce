"""Finds the few high scores among many without looking at each of them twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.floating]

_BLOCK = 64


class Heights:
    """Scores, with the highest of every block of them.

    >>> heights = Heights(np.arange(1000.0))
    >>> heights.reaching(997.0).tolist(), sorted(heights.highest(2).tolist())
    ([997, 998, 999], [998, 999])
    """

    def __init__(self, scores: Numbers) -> None:
        self.scores = scores
        self._whole = len(scores) - len(scores) % _BLOCK
        self._peaks: Numbers = scores[: self._whole].reshape(-1, _BLOCK).max(axis=1)

    @property
    def peaks(self) -> Numbers:
        """The highest of every block, and the scores that fill none."""
        return np.concatenate((self._peaks, self.scores[self._whole :]))

    def reaching(self, least: float) -> NDArray[np.int64]:
        """The places of the scores that are at least so high, rising."""
        blocks = np.flatnonzero(self._peaks >= least)
        if 2 * len(blocks) > len(self._peaks):
            return np.flatnonzero(self.scores >= least)
        places = (blocks[:, np.newaxis] * _BLOCK + np.arange(_BLOCK)).ravel()
        places = np.concatenate((places, np.arange(self._whole, len(self.scores))))
        return places[self.scores.take(places) >= least]

    def highest(self, count: int) -> NDArray[np.int64]:
        """The places of the `count` highest, in any order."""
        places = self.reaching(floor([self], count))
        if len(places) > count:
            places = places[np.argpartition(self.scores[places], -count)[-count:]]
        return places


def floor(many: Sequence[Heights], count: int) -> float:
    """A score that at least `count` of all reach, and not many more; below all where there are fewer.

    >>> floor([Heights(np.arange(1024.0)), Heights(np.arange(10.0))], 2)
    959.0
    >>> floor([Heights(np.arange(3.0))], 5)
    -inf
    """
    best = np.concatenate([one.peaks for one in many])
    if len(best) < count:
        best = np.concatenate([one.scores for one in many])
    return float(np.partition(best, -count)[-count]) if len(best) >= count else -np.inf
