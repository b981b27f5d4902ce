"""The filter on what goes out: boundary, phrases, attribution; rephrased where it can be, else calm words instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from citewell.assistants.records.boundary_check import Boundary, judge
from citewell.assistants.records.source_sentences import Sources
from citewell.assistants.records.tables import rows
from citewell.assistants.records.unsafe_phrases import Category, UnsafePhrase, bare, filled, find_phrases
from citewell.clinical.languages import Language, language_of, spelled

_MARKS = re.compile(r"(?:(?<!\s)\s+)?\[[^\]\n]{1,80}\]")
_ITEM = re.compile(r"\s*(?:[-•*▪–]|\d+[.)])\s+")
"""What an item of a list opens with."""
_END = re.compile(r"(?<![\s.!?])[\s.!?]++$")


@cache
def _rules() -> tuple[tuple[Category, str, str, re.Pattern[str], str], ...]:
    known: dict[str, Category] = {
        "alarming": "alarming",
        "prescriptive": "prescriptive",
        "diagnostic": "diagnostic",
        "unattributed": "unattributed",
    }
    return tuple(
        (known[category], language, needs, re.compile(filled(pattern), re.IGNORECASE), words)
        for category, language, needs, pattern, words in rows("rephrasings.tsv")
    )


def rephrase(sentence: str, finding: UnsafePhrase, sources: Sources) -> str | None:
    """A sentence in words that may be said, citations kept; None where no rule fits or the record has no such thing.

    >>> rephrase("You should stop taking aspirin.", UnsafePhrase("prescriptive", "en", 0, 15), Sources.of([]))
    'You might want to discuss with your doctor whether to stop taking aspirin.'
    """
    marks = "".join(f" {mark.strip()}" for mark in _MARKS.findall(sentence))
    opening = sentence[: _opened(sentence)]
    plain = _END.sub("", spelled(bare(_MARKS.sub("", sentence[len(opening) :]))))
    for category, language, needs, pattern, words in _rules():
        match = pattern.fullmatch(plain) if (category, language) == (finding.category, finding.language) else None
        if match is None:
            continue
        parts = {name: part or "" for name, part in match.groupdict().items()}
        rest = parts.get("rest", "")
        if (needs == "told" and not sources.tell(rest)) or (needs == "amounts" and not sources.have_amounts(rest)):
            return None
        said = words.format(**(parts | {"rest": rest if language == "de" else _lowered(rest)})).rstrip(".")
        return f"{opening}{said[:1].upper()}{said[1:]}{marks}."
    return None


def _opened(sentence: str) -> int:
    """Where a sentence begins after the mark of a list."""
    item = _ITEM.match(sentence)
    return item.end() if item else 0


def _lowered(text: str) -> str:
    """A text that goes on in the middle of a sentence."""
    first, _, others = text.partition(" ")
    is_name = any(one.isupper() for one in first[1:]) or len(first) == 1
    return text if is_name else f"{first.lower()} {others}".strip()


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
    if judge(sentence) is Boundary.OUT_OF_BOUNDS:
        return BlockedText(template("boundary", language_of(sentence)), ())
    findings = find_phrases(sentence, sources)
    if not findings:
        return SafeText(sentence)
    said, left = sentence, findings
    for _ in WORST:  # each round mends one kind of phrase
        worst = min(left, key=lambda phrase: WORST.index(phrase.category))
        reworded = rephrase(said, worst, sources)
        if reworded is None and worst.category != "unattributed":  # what the record says needs its place alone
            reworded = rephrase(said, replace(worst, category="unattributed"), sources)
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
