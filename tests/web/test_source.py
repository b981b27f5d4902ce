"""What the source panel shows, and where it puts its marks."""

from __future__ import annotations

from array import array
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from citewell.errors import InputError, NotFound
from citewell.types import (
    Block,
    Box,
    Chunk,
    Chunking,
    Document,
    Layout,
    LibraryEntry,
    LifecycleState,
    Metadata,
    Page,
    PageLine,
)
from citewell.web.source_highlights import UNSURE, SourceTarget, view

TEXT = "Offer iron. Stop it.\nNext page."
MEDIA = "application/pdf"


def line(start: int, length: int, page: int, top: float) -> PageLine:
    lefts = array("f", [10.0 + 5 * at for at in range(length)])
    return PageLine(start, page, top, top + 8, lefts, array("f", [left + 5 for left in lefts]))


def paper(*, lines: bool = True, media_type: str = MEDIA) -> Document:
    pages = (Page(1, 0, 21, 120, 200), Page(2, 21, 31, 120, 200))
    placed = (line(0, 20, 1, 20.0), line(21, 10, 2, 30.0)) if lines else ()
    blocks = (Block("paragraph", 0, 20, (), 1), Block("paragraph", 21, 31, (), 2))
    return Document("Iron", media_type, TEXT, blocks, Layout(pages, placed))


CHUNKS = (
    Chunk(0, 0, 20, TEXT[:20], ("Iron", "Dose"), 1, 9, ((0, 11), (12, 20))),
    Chunk(1, 21, 31, TEXT[21:], (), 2, 4, ((21, 31),)),
)


def entry() -> LibraryEntry:
    return LibraryEntry(
        id="d",
        tenant="local",
        lineage="d",
        version=1,
        name="iron.pdf",
        title="Iron",
        media_type=MEDIA,
        state=LifecycleState.COMPLETED,
        is_current=True,
        content_hash="",
        size_bytes=1,
        tags=(),
        journeys=(),
        subject=None,
        page_count=2,
        chunk_count=2,
        sentence_count=3,
        chunking=Chunking("sections", 400, 100, "tokens"),
        embedder=None,
        metadata=Metadata(),
        notes=(),
        error=None,
        added_at=datetime(2025, 3, 12, tzinfo=UTC),
        added_by=None,
        processed_at=None,
        took_s=None,
    )


def test_the_boxes_are_exactly_those_of_the_passage_and_the_sentence() -> None:
    found = view(entry(), paper(), CHUNKS, SourceTarget(chunk=0, start=12, end=20))
    assert (found.number, found.count, found.quote, found.note) == (1, 2, "Stop it.", None)
    assert found.passage_boxes == (Box(1, 10.0, 20.0, 110.0, 28.0),)
    assert found.best_boxes == (Box(1, 70.0, 20.0, 110.0, 28.0),)
    assert (found.previous, found.next) == (None, SourceTarget(0, 12, 20, 2))
    assert found.section == ("Iron", "Dose")


def test_a_passage_without_a_sentence_is_marked_whole() -> None:
    found = view(entry(), paper(), CHUNKS, SourceTarget(chunk=1))
    assert (found.number, found.passage_boxes, found.best_boxes) == (2, (Box(2, 10.0, 30.0, 60.0, 38.0),), ())


def test_another_page_shows_no_mark_and_the_way_back() -> None:
    found = view(entry(), paper(), CHUNKS, SourceTarget(chunk=0, start=0, end=11, page=2))
    assert (found.passage_boxes, found.best_boxes, found.note) == ((), (), None)
    assert found.elsewhere == SourceTarget(0, 0, 11)


def test_words_that_stand_nowhere_are_not_marked_and_the_panel_says_so() -> None:
    found = view(entry(), paper(lines=False), CHUNKS, SourceTarget(chunk=0, start=0, end=11))
    assert (found.passage_boxes, found.best_boxes, found.note, found.elsewhere) == ((), (), UNSURE, None)


@pytest.mark.parametrize(
    "box", [PageLine(0, 1, 20.0, 28.0, array("f", [1e19]), array("f", [2e19])), line(0, 20, 1, 500.0)]
)
def test_a_place_off_the_page_is_no_place(box: PageLine) -> None:
    layout = replace(paper().layout, lines=(box,))
    found = view(entry(), replace(paper(), layout=layout), CHUNKS, SourceTarget(chunk=0, start=0, end=11))
    assert (found.passage_boxes, found.best_boxes, found.note) == ((), (), UNSURE)


def test_a_document_is_opened_at_its_first_page_when_no_place_is_named() -> None:
    found = view(entry(), paper(), CHUNKS, SourceTarget())
    assert (found.number, found.note, found.quote, found.passage_boxes) == (1, None, None, ())


def test_the_same_words_can_be_read_as_text() -> None:
    place = SourceTarget(chunk=0, start=0, end=11, as_text=True)
    found = view(entry(), paper(), CHUNKS, place)
    assert (found.page, found.unit, found.other_form) == (None, "part", SourceTarget(0, 0, 11))
    assert found.body == (
        '<p id="marked"><span class="passage"><strong class="best">Offer iron.</strong> Stop it.</span></p>\n'
        "<p>Next page.</p>"
    )


@pytest.mark.parametrize("chunk", [2, 99])
def test_a_passage_that_is_not_there_is_not_found(chunk: int) -> None:
    with pytest.raises(NotFound):
        view(entry(), paper(), CHUNKS, SourceTarget(chunk=chunk))


@pytest.mark.parametrize("page", [0, 3])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_page_that_is_not_there_is_not_found(page: int, as_text: bool) -> None:
    with pytest.raises(NotFound):
        view(entry(), paper(), CHUNKS, SourceTarget(page=page, as_text=as_text))


@pytest.mark.parametrize("span", [(5, 5), (9, 3), (0, 999)])
def test_words_outside_the_text_are_told(span: tuple[int, int]) -> None:
    with pytest.raises(InputError):
        view(entry(), paper(), CHUNKS, SourceTarget(0, *span))
