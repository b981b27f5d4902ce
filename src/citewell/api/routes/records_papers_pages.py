"""The pages of the papers in a record: a list, each with its words marked, and taking new ones in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from citewell.api.problems import Problem, problem_of
from citewell.api.record_import import FileImport, import_files
from citewell.api.routes.documents import IMAGE_WIDTHS_PX, disposition
from citewell.api.routes.records_pages import FORM, room_page, see
from citewell.api.routes.source_pages import Named
from citewell.api.vault_sessions import Opened, Owner, Vaulted, VaultId, VaultSession, proposed, vault_session_of
from citewell.api.visitor import Visitor
from citewell.errors import InputError
from citewell.ports.models import EXTRACTIVE
from citewell.ports.records import PaperKind
from citewell.types.facts_line import line_of
from citewell.vaults.health_record import Removed
from citewell.web.search_results import without_title
from citewell.web.source_highlights import SourceTarget, view

router = APIRouter(prefix="/records/{vault}")

NOTHING_PROPOSED = (
    "The model found no facts in this document that its text supports. You can add what you know under More."
)
KIND_WORDS = {
    PaperKind.PRESCRIPTION: "prescription",
    PaperKind.LAB_RESULT: "test result",
    PaperKind.CLINICAL_NOTE: "letter or note",
    PaperKind.DISCHARGE_SUMMARY: "discharge letter",
    PaperKind.RADIOLOGY_REPORT: "scan or X-ray report",
    PaperKind.PHARMACY_RECORD: "pharmacy record",
    PaperKind.OTHER: "other document",
}
"""What a patient calls each kind of paper."""
SEALED = {"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}


@router.get("/documents")
def documents(visitor: Owner, room: Opened) -> Response:
    """The papers in the record, newest first, and a form for more."""
    return _documents(room, visitor)


@router.post("/import")
async def take_in(request: Request, visitor: Owner, safe: Vaulted, vault_id: VaultId) -> Response:
    """Read files into the record and say what became of each."""
    # A form proves that it is ours while it is read, so the vault is looked up behind it.
    try:
        outcomes = await import_files(request, lambda: vault_session_of(request, safe, safe.header(vault_id)))
    except InputError as error:
        room = vault_session_of(request, safe, safe.header(vault_id))
        return await run_in_threadpool(_documents, room, visitor, problem=problem_of(error))
    room = vault_session_of(request, safe, safe.header(vault_id))
    return await run_in_threadpool(_documents, room, visitor, outcomes=outcomes)


def _documents(
    room: VaultSession,
    visitor: Visitor,
    *,
    outcomes: Sequence[FileImport] = (),
    problem: Problem | None = None,
    removed: Removed | None = None,
) -> Response:
    return room_page(
        "records_documents.html",
        room,
        visitor,
        tab="documents",
        papers=room.record.papers(),
        kinds=KIND_WORDS,
        outcomes=outcomes,
        removed=removed,
        problem=problem,
        model=None if room.profile.app.settings.model == EXTRACTIVE else room.profile.app.settings.model,
        max_file_mb=room.site.app.settings.max_file_mb,
    )


@router.post("/documents/{document_id}/kind", dependencies=FORM)
def sort(_visitor: Owner, room: Opened, document_id: str, kind: Annotated[PaperKind, Form()]) -> Response:
    """Keep what kind of paper a document is."""
    room.record.sort(document_id, kind)
    return see(f"{room.base}/documents")


@router.get("/documents/{document_id}/remove")
def removing(visitor: Owner, room: Opened, document_id: str) -> Response:
    """Asks whether a paper shall go, and says what goes with it and what stays."""
    removal = room.record.paper.goes_with(document_id)
    kept = [line_of(fact) for fact in removal.kept]
    return room_page(
        "records_remove.html", room, visitor, tab="documents", paper=removal.paper, kept=kept, gone=len(removal.gone)
    )


@router.post("/documents/{document_id}/remove", dependencies=FORM)
def remove(visitor: Owner, room: Opened, document_id: str) -> Response:
    """Erase a paper with what was read from it alone; one that is gone already is no problem."""
    return _documents(room, visitor, removed=room.record.paper.remove(document_id))


@router.post("/documents/{document_id}/propose", dependencies=FORM)
async def propose(visitor: Owner, room: Opened, document_id: str) -> Response:
    """Have the model read a paper for facts, and lead to where they are confirmed."""
    try:
        proposal, _change = await proposed(room, document_id)
    except InputError as error:
        return await run_in_threadpool(_documents, room, visitor, problem=problem_of(error))
    return (
        see(f"{room.base}/review")
        if proposal.facts
        else await run_in_threadpool(_documents, room, visitor, problem=problem_of(InputError(NOTHING_PROPOSED)))
    )


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


def _shown(template: str, room: VaultSession, visitor: Visitor, document_id: str, place: SourceTarget) -> Response:
    # Nothing of a vault is kept open between two requests: when it is locked, it is gone.
    entry, text, chunks = room.profile.app.show(document_id, room.scope)
    shown = view(entry, text, chunks, place)
    section = without_title(shown.section, shown.title)
    return room.site.page(
        template, visitor, nav="records", view=shown, section=section, place=place.query, base=room.base
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
