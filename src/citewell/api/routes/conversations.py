"""/api/v1/conversations: what was asked before, to be read, continued (by /ask) and deleted."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends

from citewell.answer.history_json import turns_json
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.history import ConversationsResponse, TurnsResponse
from citewell.api.paging import Paging
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Member
from citewell.history import Conversation, HistoryPage

router = APIRouter(prefix="/api/v1/conversations")


@router.get("", response_model=ConversationsResponse)
def list_conversations(site: Here, visitor: Member, part: Paging) -> HistoryPage[Conversation]:
    """Your own conversations, most recent first."""
    return site.ask_service().conversations.page(visitor.asker(), limit=part.limit, after=part.after)


@router.get("/{conversation_id}", response_model=TurnsResponse)
def one_conversation(site: Here, visitor: Member, conversation_id: str) -> dict[str, Any]:
    """The turns of a conversation, oldest first; a question without an answer ID has not been answered yet.

    Where a question was passed on, its answer carries the reply of that person.
    """
    service, asker = site.ask_service(), visitor.asker()
    turns = service.conversations.turns(conversation_id, asker)
    replies = service.inbox.replies((turn.answer_id for turn in turns if turn.answer_id), asker)
    return turns_json(conversation_id, turns, replies)


@router.delete("/{conversation_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def delete(site: Here, visitor: Member, conversation_id: str) -> dict[str, Any]:
    """Erase a conversation; the audit log keeps its answers."""
    site.ask_service().conversations.erase(conversation_id, visitor.asker())
    return {"deleted": [conversation_id]}
