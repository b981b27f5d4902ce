"""Conversations as the pages show them: each question with the recorded answer and the reply of a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError
from citewell.history import Conversation, RoutedQuestion
from citewell.types import OWNER_ID, User
from citewell.web.answers import ShownTurn, turn, waiting

TALKS_SHOWN = 8
DAMAGED = "(this record could not be opened)"


def talks(site: ServerState, asker: User) -> list[Conversation]:
    """The asker's last conversations; none where the service cannot be opened, since the page says why elsewhere."""
    try:
        return list(site.ask_service().conversations.page(asker, limit=TALKS_SHOWN).items)
    except CitewellError:
        return []


def turns(site: ServerState, conversation_id: str, asker: User) -> list[ShownTurn]:
    """What was asked in a conversation and what each question got, oldest first."""
    service = site.ask_service()
    asked = [
        question for question in service.conversations.turns(conversation_id, asker) if question.message.role == "user"
    ]
    ids = [question.answer_id for question in asked if question.answer_id is not None]
    records, replies = service.audit.records(ids, asker), service.inbox.replies(ids, asker)
    shown = []
    for question in asked:
        record = records.get(question.answer_id or "")
        answer: Mapping[str, Any] | None = None if record is None else record.words["answer"]
        reply = replies.get(question.answer_id or "")
        shown.append(
            waiting(question.message.text) if answer is None else turn(question.message.text, answer, reply=reply)
        )
    return shown


def questions(site: ServerState, items: Sequence[RoutedQuestion], asker: User) -> list[tuple[RoutedQuestion, str]]:
    """Items of the inbox, which has let this person see them, each with its question."""
    known = site.ask_service().questions(items, asker)
    return [(routed, known.get(routed.answer_id, DAMAGED)) for routed in items]


def names(site: ServerState, visitor: Visitor, user_ids: Iterable[str]) -> dict[str, str]:
    """What these people of the visitor's tenant are called."""
    named = site.people.names(set(user_ids) - {OWNER_ID}, tenant=visitor.tenant)
    return named | {OWNER_ID: "Owner", visitor.user_id: "you"}
