"""The Evidence page: choose a journey, ask its literature, and open what an answer cites within that journey."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.answer.events import AnswerStarted
from citewell.api.ask_places import ask_page
from citewell.api.asking import answered
from citewell.api.evidence import base_of, begun, recent, refuse_unless_open, scope_in
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.routes.documents import IMAGE_WIDTHS_PX, PRIVATE, disposition
from citewell.api.routes.source_pages import Named
from citewell.api.server_state import Here, ServerState
from citewell.api.vault_sessions import AllVaults, OpenVaults
from citewell.api.visitor import Member, Visitor
from citewell.assistants.evidence.service import Talk
from citewell.errors import CitewellError, NotFound
from citewell.web.answers import turn, waiting
from citewell.web.ask_box import journey_box
from citewell.web.display_words import counted
from citewell.web.search_results import without_title
from citewell.web.source_highlights import SourceTarget, view

router = APIRouter(prefix="/evidence")

Csrf = Annotated[str, Form()]
JOURNEY_GONE = "This journey has been removed, so you can read this conversation but not continue it."
SEALED = {"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}


@router.get("")
def evidence(
    site: Here, visitor: Member, safe: AllVaults, journey: Annotated[str, Query(max_length=64)] = "", q: str = ""
) -> Response:
    """The box narrowed to a journey; without one it asks everything."""
    if not journey:
        return RedirectResponse(f"/?{urlencode({'q': q})}" if q else "/", status_code=HTTPStatus.SEE_OTHER)
    return _page(site, visitor, safe, journey=journey, question=q)


@router.get("/conversations/{conversation_id}")
def conversation(site: Here, visitor: Member, safe: AllVaults, conversation_id: str) -> Response:
    """A conversation, to be read and continued."""
    talk = site.app.evidence.talk(conversation_id, visitor.asker())
    return _page(site, visitor, safe, journey=talk.journey, talk=talk)


def _page(
    site: ServerState,
    visitor: Visitor,
    safe: OpenVaults,
    *,
    journey: str | None,
    question: str = "",
    talk: Talk | None = None,
    problem: Problem | None = None,
) -> Response:
    journeys = site.app.journeys.all(visitor.whole)
    chosen = next((known for known in journeys if known.slug == journey), None)
    if journey is not None and chosen is None and talk is None:
        raise NotFound(f"Journey “{journey[:64]}” not found. Choose one on the Ask page.")
    turns = [
        waiting(exchange.question)
        if exchange.answer is None
        else turn(exchange.question, exchange.answer, reply=exchange.reply)
        for exchange in (talk.turns if talk else ())
    ]
    standing = talk.standing if talk else {}
    is_gone = journey is not None and chosen is None
    passages = site.passages(visitor.scope(journey=journey))
    name = chosen.name if chosen else ""
    box = journey_box(journey, name, passages=counted(passages, "passage"), sources=base_of(journey))
    return ask_page(
        site,
        visitor,
        safe,
        box,
        journey=journey,
        is_closed=JOURNEY_GONE if is_gone else "",
        base=base_of(journey),
        question=question,
        conversation_id=talk.id if talk else None,
        turns=turns,
        closed={document_id: state.words for document_id, state in standing.items() if state.words},
        problem=problem,
        talks=recent(site, visitor),
        passages=passages,
    )


@router.post("/ask")
async def ask(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    safe: AllVaults,
    question: Annotated[str, Form()] = "",
    journey: Annotated[str, Form(max_length=64)] = "",
    conversation_id: Annotated[str, Form()] = "",
    csrf: Csrf = "",
) -> Response:
    """Answer on a page, for browsers without a script."""
    require_our_form(request, csrf)
    site.take_ask(visitor)
    kept_in = conversation_id
    try:
        events = await begun(site, visitor, question, journey=journey or None, conversation_id=conversation_id or None)
        started = next(events)
        assert isinstance(started, AnswerStarted)
        kept_in = started.conversation_id
        await answered(site, events)
    except NotFound:
        raise
    except CitewellError as error:
        return await run_in_threadpool(_failed, site, visitor, safe, (question, journey, kept_in), problem_of(error))
    return RedirectResponse(f"/evidence/conversations/{kept_in}#last", status_code=HTTPStatus.SEE_OTHER)


def _failed(
    site: ServerState, visitor: Visitor, safe: OpenVaults, asked: tuple[str, str, str], problem: Problem
) -> Response:
    """The conversation with its question that waits, or the question in its box where none was begun."""
    question, journey, conversation_id = asked
    if not conversation_id:
        return _page(site, visitor, safe, journey=journey or None, question=question, problem=problem)
    talk = site.app.evidence.talk(conversation_id, visitor.asker())
    return _page(site, visitor, safe, journey=talk.journey, talk=talk, problem=problem)


@router.post("/conversations/{conversation_id}/delete")
def delete(request: Request, site: Here, visitor: Member, conversation_id: str, csrf: Csrf = "") -> Response:
    """Erase a conversation; the audit log keeps its answers."""
    require_our_form(request, csrf)
    journey = site.app.evidence.talk(conversation_id, visitor.asker()).journey
    site.app.evidence.ask_service.conversations.erase(conversation_id, visitor.asker())
    query = "?" + urlencode({"journey": journey}) if journey else ""
    return RedirectResponse(f"/evidence{query}", status_code=HTTPStatus.SEE_OTHER)


# ---------------------------------------------------------------------------- what is cited, opened in the same scope


@router.get("/in/{journey}/documents/{document_id}")
def document(site: Here, visitor: Member, journey: str, document_id: str) -> Response:
    """The text or the first page of a document of the journey."""
    refuse_unless_open(site, document_id, scope_in(site, visitor, journey))
    return RedirectResponse(f"/evidence/in/{journey}/documents/{document_id}/source", status_code=HTTPStatus.SEE_OTHER)


@router.get("/in/{journey}/documents/{document_id}/source")
def source_page(site: Here, visitor: Member, journey: str, document_id: str, place: Named) -> Response:
    """The source on a page of its own."""
    return _shown("source.html", site, visitor, (journey, document_id), place)


@router.get("/in/{journey}/documents/{document_id}/panel")
def source_panel(site: Here, visitor: Member, journey: str, document_id: str, place: Named) -> Response:
    """The source as the right-hand panel shows it."""
    return _shown("panel.html", site, visitor, (journey, document_id), place)


def _shown(template: str, site: ServerState, visitor: Visitor, named: tuple[str, str], place: SourceTarget) -> Response:
    journey, document_id = named
    scope = scope_in(site, visitor, journey)
    refuse_unless_open(site, document_id, scope)
    opened = site.opened(document_id, scope)
    shown = view(opened.entry, opened.document, opened.chunks, place)
    section = without_title(shown.section, shown.title)
    base = base_of(scope.journey)
    return site.page(template, visitor, nav="ask", view=shown, section=section, place=place.query, base=base)


@router.get("/in/{journey}/documents/{document_id}/pages/{number}.png")
def page_image(
    *,
    site: Here,
    visitor: Member,
    journey: str,
    document_id: str,
    number: int,
    width: Annotated[int, Query(ge=IMAGE_WIDTHS_PX[0], le=IMAGE_WIDTHS_PX[1])] = 1_200,
) -> Response:
    """A page of a PDF of the journey as an image."""
    scope = scope_in(site, visitor, journey)
    refuse_unless_open(site, document_id, scope)
    image = site.page_image(document_id, number, scope=scope, width_px=width)
    return Response(image, media_type="image/png", headers={"Cache-Control": PRIVATE})


@router.get("/in/{journey}/documents/{document_id}/file")
def original(site: Here, visitor: Member, journey: str, document_id: str) -> Response:
    """The file as it came, for those who may see it in this journey."""
    scope = scope_in(site, visitor, journey)
    refuse_unless_open(site, document_id, scope)
    source = site.app.library.original(document_id, scope)
    headers = {"Content-Disposition": disposition(source.name), **SEALED}
    return Response(source.data, media_type="application/octet-stream", headers=headers)
