"""What a question asks for: a fact, an explanation, a complaint, a course of time, or something general."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from citewell.assistants.records.cues import LANGUAGES, Language, language_of, spelled, whole_words
from citewell.assistants.records.tables import rows


class Kind(StrEnum):
    """The kinds of question, in the order that decides between equal sums."""

    EXPLORATORY = "exploratory"
    TIMELINE = "timeline"
    FACTUAL = "factual"
    SYMPTOM = "symptom"
    GENERAL = "general"


READ = 300
"""How many characters of a question tell its kind; more would only cost time."""


@cache
def _cues(language: Language) -> tuple[tuple[Kind, int, re.Pattern[str]], ...]:
    return tuple(
        (Kind(kind), int(weight), whole_words(pattern))
        for kind, weight, written_in, pattern in rows("kinds.tsv")
        if written_in == language
    )


def weigh(question: str) -> dict[Kind, int]:
    """The sum of the weights of the cues that a question has, for each kind; cues of its own language come first."""
    text = spelled(question[:READ]).casefold()
    own = language_of(text)
    sums = _weigh(text, own)
    for language in LANGUAGES:
        if language != own and not any(sums.values()):
            sums = _weigh(text, language)
    return sums


def _weigh(text: str, language: Language) -> dict[Kind, int]:
    sums = dict.fromkeys(Kind, 0)
    for kind, weight, pattern in _cues(language):
        if pattern.search(text):
            sums[kind] += weight
    return sums


def classify(question: str) -> Kind:
    """The kind of a question: the one with most behind it, and general where nothing tells.

    >>> classify("What is my pain medication dose?"), classify("I've been feeling dizzy lately")
    (<Kind.FACTUAL: 'factual'>, <Kind.SYMPTOM: 'symptom'>)
    """
    sums = weigh(question)
    best = max(sums, key=lambda kind: sums[kind])
    return best if sums[best] else Kind.GENERAL
