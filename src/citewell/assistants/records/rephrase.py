"""Says what must not be said in words that may be: by fixed rules, and only what the record bears out."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.records.phrases import Category, UnsafePhrase, bare, filled
from citewell.assistants.records.sources import Sources
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import spelled

_MARKS = re.compile(r"\s*\[[^\]\n]{1,80}\]")
_ITEM = re.compile(r"\s*(?:[-•*▪–]|\d+[.)])\s+")
"""What an item of a list opens with."""
_END = re.compile(r"[\s.!?]*$")


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
