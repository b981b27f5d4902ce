"""What a question wants from the facts: which kinds, since when, and whether the newest, the course or the past."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache

from citewell.assistants.records.plain_question import plain_question
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import whole_words
from citewell.clinical.quantities import days_in
from citewell.vocabulary.months import MONTH, month_number

READ = 300
"""How many characters of a question are read."""


class Intent(StrEnum):
    """Something that facts can tell."""

    PREPARE = "prepare"
    CHANGES = "changes"
    PRESCRIBER = "prescriber"
    ALLERGIES = "allergies"
    TREND = "trend"
    RESULTS = "results"
    MEDICINES = "medicines"
    DIAGNOSES = "diagnoses"
    PROCEDURES = "procedures"
    VACCINATIONS = "vaccinations"
    VISITS = "visits"
    SAID = "said"
    LETTER = "letter"
    DOCTORS = "doctors"
    REFERRALS = "referrals"
    SYMPTOMS = "symptoms"
    PERSON = "person"
    PLAN = "plan"
    CAME = "came"
    ASSESSMENT = "assessment"
    LIFESTYLE = "lifestyle"
    FUNCTION = "function"
    FAMILY = "family"
    DIRECTIVES = "directives"
    INSURANCE = "insurance"
    EFFECTS = "effects"
    REASON = "reason"
    TOGETHER = "together"
    DUE = "due"
    NEXT = "next"
    ABNORMAL = "abnormal"
    HIGHEST = "highest"
    LOWEST = "lowest"
    LONG = "long"
    MAY = "may"
    WHERE = "where"
    PAST = "past"
    LATEST = "latest"


OUTSIDE_FACTS = frozenset(
    {
        Intent.PLAN,
        Intent.CAME,
        Intent.ASSESSMENT,
        Intent.LIFESTYLE,
        Intent.FUNCTION,
        Intent.FAMILY,
        Intent.DIRECTIVES,
        Intent.INSURANCE,
    }
)
"""What records say in sections of their own, of which facts hold nothing or little."""


@dataclass(frozen=True, slots=True)
class Intents:
    """All that one question wants."""

    all: frozenset[Intent]
    since: datetime | None = None
    until: datetime | None = None
    words: str = ""
    """The time that is asked for, as it is said."""
    likely: frozenset[Intent] = frozenset()
    """Those of `all` that no cue tells, only the meaning of the question."""

    def is_inside(self, day: datetime) -> bool:
        """Whether a day is in the time that is asked for; without one, every day is."""
        return (self.since is None or day >= self.since) and (self.until is None or day < self.until)

    def __contains__(self, wish: Intent) -> bool:
        return wish in self.all


@cache
def _cues() -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    details = ((Intent.PERSON, whole_words(words)) for words, _ in rows("person_details.tsv"))
    return (*((Intent(wish), whole_words(pattern)) for wish, _, pattern in rows("wishes.tsv")), *details)


def intents_of(question: str, *, now: datetime) -> Intents:
    """What a question wants.

    >>> found = intents_of("What changed since March 2024?", now=datetime(2026, 1, 1, tzinfo=UTC))
    >>> Intent.CHANGES in found, found.since.isoformat()
    (True, '2024-03-01T00:00:00+00:00')
    """
    text = plain_question(question[:READ]).text.casefold()
    since, until = _range(text, now)
    all_of_them = frozenset(wish for wish, cue in _cues() if cue.search(text))
    if Intent.TOGETHER in all_of_them and not _ALLERGY.search(text):  # “can I take them with wine?”
        all_of_them -= {Intent.ALLERGIES}
    return Intents(all_of_them, since, until, _said(since, until))


def of_their_year(wanted: Intents, question: str, days: Iterable[datetime | None]) -> Intents:
    """A month without a year as the newest of that name from which the record has something.

    >>> asked = intents_of("what happened in July?", now=datetime(2026, 11, 1, tzinfo=UTC))
    >>> of_their_year(asked, "what happened in July?", [datetime(2013, 7, 3, tzinfo=UTC)]).words
    'July 2013'
    """
    alone = _MONTH_ALONE.search(plain_question(question[:READ]).text.casefold())
    if alone is None or wanted.since is None or wanted.since.month != month_number(alone["month"]):
        return wanted
    month = wanted.since.month
    newest = max((day.year for day in days if day is not None and day.month == month), default=wanted.since.year)
    since, until = _span(str(newest), str(month), None, is_open=wanted.until is None)
    return replace(wanted, since=since, until=until, words=_said(since, until))


_ALLERGY = re.compile(r"allerg|react|intoleran")

# ------------------------------------------------------------------------------------------------------------- dates

_DATE = rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? )?(?:(?P<month>{MONTH})\.?,? )?(?P<year>(?:19|20)\d\d)(?!\d)"
_ISO = re.compile(r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?")
_SINCE = re.compile(rf"\b(?:since|after|from) (?:the )?{_DATE}")
_IN = re.compile(rf"\b(?:in|on|during|of|from|visit(?: on)?) (?:the )?{_DATE}")
_BEFORE = re.compile(rf"\b(?:before|until|till|up to|prior to|earlier than|by the end of) (?:the )?{_DATE}")
_BETWEEN = re.compile(
    rf"\b(?:between|from) (?:the )?{_DATE} (?:and|to|until|till|-) (?:the )?{_DATE.replace('(?P<', '(?P<to_')}"
)
_AGO = re.compile(
    r"\b(?:in|over|during|for|within) (?:the )?(?:last|past) (?P<count>\d+|a|one|two|three|four|six|few)? ?"
    r"(?P<unit>day|week|month|year)s?\b|\bsince (?P<other>last) (?P<one>week)\b"
)
_SEASON = re.compile(
    r"\b(?P<season>spring|summer|autumn|fall|winter) (?:of |in )?(?P<year>(?:19|20)\d\d)(?!\d)", re.IGNORECASE
)
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which each begins, north of the equator."""
SEASON_MONTHS = 3
_MONTH_ALONE = re.compile(rf"\b(?:in|during|since|this|last) (?P<month>{MONTH})\b(?! \d)")
_THIS = re.compile(r"\b(?P<which>this|last) (?P<unit>year|month)\b")
_AT = re.compile(r"\b(?P<count>\d+|a|one|two|three|four|five|six|seven|eight|nine|ten) (?P<unit>month|year)s? ago\b")
_OPENS = re.compile(r"\b(?:since|than|compared (?:to|with))\b")
"""Leads a time up to which, and after which, is asked for."""
LONGEST_MONTH, LONGEST_SEASON, LONGEST_YEAR, MONTHS = 31, 92, 366, 12
EARLIEST = datetime(1800, 1, 1, tzinfo=UTC)
"""Before anything in a record."""
_COUNTS = dict(zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True)) | {
    "a": 1,
    "few": 3,
}


