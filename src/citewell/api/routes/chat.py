"""/api/v1/chat, and /chat beside it: the guarded chat about the guidelines, and the rules nearest to a patient."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import Field

from citewell.api.asking import event_stream, streamed
from citewell.api.bodies.answers import NoticeResponse, UnusedInQuestionResponse, Words
from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.events import STREAMED
from citewell.api.bodies.guidelines import PatientRequest
from citewell.api.chat import chatted, chatting, related
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Member
from citewell.assistants.guidelines.chat_queries import Strategy
from citewell.assistants.guidelines.chat_view import chat_json, history_json, related_json
from citewell.assistants.guidelines.classify import InputClass
from citewell.assistants.guidelines.read_patient import patient_from_object
from citewell.assistants.guidelines.retrieve import Quality
from citewell.assistants.guidelines.search_entries import Kind
from citewell.types import Emergency


class ChatRequest(RequestBody):
    """A message; in a new session unless one is named, and to all guidelines unless one is."""

    message: Words
    session_id: Id | None = None
    guideline: Annotated[str | None, Field(min_length=1, max_length=200, pattern=SEEN)] = None
    """A guideline by its name, such as NG12, or by the id of its document."""


class ChatCitationResponse(ResponseBody):
    """A rule, a row of the index or a definition, in the guideline's own words."""

    label: str
    guideline: str
    rule: str | None
    page: int | None
    excerpt: str
    document: str
    document_id: str
    source_id: str
    start: int
    end: int


class ChatChunkResponse(ResponseBody):
    """A piece that was found: the score that gates saw, and the boost that only the order did."""

    guideline: str
    kind: Kind
    id: str
    label: str
    page: int
    score: float
    boost: float


class ChatDebugResponse(ResponseBody):
    """How an answer came about; null where nothing was looked up."""

    input_class: InputClass
    query_strategy: Strategy | None
    search_query: str | None
    guardrail_result: Quality | Literal["out_of_scope"] | None
    top_score: float | None
    chunks: list[ChatChunkResponse]


class ChatAnswerResponse(ResponseBody):
    """What a message got."""

    session_id: str
    answer_id: str
    answer: str
    citations: list[ChatCitationResponse]
    emergency: Emergency | None
    """Where the message tells of one; `answer` begins with the way to help."""
    notices: list[NoticeResponse]
    """Retractions, expressions of concern and corrections of what is cited."""
    unused: list[UnusedInQuestionResponse]
    debug: ChatDebugResponse


class ChatTurnResponse(ResponseBody):
    """One message of a session; one without an answer id still waits for its answer."""

    role: Literal["user", "assistant"]
    content: str
    answer_id: str | None
    made_at: datetime


class ChatHistoryResponse(ResponseBody):
    """A session, oldest message first."""

    session_id: str
    messages: list[ChatTurnResponse]


class RelatedRuleResponse(ResponseBody):
    """A rule near a patient, in its own words."""

    label: str
    guideline: str
    rule: str
    page: int | None
    text: str
    document_id: str
    start: int
    end: int
    score: float
    boost: float


class RelatedResponse(ResponseBody):
    """The rules nearest to a patient, met or not, the nearest first."""

    rules: list[RelatedRuleResponse]


router = APIRouter(prefix="/api/v1")


@router.post("/chat", response_model=ChatAnswerResponse, dependencies=[Depends(our_request)])
async def chat(site: Here, visitor: Member, sent: ChatRequest) -> dict[str, Any]:
    """Answer a message with whole, cited recommendations, or say why there are none."""
    return chat_json(await chatted(site, visitor, sent.message, session_id=sent.session_id, guideline=sent.guideline))


@router.post(
    "/chat/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
    dependencies=[Depends(our_request)],
)
async def chat_stream(site: Here, visitor: Member, sent: ChatRequest) -> StreamingResponse:
    """The same, streamed recommendation by recommendation; `started` gives the session."""
    events = await chatting(site, visitor, sent.message, session_id=sent.session_id, guideline=sent.guideline)
    return event_stream(streamed(site, events))


@router.get("/chat/{session_id}/history", response_model=ChatHistoryResponse)
def history(site: Here, visitor: Member, session_id: str) -> dict[str, Any]:
    """The messages in one of your sessions, oldest first."""
    turns = site.chat_service().conversations.turns(session_id, visitor.asker())
    return history_json(session_id, turns)


@router.delete("/chat/{session_id}/history", response_model=DeletedResponse, dependencies=[Depends(our_request)])
@router.delete("/chat/{session_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def forget(site: Here, visitor: Member, session_id: str) -> dict[str, Any]:
    """Erase a session; the audit log keeps its answers."""
    site.chat_service().conversations.erase(session_id, visitor.asker())
    return {"deleted": [session_id]}


@router.post("/guidelines/related", response_model=RelatedResponse, dependencies=[Depends(our_request)])
async def rules_near(site: Here, visitor: Member, patient: PatientRequest) -> dict[str, Any]:
    """The recommendations closest to a patient, met or not: the fields in docs/guidelines.md, or a FHIR R4 bundle."""
    given = patient_from_object(patient.model_dump(exclude_unset=True))
    entries = await related(site, visitor, given)
    return {"rules": [related_json(entry) for entry in entries]}
