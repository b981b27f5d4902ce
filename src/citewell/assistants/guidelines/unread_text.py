"""Accounts for every character of the recommendations: what it belongs to, and what was not read."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.assistants.guidelines.guideline import (
    Coverage,
    Definition,
    GuidelineNote,
    RuleTable,
    SymptomRow,
    UnreadText,
)
from citewell.assistants.guidelines.read_rules import Passages, RawRule
from citewell.assistants.guidelines.read_tables import is_pointer
from citewell.types import Block, Document

_NUMBER = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,3}){2,3})(?:\s|$)")
_SAME_EDGE = 4.0
SHOWN = 120
"""Characters of a line that are shown where it is not known where it ends."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Account:
    """What was found beside the rules, and what each character belongs to."""

    notes: tuple[GuidelineNote, ...]
    coverage: Coverage


def account(
    document: Document,
    passages: Passages,
    *,
    tables: Sequence[RuleTable],
    symptoms: Sequence[SymptomRow],
    definitions: Sequence[Definition],
) -> Account:
    """Each block of the recommendations with what holds it; what stands between becomes a note, or is unread."""
    held = _Held(
        [
            *(("rule", (rule.start, rule.until)) for rule in passages.rules),
            *(("table", (table.start, table.end)) for table in tables),
            *(("table", (note.start, note.end)) for table in tables for note in table.notes),
            *(("row", (row.start, row.end)) for row in symptoms),
            *(("definition", (definition.start, definition.end)) for definition in definitions),
        ]
    )
    opening = {document.blocks[index].start for index in passages.starts}
    characters: Counter[str] = Counter()
    notes: list[GuidelineNote] = []
    unread: list[UnreadText] = []
    above: RawRule | None = None
    for block in _part(document, passages.rules, symptoms, definitions):
        kind = "rule" if block.start in opening else held.kind(block)
        if kind is None and block.kind == "heading":
            kind, above = "heading", None
        if kind == "rule":
            above = _rule_at(passages.rules, block.end)
        if kind is None:
            page = document.layout.page_at(block.start) or block.page or 0
            words = document.text[block.start : block.end]
            kind = "note" if above is None or _is_note(document, block, passages) else "unread"
            beside = above.id if above and not is_pointer(words) else None
            place = (page, block.start, block.end)
            if kind == "note":
                title = block.section[-1] if block.section else ""
                notes.append(GuidelineNote(words, *place, title, beside))
            else:
                unread.append(UnreadText(words, *place, beside))
        characters[kind] += block.end - block.start
    numbered = _numbered(document, passages)
    stray = tuple(
        UnreadText(
            document.text[place : place + SHOWN], document.layout.page_at(place) or 0, place, place + SHOWN, None
        )
        for number, place in numbered
        if place not in opening
    )
    coverage = Coverage(dict(characters), len(numbered), tuple(unread), stray, _left_out(document))
    return Account(tuple(notes), coverage)


def _left_out(document: Document) -> dict[str, int]:
    """What pages repeat at their edges, under its first wording; numbers differ from page to page."""
    first: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for _, text in document.layout.left_out:
        counted[first.setdefault(re.sub(r"\d+", "#", text), text)] += 1
    return dict(counted)


class _Held:
    """What holds the places of a document."""

    def __init__(self, spans: Iterable[tuple[str, Span]]) -> None:
        self._spans = sorted(spans, key=lambda one: one[1])
        self._starts = [start for _, (start, _) in self._spans]

    def kind(self, block: Block) -> str | None:
        """What holds the beginning of a block."""
        for kind, (start, end) in reversed(self._spans[: bisect_right(self._starts, block.start)]):
            if start <= block.start < end:
                return kind
        return None


def _rule_at(rules: Sequence[RawRule], place: int) -> RawRule | None:
    """The last rule that begins before a place."""
    at = bisect_right(rules, place, key=lambda rule: rule.start)
    return rules[at - 1] if at else None


def _part(
    document: Document, rules: Sequence[RawRule], symptoms: Sequence[SymptomRow], definitions: Sequence[Definition]
) -> Iterator[Block]:
    """The blocks of the recommendations: all of the outermost sections in which rules, rows or definitions stand."""
    places = sorted(
        [*(rule.start for rule in rules), *(row.start for row in symptoms), *(term.start for term in definitions)]
    )
    if not places:
        return
    inside = [block for block in document.blocks if places[0] <= block.end and block.start <= places[-1]]
    shared = _shared([block.section for block in document.blocks if block.start >= places[0]])
    roots = {block.section[: shared + 1] for block in inside if _holds_any(block, places)}
    for block in document.blocks:
        if block.section[: shared + 1] in roots:
            yield block


def _holds_any(block: Block, places: Sequence[int]) -> bool:
    at = bisect_right(places, block.end - 1)
    return at > 0 and places[at - 1] >= block.start


def _shared(sections: Sequence[tuple[str, ...]]) -> int:
    """How many of the outermost titles all these have in common."""
    depth = 0
    for titles in zip(*(section for section in sections if section), strict=False):
        if len(set(titles)) > 1:
            break
        depth += 1
    return depth


def _is_note(document: Document, block: Block, passages: Passages) -> bool:
    """Whether words below a rule are no part of it: set further out, or about the reasons."""
    if block.kind in ("table_row", "code"):
        return False
    if is_pointer(document.text[block.start : block.end]):
        return True
    return passages.indent is not None and not passages.indent.holds(document, block)


def _numbered(document: Document, passages: Passages) -> list[tuple[str, int]]:
    """The numbers with which lines begin where numbers of recommendations stand, and the places of these lines."""
    if not passages.rules:
        return []
    indent = passages.indent
    first, last = document.blocks[passages.starts[0]].start, _end(document, passages.rules)
    if indent is None:
        places = [block.start for block in document.blocks if block.kind != "table_row"]
    else:
        lines = document.layout.lines
        places = [line.start for line in lines if abs(min(line.lefts) - indent.number) < _SAME_EDGE]
    numbers = ((_NUMBER.match(document.text, place), place) for place in places if first <= place < last)
    return [(match.group("number"), place) for match, place in numbers if match]


def _end(document: Document, rules: Sequence[RawRule]) -> int:
    """Where the outermost section of the last rule ends."""
    root = next((block.section for block in reversed(document.blocks) if block.start <= rules[-1].start), ())
    shared = _shared([block.section for block in document.blocks if block.start >= rules[0].start]) + 1
    return max((block.end for block in document.blocks if block.section[:shared] == root[:shared]), default=0)
