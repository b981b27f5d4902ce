"""Finds the passages that may answer: candidates from the index, their best sentence, one fused order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from citewell.answer.expand import Expansion, expand
from citewell.answer.fuse import fuse, relevance
from citewell.answer.rank import CONTROLS, Controls, rank
from citewell.clinical import Lexicon
from citewell.errors import EmbedderMismatch, InputError
from citewell.ports import Candidate, Embedder, Index, Library, Ranked, Sentences, Vector, Vectors, products
from citewell.types import Hit, Near, Scope, Why
from citewell.vocabulary.spelling import us_spelling
from citewell.words import terms, word_spans, word_terms

MAX_QUESTION_CHARACTERS = 4_000
EXPANSION_WEIGHT = 0.25
"""How much a phrase that was added to the question counts beside one word that the person typed."""
ASKING = frozenset(
    """how much many do does did should can could would may might must shall where why whom whose my me am any please
    tell""".split()
)
"""Words that make a question of what it is about; they find nothing."""
_AGE = re.compile(
    r"\b(?:aged?\s+\d{1,3}|\d{1,3}[\s-]*(?:years?|yrs?|months?|weeks?|days?)[\s-]*(?:old|of\s+age))\b", re.IGNORECASE
)
"""An age is no word to look for: a document says “aged 40 and over” where a question says “50 year old”."""
MAX_WORDINGS = 2
"""In how many other wordings a question is embedded."""
OTHER_WEIGHT = 0.7
"""What another wording counts beside the words that were typed."""
MIN_CANDIDATES = 100
NO_SENTENCES: tuple[Near, ...] = ((0, 0, 0.0),)


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
    return retrieve_all([question], scope=scope, search=search, limit=limit, controls=controls)[0]


def retrieve_all(
    questions: Sequence[str], *, scope: Scope, search: Search, limit: int = 10, controls: Controls = CONTROLS
) -> list[Found]:
    """The same of several questions; whatever has to be embedded for them is embedded at once."""
    asked = [_checked(question) for question in questions]
    known = search.library.embedder()
    if known is not None and known != search.embedder.fingerprint:
        raise EmbedderMismatch(
            f"This library's vectors were made by {known}, and the embedder in use is {search.embedder.fingerprint}. "
            "Run `citewell evidence reingest`, or set the embedder back."
        )
    expansions = [expand(question, lexicon=search.lexicon) for question in asked]
    vectors = question_vectors(asked, expansions, search.embedder)
    found = []
    for question, added, vector in zip(asked, expansions, vectors, strict=True):
        weighed = replace(controls, explaining_share=1.0) if question.casefold().startswith("why") else controls
        weights = weighted_terms(question, added)
        found.append(Found(_hits(vector, weights, scope=scope, search=search, limit=limit, controls=weighed), added))
    return found


def _hits(
    vector: Vector, weights: dict[str, float], *, scope: Scope, search: Search, limit: int, controls: Controls
) -> tuple[Hit, ...]:
    """The passages nearest to one vector and its words, best first."""
    wanted = max(controls.candidates(limit), MIN_CANDIDATES)
    candidates = search.index.candidates(vector, weights, scope=scope, limit=wanted)
    if not candidates:
        return ()
    ranked = _fused(candidates, search.library.sentences(candidates), vector, keep=controls.candidates(limit))
    hits = search.library.hits(ranked, scope)
    return tuple(_with_terms(hit, weights) for hit in rank(hits, limit=limit, controls=controls))


def weighted_terms(question: str, expansions: Sequence[Expansion]) -> dict[str, float]:
    """The index terms to look for, and what each counts.

    >>> weighted_terms("How much iron for a 12-year-old?", ())
    {'iron': 1.0}
    """
    words = _AGE.sub(" ", question).split()
    asked = " ".join(word for word in words if word.casefold().strip(",.?") not in ASKING)
    weights = dict.fromkeys(terms(asked) or terms(question), 1.0)
    for expansion in expansions:
        added = [term for term in terms(expansion.phrase) if len(term) > 1]
        for term in added:
            weights.setdefault(term, EXPANSION_WEIGHT / len(added))
    return weights


def question_vectors(
    questions: Sequence[str], expansions: Sequence[Sequence[Expansion]], embedder: Embedder
) -> list[Vector]:
    """Each question's vector: between its two spellings, and between a person's words and the names for them."""
    wordings = [[one, *_other_wordings(one, added)] for one, added in zip(questions, expansions, strict=True)]
    vectors = embedder.embed([wording for several in wordings for wording in several])
    found, at = [], 0
    for several in wordings:
        mean: Vector = vectors[at] + OTHER_WEIGHT * vectors[at + 1 : at + len(several)].sum(axis=0)
        mean /= max(float(np.linalg.norm(mean)), 1e-9)
        found.append(mean)
        at += len(several)
    return found


def _other_wordings(question: str, expansions: Sequence[Expansion]) -> list[str]:
    """The question in the other spelling; and, where it uses a lay word, with the clinical and with the plain name.

    >>> lay = [Expansion("haematuria", "lay word", (0, 12)), Expansion("blood in urine", "synonym", (0, 12))]
    >>> _other_wordings("blood in wee?", lay)
    ['haematuria?', 'blood in urine?']
    """
    names: dict[tuple[int, int], dict[str, str]] = {}
    lay = {added.from_words for added in expansions if added.reason == "lay word"}
    for added in expansions:
        if added.reason == "spelling" or added.from_words in lay:
            spelt = " ".join(us_spelling(word) for word in added.phrase.split())
            names.setdefault(added.from_words, {}).setdefault(spelt, added.phrase)
    found = []
    for number in range(MAX_WORDINGS):
        other, end = question, len(question)
        for span in sorted(names, reverse=True):
            phrases = list(names[span].values())
            if span[1] <= end and number < len(phrases):
                other, end = other[: span[0]] + phrases[number] + other[span[1] :], span[0]
        found.append(other)
    return [other for other in dict.fromkeys(found) if other != question]


def _checked(question: str) -> str:
    question = " ".join(question.split())
    if not question:
        raise InputError("Type a few words to search for.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise InputError(f"A question may have up to {MAX_QUESTION_CHARACTERS:,} characters; this one is longer.")
    return question


def _fused(candidates: Sequence[Candidate], sentences: Sentences, vector: Vector, *, keep: int) -> list[Ranked]:
    """The best candidates with their final scores, best first."""
    vectors = sentences.vectors()
    near = _near(sentences, products(vectors, vector))
    nearest = [max(near.get((one.generation, one.chunk_index), NO_SENTENCES), key=_cosine) for one in candidates]
    similarities = list(map(_cosine, nearest))
    cosines, coverages = [one.cosine for one in candidates], [one.coverage for one in candidates]
    words = [one.lexical_score for one in candidates]
    scores = fuse(cosines, similarities, words, coverages, _centroids(candidates, sentences, vectors)).tolist()
    probabilities = relevance(cosines, similarities, coverages).tolist()
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], *candidates[at][:2]))
    ranked = []
    for at in order[:keep]:
        one, (start, end, _) = candidates[at], nearest[at]
        sentence = (start, end) if end else None
        told = near.get((one.generation, one.chunk_index), ())
        why = Why(one.dense_rank, one.lexical_rank, (), sentence, told)
        ranked.append(Ranked(one, scores[at], probabilities[at], why))
    return ranked


def _centroids(candidates: Sequence[Candidate], sentences: Sentences, vectors: Vectors) -> Vectors:
    """The mean of each candidate's sentence vectors, of unit length; nothing where it has no sentences."""
    centroids = np.zeros((len(candidates), vectors.shape[1]), np.float32)
    if sentences.keys:
        runs = pairwise(sentences.starts.tolist())
        sums = np.array([vectors[first:end].sum(axis=0) for first, end in runs])  # four times as fast as `reduceat`
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        row_of = {key: row for row, key in enumerate(sentences.keys)}
        found = [row_of.get((one.generation, one.chunk_index)) for one in candidates]
        here = [at for at, row in enumerate(found) if row is not None]
        centroids[here] = sums[[row for row in found if row is not None]]
    return centroids


def _near(sentences: Sentences, similarities: NDArray[np.float32]) -> dict[tuple[int, int], tuple[Near, ...]]:
    """The sentences of each passage, and how near each is to the question."""
    spans, cosines = sentences.spans.tolist(), similarities.tolist()
    starts = sentences.starts.tolist()
    told = [(start, end, cosine) for (start, end), cosine in zip(spans, cosines, strict=True)]
    return {key: tuple(told[first:last]) for key, first, last in zip(sentences.keys, starts, starts[1:], strict=False)}


def _cosine(sentence: Near) -> float:
    return sentence[2]


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
    return [(start, end) for start, end in spans if any(term in weights for term in word_terms(text[start:end]))]
