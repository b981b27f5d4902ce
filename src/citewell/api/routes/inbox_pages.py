"""What was handed to a person, and the replies, as pages."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from citewell.api.history import names, questions
from citewell.api.paging import Paging
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here
from citewell.api.visitor import Member
from citewell.web.answers import passage_chip

router = APIRouter()

Csrf = Annotated[str, Form()]


@router.get("/inbox")
def inbox(site: Here, visitor: Member, part: Paging) -> Response:
    """What waits for this person, open questions first."""
    asker = visitor.asker()
    listed = site.ask_service().inbox.waiting(asker, limit=part.limit, after=part.after)
    known = names(site, visitor, (routed.asked_by for routed in listed.items))
    rows = questions(site, listed.items, asker)
    return site.page("inbox.html", visitor, nav="inbox", rows=rows, names=known, next=listed.next, after=part.after)


@router.get("/asked")
def asked(site: Here, visitor: Member, part: Paging) -> Response:
    """What this person asked that was handed on, with the replies."""
    asker = visitor.asker()
    listed = site.ask_service().inbox.asked(asker, limit=part.limit, after=part.after)
    rows = questions(site, listed.items, asker)
    return site.page("sent_questions.html", visitor, nav="inbox", rows=rows, next=listed.next, after=part.after)


@router.get("/inbox/{routed_id}")
def case_page(site: Here, visitor: Member, routed_id: str) -> Response:
    """One question with its evidence, the withheld draft, and a box for the reply."""
    case = site.ask_service().case(routed_id, visitor.asker())
    passages = [(passage_chip(at, passage), passage.text) for at, passage in enumerate(case.evidence, start=1)]
    known = names(site, visitor, [case.asked_by])
    return site.page("inbox_question.html", visitor, nav="inbox", case=case, passages=passages, names=known)


@router.post("/inbox/{routed_id}/reply")
def reply(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    routed_id: str,
    text: Annotated[str, Form()] = "",
    csrf: Csrf = "",
) -> Response:
    """Answer it."""
    require_our_form(request, csrf)
    site.ask_service().inbox.reply(routed_id, text, visitor.asker())
    return RedirectResponse(f"/inbox/{routed_id}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/inbox/{routed_id}/close")
def close(request: Request, site: Here, visitor: Member, routed_id: str, csrf: Csrf = "") -> Response:
    """Put it away."""
    require_our_form(request, csrf)
    site.ask_service().inbox.close(routed_id, visitor.asker())
    return RedirectResponse("/inbox", status_code=HTTPStatus.SEE_OTHER)
