"""What a passage of a guideline says of itself: whom it is for, where, how strong it is and how sure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from citewell.vocabulary import rows

_STRENGTH = re.compile(
    r"\b(?P<word>strong|conditional|weak|discretionary)(?:ly)?\s+"
    r"(?:recommendation|recommend(?:s|ed)?|in favou?r|against)\b"
    r"|\brecommendation\s*[:(–-]\s*(?P<after>strong|conditional|weak)\b"
    r"|\((?P<bracket>strong|conditional|weak)\s*(?:recommendation)?\s*[,;)]"
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
class Described:
    """What is stated, and nothing where nothing is."""

    populations: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    strength: str | None = None
    certainty: str | None = None


def describe(text: str, *, section: tuple[str, ...] = ()) -> Described:
    """Read what a passage states of its own reach; the titles above it count like its words.

    >>> describe("Give it (strong recommendation, low-certainty evidence).", section=("Malaria", "In pregnancy"))
    Described(populations=('pregnant',), settings=(), strength='strong', certainty='low')
    >>> describe("We recommended strongly worded letters.")
    Described(populations=(), settings=(), strength=None, certainty=None)
    """
    words = "\n".join((*section, text))
    found = {kind: tuple(name for name, pattern in _cues(kind) if pattern.search(words)) for kind in _KINDS}
    return Described(found["population"], found["setting"], _stated(_STRENGTH, text), _stated(_CERTAINTY, text))


_KINDS = ("population", "setting")


@cache
def _cues(kind: str) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (name, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE))
        for row_kind, name, words in rows("applies.tsv")
        if row_kind == kind
    ]


def _stated(pattern: re.Pattern[str], text: str) -> str | None:
    """The one value that a passage states; None where it states several that differ, or none."""
    stated = {
        "good practice" if match.lastgroup == "practice" else match[match.lastgroup or 0].casefold()
        for match in pattern.finditer(text)
    }
    return stated.pop() if len(stated) == 1 else None
