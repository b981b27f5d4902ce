"""Reads the marks by which a model says what it rests on; only what it was shown counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from citewell.types import Citation, Evidence, EvidenceSpan, SentenceCheck, Verdict

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = (
    rf"(?:(?:SourceId\s*:\s*)?{_UUID}:\d+|Doc(?:\s+ID)?\s*:\s*{_UUID}(?:\s*,\s*Date\s*:\s*+[^\],;]*+)?"
    r"|Sources?\s+\d+\b|S\s?\d+\b|\d{1,3}\b)"
)
_BETWEEN = r"(?:\s*[,;]\s*(?:and\s+)?|\s+(?:and\s+)?)"
MARK = re.compile(rf"(?:(?<!\s)\s+)?\[\s*+(?P<body>{_NAMED}(?:{_BETWEEN}{_NAMED})*)\s*+(?:[,;]\s*+)?\]", re.IGNORECASE)
"""A mark in any of the grammars: [S1], [S1, S2], [SourceId: uuid:0, uuid:1], [Doc: uuid, Date: d], [Source 1], [1]."""

BROKEN = re.compile(r"(?:(?<!\s)\s+)?\[\s*(?:SourceId|Doc(?:\s+ID)?|Source|S\d)\b[^\]\n]{0,120}\]", re.IGNORECASE)
"""A mark that means to cite but names nothing in any grammar."""

_ITEM = re.compile(
    rf"(?P<source>{_UUID}:\d+)|Doc(?:\s+ID)?\s*:\s*(?P<document>{_UUID})(?:\s*,\s*Date\s*:\s*+[^\],;]*+)?"
    r"|(?:Sources?\s+|S\s?)?(?P<number>\d{1,3})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence without its marks, the evidence numbers they named, and how many named nothing."""

    text: str
    cited: tuple[int, ...]
    dropped: int


def cite(sentence: str, evidence: Sequence[Evidence]) -> MarkedSentence:
    """Read and remove the marks of a sentence.

    >>> cite("Take it with water [S2].", [])
    MarkedSentence(text='Take it with water.', cited=(), dropped=1)
    """
    cited: list[int] = []
    dropped = 0
    for mark in MARK.finditer(sentence):
        for item in _ITEM.finditer(mark["body"]):
            numbers = _named(item, evidence)
            dropped += not numbers
            cited += [number for number in numbers if number not in cited]
    text = MARK.sub("", sentence)
    dropped += len(BROKEN.findall(text))
    return MarkedSentence(BROKEN.sub("", text).strip(), tuple(cited), dropped)


def quoted(text: str, cited: Sequence[Evidence]) -> SentenceCheck | None:
    """What a quotation rests on: the passage in which all of its lines stand word for word, one after the other."""
    lines = ["".join(line.split()) for line in text.split("\n")]
    for passage in cited:
        if places := _places(lines, passage.text):
            hit, at = passage.hit, passage.start
            titles = (hit.document, *hit.section)
            first, *others = (
                EvidenceSpan(hit.source_id, at + start, at + end, passage.text[start:end], titles)
                for start, end in places
            )
            told = "quoted word for word from the source"
            return SentenceCheck(Verdict.SUPPORTED, (told,), first, 1.0, beside=tuple(others))
    return None


def _places(lines: Sequence[str], said: str) -> list[tuple[int, int]]:
    """Where lines without white space stand in a text, those that follow one another as one; none if one is missing."""
    bare = BROKEN.sub(_blank, MARK.sub(_blank, said))
    kept = [position for position, letter in enumerate(bare) if not letter.isspace()]
    words = "".join(bare[position] for position in kept)
    places: list[tuple[int, int]] = []
    at = 0
    for line in filter(None, lines):
        found = words.find(line, at)
        if found < 0:
            return []
        if places and found == at:
            places[-1] = places[-1][0], kept[found + len(line) - 1] + 1
        else:
            places.append((kept[found], kept[found + len(line) - 1] + 1))
        at = found + len(line)
    return places


def _blank(mark: re.Match[str]) -> str:
    return " " * len(mark.group())


def _named(item: re.Match[str], evidence: Sequence[Evidence]) -> list[int]:
    """The numbers of the evidence that one item of a mark names."""
    if item["source"]:
        return [passage.number for passage in evidence if passage.hit.source_id == item["source"].lower()]
    if item["document"]:
        return [passage.number for passage in evidence if passage.hit.document_id == item["document"].lower()]
    return [passage.number for passage in evidence if passage.number == int(item["number"])]


class Marks(StrEnum):
    """How citations are written: [1], [S1], [SourceId: uuid:0], [Source 1] or [Doc: uuid, Date: 2025-03-12]."""

    NUMBER = "n"
    ALIAS = "alias"
    SOURCE_ID = "source_id"
    SOURCE = "source"
    DOC = "doc"


def mark(citation: Citation, marks: Marks = Marks.NUMBER) -> str:
    """A citation as it was asked for."""
    match marks:
        case Marks.NUMBER:
            return f"[{citation.n}]"
        case Marks.ALIAS:
            return f"[S{citation.n}]"
        case Marks.SOURCE_ID:
            return f"[SourceId: {citation.source_id}]"
        case Marks.SOURCE:
            return f"[Source {citation.n}]"
        case Marks.DOC:
            dated = f", Date: {citation.published:%Y-%m-%d}" if citation.published else ""
            return f"[Doc: {citation.document_id}{dated}]"
        case _:
            assert_never(marks)


def marked_text(text: str, citations: Sequence[Citation], marks: Marks) -> str:
    """The text of an answer, its [n] written as they were asked for."""
    by_number = {citation.n: mark(citation, marks) for citation in citations}
    return re.sub(r"\[(\d+)\](?=\s|$)", lambda match: by_number.get(int(match[1]), match[0]), text)
