"""Puts passages in order: fused scores of meaning and words, then quality controls on what is shown."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from citewell.answer.denial_cues import NEGATIONS
from citewell.answer.relevance_curve import Calibration, Reach
from citewell.ports import Candidate, RankedCandidate, Sentences, Vector, Vectors, products
from citewell.types import Hit, MatchReason, Near

Scores = NDArray[np.float64]
"""One number per candidate."""


@dataclass(frozen=True, slots=True)
class RankWeights:
    """How much each view counts in the order.

    Chosen on questions about documents that the embedder has not learned (bench/notes/retrieval.md). Cosines are taken
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


WEIGHTS = RankWeights()


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

    >>> from citewell.answer.relevance_curve import built_in
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


# ---------------------------------------------------------------------------------------------------- scored candidates


Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SentenceLayout:
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
    def of(cls, sentences: Sentences) -> SentenceLayout:
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
class ScoredCandidate:
    """A candidate with its final scores, and where its sentences are laid out."""

    candidate: Candidate
    rank_score: float
    relevance: float
    first: int
    cosines: NDArray[np.float32]
    """How near each of its sentences is."""

    def ranked(self, layout: SentenceLayout) -> RankedCandidate:
        spans = layout.spans[self.first : self.first + len(self.cosines)]
        near = zip(spans, self.cosines.tolist(), strict=True)
        why = _why(self.candidate, tuple((start, end, cosine) for (start, end), cosine in near))
        return RankedCandidate(self.candidate, self.rank_score, self.relevance, why)


def score_candidates(
    candidates: Sequence[Candidate], layout: SentenceLayout, vector: Vector, *, calibration: Calibration, keep: int
) -> list[ScoredCandidate]:
    """The best candidates with their final scores, best first."""
    rows = np.array([layout.rows.get(candidate[:2], len(layout.rows)) for candidate in candidates], np.int64)
    firsts, counts = layout.starts[rows], layout.starts[rows + 1] - layout.starts[rows]
    ends = counts.cumsum()
    places = np.repeat(firsts - ends + counts, counts) + np.arange(counts.sum())
    similarities, sentence_cosines = np.zeros(len(candidates)), np.zeros(0, np.float32)
    if len(places):
        sentence_cosines = products(layout.vectors.take(places, axis=0), vector)
        held = np.flatnonzero(counts)
        similarities[held] = np.maximum.reduceat(sentence_cosines, (ends - counts)[held])
    cosines = [candidate.cosine for candidate in candidates]
    coverages = [candidate.coverage for candidate in candidates]
    words = [candidate.lexical_score for candidate in candidates]
    scores = fuse(cosines, similarities, words, coverages, layout.centroids.take(rows, axis=0)).tolist()
    probabilities = relevance(cosines, similarities, coverages, calibration=calibration).tolist()
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], *candidates[at][:2]))[:keep]
    starts, ends_told, opens = firsts.tolist(), ends.tolist(), (ends - counts).tolist()
    return [
        ScoredCandidate(
            candidates[at], scores[at], probabilities[at], starts[at], sentence_cosines[opens[at] : ends_told[at]]
        )
        for at in order
    ]


def _why(candidate: Candidate, near: tuple[Near, ...]) -> MatchReason:
    """The ranks of a passage, its sentences with how near each is to the question, and the nearest of them."""
    nearest = max(near, key=_cosine, default=None)
    return MatchReason(
        candidate.dense_rank, candidate.lexical_rank, (), nearest[:2] if nearest and nearest[1] else None, near
    )


def _cosine(sentence: Near) -> float:
    return sentence[2]


# ----------------------------------------------------------------------------------------------------- quality controls


