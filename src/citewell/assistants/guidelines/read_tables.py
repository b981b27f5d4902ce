"""Finds the tables, boxes and checklists of a guideline, whole, and the recommendations that name them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from citewell.assistants.guidelines.guideline import GuidelineNote, RuleTable, SymptomRow
from citewell.assistants.guidelines.read_rules import Passages, RawRule, left_of
from citewell.types import Block, Document

REFERENCE = re.compile(r"(?<![\d.])(\d{1,2}\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
_CELL = re.compile(r"(?:^|; )(?P<header>[^:;]{3,60}): ")
_SYMPTOM = re.compile(r"\b(?:symptoms?|findings?|signs?|features)\b", re.IGNORECASE)
_CANCER = re.compile(r"\bpossible\b", re.IGNORECASE)
_ADVICE = re.compile(r"\brecommendations?\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\[?(\d{1,2}\.\d{1,3}\.\d{1,3})\]|\[(\d{1,2}\.\d{1,3}\.\d{1,3})")
"""A reference stands in brackets; one of them may be missing."""


def read_symptoms(document: Document) -> tuple[SymptomRow, ...]:
    """Every row of such a table, with the rules it refers to."""
    blocks = [block for block in document.blocks if block.kind == "table_row"]
    found = [(block, cells) for block in blocks if (cells := _cells_of(document, block)) is not None]
    levels = zip(*(block.section for block, _ in found), strict=False)
    root = sum(1 for _ in takewhile(lambda titles: len(set(titles)) == 1, levels))
    return tuple(_row(document, block, cells, root) for block, cells in found)


def _cells_of(document: Document, block: Block) -> tuple[str, str, str] | None:
    """Symptom, possible cancer and advice; None for a row of another table."""
    cells = _cells(document.text[block.start : block.end])
    symptom = next((cell for header, cell in cells if _SYMPTOM.search(header) and not _ADVICE.search(header)), None)
    cancer = next((cell for header, cell in cells if _CANCER.search(header)), None)
    advice = next((cell for header, cell in cells if _ADVICE.search(header)), None)
    if symptom is None or cancer is None or advice is None:
        return None
    return symptom, cancer, advice


def _row(document: Document, block: Block, cells: tuple[str, str, str], root: int) -> SymptomRow:
    """The row, in the system and group that its headings name below those that all rows share."""
    symptom, cancer, advice = cells
    below = block.section[root:] or block.section[-1:] or ("",)
    system, group = below[0], below[-1]
    references = tuple(dict.fromkeys(one or other for one, other in _BRACKETED.findall(advice)))
    page = document.layout.page_at(block.start) or block.page or 0
    return SymptomRow(system, group, page, symptom, cancer, advice, references, block.start, block.end)


def _cells(text: str) -> list[tuple[str, str]]:
    """The cells of a row, each with the header of its column."""
    matches = list(_CELL.finditer(text))
    known = [
        match for match in matches if any(sign.search(match.group("header")) for sign in (_SYMPTOM, _CANCER, _ADVICE))
    ]
    ends = [*(match.start() for match in known[1:]), len(text)][: len(known)]
    return [(match.group("header"), text[match.end() : end].strip()) for match, end in zip(known, ends, strict=True)]


_NUMBER = r"[A-Z]?\d+[a-z]?(?:\.\d+)*|(?-i:[A-Z])\b"
_CAPTION = re.compile(rf"(?P<kind>table|box|figure|panel)\s+(?P<number>{_NUMBER})(?=[\s.:–-]|$)", re.IGNORECASE)
_NAMED = re.compile(
    rf"\b(?P<kind>table|box|figure|panel)(?:e?s)?\s+(?P<first>{_NUMBER})"
    rf"(?P<more>(?:\s*(?:,|–|-|\bto\b|\band\b|\bor\b)\s*(?:and\s+)?(?:(?:table|box|figure|panel)\s+)?(?:{_NUMBER}))*)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\s*+(?:[),]\s*+)?(?:in|of|from|on)\s+(?:the\s+)?(?:NICE|BNF|MHRA|BTS|WHO|appendix|evidence)\b"
)
"""“Table 1 in NICE's guideline on …” stands in another document."""
_OF_ANOTHER = re.compile(r"\bguidelines? on [^.;()]{0,100}[(,]\s*(?:see )?$", re.IGNORECASE)
"""“NICE's guideline on … (table 1)”."""
_NOTES = re.compile(r"(?:foot)?notes?\b[^.]{0,20}\b(?:table|box|figure)", re.IGNORECASE)
CONTENTS = re.compile(r"^(?:table of )?contents$", re.IGNORECASE)
_SCORE = re.compile(r"\b(?:checklist|scor\w+|scale|criteria|tool|index|chart|table|box)\b", re.IGNORECASE)
BETWEEN = 3
"""Blocks that may stand between a caption and its first row."""


