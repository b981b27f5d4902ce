"""One score per candidate from what its passage, its best sentence, its words and its neighbours say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from citewell.answer.calibration import Calibration
from citewell.ports import Vectors

Scores = NDArray[np.float64]
"""One number per candidate."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each view counts in the order.

    Chosen on questions about documents that the embedder has not learned (docs/retrieval-notes.md). Cosines are taken
    as they are, not stretched over the candidates at hand, so that ten passages are ordered as they would be among ten
    thousand.
    """

    passage: float = 0.35
    sentence: float = 0.30
    words: float = 0.30
    coverage: float = 0.25
    """The part of `words` that is the passage's own coverage; the rest is BM25 against the best candidate's."""
    support: float = 0.20
    """Likeness to the best candidates."""
    seeds: int = 5
    """The best candidates that lend support."""
    sharpness: float = 25.0
    """How fast a seed's say falls with its distance from the first: at 0.1 behind, to a twelfth."""


WEIGHTS = Weights()


def fuse(
    cosines: ArrayLike,
    sentence_cosines: ArrayLike,
    lexical_scores: ArrayLike,
    coverages: ArrayLike | None = None,
    centroids: Vectors | None = None,
) -> Scores:
    """The rank score of each candidate; comparable within one search only.

    A coverage is the part of the question's words, weighted by rarity, that the passage holds; without coverages the
    best passage by words counts as holding all. A centroid is the mean of a passage's sentence vectors, of unit length;
    without centroids no candidate supports another.

    >>> fuse([0.7, 0.3, 0.5], [0.8, 0.2, 0.5], [12.0, 0.0, 6.0], [0.9, 0.0, 0.5]).round(3).tolist()
    [0.755, 0.165, 0.464]
    """
    scores = (
        WEIGHTS.passage * _clean(cosines)
        + WEIGHTS.sentence * _clean(sentence_cosines)
        + WEIGHTS.words * _words(_clean(lexical_scores), coverages)
    )
    return scores if centroids is None else scores + WEIGHTS.support * _support(scores, centroids)


def relevance(
    cosines: ArrayLike, sentence_cosines: ArrayLike, coverages: ArrayLike, *, calibration: Calibration
) -> Scores:
    """The probability that each candidate is about the question; comparable between searches.

    >>> from citewell.answer.calibration import built_in
    >>> relevance([0.7, 0.1], [0.8, 0.1], [0.9, 0.0], calibration=built_in()).round(2).tolist()
    [0.91, 0.0]
    """
    nearest = np.fmax(_clean(cosines), _clean(sentence_cosines))
    odds = calibration.bias + calibration.cosine * nearest + calibration.coverage * _clean(coverages)
    return np.asarray(1.0 / (1.0 + np.exp(-odds)), dtype=np.float64)


def _words(lexical_scores: Scores, coverages: ArrayLike | None) -> Scores:
    """BM25 against the best candidate's, which counts as much as the part of the question that it holds.

    BM25 has no fixed upper end, and a passage that is best for want of others must not count as a full match.
    """
    best = int(np.argmax(lexical_scores)) if lexical_scores.size else 0
    if not lexical_scores.size or lexical_scores[best] <= 0:
        return np.zeros_like(lexical_scores)
    matched = lexical_scores / lexical_scores[best]
    held = matched if coverages is None else np.clip(_clean(coverages), 0.0, 1.0)
    return np.asarray((1 - WEIGHTS.coverage) * held[best] * matched + WEIGHTS.coverage * held, dtype=np.float64)


def _support(scores: Scores, centroids: Vectors) -> Scores:
    """The cosine of each candidate with the best ones, weighted by how good those are."""
    if not scores.size:
        return scores
    seeds = np.argsort(-scores, kind="stable")[: WEIGHTS.seeds]
    says = np.exp(WEIGHTS.sharpness * (scores[seeds] - scores[seeds[0]]))
    means = _clean(centroids)
    centre = (says / says.sum()) @ means[seeds]
    # Not a matrix product: that wakes threads which spin when they have done (see `ports.products`).
    return np.asarray(np.einsum("ij,j->i", means, centre), dtype=np.float64)


def _clean(values: ArrayLike) -> Scores:
    """Floats, with nothing (0) in place of what is not a number."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
