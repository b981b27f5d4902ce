"""Word documents (.docx): the accepted text in reading order; deletions, headers, footers and comments are left out."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lxml import etree

from citewell.adapters.parsers.dates import read_date
from citewell.adapters.parsers.docx_styles import (
    Numbering,
    ParagraphStyle,
    Styles,
    is_all_bold,
    is_on,
    number,
    paragraph_style,
    value,
)
from citewell.adapters.parsers.markup_flow import (
    BlockReader,
    LineReader,
    SectionedText,
    child_named,
    children_named,
    descendants_named,
    local_name,
    read_line,
    walk,
)
from citewell.adapters.parsers.markup_line import Inline
from citewell.adapters.parsers.safe_zip import SafeZip, ZipWords
from citewell.adapters.parsers.table_rows import Cell, guess_header_rows, table_lines
from citewell.adapters.parsers.xml_tree import read_plain_tree
from citewell.errors import DamagedFile
from citewell.types import Document, Metadata, ParseLimits, Source

SKIPPED = frozenset(
    """del moveFrom instrText delText delInstrText pPr rPr sectPr tblPr tblGrid trPr tcPr sdtPr sdtEndPr Fallback
    footnotePr endnotePr rt rubyPr annotationRef commentReference""".split()
)
SYMBOL_FONT = dict(zip("abcdefghijklmnopqrstuvwxyz", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
SYMBOL_FONT |= dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True))
SYMBOL_FONT |= dict(
    zip("\xa2\xa3\xa5\xac\xad\xae\xaf\xb0\xb1\xb2\xb3\xb4\xb7\xb8\xb9\xbb\xd6\xe5-", "′≤∞←↑→↓°±″≥×•÷≠≈√∑−", strict=True)
)
"""Letters of the Symbol font as Unicode: a dose in μg or a limit of ≥ 5 must not turn into another letter."""
WINGDINGS = {"\xfc": "✓", "\xfb": "✗", "\xfe": "☑", "\xa8": "☐", "\x6f": "☐", "\xa7": "▪", "\xd8": "➢", "\xe0": "→"}


class Notes:
    """Footnotes and endnotes in the order in which the text refers to them."""

    def __init__(self, footnotes: etree._Element | None = None, endnotes: etree._Element | None = None) -> None:
        self._elements: dict[tuple[str, str | None], etree._Element] = {}
        for kind, root in (("footnote", footnotes), ("endnote", endnotes)):
            for note in children_named(root, kind):
                self._elements[kind, value(note, "id")] = note
        self._count = 0
        self.pending: list[tuple[str, etree._Element]] = []
        """Notes that were referred to and not yet written, with their marks."""

    def refer(self, kind: str, note_id: str | None) -> str:
        """The mark of a note; nothing when there is no such note."""
        # A note is written once, also when it refers to itself.
        note = self._elements.pop((kind, note_id), None)
        if note is None:
            return ""
        self._count += 1
        self.pending.append((f"[{self._count}]", note))
        return f"[{self._count}]"


@dataclass(frozen=True, slots=True)
class DocxParts:
    """What the text of a document refers to."""

    styles: Styles = field(default_factory=Styles)
    numbering: Numbering = field(default_factory=Numbering)
    notes: Notes = field(default_factory=Notes)


class DocxLineReader(LineReader):
    """Reads Word content as one line; only the text of runs counts, never the numbers that place a drawing."""

    skipped = SKIPPED

    def __init__(self) -> None:
        super().__init__()
        self.parts = DocxParts()
        self._raised: list[tuple[etree._Element, bool]] = []

    def line(self, element: etree._Element) -> str:
        """The text of an element, such as a table cell, as one line."""
        reader = DocxLineReader()
        reader.parts = self.parts
        return read_line(element, reader)

    def is_apart(self, name: str) -> bool:
        return name in ("p", "tc", "tr", "tbl", "txbxContent")

    def write(self, text: str | None) -> None:
        """Text outside of runs is layout."""

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        if name in self.skipped or _is_placeholder(element, name):
            return False
        text = self._characters(element, name)
        if text is not None:
            self.inline.write(text)
            return False
        if name == "r" and not self._enter_run(element):
            return False
        self.inline.write(_FORMULA_SIGNS.get(name))
        if name == "p" and type(self) is DocxLineReader:
            self.inline.gap()
            self._write_marker(element)
        return super().enter(element)

    def _characters(self, element: etree._Element, name: str) -> str | None:
        """What an element prints by itself; None for one that only holds others."""
        if name == "t":
            return _text(element)
        if name == "sym":
            return _symbol(element)
        if name in ("footnoteReference", "endnoteReference"):
            return self.parts.notes.refer(name.removesuffix("Reference"), value(element, "id"))
        return _CHARACTERS.get(name)

    def leave(self, element: etree._Element) -> None:
        super().leave(element)
        if local_name(element) in ("rad", "d"):
            self.inline.write(")")
        if self._raised and self._raised[-1][0] is element:
            _, is_super = self._raised.pop()
            script = self._inlines.pop()
            text = script.take()
            if is_super:
                self.inline.superscript(text, following=_following(element))
            else:
                self.inline.subscript(text)

    def _enter_run(self, run: etree._Element) -> bool:
        properties = child_named(run, "rPr")
        if is_on(properties, "vanish"):
            return False
        raised = value(child_named(properties, "vertAlign"))
        # A note's mark is raised too, but it brings its own brackets.
        if raised in ("superscript", "subscript") and child_named(run, "footnoteReference", "endnoteReference") is None:
            self._raised.append((run, raised == "superscript"))
            self._inlines.append(Inline())
        return True

    def _write_marker(self, paragraph: etree._Element) -> None:
        numbering = paragraph_style(paragraph, self.parts.styles).numbering
        if numbering:
            self.inline.write(self.parts.numbering.marker(*numbering) + " ")


_FORMULA_SIGNS = {"den": "/", "rad": "√(", "d": "("}
_CHARACTERS = {"tab": " ", "br": " ", "cr": " ", "ptab": " ", "noBreakHyphen": "-", "softHyphen": ""}


def _text(element: etree._Element) -> str:
    text = element.text or ""
    if any("\uf020" <= letter <= "\uf0ff" for letter in text):
        return "".join(_private(letter, _font(element)) for letter in text)
    return text


def _symbol(element: etree._Element) -> str:
    try:
        letter = chr(int(value(element, "char") or "", 16))
    except (ValueError, OverflowError):
        return ""
    return _private(letter, (value(element, "font") or "").lower())


def _private(letter: str, font: str) -> str:
    """A character of a symbol font, which Word keeps in Unicode's private area."""
    if not "\uf020" <= letter <= "\uf0ff":
        return letter
    plain = chr(ord(letter) - 0xF000)
    if font.startswith("wingdings"):
        return WINGDINGS.get(plain, "•")
    return SYMBOL_FONT.get(plain, plain)


