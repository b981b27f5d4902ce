"""Critical values that stand in papers alone: read word for word by the table of limits, and never as a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from citewell.assistants.records.known import LONG_AGO, KnownFacts, when
from citewell.assistants.records.limits import Limit, is_adult, limits
from citewell.assistants.records.mentions import Paper, PaperMention, said_in
from citewell.assistants.records.papers import day_of
from citewell.clinical.quantities import TestReading, first_day, results
from citewell.types import LibraryEntry
from citewell.types.facts import LabResult

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
    entry: LibraryEntry
    place: PaperMention
    words: str
    value: float
    dated: datetime | None


def critical_values(papers: Sequence[Paper], known: KnownFacts) -> list[PaperValue]:
    """The newest value of each test in papers, where it is beyond a limit and no fact says the same or is newer."""
    results = known.of(LabResult)
    newest: dict[tuple[str, str], PaperValue] = {}
    for one in _values(papers):
        key = (one.limit.test.name, "" if one.dated else one.entry.id)  # one without a day stands for itself
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
    if not one.limit.is_of(result):
        return False
    is_newer = one.dated is not None and (when(result) or LONG_AGO) > one.dated
    return one.limit.value_of(result) == one.value or is_newer or result.origin.document_id == one.entry.id


def _values(papers: Sequence[Paper]) -> Iterator[PaperValue]:
    """Every value that papers give to a test, in their order."""
    for entry, document in papers:
        found = [one for one in results(document.text) if _is_told(one)]
        spans = list(said_in(document.text)) if found else []
        of_paper = day_of(entry, document) if found else None
        for one in found:
            start, end = next(((a, b) for a, b in spans if a <= one.start and one.end <= b), (0, 0))
            if end == 0 or _NOT_MEANT.search(document.text, start, one.start):
                continue
            words = " ".join(one.text.split()).rstrip(".:")
            place = PaperMention(entry.id, one.start, one.end)
            dated = first_day(document.text[start:end]) or of_paper
            yield PaperValue(limits()[one.test], entry, place, words, one.values[0], dated)


def _is_told(result: TestReading) -> bool:
    """Whether a paper gives a test of the table a value in a unit of its own."""
    has_unit = result.written_unit is not None or result.unit is None
    return result.test in limits() and bool(result.values) and result.sign == "=" and has_unit
