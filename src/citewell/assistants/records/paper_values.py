"""Critical values that stand in papers alone: read word for word by the table of limits, and never as a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from citewell.assistants.records.days import first_day
from citewell.assistants.records.known import LONG_AGO, Known, when
from citewell.assistants.records.limits import Limit, is_adult, limits
from citewell.assistants.records.mentions import Mentioned, Paper, said_in
from citewell.assistants.records.papers import day_of
from citewell.types import Entry
from citewell.types.facts import LabResult

_GAP = (
    r"(?:[\s:=,(\[)\]|–-]|\b(?:was|is|of|levels?|counts?|results?|values?|serum|plasma|blood|now|still|back|came|at|up"
    r"|down|to|the|your|an?|has|had|have|been|risen|fallen|rose|fell|measured|high|low|raised|very|today)\b)*"
)
"""What may stand between the name of a test and its value: any other word would name another thing."""
_VALUE = r"(?P<value>\d{1,5}(?:[.,]\d{1,2})?)(?![\d.,]\d)"
_MARK = r"\s*(?:\(?(?:high|low|[HL]{1,2}|[*↑↓!+]{1,2})\)?(?![\w]))?\s*"
_UNIT = r"(?P<unit>(?:[x×] ?)?[^\s,;()\[\]|]+)?"
BEFORE, AFTER = 120, 120
"""Characters round a number in which the name of its test, and whatever denies it, stands."""
_NOT_MEANT = re.compile(
    r"\b(?:if|when|should|target|aim|goal|limit|unless|until|range|reference|normal(?:ly)?|example|such as"
    r"|urin\w*|mother|father|brother|sister|wife|husband|son|daughter)\b|\b(?:less|more|lower|higher) than\b",
    re.IGNORECASE,
)
"""Before a value: it is none of this person's, or none at all."""


@dataclass(frozen=True, slots=True)
class PaperValue:
    """A value in a paper, as it is written there."""

    limit: Limit
    entry: Entry
    place: Mentioned
    words: str
    value: float
    dated: datetime | None


def critical_values(papers: Sequence[Paper], known: Known) -> list[PaperValue]:
    """The newest value of each test in papers, where it is beyond a limit and no fact says the same or is newer."""
    results = known.of(LabResult)
    newest: dict[tuple[str, str], PaperValue] = {}
    for one in _values(papers):
        key = (one.limit.called, "" if one.dated else one.entry.id)  # one without a day stands for itself
        before = newest.get(key)
        if before is None or (one.dated or LONG_AGO) >= (before.dated or LONG_AGO):  # of one day, the last that is said
            newest[key] = one
    return [
        one
        for one in newest.values()
        if one.limit.is_beyond(one.value)
        and is_adult(known, one.dated)
        and not any(_replaces(result, one) for result in results)
    ]


def _replaces(result: LabResult, one: PaperValue) -> bool:
    """Whether a fact was read from the same paper, says the same, or is newer."""
    if not one.limit.test.search(result.test_name):
        return False
    is_newer = one.dated is not None and (when(result) or LONG_AGO) > one.dated
    return result.value == one.value or is_newer or result.origin.document_id == one.entry.id


def _values(papers: Sequence[Paper]) -> Iterator[PaperValue]:
    """Every value that papers give to a test, in their order."""
    for entry, document in papers:
        found = list(_read(document.text))
        spans = list(said_in(document.text)) if found else []
        of_paper = day_of(entry, document) if found else None
        for limit, match in sorted(found, key=lambda pair: pair[1].start()):
            start, end = next(((a, b) for a, b in spans if a <= match.start() and match.end() <= b), (0, 0))
            if end == 0 or _NOT_MEANT.search(document.text, start, match.start()):
                continue
            value = float(match["value"].replace(",", "."))
            words = " ".join(match.group().split()).rstrip(".:")
            place = Mentioned(entry.id, match.start(), match.end())
            dated = first_day(document.text[start:end]) or of_paper
            yield PaperValue(limit, entry, place, words, value, dated)


def _read(text: str) -> Iterator[tuple[Limit, re.Match[str]]]:
    """Where a text names a test of the table with a value in its unit; looked for only near a number with a unit."""
    for start, end in _near_numbers(text):
        for limit, patterns in _patterns():
            for found in (one for pattern in patterns for one in pattern.finditer(text, start, end)):
                if limit.unit.fullmatch((found["unit"] or "").replace("×", "x").rstrip(".:")):
                    yield limit, found


def _near_numbers(text: str) -> Iterator[tuple[int, int]]:
    """The places round numbers that have a unit of the table, and round what has none; near ones are one."""
    start = end = -1
    for number in _numbers().finditer(text):
        if number.start() - BEFORE > end:
            if end >= 0:
                yield start, end
            start = max(0, number.start() - BEFORE)
        end = number.end() + AFTER
    if end >= 0:
        yield start, end


@cache
def _numbers() -> re.Pattern[str]:
    units = "|".join(dict.fromkeys(limit.unit.pattern.removesuffix(".*") for limit in limits()))
    return re.compile(rf"\d{_MARK}(?:[x×] ?)?(?:{units.replace('||', '|').strip('|')})|\binr\b", re.IGNORECASE)


@cache
def _patterns() -> tuple[tuple[Limit, tuple[re.Pattern[str], ...]], ...]:
    """Of each limit, how a sentence names the test with a value: by its name, or by its sign."""
    rest = rf"{_GAP}{_VALUE}{_MARK}{_UNIT}"
    made = []
    for limit in limits():
        name = limit.test.pattern.replace("^", r"\b")
        patterns = [re.compile(rf"(?:{name})[a-zäöüé]{{0,4}}{rest}", re.IGNORECASE)]
        if limit.signs != "-":
            patterns.append(re.compile(rf"(?<![\w])(?:{limit.signs})(?![\w]){rest}"))
        made.append((limit, tuple(patterns)))
    return tuple(made)
