"""Finds pages that are pictures of text, and reads them by OCR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean, median

import pypdfium2 as pdfium

from citewell.adapters.parsers.ocr import INSTALL, Ocr, SeenWord, is_installed
from citewell.adapters.parsers.pdf_geometry import Rect
from citewell.adapters.parsers.pdf_glyphs import Glyph, GlyphGap, GlyphStyle, Sheet
from citewell.adapters.parsers.pdf_image import PDFIUM_LOCK, page_pixels
from citewell.errors import EmptyFile, TooLarge

DOTS_PER_INCH = 200
MAX_SCANNED_PAGES = 400
"""Each takes seconds; more would keep a machine busy for an hour without a word."""
MAX_LETTERS = 25
"""A page with more letters than this has text of its own."""
MIN_PICTURE_SHARE = 0.2
MIN_DRAWN_SHAPES = 200
"""So many shapes without a letter: the text may have been turned into outlines."""
UNREADABLE_SHARE = 0.3
TYPE_SHARE = 0.78
"""Of the height of the box round a word, so much is the size of its type."""


def read_scans(document: pdfium.PdfDocument, sheets: Sequence[Sheet], ocr: Ocr) -> list[str]:
    """Fill the pages that are pictures of text with the words on them; returns what the reader should know."""
    wanted = [sheet for sheet in sheets if _is_scanned(sheet) or _is_unreadable(sheet)]
    if not wanted:
        return []
    if not is_installed():
        named = named_pages([sheet.number for sheet in wanted])
        if not any(_letters(sheet) and not _is_unreadable(sheet) for sheet in sheets):
            raise EmptyFile(f"The PDF contains only images of text. To read them, {INSTALL} and add the file again.")
        return [f"{named} not read: images of text, or a font without letters. To read them, {INSTALL}."]
    if len(wanted) > MAX_SCANNED_PAGES:
        raise TooLarge(
            f"The PDF has {len(wanted)} scanned pages and the limit is {MAX_SCANNED_PAGES}. Split it and add the parts."
        )
    read = {sheet.number: sure for sheet in wanted if (sure := _read_scan(document, sheet, ocr)) is not None}
    if not read:
        return []
    return [
        f"{named_pages(list(read))} read by OCR ({fmean(read.values()):.0%} confidence). "
        "Check numbers against the page."
    ]


def named_pages(numbers: Sequence[int]) -> str:
    """
    >>> named_pages([3]), named_pages([3, 4, 5, 9])
    ('Page 3 was', 'Pages 3–5, 9 were')
    """
    spans = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        spans.append(str(members[0]) if len(members) == 1 else f"{members[0]}–{members[-1]}")
    return f"Page {spans[0]} was" if len(numbers) == 1 else f"Pages {', '.join(spans)} were"


def _is_scanned(sheet: Sheet) -> bool:
    """Whether a page has almost no text of its own but something to look at."""
    if _letters(sheet) > MAX_LETTERS or not sheet.width or not sheet.height:
        return False
    pictures = sum(area.width * area.height for area in sheet.shapes.pictures)
    drawn = len(sheet.shapes.fills) + len(sheet.shapes.rules) + len(sheet.shapes.dots)
    return pictures >= MIN_PICTURE_SHARE * sheet.width * sheet.height or drawn >= MIN_DRAWN_SHAPES


def _is_unreadable(sheet: Sheet) -> bool:
    """Whether the fonts of a page do not say which characters its glyphs are."""
    return sheet.unmapped > max(MAX_LETTERS, UNREADABLE_SHARE * len(sheet.glyphs))


def _letters(sheet: Sheet) -> int:
    return sum(isinstance(glyph, Glyph) and glyph.text.isalnum() for glyph in sheet.glyphs)


def _read_scan(document: pdfium.PdfDocument, sheet: Sheet, ocr: Ocr) -> float | None:
    """Put the words seen on the page in place of its own, and say how sure they are; None where they are fewer."""
    with PDFIUM_LOCK:
        page = document[sheet.number - 1]
        try:
            pixels = page_pixels(page, scale=DOTS_PER_INCH / 72)
        finally:
            page.close()
    lines = ocr.read(pixels)
    seen = replace(sheet, glyphs=_glyphs(lines, sheet.width / int(pixels.shape[1])))
    if _letters(seen) <= _letters(sheet) and not _is_unreadable(sheet):
        return None
    sheet.glyphs = seen.glyphs
    sheet.shapes.dots.clear()
    return fmean(word.sure for line in lines for word in line) if any(lines) else 0.0


def _glyphs(lines: Sequence[Sequence[SeenWord]], scale: float) -> list[Glyph | GlyphGap]:
    """Words as glyphs: each character has an equal part of its word's box."""
    glyphs: list[Glyph | GlyphGap] = []
    heights = [max(word.bottom for word in line) - min(word.top for word in line) for line in lines]
    usual = median(heights) if heights else 0.0
    for line, height in zip(lines, heights, strict=True):
        top, bottom = min(word.top for word in line) * scale, max(word.bottom for word in line) * scale
        # Boxes differ with the letters in a line; only a clear difference is one of type.
        seen = usual if abs(height - usual) <= 0.25 * usual else height
        size = max(1.0, float(round(seen * scale * TYPE_SHARE)))
        style = GlyphStyle("ocr", size, bold=False, italic=False, direction="right")
        base = bottom - 0.25 * (bottom - top)
        for word in line:
            left, step = word.left * scale, (word.right - word.left) * scale / len(word.text)
            for position, character in enumerate(word.text):
                box = Rect(left + step * position, top, left + step * (position + 1), bottom)
                glyphs.append(Glyph(character, box, base, style))
            glyphs.append(GlyphGap(generated=False))
    return glyphs
