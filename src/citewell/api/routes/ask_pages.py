"""The Ask page and its conversations; it works without a script."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.answer.stream import Started
from citewell.answer.wishes import Wishes
from citewell.api.asking import Asking, answered, begun
from citewell.api.errors import Problem, problem_of
from citewell.api.history import talks, turns
from citewell.api.parts import Wanted
from citewell.api.requests import require_our_form
from citewell.api.routes.search_pages import examples
from citewell.api.site import Here, Site, is_answering
from citewell.api.visitor import Member, Reader, Visitor
from citewell.errors import CitewellError, NotFound
from citewell.web.answers import Turn

router = APIRouter()

Csrf = Annotated[str, Form()]


@router.get("/")
def start(site: Here, visitor: Reader, q: str = "") -> Response:
    """The Ask page, for those who may ask; searching for the others."""
    if not visitor.may("ask"):
        return RedirectResponse("/search")
    return _page(site, visitor, question=q)


@router.get("/conversations/{conversation_id}")
def conversation(site: Here, visitor: Member, conversation_id: str) -> Response:
    """A conversation, to be read and continued."""
    found = turns(site, conversation_id, visitor.asker())
    return _page(site, visitor, conversation_id=conversation_id, shown=found)


def _page(
    site: Site,
    visitor: Visitor,
    *,
    question: str = "",
    conversation_id: str | None = None,
    shown: list[Turn] | None = None,
    problem: Problem | None = None,
    model: str = "",
) -> Response:
    entries = [entry for entry in site.app.entries(visitor.whole) if is_answering(entry)]
    return site.page(
        "ask.html",
        visitor,
        nav="ask",
        question=question,
        conversation_id=conversation_id,
        turns=shown or [],
        problem=problem,
        talks=talks(site, visitor.asker()),
        examples=examples(entries),
        is_empty=not entries,
        documents=len(entries),
        passages=site.passages(visitor.scope()),
        usual_ms=site.usual_ms,
        models=site.app.choosing.names(),
        model=model,
    )


@router.get("/ask")
def asked_before(_visitor: Reader) -> Response:
    """Back to the Ask page: a browser that loads an answer's page again comes here."""
    return RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)


@router.post("/ask")
async def ask(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    question: Annotated[str, Form()] = "",
    conversation_id: Annotated[str, Form()] = "",
    model: Annotated[str, Form()] = "",
    csrf: Csrf = "",
) -> Response:
    """Answer on a page, for browsers without a script."""
    require_our_form(request, csrf)
    site.take_ask(visitor)
    kept_in = conversation_id
    try:
        events = await begun(site, Asking(question, visitor.asker(), conversation_id or None, Wishes(model or None)))
        started = next(events)
        assert isinstance(started, Started)
        kept_in = started.conversation_id
        await answered(site, events)
    except NotFound:
        raise
    except CitewellError as error:
        return await run_in_threadpool(
            _failed, site, visitor, question, conversation_id=kept_in, problem=problem_of(error), model=model
        )
    return RedirectResponse(f"/conversations/{kept_in}#last", status_code=HTTPStatus.SEE_OTHER)


def _failed(
    site: Site, visitor: Visitor, question: str, *, conversation_id: str, problem: Problem, model: str
) -> Response:
    """The conversation with its question that waits, or the question in its box where none was begun."""
    if not conversation_id:
        return _page(site, visitor, question=question, problem=problem, model=model)
    shown = turns(site, conversation_id, visitor.asker())
    return _page(site, visitor, conversation_id=conversation_id, shown=shown, problem=problem, model=model)


@router.get("/conversations")
def conversations(site: Here, visitor: Member, part: Wanted) -> Response:
    """The conversations of the visitor."""
    found = site.desk().conversations.page(visitor.asker(), limit=part.limit, after=part.after)
    return site.page("conversations.html", visitor, nav="", found=found.items, next=found.next, after=part.after)


@router.post("/conversations/{conversation_id}/delete")
def delete(request: Request, site: Here, visitor: Member, conversation_id: str, csrf: Csrf = "") -> Response:
    """Erase a conversation; the audit log keeps its answers."""
    require_our_form(request, csrf)
    site.desk().conversations.erase(conversation_id, visitor.asker())
    return RedirectResponse("/conversations", status_code=HTTPStatus.SEE_OTHER)
