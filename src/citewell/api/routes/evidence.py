"""/api/v1/evidence: conversations in a care journey, each turn with what it cites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import Field

from citewell.answer.answer_json import ActionName, done_json
from citewell.answer.cite import Marks
from citewell.answer.events import Event
from citewell.api.asking import answered, event_stream, streamed
from citewell.api.bodies.answers import AnswerResponse, Words
from citewell.api.bodies.base import Id, RequestBody, ResponseBody
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.events import STREAMED
from citewell.api.bodies.journeys import Slug
from citewell.api.evidence import begun, talk_json
from citewell.api.paging import Paging
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Member, Visitor
from citewell.assistants.evidence.standing import CitationStanding
from citewell.history import Conversation, HistoryPage


class EvidenceAskRequest(RequestBody):
    """A question; without a journey, of what is for everyone only."""

    question: Words
    journey: Slug | None = None
    conversation_id: Id | None = None
    """A conversation goes on in the journey that it began in."""
    marks: Marks = Marks.NUMBER


class EvidenceTalksResponse(ResponseBody):
    """Conversations, the last changed first."""

    conversations: list[Conversation] = Field(validation_alias="items")
    next: str | None
    """What to send as `after` for those that follow; null at the end."""


class TurnCitationResponse(ResponseBody):
    """What a turn cites: the words, the way to them, and whether it still leads there."""

    index: int
    document_id: str
    title: str
    version: int
    page: int | None
    section: str | None
    excerpt: str
    start: int
    end: int
    standing: CitationStanding
    note: str
    url: str | None
    """Opens the marked words within the journey; null where they are no longer shown."""


class EvidenceTurnResponse(ResponseBody):
    """A question and what it got; answer null while it waits for one."""

    question: str
    answer_id: str | None
    action: ActionName | None
    text: str | None
    reply: str | None
    citations: list[TurnCitationResponse]


class EvidenceHistoryResponse(ResponseBody):
    """A conversation, oldest turn first."""

    id: str
    journey: str | None
    turns: list[EvidenceTurnResponse]


class EvidenceAnswerResponse(AnswerResponse):
    """What a question got; `notes.journey` says where it was asked."""


router = APIRouter(prefix="/api/v1/evidence")


async def _begun(site: ServerState, visitor: Visitor, asked: EvidenceAskRequest) -> Iterator[Event]:
    site.take_ask(visitor)
    return await begun(site, visitor, asked.question, journey=asked.journey, conversation_id=asked.conversation_id)


@router.post("/ask", response_model=EvidenceAnswerResponse, dependencies=[Depends(our_request)])
async def ask(site: Here, visitor: Member, asked: EvidenceAskRequest) -> dict[str, Any]:
    """Answer from the literature of a journey and that for everyone, with every sentence cited and checked."""
    done = await answered(site, await _begun(site, visitor, asked))
    return done_json(done, with_withheld=True, marks=asked.marks)


@router.post(
    "/ask/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
    dependencies=[Depends(our_request)],
)
async def ask_stream(site: Here, visitor: Member, asked: EvidenceAskRequest) -> StreamingResponse:
    """The same, streamed sentence by sentence."""
    return event_stream(streamed(site, await _begun(site, visitor, asked), marks=asked.marks))


@router.get("/conversations", response_model=EvidenceTalksResponse)
def conversations(site: Here, visitor: Member, part: Paging) -> HistoryPage[Conversation]:
    """Your own conversations, most recent first."""
    return site.app.evidence.ask_service.conversations.page(visitor.asker(), limit=part.limit, after=part.after)


@router.get("/conversations/{conversation_id}", response_model=EvidenceHistoryResponse)
def conversation(site: Here, visitor: Member, conversation_id: str) -> dict[str, Any]:
    """One conversation: each question and answer, and the current state of the documents cited."""
    return talk_json(site.app.evidence.talk(conversation_id, visitor.asker()))


@router.delete("/conversations/{conversation_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def forget(site: Here, visitor: Member, conversation_id: str) -> dict[str, Any]:
    """Erase a conversation; the audit log keeps its answers."""
    site.app.evidence.ask_service.conversations.erase(conversation_id, visitor.asker())
    return {"deleted": [conversation_id]}
