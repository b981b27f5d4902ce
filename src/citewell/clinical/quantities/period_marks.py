"""How often, which date, which time of day and which numbered thing: numbers that are not amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.clinical.quantities.units import LOOK_BACK, days_in
from citewell.vocabulary.months import MONTH, month_number
from citewell.work import spend

ONES = {
    word: float(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen""".split()
    )
}
TENS = {
    word: 10.0 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
NUMBER_WORD = rf"(?:(?:{'|'.join(TENS)})(?:[\s-](?:{'|'.join(list(ONES)[1:10])}))?|{'|'.join(ONES)})"
DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d+)(?:\.\d+)?"
NUMBER = rf"(?:{DIGITS}|\b{NUMBER_WORD}(?:\b|(?=fold)))"


def number(written: str) -> float:
    """The value of a number in digits or words.

    >>> number("1,500"), number("twenty-five")
    (1500.0, 25.0)
    """
    folded = written.casefold()
    if folded[0].isdigit():
        return float(folded.replace(",", ""))
    return sum(TENS.get(part, ONES.get(part, 0.0)) for part in re.split(r"[\s-]", folded))


@dataclass(frozen=True, slots=True)
class PeriodMark:
    """A period, date, time of day or numbered thing; `values` are days, (year, month, day), minutes or the number."""

    start: int
    end: int
    dimension: str
    values: tuple[float, ...]
    written: tuple[float, ...]


# ------------------------------------------------------------------------------------------------------- how often

_TIME = r"(?P<time>minute|hour|day|week|fortnight|month|year)s?"
_LONG = r"(?P<time>day|week|fortnight|month|year)s?"
_ADVERB = r"(?P<adverb>daily|weekly|fortnightly|monthly|yearly|annually|annual|hourly|nightly)"
_TIMES = rf"(?:(?P<word>once|twice|thrice)|(?P<low>{NUMBER})(?:\s*(?:-|–|to|or)\s*(?P<high>{NUMBER}))?\s*(?:times|×|x))"
_OFTEN = (
    re.compile(rf"\b{_TIMES}\s*(?:(?:a|an|per|each|every|in\s+a)\s+|/\s*){_TIME}\b", re.IGNORECASE),
    re.compile(rf"\b{_TIMES}[\s-]+{_ADVERB}\b", re.IGNORECASE),
    re.compile(
        rf"\bevery\s+(?P<low>{NUMBER})(?:\s*(?:-|–|to|or)\s*(?P<high>{NUMBER}))?[\s-]*{_TIME[:-2]}s?\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<low>{NUMBER})(?:\s*(?:-|–|to)\s*(?P<high>{NUMBER}))?[\s-]+{_ADVERB.replace('daily|', '')}\b", re.I
    ),
    re.compile(
        rf"\b(?:every|each|per|an?)\s+(?P<other>other\s+|second\s+)?{_LONG}\b|/\s*(?P<slash>day|d|week|24\s*h)\b", re.I
    ),
    re.compile(rf"\b(?P<alternate>alternate)\s+{_TIME}\b", re.IGNORECASE),
    re.compile(rf"\b{_ADVERB}\b", re.IGNORECASE),
)
_LATIN = re.compile(
    r"\b(?:(?P<d1>OD|QD|o\.d\.|q\.d\.)|(?P<d2>BD|BID|b\.d\.|b\.i\.d\.|bid)|(?P<d3>TDS|TID|t\.d\.s\.|t\.i\.d\.|tid|tds)"
    r"|(?P<d4>QDS|QID|q\.d\.s\.|q\.i\.d\.|qds|qid))(?!\w)"
)
_ADVERB_TIME = {"daily": "day", "nightly": "day", "weekly": "week", "fortnightly": "fortnight", "monthly": "month"}
_ADVERB_TIME |= {"yearly": "year", "annually": "year", "annual": "year", "hourly": "hour"}
_OF_TIME = re.compile(
    r"minute|hour|day|week|fortnight|month|year|daily|nightly|annual|/\s*(?:d|24\s*h)\b", re.IGNORECASE
)
"""Without any of these nothing is said of how often."""
_NOT_OFTEN = re.compile(
    r"\b(?:within|for|in|after|of|over|about|than|least|only|half|under|last|past|next|during|throughout|lasting|on|quarter)\s+$",
    re.I,
)
"""Before “a week” these make it a length of time."""


