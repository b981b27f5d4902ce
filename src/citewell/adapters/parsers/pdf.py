"""Reads PDF files: text in reading order, headings, lists and tables, with the place of every character."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pypdfium2 as pdfium

from citewell.adapters.parsers.pdf_blocks import Draft, Typography, gathered, merged_rows
from citewell.adapters.parsers.pdf_columns import columns
from citewell.adapters.parsers.pdf_compose import Composer, Vocabulary
from citewell.adapters.parsers.pdf_furniture import without_furniture
from citewell.adapters.parsers.pdf_geometry import Rect
from citewell.adapters.parsers.pdf_headings import mark_headings
from citewell.adapters.parsers.pdf_image import PDFIUM_LOCK, opened
from citewell.adapters.parsers.pdf_lines import TextLine, reading_turn, text_lines
from citewell.adapters.parsers.pdf_read import Sheet, read_sheet
from citewell.errors import EmptyFile, TooLarge
from citewell.types import Document, Layout, Limits, Page, Source


class PdfParser:
    """Reads PDF files."""

    def parse(self, source: Source, *, media_type: str, limits: Limits) -> Document:
        """The document, or an InputError that says what to do."""
        with opened(source.data) as document:
            sheets = _sheets(document, limits)
            with PDFIUM_LOCK:
                title = document.get_metadata_value("Title").strip()
        pages, papers = [], []
        for sheet in sheets:
            turn = reading_turn(sheet)
            pages.append(text_lines(sheet, turn))
            papers.append(turn.rect(Rect(0, 0, sheet.width, sheet.height)))
        pages = without_furniture(pages, papers)
        if not any(pages):
            raise EmptyFile("The PDF has no text to read.")
        composer = _composed(pages)
        canonical = composer.canonical
        return Document(
            title=title or source.name,
            media_type=media_type,
            text=canonical.text,
            blocks=tuple(canonical.blocks),
            layout=Layout(_page_spans(sheets, composer), tuple(composer.lines)),
        )


def _sheets(document: pdfium.PdfDocument, limits: Limits) -> list[Sheet]:
    """Every page as it is seen."""
    with PDFIUM_LOCK:
        count = len(document)
    if count > limits.max_pages:
        raise TooLarge(f"The PDF has {count} pages; the limit is {limits.max_pages}. Split the file and add its parts.")
    sheets: list[Sheet] = []
    left = limits.max_characters
    for index in range(count):
        sheets.append(read_sheet(document, index, max_characters=left))
        left -= len(sheets[-1].glyphs)
    return sheets


def _composed(pages: Sequence[list[TextLine]]) -> Composer:
    """The lines as blocks of one text."""
    typography = Typography.of(pages)
    drafts: list[Draft] = []
    for lines in pages:
        for group in columns(lines):
            drafts += gathered(merged_rows(group), typography)
    mark_headings(drafts, typography)
    composer = Composer(Vocabulary(chain.from_iterable(pages)))
    for draft in drafts:
        composer.add(draft)
    return composer


def _page_spans(sheets: Sequence[Sheet], composer: Composer) -> tuple[Page, ...]:
    """Each page's part of the text; a page without text is empty and stands before the next."""
    spans: list[Page] = []
    end = len(composer.canonical.text)
    for sheet in reversed(sheets):
        start = composer.page_starts.get(sheet.number, end)
        spans.append(Page(sheet.number, start, end, sheet.width, sheet.height, sheet.label))
        end = start
    if spans:
        first = spans[-1]
        spans[-1] = Page(first.number, 0, first.end, first.width, first.height, first.label)
    return tuple(reversed(spans))
