"""/api/v1/inbox and /api/v1/asked: questions that were handed to a person, and the replies."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Depends

from citewell.answer.history_json import with_questions
from citewell.answer.service import Case
from citewell.api.bodies.history import HandOnRequest, ReplyRequest, RoutedListResponse
from citewell.api.paging import Paging
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Member
from citewell.history import HistoryPage, ListedQuestion, RoutedQuestion

router = APIRouter(prefix="/api/v1")


@router.get("/inbox", response_model=RoutedListResponse)
def waiting(site: Here, visitor: Member, part: Paging) -> HistoryPage[ListedQuestion]:
    """Questions you can answer, open ones first: those about your tags, or all in the tenant for an administrator."""
    service, asker = site.ask_service(), visitor.asker()
    page = service.inbox.waiting(asker, limit=part.limit, after=part.after)
    return with_questions(page, service.questions(page.items, asker))


@router.post("/inbox", status_code=HTTPStatus.CREATED, dependencies=[Depends(our_request)])
def hand_on(site: Here, visitor: Member, given: HandOnRequest) -> RoutedQuestion:
    """Send a question of yours that was not answered, or answered wrongly, to the right person; repeating is safe."""
    service, asker = site.ask_service(), visitor.asker()
    if given.problem is None:
        return service.inbox.one(service.hand_on(given.answer_id, asker), asker)
    return service.inbox.one(site.app.report(given.answer_id, given.problem, asker=asker), asker)


@router.get("/asked", response_model=RoutedListResponse)
def asked(site: Here, visitor: Member, part: Paging) -> HistoryPage[ListedQuestion]:
    """Questions of yours that were sent on, newest first, with the replies."""
    service, asker = site.ask_service(), visitor.asker()
    page = service.inbox.asked(asker, limit=part.limit, after=part.after)
    return with_questions(page, service.questions(page.items, asker))


@router.get("/inbox/{routed_id}")
def one_question(site: Here, visitor: Member, routed_id: str) -> Case:
    """One of them with its question, the evidence and, for the person who answers, the withheld draft."""
    return site.ask_service().case(routed_id, visitor.asker())


@router.post("/inbox/{routed_id}/reply", dependencies=[Depends(our_request)])
def reply(site: Here, visitor: Member, routed_id: str, given: ReplyRequest) -> RoutedQuestion:
    """Reply to it; the person who asked sees the reply."""
    return site.ask_service().inbox.reply(routed_id, given.text, visitor.asker())


@router.post("/inbox/{routed_id}/close", dependencies=[Depends(our_request)])
def close(site: Here, visitor: Member, routed_id: str) -> RoutedQuestion:
    """Close it, answered or not."""
    return site.ask_service().inbox.close(routed_id, visitor.asker())
