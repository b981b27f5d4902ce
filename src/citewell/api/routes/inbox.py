"""/api/v1/inbox and /api/v1/asked: questions that were handed to a person, and the replies."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends

from citewell.answer.history_json import case_json, routed_json, routed_page_json
from citewell.api.bodies.kept import CaseResponse, Reply, RoutedListResponse, RoutedResponse
from citewell.api.parts import Wanted
from citewell.api.requests import our_request
from citewell.api.site import Here
from citewell.api.visitor import Member

router = APIRouter(prefix="/api/v1")


@router.get("/inbox", response_model=RoutedListResponse)
def waiting(site: Here, visitor: Member, part: Wanted) -> dict[str, Any]:
    """Questions you can answer, open ones first: those about your tags, or all in the tenant for an administrator."""
    desk, asker = site.desk(), visitor.asker()
    found = desk.inbox.waiting(asker, limit=part.limit, after=part.after)
    return routed_page_json(found, desk.questions(found.items, asker))


@router.get("/asked", response_model=RoutedListResponse)
def asked(site: Here, visitor: Member, part: Wanted) -> dict[str, Any]:
    """Questions of yours that were sent on, newest first, with the replies."""
    desk, asker = site.desk(), visitor.asker()
    found = desk.inbox.asked(asker, limit=part.limit, after=part.after)
    return routed_page_json(found, desk.questions(found.items, asker))


@router.get("/inbox/{routed_id}", response_model=CaseResponse)
def one_question(site: Here, visitor: Member, routed_id: str) -> dict[str, Any]:
    """One of them with its question, the evidence and, for the person who answers, the withheld draft."""
    return case_json(site.desk().case(routed_id, visitor.asker()))


@router.post("/inbox/{routed_id}/reply", response_model=RoutedResponse, dependencies=[Depends(our_request)])
def reply(site: Here, visitor: Member, routed_id: str, given: Reply) -> dict[str, Any]:
    """Reply to it; the person who asked sees the reply."""
    return routed_json(site.desk().inbox.reply(routed_id, given.text, visitor.asker()))


@router.post("/inbox/{routed_id}/close", response_model=RoutedResponse, dependencies=[Depends(our_request)])
def close(site: Here, visitor: Member, routed_id: str) -> dict[str, Any]:
    """Close it, answered or not."""
    return routed_json(site.desk().inbox.close(routed_id, visitor.asker()))
