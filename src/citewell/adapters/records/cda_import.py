"""Reads a C-CDA document: the narrative that was signed, and its coded entries as facts that point into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from citewell.adapters.parsers.cda import CdaParser
from citewell.adapters.parsers.markup_flow import child_named
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.adapters.records.cda_facts import READERS, read_people
from citewell.adapters.records.cda_values import (
    Element,
    attribute,
    forget,
    moment,
    referred_text,
    section_of,
    template,
    templated,
)
from citewell.adapters.records.imported_facts import ImportedFacts
from citewell.ingest.media_types import CDA
from citewell.types import Document, ParseLimits, Source
from citewell.types.facts import Fact, LabResult, fact_id
from citewell.types.facts_line import line_of

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)?")
ENOUGH = 0.5
"""The part of a name's words that a line must hold to speak of the same."""
CANDIDATES = 100
"""Lines that are looked at for one entry."""
Span = tuple[int, int]


def read_cda(source: Source, limits: ParseLimits) -> ImportedFacts:
    """A C-CDA document as people read it, and the facts that stand in it as codes."""
    document = CdaParser().parse(source, media_type=CDA, limits=limits)
    try:
        return _read(document, read_tree(source.data)[0])
    finally:
        forget()


def _read(document: Document, root: Element) -> ImportedFacts:
    now = moment(attribute(child_named(root, "effectiveTime"), "value"))
    narrative = Narrative(document)
    facts: dict[str, Fact] = {}
    spans: dict[str, Span] = {}
    for fact in read_people(root):
        if (span := narrative.person(line_of(fact))) is not None and fact.id not in facts:
            facts[fact.id], spans[fact.id] = fact, span
    left_out = 0
    for entry, read in _entries(root, now.at if now else datetime.now(UTC)):
        if read is None:
            left_out += 1
            continue
        span, is_told = narrative.span(entry, read)
        fact = replace(read, is_verified=read.is_verified and is_told)
        if fact.id in facts and facts[fact.id] != fact:  # real files use one id for several entries
            fact = replace(fact, id=fact_id("cda-again", fact.id, line_of(fact)))
        facts[fact.id], spans[fact.id] = fact, span
    return ImportedFacts(document, tuple(facts.values()), spans, left_out)


def _entries(root: Element, now: datetime) -> Iterator[tuple[Element, Fact | None]]:
    """Every coded entry that may be a fact, with its element."""
    for entry in templated(root, *READERS):
        number = next(number for number in READERS if number in template(entry))
        if section_of(entry) is not None:
            yield entry, READERS[number](entry, now)


class Narrative:
    """The words that were signed, section by section, so that those of an entry are found quickly."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._held = [_words(document.text[block.start : block.end]) for block in document.blocks]
        self._sections: dict[str, list[int]] = {}
        self._places: dict[tuple[str, str], list[int]] = {}
        self._titles: dict[Element | None, str] = {}
        for number, block in enumerate(document.blocks):
            for title in {*block.section, ""}:
                self._sections.setdefault(title, []).append(number)
                if block.kind != "heading":
                    for word in self._held[number]:
                        self._places.setdefault((title, word), []).append(number)

    def span(self, entry: Element, fact: Fact) -> tuple[Span, bool]:
        """The row or line that says most of what an entry says, and whether it does say it.

        People read and sign the narrative. Where a code says something else, a person has to look at it.
        """
        title = self._title(section_of(entry))
        name, _colon, rest = line_of(fact).partition(": ")
        referred = referred_text(entry) or ""
        wanted, more = _words(name), _words(f"{rest} {referred}")

        def score(number: int) -> tuple[float, int, int]:
            held = self._held[number]
            return len(wanted & held) / max(len(wanted), 1), len(more & held), -number

        best = max(self._candidates(title, wanted | more), key=score, default=None)
        if best is None or (score(best)[0] == 0 and not (referred and score(best)[1])):
            return self._whole(title), False
        block, is_told = self.document.blocks[best], score(best)[0] >= ENOUGH
        if isinstance(fact, LabResult) and fact.value is not None:
            is_told = is_told or bool(_words(f"{fact.value:g}") & self._held[best])
        return (block.start, block.end), is_told

    def person(self, line: str) -> Span | None:
        """Where a person is named, if they are."""
        wanted = _words(line.partition(": ")[0])
        best = max(
            self._candidates("", wanted), key=lambda number: (len(wanted & self._held[number]), -number), default=None
        )
        if best is None or len(wanted & self._held[best]) < ENOUGH * len(wanted):
            return None
        return self.document.blocks[best].start, self.document.blocks[best].end

    def _candidates(self, title: str, words: frozenset[str]) -> set[int]:
        """Blocks that hold some of the words, found by the rarest of them first."""
        found: set[int] = set()
        for places in sorted((self._places.get((title, word), []) for word in words), key=len):
            found.update(places[:CANDIDATES])
            if len(found) >= CANDIDATES:
                break
        return found

    def _title(self, section: Element | None) -> str:
        """The title of a section as blocks know it; looked up once, since a section may have many thousand entries."""
        if section not in self._titles:
            title = child_named(section, "title")
            words = "" if title is None else " ".join("".join(str(text) for text in title.itertext()).split())
            self._titles[section] = words if words in self._sections else ""
        return self._titles[section]

    def _whole(self, title: str) -> Span:
        numbers = self._sections[title]
        return self.document.blocks[numbers[0]].start, self.document.blocks[numbers[-1]].end


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
