"""Finds what an answer must not say in its own voice: diagnoses, advice, alarm, claims without a source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from citewell.assistants.records.learned_phrases import learned_category
from citewell.assistants.records.screening import plain_letters, without_invisible
from citewell.assistants.records.source_sentences import Sources
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import Language, language_of, languages_in, spelled, whole_words

Category = Literal["alarming", "prescriptive", "diagnostic", "unattributed"]
BEFORE = 200
"""How many characters before a phrase are looked at for what excuses it."""
EXEMPT: frozenset[Category] = frozenset({"diagnostic", "unattributed"})
"""What a sentence may say that tells where it stands."""


@dataclass(frozen=True, slots=True)
class UnsafePhrase:
    """A phrase of a sentence that must not be said, by its place in the sentence as it is spelled out."""

    category: Category
    language: Language
    start: int
    end: int


def filled(pattern: str) -> str:
    """A pattern of a table with its {words} put in."""
    for _ in range(2):  # words may hold other words
        for name, words in rows("phrase_words.tsv"):
            pattern = pattern.replace(f"{{{name}}}", f"(?:{words})")
    return pattern


@cache
def _phrases() -> tuple[tuple[Category, Language, re.Pattern[str]], ...]:
    return tuple(
        (cast(Category, category), cast(Language, language), whole_words(filled(pattern)))
        for category, language, pattern in rows("phrases.tsv")
    )


@cache
def _excuses() -> tuple[tuple[frozenset[str], re.Pattern[str]], ...]:
    return tuple(
        (frozenset(categories.split()), re.compile(rf"(?<!\w){pattern}(?!\w)[^,;:.]*$", re.IGNORECASE))
        for categories, pattern in rows("phrase_excuses.tsv")
    )


@cache
def _attributions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (language, re.compile(rf"(?<!\w)(?:{filled(pattern)})", re.IGNORECASE))
        for language, pattern in rows("attributions.tsv")
    )


def is_attributed(sentence: str) -> bool:
    """Whether a sentence says where its statement stands: a document, a professional, a citation.

    >>> is_attributed("Dr Chen noted a cough."), is_attributed("You have a cough.")
    (True, False)
    """
    plain = spelled(bare(sentence))
    spoken = {*languages_in(plain), "en"}  # citations stand with the English rows
    return any(pattern.search(plain) for language, pattern in _attributions() if language in spoken)


_MARKUP = re.compile(r"</?[a-z][^<>]{0,40}>|[*_`~#“”„«»\"]+", re.IGNORECASE)


def bare(sentence: str) -> str:
    """A sentence without marks and characters between which a phrase could hide.

    >>> bare("**You** ha\u200bve lupus")
    'You have lupus'
    """
    return _MARKUP.sub("", without_invisible(sentence))


def find_phrases(sentence: str, sources: Sources) -> tuple[UnsafePhrase, ...]:
    """What a sentence must not say; words that it quotes from the record are the record's own.

    >>> [found.category for found in find_phrases("You should stop taking aspirin.", Sources.of([]))]
    ['prescriptive']
    """
    is_placed = is_attributed(sentence)
    plain = plain_letters(spelled(bare(sources.without_quotes(sentence) if is_placed else sentence)))
    spoken = {*languages_in(plain), "en"}  # one letter of another language does not make a sentence of it
    unsafe_phrases = [
        UnsafePhrase(category, language, *match.span())
        for category, language, pattern in _phrases()
        if language in spoken and not (is_placed and category in EXEMPT)
        for match in pattern.finditer(plain)
        if not _is_excused(category, plain, match.start())
    ]
    if not is_placed and all(phrase.category == "unattributed" for phrase in unsafe_phrases):
        unsafe_phrases += _learned(plain)
    # a place is asked for where nothing worse is said
    return _longest(phrase for phrase in unsafe_phrases if phrase.category != "unattributed") or _longest(
        unsafe_phrases
    )


def _learned(plain: str) -> list[UnsafePhrase]:
    """A sentence of which no phrase is known, and which does by its words what it must not; a question does not."""
    category = None if plain.rstrip().endswith("?") else learned_category(plain)
    return [] if category is None else [UnsafePhrase(category, language_of(plain), 0, len(plain))]


def _is_excused(category: Category, plain: str, start: int) -> bool:
    """Whether what stands before a phrase makes it a question or a condition."""
    if category == "unattributed" and plain.endswith("?"):
        return True
    before = plain[max(0, start - BEFORE) : start]
    return any(category in categories and pattern.search(before) for categories, pattern in _excuses())


def _longest(unsafe_phrases: Iterable[UnsafePhrase]) -> tuple[UnsafePhrase, ...]:
    """Of findings that overlap, the longest."""
    kept: list[UnsafePhrase] = []
    for phrase in sorted(unsafe_phrases, key=lambda each: (each.start - each.end, each.start)):
        if all(phrase.end <= other.start or other.end <= phrase.start for other in kept):
            kept.append(phrase)
    return tuple(sorted(kept, key=lambda each: each.start))
