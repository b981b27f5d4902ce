"""Finds the numbered recommendations of a document, each whole: list items, page breaks, date tag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from citewell.assistants.guidelines.guideline import RuleTable
from citewell.types import Block, Box, Document

NUMBERED = re.compile(r"(?P<id>\d{1,2}(?:\.\d{1,3}){2,3})\s+(?=[^\W\d_a-z]|['‘“\"(])")
"""A rule opens with its number, and its sentence with a capital: “1.3.1 to 1.3.4 are adapted” is prose."""
SECTION = re.compile(r"(\d{1,2}\.\d{1,3})\s+\S")
DATED = re.compile(r"\[(?P<date>(?:[\w'’]+[ /,&(-]+){0,10}(?:19|20)\d\d\b[^\[\]]{0,100})\]\.?\s*$")
"""“[2015, amended 2020]”, “[new 2015]”, “[6 May 2023]”, “[NICE 2017, BTS/SIGN 2019]”."""
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
    until: int = 0
    """Where it ends with its date tag."""
    tables: tuple[RuleTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Indent:
    """Where the numbers of rules stand on the page, and further in their words; notes stand between or further out."""

    number: float
    words: float

    @classmethod
    def of(cls, document: Document, starts: Sequence[int]) -> Indent | None:
        """None without pages, or where the words of a rule run on below its number."""
        numbers, words, hanging, gaps = [], [], [], []
        for index in starts:
            block = document.blocks[index]
            match = _ALONE.match(document.text, block.start, block.end)
            boxes = document.layout.boxes(block.start, block.end)
            opening = document.layout.boxes(match.end(), match.end() + 1) if match else []
            if match and boxes and opening:
                numbers.append(boxes[0].left)
                words.append(opening[0].left)
                gaps.append(opening[0].left - document.layout.boxes(block.start, match.end("id"))[0].right)
                hanging += [abs(boxes[1].left - opening[0].left) < _SAME_EDGE] if len(boxes) > 1 else []
        if not hanging and gaps:  # no rule is longer than a line
            hanging = [median(gaps) > _GAP]
        if not hanging or sum(hanging) < _USUAL * len(hanging):
            return None
        return cls(median(numbers), median(words))

    def holds(self, document: Document, block: Block) -> bool:
        """Whether a block below a rule stands as far in as the rule's words."""
        left = left_of(document, block)
        return left is not None and left > self.words - _SAME_EDGE

    def is_panel(self, document: Document, block: Block) -> bool:
        """Whether a block stands in a box of its own: right of the numbers, left of the words."""
        left = left_of(document, block)
        return left is not None and self.number + _SAME_EDGE < left < self.words - _SAME_EDGE


_SAME_EDGE = 4.0
"""Points by which edges that are meant to be one may differ."""
_USUAL = 0.8
_GAP = 8.0
"""Points between a number and its words that are more than a space."""


def left_of(document: Document, block: Block) -> float | None:
    """Where a block begins on its line."""
    boxes = document.layout.boxes(block.start, block.start + 1)
    return boxes[0].left if boxes else None


@dataclass(frozen=True, slots=True)
class Passages:
    """The rules of a document, the blocks that open them, and how they are set."""

    rules: tuple[RawRule, ...]
    starts: tuple[int, ...]
    indent: Indent | None


def read_passages(document: Document) -> Passages:
    """Every rule once, in order; a number that does not continue the numbering opens no rule."""
    starts = _starts(document, None)
    if (indent := Indent.of(document, starts)) is not None:
        starts = _starts(document, indent)
    ends = [*starts[1:], len(document.blocks)]
    raw_rules = []
    intros: dict[tuple[str, ...], str] = {}
    for at, until in zip([0, *starts], [*starts[:1], *ends], strict=True):
        _note_intros(document, document.blocks[at:until], intros)
        if at in starts:
            raw_rules.append(_passage(document, document.blocks[at:until], intros, indent))
    return Passages(tuple(raw_rules), tuple(starts), indent)


def _starts(document: Document, indent: Indent | None) -> list[int]:
    """The blocks that open a rule."""
    starts: list[int] = []
    last: tuple[int, ...] = ()
    for index, block in enumerate(document.blocks):
        if block.kind not in ("paragraph", "list_item", "box"):
            continue
        match = _numbered(document, index) or _hanging(document, block, indent)
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


