"""Reads the limits of age that words are for: with a unit, or as a guideline writes them, “aged 80 and over”."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_AGE_UNIT = r"(?P<unit>months?|years?|yrs?|weeks?|days?)"
_RANGE = re.compile(
    rf"(?P<low>\d+(?:\.\d+)?)\s*(?:{_AGE_UNIT.replace('unit', 'unit1')})?\s*(?:-|–|to"
    rf"|and)\s*(?P<high>\d+(?:\.\d+)?)\s*-?{_AGE_UNIT}",
    re.IGNORECASE,
)
_BELOW = re.compile(
    rf"(?:under|below|younger than|less than|<|up to)\s*(?P<high>\d+(?:\.\d+)?)\s*{_AGE_UNIT}", re.IGNORECASE
)
_ABOVE = re.compile(
    rf"(?:over|above|older than|at least|≥|>=|>|from)\s*(?P<low>\d+(?:\.\d+)?)\s*{_AGE_UNIT}"
    rf"|(?P<low2>\d+(?:\.\d+)?)\s*{_AGE_UNIT.replace('unit', 'unit2')}\s*(?:of age\s*)?(?:and|or)\s*(?:over"
    rf"|older|above|more)",
    re.IGNORECASE,
)
_AGE_NEAR = re.compile(
    r"\b(?:ages?|aged|child(?:ren)?|infants?|adults?|people|patients|women|men|those|adolescents|persons?"
    r"|anyone|girls|boys)\b[^.;]{0,25}$",
    re.IGNORECASE,
)
_AGE_BEHIND = re.compile(r"^\s*(?:of age|old|olds)\b", re.IGNORECASE)
_PEOPLE = r"(?:adults?|people|patients|women|men|those|persons?|anyone|everyone)(?:\s+who\s+are)?"
_AGED = rf"(?:\bage[ds]?\s*(?:of\s+|is\s+)?|\b{_PEOPLE}\s+(?=under|over|older|younger))"
_YEARS = r"\d{1,3}\b(?!\s*(?:[/%.]\s*\d|[/%]|mm|mg|kg|ml|g\b|months?|weeks?|days?|hours?|minutes?))"
_BARE_RANGE = re.compile(
    rf"\bage[ds]?\s*(?:from\s+|between\s+)?(?P<low>\d{{1,3}})\s*(?:-|–|to|and)\s*(?P<high>{_YEARS})", re.IGNORECASE
)
_BARE_BELOW = re.compile(
    rf"{_AGED}(?:under|below|younger than|less than|<|up to)\s*(?P<high>{_YEARS})"
    rf"|\bage[ds]?\s*(?P<through>{_YEARS})\s*(?:and|or)\s*(?:under|below|younger)\b|\bunder[- ](?P<unders>\d{{2}})s\b",
    re.IGNORECASE,
)
_BARE_ABOVE = re.compile(
    rf"{_AGED}(?:over|above|older than|at least|≥|>=|>|from)\s*(?P<low>{_YEARS})"
    rf"|\bage[ds]?\s*(?P<low2>{_YEARS})\s*(?:and|or)\s*(?:over|older|above|more)\b|\bover[- ](?P<overs>\d{{2}})s\b",
    re.IGNORECASE,
)
_ANY = re.compile(r"\b(?:of any age|any age group|(?:of|at|for) all ages|(?:regardless|irrespective) of age)\b", re.I)
_OF_OTHERS = re.compile(
    r"\b(?:relatives?|parents?|siblings?|mother|father|brother|sister|onset|died|diagnosed|menarche|menopause)\b"
    r"[^.;,]{0,30}$",
    re.IGNORECASE,
)
YEARS = {"d": 1 / 365.25, "w": 7 / 365.25, "m": 1 / 12, "y": 1.0}


@dataclass(frozen=True, slots=True)
class Limits:
    """From an age, below another, in years, as they are written."""

    told: str
    low: float | None
    high: float | None


def age_limits(text: str) -> Iterator[Limits]:
    """Limits of age as they are written; a time that is no age is none.

    >>> [(one.low, one.high) for one in age_limits("adults aged 80 and over; aged under 40; for 5 days; below 150/90")]
    [(None, 40.0), (80.0, None)]
    """
    taken: list[tuple[int, int]] = []
    for pattern in (_RANGE, _BELOW, _ABOVE, _BARE_RANGE, _BARE_BELOW, _BARE_ABOVE):
        for match in pattern.finditer(text):
            is_free = not any(match.start() < end and start < match.end() for start, end in taken)
            if is_free and not _OF_OTHERS.search(text[: match.start()]) and _is_age(text, match, pattern):
                taken.append(match.span())
                yield _limits(match, pattern)
    if _ANY.search(text):
        yield Limits("any age", 0.0, None)


def _is_age(text: str, match: re.Match[str], pattern: re.Pattern[str]) -> bool:
    if pattern in (_BARE_RANGE, _BARE_BELOW, _BARE_ABOVE):
        return True
    near = _AGE_NEAR.search(text[: match.start()]) or _AGE_BEHIND.match(text[match.end() :])
    return bool(near) or (len(text) < 60 and text[: match.start()].strip() == "")


def _limits(match: re.Match[str], pattern: re.Pattern[str]) -> Limits:
    found = match.groupdict()
    unit = found.get("unit") or found.get("unit2") or "years"
    low = found.get("low") or found.get("low2") or found.get("overs")
    high = found.get("high") or found.get("through") or found.get("unders")
    step = YEARS[unit[0].lower()]
    first = float(low) * YEARS[(found.get("unit1") or unit)[0].lower()] if low else None
    is_through = pattern in (_RANGE, _BARE_RANGE) or found.get("through") is not None
    last = None if high is None else float(high) * step + (step if is_through else 0.0)
    return Limits(re.sub(r"^\s*age[ds]?\s+", "", match.group(), flags=re.IGNORECASE).strip(), first, last)