def read_tables(document: Document, passages: Passages, symptoms: Sequence[SymptomRow]) -> tuple[RuleTable, ...]:
    """Every table, box and panel but the index by symptom, in order; parts of one that follow each other are one."""
    return tuple(_Reader(document, passages, frozenset(row.start for row in symptoms)).read())


@dataclass
class _Reader:
    """Goes through the blocks of a document once."""

    document: Document
    passages: Passages
    index: frozenset[int]
    """Where the rows of the index by symptom begin."""
    at: int = 0
    shared: dict[str, list[GuidelineNote]] = field(default_factory=dict)

    def read(self) -> Iterator[RuleTable]:
        tables: list[RuleTable] = []
        blocks, starts = self.document.blocks, set(self.passages.starts)
        while self.at < len(blocks):
            block = blocks[self.at]
            if self.at in starts or block.start in self.index or (block.section and CONTENTS.match(block.section[-1])):
                self.at += 1
            elif block.kind == "table_row":
                self._add(tables, self._table(self.at, self._title(block)))
            elif (caption := _CAPTION.match(self._text(block))) and self._opens(block):
                self._add(tables, self._captioned(_name(caption["kind"], caption["number"])))
            elif block.kind == "heading" and self._is_panel(block):
                self._panel(tables)
            else:
                self.at += 1
        for table in tables:
            yield replace(table, notes=tuple(self.shared.get(table.name or "", ())))

    def _text(self, block: Block) -> str:
        return self.document.text[block.start : block.end]

    def _opens(self, block: Block) -> bool:
        """Whether words that begin like a caption are one, and no sentence."""
        if block.kind in ("caption", "heading"):
            return True
        text = self._text(block)
        following = self.document.blocks[self.at + 1 : self.at + 2]
        return block.kind == "paragraph" and not text.endswith(".") and bool(following) and _is_row(following[0])

    def _is_panel(self, block: Block) -> bool:
        indent = self.passages.indent
        return indent is not None and indent.is_panel(self.document, block)

    def _add(self, tables: list[RuleTable], table: RuleTable) -> None:
        """The table, or the rest of the one before it."""
        last = tables[-1] if tables else None
        if last and last.name and last.name == table.name and not self.document.text[last.end : table.start].strip():
            rows = (*last.rows, *table.rows)
            tables[-1] = replace(last, text=self.document.text[last.start : table.end], end=table.end, rows=rows)
        else:
            tables.append(table)

    def _captioned(self, name: str) -> RuleTable:
        """The table below a caption; a box of words where there are no rows."""
        blocks, first = self.document.blocks, self.at
        for row in range(first + 1, min(first + 2 + BETWEEN, len(blocks))):
            if row in self.passages.starts or _CAPTION.match(self._text(blocks[row])):
                break
            if _is_row(blocks[row]):
                self.at = row
                return self._table(first, name)
        last = first if name.startswith("figure") else self._last_of_box(first)
        self.at = last + 1
        return self._made(first, last, name, is_picture=last == first)

    def _last_of_box(self, first: int) -> int:
        """The last block of a box: those below it that stand as far in, up to the next rule, caption or section."""
        blocks, last = self.document.blocks, first
        left = left_of(self.document, blocks[first])
        for index in range(first + 1, len(blocks)):
            block = blocks[index]
            text = self._text(block)
            is_next = index in self.passages.starts or _CAPTION.match(text) or _is_row(block) or is_pointer(text)
            is_out = left is not None and (left_of(self.document, block) or left) < left - 3
            is_inside = self._is_panel(block) and self._is_panel(blocks[first]) and not _NOTES.match(text)
            if is_next or is_out or (block.kind == "heading" and not is_inside):
                break
            last = index
        return last

    def _table(self, first: int, name: str | None) -> RuleTable:
        """The rows from here on, with the notes on them."""
        blocks, last = self.document.blocks, self.at
        while last + 1 < len(blocks) and _is_row(blocks[last + 1]) and self._title(blocks[last + 1]) in (name, None):
            last += 1
        rows = tuple(self._joined_rows(blocks[self.at : last + 1]))
        self.at = last + 1
        while (note := self._note(last + 1, name)) is not None:
            last = note
            self.at = last + 1
        return self._made(first, last, name, rows=rows)

    def _title(self, row: Block) -> str | None:
        """The table that a row names as its own: a caption close between two tables is printed as a title in them."""
        caption = _CAPTION.match(self._text(row))
        return _name(caption["kind"], caption["number"]) if caption else None

    def _joined_rows(self, rows: Sequence[Block]) -> Iterator[tuple[int, int, int]]:
        """The places of rows; one that the page cuts repeats its first cell on the next page."""
        before: tuple[int, int, int] | None = None
        label, page = "", None
        for row in rows:
            opening = self._text(row).removeprefix(row_title(self._text(row))).partition(";")[0]
            if before and row.page != page and opening == label:
                before = before[0], row.end, before[2]
            else:
                if before:
                    yield before
                before = row.start, row.end, row.page or 0
            label, page = opening, row.page
        if before:
            yield before

    def _note(self, index: int, name: str | None) -> int | None:
        """The last block of notes on this table that begin here; those on others too are kept for them."""
        blocks = self.document.blocks
        if index >= len(blocks) or index in self.passages.starts:
            return None
        block = blocks[index]
        text = self._text(block)
        if block.kind != "heading":
            is_note = block.kind in ("paragraph", "list_item", "footnote") and not is_pointer(text)
            indent = self.passages.indent
            is_ours = indent is not None and name is not None and not indent.holds(self.document, block)
            return index if is_note and is_ours and not _CAPTION.match(text) else None
        if not _NOTES.match(text) or name is None:
            return None
        last = self._last_of_box(index)
        for other in table_names(text):
            if other != name:
                self.shared.setdefault(other, []).append(self._as_note(index, last))
        return last

    def _as_note(self, first: int, last: int) -> GuidelineNote:
        blocks = self.document.blocks
        start, end = blocks[first].start, blocks[last].end
        title = blocks[first].section[-1] if blocks[first].section else ""
        page = self.document.layout.page_at(start) or blocks[first].page or 0
        return GuidelineNote(self.document.text[start:end], page, start, end, title)

    def _panel(self, tables: list[RuleTable]) -> None:
        """A panel under a title of its own: notes on tables, or a box where a rule names it."""
        first = self.at
        title = self._text(self.document.blocks[first])
        last = self._last_of_box(first)
        self.at = last + 1
        if _NOTES.match(title):
            for name in table_names(title):
                self.shared.setdefault(name, []).append(self._as_note(first, last))
        elif any(self._names(rule, title, first) for rule in self.passages.rules):
            tables.append(self._made(first, last, " ".join(title.casefold().split())))

    def _names(self, rule: RawRule, title: str, at: int) -> bool:
        """Whether a rule names a panel by its title: the rule right above it, or any where it is a score or list."""
        above = max((index for index in self.passages.starts if index < at), default=-1)
        is_above = above >= 0 and rule == self.passages.rules[self.passages.starts.index(above)]
        return says(rule.text, title) and (is_above or _SCORE.search(title) is not None)

    def _made(
        self,
        first: int,
        last: int,
        name: str | None,
        *,
        rows: tuple[tuple[int, int, int], ...] = (),
        is_picture: bool = False,
    ) -> RuleTable:
        start, end = self.document.blocks[first].start, self.document.blocks[last].end
        page = self.document.layout.page_at(start) or self.document.blocks[first].page or 0
        return RuleTable(self.document.text[start:end], page, start, end, name, rows, is_picture=is_picture)


