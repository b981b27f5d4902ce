"""Finds the passages that may answer: candidates from the index, their best sentence, one fused order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from citewell.answer.expand import Expansion, expand
from citewell.answer.fuse import fuse, relevance
from citewell.answer.rank import CONTROLS, Controls, rank
from citewell.clinical import Lexicon
from citewell.errors import EmbedderMismatch, InputError
from citewell.ports import Candidate, Embedder, Index, Library, Ranked, Sentences, Vector, Vectors
from citewell.types import Hit, Scope, Why
from citewell.words import STOP_WORDS, folded, stem, terms, word_spans

MAX_QUESTION_CHARACTERS = 4_000
EXPANSION_WEIGHT = 0.5
"""How much a phrase that was added to the question counts beside one word that the person typed."""
MIN_CANDIDATES = 100
NO_SENTENCE: tuple[tuple[int, int] | None, float] = (None, 0.0)


@dataclass(frozen=True, slots=True)
class Search:
    """The parts that one search needs."""

    library: Library
    index: Index
    embedder: Embedder
    lexicon: Lexicon


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, best first, and the words that were added to the question to find them."""

    hits: tuple[Hit, ...]
    expansions: tuple[Expansion, ...]


def retrieve(question: str, *, scope: Scope, search: Search, limit: int = 10, controls: Controls = CONTROLS) -> Found:
    """The passages nearest to a question among what the scope may see."""
    question = _checked(question)
    known = search.library.embedder()
    if known is not None and known != search.embedder.fingerprint:
        raise EmbedderMismatch(
            f"This library's vectors were made by {known}, and the embedder in use is {search.embedder.fingerprint}. "
            "Run `citewell reindex`, or set the embedder back."
        )
    expansions = expand(question, lexicon=search.lexicon)
    weights = weighted_terms(question, expansions)
    vector = search.embedder.embed([question])[0]
    wanted = max(controls.candidates(limit), MIN_CANDIDATES)
    candidates = search.index.candidates(vector, weights, scope=scope, limit=wanted)
    if not candidates:
        return Found((), expansions)
    ranked = _fused(candidates, search.library.sentences(candidates), vector)
    hits = search.library.hits(ranked[: controls.candidates(limit)], scope)
    explained = [_with_terms(hit, weights) for hit in rank(hits, limit=limit, controls=controls)]
    return Found(tuple(explained), expansions)


def weighted_terms(question: str, expansions: Sequence[Expansion]) -> dict[str, float]:
    """The index terms to look for, and what each counts."""
    weights = dict.fromkeys(terms(question), 1.0)
    for expansion in expansions:
        added = [term for term in terms(expansion.phrase) if len(term) > 1]
        for term in added:
            weights.setdefault(term, EXPANSION_WEIGHT / len(added))
    return weights


def _checked(question: str) -> str:
    question = " ".join(question.split())
    if not question:
        raise InputError("Type a few words to search for.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise InputError(f"A question may have up to {MAX_QUESTION_CHARACTERS:,} characters; this one is longer.")
    return question


def _fused(candidates: Sequence[Candidate], sentences: Sentences, vector: Vector) -> list[Ranked]:
    """Candidates with their final scores, best first."""
    vectors = sentences.vectors()
    nearest = _nearest_sentences(sentences, vectors @ vector)
    best = [nearest.get((one.generation, one.chunk_index), NO_SENTENCE) for one in candidates]
    similarities = [similarity for _, similarity in best]
    cosines, coverages = [one.cosine for one in candidates], [one.coverage for one in candidates]
    words = [one.lexical_score for one in candidates]
    scores = fuse(cosines, similarities, words, coverages, _centroids(candidates, sentences, vectors))
    probabilities = relevance(cosines, similarities, coverages)
    ranked = [
        Ranked(one, float(score), float(probability), Why(one.dense_rank, one.lexical_rank, (), span))
        for one, score, probability, (span, _) in zip(candidates, scores, probabilities, best, strict=True)
    ]
    return sorted(ranked, key=lambda item: (-item.rank_score, item.candidate.generation, item.candidate.chunk_index))


def _centroids(candidates: Sequence[Candidate], sentences: Sentences, vectors: Vectors) -> Vectors:
    """The mean of each candidate's sentence vectors, of unit length; nothing where it has no sentences."""
    centroids = np.zeros((len(candidates), vectors.shape[1]), np.float32)
    if sentences.keys:
        sums = np.add.reduceat(vectors, sentences.starts[:-1], axis=0)
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        row_of = {key: row for row, key in enumerate(sentences.keys)}
        found = [row_of.get((one.generation, one.chunk_index)) for one in candidates]
        here = [at for at, row in enumerate(found) if row is not None]
        centroids[here] = sums[[row for row in found if row is not None]]
    return centroids


def _nearest_sentences(
    sentences: Sentences, similarities: NDArray[np.float32]
) -> dict[tuple[int, int], tuple[tuple[int, int], float]]:
    """The sentence of each passage nearest to the question, and how near."""
    found = {}
    for key, first, last in zip(sentences.keys, sentences.starts, sentences.starts[1:], strict=False):
        best = int(first) + int(np.argmax(similarities[first:last]))
        start, end = sentences.spans[best].tolist()
        found[key] = (start, end), float(similarities[best])
    return found


def _with_terms(hit: Hit, weights: dict[str, float]) -> Hit:
    """The hit, saying which words of the question it holds, as they are written there."""
    words = (hit.text[start:end].casefold() for start, end in matched_spans(hit.text, weights))
    return replace(hit, why=replace(hit.why, matched_terms=tuple(dict.fromkeys(words))))


def matched_spans(text: str, weights: Collection[str]) -> list[tuple[int, int]]:
    """Offsets of the words of a text that were looked for.

    >>> matched_spans("Anaemia: give iron.", {"iron": 1.0})
    [(14, 18)]
    """
    spans = word_spans(text)
    words = (folded(text[start:end]) for start, end in spans)
    return [span for span, word in zip(spans, words, strict=True) if word not in STOP_WORDS and stem(word) in weights]
