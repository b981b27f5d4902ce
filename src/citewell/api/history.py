"""Conversations as the pages show them: each question with the recorded answer and the reply of a person."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from citewell.answer.service import is_whole_question
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError
from citewell.history import Conversation, RoutedQuestion
from citewell.types import EVERY, OWNER_ID, Scope, User
from citewell.web.answers import ShownTurn, turn, waiting

TALKS_SHOWN = 8
NEAREST_SHOWN = 3
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
        answer: Mapping[str, Any] | None = None if record is None else service.as_known_now(record).words["answer"]
        reply = replies.get(question.answer_id or "")
        text = question.message.text
        shown.append(waiting(text) if answer is None else turn(text, answer, reply=reply))
    sent = service.inbox.filed(ids, asker)
    return [_with_ways_on(site, made, sent, asker) for made in shown]


def _with_ways_on(site: ServerState, made: ShownTurn, sent: Collection[str], asker: User) -> ShownTurn:
    """A turn; where it is unanswered, with what its asker can do: read the nearest passages, or ask a person."""
    if made.answer is None or made.answer["action"] != "ROUTE":
        return made
    evidence = made.answer.get("evidence", ())
    nearest = [(chip, _words(site, place, asker)) for chip, place in zip(made.searched, evidence, strict=True)]
    return replace(
        made,
        is_sent=made.answer["id"] in sent,
        may_send=is_whole_question(made.question),
        earlier=None if made.reply else site.ask_service().earlier_reply(made.question, asker),
        nearest=[(chip, words) for chip, words in nearest[:NEAREST_SHOWN] if words],
    )


def _words(site: ServerState, evidence: Mapping[str, Any], asker: User) -> str:
    """The words of a passage as they stand now; empty where they cannot be seen any more."""
    scope = Scope.owner(asker.tenant) if asker.is_admin else replace(asker.scope, journey=EVERY)
    try:
        text = site.opened(evidence["document_id"], scope).document.text[evidence["start"] : evidence["end"]]
    except CitewellError:
        return ""
    return " ".join(text.split())


def questions(site: ServerState, items: Sequence[RoutedQuestion], asker: User) -> list[tuple[RoutedQuestion, str]]:
    """Items of the inbox, which has let this person see them, each with its question."""
    known = site.ask_service().questions(items, asker)
    return [(routed, known.get(routed.answer_id, DAMAGED)) for routed in items]


def names(site: ServerState, visitor: Visitor, user_ids: Iterable[str]) -> dict[str, str]:
    """What these people of the visitor's tenant are called."""
    named = site.people.names(set(user_ids) - {OWNER_ID}, tenant=visitor.tenant)
    return named | {OWNER_ID: "Owner", visitor.user_id: "you"}
