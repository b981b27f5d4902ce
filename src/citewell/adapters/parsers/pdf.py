"""Reads PDF files: text in reading order, headings, lists and tables, with the place of every character."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pypdfium2 as pdfium

from citewell.adapters.parsers.ocr import Ocr
from citewell.adapters.parsers.pdf_blocks import Draft, Typography, folded_title, gathered, merged_rows
from citewell.adapters.parsers.pdf_columns import columns
from citewell.adapters.parsers.pdf_compose import Composer, Vocabulary
from citewell.adapters.parsers.pdf_flow import mark_footnotes, run_on
from citewell.adapters.parsers.pdf_forms import refuse_endless
from citewell.adapters.parsers.pdf_glyphs import Sheet, read_sheet
from citewell.adapters.parsers.pdf_headings import mark_contents, mark_headings, with_chapter_numbers
from citewell.adapters.parsers.pdf_image import PDFIUM_LOCK, opened
from citewell.adapters.parsers.pdf_layout import PageLayout, laid_out
from citewell.adapters.parsers.pdf_lines import TextLine
from citewell.adapters.parsers.pdf_metadata import PdfMetadata, chosen_title, read_facts, with_imprint
from citewell.adapters.parsers.pdf_scans import named_pages, read_scans
from citewell.adapters.parsers.pdf_table_rows import TableState, table_rows
from citewell.adapters.parsers.pdf_tables import PdfTable
from citewell.errors import DamagedFile, EmptyFile, TooLarge
from citewell.types import Document, Layout, Page, ParseLimits, Source

END_BYTES = 64 * 1024
"""The mark that ends a PDF stands in its last part; some servers add a little after it."""


class PdfParser:
    """Reads PDF files; pages that are pictures of text by OCR, where that extra is installed."""

    def __init__(self) -> None:
        self._ocr = Ocr()

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:
        """The document, or an InputError that says what to do."""
        with opened(source.data) as document:
            _check_end(source.data)
            refuse_endless(source.data)
            sheets = _sheets(document, limits)
            notes = read_scans(document, sheets, self._ocr)
            facts = read_facts(document)
        pages = laid_out(sheets)
        if not any(page.lines or page.tables for page in pages):
            raise EmptyFile("The PDF has no text: its pages are blank. Check that it is the right file.")
        drafts = _drafts(pages, facts)
        composer = Composer(Vocabulary(line for draft in drafts for line in draft.lines))
        for draft in drafts:
            composer.add(draft)
        return Document(
            title=chosen_title(facts, drafts, source.name),
            media_type=media_type,
            text=composer.canonical.text,
            blocks=tuple(composer.canonical.blocks),
            layout=Layout(_page_spans(sheets, composer), tuple(composer.lines)),
            metadata=with_imprint(facts.metadata, drafts),
            notes=(*notes, *_size_notes(sheets)),
        )


def _check_end(data: bytes) -> None:
    """Refuse a file that was cut off: pdfium would mend it and leave out the pages that are gone."""
    if b"startxref" not in data[-END_BYTES:]:
        raise DamagedFile("The PDF is incomplete. Download or export it again.")


def _size_notes(sheets: Sequence[Sheet]) -> list[str]:
    numbers = [sheet.number for sheet in sheets if not sheet.width or not sheet.height]
    return [f"{named_pages(numbers)} not read: no page size."] if numbers else []


def _sheets(document: pdfium.PdfDocument, limits: ParseLimits) -> list[Sheet]:
    """Every page as it is seen."""
    with PDFIUM_LOCK:
        count = len(document)
    if count > limits.max_pages:
        raise TooLarge(
            f"The PDF has {count} pages and the limit is {limits.max_pages}. Split the file and add the parts."
        )
    sheets: list[Sheet] = []
    left = limits.max_characters
    for index in range(count):
        sheets.append(read_sheet(document, index, max_characters=left))
        left -= len(sheets[-1].glyphs)
    return sheets


def _drafts(pages: Sequence[PageLayout], facts: PdfMetadata) -> list[Draft]:
    """The lines and tables of all pages as blocks, in the order in which they are read."""
    typography = Typography.of([page.lines for page in pages])
    titles: dict[int, set[str]] = defaultdict(set)
    for bookmark in facts.outline:
        titles[bookmark.page].add(folded_title(bookmark.title))
    drafts: list[Draft] = []
    before: TableState | None = None
    for page in pages:
        on_page: list[Draft] = []
        items: list[TextLine | PdfTable] = [*page.lines, *page.tables]
        for group in columns(items):
            for run in _runs(group):
                if isinstance(run, PdfTable):
                    rows, before = table_rows(run, before)
                    on_page += rows
                else:
                    on_page += gathered(merged_rows(run), typography, titles[page.number] - {""})
                    before = None
        on_page = [draft for draft in on_page if any(letter.isalnum() for letter in draft.text)]
        mark_footnotes(on_page, typography)
        mark_contents(on_page)
        drafts += with_chapter_numbers(on_page, typography)
    mark_headings(drafts, typography, facts.outline, facts.title)
    return run_on(drafts)


def _runs(group: Sequence[TextLine | PdfTable]) -> Iterator[list[TextLine] | PdfTable]:
    """Lines between tables, and the tables, from the top down."""
    lines: list[TextLine] = []
    for item in sorted(
        group, key=lambda item: item.box.top if isinstance(item, PdfTable) else (item.box.top + item.box.bottom) / 2
    ):
        if isinstance(item, PdfTable):
            if lines:
                yield lines
            yield item
            lines = []
        else:
            lines.append(item)
    if lines:
        yield lines


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