def row_title(text: str) -> str:
    """The caption that a row repeats, with what parts it from the row.

    >>> row_title("Table 2 Doses; Mild: 5 mg"), row_title("Mild: 5 mg; or rest")
    ('Table 2 Doses; ', '')
    """
    return text[: text.find("; ") + 2] if _CAPTION.match(text) and "; " in text else ""


def _is_row(block: Block) -> bool:
    return block.kind == "table_row"


def _name(kind: str, number: str) -> str:
    return f"{kind.lower()} {number.lower()}"


_POINTERS = re.compile(
    r"(?:for (?:a short explanation of|more information on) why|to find out why|full details of (?:the )?evidence)\b",
    re.IGNORECASE,
)


def is_pointer(text: str) -> bool:
    """Whether words only say where the reasons for the rules above are to be found."""
    return _POINTERS.match(text) is not None


def says(text: str, title: str) -> bool:
    """Whether a text names something by its title, of two words or more."""
    words = " ".join(title.casefold().split())
    return " " in words and words in " ".join(text.casefold().split())


def table_names(text: str) -> list[str]:
    """The tables that a text names, as their captions do.

    >>> table_names("see tables 1 to 3 and box 2")
    ['table 1', 'table 2', 'table 3', 'box 2']
    >>> table_names("see table 1 in NICE's guideline on fever, and the guideline on sepsis (table 2)")
    []
    """
    found: list[str] = []
    for match in _NAMED.finditer(text):
        if _ELSEWHERE.match(text, match.end()) or _OF_ANOTHER.search(text, 0, match.start()):
            continue
        found.append(_name(match["kind"], match["first"]))
        kind, last = match["kind"], match["first"]
        for more in re.finditer(
            rf"(?P<to>–|-|\bto\b)?\s*(?:(?P<kind>table|box|figure|panel)\s+)?(?P<number>{_NUMBER})", match["more"]
        ):
            kind = more["kind"] or kind
            if more["to"] and last.isdigit() and more["number"].isdigit():
                found += [_name(kind, str(number)) for number in range(int(last) + 1, int(more["number"]))]
            last = more["number"]
            found.append(_name(kind, last))
    return list(dict.fromkeys(found))


