"""The filter on what goes out: boundary, phrases, attribution; rephrased where it can be, else calm words instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from citewell.assistants.records.phrases import Category, UnsafePhrase, find_phrases
from citewell.assistants.records.rephrase import rephrase
from citewell.assistants.records.sources import Sources
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import Language, language_of

WORST: tuple[Category, ...] = ("alarming", "prescriptive", "diagnostic", "unattributed")
"""Which calm words are shown where several would fit, and what is rephrased first."""


MAX_SENTENCE = 2_000
"""A longer sentence is none; it is not shown, for nobody could check it in time."""


@dataclass(frozen=True, slots=True)
class SafeText:
    """May be shown as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class RephrasedText:
    """May be shown in other words."""

    text: str
    findings: tuple[UnsafePhrase, ...]


@dataclass(frozen=True, slots=True)
class BlockedText:
    """May not be shown; calm words take its place."""

    text: str
    findings: tuple[UnsafePhrase, ...]


Outcome = SafeText | RephrasedText | BlockedText


def check_sentence(sentence: str, sources: Sources) -> Outcome:
    """Filter one sentence, as they are released to the screen."""
    if len(sentence) > MAX_SENTENCE:
        return BlockedText(template("boundary", language_of(sentence[:MAX_SENTENCE])), ())
    findings = find_phrases(sentence, sources)
    if not findings:
        return SafeText(sentence)
    said, left = sentence, findings
    for _ in WORST:  # each round mends one kind of phrase
        reworded = rephrase(said, min(left, key=lambda phrase: WORST.index(phrase.category)), sources)
        if reworded is None:
            break
        said, left = reworded, find_phrases(reworded, sources)
        if not left:
            return RephrasedText(said, findings)
    return BlockedText(_calm(findings, language_of(sentence)), findings)


def counted(findings: Iterable[UnsafePhrase]) -> dict[Category, int]:
    """How many phrases of each category were found: what a log may hold."""
    return dict(Counter(finding.category for finding in findings))


@cache
def _templates() -> dict[tuple[str, str], str]:
    return {(why, language): text for why, language, text in rows("templates.tsv")}


def template(why: str, language: Language) -> str:
    """The calm words for a reason.

    >>> template("diagnostic", "en")
    'I can show what your documents say, but not what may be causing it. Your doctor can tell you more.'
    """
    return _templates()[why, language]


def _calm(findings: Iterable[UnsafePhrase], language: Language) -> str:
    return template(min((finding.category for finding in findings), key=WORST.index), language)
