"""Parses ages, thresholds of tests, and thresholds by age from a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from citewell.assistants.guidelines.criteria import AgeRange, Criteria, NeedsReading, Threshold, all_of, any_of
from citewell.clinical.populations import age_limits

_AGED = re.compile(r"aged (?:between )?|(?=of any age\b)", re.IGNORECASE)
_ANY = re.compile(r"(?:of any age|aged any age)\b", re.IGNORECASE)


def parse_age(text: str) -> tuple[AgeRange, int] | None:
    """An age at the start of a text, and where its words end.

    >>> parse_age("aged 40 and over with a cough")
    (AgeRange(text='aged 40 and over', age_from=40, age_below=None, population=None), 16)
    """
    if any_age := _ANY.match(text):
        return AgeRange(any_age.group()), any_age.end()
    opening = _AGED.match(text)
    limits = next(iter(age_limits(text[:MOST])), None) if opening else None
    if opening is None or limits is None or not opening.end() - len("aged ") <= limits.start <= opening.end():
        return None
    low, high = (None if limit is None else int(limit) for limit in (limits.low, limits.high))
    return AgeRange(text[: limits.end], low + 1 if limits.is_over and low is not None else low, high), limits.end


MOST = 60
"""Characters in which an age is told."""
Comparison = Literal[">", ">=", "<", "<="]
_NUMBER = (
    r"(?P<value>\d+(?:\.\d+)?)(?![\d/])(?:\s*+(?P<unit>[a-zA-Zµ%/]+(?: of [a-z]+)?(?: per [a-z]+)?(?: of [a-z]+)?))?"
)
_TEST = r"^(?P<test>[\w][\w\s,-]{0,60}?)(?<!\s)\s++(?:(?:of|is|are|was)\s*+)?"
_THRESHOLDS: tuple[tuple[re.Pattern[str], Comparison], ...] = (
    (re.compile(rf"{_TEST}(?:at least|no less than)\s+{_NUMBER}$", re.IGNORECASE), ">="),
    (re.compile(rf"{_TEST}{_NUMBER}\s+(?:or|and)\s+(?:more|greater|over|above|higher)$", re.IGNORECASE), ">="),
    (re.compile(rf"{_TEST}(?:more than|above|over|greater than)\s+{_NUMBER}$", re.IGNORECASE), ">"),
    (re.compile(rf"{_TEST}(?:below|less than|under)\s+{_NUMBER}$", re.IGNORECASE), "<"),
    (re.compile(rf"{_TEST}{_NUMBER}\s+(?:or|and)\s+(?:less|lower|below)$", re.IGNORECASE), "<="),
)
_NAME = re.compile(r"^(?:an?|the|serum)\s+|(?<!\s)\s+(?:results?|levels?|score)$", re.IGNORECASE)


def parse_threshold(text: str) -> Threshold | None:
    """A measurement that is held against a number.

    >>> parse_threshold("serum CA125 is 35 IU/ml or greater")
    Threshold(text='serum CA125 is 35 IU/ml or greater', test='CA125', comparison='>=', value=35.0, unit='IU/ml')
    >>> parse_threshold("a cough for more than 3 weeks") is None
    True
    """
    text = text.strip(" ,.:;")
    for pattern, comparison in _THRESHOLDS:
        match = pattern.match(text)
        if match and not re.match(r"(?:day|week|month|year|time)s?\b", match.group("unit") or ""):
            test = _NAME.sub("", _NAME.sub("", match.group("test")))
            return Threshold(text, test, comparison, float(match.group("value")), match.group("unit"))
    return None


_BANDED = re.compile(
    r"(?P<test>.+?)(?<!\s)\s++levels?\s++(?:is|are)\s++above the (?:threshold for their age|age-specific threshold)",
    re.IGNORECASE,
)
_BAND = re.compile(r"\bage[^:]{0,200}:\s*+(?P<age>[^;]{0,400}+);(?P<rest>.*)$", re.IGNORECASE)
_LIMIT = re.compile(r"(?P<word>more than|above|at least)\s+(?P<value>\d+(?:\.\d+)?)", re.IGNORECASE)
_UNIT = re.compile(r"\((?P<unit>[^()]*)\)\s*:")


def parse_banded(text: str, table: Sequence[str]) -> Criteria | None:
    """A threshold that the table below the rule gives for each age; ages without a number need reading."""
    match = _BANDED.match(text)
    if match is None or not table:
        return None
    test = re.sub(r"^(?:their|the)\s+", "", match.group("test"))
    bands: list[Criteria] = []
    for row in table:
        band = _BAND.search(row)
        aged = parse_age(f"aged {band['age']}") if band else None
        if band is None or aged is None:
            return None
        limit = _LIMIT.search(band.group("rest"))
        unit = _UNIT.search(band.group("rest"))
        if limit is None:
            words = band.group("rest").rpartition(":")[2].strip()
            bands.append(all_of(aged[0], NeedsReading(f"{test}: {words}")))
            continue
        comparison: Comparison = ">=" if limit.group("word").lower() == "at least" else ">"
        shown = f"{test} {limit.group().lower()} {unit.group('unit') if unit else ''}".strip()
        held = Threshold(shown, test, comparison, float(limit.group("value")), unit.group("unit") if unit else None)
        bands.append(all_of(aged[0], held))
    return any_of(*bands)
