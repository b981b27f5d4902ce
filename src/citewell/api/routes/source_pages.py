"""Where the words of a result stand: a page of its own, and the same as a panel."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Reader, Visitor
from citewell.web.search_results import without_title
from citewell.web.source_highlights import SourceTarget, view

router = APIRouter(prefix="/documents/{document_id}")

Offset = Annotated[int | None, Query(ge=0)]


def place_of(
    chunk: Offset = None,
    start: Offset = None,
    end: Offset = None,
    number: Annotated[int | None, Query(ge=1, alias="page")] = None,
    form: Annotated[Literal["text", "page"], Query(alias="view")] = "page",
) -> SourceTarget:
    """The place that an address names."""
    return SourceTarget(chunk, start, end, number, form == "text")


Named = Annotated[SourceTarget, Depends(place_of)]


@router.get("/source")
def source_page(site: Here, visitor: Reader, document_id: str, place: Named) -> Response:
    """The source on a page of its own."""
    return _shown("source.html", site, visitor, document_id, place)


@router.get("/panel")
def source_panel(site: Here, visitor: Reader, document_id: str, place: Named) -> Response:
    """The source as the right-hand panel shows it."""
    return _shown("panel.html", site, visitor, document_id, place)


def _shown(template: str, site: ServerState, visitor: Visitor, document_id: str, place: SourceTarget) -> Response:
    opened = site.opened(document_id, visitor.whole)
    shown = view(opened.entry, opened.document, opened.chunks, place)
    section = without_title(shown.section, shown.title)
    return site.page(template, visitor, nav="library", view=shown, section=section, place=place.query)
