"""What a passage of a guideline says of itself: whom it is for, where, how strong it is and how sure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from citewell.clinical.populations import shelf_words
from citewell.vocabulary import rows

_STRENGTH = re.compile(
    r"\b(?P<word>strong|conditional|weak|discretionary)(?:ly)?\s+"
    r"(?:recommendation|recommend(?:s|ed)?|in favou?r|against)\b"
    r"|\brecommendation\s*[:(–-]\s*(?P<after>strong|conditional|weak)\b"
    r"|\((?P<bracket>strong|conditional|weak)\s*+(?:recommendation\s*+)?[,;)]"
    r"|\b(?P<practice>good practice (?:statement|point))\b",
    re.IGNORECASE,
)
_CERTAINTY = re.compile(
    r"\b(?P<word>very low|low|moderate|high)(?:\s+to\s+(?:low|moderate|high))?"
    r"(?:-|\s+)(?:certainty|quality)(?:\s+of)?(?:\s+(?:the\s+)?evidence)?\b"
    r"|\b(?:certainty|quality)\s+of\s+(?:the\s+)?evidence\s*(?:[:(–-]|is|was)\s*"
    r"(?P<after>very low|low|moderate|high)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DocumentMetadata:
    """What is stated, and nothing where nothing is."""

    populations: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    strength: str | None = None
    certainty: str | None = None


def describe(text: str, *, section: tuple[str, ...] = ()) -> DocumentMetadata:
    """Read what a passage states of its own reach; the titles above it count like its words.

    >>> describe("Give it (strong recommendation, low-certainty evidence).", section=("Malaria", "In pregnancy"))
    DocumentMetadata(populations=('pregnant',), settings=(), strength='strong', certainty='low')
    >>> describe("We recommended strongly worded letters.")
    DocumentMetadata(populations=(), settings=(), strength=None, certainty=None)
    """
    text = _plain(text)
    words = "\n".join((*map(_plain, section), text)).lower()
    found = {kind: tuple(cue.name for cue in _cues(kind) if cue.is_in(words)) for kind in ("population", "setting")}
    return DocumentMetadata(
        found["population"], found["setting"], _stated(_STRENGTH, text, words), _stated(_CERTAINTY, text, words)
    )


def _plain(text: str) -> str:
    """With i and s for the letters that a pattern takes for them in any case, but that stay others when made small."""
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s")


@dataclass(frozen=True, slots=True)
class _Cue:
    name: str
    pattern: re.Pattern[str]
    openings: tuple[str, ...]
    """How the words begin: looking for these is twenty times as fast as looking for the pattern."""

    def is_in(self, lowered: str) -> bool:
        return any(map(lowered.__contains__, self.openings)) and self.pattern.search(lowered) is not None


@cache
def _cues(kind: str) -> list[_Cue]:
    return [
        _Cue(name, re.compile(rf"(?<!\w)(?<!non[- ])(?:{words.lower()})(?!\w)"), openings(words))
        for name, words in (shelf_words() if kind == "population" else rows("settings.tsv"))
    ]


def openings(words: str) -> tuple[str, ...]:
    """The letters that each alternative of a pattern begins with.

    >>> openings("newborns?|neonat(?:e|al)|HIV[- ]positive")
    ('newborn', 'neonat', 'hiv')
    """
    alternatives = re.findall(r"(?:\([^()]*\)|[^|()])+", words.lower())
    return tuple(match[0] for alternative in alternatives if (match := re.match(r"[\w -]+(?![?*])", alternative)))


_STATING = {
    _STRENGTH: ("strong", "conditional", "weak", "discretionary", "practice"),
    _CERTAINTY: ("certain", "qualit"),
}
"""Letters of which one is in whatever the pattern finds."""


def _stated(pattern: re.Pattern[str], text: str, lowered: str) -> str | None:
    """The one value that a passage states; None where it states several that differ, or none."""
    if not any(map(lowered.__contains__, _STATING[pattern])):
        return None
    stated = {
        "good practice" if match.lastgroup == "practice" else match[match.lastgroup or 0].casefold()
        for match in pattern.finditer(text)
    }
    return stated.pop() if len(stated) == 1 else None
