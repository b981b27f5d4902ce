"""Which day a paper, or a sentence of it, says that it is of."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MONTHS = (
    ("january", "janvier", "januar", "jänner"),
    ("february", "février", "februar"),
    ("march", "mars", "märz"),
    ("april", "avril"),
    ("may", "mai"),
    ("june", "juin", "juni"),
    ("july", "juillet", "juli"),
    ("august", "août"),
    ("september", "septembre"),
    ("october", "octobre", "oktober"),
    ("november", "novembre"),
    ("december", "décembre", "dezember"),
)
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
_NUMBERS |= {names[0][:3]: number for number, names in enumerate(_MONTHS, 1)} | {"sept": 9}
_MONTH = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_WRITTEN = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b"),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)? ?(?:of )?(?P<month>{_MONTH})\b\.?,? {_YEAR}", re.IGNORECASE
    ),
    re.compile(rf"\b(?P<month>{_MONTH})\b\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}", re.IGNORECASE),
    re.compile(rf"\b(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{_YEAR}"),
    re.compile(rf"\b(?P<day>1[3-9]|2\d|3[01])/(?P<month>\d{{1,2}})/{_YEAR}"),
)
"""03/04/2024 is the third of April here and the fourth of March there: it is not read."""
_BORN = re.compile(r"(?:\bborn|birth|\bd\.?o\.?b|\bgeb(?:oren|\.)?|\bnée?|naissance)[\w\s.:()/]{0,15}$", re.IGNORECASE)


def without_days(text: str) -> str:
    """A text without the days that it names.

    >>> without_days("Riverside Practice, 12 October 2026").strip()
    'Riverside Practice,'
    """
    for pattern in _WRITTEN:
        text = pattern.sub(" ", text)
    return text


def days_in(text: str) -> list[datetime]:
    """Every day that a text names and that is nobody's birthday, in its order."""
    found = [one for pattern in _WRITTEN for one in pattern.finditer(text) if not _BORN.search(text[: one.start()])]
    days = []
    for one in sorted(found, key=lambda match: match.start()):
        month = one["month"].casefold()
        try:
            days.append(datetime(int(one["year"]), _NUMBERS.get(month) or int(month), int(one["day"]), tzinfo=UTC))
        except ValueError:
            continue
    return days


def first_day(text: str) -> datetime | None:
    """The first day that a text names and that is nobody's birthday; None where it names none.

    >>> first_day("Born 12 April 1955. Seen on 8th October, 2024.").date().isoformat()
    '2024-10-08'
    >>> first_day("Leipzig, 3. März 2021").date().isoformat(), first_day("on 03/04/2024")
    ('2021-03-03', None)
    """
    return next(iter(days_in(text)), None)