def _hanging(document: Document, block: Block, indent: Indent | None) -> re.Match[str] | None:
    """The number of a rule that opens with a small letter, such as “eGFR”: it stands where those of others do."""
    match = _ALONE.match(document.text, block.start, block.end)
    if indent is None or match is None or match.end() == block.end:
        return None
    left, opening = left_of(document, block), document.layout.boxes(match.end(), match.end() + 1)
    is_out = left is not None and abs(left - indent.number) < _SAME_EDGE
    return match if is_out and opening and abs(opening[0].left - indent.words) < _SAME_EDGE else None


def _belongs(number: str, headings: Sequence[str]) -> bool:
    """Whether a rule of this number may stand under these headings."""
    sections = [match.group(1) for title in headings if (match := SECTION.match(title))]
    return not sections or any(number.startswith(section + ".") for section in sections)


_APPLIES = re.compile(
    r"(?<![^.])(?=[^.]*+\.)(?>[^.]*?\brecommendations\b)[^.]*\bapply to\b\s+(?P<whom>[^.]+)\.", re.IGNORECASE
)


def _note_intros(document: Document, blocks: Sequence[Block], intros: dict[tuple[str, ...], str]) -> None:
    for block in blocks:
        if block.kind == "paragraph" and (match := _APPLIES.search(document.text, block.start, block.end)):
            intros[block.section] = match.group("whom")


def _passage(
    document: Document, blocks: Sequence[Block], intros: dict[tuple[str, ...], str], indent: Indent | None
) -> RawRule:
    """The rule that opens with the first block: its list, and what follows it as far as it goes."""
    first = blocks[0]
    match = _ALONE.match(document.text, first.start, first.end)
    assert match is not None
    below = blocks if match.end() < first.end else blocks[1:]  # a number may stand alone above its words
    last = _last_by_date(document, below) if indent is None else _last_by_indent(document, below, indent)
    blocks = [block for block in below[: last + 1] if block.kind not in ("table_row", "caption", "footnote")]
    start, end = max(match.end(), blocks[0].start), below[last].end
    dated = DATED.search(document.text, start, end)
    if dated:
        end = start + len(document.text[start : dated.start()].rstrip())
    tags = (DATED.search(document.text, block.start, block.end) for block in blocks)
    dates = [tag.group("date") for tag in tags if tag]
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
        date="; ".join(dict.fromkeys(dates)) or None,
        page=document.layout.page_at(start) or first.page or 0,
        page_end=document.layout.page_at(end - 1) or first.page or 0,
        boxes=boxes,
        scope=scope,
        until=below[last].end,
    )


def _is_heading(document: Document, block: Block) -> bool:
    """Whether a block opens a section: a date tag alone on its line may be printed like one."""
    return block.kind == "heading" and DATED.fullmatch(document.text, block.start, block.end) is None


def _last_by_indent(document: Document, blocks: Sequence[Block], indent: Indent) -> int:
    """The rule's last block: words below it belong to it as long as they stand as far in as its own."""
    last = 0
    for index, block in enumerate(blocks[1:], 1):
        if block.kind in ("table_row", "caption", "footnote"):
            continue
        if not indent.holds(document, block):
            break
        last = index
    return last


def _last_by_date(document: Document, blocks: Sequence[Block]) -> int:
    """The rule's last block: the first that ends with a date tag; without one, the end of its list."""
    after = next((n for n, block in enumerate(blocks) if n and _is_heading(document, block)), len(blocks))
    dated = [index for index, block in enumerate(blocks[:after]) if _is_dated(document, block)]
    last = dated[0] if dated else 0
    listed = last
    while listed + 1 < after and blocks[listed + 1].kind == "list_item":
        listed += 1
    return max((index for index in dated if index <= listed), default=listed)


def _is_dated(document: Document, block: Block) -> bool:
    is_text = block.kind not in ("table_row", "caption")
    return is_text and DATED.search(document.text, block.start, block.end) is not None


def _parts(document: Document, blocks: Sequence[Block], start: int, end: int) -> tuple[str, tuple[Item, ...]]:
    """The words before the list, and the list; what stands after it is part of the text alone."""
    head: list[str] = []
    items: list[Item] = []
    marks: list[str] = []
    is_open = True
    for block in blocks:
        text = DATED.sub("", document.text[max(start, block.start) : min(block.end, end)]).strip()
        was_open, is_open = is_open, is_open and not _is_dated(document, block)
        if not text:
            continue
        if block.kind == "list_item" and block.start > start:
            mark = MARKER.match(text)
            name = mark.group("mark") if mark else ""
            name = name if not name[-1:].isalnum() and name[-1:] not in ".)" else "1."
            if name not in marks:
                marks.append(name)
            items.append(Item(marks.index(name), text[mark.end() :] if mark else text))
        elif not items and was_open:
            head.append(text)
    return " ".join(head), tuple(items)
