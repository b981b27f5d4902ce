"""What was handed to a person, what was asked, and the audit log, as pages."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.answer.replay import Replay
from citewell.api.asking import in_turn
from citewell.api.bodies.base import MAX_NUMBER
from citewell.api.history import names, questions
from citewell.api.paging import Paging
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Governor, Member, Visitor
from citewell.history import AuditRecord, Proof
from citewell.web.answers import passage_chip, turn

router = APIRouter()

Csrf = Annotated[str, Form()]
RECORDS_SHOWN = 100


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


# ----------------------------------------------------------------------------------------------------- the audit log


@router.get("/audit")
def audit(site: Here, visitor: Member, before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None) -> Response:
    """The newest answers on record, or those before a number."""
    return _records(site, visitor, proof=None, before=before)


@router.post("/audit/proof")
def prove(request: Request, site: Here, visitor: Governor, csrf: Csrf = "") -> Response:
    """Prove that no record was changed or is missing."""
    require_our_form(request, csrf)
    return _records(site, visitor, proof=site.ask_service().audit.verify_chain(visitor.tenant))


def _audit_place(visitor: Visitor) -> str:
    """Where the log stands in the menu: among the tools of an administrator, or behind what one asked."""
    return "admin" if visitor.may("govern") else "ask"


def _records(site: ServerState, visitor: Visitor, *, proof: Proof | None, before: int | None = None) -> Response:
    entries = site.ask_service().audit.entries(visitor.asker(), limit=RECORDS_SHOWN + 1, before=before)
    shown = entries[:RECORDS_SHOWN]
    next = shown[-1].number if len(entries) > RECORDS_SHOWN else None
    known = names(site, visitor, (entry.user_id for entry in shown))
    return site.page(
        "audit.html",
        visitor,
        nav=_audit_place(visitor),
        records=shown,
        names=known,
        proof=proof,
        next=next,
        after=before,
    )


@router.get("/audit/{answer_id}")
def record(site: Here, visitor: Member, answer_id: str) -> Response:
    """One answer on record with all that it rested on."""
    return _record(site, visitor, site.ask_service().audit.read(answer_id, visitor.asker()), replay=None)


@router.post("/audit/{answer_id}/replay")
async def replay(request: Request, site: Here, visitor: Member, answer_id: str, csrf: Csrf = "") -> Response:
    """Ask again on the versions of then, and show what differs."""
    require_our_form(request, csrf)
    site.take_ask(visitor)
    again = await in_turn(site, lambda: site.loaded().replay(answer_id, asker=visitor.asker()))
    return await run_in_threadpool(_record, site, visitor, again.record, replay=again)


def _record(site: ServerState, visitor: Visitor, record: AuditRecord, *, replay: Replay | None) -> Response:
    words = record.words
    shown = None if words["answer"] is None else turn(words["question"], words["answer"])
    known = names(site, visitor, [record.entry.user_id])
    return site.page(
        "record.html", visitor, nav=_audit_place(visitor), record=record, turn=shown, names=known, replay=replay
    )
