"""Finds the numbered recommendations of a document, each whole: list items, page breaks, date tag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.assistants.guidelines.guideline import RuleTable
from citewell.types import Block, Box, Document

NUMBERED = re.compile(r"(?P<id>\d{1,2}(?:\.\d{1,3}){2,3})\s+(?=[^\W\d_a-z]|['‘“\"(])")
"""A rule opens with its number, and its sentence with a capital: “1.3.1 to 1.3.4 are adapted” is prose."""
SECTION = re.compile(r"(\d{1,2}\.\d{1,3})\s+\S")
DATED = re.compile(r"\[(?P<date>[a-z ]{0,20}(?:19|20)\d\d(?:[^\[\]]{0,40})?)\]\s*$")
"""“[2015, amended 2020]”, “[new 2015]”."""
_ALONE = re.compile(r"(?P<id>\d{1,2}(?:\.\d{1,3}){2,3})\s*")
MARKER = re.compile(r"(?P<mark>[•–—◦▪‣o*-]|\(?[a-z0-9]{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Item:
    """A list item of a rule: how deep it stands, and its words without the mark."""

    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class RawRule:
    """A rule's words before they are understood."""

    id: str
    headings: tuple[str, ...]
    """Titles of the sections round it, outermost first."""
    head: str
    """The words before its list."""
    items: tuple[Item, ...]
    start: int
    end: int
    text: str
    date: str | None
    page: int
    page_end: int
    boxes: tuple[Box, ...]
    scope: str | None = None
    """What the section says of whom its rules apply to."""
    rows: tuple[str, ...] = ()
    """The rows of the table that stands below it."""
    table: RuleTable | None = None


def read_passages(document: Document) -> tuple[RawRule, ...]:
    """Every rule once, in order; a number that does not continue the numbering opens no rule."""
    starts = _starts(document)
    ends = [*starts[1:], len(document.blocks)]
    raw_rules = []
    intros: dict[tuple[str, ...], str] = {}
    for at, until in zip([0, *starts], [*starts[:1], *ends], strict=True):
        _note_intros(document, document.blocks[at:until], intros)
        if at in starts:
            raw_rules.append(_passage(document, document.blocks[at:until], intros))
    return tuple(raw_rules)


def _starts(document: Document) -> list[int]:
    """The blocks that open a rule."""
    starts: list[int] = []
    last: tuple[int, ...] = ()
    for index, block in enumerate(document.blocks):
        if block.kind not in ("paragraph", "list_item", "box"):
            continue
        match = _numbered(document, index)
        if match is None:
            continue
        number = tuple(int(part) for part in match.group("id").split("."))
        if number > last and _belongs(match.group("id"), block.section):
            starts.append(index)
            last = number
    return starts


def _numbered(document: Document, index: int) -> re.Match[str] | None:
    """The number that a block opens with; one alone in its block belongs to the paragraph below."""
    block = document.blocks[index]
    match = NUMBERED.match(document.text, block.start, block.end)
    if match is not None or index + 1 == len(document.blocks):
        return match
    following = document.blocks[index + 1]
    opens = following.kind == "paragraph" and document.text[following.start].isupper()
    return _ALONE.fullmatch(document.text, block.start, block.end) if opens else None


def _belongs(number: str, headings: Sequence[str]) -> bool:
    """Whether a rule of this number may stand under these headings."""
    sections = [match.group(1) for title in headings if (match := SECTION.match(title))]
    return not sections or any(number.startswith(section + ".") for section in sections)


_APPLIES = re.compile(r"[^.]*\brecommendations\b[^.]*\bapply to\b\s+(?P<whom>[^.]+)\.", re.IGNORECASE)


def _note_intros(document: Document, blocks: Sequence[Block], intros: dict[tuple[str, ...], str]) -> None:
    for block in blocks:
        if block.kind == "paragraph" and (match := _APPLIES.search(document.text, block.start, block.end)):
            intros[block.section] = match.group("whom")


