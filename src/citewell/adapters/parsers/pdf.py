"""Reads PDF files: text in reading order, headings, lists and tables, with the place of every character."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pypdfium2 as pdfium

from citewell.adapters.parsers.ocr import Ocr
from citewell.adapters.parsers.pdf_blocks import (
    TERMINAL,
    Draft,
    LineBlock,
    Typography,
    ends_bracket,
    folded_title,
    gathered,
    merged_rows,
)
from citewell.adapters.parsers.pdf_columns import columns
from citewell.adapters.parsers.pdf_compose import Composer, Vocabulary
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

_NOTE_MARK = re.compile(r"^(?:[\d¹²³⁴-⁹]{1,3}|[a-zᵃ-ᶻ]|[*†‡§¶#]{1,3})[.)]?\s")
_DATED = re.compile(r"[\])]$")


def mark_footnotes(drafts: Sequence[Draft], typography: Typography) -> None:
    """Paragraphs in small type with a mark, at the end of a page, are footnotes."""
    for draft in reversed(drafts):
        if draft.kind not in ("paragraph", "list_item") or draft.lines[0].size > 0.9 * typography.body_size:
            return
        if _NOTE_MARK.match(draft.text):
            draft.kind = "footnote"


def run_on(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with sentences joined across columns and pages; footnotes in between go before the sentence."""
    joined: list[Draft] = []
    for draft in drafts:
        place = len(joined) - 1
        while place >= 0 and joined[place].kind == "footnote":
            place -= 1
        if draft.opens_column and place >= 0 and _runs_on(joined[place], draft):
            sentence = joined.pop(place)
            sentence.parts = [LineBlock([*sentence.lines, *draft.lines])]
            joined.append(sentence)
        else:
            joined.append(draft)
    return joined


def _runs_on(last: Draft, draft: Draft) -> bool:
    """Whether a block goes on with the sentence that the block before it left open."""
    if draft.kind not in ("paragraph", "heading") or last.kind not in ("paragraph", "list_item", "caption"):
        return False
    above, below = last.lines[-1], draft.lines[0]
    if last.kind != "caption" and ends_bracket(above.text, draft.text):
        return True
    if abs(above.size - below.size) > 0.6 or above.bold != below.bold:
        return False
    if last.kind == "caption" or draft.kind == "heading":
        # A title over a table that the end of the page cut in two.
        return last.kind == "caption" and above.bold and not above.text.endswith(TERMINAL)
    opening = below.text.lstrip("\"'“‘([")[:1]
    if above.text.endswith(TERMINAL) or (_DATED.search(above.text) and not opening.islower()):
        return False
    return opening.islower() or _is_full(last)


def _is_full(draft: Draft) -> bool:
    """Whether the last line of a block goes as far as its longest: then the block need not have ended there."""
    rights = [other.right for other in draft.lines]
    return len(rights) > 1 and rights[-1] >= max(rights) - 0.12 * (max(rights) - draft.lines[0].left)


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
            layout=Layout(_page_spans(sheets, composer), tuple(composer.lines), _left_out(pages)),
            metadata=with_imprint(facts.metadata, drafts),
            notes=(*notes, *_size_notes(sheets)),
        )


def _left_out(pages: Sequence[PageLayout]) -> tuple[tuple[int, str], ...]:
    return tuple((page.number, text) for page in pages for text in page.left_out)


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
