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
from citewell.api.ask_places import ask_page, open_records, record_parts
from citewell.api.asking import Asking, answered, asker_of, begun
from citewell.api.history import names, talks, turns
from citewell.api.paging import Paging
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.routes.search_pages import examples
from citewell.api.server_state import UNDER_WAY, Here, ServerState, is_answering
from citewell.api.trail import also
from citewell.api.vault_sessions import AllVaults, OpenVaults, asked
from citewell.api.visitor import Governor, Member, Reader, Visitor
from citewell.errors import CitewellError, NotFound
from citewell.history import HistoryPage
from citewell.types import AskOptions, LibraryEntry
from citewell.types.tags import RESERVED_TAGS
from citewell.web.answers import ShownTurn, turn
from citewell.web.ask_box import LIBRARY

router = APIRouter()

Csrf = Annotated[str, Form()]
Back = Annotated[str, Form(pattern=r"^[\w-]*$", max_length=64)]
Problems = Annotated[str, Form()]
Tags = Annotated[tuple[str, ...], Query(alias="tag")]


@router.get("/")
def start(
    *, site: Here, visitor: Reader, safe: AllVaults, q: str = "", document: str = "", tags: Tags = ()
) -> Response:
    """The Ask page, for those who may ask; searching for the others; the ways to begin where nothing is kept yet."""
    if not visitor.may("ask"):
        return RedirectResponse("/search")
    is_new = visitor.may("govern") and not (q or document or site.app.entries(visitor.whole))
    if is_new and not open_records(site, visitor, safe):
        return site.page("start.html", visitor, nav="ask")
    return _page(site, visitor, safe, Filled(question=q, document=document, tags=tags))


@router.get("/start")
def doors(site: Here, visitor: Governor) -> Response:
    """Three ways to begin, each with one thing to do."""
    return site.page("start.html", visitor, nav="start")


@router.get("/conversations/{conversation_id}")
def conversation(
    *,
    site: Here,
    visitor: Member,
    safe: AllVaults,
    conversation_id: str,
    tags: Tags = (),
    document: str = "",
    record: str = "",
    again: int | None = None,
) -> Response:
    """A conversation, to be read and continued; `again` counts to a question without an answer, for the box."""
    history = turns(site, conversation_id, visitor.asker())
    question = next((turn.question for at, turn in enumerate(history, start=1) if at == again and not turn.answer), "")
    filled = Filled(question, conversation_id, tags=tags, document=document, record=record)
    return _page(site, visitor, safe, filled, shown=history)


@dataclass(frozen=True, slots=True)
class Filled:
    """What stands in the form."""

    question: str = ""
    conversation_id: str | None = None
    model: str = ""
    tags: tuple[str, ...] = ()
    """None chosen is all that the visitor may see."""
    document: str = ""
    """The one document that is asked."""
    record: str = ""
    """An open record that is asked beside the library, and its conversation: `vault:conversation`."""

    @property
    def query(self) -> str:
        """What an address keeps of it."""
        kept = [("tag", one) for one in self.tags] + [("document", self.document), ("record", self.record)]
        named = [(name, value) for name, value in kept if value]
        return f"?{urlencode(named)}" if named else ""


def _page(
    site: ServerState,
    visitor: Visitor,
    safe: OpenVaults,
    filled: Filled,
    *,
    shown: list[ShownTurn] | None = None,
    problem: Problem | None = None,
    resent: Filled | None = None,
) -> Response:
    """The page; `resent` is what was chosen for the last question shown, where that is known."""
    everything = site.app.entries(visitor.whole)
    entries = [entry for entry in everything if is_answering(entry)]
    document = site.entry(filled.document, visitor.whole) if filled.document else None
    rooms = [] if document else open_records(site, visitor, safe)
    vault, _, talk = filled.record.partition(":")
    return ask_page(
        site,
        visitor,
        safe,
        LIBRARY,
        question=filled.question,
        conversation_id=filled.conversation_id,
        turns=shown or [],
        parts=record_parts(rooms, filled.record),
        problem=problem,
        resent=resent,
        talks=talks(site, visitor.asker()),
        examples=[] if document else examples(entries),
        is_empty=not entries,
        under_way=sum(entry.state in UNDER_WAY for entry in everything),
        documents=len(entries),
        models=site.app.model_choice.names(),
        model=filled.model,
        tags=_choices(entries, visitor),
        chosen=filled.tags,
        document=document,
        records=rooms,
        record_vault=vault,
        record_conversation=talk,
    )


def _choices(entries: Sequence[LibraryEntry], visitor: Visitor) -> list[str]:
    """The tags that a question can be narrowed to: of documents here, and only those that the visitor holds."""
    carried = frozenset(tag for entry in entries for tag in entry.tags) - RESERVED_TAGS
    return sorted(carried if visitor.may("govern") else carried & visitor.tags)


@router.get("/ask")
def ask_again_page(_visitor: Reader) -> Response:
    """Back to the Ask page: a browser that loads an answer's page again comes here."""
    return RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)


