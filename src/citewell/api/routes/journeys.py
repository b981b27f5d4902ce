"""/api/v1/journeys: care journeys, and which documents belong to them; search follows at once."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from citewell.adapters.store.journeys import JourneyChange
from citewell.api import document_changes
from citewell.api.bodies.journeys import (
    SLUG,
    AssignRequest,
    FiledAllResponse,
    JourneyEditRequest,
    JourneyGoneResponse,
    JourneysResponse,
    NewJourneyRequest,
)
from citewell.api.document_changes import who
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Editor, Governor, Reader, Visitor
from citewell.types import LibraryEntry
from citewell.types.journeys import MAX_SLUG_CHARACTERS, Journey

router = APIRouter(prefix="/api/v1/journeys")

Slug = Annotated[str, Path(max_length=MAX_SLUG_CHARACTERS, pattern=SLUG)]
Other = Annotated[str | None, Query(max_length=MAX_SLUG_CHARACTERS, pattern=SLUG)]


@router.get("", response_model=JourneysResponse)
def all_journeys(site: Here, visitor: Reader) -> dict[str, Any]:
    """The journeys by name, with the number of documents each adds to those for everyone."""
    return {"journeys": site.app.journeys.all(visitor.whole)}


@router.post("", status_code=HTTPStatus.CREATED, dependencies=[Depends(our_request)])
def add_journey(site: Here, visitor: Governor, new: NewJourneyRequest) -> Journey:
    """Add a journey."""
    return site.app.journeys.add(
        new.name, slug=new.slug, description=new.description, scope=visitor.whole, by=who(visitor)
    )


@router.get("/{slug}")
def one_journey(site: Here, visitor: Reader, slug: Slug) -> Journey:
    """One journey."""
    return site.app.journeys.one(slug, visitor.whole)


@router.patch("/{slug}", dependencies=[Depends(our_request)])
def edit_journey(site: Here, visitor: Governor, slug: Slug, edit: JourneyEditRequest) -> Journey:
    """Change the name, slug or description; documents and conversations move with it, with no re-indexing."""
    change = JourneyChange(edit.name, edit.slug, edit.description)
    return site.app.journeys.edit(slug, change, revision=edit.revision, scope=visitor.whole, by=who(visitor))


@router.delete("/{slug}", response_model=JourneyGoneResponse, dependencies=[Depends(our_request)])
def remove_journey(
    site: Here,
    visitor: Governor,
    slug: Slug,
    to: Other = None,
    universal: bool = False,  # noqa: FBT001, FBT002
) -> dict[str, Any]:
    """Remove a journey and move its documents to another, or to everyone if you say so."""
    changed = site.app.journeys.remove(slug, to=to, universal=universal, scope=visitor.whole, by=who(visitor))
    return {"removed": slug, "documents": changed}


@router.post("/{slug}/assign", response_model=FiledAllResponse, dependencies=[Depends(our_request)])
def assign(site: Here, visitor: Editor, slug: Slug, given: AssignRequest) -> dict[str, Any]:
    """Add documents to a journey."""
    refuse_foreign(site, visitor, given.documents)
    return _filed(site.app.journeys.assign(slug, given.documents, scope=visitor.whole, by=who(visitor)))


@router.post("/{slug}/unassign", response_model=FiledAllResponse, dependencies=[Depends(our_request)])
def unassign(site: Here, visitor: Editor, slug: Slug, given: AssignRequest) -> dict[str, Any]:
    """Take documents out of a journey; those in no other journey become available to everyone."""
    refuse_foreign(site, visitor, given.documents)
    return _filed(site.app.journeys.unassign(slug, given.documents, scope=visitor.whole, by=who(visitor)))


def refuse_foreign(site: ServerState, visitor: Visitor, document_ids: Sequence[str]) -> None:
    """Refuse a change to documents that are not all the visitor's to change, with the versions that go along."""
    if not visitor.may("govern"):
        document_changes.refuse_unless_theirs(site.app.journeys.going_along(document_ids, visitor.whole), visitor)


def _filed(entries: Sequence[LibraryEntry]) -> dict[str, Any]:
    return {"documents": [{"document_id": entry.id, "journeys": entry.journeys} for entry in entries]}