def periods(text: str) -> Iterator[PeriodMark]:
    """How often things are done, as the days between; where readings overlap, the first one counts.

    >>> [next(periods(text)).values for text in ("2–4 times daily", "every 6 hours", "BD")]
    [(0.25, 0.5), (0.25,), (0.5,)]
    """
    for match in _LATIN.finditer(text):
        times = float(str(match.lastgroup)[1])
        yield PeriodMark(*match.span(), "period", (1 / times,), (times,))
    for pattern in _OFTEN if _OF_TIME.search(text) else ():
        for match in pattern.finditer(text):
            groups = match.groupdict()
            if match.group().startswith(("a ", "an ", "A ")) and _NOT_OFTEN.search(
                text, max(0, match.start() - LOOK_BACK), match.start()
            ):
                continue
            days = _days(groups)
            yield PeriodMark(*match.span(), "period", tuple(sorted(days)), days)


def _days(groups: dict[str, str | None]) -> tuple[float, ...]:
    """The days between two times, from the named parts of a match."""
    named = groups.get("time") or ("day" if groups.get("slash") in ("d", "day") else None)
    named = named or _ADVERB_TIME.get((groups.get("adverb") or "").casefold())
    if groups.get("slash") and groups["slash"] not in ("d", "day"):
        named = "week" if groups["slash"] == "week" else "day"
    length = days_in((named or "day").casefold())
    if groups.get("other") or groups.get("alternate"):
        return (2 * length,)
    counted = [number(groups[name] or "") for name in ("low", "high") if groups.get(name)]
    word = {"once": 1.0, "twice": 2.0, "thrice": 3.0}.get((groups.get("word") or "").casefold())
    if word is not None:
        return (length / word,)
    if "word" in groups:
        return tuple(length / count for count in counted if count) or (length,)
    return tuple(length * count for count in counted) or (length,)


# ----------------------------------------------------------------------------------------------------------- dates

_MONTH = rf"(?P<month>{MONTH})\.?"
_DIGIT = re.compile(r"\d")
_DATES = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)-(?P<day>\d\d)\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?(?:\s+(?P<year>(?:19|20)\d\d))?\b", re.I),
    re.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>(?:19|20)\d\d))?\b(?!\s*%)", re.I),
    re.compile(rf"\b{_MONTH},?\s+(?P<year>(?:19|20)\d\d)\b", re.I),
    re.compile(r"\b(?P<first>\d{1,2})[/.](?P<second>\d{1,2})[/.](?P<year>(?:19|20)\d\d)\b"),
    re.compile(
        r"(?<![\d.,/])\b(?P<year>(?:19[4-9]|20[0-4])\d)s?\b(?!\s*(?:%|mg|ml|g\b|patients|people|kcal|units|children|women|men))"
    ),
)


def dates(text: str) -> Iterator[PeriodMark]:
    """Dates as (year, month, day); 0 where a part is not said. A day and month that can be swapped stay as written.

    >>> [next(dates(text)).values for text in ("12 March 2021", "May 3, 2022", "in 2019")]
    [(2021.0, 3.0, 12.0), (2022.0, 5.0, 3.0), (2019.0, 0.0, 0.0)]
    """
    for pattern in _DATES if _DIGIT.search(text) else ():
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = month_number(parts.get("month") or "") or 0
            day = int(parts.get("day") or 0)
            if parts.get("first"):
                day, month = int(parts["first"]), int(parts["second"])
            month = month or int(parts.get("number") or 0)
            values = (float(parts.get("year") or 0), float(month), float(day))
            yield PeriodMark(*match.span(), "date", values, values)


# ----------------------------------------------------------------------------------------------------- times of day

