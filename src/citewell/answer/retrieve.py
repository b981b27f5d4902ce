"""Finds the passages that may answer: candidates from the index, their best sentence, one fused order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from citewell.answer.expand import Expansion, expand
from citewell.answer.rank import CONTROLS, Controls, ScoredCandidate, SentenceLayout, rank, score_candidates
from citewell.answer.relevance_curve import Calibration, Calibrations, known
from citewell.clinical import Lexicon
from citewell.clinical.questions import question_cues
from citewell.errors import EmbedderMismatch, InputError
from citewell.orders import screened
from citewell.ports import Embedder, Index, Library, RankedCandidate, Vector
from citewell.sentences import terms, word_spans, word_terms
from citewell.types import Hit, Scope
from citewell.vocabulary.uk_us_spelling import us_spelling
from citewell.work import spend

MAX_QUESTION_CHARACTERS = 4_000
EXPANSION_WEIGHT = 0.25
"""How much a phrase that was added to the question counts beside one word that the person typed."""
TALK = frozenset(
    terms(
        "today tonight yesterday tomorrow now still next go going come place role best good right okay wonder want "
        "work affect influence"
    )
)
"""Words of a person's tale that no answer needs, where it is a question and not a claim."""
ASKING = frozenset(
    """how much many do does did should can could would may might must shall where why whom whose my me am any please
    tell""".split()
)
"""Words that make a question of what it is about; they find nothing."""
_AGE = re.compile(
    r"\b(?:aged?\s+\d{1,3}|\d{1,3}[\s-]*(?:years?|yrs?|months?|weeks?|days?)[\s-]*(?:old|of\s+age))\b", re.IGNORECASE
)
"""An age is no word to look for: a document says “aged 40 and over” where a question says “50 year old”."""
_PRESSURE = re.compile(r"(?<![\w./])[12]?\d\d/1?\d\d(?![\w/])")
"""Nor is a blood pressure: a document says “180/120 or higher” where a question says “190/125”."""
MAX_WORDINGS = 2
"""In how many other wordings a question is embedded."""
OTHER_WEIGHT = 0.7
"""What another wording counts beside the words that were typed."""


ChooseCandidates = Callable[[list[list[ScoredCandidate]]], list[list[ScoredCandidate]]]
"""Drops candidates from the ranked lists of several questions that answer none of them."""


