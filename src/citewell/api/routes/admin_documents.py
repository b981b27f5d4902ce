"""/api/v1/admin: documents a part at a time, checked edits, actions on a selection, the audit log."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BeforeValidator

from citewell.adapters.store.document_lists import DocumentFilter, ListOrder, Order
from citewell.api.audit_search import AuditQuery, FoundRecords, search
from citewell.api.bodies.base import MAX_NUMBER
from citewell.api.bodies.documents import (
    ChunksResponse,
    DocumentEditRequest,
    DocumentListResponse,
    KeptDocumentResponse,
    OutcomesResponse,
    SelectionRequest,
    WholeDocumentResponse,
    entry_json,
)
from citewell.api.bodies.journeys import SLUG
from citewell.api.bodies.people import TAG
from citewell.api.document_changes import acted, chunking, edited
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Editor, Governor
from citewell.types import LifecycleState
from citewell.types.watched import WatchedFolder


def _iso(text: str) -> str:
    """A day as it is written; a number would be taken for seconds since 1970."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError("enter a date as 2025-03-12")
    return text


Day = Annotated[date, BeforeValidator(_iso)]
router = APIRouter(prefix="/api/v1/admin")

Slug = Annotated[str | None, Query(max_length=64, pattern=SLUG)]
Carried = Annotated[str | None, Query(max_length=64, pattern=TAG)]
Text = Annotated[str, Query(max_length=200)]


def _wanted(
    *,
    words: Text = "",
    state: LifecycleState | None = None,
    journey: Slug = None,
    tag: Carried = None,
    active: bool | None = None,
    all_versions: bool = False,
) -> DocumentFilter:
    return DocumentFilter(words, state, journey, tag, active, all_versions)


def _sorting(
    *,
    sort: Order = "added",
    down: bool = True,
    first: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ListOrder:
    return ListOrder(sort, down, first, limit)


@router.get("/watched")
def watched(site: Here, visitor: Governor) -> list[WatchedFolder]:
    """The folders whose documents are added by themselves, how the last look at each went, and what failed."""
    return site.app.watched.all(tenant=visitor.tenant)


@router.get("/documents", response_model=DocumentListResponse)
def documents(
    site: Here,
    visitor: Editor,
    wanted: Annotated[DocumentFilter, Depends(_wanted)],
    sorting: Annotated[ListOrder, Depends(_sorting)],
) -> dict[str, Any]:
    """Matching documents, a page at a time; journey `universal` means those in none."""
    listed = site.app.catalogue.listed(wanted, sorting, visitor.whole)
    return {"documents": [entry_json(entry, site.progress(entry)) for entry in listed.entries], "total": listed.total}


@router.post("/documents/actions", response_model=OutcomesResponse, dependencies=[Depends(our_request)])
def act(site: Here, visitor: Editor, given: SelectionRequest) -> dict[str, Any]:
    """Re-process, withdraw, restore or erase documents, with the result for each."""
    return {"outcomes": acted(site, visitor, given.action, given.documents)}


@router.get("/documents/{document_id}", response_model=WholeDocumentResponse)
def document(site: Here, visitor: Editor, document_id: str) -> dict[str, Any]:
    """One document version, its other versions and their history."""
    entry = site.entry(document_id, visitor.whole)
    versions = site.app.catalogue.versions(entry.lineage, visitor.whole)
    history = site.app.library.history(document_id, visitor.whole)
    return {
        **entry_json(entry, site.progress(entry)),
        "versions": [entry_json(version, None) for version in versions],
        "history": history,
    }


@router.patch("/documents/{document_id}", response_model=KeptDocumentResponse, dependencies=[Depends(our_request)])
def edit(site: Here, visitor: Editor, document_id: str, given: DocumentEditRequest) -> dict[str, Any]:
    """Change the name, tags, journeys or how it is split next time; 409 if someone else has changed it since."""
    fields: dict[str, Any] = {"title": given.title}
    fields["tags"] = None if given.tags is None else frozenset(given.tags)
    fields["journeys"] = given.journeys
    cut = given.chunking
    fields["chunking"] = None if cut is None else chunking(cut.strategy, cut.size, cut.overlap)
    entry = edited(site, visitor, document_id, fields, given.revision)
    return entry_json(entry, site.progress(entry))


@router.get("/documents/{document_id}/chunks", response_model=ChunksResponse)
def chunks(
    site: Here,
    visitor: Editor,
    document_id: str,
    first: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """Some passages of a document, by number."""
    entry = site.entry(document_id, visitor.whole)
    passages = site.app.catalogue.chunks(document_id, visitor.whole, first=first, limit=limit)
    return {"chunks": passages, "total": entry.chunk_count}


@router.get("/audit")
def audit(
    *,
    site: Here,
    visitor: Governor,
    words: Text = "",
    user: Annotated[str, Query(max_length=255)] = "",
    assistant: Annotated[str, Query(max_length=16)] = "",
    since: Day | None = None,
    until: Day | None = None,
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
) -> FoundRecords:
    """Search the audit log by words in the question or answer, person, assistant and day, newest first."""
    return search(site, visitor, AuditQuery(words, user, assistant, since, until, before))
