"""Reads a PDF's pages with pdfium: glyphs with their boxes and styles, and what is drawn round them."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from citewell.adapters.parsers.pdf_drawings import PageDrawings, read_shapes
from citewell.adapters.parsers.pdf_geometry import Direction, PageFrame, Rect
from citewell.adapters.parsers.pdf_image import PDFIUM_LOCK
from citewell.errors import DamagedFile, TooLarge


class GlyphStyle(NamedTuple):
    """How a run of glyphs is set."""

    font: str
    size: float
    bold: bool
    italic: bool
    direction: Direction


class Glyph(NamedTuple):
    """One character as pdfium reports it, at its place on the page as it is seen."""

    text: str
    box: Rect
    base: float
    """Where its base line is: down the page, or across it for text that runs up or down."""
    style: GlyphStyle


class GlyphGap(NamedTuple):
    """White space between two glyphs."""

    generated: bool
    """pdfium saw a distance; the file itself has no space here."""


@dataclass(slots=True)
class Sheet:
    """One page as it is seen: what stands on it, in the order of the file."""

    number: int
    width: float
    height: float
    label: str | None
    glyphs: list[Glyph | GlyphGap] = field(default_factory=list)
    shapes: PageDrawings = field(default_factory=PageDrawings)
    unmapped: int = 0
    """Glyphs whose font does not say which characters they are."""


MAX_PAGE_CHARACTERS = 150_000
"""A dense page of small type has ten thousand."""
SMALLEST_TYPE, LARGEST_TYPE = 0.1, 5_000.0
"""Points: sizes outside come from damaged files."""
_WHITE = frozenset({0x20, 0x09, 0x0A, 0x0D, 0xA0, 0x2002, 0x2003, 0x2009, 0x200A, 0x202F, 0x3000})
_LINE_END_HYPHEN = 0x02
"""What pdfium reports for a hyphen that it takes for a division at the end of a line."""
_BOLD = ("bold", "black", "heavy", "demi")
_ITALIC = ("italic", "oblique")


def read_sheet(document: pdfium.PdfDocument, index: int, *, max_characters: int) -> Sheet:
    """Everything that stands on the page at `index`."""
    with PDFIUM_LOCK:
        try:
            page = document[index]
            try:
                return _read_page(document, page, index, max_characters)
            finally:
                page.close()
        except pdfium.PdfiumError:
            raise DamagedFile(f"Page {index + 1} of the PDF is damaged. Download or export the file again.") from None


def _read_page(document: pdfium.PdfDocument, page: pdfium.PdfPage, index: int, max_characters: int) -> Sheet:
    width, height = page.get_size()
    sheet = Sheet(index + 1, width, height, _label(document, index))
    if width > 0 and height > 0:
        frame = PageFrame.of(page.get_bbox(), page.get_rotation())
        _read_glyphs(page, frame, sheet, max_characters)
        sheet.shapes = read_shapes(page, frame, Rect(0, 0, width, height))
    return sheet


def _label(document: pdfium.PdfDocument, index: int) -> str | None:
    try:
        return document.get_page_label(index) or None
    except UnicodeDecodeError:
        return None


def _read_glyphs(page: pdfium.PdfPage, frame: PageFrame, sheet: Sheet, max_characters: int) -> None:
    textpage = page.get_textpage()
    try:
        count = textpage.count_chars()
        if count > min(max_characters, MAX_PAGE_CHARACTERS):
            raise TooLarge(
                f"The PDF is over the character limit from page {sheet.number} on. Split the file and add the parts."
            )
        _collect_glyphs(textpage.raw, count, frame, sheet)
    finally:
        textpage.close()


def _collect_glyphs(raw: pdfium_c.FPDF_TEXTPAGE, count: int, frame: PageFrame, sheet: Sheet) -> None:
    """Note every glyph that stands on the paper.

    Style, base line and mapping are asked once per text object, whose glyphs share them: each call costs a microsecond.
    """
    runs: dict[int, tuple[GlyphStyle, float, bool]] = {}
    area = pdfium_c.FS_RECTF()
    glyphs, width, height = sheet.glyphs, sheet.width, sheet.height
    last_key = 0
    for index in range(count):
        code = pdfium_c.FPDFText_GetUnicode(raw, index)
        if code in _WHITE:
            if glyphs and type(glyphs[-1]) is not GlyphGap:
                glyphs.append(GlyphGap(generated=pdfium_c.FPDFText_IsGenerated(raw, index) == 1))
            continue
        owner = pdfium_c.FPDFText_GetTextObject(raw, index)
        key = ctypes.addressof(owner.contents) if owner else -1
        run = runs.get(key)
        if run is None:
            run = runs[key] = _run(raw, index, frame)
        style, base, unmapped = run
        pdfium_c.FPDFText_GetLooseCharBox(raw, index, area)
        box = frame.rect(area.left, area.bottom, area.right, area.top)
        if not (-1 < box.left + box.right < 2 * width + 1 and -1 < box.top + box.bottom < 2 * height + 1):
            continue
        sheet.unmapped += unmapped
        last = glyphs[-1] if glyphs else None
        if isinstance(last, Glyph) and last.box == box and key == last_key:
            # A ligature: pdfium gives each of its letters the box of the whole.
            glyphs[-1] = last._replace(text=last.text + _character(code))
        else:
            glyphs.append(Glyph(_character(code), box, base, style))
        last_key = key


def _character(code: int) -> str:
    if code == _LINE_END_HYPHEN:
        return "-"
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _run(raw: pdfium_c.FPDF_TEXTPAGE, index: int, frame: PageFrame) -> tuple[GlyphStyle, float, bool]:
    """What the glyphs of a text object share: style, base line, and whether the font hides its characters."""
    matrix, flags, name = pdfium_c.FS_MATRIX(), ctypes.c_int(), ctypes.create_string_buffer(256)
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetMatrix(raw, index, matrix)
    pdfium_c.FPDFText_GetFontInfo(raw, index, name, 256, flags)
    pdfium_c.FPDFText_GetCharOrigin(raw, index, x, y)
    size = pdfium_c.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.c, matrix.d)
    font = name.value.decode("utf-8", "replace")
    folded = font.lower()
    bold = any(word in folded for word in _BOLD)
    italic = any(word in folded for word in _ITALIC)
    size = round(size, 1) if SMALLEST_TYPE < size < LARGEST_TYPE else SMALLEST_TYPE
    style = GlyphStyle(font, size, bold, italic, frame.direction(matrix.a, matrix.b))
    across, down = frame.point(x.value, y.value) if math.isfinite(x.value + y.value) else (0.0, 0.0)
    unmapped = pdfium_c.FPDFText_HasUnicodeMapError(raw, index) == 1
    return style, down if style.direction in ("right", "left") else across, unmapped
