"""The library: a table of documents, upload, one page for each, delete."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from citewell.api import document_changes
from citewell.api.multipart import MAX_FILES
from citewell.api.progress import Progress
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import UNDER_WAY, Here, ServerState
from citewell.api.uploads import ACCEPTED, ADDED_BY, UploadOutcome, take_in
from citewell.api.visitor import Editor, Reader, Visitor
from citewell.errors import InputError, NotFound
from citewell.ingest.retries import may_heal
from citewell.samples import sample_files, sample_filing
from citewell.types import Filing, LibraryEntry, LifecycleState, Source
from citewell.web.library_table import PAGE_ROWS, Order, listed
from citewell.web.search_results import without_title
from citewell.web.version_changes import MOST_SHOWN, changes_between

router = APIRouter()

Ids = Annotated[list[str] | None, Query(alias="id")]
Chosen = Annotated[list[str] | None, Form(alias="id")]
Csrf = Annotated[str, Form()]
PASSAGES_SHOWN = 50


@router.get("/library")
def library_page(
    *,
    site: Here,
    visitor: Reader,
    wanted: Annotated[str, Query(alias="filter")] = "",
    sort: Order = "added",
    down: bool = True,
    number: Annotated[int, Query(ge=1, alias="page")] = 1,
    queued: Annotated[int, Query(ge=0)] = 0,
    known: Annotated[int, Query(ge=0)] = 0,
    refused: Annotated[int, Query(ge=0)] = 0,
    deleted: Annotated[int, Query(ge=0)] = 0,
    restored: Annotated[int, Query(ge=0)] = 0,
    removed: Annotated[tuple[str, ...], Query()] = (),
) -> Response:
    """All documents, and the way to add some."""
    entries = [entry for entry in site.app.entries(visitor.whole) if entry.state is not LifecycleState.SUPERSEDED]
    rows = listed(entries, wanted=wanted, order=sort, down=down)
    first = (number - 1) * PAGE_ROWS
    return site.page(
        "library.html",
        visitor,
        nav="library",
        rows=[_row(site, visitor, entry, is_read=False) for entry in rows[first : first + PAGE_ROWS]],
        found=len(rows),
        total=len(entries),
        under_way=sum(entry.state in UNDER_WAY for entry in entries),
        wanted=wanted,
        sort=sort,
        down=down,
        number=number,
        last=max(1, -(-len(rows) // PAGE_ROWS)),
        max_characters=site.app.settings.max_characters,
        news={"queued": queued, "known": known, "refused": refused, "deleted": deleted, "restored": restored},
        removed=[entry for entry in entries if entry.id in removed and entry.state is LifecycleState.WITHDRAWN],
        max_file_mb=site.app.settings.max_file_mb,
        max_files=MAX_FILES,
        journeys=site.app.journeys.all(visitor.whole),
        accepted=ACCEPTED,
        literature=site.app.settings.literature,
    )


@router.post("/library")
async def add(request: Request, site: Here, visitor: Editor) -> Response:
    """Take in the files of the form."""
    return _thanked(await take_in(request, site, visitor))


def _thanked(taken: UploadOutcome) -> Response:
    if taken.refused and not taken.added:
        raise taken.refused[0].error
    known = sum(added.was_there for added in taken.added)
    news = {"queued": len(taken.added) - known, "known": known, "refused": len(taken.refused)}
    query = urlencode({name: count for name, count in news.items() if count})
    return RedirectResponse(f"/library?{query}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/library/samples")
def add_samples(request: Request, site: Here, visitor: Editor, csrf: Csrf = "") -> Response:
    """Queue the documents that ship with Citewell."""
    require_our_form(request, csrf)
    filing = Filing(added_by=ADDED_BY)
    added = [
        document_changes.queue(site, Source(path.read_bytes(), path.name), sample_filing(path, filing), visitor)
        for path in sample_files()
    ]
    return _thanked(UploadOutcome(tuple(added), ()))


@router.post("/library/samples/remove")
def remove_samples(request: Request, site: Here, visitor: Editor, csrf: Csrf = "") -> Response:
    """Erase the documents that ship with Citewell; no other document goes."""
    require_our_form(request, csrf)
    gone = [document_id for document_id in site.samples(visitor) if document_changes.delete(site, document_id, visitor)]
    return RedirectResponse(f"/library?deleted={len(gone)}", status_code=HTTPStatus.SEE_OTHER)


@router.get("/documents/delete")
def ask_delete(site: Here, visitor: Editor, ids: Ids = None) -> Response:
    """Say what would go, before it goes."""
    entries = _chosen(site, visitor, ids)
    gone = {version.id for entry in entries for version in document_changes.erasable(site, entry.id, visitor)}
    can_keep = all(entry.is_current and entry.state is LifecycleState.COMPLETED for entry in entries)
    return site.page("delete.html", visitor, nav="library", entries=entries, versions=len(gone), can_keep=can_keep)


def _chosen(site: ServerState, visitor: Visitor, ids: list[str] | None) -> list[LibraryEntry]:
    if not ids:
        raise InputError("No documents selected. Tick one or more in the library, then delete them.")
    return [site.entry(document_id, visitor.whole) for document_id in dict.fromkeys(ids)]


@router.post("/documents/delete")
def delete(
    request: Request,
    site: Here,
    visitor: Editor,
    ids: Chosen = None,
    csrf: Csrf = "",
) -> Response:
    """Erase documents with all their versions."""
    require_our_form(request, csrf)
    gone: set[str] = set()
    count = 0
    chosen = _chosen(site, visitor, ids)
    for entry in chosen:  # all or none
        document_changes.erasable(site, entry.id, visitor)
    for entry in chosen:
        if entry.id not in gone:  # it may have gone with another version
            gone.update(version.id for version in document_changes.delete(site, entry.id, visitor))
            count += 1
    return RedirectResponse(f"/library?deleted={count}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/documents/remove")
def remove(request: Request, site: Here, visitor: Editor, ids: Chosen = None, csrf: Csrf = "") -> Response:
    """Take documents out of answers and searches; they are kept, and come back with one click."""
    require_our_form(request, csrf)
    for entry in _chosen(site, visitor, ids):
        document_changes.withdraw(site, entry.id, visitor)
    return RedirectResponse(f"/library?{urlencode([('removed', one) for one in ids or ()])}", HTTPStatus.SEE_OTHER)


@router.post("/documents/restore")
def restore(request: Request, site: Here, visitor: Editor, ids: Chosen = None, csrf: Csrf = "") -> Response:
    """Bring removed documents back."""
    require_our_form(request, csrf)
    restored = [document_changes.restore(site, entry.id, visitor) for entry in _chosen(site, visitor, ids)]
    return RedirectResponse(f"/library?restored={len(restored)}", HTTPStatus.SEE_OTHER)


@router.get("/documents/{document_id}")
def document_page(site: Here, visitor: Reader, document_id: str, first: Annotated[int, Query(ge=0)] = 0) -> Response:
    """What is known of a document, its versions and its passages."""
    entry = site.entry(document_id, visitor.whole)
    versions = [version for version in site.app.entries(visitor.whole) if version.lineage == entry.lineage]
    try:
        chunks = site.opened(document_id, visitor.whole).chunks
    except NotFound:
        chunks = ()
    return site.page(
        "document.html",
        visitor,
        nav="library",
        entry=entry,
        origin=document_changes.origin(site, document_id, visitor),
        progress=site.progress(entry),
        guideline=site.app.guidelines.recognised(entry, visitor.whole),
        versions=sorted(versions, key=lambda version: -version.version),
        chunks=[(chunk, without_title(chunk.section, entry.title)) for chunk in chunks[first : first + PASSAGES_SHOWN]],
        first=first,
        shown=PASSAGES_SHOWN,
        total=len(chunks),
        may_heal=may_heal(entry.attempts, is_waiting=entry.next_attempt_at is not None),
        accepted=ACCEPTED,
        max_file_mb=site.app.settings.max_file_mb,
    )


@router.get("/documents/{document_id}/changes")
def changes_page(site: Here, visitor: Reader, document_id: str, since: str) -> Response:
    """What changed in a document since another version of it, in words."""
    old, new = (site.opened(version, visitor.whole) for version in (since, document_id))
    entries = [site.entry(version, visitor.whole) for version in (since, document_id)]
    if entries[0].lineage != entries[1].lineage:
        raise InputError("These are two documents. Choose two versions of one.")
    found = changes_between(old.document.text, new.document.text)
    return site.page(
        "version_changes.html", visitor, nav="library", old=entries[0], new=entries[1], found=found, most=MOST_SHOWN
    )


@router.get("/documents/{document_id}/row")
def document_row(site: Here, visitor: Reader, document_id: str) -> Response:
    """The document's row in the library, for a script that follows it."""
    return site.page("document_row.html", visitor, rows=[_row(site, visitor, site.entry(document_id, visitor.whole))])


def _row(
    site: ServerState, visitor: Visitor, entry: LibraryEntry, *, is_read: bool = True
) -> tuple[LibraryEntry, Progress | None, str | None]:
    """A document, how far it has come, and the guideline that it looks like."""
    return entry, site.progress(entry), site.app.guidelines.recognised(entry, visitor.whole, is_read=is_read)


@router.post("/documents/{document_id}/version")
async def add_version(request: Request, site: Here, visitor: Editor, document_id: str) -> Response:
    """Take in a file as the next version of a document."""
    return _thanked(await take_in(request, site, visitor, replaces=document_id))


@router.post("/documents/{document_id}/retry")
def retry(request: Request, site: Here, visitor: Editor, document_id: str, csrf: Csrf = "") -> Response:
    """Read a document again that could not be read."""
    require_our_form(request, csrf)
    document_changes.retry(site, document_id, visitor)
    return RedirectResponse("/library?queued=1", status_code=HTTPStatus.SEE_OTHER)