_CLOCKS = (
    re.compile(
        r"\b(?P<hour>0?\d|1[0-2])(?:[:.](?P<minute>[0-5]\d))?\s*(?:(?P<half>[ap])(?:\.\s?m\.|m\b)|(?P<HALF>[AP])M\b)"
    ),
    re.compile(r"(?<![\d:.,/])(?P<hour>[01]\d|2[0-4]):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?![\d:]|\s*(?:ratio|dilution))"),
    re.compile(
        r"\b(?:at|from|until|till|by|before|after|since|between|and|to)\s+(?P<hour>\d):(?P<minute>00|15|30|45)(?![\d:]"
        r"|\s*(?:ratio|dilution))",
        re.IGNORECASE,
    ),
)
"""Where it might be a ratio, as 9:15 is one, a word must tell that a time is meant; 10 pM is a concentration."""


def clocks(text: str) -> Iterator[PeriodMark]:
    """Times of day, as minutes after midnight.

    >>> [mark.values for mark in clocks("from 08:30 to 8 pm, or at 9:15")], list(clocks("30:2, or a 1:10 dilution"))
    ([(1200.0,), (510.0,), (555.0,)], [])
    """
    for pattern in _CLOCKS if _DIGIT.search(text) else ():
        for match in pattern.finditer(text):
            parts = match.groupdict()
            half = parts.get("half") or parts.get("HALF")
            hour = int(parts["hour"]) % 12 + 12 * (half in ("p", "P")) if half else int(parts["hour"]) % 24
            minutes = 60.0 * hour + int(parts["minute"] or 0)
            yield PeriodMark(match.start("hour"), match.end(), "time of day", (minutes,), (minutes,))


# -------------------------------------------------------------------------------------------------- numbered things

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}
_ROMAN |= {"xi": 11, "xii": 12, "xiii": 13}
_LABEL = re.compile(
    r"\b(?P<what>[Tt]ype|[Ss]tage|[Gg]rade|[Pp]hase|[Cc]lass|[Ss]tep|[Ll]evel|[Gg]roup|[Cc]ycle|[Vv]isit"
    r"|(?<!\d )(?<!\ba )(?:[Dd]ay|[Ww]eek|[Mm]onth|[Yy]ear)"
    r"|[Tt]able|[Ff]igure|[Ff]ig\.?|[Bb]ox|[Ss]ection|[Cc]hapter|[Cc]ategory|[Tt]ier|[Aa]rm|[Pp]art|[Aa]ppendix|[Rr]ecommendation"
    r"|[Vv]ersion|[Aa]nnex|[Pp]age|[Ss]core\s+of|[Cc]ohort|[Ff]actor|[Pp]lan|[Pp]rotocol|[Rr]egimen|[Oo]ption|[Nn]erve|[Ll]ead)s?\s+"
    r"(?P<number>\d+(?:\.\d+)*|[IVX]{1,5})(?P<letter>[a-d])?\b"
)


_LETTERED = re.compile(
    r"\b(?P<what>[Hh]epatitis|[Ii]nfluenza|[Hh]a?emophilia|[Gg]roup|[Tt]ype|[Ff]actor|[Aa]rm|[Cc]lass|[Cc]ohort|[Ss]train|[Dd]rug"
    r"|[Pp]lan|[Pp]rotocol|[Rr]egimen|[Oo]ption|[Cc]ategory|[Gg]rade|[Ss]tage)s?\s+(?P<letter>AB|[A-Z])\b(?![’'-])"
)


def has_label(text: str) -> bool:
    """Whether a text names a numbered or lettered thing."""
    return _LABEL.search(text) is not None or _LETTERED.search(text) is not None


def labels(text: str) -> Iterator[PeriodMark]:
    """Numbered things: the number is part of a name.

    >>> [(mark.dimension, mark.values) for mark in labels("type 2 diabetes, stage IIIa")]
    [('label type', (2.0,)), ('label stage', (3.0, 1.0))]
    """
    spend()
    for match in _LABEL.finditer(text):
        written = match["number"].casefold()
        parts = (
            [float(_ROMAN[written])]
            if written in _ROMAN
            else [float(part) for part in written.split(".") if part.isdigit()]
        )
        if match["letter"]:
            parts.append(float(" abcd".index(match["letter"])))
        what = match["what"].casefold().rstrip(".")
        yield PeriodMark(*match.span(), f"label {what}", tuple(parts), tuple(parts))
    for match in _LETTERED.finditer(text):
        value = tuple(float(ord(letter)) for letter in match["letter"])
        yield PeriodMark(*match.span(), f"label {match['what'].casefold()}", value, value)
