"""One score per candidate from three views of it: the passage, its best sentence, its words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scores = NDArray[np.float64]
"""One number per candidate."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each view counts in the order."""

    passage: float = 0.25
    sentence: float = 0.20
    lexical: float = 0.55


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic curve on scores that mean the same in every search."""

    bias: float = -6.0
    cosine: float = 8.0
    coverage: float = 3.0


WEIGHTS = Weights()
CALIBRATION = Calibration()


def fuse(
    cosines: ArrayLike, sentence_cosines: ArrayLike, lexical_scores: ArrayLike, *, weights: Weights = WEIGHTS
) -> Scores:
    """The rank score of each candidate, in [0, 1]; comparable within one search only.

    >>> fuse([0.7, 0.3, 0.5], [0.8, 0.2, 0.5], [12.0, 0.0, 6.0]).round(2).tolist()
    [1.0, 0.0, 0.5]
    """
    views = (
        (weights.passage, _spread(cosines)),
        (weights.sentence, _spread(sentence_cosines)),
        (weights.lexical, _spread(lexical_scores)),
    )
    return sum((weight * view for weight, view in views), start=np.zeros(np.size(cosines)))


def relevance(
    cosines: ArrayLike, sentence_cosines: ArrayLike, coverages: ArrayLike, *, calibration: Calibration = CALIBRATION
) -> Scores:
    """The probability that each candidate is about the question; comparable between searches.

    A coverage is the part of the question's words, weighted by rarity, that the passage holds.

    >>> relevance([0.7, 0.1], [0.8, 0.1], [0.9, 0.0]).round(2).tolist()
    [0.96, 0.01]
    """
    nearest = np.fmax(_clean(cosines), _clean(sentence_cosines))
    odds = calibration.bias + calibration.cosine * nearest + calibration.coverage * _clean(coverages)
    return np.asarray(1.0 / (1.0 + np.exp(-odds)), dtype=np.float64)


def _clean(values: ArrayLike) -> Scores:
    """Floats, with nothing (0) in place of what is not a number."""
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)


def _spread(values: ArrayLike) -> Scores:
    """The values moved to [0, 1]; all alike says nothing, so 0."""
    numbers = _clean(values)
    if numbers.size == 0:
        return numbers
    low, high = numbers.min(), numbers.max()
    return (numbers - low) / (high - low) if high > low else np.zeros_like(numbers)
