"""The pages of the papers in a record: a list, each with its words marked, and taking new ones in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from citewell.api.records import Opened, Owner, Room
from citewell.api.routes.documents import IMAGE_WIDTHS_PX, disposition
from citewell.api.routes.records_pages import see
from citewell.api.routes.source_pages import Named
from citewell.api.visitor import Visitor
from citewell.web.results import without_title
from citewell.web.source import Place, view

router = APIRouter(prefix="/records/{vault}")

SEALED = {"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}


@router.get("/documents/{document_id}")
def document(_visitor: Owner, room: Opened, document_id: str) -> Response:
    """The text or the first page of a document."""
    return see(f"{room.base}/documents/{document_id}/source")


@router.get("/documents/{document_id}/source")
def source_page(visitor: Owner, room: Opened, document_id: str, place: Named) -> Response:
    """The source on a page of its own."""
    return _shown("source.html", room, visitor, document_id, place)


@router.get("/documents/{document_id}/panel")
def source_panel(visitor: Owner, room: Opened, document_id: str, place: Named) -> Response:
    """The source as the right-hand panel shows it."""
    return _shown("panel.html", room, visitor, document_id, place)


def _shown(template: str, room: Room, visitor: Visitor, document_id: str, place: Place) -> Response:
    # Nothing of a vault is kept open between two requests: when it is locked, it is gone.
    entry, text, chunks = room.profile.app.show(document_id, room.scope)
    found = view(entry, text, chunks, place)
    section = without_title(found.section, found.title)
    return room.site.page(
        template, visitor, nav="records", view=found, section=section, place=place.query, base=room.base
    )


@router.get("/documents/{document_id}/file")
def original(_visitor: Owner, room: Opened, document_id: str) -> Response:
    """The file as it came, always as a download."""
    source = room.profile.app.library.original(document_id, room.scope)
    headers = SEALED | {"Content-Disposition": disposition(source.name)}
    return Response(source.data, media_type="application/octet-stream", headers=headers)


@router.get("/documents/{document_id}/pages/{number}.png")
def page_image(
    _visitor: Owner,
    room: Opened,
    document_id: str,
    number: int,
    width: Annotated[int, Query(ge=IMAGE_WIDTHS_PX[0], le=IMAGE_WIDTHS_PX[1])] = 1_200,
) -> Response:
    """A page of a PDF as an image, which the browser does not keep either."""
    image = room.profile.app.page_image(document_id, number, width_px=width, scope=room.scope)
    return Response(image, media_type="image/png")