def bound(
    document: Document, rules: Sequence[RawRule], tables: Sequence[RuleTable]
) -> Mapping[str, tuple[RuleTable, ...]]:
    """The tables of each rule: those that it names, and one that no rule names of the rule right above it."""
    by_name: dict[str, RuleTable] = {}
    for table in tables:
        if table.name is not None:
            by_name.setdefault(table.name, table)
    found: dict[str, list[RuleTable]] = {}
    for rule in rules:
        named = [by_name[name] for name in table_names(rule.text) if name in by_name]
        named += [table for name, table in by_name.items() if not _CAPTION.match(name) and says(rule.text, name)]
        if named:
            found[rule.id] = named
    taken = {id(table) for named in found.values() for table in named}
    for table in tables:
        if id(table) not in taken and (above := _above(document, rules, table)) is not None:
            found.setdefault(above.id, []).append(table)
    return {rule: tuple(named) for rule, named in found.items()}


def _above(document: Document, rules: Sequence[RawRule], table: RuleTable) -> RawRule | None:
    """The rule right above a table, with no section beginning in between."""
    above = next((rule for rule in reversed(rules) if rule.start < table.start), None)
    if above is None:
        return None
    between = (block for block in document.blocks if above.start <= block.start < table.start)
    return None if any(block.kind == "heading" for block in between) else above
