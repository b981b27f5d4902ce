"""Reads a C-CDA document: the narrative that was signed, and its coded entries as facts that point into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from citewell.adapters.parsers.cda import CdaParser
from citewell.adapters.parsers.flow import child_named
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.adapters.records.cda_facts import READERS, read_people
from citewell.adapters.records.cda_values import (
    Element,
    attribute,
    moment,
    referred_text,
    section_of,
    template,
    templated,
)
from citewell.adapters.records.told import Told
from citewell.ingest.sniff import CDA
from citewell.types import Block, Document, Limits, Source
from citewell.types.facts import Fact, LabResult, fact_id
from citewell.types.facts_line import line_of

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)?")
ENOUGH = 0.5
"""The part of a name's words that a line must hold to speak of the same."""
Span = tuple[int, int]


def read_cda(source: Source, limits: Limits) -> Told:
    """A C-CDA document as people read it, and the facts that stand in it as codes."""
    document = CdaParser().parse(source, media_type=CDA, limits=limits)
    root, _note = read_tree(source.data)
    now = moment(attribute(child_named(root, "effectiveTime"), "value"))
    facts: dict[str, Fact] = {}
    spans: dict[str, Span] = {}
    for fact in read_people(root):
        if (span := _person_span(document, line_of(fact))) is not None and fact.id not in facts:
            facts[fact.id], spans[fact.id] = fact, span
    left_out = 0
    for entry, read in _entries(root, now.at if now else datetime.now(UTC)):
        if read is None:
            left_out += 1
            continue
        span, is_told = _span(document, entry, read)
        fact = replace(read, is_verified=read.is_verified and is_told)
        if fact.id in facts and facts[fact.id] != fact:  # real files use one id for several entries
            fact = replace(fact, id=fact_id("cda-again", fact.id, line_of(fact)))
        facts[fact.id], spans[fact.id] = fact, span
    return Told(document, tuple(facts.values()), spans, left_out)


def _entries(root: Element, now: datetime) -> Iterator[tuple[Element, Fact | None]]:
    """Every coded entry that may be a fact, with its element."""
    for entry in templated(root, *READERS):
        number = next(number for number in READERS if number in template(entry))
        if section_of(entry) is not None:
            yield entry, READERS[number](entry, now)


def _span(document: Document, entry: Element, fact: Fact) -> tuple[Span, bool]:
    """The row or line of the narrative that says most of what the entry says, and whether it does say it.

    People read and sign the narrative. Where a code says something else, a person has to look at it.
    """
    title = " ".join("".join(str(text) for text in _title(entry).itertext()).split())
    mine = [block for block in document.blocks if title in block.section] or list(document.blocks)
    name, _colon, rest = line_of(fact).partition(": ")
    referred = referred_text(entry) or ""
    wanted, more = _words(name), _words(f"{rest} {referred}")

    def score(block: Block) -> tuple[float, int]:
        held = _words(document.text[block.start : block.end])
        return len(wanted & held) / max(len(wanted), 1), len(more & held)

    best = max((block for block in mine if block.kind != "heading"), key=score, default=mine[0])
    share, shared = score(best)
    if share == 0 and not (referred and shared):
        return (mine[0].start, mine[-1].end), False
    held = _words(document.text[best.start : best.end])
    is_told = share >= ENOUGH or (isinstance(fact, LabResult) and bool(_words(f"{fact.value or 0:g}") & held))
    return (best.start, best.end), is_told


def _title(entry: Element) -> Element:
    section = section_of(entry)
    assert section is not None
    title = child_named(section, "title")
    return section if title is None else title


def _person_span(document: Document, line: str) -> Span | None:
    """Where a person is named, if they are."""
    wanted = _words(line.partition(": ")[0])
    held = {(block.start, block.end): _words(document.text[block.start : block.end]) for block in document.blocks}
    best = max(held, key=lambda span: (len(wanted & held[span]), -span[0]), default=None)
    return best if best is not None and len(wanted & held[best]) >= ENOUGH * len(wanted) else None


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
