"""Puts candidates in order: how near each passage and its best sentence are, its words, its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from citewell.answer.calibration import Calibration
from citewell.answer.fuse import fuse, relevance
from citewell.ports import Candidate, Ranked, Sentences, Vector, Vectors, products
from citewell.types import Near, Why

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Laid:
    """The sentences of many candidates, unpacked once for all questions that found them."""

    vectors: Vectors
    """Of every sentence."""
    spans: Sequence[Sequence[int]]
    starts: Integers
    """Where the sentences of each passage begin; one more than passages, and once more for one without sentences."""
    centroids: Vectors
    """The mean of each passage's sentence vectors, of unit length; then nothing, for one without sentences."""
    rows: Mapping[tuple[int, int], int]
    """The row of each passage."""

    @classmethod
    def out(cls, sentences: Sentences) -> Laid:
        """Lay the sentences of passages out."""
        vectors = sentences.vectors()
        centroids = np.zeros((len(sentences.keys) + 1, vectors.shape[1]), np.float32)
        if sentences.keys:
            runs = pairwise(sentences.starts.tolist())
            sums = np.array([vectors[first:end].sum(axis=0) for first, end in runs])  # four times as fast as `reduceat`
            centroids[:-1] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        starts = np.append(sentences.starts, sentences.starts[-1])
        return cls(
            vectors, sentences.spans.tolist(), starts, centroids, {key: row for row, key in enumerate(sentences.keys)}
        )


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its final scores, and where its sentences are laid out."""

    candidate: Candidate
    rank_score: float
    relevance: float
    first: int
    cosines: NDArray[np.float32]
    """How near each of its sentences is."""

    def ranked(self, laid: Laid) -> Ranked:
        """The same, with its sentences."""
        spans = laid.spans[self.first : self.first + len(self.cosines)]
        told = zip(spans, self.cosines.tolist(), strict=True)
        why = _why(self.candidate, tuple((start, end, cosine) for (start, end), cosine in told))
        return Ranked(self.candidate, self.rank_score, self.relevance, why)


def fused(
    candidates: Sequence[Candidate], laid: Laid, vector: Vector, *, calibration: Calibration, keep: int
) -> list[Fused]:
    """The best candidates with their final scores, best first."""
    rows = np.array([laid.rows.get(one[:2], len(laid.rows)) for one in candidates], np.int64)
    firsts, counts = laid.starts[rows], laid.starts[rows + 1] - laid.starts[rows]
    ends = counts.cumsum()
    places = np.repeat(firsts - ends + counts, counts) + np.arange(counts.sum())
    similarities, sentence_cosines = np.zeros(len(candidates)), np.zeros(0, np.float32)
    if len(places):
        sentence_cosines = products(laid.vectors.take(places, axis=0), vector)
        held = np.flatnonzero(counts)
        similarities[held] = np.maximum.reduceat(sentence_cosines, (ends - counts)[held])
    cosines, coverages = [one.cosine for one in candidates], [one.coverage for one in candidates]
    words = [one.lexical_score for one in candidates]
    scores = fuse(cosines, similarities, words, coverages, laid.centroids.take(rows, axis=0)).tolist()
    probabilities = relevance(cosines, similarities, coverages, calibration=calibration).tolist()
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], *candidates[at][:2]))[:keep]
    starts, ends_told, opens = firsts.tolist(), ends.tolist(), (ends - counts).tolist()
    return [
        Fused(candidates[at], scores[at], probabilities[at], starts[at], sentence_cosines[opens[at] : ends_told[at]])
        for at in order
    ]


def _why(one: Candidate, told: tuple[Near, ...]) -> Why:
    """The ranks of a passage, its sentences with how near each is to the question, and the nearest of them."""
    nearest = max(told, key=_cosine, default=None)
    return Why(one.dense_rank, one.lexical_rank, (), nearest[:2] if nearest and nearest[1] else None, told)


def _cosine(sentence: Near) -> float:
    return sentence[2]
