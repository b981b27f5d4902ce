"""Cuts a text into phrases, and says whether a phrase holds words or numbers that somebody would expect to count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal

from citewell.clinical.tables import rows

Kind = Literal["function", "talk"]
Span = tuple[int, int]

EDGES = " \t\r\n.,;:!-–/"
_SPLIT = re.compile(
    r"[;,!\n()]|[.:?](?=\s|$)|\s[-–+/]\s|\b(?:and(?!\s+off\b)|but|with(?!out)|also|or|plus)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_UNITS_OF_TIME = r"days?|weeks?|wks?|months?|mths?|years?|yrs?|hours?|hrs?|minutes?|mins?|seconds?|o['’]?clock|am|pm"
TIME = re.compile(
    rf"(?<![\w.])\d+(?:\.\d+)?(?:\s?(?:-|–|to)\s?\d+)?(?:/(?:7|52|12)(?![\w/])|[\s-]?(?:{_UNITS_OF_TIME})\b)"
    r"|(?<![\w.])(?:19|20)\d\d(?![\w.])|(?<![\w.])\d{1,2}:\d\d(?!\d)",
    re.IGNORECASE,
)
"""A time: “3 weeks”, “3/52”, “2019”, “10:30”."""
_NUMBER = re.compile(r"(?<![\w.])[<>≥≤]?\s?\d+(?:[.,/]\d+)*(?:\s?%|[a-zµμ°]+(?:/[a-zµμ]+)*)?", re.IGNORECASE)


def phrases(text: str, names: Sequence[Span] = ()) -> Iterator[Span]:
    """The phrases of a text, without their edges; a name is not cut in two.

    >>> text = "No fever, haemoptysis for 2.5 days and PSA 4.6 ng/mL."
    >>> [text[start:end] for start, end in phrases(text)]
    ['No fever', 'haemoptysis for 2.5 days', 'PSA 4.6 ng/mL']
    """
    inside = {at for low, high in names for at in range(low, high)}
    start = 0
    for match in _SPLIT.finditer(text):
        if match.start() not in inside:
            yield from _trimmed(text, start, match.start())
            start = match.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start] in EDGES:
        start += 1
    while end > start and text[end - 1] in EDGES:
        end -= 1
    if start < end:
        yield start, end


def numbers(phrase: str) -> list[str]:
    """The numbers of a phrase that are no times, each with a unit that is written to it.

    >>> numbers("lost 8kg in 3 weeks"), numbers("BP 168/104"), numbers("since 2019")
    (['8kg'], ['168/104'], [])
    """
    timeless = TIME.sub(lambda match: " " * len(match.group()), phrase)
    return [match.group().strip() for match in _NUMBER.finditer(timeless)]


_UNIT = (
    r"(?:%|(?:m|µ|μ|u|mc|n|p|k|d|c)?(?:mol|g|l|cal|iu|u)|units?|mm\s?hg|kpa|bpm|lbs?|pounds?|stone|kilos?|cm|mm|inch(?:es)?"
    r"|°\s?[cf]|degrees)(?:\s?(?:/|per)\s?[a-z0-9.²]+)*(?!\w)"
)
_MEASURED = re.compile(
    rf"(?<![\w./-])[<>≥≤]?\s?(?:\d+(?:[.,]\d+)?\s?{_UNIT}|\d+[.,]\d+(?![\d.,]{{0,40}}\d)|\d{{2,3}}/\d{{2,3}}(?![\d/]))",
    re.IGNORECASE,
)


def measured(text: str) -> list[str]:
    """The values of a text that have a unit or can only be a measurement.

    >>> measured("Is a potassium of 5.9 too high, or 140 mg/dL, since 12 March? Rule 1.1.1, type 2, Covid-19, 152/94")
    ['5.9', '140 mg/dL', '152/94']
    """
    timeless = TIME.sub(lambda match: " " * len(match.group()), text)
    return [match.group().strip() for match in _MEASURED.finditer(timeless)]


def content_words(phrase: str, *, without: Iterable[Kind] = ("function",)) -> list[str]:
    """The words of a phrase that could name something, in lower case.

    >>> content_words("she does not have the wibbles"), content_words("I was at home", without=("function", "talk"))
    (['wibbles'], [])
    """
    plain = frozenset().union(*(_plain(kind) for kind in without))
    words = (match.group().lower().replace("’", "'") for match in _WORD.finditer(phrase))
    return [word for word in words if word not in plain]


@cache
def _plain(kind: Kind) -> frozenset[str]:
    return frozenset(word for name, words in rows("plain_words.tsv") if name == kind for word in words.split())
