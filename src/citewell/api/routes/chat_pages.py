"""The Chat page of the guidelines, which works without a script, and the rules nearest to a patient."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.api.ask_places import ask_page
from citewell.api.chat import chatted, related
from citewell.api.history import TALKS_SHOWN
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.vault_sessions import AllVaults, OpenVaults
from citewell.api.visitor import Member, Visitor
from citewell.assistants.guidelines.chat_view import related_json
from citewell.assistants.guidelines.saved_assessments import KEY, is_assessment, patient_of
from citewell.errors import CitewellError, NotFound
from citewell.history import Conversation
from citewell.web.ask_box import guidelines_box
from citewell.web.chat import ChatTurn, chat_turn, examples
from citewell.web.display_words import counted
from citewell.web.source_highlights import SourceTarget

router = APIRouter(prefix="/guidelines")

Csrf = Annotated[str, Form()]
Named = Annotated[str, Query(max_length=200)]


@router.get("/chat")
def start(site: Here, visitor: Member, safe: AllVaults, q: Named = "", guideline: Named = "") -> Response:
    """The box narrowed to guidelines, for a new session."""
    return _page(site, visitor, safe, message=q, guideline=guideline)


@router.get("/chat/{session_id}")
def session(site: Here, visitor: Member, safe: AllVaults, session_id: str, guideline: Named = "") -> Response:
    """A session, to be read and continued."""
    shown = _turns(site, visitor, session_id)
    return _page(site, visitor, safe, session_id=session_id, shown=shown, guideline=guideline)


@router.post("/chat")
async def say(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    safe: AllVaults,
    message: Annotated[str, Form()] = "",
    session_id: Annotated[str, Form()] = "",
    guideline: Annotated[str, Form(max_length=200)] = "",
    csrf: Csrf = "",
) -> Response:
    """Answer a message, and lead to the session in which it stands."""
    require_our_form(request, csrf)
    try:
        done = await chatted(site, visitor, message, session_id=session_id or None, guideline=guideline or None)
    except NotFound:
        raise
    except CitewellError as error:
        return await run_in_threadpool(_failed, site, visitor, safe, (message, session_id), problem_of(error))
    chosen = f"?{urlencode({'guideline': guideline})}" if guideline else ""
    address = f"/guidelines/chat/{done.conversation_id}{chosen}#last"
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


@router.post("/chat/{session_id}/delete")
def delete(request: Request, site: Here, visitor: Member, session_id: str, csrf: Csrf = "") -> Response:
    """Erase a session; the audit log keeps its answers."""
    require_our_form(request, csrf)
    site.chat_service().conversations.erase(session_id, visitor.asker())
    return RedirectResponse("/guidelines/chat", status_code=HTTPStatus.SEE_OTHER)


@router.get("/assessments/{answer_id}/related")
async def rules_near(site: Here, visitor: Member, answer_id: str) -> Response:
    """The rules nearest to the patient of an assessment, met or not, by the guidelines of now."""
    record = await run_in_threadpool(site.ask_service().audit.read, answer_id, visitor.asker())
    if not is_assessment(record):
        raise NotFound("Assessment not found. It may be an answer to a question: look in Audit.")
    patient = patient_of(record.words[KEY]["patient"])
    entries = await related(site, visitor, patient)
    rules = [(related_json(entry), SourceTarget(None, entry.piece.start, entry.piece.end).query) for entry in entries]
    return site.page(
        "closest_recommendations.html",
        visitor,
        nav="guidelines",
        tab="assess",
        answer_id=answer_id,
        patient=patient.id,
        rules=rules,
    )


def _failed(
    site: ServerState, visitor: Visitor, safe: OpenVaults, asked: tuple[str, str], problem: Problem
) -> Response:
    """The page with the message still in its box."""
    message, session_id = asked
    shown = _turns(site, visitor, session_id) if session_id else []
    return _page(site, visitor, safe, message=message, session_id=session_id or None, shown=shown, problem=problem)


def _page(
    site: ServerState,
    visitor: Visitor,
    safe: OpenVaults,
    *,
    message: str = "",
    session_id: str | None = None,
    shown: list[ChatTurn] | None = None,
    problem: Problem | None = None,
    guideline: str = "",
) -> Response:
    known = site.app.guidelines.all(visitor.whole)
    return ask_page(
        site,
        visitor,
        safe,
        guidelines_box(counted(site.app.settings.chat_days, "day")),
        turn_template="_guideline_turn.html",
        guidelines=known,
        chosen_guideline=guideline,
        is_empty=not known,
        question=message,
        conversation_id=session_id,
        turns=shown or [],
        problem=problem,
        talks=_sessions(site, visitor),
        examples=examples(known),
    )


def _sessions(site: ServerState, visitor: Visitor) -> list[Conversation]:
    """The visitor's last sessions; none where they cannot be opened, since asking says why."""
    try:
        return site.chat_service().conversations.all(visitor.asker())[:TALKS_SHOWN]
    except CitewellError:
        return []


def _turns(site: ServerState, visitor: Visitor, session_id: str) -> list[ChatTurn]:
    """What was said in a session, each message with what it got."""
    service, asker = site.chat_service(), visitor.asker()
    exchanges = []
    for message in service.conversations.turns(session_id, asker):
        if message.message.role == "user":
            record = None if message.answer_id is None else service.audit.read(message.answer_id, asker)
            answer = None if record is None else service.as_known_now(record).words["answer"]
            exchanges.append(chat_turn(message.message.text, answer))
    return exchanges
