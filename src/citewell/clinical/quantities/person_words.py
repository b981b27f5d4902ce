"""What a length of time is told of: how old somebody is, or how long something takes."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from citewell.clinical.quantities.units import LOOK_BACK
from citewell.clinical.tables import rows

Told = Literal["", "age", "length"]
"""Nothing where a text does not say which of the two it is."""

_AGED = re.compile(r"\bage[ds]?\W+(?:of\s+|between\s+|from\s+)?\Z", re.IGNORECASE)
_OF_THE_AGE = re.compile(r"\bage", re.IGNORECASE)
_LIMIT = re.compile(r"\bolder|\byounger|\b(?:and|or)\s+(?:over|above|under|below)\Z", re.IGNORECASE)
"""Limits of an age in years; a wound may be older than six hours."""
_BARE_LIMIT = re.compile(r"(?:over|under|above|below|[<>≥≤⩾⩽])", re.IGNORECASE)
"""Limits that make a number after a person an age; “people, 2 or more” counts them."""
_OLD = re.compile(r"[\s/-]*(?:(?P<of_age>of age)|o|(?P<old>old))\b", re.IGNORECASE)
_WORDS_BETWEEN = 4
"""Words that may stand between a person and “5 years old”."""
_LASTING = re.compile(
    r"\b(?:for|within|lasting|lasts?|during|every|takes?|(?:next|past|last|previous|following))\s+\Z", re.IGNORECASE
)
_SHORT = frozenset(("millisecond", "second", "minute", "hour"))
"""Units in which nobody's age is told, unless a text says so."""


@cache
def person_words() -> dict[str, str]:
    """The words that name children, adults and persons of any age, as patterns."""
    found: dict[str, list[str]] = {}
    for _name, words, *cells in rows("populations.tsv"):
        if cells and cells[0]:
            found.setdefault(cells[0], []).append(words)
    return {group: rf"\b(?:{'|'.join(words)})\b" for group, words in found.items()}


@cache
def person_before(words: int = 0) -> re.Pattern[str]:
    """A person, and up to so many words after it, at the end of a text."""
    named = "|".join(person_words().values())
    return re.compile(rf"(?:{named})(?:[\s,]+[\w'’-]+){{0,{words}}}(?:\s+(?:is|are))?(?:\s+of)?[\s,]*\Z", re.I)


def is_bare_age(text: str, start: int, end: int) -> bool:
    """Whether a number without a unit is the age of people, given with its limit.

    >>> texts = "A person over 40", "A person 40 and over", "Patients 2 or more"
    >>> [is_bare_age(text, 9, len(text)) for text in texts]
    [True, True, False]
    """
    written = text[start:end]
    is_limit = _BARE_LIMIT.match(written) or _LIMIT.search(written)
    return is_limit is not None and person_before().search(text[max(0, start - LOOK_BACK) : start]) is not None


def told_of(text: str, start: int, end: int, *, unit: str, is_limit: bool) -> Told:
    """Whether a time in a text, given with its limit, is somebody's age or how long something takes.

    >>> told_of("aged 40 years", 5, 13, unit="year", is_limit=False)
    'age'
    >>> told_of("50 mL in 24 hours", 9, 17, unit="hour", is_limit=False)
    'length'
    """
    before, written = text[max(0, start - LOOK_BACK) : start], text[start:end]
    if _OF_THE_AGE.search(written) or _AGED.search(before):
        return "age"
    if unit == "year" and ((is_limit and person_before().search(before)) or _LIMIT.search(written)):
        return "age"
    old = _OLD.match(text, end)
    if old is not None:
        is_of_thing = old["old"] and written.endswith("s") and not person_before(_WORDS_BETWEEN).search(before)
        return "length" if is_of_thing else "age"
    # “Not for under 12 years” tells an age; “for over 20 years” tells how long.
    is_lasting = _LASTING.search(before) is not None and not written.casefold().startswith(("under", "below", "<"))
    return "length" if unit in _SHORT or is_lasting else ""