def _passage(document: Document, blocks: Sequence[Block], intros: dict[tuple[str, ...], str]) -> RawRule:
    """The rule that opens with the first block: its list, and what follows it up to its date tag."""
    first = blocks[0]
    after = next((n for n, block in enumerate(blocks) if n and _is_heading(document, block)), len(blocks))
    blocks, below = blocks[:after], blocks[:after]
    last = _last(document, blocks)
    rows = [other for other in below[last + 1 :] if other.kind == "table_row"]
    table = _table(document, below[last + 1 :], rows)
    blocks = [block for block in blocks[: last + 1] if block.kind != "table_row"]
    match = NUMBERED.match(document.text, first.start, first.end)
    if match is None:  # the number stands alone, the words begin in the next block
        match = _ALONE.match(document.text, first.start, first.end)
        blocks = blocks[1:]
    assert match is not None
    start, end = max(match.end(), blocks[0].start), blocks[-1].end
    dated = DATED.search(document.text, start, end)
    if dated:
        end = start + len(document.text[start : dated.start()].rstrip())
    head, items = _parts(document, blocks, start, end)
    boxes = tuple(document.layout.boxes(start, end))
    scope = next(
        (intros[first.section[:n]] for n in range(len(first.section), 0, -1) if first.section[:n] in intros), None
    )
    return RawRule(
        id=match.group("id"),
        headings=tuple(title for title in first.section if not DATED.fullmatch(title)),
        head=head,
        items=items,
        start=start,
        end=end,
        text=document.text[start:end],
        date=dated.group("date") if dated else None,
        page=document.layout.page_at(start) or first.page or 0,
        page_end=document.layout.page_at(end - 1) or first.page or 0,
        boxes=boxes,
        scope=scope,
        rows=tuple(document.text[row.start : row.end] for row in rows),
        table=table,
    )


def _table(document: Document, below: Sequence[Block], rows: Sequence[Block]) -> RuleTable | None:
    """The first table below a rule, from its caption on."""
    if not rows:
        return None
    at = below.index(rows[0])
    first = below[at - 1] if at and below[at - 1].kind == "caption" else rows[0]
    last = rows[0]
    while (after := below.index(last) + 1) < len(below) and below[after].kind == "table_row":
        last = below[after]
    page = document.layout.page_at(first.start) or first.page or 0
    return RuleTable(document.text[first.start : last.end], page, first.start, last.end)


def _is_heading(document: Document, block: Block) -> bool:
    """Whether a block opens a section: a date tag alone on its line may be printed like one."""
    return block.kind == "heading" and DATED.fullmatch(document.text, block.start, block.end) is None


def _last(document: Document, blocks: Sequence[Block]) -> int:
    """The rule's last block: the first that ends with a date tag; without one, the end of its list."""
    for index, block in enumerate(blocks):
        if block.kind not in ("table_row", "caption") and DATED.search(document.text, block.start, block.end):
            return index
    last = 0
    while last + 1 < len(blocks) and blocks[last + 1].kind == "list_item":
        last += 1
    return last


def _parts(document: Document, blocks: Sequence[Block], start: int, end: int) -> tuple[str, tuple[Item, ...]]:
    """The words before the list, and the list; what stands after it is part of the text alone."""
    head = [document.text[start : min(blocks[0].end, end)]]
    items: list[Item] = []
    marks: list[str] = []
    for block in blocks[1:]:
        text = document.text[block.start : min(block.end, end)].strip()
        if not text:
            continue
        if block.kind == "list_item":
            mark = MARKER.match(text)
            name = mark.group("mark") if mark else ""
            name = name if not name[-1:].isalnum() and name[-1:] not in ".)" else "1."
            if name not in marks:
                marks.append(name)
            items.append(Item(marks.index(name), text[mark.end() :] if mark else text))
        elif not items:
            head.append(text)
    return " ".join(head), tuple(items)