def _range(text: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """From when to when a question looks; an open end is None."""
    if match := _AGO.search(text):
        count = match["count"] or "1"
        days = (int(count) if count.isdecimal() else _COUNTS[count]) * days_in(match["unit"] or match["one"])
        return now - timedelta(days=days), None
    if season := _SEASON.search(text):
        return _season(int(season["year"]), _SEASONS[season["season"]])
    return _limits(text) or _on_a_day(text) or _near_now(text, now)


def _on_a_day(text: str) -> tuple[datetime | None, datetime | None] | None:
    """A day, a month or a year as such, or all since one."""
    if iso := _ISO.search(text):
        return _span(iso["year"], iso["month"], iso["day"], is_open="since" in text)
    if since := _SINCE.search(text):
        return _span(since["year"], since["month"], since["day"], is_open=True)
    if inside := _IN.search(text):
        return _span(inside["year"], inside["month"], inside["day"], is_open=False)
    return None


def _limits(text: str) -> tuple[datetime | None, datetime | None] | None:
    """A time between two days, or before one."""
    if between := _BETWEEN.search(text):
        since, _ = _span(between["year"], between["month"], between["day"], is_open=True)
        _, until = _span(between["to_year"], between["to_month"], between["to_day"], is_open=False)
        return since, until
    if before := _BEFORE.search(text):
        first, over = _span(before["year"], before["month"], before["day"], is_open=False)
        return EARLIEST, first if before.group().startswith(("before", "prior", "earlier")) else over
    return None


def _near_now(text: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """A time without a year, as it is said now: the last September, this year, last month."""
    if at := _AT.search(text):
        count = int(at["count"]) if at["count"].isdecimal() else _COUNTS[at["count"]]
        months = now.year * 12 + now.month - 1 - count * (12 if at["unit"] == "year" else 1)
        is_year, is_open = at["unit"] == "year", _OPENS.search(text[: at.start()]) is not None
        return _span(str(months // 12), None if is_year else str(months % 12 + 1), None, is_open=is_open)
    if alone := _MONTH_ALONE.search(text):
        number = month_number(alone["month"]) or 0
        year = now.year if number <= now.month else now.year - 1  # the last that has begun
        return _span(str(year), str(number), None, is_open=alone.group().startswith("since"))
    if (this := _THIS.search(text)) and not text[: this.start()].endswith("the "):
        first = now if this["which"] == "this" else now.replace(day=1) - timedelta(days=1)
        if this["unit"] == "year":
            first = now if this["which"] == "this" else now.replace(year=now.year - 1, day=1)
        is_open = text[: this.start()].endswith("since ")
        return _span(str(first.year), str(first.month) if this["unit"] == "month" else None, None, is_open=is_open)
    return None, None


def _season(year: int, month: int) -> tuple[datetime, datetime]:
    """The three months from one on."""
    after = month + SEASON_MONTHS
    over = datetime(year + (after > MONTHS), after - MONTHS if after > MONTHS else after, 1, tzinfo=UTC)
    return datetime(year, month, 1, tzinfo=UTC), over


def _said(since: datetime | None, until: datetime | None) -> str:
    """A closed time in words: a day, a month or a year.

    >>> _said(datetime(2021, 3, 3, tzinfo=UTC), datetime(2021, 3, 4, tzinfo=UTC))
    '3 March 2021'
    """
    if since is None or until is None:
        return ""
    if since == EARLIEST:
        return f"before {until.day} {until:%B %Y}" if until.day > 1 or until.month > 1 else f"before {until:%Y}"
    days = (until - since).days
    if LONGEST_MONTH < days <= LONGEST_SEASON:
        return f"{since:%B %Y} to {until - timedelta(days=1):%B %Y}"
    if days > LONGEST_YEAR:
        return f"{since:%B %Y} to {until - timedelta(days=1):%B %Y}"
    return f"{since.day} {since:%B %Y}" if days == 1 else f"{since:%B %Y}" if days <= LONGEST_MONTH else f"{since:%Y}"


def _span(year: str, month: str | None, day: str | None, *, is_open: bool) -> tuple[datetime | None, datetime | None]:
    number = month_number(month or "") or int(month or 1)
    try:
        start = datetime(int(year), number, int(day or 1), tzinfo=UTC)
    except ValueError:
        return None, None
    return start, None if is_open else _end(start, has_month=month is not None, has_day=day is not None)


def _end(start: datetime, *, has_month: bool, has_day: bool) -> datetime:
    """Where a day, a month or a year is over.

    >>> _end(datetime(2024, 2, 1, tzinfo=UTC), has_month=True, has_day=False).date().isoformat()
    '2024-03-01'
    """
    if has_day:
        return start + timedelta(days=1)
    return (start + timedelta(days=31 if has_month else 366)).replace(day=1)
