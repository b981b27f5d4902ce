"""Reads what is said of a complaint: since when, how long, how bad, where, of what kind, what changes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from citewell.assistants.consult.tables import rows
from citewell.types.consult import Category

_NUMBER = (
    r"(?:\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|couple of|a couple of|few|a few"
    r"|several)"
)
_UNIT = r"(?P<unit>minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|months?|years?|yrs?|nights?)"
_DURATION = re.compile(
    rf"\b(?:for|over|in)\s+(?:about\s+|around\s+|the\s+(?:past|last)\s+|(?:past|last)\s+|almost\s+|nearly\s+"
    rf"|more than\s+)*(?P<count>{_NUMBER})?(?:\s*(?:-|to|or)\s*\d+)?[\s-]+{_UNIT}\b"
    rf"|\b(?P<count2>\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten)[\s-]+(?:or \w+ )?(?P<unit2>day"
    rf"|days|week|weeks|month|months|year|years|hours?)(?:'s?)?\s+(?:history|duration|of\b)"
    r"|(?<!every )(?<!each )(?<!per )(?<!in )(?<!after )(?<!within )(?<!next )(?<!last )(?<!aged )(?<!age )(?<!to )"
    r"(?<![\d.-])\b(?P<count3>\d{1,3})[\s-]*(?P<unit3>days?|weeks?|wks?|months?|years?)\b"
    r"(?![\s-]*(?:old|pregnant|ago|of age|gestation|into|post|after|before|later|apart|'|y/?o))",
    re.IGNORECASE,
)
_ONSET = re.compile(
    rf"\b(?P<count>{_NUMBER})[\s-]+{_UNIT}\s+ago\b"
    r"|\b(?:since|from|start(?:ed|ing)|beg(?:an|un)|came on)\s+(?:(?:on|last|this|in|about|around|the)\s+)*"
    r"(?P<when>yesterday|today|mid-?day|noon|lunch(?:time)?|midnight|morning|afternoon|evening|night|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|week(?:end)?|month|year"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d"
    r"|suddenly|gradually)\b",
    re.IGNORECASE,
)
_SUDDEN = re.compile(r"\b(?:suddenly|sudden onset|all of a sudden|out of the blue|abruptly)\b", re.IGNORECASE)
_SCORE = re.compile(r"\b(?P<score>\d{1,2})\s*(?:/|out of)\s*10\b", re.IGNORECASE)
_AGE_LIKE = re.compile(r"^[\s-]*(?:old|pregnant|ago)\b", re.IGNORECASE)
DAYS = {
    "mi": 1 / 1440,
    "ho": 1 / 24,
    "hr": 1 / 24,
    "da": 1.0,
    "ni": 1.0,
    "we": 7.0,
    "wk": 7.0,
    "mo": 30.44,
    "ye": 365.25,
    "yr": 365.25,
}
COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "twelve": 12, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3, "several": 4,
}  # fmt: skip
"""What a vague count is taken for; the words stay beside it."""


@dataclass(frozen=True, slots=True)
class Detail:
    """Words that say more of a complaint."""

    start: int
    end: int
    category: Category
    name: str
    days: float | None = None
    value: float | None = None
    unit: str | None = None


@cache
def _table() -> tuple[tuple[Category, str, re.Pattern[str]], ...]:
    return tuple(
        (Category(category), name, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE))
        for category, name, words in rows("details.tsv")
    )


def find_details(sentence: str) -> list[Detail]:
    """Every detail, in order.

    >>> found = find_details("Sharp pain for 3 days, 8/10, worse on walking")
    >>> [(one.category.value, one.name) for one in found]
    [('character', 'sharp'), ('duration', 'for 3 days'), ('severity', '8/10'), ('aggravating', 'worse on walking')]
    """
    flat = sentence.replace("’", "'")
    found = [*_times(flat), *_worded(flat)]
    return sorted(found, key=lambda one: one.start)


def _times(sentence: str) -> Iterator[Detail]:
    for match in _ONSET.finditer(sentence):
        days = _days(match["count"], match["unit"]) if match["unit"] else None
        yield Detail(*match.span(), Category.ONSET, match.group(), days)
    for match in _SUDDEN.finditer(sentence):
        yield Detail(*match.span(), Category.ONSET, "sudden")
    for match in _DURATION.finditer(sentence):
        if _AGE_LIKE.match(sentence[match.end() :]):
            continue
        days = _days(
            match["count"] or match["count2"] or match["count3"] or "a",
            match["unit"] or match["unit2"] or match["unit3"],
        )
        yield Detail(*match.span(), Category.DURATION, match.group(), days)
    for match in _SCORE.finditer(sentence):
        if int(match["score"]) <= 10:
            yield Detail(*match.span(), Category.SEVERITY, match.group(), value=float(match["score"]), unit="/10")


def _worded(sentence: str) -> Iterator[Detail]:
    for category, name, pattern in _table():
        for match in pattern.finditer(sentence):
            yield Detail(*match.span(), category, name or match.group().strip())


def _days(count: str | None, unit: str) -> float:
    written = (count or "a").lower()
    number = float(COUNTS[written]) if written in COUNTS else float(written)
    return round(number * DAYS[unit[:2].lower()], 4)
