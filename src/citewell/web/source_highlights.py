"""What the source panel shows: a page with marks at their exact place, or a part of the text with marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from markupsafe import Markup

from citewell.errors import InputError, NotFound
from citewell.types import Box, Chunk, Document, Layout, LibraryEntry, Page
from citewell.web.document_html import part_at, parts, rendered
from citewell.web.text_marks import Span, best, passage

PDF = "application/pdf"
SLACK_POINTS = 6.0
"""How far a letter may hang over the edge of its page."""

UNSURE = "The exact position of this text on the page is not known, so nothing is highlighted."


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """What to open: a passage, words within it, a page, and whether as text."""

    chunk: int | None = None
    start: int | None = None
    end: int | None = None
    page: int | None = None
    as_text: bool = False

    @property
    def query(self) -> str:
        """The place as the end of an address."""
        values = {"chunk": self.chunk, "start": self.start, "end": self.end, "page": self.page}
        told = {name: value for name, value in values.items() if value is not None}
        return urlencode(told | ({"view": "text"} if self.as_text else {}))


@dataclass(frozen=True, slots=True)
class View:
    """One page or part of a document, with what is marked on it."""

    entry: LibraryEntry
    title: str
    section: tuple[str, ...]
    unit: str
    number: int
    count: int
    quote: str | None
    note: str | None
    previous: SourceTarget | None
    next: SourceTarget | None
    elsewhere: SourceTarget | None
    """Where the marked words are, when they are not on this page."""
    other_form: SourceTarget | None
    """The same place as text, or as a page image."""
    page: Page | None = None
    passage_boxes: tuple[Box, ...] = ()
    best_boxes: tuple[Box, ...] = ()
    body: Markup | None = None


def view(entry: LibraryEntry, document: Document, chunks: Sequence[Chunk], place: SourceTarget) -> View:
    """What to show of a document at a place."""
    chunk = _chunk(chunks, place.chunk)
    words = _words(place, len(document.text))
    whole = None if chunk is None else (chunk.start, chunk.end)
    target = words or whole
    has_pages = document.media_type == PDF and bool(document.layout.pages)
    base = View(
        entry=entry,
        title=entry.title,
        section=chunk.section if chunk else (),
        unit="page",
        number=1,
        count=1,
        quote=document.text[words[0] : words[1]] if words else None,
        note=None,
        previous=None,
        next=None,
        elsewhere=None,
        other_form=replace(place, as_text=not place.as_text, page=None) if has_pages else None,
    )
    if has_pages and not place.as_text:
        return _paged(base, document, place, whole, target)
    return _text(base, document, place, whole, target)


def _chunk(chunks: Sequence[Chunk], index: int | None) -> Chunk | None:
    if index is None:
        return None
    if not 0 <= index < len(chunks):
        raise NotFound("This passage was not found. The document may have been re-processed; search again.")
    return chunks[index]


def _words(place: SourceTarget, length: int) -> Span | None:
    if place.start is None or place.end is None:
        return None
    if not 0 <= place.start < place.end <= length:
        raise InputError("This text was not found. The document may have been re-processed; search again.")
    return place.start, place.end


def _paged(base: View, document: Document, place: SourceTarget, whole: Span | None, target: Span | None) -> View:
    """A page image with boxes over it."""
    layout = document.layout
    numbers = [page.number for page in layout.pages]
    home = (layout.page_at(target[0]) if target else None) or numbers[0]
    number = home if place.page is None else place.page
    if number not in numbers:
        raise NotFound(f"There is no page {number}. The document has {len(numbers)} pages.")
    at = numbers.index(number)
    around = _on_paper(document.layout, whole)
    words = _on_paper(document.layout, target) if target != whole else []
    here = [box for box in (*around, *words) if box.page == number]
    elsewhere = replace(place, page=None) if not here and (around or words) else None
    return replace(
        base,
        number=number,
        count=len(numbers),
        note=UNSURE if target and not around and not words else None,
        previous=replace(place, page=numbers[at - 1]) if at else None,
        next=replace(place, page=numbers[at + 1]) if at + 1 < len(numbers) else None,
        elsewhere=elsewhere,
        page=layout.pages[at],
        passage_boxes=tuple(box for box in around if box.page == number),
        best_boxes=tuple(box for box in words if box.page == number),
    )


def _on_paper(layout: Layout, span: Span | None) -> list[Box]:
    """The boxes of a span; none at all when one lies off its page, since then no place is sure."""
    boxes = layout.boxes(*span) if span else []
    sheets = {page.number: page for page in layout.pages}
    return boxes if all(_is_within(box, sheets.get(box.page)) for box in boxes) else []


def _is_within(box: Box, page: Page | None) -> bool:
    if page is None:
        return False
    across = -SLACK_POINTS <= box.left <= box.right <= page.width + SLACK_POINTS
    return across and -SLACK_POINTS <= box.top <= box.bottom <= page.height + SLACK_POINTS


def _text(base: View, document: Document, place: SourceTarget, whole: Span | None, target: Span | None) -> View:
    """A part of the text with marks in it."""
    shown = parts(document)
    home = part_at(shown, target[0] if target else 0)
    at = home if place.page is None else place.page - 1
    if not 0 <= at < len(shown):
        raise NotFound(f"There is no part {at + 1}. The document has {len(shown)} parts.")
    layers = passage(whole), best(target if target != whole else None)
    return replace(
        base,
        unit="part",
        number=at + 1,
        count=len(shown),
        previous=replace(place, page=at) if at else None,
        next=replace(place, page=at + 2) if at + 1 < len(shown) else None,
        elsewhere=replace(place, page=None) if target and at != home else None,
        body=rendered(document.text, shown[at], *layers, anchor=target[0] if target else None),
    )
