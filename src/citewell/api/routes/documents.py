"""/api/v1/documents: list, upload, follow, read and delete."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from citewell.api import document_changes
from citewell.api.bodies.base import MAX_NUMBER
from citewell.api.bodies.documents import (
    BoxesResponse,
    DeletedResponse,
    DocumentResponse,
    DocumentsResponse,
    IndexedResponse,
    RefileRequest,
    TextPartResponse,
    UploadResponse,
    entry_json,
)
from citewell.api.request_checks import our_request
from citewell.api.server_state import UNDER_WAY, Here, ServerState
from citewell.api.uploads import FIELDS, take_in
from citewell.api.visitor import Editor, Reader
from citewell.errors import InputError
from citewell.types import Filing, LibraryEntry, LifecycleState, Scope
from citewell.web.display_words import advice

router = APIRouter(prefix="/api/v1/documents")

IMAGE_WIDTHS_PX = (200, 2_400)
PRIVATE = "private, max-age=600"
MAX_TEXT_CHARACTERS = 200_000
Offset = Annotated[int, Query(ge=0, le=MAX_NUMBER)]
TAG_LIST = "^([a-z0-9](-?[a-z0-9])*([, ]+|$))*$"
UPLOAD = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["files"],
                "properties": {
                    "files": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
                    "tags": {"type": "string", "maxLength": 64, "pattern": TAG_LIST},
                    **{name: {"type": "string", "maxLength": 1_000, "pattern": "^[^*]*$"} for name in FIELDS[1:]},
                },
                "additionalProperties": False,
            }
        }
    },
}
"""The form that an upload sends; it is read by our own parser, which keeps limits while the bytes arrive."""


@router.get("", response_model=DocumentsResponse)
def list_documents(site: Here, visitor: Reader, under_way: bool = False, all_versions: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
    """Documents, newest first: all in use, or only those still being processed."""
    entries = site.app.entries(visitor.whole)
    if under_way:
        entries = [entry for entry in entries if entry.state in UNDER_WAY]
    elif not all_versions:
        entries = [entry for entry in entries if entry.state is not LifecycleState.SUPERSEDED]
    return {"documents": [entry_json(entry, site.progress(entry)) for entry in entries]}


@router.post(
    "",
    status_code=HTTPStatus.ACCEPTED,
    response_model=UploadResponse,
    openapi_extra={"requestBody": UPLOAD},
)
async def upload(request: Request, site: Here, visitor: Editor) -> JSONResponse:
    """Upload one or more files to be processed."""
    taken = await take_in(request, site, visitor)
    if taken.refused and not taken.added:
        raise taken.refused[0].error
    documents = await run_in_threadpool(
        lambda: [{**_indexed(site, added.entry, visitor.whole), "was_there": added.was_there} for added in taken.added]
    )
    body = {
        "documents": documents,
        "refused": [
            {
                "name": refused.name,
                "kind": type(refused.error).__name__,
                "detail": advice(str(refused.error), runs_site=site.is_run_by(visitor)),
            }
            for refused in taken.refused
        ],
    }
    return JSONResponse(jsonable_encoder(body), status_code=HTTPStatus.ACCEPTED)


@router.get("/{document_id}", response_model=IndexedResponse)
def one_document(site: Here, visitor: Reader, document_id: str) -> dict[str, Any]:
    """One document version, with its progress and processing times."""
    return _indexed(site, site.entry(document_id, visitor.whole), visitor.whole)


def _indexed(site: ServerState, entry: LibraryEntry, scope: Scope) -> dict[str, Any]:
    took = site.took(entry.id)
    return {
        **entry_json(entry, site.progress(entry)),
        "chunks_indexed": None if entry.state in UNDER_WAY else entry.chunk_count,
        "replaced_existing": entry.version > 1,
        "embedding_ms": None if took is None else round(took.embedding_ms, 1),
        "indexing_ms": None if took is None else round(took.indexing_ms, 1),
        "guideline": site.app.guidelines.recognised(entry, scope),
    }


@router.delete("/{document_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def delete(site: Here, visitor: Editor, document_id: str) -> dict[str, Any]:
    """Erase all versions of a document."""
    return {"deleted": [entry.id for entry in document_changes.delete(site, document_id, visitor)]}


@router.patch("/{document_id}", response_model=DocumentResponse, dependencies=[Depends(our_request)])
def refile(site: Here, visitor: Editor, document_id: str, refiling: RefileRequest) -> dict[str, Any]:
    """Change the tags and journeys of a document, with no re-indexing."""
    tags = None if refiling.tags is None else frozenset(refiling.tags)
    journeys = None if refiling.journeys is None else frozenset(refiling.journeys)
    filing = Filing(tags=tags, journeys=journeys)
    entry = document_changes.refile(site, document_id, filing, visitor, revision=refiling.revision)
    return entry_json(entry, site.progress(entry))


@router.get(
    "/{document_id}/file", response_class=Response, responses={200: {"content": {"application/octet-stream": {}}}}
)
def original(site: Here, visitor: Reader, document_id: str) -> Response:
    """The original file, always as a download and never as a page of this site."""
    source = site.app.library.original(document_id, visitor.whole)
    headers = {
        "Content-Disposition": disposition(source.name),
        "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    }
    return Response(source.data, media_type="application/octet-stream", headers=headers)


def disposition(name: str) -> str:
    """A Content-Disposition that every browser reads the same way.

    >>> disposition('a"b;\\r\\nX: ü.pdf')
    'attachment; filename="a_b___X_ _.pdf"; filename*=UTF-8\\'\\'a%22b%3B%0D%0AX%3A%20%C3%BC.pdf'
    """
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in " ._-") else "_" for letter in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


@router.get(
    "/{document_id}/pages/{number}.png", response_class=Response, responses={200: {"content": {"image/png": {}}}}
)
def page_image(
    site: Here,
    visitor: Reader,
    document_id: str,
    number: Annotated[int, Path(le=MAX_NUMBER)],
    width: Annotated[int, Query(ge=IMAGE_WIDTHS_PX[0], le=IMAGE_WIDTHS_PX[1])] = 1_200,
) -> Response:
    """A page of a PDF as an image."""
    image = site.page_image(document_id, number, scope=visitor.whole, width_px=width)
    return Response(image, media_type="image/png", headers={"Cache-Control": PRIVATE})


@router.get("/{document_id}/text", response_model=TextPartResponse)
def text(
    site: Here,
    visitor: Reader,
    document_id: str,
    start: Offset = 0,
    end: Offset | None = None,
) -> dict[str, Any]:
    """A part of the canonical text."""
    document = site.opened(document_id, visitor.whole).document
    until = min(len(document.text), start + MAX_TEXT_CHARACTERS) if end is None else end
    _check_span(start, until, len(document.text))
    return {"start": start, "end": until, "length": len(document.text), "text": document.text[start:until]}


@router.get("/{document_id}/boxes", response_model=BoxesResponse)
def boxes(site: Here, visitor: Reader, document_id: str, start: Offset, end: Offset) -> dict[str, Any]:
    """The position of a span of text on the pages, line by line; empty if not known."""
    document = site.opened(document_id, visitor.whole).document
    _check_span(start, end, len(document.text))
    return {"boxes": document.layout.boxes(start, end)}


def _check_span(start: int, end: int, length: int) -> None:
    if not 0 <= start <= end <= length:
        raise InputError(
            f"Invalid range. The text has {length:,} characters; start and end must lie within it, with start first."
        )
    if end - start > MAX_TEXT_CHARACTERS:
        raise InputError(f"Range too long. Ask for up to {MAX_TEXT_CHARACTERS:,} characters at a time.")
