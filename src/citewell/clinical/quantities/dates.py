"""Days as texts write them, in English, French and German; a day that cannot be is told."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from citewell.clinical.quantities.units import LOOK_BACK
from citewell.vocabulary.months import MONTHS

_OTHER_NAMES = (
    *("janvier januar jänner", "février februar", "mars märz", "avril", "mai", "juin juni"),
    *("juillet juli", "août", "septembre", "octobre oktober", "novembre", "décembre dezember"),
)
_NUMBERS = {
    name: number
    for number, (english, others) in enumerate(zip(MONTHS, _OTHER_NAMES, strict=True), 1)
    for name in (english, english[:3], *others.split())
} | {"sept": 9}
_MONTH = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_WRITTEN = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b"),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)? ?(?:of )?(?P<month>{_MONTH})\b\.?,? {_YEAR}", re.IGNORECASE
    ),
    re.compile(rf"\b(?P<month>{_MONTH})\b\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}", re.IGNORECASE),
    re.compile(rf"\b(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{_YEAR}"),
    re.compile(rf"\b(?P<day>\d{{1,2}})/(?P<month>\d{{1,2}})/{_YEAR}"),
)
"""03/04/2024 is the third of April here and the fourth of March there: it is asked about."""
_LAST_MONTH = 12
_BORN = re.compile(r"(?:\bborn|birth|\bd\.?o\.?b|\bgeb(?:oren|\.)?|\bnée?|naissance)[\w\s.:()/]{0,15}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Day:
    """A day in a text; with a problem it is none that can be used."""

    start: int
    end: int
    text: str
    at: datetime | None
    is_birthday: bool = False
    problem: str | None = None


def dates(text: str) -> tuple[Day, ...]:
    """Every day that a text names with its year, in order.

    >>> [(found.at and found.at.date().isoformat()) for found in dates("Leipzig, 3. März 2021, then 8th October, 2024")]
    ['2021-03-03', '2024-10-08']
    >>> [found.problem for found in dates("seen 31 February 2024")]
    ['“31 February 2024” is not a valid date. Which date is meant?']
    """
    matches = sorted(
        (other for pattern in _WRITTEN for other in pattern.finditer(text)), key=lambda match: match.start()
    )
    return tuple(map(_day, matches))


def _day(match: re.Match[str]) -> Day:
    text, (start, end) = match.string, match.span()
    is_birthday = _BORN.search(text, max(0, start - LOOK_BACK), start) is not None
    made = Day(start, end, match.group(), None, is_birthday)
    month, day = match["month"].casefold(), int(match["day"])
    if "/" in match.group() and day <= _LAST_MONTH and int(month) <= _LAST_MONTH and day != int(month):
        return replace(made, problem=f"“{match.group()}” is ambiguous. Write the month in words.")
    try:
        return replace(made, at=datetime(int(match["year"]), _NUMBERS.get(month) or int(month), day, tzinfo=UTC))
    except ValueError:
        return replace(made, problem=f"“{match.group()}” is not a valid date. Which date is meant?")


def without_days(text: str) -> str:
    """A text without the days that it names.

    >>> without_days("Riverside Practice, 12 October 2026").strip()
    'Riverside Practice,'
    """
    for day in reversed(dates(text)):
        text = f"{text[: day.start]} {text[day.end :]}"
    return text


def known_days(text: str) -> list[datetime]:
    """Every day that a text names and that is nobody's birthday, in its order."""
    return [day.at for day in dates(text) if day.at is not None and not day.is_birthday]


def first_day(text: str) -> datetime | None:
    """The first day that a text names and that is nobody's birthday; None where it names none.

    >>> first_day("Born 12 April 1955. Seen on 8th October, 2024.").date().isoformat(), first_day("on 03/04/2024")
    ('2024-10-08', None)
    """
    return next(iter(known_days(text)), None)
