"""Tells how far a denial reaches: over a list, not over what begins anew behind a comma with a time of its own."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.consult.details import find_details
from citewell.assistants.consult.tables import rows
from citewell.types.consult import Category

UNCLEAR = "unclear"
"""A denial may reach the finding or not: it is asked."""
_SEPARATOR = re.compile(r",|\b(?:and|plus)\b|\+", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[;.?!—]|\b(?:but|however|although|though)\b", re.IGNORECASE)
_OR = re.compile(r"\bn?or\b", re.IGNORECASE)
_BARE = re.compile(r"no|nil|without|not|never|free of|free from|negative for", re.IGNORECASE)
"""Denials that a new statement may follow; what a person says not to have goes on as a list."""
_DENIED_AGAIN = re.compile(r"(?:^|[,;.:]\s*)(?:no|nil|not|without|denies)\s[^,;.]*,\s*(?:and\s+)?$", re.IGNORECASE)
_GOES_ON = re.compile(r"\s*(?:ha[sd]|have|been|felt|noticed|got|any)\b", re.IGNORECASE)
_TODAY = re.compile(
    r"\b(?:since|today|yesterday|tonight|this (?:morning|afternoon|evening|week)|last (?:night|week|month)"
    r"|\d+\s*(?:minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|months?|years?|/7|/52|/12))\b(?!\s+(?:old|pregnant))",
    re.IGNORECASE,
)
_OWN = (Category.ONSET, Category.DURATION, Category.AGGRAVATING, Category.RELIEVING)


def reach(sentence: str, denial: tuple[int, int], start: int, end: int) -> str:
    """“absent” where a denial reaches what stands from `start` to `end`, else “present”, or “unclear”.

    >>> text = "No fever, cough for 2 weeks, headache"
    >>> [reach(text, (0, 2), text.index(word), text.index(word) + 4) for word in ("fever", "cough", "headache")]
    ['absent', 'present', 'present']
    """
    before = [match.span() for match in _SEPARATOR.finditer(sentence, denial[1], start)]
    if not before:
        return "absent"
    stop = _CLAUSE_END.search(sentence, end)
    parts = _parts(sentence, denial[1], start, stop.start() if stop else len(sentence))
    is_bare = _BARE.fullmatch(sentence[slice(*denial)]) and not _GOES_ON.match(sentence, denial[1])
    is_list = _OR.search(parts[-1]) is not None
    is_new = any(is_timed(part) and not _OR.search(part) for part in parts[1:])
    if is_bare and not is_list and _is_repeated(sentence, denial[0]):
        return "present"
    if is_bare and _is_closed(sentence[denial[1] : before[-1][0]]):
        return UNCLEAR if is_list else "present"
    if is_new:
        return "present" if is_bare else UNCLEAR
    return UNCLEAR if is_timed(parts[0]) and not is_list and len(parts) > 1 else "absent"


def begins_anew(sentence: str, low: int, start: int) -> bool:
    """Whether something with a time of its own stands behind a comma: “h/o asthma, chest pain for 2 days”."""
    parts = _parts(sentence, low, start, len(sentence))
    return len(parts) > 1 and is_timed(parts[-1])


def _is_repeated(sentence: str, low: int) -> bool:
    """Whether each thing denied before had a denial of its own: “nil fever, nil cough, wheeze” denies no wheeze."""
    return _DENIED_AGAIN.search(sentence[:low]) is not None


def is_timed(part: str) -> bool:
    """Whether words have a time, a score or a course of their own, as what is denied has not."""
    details = find_details(part)
    is_own = any(one.category in _OWN or (one.category is Category.SEVERITY and one.value) for one in details)
    return is_own or _TODAY.search(part) is not None


def _parts(sentence: str, low: int, start: int, high: int) -> list[str]:
    """What stands between commas from the denial to the finding; without a comma, between “and”."""
    cut = "," if "," in sentence[low:start] else r"\b(?:and|plus)\b|\+"
    edges = [low, *(low + match.end() for match in re.finditer(cut, sentence[low:high], re.IGNORECASE)), high]
    last = next(edge for edge in edges if edge > start)
    within = [edge for edge in edges if edge <= start]
    return [sentence[first:then] for first, then in zip(within, (*within[1:], last), strict=True)]


def _is_closed(words: str) -> bool:
    return _closed().search(words) is not None


@cache
def _closed() -> re.Pattern[str]:
    words = "|".join(row[0] for row in rows("closed.tsv"))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