def _font(text: etree._Element) -> str:
    run = text.getparent()
    return (value(child_named(child_named(run, "rPr"), "rFonts"), "ascii") or "").lower()


def _following(run: etree._Element) -> str:
    text = child_named(run.getnext(), "t")
    return text.text or "" if text is not None else ""


def _is_placeholder(element: etree._Element, name: str) -> bool:
    """A field that nobody has filled in shows a prompt that is not part of the document."""
    return name == "sdt" and child_named(child_named(element, "sdtPr"), "showingPlcHdr") is not None


MAIN_PART = "word/document.xml"
_ASK_AGAIN = "Open it in Word, save it again, and add that copy."
_WORDS = ZipWords("Word file", "Download or copy it again, then add it.", _ASK_AGAIN)


class Package:
    """The parts of a Word document."""

    def __init__(self, data: bytes, limits: ParseLimits) -> None:
        self._zip = SafeZip(data, _WORDS, max_unpacked_bytes=limits.max_unpacked_bytes)
        self.main_part = self._related("", "officeDocument") or MAIN_PART

    def main(self) -> etree._Element:
        """The root of the main text."""
        root = self.part(self.main_part)
        if root is None:
            raise DamagedFile(f"This looks like a Word document but contains no text. {_ASK_AGAIN}")
        return root

    def related(self, kind: str) -> etree._Element | None:
        """The root of a part that the main text refers to, such as its styles."""
        name = self._related(self.main_part, kind)
        return self.part(name) if name else None

    def part(self, name: str) -> etree._Element | None:
        """The root of a part, or None when there is no such part."""
        return read_plain_tree(self._zip.read(name)) if name in self._zip.entries else None

    def _related(self, part: str, kind: str) -> str | None:
        folder, name = posixpath.split(part)
        relations = self.part(posixpath.join(folder, "_rels", f"{name}.rels"))
        for relation in relations if relations is not None else ():
            if local_name(relation) == "Relationship" and (relation.get("Type") or "").endswith(f"/{kind}"):
                target = relation.get("Target") or ""
                if relation.get("TargetMode") != "External":
                    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        return None


MAX_BOLD_HEADING_CHARACTERS = 100
BLOCKS = frozenset("p tbl txbxContent".split())
_TYPED_NUMBER = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,5})\.?\s+\S")


