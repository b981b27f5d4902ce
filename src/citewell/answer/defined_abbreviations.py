"""What a document itself says that its words stand for: “sickle-cell disease (SCD)” makes the two one there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.sentences import terms

MAX_LONG_WORDS = 8
_SHORT = r"[^\W\d_a-z][\w-]{1,9}"
_IN_BRACKETS = re.compile(rf"\((?P<short>{_SHORT})(?=[);,])")
"""“… sickle-cell disease (SCD)”."""
_CLAUSE = re.compile(r"[^.;:()\[\]\n]{5,}\Z")
"""What comes before an abbreviation in brackets, as far as it may be what that stands for."""
_IN_LIST = re.compile(
    rf"(?:^|;\s)(?P<short>{_SHORT})(?::|\s[–—-])?\s+(?P<long>[^.;:()\n]{{5,90}})(?=[.;\n]|$)", re.MULTILINE
)
"""“CRT capillary refill time”, on a line of its own; “BP: blood pressure; …”, below a table."""
MAX_LONG_CHARACTERS = 90


def definitions(text: str) -> Iterator[tuple[str, str]]:
    """Each abbreviation that a text explains, with what it stands for."""
    for match in _IN_BRACKETS.finditer(text):
        short = _singular(match["short"])
        clause = _CLAUSE.search(text[max(0, match.start() - MAX_LONG_CHARACTERS) : match.start()])
        long = _long_form(short, clause.group().rstrip()) if clause else None
        if long is not None:
            yield short, long
    for match in _IN_LIST.finditer(text):
        short, long = _singular(match["short"]), match["long"].strip()
        if _long_form(short, long) == long:
            yield short, long


def _singular(short: str) -> str:
    return short[:-1] if short.endswith("s") and short[:-1].isupper() else short


def _long_form(short: str, before: str) -> str | None:
    """The last words before an abbreviation that hold its letters in order, the first at the beginning of a word.

    After Schwartz and Hearst, “A simple algorithm for identifying abbreviation definitions in biomedical text” (2003).

    >>> _long_form("SMBP", "the self-monitoring of blood pressure"), _long_form("SMBP", "see below")
    ('self-monitoring of blood pressure', None)
    """
    letters = [letter for letter in short.casefold() if letter.isalnum()]
    if sum(letter.isupper() for letter in short) < 2:
        return None
    folded, at = before.casefold(), len(before)
    for place, letter in reversed(list(enumerate(letters))):
        at -= 1
        while at >= 0 and (folded[at] != letter or (place == 0 and at > 0 and folded[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
    long = before[before.rfind(" ", 0, at) + 1 :].strip()
    is_name = len(terms(long)) > 1 and len(long.split()) <= min(MAX_LONG_WORDS, 2 * len(letters))
    return long if is_name else None
