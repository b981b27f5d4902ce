"""Eight bits for most texts, fp32 for the few in which rounding weighs too much."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.errors import ModelFilesMissing
from citewell.ports import Vectors

LEAST_LENGTH = 17.0
"""Where the sum of a text's token vectors, over the root of their number, is shorter, it is computed again in fp32.

Rounding moves every token's vector by about as much, in any direction: over many tokens it averages out, and where they
cancel each other it weighs most. Chosen on 3,500 texts: all whose cosine to fp32 was below 0.999 are shorter than this.
Nearly all texts of a word or two are, one in thirty sentences of abstracts, and no question of a hundred.
"""

FEW_TOKENS = 6
"""Texts of no more, the special ones included, are a name: they are computed in fp32 at once, not twice.

Of 274 names of illnesses, and of 4,600 sentences and headings of articles, nine in ten of this length were weak.
"""

_log = logging.getLogger(__name__)


class ExactEngine(Protocol):
    """Computes unit vectors without rounding."""

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        ...


class RoundedEngine(Protocol):
    """Computes unit vectors, and tells how long they were before."""

    @property
    def name(self) -> str:
        """Library and arithmetic, for a person to read."""
        ...

    def run_with_lengths(self, ids: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.float32]]:
        """Unit vectors of texts of one length, and the length of each before it was one."""
        ...


class PrecisionFallback:
    """Two engines as one; the exact one takes 75 MB and is opened by the first text that needs it."""

    def __init__(self, rounded: RoundedEngine, open_exact: Callable[[], ExactEngine | None]) -> None:
        self.name = rounded.name
        self._rounded = rounded
        self._open_exact = open_exact
        self._exact: ExactEngine | None = None
        self._is_opened = False
        self._lock = Lock()

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        if ids.shape[1] <= FEW_TOKENS and (exact := self._opened()) is not None:
            return exact.run(ids)
        vectors, lengths = self._rounded.run_with_lengths(ids)
        weak = np.flatnonzero(lengths * np.sqrt(ids.shape[1]) < LEAST_LENGTH)
        if len(weak) and (exact := self._opened()) is not None:
            vectors[weak] = exact.run(ids[weak])
        return vectors

    def _opened(self) -> ExactEngine | None:
        """The exact engine; None where there is no room for its graph: the rounded vectors must do then."""
        with self._lock:
            if not self._is_opened:
                try:
                    self._exact = self._open_exact()
                except ModelFilesMissing as error:
                    _log.info("the fp32 graph cannot be made, eight bits are used alone: %s", type(error).__name__)
                self._is_opened = True
            return self._exact
