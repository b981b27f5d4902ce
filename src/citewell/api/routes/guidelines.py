"""/api/v1/guidelines: the guidelines of the library as they were read, and what changed between editions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from citewell.api.bodies.base import Id
from citewell.api.bodies.guidelines import (
    DiffResponse,
    GuidelineResponse,
    GuidelineRowResponse,
    GuidelinesResponse,
    PiecesResponse,
    RuleResponse,
)
from citewell.api.guidelines import whole_asker
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Governor, Member, Reader
from citewell.assistants.guidelines.browse import BrowseFilter, browse
from citewell.assistants.guidelines.diff import diff_json
from citewell.assistants.guidelines.guideline_json import counts_json, guideline_json, rule_json
from citewell.assistants.guidelines.search_entries import Kind
from citewell.errors import NotFound

router = APIRouter(prefix="/api/v1/guidelines")

Word = Annotated[str, Query(max_length=200)]
DocumentId = Annotated[str, Path(max_length=64)]


@router.get("", response_model=GuidelinesResponse)
def guidelines(site: Here, visitor: Reader) -> dict[str, Any]:
    """The current guidelines, with what was imported from each."""
    return {"guidelines": [counts_json(guideline) for guideline in site.app.guidelines.all(visitor.whole)]}


@router.get("/diff", response_model=DiffResponse)
def diff(
    site: Here,
    visitor: Member,
    old: Annotated[Id, Query(description="Document ID of the older edition.")],
    new: Annotated[Id, Query(description="Document ID of the newer edition.")],
) -> dict[str, Any]:
    """Recommendations added, removed, moved and reworded, and which saved assessments would change."""
    editions = [site.app.guidelines.guideline(edition, visitor.whole) for edition in (old, new)]
    difference, changed = site.app.guidelines.diff(editions[0], editions[1], asker=whole_asker(visitor))
    return {**diff_json(difference), "assessments": changed}


@router.get("/{document_id}", response_model=GuidelineResponse)
def one_guideline(site: Here, visitor: Reader, document_id: DocumentId) -> dict[str, Any]:
    """A whole guideline: recommendations with their criteria, the symptom index, definitions and problems."""
    return guideline_json(site.app.guidelines.guideline(document_id, visitor.whole))


@router.get("/{document_id}/pieces", response_model=PiecesResponse)
def some_pieces(
    *,
    site: Here,
    visitor: Reader,
    document_id: DocumentId,
    kind: Annotated[Kind | None, Query()] = None,
    page: Annotated[int | None, Query(ge=1, le=100_000)] = None,
    cancer_site: Annotated[Word, Query(alias="site")] = "",
    action: Word = "",
    system: Word = "",
    q: Word = "",
) -> dict[str, Any]:
    """The entries of a guideline: recommendations, their search texts, rows of the symptom index, and definitions."""
    guideline = site.app.guidelines.guideline(document_id, visitor.whole)
    text = site.opened(document_id, visitor.whole).document.text
    wanted = BrowseFilter(kind or "", page, cancer_site, action, system, q)
    return {"pieces": browse(guideline, text, wanted)}


@router.post("/{document_id}/refresh", response_model=GuidelineRowResponse, dependencies=[Depends(our_request)])
def refresh(site: Here, visitor: Governor, document_id: DocumentId) -> dict[str, Any]:
    """Import or re-import a document as a guideline; the same document gives the same recommendations."""
    return counts_json(site.app.guidelines.refresh(document_id, visitor.whole))


@router.get("/{document_id}/rules/{rule_id}", response_model=RuleResponse)
def one_rule(
    site: Here, visitor: Reader, document_id: DocumentId, rule_id: Annotated[str, Path(max_length=32)]
) -> dict[str, Any]:
    """One recommendation, word for word."""
    rule = site.app.guidelines.guideline(document_id, visitor.whole).by_id.get(rule_id)
    if rule is None:
        raise NotFound("This guideline has no recommendation with that number.")
    return rule_json(rule)
