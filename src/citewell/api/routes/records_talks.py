"""/api/v1/records/{vault}: answers as a stream, conversations, whether an answer helped, what is set for a record."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import StreamingResponse

from citewell.api.asking import event_stream, streamed
from citewell.api.bodies.events import STREAMED
from citewell.api.bodies.history import ConversationsResponse
from citewell.api.bodies.records import (
    FeedbackRequest,
    FeedbackResponse,
    PaperKindRequest,
    PaperResponse,
    PapersResponse,
    RecordAskRequest,
    RecordSettingsRequest,
    RecordSettingsResponse,
    RecordTurnsResponse,
    RemovedResponse,
)
from citewell.api.request_checks import our_request
from citewell.api.vault_sessions import IS_LOCKED, Opened, Owner, begun
from citewell.history import Conversation, HistoryPage
from citewell.ports.records import Paper, PaperKind, RecordSettings

router = APIRouter(prefix="/api/v1/records/{vault}", responses=IS_LOCKED)

OURS = [Depends(our_request)]


@router.post(
    "/ask/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
    dependencies=OURS,
)
async def ask_stream(visitor: Owner, room: Opened, sent: RecordAskRequest) -> StreamingResponse:
    """The answer sentence by sentence, each once filtered and checked; emergency advice comes first."""
    events = await begun(room, visitor, sent.question, conversation_id=sent.conversation_id)
    sending = streamed(room.site, events)
    return event_stream(sending)


@router.get("/conversations", response_model=ConversationsResponse)
def conversations(_visitor: Owner, room: Opened) -> HistoryPage[Conversation]:
    """Every conversation with the record, most recent first."""
    return HistoryPage(tuple(room.ask_service.conversations.all(room.asker)), None)


@router.get("/conversations/{conversation_id}", response_model=RecordTurnsResponse)
def conversation(_visitor: Owner, room: Opened, conversation_id: str) -> dict[str, Any]:
    """The questions and answers in one conversation, and whether they helped."""
    helped = room.record.feedback
    turns = [
        {
            "role": turn.message.role,
            "text": turn.message.text,
            "answer_id": turn.answer_id,
            "made_at": turn.made_at,
            "is_helpful": helped.get(turn.answer_id) if turn.answer_id else None,
        }
        for turn in room.ask_service.conversations.turns(conversation_id, room.asker)
    ]
    return {"id": conversation_id, "turns": turns}


@router.delete("/conversations/{conversation_id}", status_code=HTTPStatus.NO_CONTENT, dependencies=OURS)
def erase(_visitor: Owner, room: Opened, conversation_id: str) -> Response:
    """Delete a conversation; the audit log inside the vault keeps its answers."""
    room.ask_service.conversations.erase(conversation_id, room.asker)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.put("/answers/{answer_id}/feedback", response_model=FeedbackResponse, dependencies=OURS)
def feedback(_visitor: Owner, room: Opened, answer_id: str, sent: FeedbackRequest) -> dict[str, Any]:
    """Say whether an answer helped; your feedback stays inside the vault."""
    room.record.give_feedback(answer_id, is_helpful=sent.is_helpful)
    return {"answer_id": answer_id, "is_helpful": sent.is_helpful}


@router.get("/papers", response_model=PapersResponse)
def papers(_visitor: Owner, room: Opened) -> dict[str, Any]:
    """The documents in the record, each with its type, its author and how reliably it was read."""
    return {"papers": [_paper(entry.id, entry.title, paper) for entry, paper in room.record.papers()]}


@router.put("/papers/{document_id}", response_model=PaperResponse, dependencies=OURS)
def sort(_visitor: Owner, room: Opened, document_id: str, sent: PaperKindRequest) -> dict[str, Any]:
    """Set the type of a document."""
    paper = room.record.sort(document_id, PaperKind(sent.kind))
    return _paper(document_id, room.profile.app.show(document_id, room.scope)[0].title, paper)


@router.delete("/papers/{document_id}", response_model=RemovedResponse, dependencies=OURS)
def remove(_visitor: Owner, room: Opened, document_id: str) -> dict[str, Any]:
    """Erase a document and the facts found only in it; repeating it is safe."""
    removed = room.record.paper.remove(document_id)
    kept = [] if removed is None else [fact.id for fact in removed.kept]
    gone = 0 if removed is None else len(removed.gone)
    return {"removed": removed is not None, "document_id": document_id, "facts_removed": gone, "facts_kept": kept}


def _paper(document_id: str, title: str, paper: Paper) -> dict[str, Any]:
    return {"document_id": document_id, "title": title, **asdict(paper)}


@router.get("/settings")
def settings(_visitor: Owner, room: Opened) -> RecordSettingsResponse:
    """The settings of the record: lock time, language, model."""
    return RecordSettingsResponse.of(room.profile)


@router.put("/settings", dependencies=OURS)
def choose(_visitor: Owner, room: Opened, sent: RecordSettingsRequest) -> RecordSettingsResponse:
    """Change the settings, from the next question on."""
    room.profile.choose(RecordSettings(sent.lock_minutes, sent.language, sent.model))
    return RecordSettingsResponse.of(room.profile)
