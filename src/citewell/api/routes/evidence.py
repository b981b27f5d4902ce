"""/api/v1/evidence: conversations in a care journey, each turn with what it cites."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from citewell.answer.view import done_json
from citewell.api import stream
from citewell.api.asking import answered, streamed
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.events import STREAMED
from citewell.api.bodies.evidence import (
    EvidenceAnswerResponse,
    EvidenceHistoryResponse,
    EvidenceQuestion,
    EvidenceTalksResponse,
)
from citewell.api.evidence import Asking, begun, talk_json
from citewell.api.parts import Wanted
from citewell.api.requests import our_request
from citewell.api.site import Here
from citewell.api.visitor import Member
from citewell.keeping import Conversation, Page

router = APIRouter(prefix="/api/v1/evidence")


def _asking(asked: EvidenceQuestion) -> Asking:
    return Asking(asked.question, asked.journey, asked.conversation_id)


@router.post("/ask", response_model=EvidenceAnswerResponse, dependencies=[Depends(our_request)])
async def ask(site: Here, visitor: Member, asked: EvidenceQuestion) -> dict[str, Any]:
    """Answer from the literature of a journey and that for everyone, with every sentence cited and checked."""
    site.take_ask(visitor)
    done = await answered(site, await begun(site, visitor, _asking(asked)))
    return done_json(done, with_withheld=True, marks=asked.marks)


@router.post(
    "/ask/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
    dependencies=[Depends(our_request)],
)
async def ask_stream(site: Here, visitor: Member, asked: EvidenceQuestion) -> StreamingResponse:
    """The same, streamed sentence by sentence."""
    site.take_ask(visitor)
    events = await begun(site, visitor, _asking(asked))
    sending = streamed(site, events, marks=asked.marks)
    return StreamingResponse(sending, media_type=stream.MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})


@router.get("/conversations", response_model=EvidenceTalksResponse)
def conversations(site: Here, visitor: Member, part: Wanted) -> Page[Conversation]:
    """Your own conversations, most recent first."""
    return site.app.evidence.desk.conversations.page(visitor.asker(), limit=part.limit, after=part.after)


@router.get("/conversations/{conversation_id}", response_model=EvidenceHistoryResponse)
def conversation(site: Here, visitor: Member, conversation_id: str) -> dict[str, Any]:
    """One conversation: each question and answer, and the current state of the documents cited."""
    return talk_json(site.app.evidence.talk(conversation_id, visitor.asker()))


@router.delete("/conversations/{conversation_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def forget(site: Here, visitor: Member, conversation_id: str) -> dict[str, Any]:
    """Erase a conversation; the audit log keeps its answers."""
    site.app.evidence.desk.conversations.erase(conversation_id, visitor.asker())
    return {"deleted": [conversation_id]}
