"""Critical values that stand in papers alone: read word for word by the table of limits, and never as a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, when
from citewell.assistants.records.paper_mentions import Paper, PaperMention, said_in
from citewell.assistants.records.papers import day_of
from citewell.assistants.records.result_limits import Limit, is_adult, limits
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
    for paper_value in _values(papers):
        key = (
            paper_value.limit.test.name,
            "" if paper_value.dated else paper_value.entry.id,
        )  # one without a day stands for itself
        before = newest.get(key)
        if before is None or (paper_value.dated or LONG_AGO) >= (
            before.dated or LONG_AGO
        ):  # of one day, the last that is said
            newest[key] = paper_value
    return [
        other
        for other in newest.values()
        if other.limit.is_beyond(other.value)
        and is_adult(known, other.dated)
        and not any(_replaces(result, other) for result in results)
    ]


def _replaces(result: LabResult, paper_value: PaperValue) -> bool:
    """Whether a fact was read from the same paper, says the same, or is newer."""
    if not paper_value.limit.is_of(result):
        return False
    is_newer = paper_value.dated is not None and (when(result) or LONG_AGO) > paper_value.dated
    return (
        paper_value.limit.value_of(result) == paper_value.value
        or is_newer
        or result.origin.document_id == paper_value.entry.id
    )


def _values(papers: Sequence[Paper]) -> Iterator[PaperValue]:
    """Every value that papers give to a test, in their order."""
    for entry, document in papers:
        test_readings = [reading for reading in results(document.text) if _is_told(reading)]
        spans = list(said_in(document.text)) if test_readings else []
        of_paper = day_of(entry, document) if test_readings else None
        for test_reading in test_readings:
            start, end = next(((a, b) for a, b in spans if a <= test_reading.start and test_reading.end <= b), (0, 0))
            if end == 0 or _NOT_MEANT.search(document.text, start, test_reading.start):
                continue
            words = " ".join(test_reading.text.split()).rstrip(".:")
            place = PaperMention(entry.id, test_reading.start, test_reading.end)
            dated = first_day(document.text[start:end]) or of_paper
            yield PaperValue(limits()[test_reading.test], entry, place, words, test_reading.values[0], dated)


def _is_told(result: TestReading) -> bool:
    """Whether a paper gives a test of the table a value in a unit of its own."""
    has_unit = result.written_unit is not None or result.unit is None
    return result.test in limits() and bool(result.values) and result.sign == "=" and has_unit