@router.post("/ask")
async def ask(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    safe: AllVaults,
    question: Annotated[str, Form()] = "",
    conversation_id: Annotated[str, Form()] = "",
    model: Annotated[str, Form()] = "",
    tag: Annotated[tuple[str, ...], Form()] = (),
    document: Annotated[str, Form()] = "",
    record: Annotated[str, Form()] = "",
    csrf: Csrf = "",
) -> Response:
    """Answer on a page, for browsers without a script."""
    require_our_form(request, csrf)
    site.take_ask(visitor)
    kept_in, filled = conversation_id, Filled(question, conversation_id or None, model, tag, document)
    try:
        if record:
            filled = replace(filled, record=await _record_asked(site, visitor, safe, question, record))
        asker = await run_in_threadpool(asker_of, site, visitor, tags=tag or None, document=document or None)
        options = AskOptions(model or None)
        events = await begun(site, Asking(question, asker, conversation_id or None, options, hand_on=False))
        started = next(events)
        assert isinstance(started, AnswerStarted)
        kept_in = started.conversation_id
        await answered(site, events)
    except NotFound:
        raise
    except CitewellError as error:
        filled = replace(filled, conversation_id=kept_in or None)
        return await run_in_threadpool(_failed, site, visitor, safe, filled, problem_of(error))
    return RedirectResponse(f"/conversations/{kept_in}{filled.query}#last", status_code=HTTPStatus.SEE_OTHER)


async def _record_asked(site: ServerState, visitor: Visitor, safe: OpenVaults, question: str, record: str) -> str:
    """Ask an open record the same question; where its conversation stands."""
    vault_id, _, conversation_id = record.partition(":")
    room = next((room for room in open_records(site, visitor, safe) if room.id == vault_id), None)
    if room is None:
        return ""
    done = await asked(room, visitor, question, conversation_id=conversation_id or None)
    return f"{vault_id}:{done.conversation_id}"


@router.post("/ask/{answer_id}/hand-on")
def hand_on(
    *, request: Request, site: Here, visitor: Member, answer_id: str, back: Back = "", csrf: Csrf = ""
) -> Response:
    """Send an unanswered question to a person, now that its asker has said so."""
    require_our_form(request, csrf)
    site.ask_service().hand_on(answer_id, visitor.asker())
    return RedirectResponse(f"/conversations/{back}#last" if back else "/asked", status_code=HTTPStatus.SEE_OTHER)


@router.post("/ask/{answer_id}/report")
def report(
    *, request: Request, site: Here, visitor: Member, answer_id: str, problem: Problems = "", csrf: Csrf = ""
) -> Response:
    """Tell the owner of the sources that an answer is wrong, and why."""
    require_our_form(request, csrf)
    site.app.report(answer_id, problem, asker=visitor.asker())
    return RedirectResponse("/asked", status_code=HTTPStatus.SEE_OTHER)


@router.post("/ask/{answer_id}/share")
def share(*, request: Request, site: Here, visitor: Member, answer_id: str, csrf: Csrf = "") -> Response:
    """Make a link to an answer for others here, and show it."""
    require_our_form(request, csrf)
    made = site.app.share(answer_id, asker=visitor.asker())
    also("answer.share", answer_id)
    return RedirectResponse(f"/shared/{made.id}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/ask/{answer_id}/unshare")
def unshare(*, request: Request, site: Here, visitor: Member, answer_id: str, csrf: Csrf = "") -> Response:
    """End the link to an answer."""
    require_our_form(request, csrf)
    site.app.unshare(answer_id, asker=visitor.asker())
    also("answer.unshare", answer_id)
    return RedirectResponse(f"/audit/{answer_id}", status_code=HTTPStatus.SEE_OTHER)


@router.get("/shared/{share_id}")
def shared(request: Request, site: Here, visitor: Reader, share_id: str) -> Response:
    """An answer that somebody shared, with its sources."""
    share, record = site.app.shared(share_id, asker=visitor.asker())
    also("answer.open", share.answer_id)
    return site.page(
        "shared.html",
        visitor,
        nav="ask",
        share=share,
        record=record,
        turn=turn(record.words["question"], record.words["answer"]),
        names=names(site, visitor, [share.made_by]),
        may_end=visitor.may("govern") or share.made_by == visitor.user_id,
        address=str(request.url.replace(query="")),
    )


def _failed(site: ServerState, visitor: Visitor, safe: OpenVaults, filled: Filled, problem: Problem) -> Response:
    """The conversation with its question that waits, or the question in its box where none was begun."""
    if filled.conversation_id is None:
        return _page(site, visitor, safe, filled, problem=problem)
    shown = turns(site, filled.conversation_id, visitor.asker())
    resent = filled if shown and shown[-1].question == filled.question.strip() else None
    return _page(site, visitor, safe, replace(filled, question=""), shown=shown, problem=problem, resent=resent)


@router.get("/conversations")
def conversations(site: Here, visitor: Member, part: Paging, q: str = "") -> Response:
    """The conversations of the visitor; those whose first question has the words, where some are given."""
    kept, words = site.ask_service().conversations, q.casefold().split()
    if words:
        matching = [one for one in kept.all(visitor.asker()) if all(word in one.title.casefold() for word in words)]
        listed = HistoryPage(tuple(matching), None)
    else:
        listed = kept.page(visitor.asker(), limit=part.limit, after=part.after)
    return site.page(
        "conversations.html", visitor, nav="ask", wanted=q, found=listed.items, next=listed.next, after=part.after
    )


@router.post("/conversations/{conversation_id}/delete")
def delete(request: Request, site: Here, visitor: Member, conversation_id: str, csrf: Csrf = "") -> Response:
    """Erase a conversation; the audit log keeps its answers."""
    require_our_form(request, csrf)
    site.ask_service().conversations.erase(conversation_id, visitor.asker())
    return RedirectResponse("/conversations", status_code=HTTPStatus.SEE_OTHER)
