"""/api/v1/records/{vault}: answers as a stream, conversations, whether an answer helped, what is set for a record."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import StreamingResponse

from citewell.api import stream
from citewell.api.asking import streamed
from citewell.api.bodies.events import STREAMED
from citewell.api.bodies.kept import ConversationsResponse
from citewell.api.bodies.records import (
    ChoicesResponse,
    Choosing,
    FeedbackResponse,
    Helped,
    PaperResponse,
    PapersResponse,
    RecordQuestion,
    RecordTurnsResponse,
    RemovedResponse,
    Sorting,
)
from citewell.api.records import IS_LOCKED, Opened, Owner, VaultSession, begun
from citewell.api.requests import our_request
from citewell.model_choice import elsewhere
from citewell.ports.records import Paper, PaperKind, RecordSettings

router = APIRouter(prefix="/api/v1/records/{vault}", responses=IS_LOCKED)

OURS = [Depends(our_request)]


@router.post(
    "/ask/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
    dependencies=OURS,
)
async def ask_stream(visitor: Owner, room: Opened, sent: RecordQuestion) -> StreamingResponse:
    """The answer sentence by sentence, each once filtered and checked; emergency advice comes first."""
    events = await begun(room, visitor, sent.question, conversation_id=sent.conversation_id)
    sending = streamed(room.site, events)
    return StreamingResponse(sending, media_type=stream.MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})


@router.get("/conversations", response_model=ConversationsResponse)
def conversations(_visitor: Owner, room: Opened) -> dict[str, Any]:
    """Every conversation with the record, most recent first."""
    found = room.desk.conversations.all(room.asker)
    return {
        "conversations": [
            {"id": one.id, "title": one.title, "made_at": one.made_at, "changed_at": one.changed_at} for one in found
        ]
    }


@router.get("/conversations/{conversation_id}", response_model=RecordTurnsResponse)
def conversation(_visitor: Owner, room: Opened, conversation_id: str) -> dict[str, Any]:
    """The questions and answers in one conversation, and whether they helped."""
    helped = room.record.feedback
    turns = [
        {
            "role": one.message.role,
            "text": one.message.text,
            "answer_id": one.answer_id,
            "made_at": one.made_at,
            "is_helpful": helped.get(one.answer_id) if one.answer_id else None,
        }
        for one in room.desk.conversations.turns(conversation_id, room.asker)
    ]
    return {"id": conversation_id, "turns": turns}


@router.delete("/conversations/{conversation_id}", status_code=HTTPStatus.NO_CONTENT, dependencies=OURS)
def erase(_visitor: Owner, room: Opened, conversation_id: str) -> Response:
    """Delete a conversation; the audit log inside the vault keeps its answers."""
    room.desk.conversations.erase(conversation_id, room.asker)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.put("/answers/{answer_id}/feedback", response_model=FeedbackResponse, dependencies=OURS)
def feedback(_visitor: Owner, room: Opened, answer_id: str, sent: Helped) -> dict[str, Any]:
    """Say whether an answer helped; your feedback stays inside the vault."""
    room.record.give_feedback(answer_id, is_helpful=sent.is_helpful)
    return {"answer_id": answer_id, "is_helpful": sent.is_helpful}


@router.get("/papers", response_model=PapersResponse)
def papers(_visitor: Owner, room: Opened) -> dict[str, Any]:
    """The documents in the record, each with its type, its author and how reliably it was read."""
    return {"papers": [_paper(entry.id, entry.title, paper) for entry, paper in room.record.papers()]}


@router.put("/papers/{document_id}", response_model=PaperResponse, dependencies=OURS)
def sort(_visitor: Owner, room: Opened, document_id: str, sent: Sorting) -> dict[str, Any]:
    """Set the type of a document."""
    said = room.record.sort(document_id, PaperKind(sent.kind))
    return _paper(document_id, room.profile.app.show(document_id, room.scope)[0].title, said)


@router.delete("/papers/{document_id}", response_model=RemovedResponse, dependencies=OURS)
def remove(_visitor: Owner, room: Opened, document_id: str) -> dict[str, Any]:
    """Erase a document and the facts found only in it; repeating it is safe."""
    found = room.record.paper.remove(document_id)
    kept = [] if found is None else [one.id for one in found.kept]
    gone = 0 if found is None else len(found.gone)
    return {"removed": found is not None, "document_id": document_id, "facts_removed": gone, "facts_kept": kept}


def _paper(document_id: str, title: str, paper: Paper) -> dict[str, Any]:
    return {"document_id": document_id, "title": title, **asdict(paper)}


@router.get("/settings", response_model=ChoicesResponse)
def settings(_visitor: Owner, room: Opened) -> dict[str, Any]:
    """The settings of the record: lock time, language, model."""
    return choices_json(room)


@router.put("/settings", response_model=ChoicesResponse, dependencies=OURS)
def choose(_visitor: Owner, room: Opened, sent: Choosing) -> dict[str, Any]:
    """Change the settings, from the next question on."""
    room.profile.choose(RecordSettings(sent.lock_minutes, sent.language, sent.model))
    return choices_json(room)


def choices_json(room: VaultSession) -> dict[str, Any]:
    """What is set, and what it comes to."""
    used = room.profile.app.settings
    return {
        **asdict(room.profile.choices),
        "models": list(room.profile.models),
        "in_use": used.model,
        "sent_to": elsewhere(used),
    }
