"""/api/v1/documents/…: where a document is in its life, what became of it, and what may be done about that."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends

from citewell.api import document_changes
from citewell.api.bodies.documents import (
    DocumentResponse,
    HistoryResponse,
    ReingestRequest,
    RereadResponse,
    SeenRevision,
    StatusResponse,
    entry_json,
)
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Editor, Governor, Reader
from citewell.types import LibraryEntry
from citewell.types.lifecycle import QueueStatus

router = APIRouter(prefix="/api/v1")

OURS = [Depends(our_request)]


@router.get("/documents/{document_id}/status", response_model=StatusResponse)
def status(site: Here, visitor: Reader, document_id: str) -> dict[str, Any]:
    """A document's state, its progress, and when it will be retried."""
    entry = site.entry(document_id, visitor.whole)
    return entry_json(entry, site.progress(entry))


@router.get("/documents/{document_id}/history", response_model=HistoryResponse)
def history(site: Here, visitor: Editor, document_id: str) -> dict[str, Any]:
    """What happened to a document, when and by whom; for erased documents, administrators only."""
    return {"history": site.app.library.history(document_id, visitor.whole)}


@router.post("/documents/{document_id}/retry", response_model=DocumentResponse, dependencies=OURS)
def retry(site: Here, visitor: Editor, document_id: str, seen: SeenRevision | None = None) -> dict[str, Any]:
    """Retry a document that could not be read."""
    return _document(site, document_changes.retry(site, document_id, visitor, revision=_revision(seen)))


@router.post("/documents/{document_id}/withdraw", response_model=DocumentResponse, dependencies=OURS)
def withdraw(site: Here, visitor: Editor, document_id: str, seen: SeenRevision | None = None) -> dict[str, Any]:
    """Withdraw a document from search; it is kept."""
    return _document(site, document_changes.withdraw(site, document_id, visitor, revision=_revision(seen)))


@router.post("/documents/{document_id}/restore", response_model=DocumentResponse, dependencies=OURS)
def restore(site: Here, visitor: Editor, document_id: str, seen: SeenRevision | None = None) -> dict[str, Any]:
    """Restore a withdrawn document."""
    return _document(site, document_changes.restore(site, document_id, visitor, revision=_revision(seen)))


@router.post(
    "/documents/{document_id}/reingest",
    response_model=DocumentResponse,
    dependencies=OURS,
    status_code=HTTPStatus.ACCEPTED,
)
def reingest(site: Here, visitor: Editor, document_id: str, seen: SeenRevision | None = None) -> dict[str, Any]:
    """Re-process a document; the current result stays in use until then."""
    return _document(site, document_changes.reread(site, document_id, visitor, revision=_revision(seen)))


@router.get("/queue")
def queue(site: Here, visitor: Editor) -> QueueStatus:
    """The number of documents in each state, the workers and when they were last seen, and the oldest in the queue."""
    return document_changes.queue_of(site, visitor)


@router.post("/queue/reingest", response_model=RereadResponse, dependencies=OURS, status_code=HTTPStatus.ACCEPTED)
def reingest_all(site: Here, visitor: Governor, wish: ReingestRequest | None = None) -> dict[str, Any]:
    """Re-process everything with the configured embedding model; current results stay in use until then."""
    is_dry = wish is not None and wish.dry_run
    fingerprint = site.loaded().embedder.fingerprint
    known = site.app.library.embedder()
    return {
        "documents": document_changes.reread_all(site, visitor, is_dry=is_dry),
        "embedder": fingerprint,
        "is_new_embedder": known not in (None, fingerprint),
        "is_queued": not is_dry,
    }


def _revision(seen: SeenRevision | None) -> int | None:
    return None if seen is None else seen.revision


def _document(site: ServerState, entry: LibraryEntry) -> dict[str, Any]:
    return entry_json(entry, site.progress(entry))
