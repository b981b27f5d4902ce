"""What a record says outside its facts: the rows of exports under their headings, such as instructions and goals."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.paper_mentions import Paper, PaperMention
from citewell.assistants.records.tables import rows
from citewell.types.facts import Fact

LONGEST_HEADING = 80
"""Characters of a heading that are told; a longer one is no heading."""


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A row of an export with the heading that it stands under."""

    place: PaperMention
    heading: str
    text: str
    is_read: bool
    """Whether a fact was read from it."""

    @property
    def words(self) -> str:
        """What is held against a question: a row often says only under its heading what it is about."""
        return f"{self.heading}: {self.text}" if self.heading else self.text


def section_rows(exports: Iterable[Paper], facts: Iterable[Fact]) -> list[SectionRow]:
    """The rows of exports in their order."""
    read: dict[str, list[int]] = {}
    for fact in facts:
        if fact.origin.document_id is not None and fact.origin.start is not None:
            read.setdefault(fact.origin.document_id, []).append(fact.origin.start)
    found = []
    for entry, document in exports:
        starts = sorted(read.get(entry.id, ()))
        for block in document.blocks:
            if block.kind == "heading":
                continue
            heading = block.section[-1] if len(block.section) > 1 else ""
            text = " ".join(document.text[block.start : block.end].split())
            place = PaperMention(entry.id, block.start, block.end)
            is_read = _holds_any(starts, block.start, block.end)
            found.append(SectionRow(place, heading if len(heading) <= LONGEST_HEADING else "", text, is_read))
    return found


def _holds_any(starts: Sequence[int], start: int, end: int) -> bool:
    at = bisect_left(starts, start)
    return at < len(starts) and starts[at] < end


def under_headings(wanted: Intents, every: Iterable[SectionRow]) -> list[SectionRow]:
    """The rows under the headings that usually hold what is asked for; those of the first such heading come first."""
    ranked = [(rank, row) for row in every if (rank := _rank(wanted, row.heading)) is not None]
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]


def _rank(wanted: Intents, heading: str) -> int | None:
    fits = (at for at, (wish, title) in enumerate(_titles()) if wish in wanted and title.search(heading))
    return next(fits, None) if heading else None


@cache
def _titles() -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    return tuple((Intent(wish), re.compile(title, re.IGNORECASE)) for wish, title in rows("sections.tsv"))