@dataclass(frozen=True, slots=True)
class Controls:
    """What a search shows; a table to be reviewed, so every number has one place."""

    reach: Reach = "near"
    """How near to the question a passage must be to be kept: the calibration of the embedder has the cosines."""
    min_relevance: float = 0.05
    """So is one whose relevance reaches this: a code found word for word, one good sentence in a long passage.

    """
    duplicate_jaccard: float = 0.9
    """Two passages that share more than this part of their words are one; no two share more than all."""
    per_document: int = 3
    """Passages of one document, while other documents are relevant too."""
    relevant_share: float = 0.5
    """A document is relevant too when its best relevance is at least this part of the best of all."""
    explaining_share: float = 0.85
    """A passage that explains recommendations counts this part of its score: what is recommended comes first."""
    back_matter_share: float = 0.6
    """So does one of what a document says of itself, such as its references: they hold the words of every question."""
    to_answer: bool = False
    """A question is to be answered: words that a document may use for others are looked for too."""
    candidates_per_hit: int = 3
    min_candidates: int = 50
    min_searched: int = 100
    """Passages that the index is asked for, by meaning and by words, however few are shown."""

    def candidates(self, limit: int) -> int:
        """How many passages are looked at to show `limit`.

        >>> Controls().candidates(5), Controls().candidates(40)
        (50, 120)
        """
        return max(self.candidates_per_hit * limit, self.min_candidates)


CONTROLS = Controls()
ANSWERING = Controls(to_answer=True)

