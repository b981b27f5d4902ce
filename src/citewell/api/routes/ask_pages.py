"""The Ask page and its conversations; it works without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.answer.events import AnswerStarted
from citewell.api.asking import Asking, answered, begun
from citewell.api.history import talks, turns
from citewell.api.paging import Paging
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.routes.search_pages import examples
from citewell.api.server_state import Here, ServerState, is_answering
from citewell.api.visitor import Member, Reader, Visitor
from citewell.errors import CitewellError, NotFound
from citewell.types import AskOptions, LibraryEntry
from citewell.types.tags import RESERVED_TAGS
from citewell.web.answers import ShownTurn

router = APIRouter()

Csrf = Annotated[str, Form()]
Tags = Annotated[tuple[str, ...], Query(alias="tag")]


@router.get("/")
def start(site: Here, visitor: Reader, q: str = "") -> Response:
    """The Ask page, for those who may ask; searching for the others."""
    if not visitor.may("ask"):
        return RedirectResponse("/search")
    return _page(site, visitor, Filled(question=q))


@router.get("/conversations/{conversation_id}")
def conversation(
    site: Here, visitor: Member, conversation_id: str, tags: Tags = (), again: int | None = None
) -> Response:
    """A conversation, to be read and continued; `again` counts to a question without an answer, for the box."""
    history = turns(site, conversation_id, visitor.asker())
    question = next(
        (asked.question for at, asked in enumerate(history, start=1) if at == again and not asked.answer), ""
    )
    return _page(site, visitor, Filled(question, conversation_id, tags=tags), shown=history)


@dataclass(frozen=True, slots=True)
class Filled:
    """What stands in the form."""

    question: str = ""
    conversation_id: str | None = None
    model: str = ""
    tags: tuple[str, ...] = ()
    """None chosen is all that the visitor may see."""


def _page(
    site: ServerState,
    visitor: Visitor,
    filled: Filled,
    *,
    shown: list[ShownTurn] | None = None,
    problem: Problem | None = None,
    resent: Filled | None = None,
) -> Response:
    """The page; `resent` is what was chosen for the last question shown, where that is known."""
    entries = [entry for entry in site.app.entries(visitor.whole) if is_answering(entry)]
    return site.page(
        "ask.html",
        visitor,
        nav="ask",
        question=filled.question,
        conversation_id=filled.conversation_id,
        turns=shown or [],
        problem=problem,
        resent=resent,
        talks=talks(site, visitor.asker()),
        examples=examples(entries),
        is_empty=not entries,
        documents=len(entries),
        passages=site.passages(visitor.scope()),
        usual_ms=site.usual_ms,
        models=site.app.model_choice.names(),
        model=filled.model,
        tags=_choices(entries, visitor),
        chosen=filled.tags,
    )


def _choices(entries: Sequence[LibraryEntry], visitor: Visitor) -> list[str]:
    """The tags that a question can be narrowed to: of documents here, and only those that the visitor holds."""
    carried = frozenset(tag for entry in entries for tag in entry.tags) - RESERVED_TAGS
    return sorted(carried if visitor.may("govern") else carried & visitor.tags)


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
    tag: Annotated[tuple[str, ...], Form()] = (),
    csrf: Csrf = "",
) -> Response:
    """Answer on a page, for browsers without a script."""
    require_our_form(request, csrf)
    site.take_ask(visitor)
    kept_in = conversation_id
    try:
        asker = visitor.asker(tags=tag or None)
        events = await begun(site, Asking(question, asker, conversation_id or None, AskOptions(model or None)))
        started = next(events)
        assert isinstance(started, AnswerStarted)
        kept_in = started.conversation_id
        await answered(site, events)
    except NotFound:
        raise
    except CitewellError as error:
        filled = Filled(question, kept_in or None, model, tag)
        return await run_in_threadpool(_failed, site, visitor, filled, problem_of(error))
    chosen = f"?{urlencode([('tag', one) for one in tag])}" if tag else ""
    return RedirectResponse(f"/conversations/{kept_in}{chosen}#last", status_code=HTTPStatus.SEE_OTHER)


def _failed(site: ServerState, visitor: Visitor, filled: Filled, problem: Problem) -> Response:
    """The conversation with its question that waits, or the question in its box where none was begun."""
    if filled.conversation_id is None:
        return _page(site, visitor, filled, problem=problem)
    shown = turns(site, filled.conversation_id, visitor.asker())
    resent = filled if shown and shown[-1].question == filled.question.strip() else None
    return _page(site, visitor, replace(filled, question=""), shown=shown, problem=problem, resent=resent)


@router.get("/conversations")
def conversations(site: Here, visitor: Member, part: Paging) -> Response:
    """The conversations of the visitor."""
    listed = site.ask_service().conversations.page(visitor.asker(), limit=part.limit, after=part.after)
    return site.page("conversations.html", visitor, nav="", found=listed.items, next=listed.next, after=part.after)


@router.post("/conversations/{conversation_id}/delete")
def delete(request: Request, site: Here, visitor: Member, conversation_id: str, csrf: Csrf = "") -> Response:
    """Erase a conversation; the audit log keeps its answers."""
    require_our_form(request, csrf)
    site.ask_service().conversations.erase(conversation_id, visitor.asker())
    return RedirectResponse("/conversations", status_code=HTTPStatus.SEE_OTHER)
