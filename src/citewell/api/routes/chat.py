"""/api/v1/chat, and /chat beside it: the guarded chat about the guidelines, and the rules nearest to a patient."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from citewell.api import stream
from citewell.api.asking import streamed
from citewell.api.bodies.chat import ChatAnswerResponse, ChatHistoryResponse, ChatMessage, RelatedResponse
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.events import STREAMED
from citewell.api.bodies.guidelines import PatientRequest
from citewell.api.chatting import chatted, chatting, related
from citewell.api.requests import our_request
from citewell.api.site import Here
from citewell.api.visitor import Member
from citewell.assistants.guidelines.chat_view import chat_json, history_json, related_json
from citewell.assistants.guidelines.read_patient import patient_from_object

router = APIRouter(prefix="/api/v1")


@router.post("/chat", response_model=ChatAnswerResponse, dependencies=[Depends(our_request)])
async def chat(site: Here, visitor: Member, sent: ChatMessage) -> dict[str, Any]:
    """Answer a message with whole, cited recommendations, or say why there are none."""
    return chat_json(await chatted(site, visitor, sent.message, session_id=sent.session_id, guideline=sent.guideline))


@router.post(
    "/chat/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
    dependencies=[Depends(our_request)],
)
async def chat_stream(site: Here, visitor: Member, sent: ChatMessage) -> StreamingResponse:
    """The same, streamed recommendation by recommendation; `started` gives the session."""
    events = await chatting(site, visitor, sent.message, session_id=sent.session_id, guideline=sent.guideline)
    return StreamingResponse(streamed(site, events), media_type=stream.MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})


@router.get("/chat/{session_id}/history", response_model=ChatHistoryResponse)
def history(site: Here, visitor: Member, session_id: str) -> dict[str, Any]:
    """The messages in one of your sessions, oldest first."""
    turns = site.chat_desk().conversations.turns(session_id, visitor.asker())
    return history_json(session_id, turns)


@router.delete("/chat/{session_id}/history", response_model=DeletedResponse, dependencies=[Depends(our_request)])
@router.delete("/chat/{session_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def forget(site: Here, visitor: Member, session_id: str) -> dict[str, Any]:
    """Erase a session; the audit log keeps its answers."""
    site.chat_desk().conversations.erase(session_id, visitor.asker())
    return {"deleted": [session_id]}


@router.post("/guidelines/related", response_model=RelatedResponse, dependencies=[Depends(our_request)])
async def rules_near(site: Here, visitor: Member, patient: PatientRequest) -> dict[str, Any]:
    """The recommendations closest to a patient, met or not: the fields in docs/guidelines.md, or a FHIR R4 bundle."""
    given = patient_from_object(patient.model_dump(exclude_unset=True))
    found = await related(site, visitor, given)
    return {"rules": [related_json(one) for one in found]}