class DocxParser:
    """Reads Word documents."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:
        package = Package(source.data, limits)
        body = package.main()
        notes = Notes(package.related("footnotes"), package.related("endnotes"))
        parts = DocxParts(Styles(package.related("styles")), Numbering(package.related("numbering")), notes)
        flow = SectionedText()
        reader = _DocxReader(flow, parts)
        reader.read(body)
        properties = package.part("docProps/core.xml")
        return Document(
            title=_title(reader.titles, properties, flow) or PurePosixPath(source.name).stem,
            media_type=media_type,
            text=flow.text,
            blocks=tuple(flow.blocks),
            metadata=_metadata(properties, package.part("docProps/app.xml")),
            notes=_remarks(body),
        )


class _DocxReader(BlockReader, DocxLineReader):
    """Cuts a Word document into blocks."""

    def __init__(self, flow: SectionedText, parts: DocxParts) -> None:
        super().__init__(flow)
        self.parts = parts
        self._styles_open: list[ParagraphStyle] = []
        self._deferred: list[etree._Element] = []
        self._guess_headings = False
        self._frames: set[etree._Element] = set()
        """Tables that hold headings: they only arrange the page."""
        self.titles: list[str] = []

    def read(self, body: etree._Element) -> None:
        """Read the whole text and its notes."""
        styles = (
            (paragraph, paragraph_style(paragraph, self.parts.styles)) for paragraph in descendants_named(body, "p")
        )
        headings = [paragraph for paragraph, style in styles if _heading_level(style)]
        self._guess_headings = not headings
        self._frames = {
            table for heading in headings for table in heading.iterancestors() if local_name(table) == "tbl"
        }
        walk(body, self)
        self._write_notes()

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        if name not in BLOCKS or self.in_script:
            return super().enter(element)
        if name == "txbxContent":
            # A text box hangs on a paragraph; it is written after it.
            self._deferred.append(element)
            return False
        if name == "tbl":
            return self._enter_table(element)
        style = paragraph_style(element, self.parts.styles)
        if re.match(r"toc \d|toc heading|table of figures", style.name):
            return False
        self._styles_open.append(style)
        return True

    def leave(self, element: etree._Element) -> None:
        name = local_name(element)
        if name == "tbl" and not self.in_script:
            self.close()
        if name != "p" or self.in_script:
            super().leave(element)
            return
        style = self._styles_open.pop()
        self._write_paragraph(element, style, self.inline.take())
        if not self._styles_open:
            self._write_deferred()

    def _write_paragraph(self, paragraph: etree._Element, style: ParagraphStyle, text: str) -> None:
        if not text:
            return
        level = _heading_level(style) or self._bold_heading_level(paragraph, style, text)
        marker = self.parts.numbering.marker(*style.numbering) if style.numbering else ""
        printed = f"{marker} {text}" if marker else text
        if style.name == "title":
            self.titles.append(text)
            self.flow.heading(printed, level=1)
        elif level and self.kind != "box":
            self.flow.heading(printed, level=level)
        elif style.name == "caption":
            self.flow.add("caption", printed)
        elif style.numbering or re.match(r"list (bullet|number)", style.name):
            self.flow.add("list_item", printed if marker else f"• {text}")
        else:
            self.flow.add(self.kind, printed)

    def _bold_heading_level(self, paragraph: etree._Element, style: ParagraphStyle, text: str) -> int:
        """In a document without heading styles, short bold paragraphs are the headings."""
        is_short = len(text) <= MAX_BOLD_HEADING_CHARACTERS and text[-1] not in ".,;!?"
        if not self._guess_headings or not is_short or style.numbering or not is_all_bold(paragraph, style):
            return 0
        typed = _TYPED_NUMBER.match(text)
        return 2 + typed.group(1).count(".") if typed else 2

    def _write_deferred(self) -> None:
        deferred, self._deferred = self._deferred, []
        for box in deferred:
            self.open("box")
            for child in box:
                if local_name(child):
                    walk(child, self)
            self.close()
        self._write_notes()

    def _write_notes(self) -> None:
        while self.parts.notes.pending:
            mark, note = self.parts.notes.pending.pop(0)
            text = self.line(note)
            self.flow.add("footnote", f"{mark} {text}" if text else "")

    # ------------------------------------------------------------------------------------------------------- tables

    def _enter_table(self, table: etree._Element) -> bool:
        """Write a table as rows; True when it is only a frame round ordinary text."""
        rows = _rows(table)
        if table in self._frames:
            self.open(self.kind)
            return True
        if all(len(_cells_of(row)) <= 1 for row in rows):
            self.open("box")
            return True
        cells = [self._cells(row) for row in rows]
        merged = _merge_down(cells)
        for text in table_lines(merged, header_rows=self._header_rows(table, rows, merged)):
            self.flow.add("table_row", text)
        if not self._styles_open:
            self._write_deferred()
        return False

    def _cells(self, row: etree._Element) -> list[tuple[Cell, bool]]:
        """The cells of a row, each with whether it continues the one above it."""
        skipped = number(child_named(child_named(row, "trPr"), "gridBefore"))
        cells = [(Cell("", columns=skipped), False)] if skipped and skipped > 0 else []
        for cell in _cells_of(row):
            properties = child_named(cell, "tcPr")
            span = number(child_named(properties, "gridSpan"))
            merge = child_named(properties, "vMerge")
            continues = merge is not None and value(merge) != "restart"
            cells.append((Cell("" if continues else self.line(cell), columns=max(1, span or 1)), continues))
        return cells

    def _header_rows(self, table: etree._Element, rows: list[etree._Element], cells: list[list[Cell]]) -> int:
        marked = 0
        while marked < len(rows) and is_on(child_named(rows[marked], "trPr"), "tblHeader"):
            marked += 1
        if marked or len(rows) < 2:
            return marked
        properties = child_named(table, "tblPr")
        look = child_named(properties, "tblLook")
        wants_header = value(look, "firstRow") in ("1", "true", "on") or _bit(value(look), 0x20)
        style = self.parts.styles.get(value(child_named(properties, "tblStyle")))
        is_bold = all(
            is_all_bold(paragraph, ParagraphStyle())
            for paragraph in descendants_named(rows[0], "p")
            if any((text.text or "").strip() for text in descendants_named(paragraph, "t"))
        )
        if is_bold or (wants_header and (style.has_header_row or len(cells[0]) > 2)):
            return 1
        return guess_header_rows(cells)


def _heading_level(style: ParagraphStyle) -> int:
    """The level below the title; 0 for text."""
    return style.outline + 2 if style.outline is not None and 0 <= style.outline <= 8 else 0


def _rows(table: etree._Element) -> list[etree._Element]:
    """The rows of a table itself, not of tables inside it; a row that was deleted is left out."""
    rows = []
    for child in table:
        inner = [child] if local_name(child) == "tr" else list(descendants_named(child, "tr")) if _wraps(child) else []
        rows += [row for row in inner if child_named(child_named(row, "trPr"), "del") is None]
    return rows


def _cells_of(row: etree._Element) -> list[etree._Element]:
    cells = []
    for child in row:
        cells += [child] if local_name(child) == "tc" else list(descendants_named(child, "tc")) if _wraps(child) else []
    return cells


def _wraps(element: etree._Element) -> bool:
    return local_name(element) in ("sdt", "customXml", "ins", "moveTo")


def _merge_down(rows: list[list[tuple[Cell, bool]]]) -> list[list[Cell]]:
    """Cells that continue the one above them become part of its height."""
    heights: dict[int, int] = {}
    above: dict[int, Cell] = {}
    for row in rows:
        column = 0
        for cell, continues in row:
            if continues and column in above:
                heights[id(above[column])] = heights.get(id(above[column]), 1) + 1
            else:
                above[column] = cell
            column += cell.columns
    return [
        [Cell(cell.text, cell.columns, heights.get(id(cell), 1)) for cell, continues in row if not continues]
        for row in rows
    ]


def _bit(hexadecimal: str | None, bit: int) -> bool:
    return bool(hexadecimal and re.fullmatch(r"[0-9A-Fa-f]{1,4}", hexadecimal) and int(hexadecimal, 16) & bit)


def _title(titles: list[str], properties: etree._Element | None, flow: SectionedText) -> str:
    if titles:
        return titles[0]
    own = child_named(properties, "title")
    headings = (flow.text[block.start : block.end] for block in flow.blocks[:20] if block.kind == "heading")
    return ((own.text or "").strip() if own is not None else "") or next(headings, "")


def _metadata(core: etree._Element | None, app: etree._Element | None) -> Metadata:
    facts = {local_name(element): (element.text or "").strip() for element in (core if core is not None else ())}
    company = child_named(app, "Company")
    return Metadata(
        language=facts.get("language") or None,
        publisher=((company.text or "").strip() if company is not None else "") or None,
        published=read_date(facts.get("modified") or facts.get("created") or ""),
    )


def _remarks(body: etree._Element) -> tuple[str, ...]:
    remarks = []
    if any(True for _ in descendants_named(body, "ins", "del", "moveFrom")):
        remarks.append("The document has tracked changes: insertions were read and deletions were left out.")
    if any(True for _ in descendants_named(body, "altChunk")):
        remarks.append("The document contains another file that was not read. Save it again in Word and add that copy.")
    return tuple(remarks)
