"""What a question asks for: a fact, an explanation, a complaint, a course of time, or something general."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache

from citewell.assistants.example_nearness import Embed, nearness_to
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import LANGUAGES, Language, language_of, spelled, whole_words
from citewell.ports import Vectors

READ_OF_EXAMPLES = 300
"""How many characters of a question are held against the examples."""

Nearness = Callable[[str], Mapping[str, float]]
"""For each kind, how near a question is to the examples."""


@cache
def examples() -> tuple[tuple[str, ...], list[str]]:
    """The names of the examples and their words."""
    found = rows("examples.tsv")
    return tuple(name for name, _ in found), [words for _, words in found]


def nearness(embed: Embed, vectors: Vectors) -> Nearness:
    """Measures questions against the examples, whose vectors are given."""
    measured = nearness_to(examples()[0], vectors, embed)
    return lambda question: measured(question[:READ_OF_EXAMPLES])


class QuestionKindRule(StrEnum):
    """The kinds of question, in the order that decides between equal sums."""

    EXPLORATORY = "exploratory"
    TIMELINE = "timeline"
    FACTUAL = "factual"
    SYMPTOM = "symptom"
    GENERAL = "general"


MEANING = 20.0
"""What a cosine of 1 with the examples of a kind weighs beside the cues."""
READ = 160
"""How many characters of a question tell its kind, half from its start and half from its end."""


@cache
def _cues(language: Language) -> tuple[tuple[QuestionKindRule, int, re.Pattern[str]], ...]:
    return tuple(
        (QuestionKindRule(kind), int(weight), whole_words(pattern))
        for kind, weight, written_in, pattern in rows("kinds.tsv")
        if written_in == language
    )


def weigh(question: str) -> dict[QuestionKindRule, int]:
    """The sum of the weights of the cues that a question has, for each kind; cues of its own language come first."""
    asked = question if len(question) <= READ else f"{question[: READ // 2]} … {question[-READ // 2 :]}"
    text = spelled(asked).lower()
    own = language_of(text)
    sums = _weigh(text, own)
    for language in LANGUAGES:
        if language != own and not any(sums.values()):
            sums = _weigh(text, language)
    return sums


def _weigh(text: str, language: Language) -> dict[QuestionKindRule, int]:
    sums = dict.fromkeys(QuestionKindRule, 0)
    for kind, weight, pattern in _cues(language):
        if pattern.search(text):
            sums[kind] += weight
    return sums


def classify(question: str, *, near: Nearness | None = None) -> QuestionKindRule:
    """The kind of a question: the one with most behind it, and general where nothing tells.

    Cues alone take less than a millisecond; examples help with wordings that no cue knows, and cost an embedding.

    >>> classify("What is my pain medication dose?"), classify("I've been feeling dizzy lately")
    (<QuestionKindRule.FACTUAL: 'factual'>, <QuestionKindRule.SYMPTOM: 'symptom'>)
    """
    sums: dict[QuestionKindRule, float] = dict(weigh(question).items())
    if near is not None and question.strip():
        nearby = near(question)
        sums = {kind: weight + MEANING * nearby[kind] for kind, weight in sums.items()}
    best = max(sums, key=lambda kind: sums[kind])
    return best if sums[best] else QuestionKindRule.GENERAL
