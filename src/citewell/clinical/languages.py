"""Words as the tables have them: short forms in full, whole words, and the language that they are in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Literal, cast

from citewell.clinical.tables import rows

Language = Literal["en", "fr", "de"]
LANGUAGES: tuple[Language, ...] = ("en", "fr", "de")

_SHORT = tuple(
    (re.compile(short, re.IGNORECASE), full)
    for short, full in (
        (r"\bwon't\b", "will not"),
        (r"\b(can)(?:'t|not)\b", r"\1 not"),
        (r"\b(is|are|was|were|do|does|did|has|have|had|would|could|should|must|need|might)n't\b", r"\1 not"),
        (r"\b(do|does|did|can|is)nt\b", r"\1 not"),
        (r"\b(i)'?m\b(?!-)", r"\1 am"),
        (r"\b(i|you|we|they|who|could|should|would|might|must)'ve\b", r"\1 have"),
        (r"\b(i)ve\b", r"\1 have"),
        (r"\b(you|we|they|who)'re\b", r"\1 are"),
        (r"\b(i|you|he|she|it|we|they|that|there|this)'ll\b", r"\1 will"),
        (r"\b(i|you|he|she|we|they)'d better\b", r"\1 had better"),
        (r"\b(i|you|he|she|it|we|they)'d\b", r"\1 would"),
        (r"\b(it|that|this|what|who|where|how|there|here|he|she|when|why)'s\b", r"\1 is"),
    )
)
_APOSTROPHES = re.compile("[’‘ʼ´`]")
_SHORTENED = re.compile("'|ive|nt|cannot|im")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_SPACES = re.compile(r"[^\S\n]+|\s*\n\s*")


def spelled(text: str) -> str:
    """A text with one space between words and its short forms in full.

    >>> spelled("It’s bad,  I can't sleep")
    'It is bad, I can not sleep'
    """
    text = _APOSTROPHES.sub("'", " ".join(unicodedata.normalize("NFKC", text).split()))
    if "'" in text or "ive" in text.casefold() or "nt" in text.casefold() or "cannot" in text.casefold():
        for short, full in _SHORT:
            text = short.sub(full, text)
    return text


def spelled_with_places(text: str) -> tuple[str, list[int]]:
    """A text in lower case with its short forms in full, and for each character where it stands in the original.

    >>> spelled_with_places("I CAN'T  go")
    ('i can not go', [0, 1, 2, 3, 4, 5, 6, 6, 6, 8, 9, 10])
    """
    lowered = "".join(low if len(low := one.lower()) == 1 else one for one in text)
    plain, places = _APOSTROPHES.sub("'", lowered), list(range(len(text)))
    plain, places = _replaced(plain, places, _UNSEEN, lambda _match: "")
    plain, places = _replaced(plain, places, _SPACES, lambda match: "\n" if "\n" in match.group() else " ")
    if _SHORTENED.search(plain):
        for short, full in _SHORT:
            plain, places = _replaced(plain, places, short, lambda match, full=full: match.expand(full))  # type: ignore[misc]
    return plain, places


def _replaced(
    text: str, places: list[int], pattern: re.Pattern[str], full: Callable[[re.Match[str]], str]
) -> tuple[str, list[int]]:
    """A text with each match written otherwise, and the places of its characters."""
    parts, kept, at = [], list[int](), 0
    for match in pattern.finditer(text):
        start, end = match.span()
        written = full(match)
        parts += [text[at:start], written]
        kept += places[at:start]
        kept += [places[start + min(index, end - start - 1)] for index in range(len(written) - 1)]
        kept += [places[end - 1]] * bool(written)
        at = end
    return "".join([*parts, text[at:]]), [*kept, *places[at:]]


def whole_words(pattern: str) -> re.Pattern[str]:
    """A pattern of a table, compiled to match whole words in any case.

    >>> whole_words("pain").search("painkillers") is None
    True
    """
    return re.compile(rf"(?<![\w])(?:{pattern})(?![\w])", re.IGNORECASE)


@cache
def _language_words() -> tuple[tuple[Language, frozenset[str]], ...]:
    return tuple((cast(Language, language), frozenset(words.split())) for language, words in rows("languages.tsv"))


_WORD = re.compile(r"[^\W_]+")


def languages_in(text: str) -> tuple[Language, ...]:
    """The languages whose small words a text has; all of them where it has none.

    >>> languages_in("You have a cough"), languages_in("Aspirin 500")
    (('en',), ('en', 'fr', 'de'))
    """
    words = frozenset(_WORD.findall(text.casefold()))
    return tuple(language for language, known in _language_words() if words & known) or LANGUAGES


def language_of(text: str) -> Language:
    """The language whose small words a text has most of; English where nothing tells.

    >>> language_of("Welche Dosis nehme ich?"), language_of("Quelle est ma dose ?"), language_of("HbA1c?")
    ('de', 'fr', 'en')
    """
    words = _WORD.findall(text.casefold())
    counts = {language: sum(word in known for word in words) for language, known in _language_words()}
    best = max(counts, key=lambda one: counts[one])
    return best if counts[best] > counts["en"] else "en"
