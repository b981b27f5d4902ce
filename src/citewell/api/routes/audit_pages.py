"""The one page of the audit log: who asked what, when, which answer, which sources; proved, replayed and exported."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from citewell.answer.replay import Replay
from citewell.api.asking import in_turn
from citewell.api.audit_search import AuditQuery, search
from citewell.api.bodies.base import MAX_NUMBER
from citewell.api.history import names
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Governor, Member, Visitor
from citewell.errors import InputError
from citewell.history import AuditRecord, Proof
from citewell.web.answers import turn

router = APIRouter()

Csrf = Annotated[str, Form()]
Short = Annotated[str, Query(max_length=200)]
ASSISTANTS = ("knowledge", "guidelines", "evidence")


@router.get("/audit")
def audit(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    words: Short = "",
    user: Short = "",
    assistant: Short = "",
    since: Short = "",
    until: Short = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
) -> Response:
    """Answers on record by words, person, assistant and day: all of them for an administrator, else one's own."""
    query = AuditQuery(words, user, assistant, _day(since), _day(until), before)
    asked = {name: value for name, value in request.query_params.items() if value and name != "before"}
    return _log(site, visitor, query, asked=asked, proof=None)


@router.post("/audit/proof")
def prove(request: Request, site: Here, visitor: Governor, csrf: Csrf = "") -> Response:
    """Prove that no record was changed or is missing."""
    require_our_form(request, csrf)
    proof = site.ask_service().audit.verify_chain(visitor.tenant)
    return _log(site, visitor, AuditQuery(), asked={}, proof=proof)


def _log(
    site: ServerState, visitor: Visitor, query: AuditQuery, *, asked: dict[str, Any], proof: Proof | None
) -> Response:
    matches = search(site, visitor, query)
    return site.page(
        "audit.html",
        visitor,
        nav=_place(visitor),
        sought=query,
        found=matches,
        users=site.people.all(tenant=visitor.tenant) if visitor.may("govern") else [],
        assistants=ASSISTANTS,
        names=names(site, visitor, (record.user_id for record in matches.records)),
        asked=asked,
        proof=proof,
    )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InputError("Enter dates as 2026-03-12.") from None


def _place(visitor: Visitor) -> str:
    """Where the log stands in the menu: among the tools of an administrator, or behind what one asked."""
    return "admin" if visitor.may("govern") else "ask"


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
    words = site.ask_service().as_known_now(record).words
    shown = None if words["answer"] is None else turn(words["question"], words["answer"])
    known = names(site, visitor, [record.entry.user_id])
    return site.page("record.html", visitor, nav=_place(visitor), record=record, turn=shown, names=known, replay=replay)