_BACK_MATTER = re.compile(
    r"""(?:\d[\d.]*\s++)? (?: (?:references|bibliography|further\ reading|(?:table\ of\ )?contents|tables|figures
    | (?:list\ of\ )?abbreviations|acknowledge?ments?|contributors|guideline\ development\ group)$
    | © | updating\ the\ (?:recommendations?|guidelines?)\b
    | .*\b(?:declar\w+\ (?:of\ )?interests?|conflicts?\ of\ interests?)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles of sections in which a document speaks of itself."""
EXPLAINS = re.compile(
    r"""(?:\d[\d.]*\s++)? (?: why\b | rationale\b | justification\b
    | how\ the\ recommendations?\ (?:might|may)\ affect\b | evidence\ (?:review|behind|to\ decision)\b
    | certainty\ of\b | update\ information\b | recommendations?\ for\ (?:further\ )?research\b
    | (?:guideline-relevant\ |areas\ for\ |further\ )*research
      (?:\ (?:recommendations?|needs|gaps|implications|priorities)\b | $) )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles of sections that say why or on what grounds, not what to do."""
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")


def rank(hits: Sequence[Hit], *, limit: int, calibration: Calibration, controls: Controls = CONTROLS) -> list[Hit]:
    """The best `limit` hits: near enough, no copies, no document that crowds out another relevant one."""
    if limit <= 0:
        return []
    weighed = (_weighed(hit, controls) for hit in hits if is_near(hit, controls, calibration))
    near = sorted(weighed, key=_order)
    distinct = without_copies(near[: controls.candidates(limit)], controls)
    return sorted(_spread(distinct, limit, controls), key=_order)


def is_near(hit: Hit, controls: Controls, calibration: Calibration) -> bool:
    """Whether a hit is worth showing; a score that is not a number never passes."""
    return hit.raw_cosine >= calibration.least(controls.reach) or hit.relevance >= controls.min_relevance


def _weighed(hit: Hit, controls: Controls) -> Hit:
    """The hit, by the sections it stands in: what explains comes after what is recommended, references last."""
    share = 1.0
    if any(map(_BACK_MATTER.match, hit.section[hit.section[:1] == (hit.document,) :])):
        share = controls.back_matter_share
    elif any(map(EXPLAINS.match, hit.section)):
        share = controls.explaining_share
    return hit if share == 1.0 else replace(hit, rank_score=hit.rank_score * share)


def _order(hit: Hit) -> tuple[float, float, str, int]:
    """Best first, the same on every machine; a score that is not a number comes last."""
    return (-_number(hit.rank_score), -_number(hit.relevance), hit.document_id, hit.chunk_index)


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def without_copies(hits: Sequence[Hit], controls: Controls) -> list[Hit]:
    """Each near-duplicate once, in the place of the best: which copy is kept is not a matter of its score."""
    if controls.duplicate_jaccard >= 1:
        return list(hits)
    kept: list[Hit] = []
    words: list[frozenset[str]] = []
    marked: dict[str, list[int]] = {}
    for hit in hits:
        mine = frozenset(_WORD.findall(hit.text.casefold()))
        marks = _marks(mine, controls.duplicate_jaccard)
        alike = sorted({place for mark in marks for place in marked.get(mark, ())})
        twin = next((place for place in alike if _same(mine, words[place], controls.duplicate_jaccard)), len(kept))
        if twin == len(kept):
            kept.append(hit)
            words.append(mine)
        elif _is_preferred(hit, kept[twin]):
            kept[twin], words[twin] = _in_place_of(kept[twin], hit), mine
        else:
            continue
        for mark in marks:
            marked.setdefault(mark, []).append(twin)
    return kept


def _is_preferred(hit: Hit, other: Hit) -> bool:
    """Whether a copy is to be cited rather than one with a better score: current, then with authority, then newer.

    Only current versions are searched; that one document replaced another which is still there is known by its title
    and version. Of authority documents say no more than who published them: a named publisher counts more than none.
    """
    if hit.document == other.document and hit.version != other.version:
        return hit.version > other.version
    return _standing(hit) > _standing(other)


def _standing(hit: Hit) -> tuple[bool, date]:
    return bool(hit.publisher and hit.publisher.strip()), hit.published or date.min


def _in_place_of(best: Hit, hit: Hit) -> Hit:
    """A copy with the place of one that says the same: being the better source must not cost it its rank."""
    return replace(hit, rank_score=best.rank_score, relevance=max(hit.relevance, best.relevance, key=_number))


def _marks(words: frozenset[str], jaccard: float) -> list[str]:
    """A few words, one of which is a mark of any set that shares more than this part with `words`.

    Sets so alike differ in fewer words than there are marks, and the marks are the first words in one order for all.

    >>> _marks(frozenset("take one tablet of 5 mg each morning with water".split()), 0.9)
    ['morning', 'tablet']
    """
    ordered = sorted(sorted(words), key=len, reverse=True)
    return ordered[: len(words) - math.ceil(jaccard * len(words)) + 1] or [""]


def _same(one: frozenset[str], other: frozenset[str], jaccard: float) -> bool:
    """Whether two word sets say the same.

    A number or a negation on one side only is another statement, however alike the rest: 5 mg is not 50 mg.

    >>> leaflet = frozenset("take one tablet of 5 mg each morning with water".split())
    >>> [_same(leaflet, leaflet | {word}, 0.9) for word in ("daily", "not", "50")]
    [True, False, False]
    """
    if min(len(one), len(other)) < jaccard * max(len(one), len(other)):
        return False
    shared = len(one & other)
    either = len(one) + len(other) - shared
    if shared <= jaccard * either:
        return either == 0
    return not any(word in NEGATIONS or word[0].isdigit() for word in one ^ other)


def _spread(hits: Sequence[Hit], limit: int, controls: Controls) -> list[Hit]:
    """At most `per_document` passages of each relevant document, then what is best of the rest."""
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.document_id] = max(best.get(hit.document_id, -math.inf), _number(hit.relevance))
    floor = controls.relevant_share * max(best.values(), default=0.0)
    relevant = {document for document, relevance in best.items() if relevance >= floor}
    if len(relevant) < 2:
        return list(hits[:limit])
    taken: Counter[str] = Counter()
    first, rest = [], []
    for hit in hits:
        if hit.document_id in relevant and taken[hit.document_id] < controls.per_document:
            taken[hit.document_id] += 1
            first.append(hit)
        else:
            rest.append(hit)
    return (first + rest)[:limit]