@dataclass(frozen=True, slots=True)
class Search:
    """The parts that one search needs."""

    library: Library
    index: Index
    embedder: Embedder
    lexicon: Lexicon
    calibrations: Calibrations = known
    """How the cosines of an embedder are read; without a home folder, by the reviewed table alone."""

    @property
    def calibration(self) -> Calibration:
        """That of the embedder in use."""
        return self.calibrations(self.embedder.fingerprint)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and the words that were added to the question to find them."""

    hits: tuple[Hit, ...]
    expansions: tuple[Expansion, ...]


def retrieve(
    question: str, *, scope: Scope, search: Search, limit: int = 10, controls: Controls = CONTROLS
) -> SearchResult:
    """The passages nearest to a question among what the scope may see."""
    return retrieve_all([question], scope=scope, search=search, limit=limit, controls=controls)[0]


def refuse_misfit(known: str | None, embedder: str) -> None:
    """Refuse to compare a question with vectors that another embedder made."""
    if known is not None and known != embedder:
        raise EmbedderMismatch(
            f"This library was indexed with {known}, but the embedding model in use is {embedder}. Start again with "
            "the library's model, or run `citewell evidence reingest` to index everything with the new one."
        )


def retrieve_all(
    questions: Sequence[str | tuple[str, ...]],
    *,
    scope: Scope,
    search: Search,
    limit: int = 10,
    controls: Controls = CONTROLS,
    with_terms: bool = True,
    choose: ChooseCandidates | None = None,
) -> list[SearchResult]:
    """The same for several questions: what they share is embedded, looked up and read once.

    A question of several parts looks for the words of all of them, and for what lies between them in meaning. Without
    terms the hits do not say which words of the question they hold; that costs more than finding them. What `choose`
    leaves of the orders of all questions is read.
    """
    spend()
    refuse_misfit(search.library.embedder(), search.embedder.fingerprint)
    calibration = search.calibration
    queries = _index_queries(questions, search, to_answer=controls.to_answer)
    wanted = max(controls.candidates(limit), controls.min_searched)
    candidates = search.index.candidates_of_each(
        [(query.vector, query.weights) for query in queries], scope=scope, limit=wanted
    )
    distinct = {candidate[:2]: candidate for several in candidates for candidate in several}
    layout = SentenceLayout.of(search.library.sentences(list(distinct.values())))
    scored = [
        score_candidates(several, layout, query.vector, calibration=calibration, keep=controls.candidates(limit))
        for several, query in zip(candidates, queries, strict=True)
    ]
    chosen = choose(scored) if choose else scored
    ranked = [[candidate.ranked(layout) for candidate in several] for several in chosen]
    results = []
    for query, plain in zip(queries, _hits_of_each(ranked, scope, search), strict=True):
        read = plain if calibration.is_fitted else [replace(hit, is_calibrated=False) for hit in plain]
        weighing = replace(controls, explaining_share=1.0) if query.is_why else controls
        shown = rank(read, limit=limit, calibration=calibration, controls=weighing)
        safe = [screened(hit) for hit in shown]
        with_words = (_with_terms(hit, query.weights) for hit in safe) if with_terms else safe
        results.append(SearchResult(tuple(with_words), query.expansions))
    return results


@dataclass(frozen=True, slots=True)
class _IndexQuery:
    """A question as the index is asked it."""

    vector: Vector
    weights: dict[str, float]
    expansions: tuple[Expansion, ...]
    text: str
    """Its first part."""

    @property
    def is_why(self) -> bool:
        return self.text.casefold().startswith("why")


def _index_queries(questions: Sequence[str | tuple[str, ...]], search: Search, *, to_answer: bool) -> list[_IndexQuery]:
    """Every question with its vector and its terms; a part of several questions is embedded once."""
    parts = [
        [_checked_text(part) for part in ((question,) if isinstance(question, str) else question)]
        for question in questions
    ]
    texts = list(dict.fromkeys(part for several in parts for part in several))
    expansions = {text: expand(text, lexicon=search.lexicon, to_answer=to_answer) for text in texts}
    vectors = dict(zip(texts, question_vectors(texts, list(expansions.values()), search.embedder), strict=True))
    queries = []
    for several in parts:
        weights: dict[str, float] = {}
        for part in several:
            for term, weight in weighted_terms(part, expansions[part]).items():
                weights[term] = max(weight, weights.get(term, 0.0))
        vector = vectors[several[0]] if len(several) == 1 else _middle([vectors[part] for part in several])
        added = tuple(expansion for part in several for expansion in expansions[part])
        queries.append(_IndexQuery(vector, weights, added, several[0]))
    return queries


def _middle(vectors: Sequence[Vector]) -> Vector:
    """The unit vector between several."""
    mean: Vector = np.sum(vectors, axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    return mean


def _hits_of_each(ranked: Sequence[Sequence[RankedCandidate]], scope: Scope, search: Search) -> list[list[Hit]]:
    """The hits of each question; a passage that several find is read once."""
    distinct = {candidate.candidate[:2]: candidate for several in ranked for candidate in several}
    key_of = {id(ranked_candidate.why): key for key, ranked_candidate in distinct.items()}
    passages = {key_of[id(hit.why)]: hit for hit in search.library.hits(list(distinct.values()), scope)}
    return [
        [
            _as_found(passages[candidate.candidate[:2]], candidate)
            for candidate in several
            if candidate.candidate[:2] in passages
        ]
        for several in ranked
    ]


def _as_found(hit: Hit, ranked: RankedCandidate) -> Hit:
    """The hit, as one question found its passage."""
    if hit.why is ranked.why:
        return hit
    cosine = ranked.candidate.cosine
    return replace(hit, why=ranked.why, raw_cosine=cosine, rank_score=ranked.rank_score, relevance=ranked.relevance)


def weighted_terms(question: str, expansions: Sequence[Expansion]) -> dict[str, float]:
    """The index terms to look for, and what each counts.

    >>> weighted_terms("How much iron for a 12-year-old?", ())
    {'iron': 1.0}
    """
    words = _PRESSURE.sub(" ", _AGE.sub(" ", question)).split()
    asked = " ".join(word for word in words if word.casefold().strip(",.?") not in ASKING)
    sought = (
        [term for term in terms(asked) if term not in TALK] if "question" in question_cues(question) else terms(asked)
    )
    weights = dict.fromkeys(sought or terms(question), 1.0)
    members = sum(expansion.reason == "member" for expansion in expansions)
    for expansion in expansions:
        added = [term for term in terms(expansion.phrase) if len(term) > 1]
        shared = members if expansion.reason == "member" else 1  # one member is enough: no passage names them all
        for term in added:
            weights.setdefault(term, EXPANSION_WEIGHT / len(added) / shared)
    return weights


def question_vectors(
    questions: Sequence[str], expansions: Sequence[Sequence[Expansion]], embedder: Embedder
) -> list[Vector]:
    """Each question's vector: between its two spellings, and between a person's words and the names for them."""
    wordings = [
        [question, *_other_wordings(question, added)] for question, added in zip(questions, expansions, strict=True)
    ]
    vectors = embedder.embed([wording for several in wordings for wording in several])
    vectors_of_each, at = [], 0
    for several in wordings:
        mean: Vector = vectors[at] + OTHER_WEIGHT * vectors[at + 1 : at + len(several)].sum(axis=0)
        mean /= max(float(np.linalg.norm(mean)), 1e-9)
        vectors_of_each.append(mean)
        at += len(several)
    return vectors_of_each


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
    wordings = []
    for number in range(MAX_WORDINGS):
        other, end = question, len(question)
        for span in sorted(names, reverse=True):
            phrases = list(names[span].values())
            if span[1] <= end and number < len(phrases):
                other, end = other[: span[0]] + phrases[number] + other[span[1] :], span[0]
        wordings.append(other)
    return [other for other in dict.fromkeys(wordings) if other != question]


def _checked_text(question: str) -> str:
    question = " ".join(question.split())
    if not question:
        raise InputError("Enter a few words to search for.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise InputError(f"The question is too long. The limit is {MAX_QUESTION_CHARACTERS:,} characters.")
    return question


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
