"""Conversations about the literature: asked in a journey, looked at again, and replayed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, assert_never

from citewell.answer.events import AnswerDone, Event
from citewell.answer.replay import RecordedQuestion, Replay, replay
from citewell.answer.service import AskService
from citewell.assistants.evidence.assistant import NAME
from citewell.assistants.evidence.standing import CitationStanding
from citewell.errors import InputError
from citewell.history import AuditRecord
from citewell.types import LifecycleState, Scope, User
from citewell.types.journeys import Journey, VersionStanding

OTHER_JOURNEY = "This conversation belongs to another journey. Start a new one to ask in this journey."


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """A question of a conversation and what it got; no answer while it waits for one."""

    question: str
    answer_id: str | None
    answer: Mapping[str, Any] | None
    reply: str | None


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation in a journey, with what has become of each document that it cites."""

    id: str
    journey: str | None
    turns: tuple[TalkTurn, ...]
    standing: Mapping[str, CitationStanding]


class Journeys(Protocol):
    """The journeys of a tenant, and what is filed and held under them."""

    def one(self, slug: str, scope: Scope) -> Journey: ...

    def held_in(self, conversation_id: str, asker: User, *, assistant: str) -> str | None:
        """The journey of a conversation."""
        ...

    def placed(self, document_ids: Iterable[str], scope: Scope) -> dict[str, VersionStanding]:
        """What has become of document versions; those that are no more are left out."""
        ...

    def current_slug(self, slug: str | None, scope: Scope) -> str | None:
        """What a slug that was written down once is called now."""
        ...


@dataclass(frozen=True, slots=True)
class EvidenceService:
    """Holds conversations about the literature; the assistant is loaded when something is first asked."""

    journeys: Journeys
    ask_service: AskService
    """Where questions about the literature are asked and kept."""

    def ask(
        self, question: str, *, asker: User, journey: str | None, conversation_id: str | None = None
    ) -> Iterator[Event]:
        """Ask in a conversation, a new one unless one is named; a journey that is not there is told before."""
        slug = self._journey(asker, journey, conversation_id)
        here = replace(asker, scope=replace(asker.scope, journey=slug))
        return self.ask_service.ask(question, asker=here, conversation_id=conversation_id)

    def answer(
        self, question: str, *, asker: User, journey: str | None, conversation_id: str | None = None
    ) -> AnswerDone:
        """The same, all at once."""
        *_, last = self.ask(question, asker=asker, journey=journey, conversation_id=conversation_id)
        assert isinstance(last, AnswerDone)
        return last

    def _journey(self, asker: User, journey: str | None, conversation_id: str | None) -> str | None:
        """The journey to ask in: that of the conversation where one goes on, since its history came from there."""
        wanted = None if journey is None else self.journeys.one(journey, asker.scope).slug
        if conversation_id is None:
            return wanted
        held = self.journeys.held_in(conversation_id, asker, assistant=NAME)
        if wanted is not None and wanted != held:
            raise InputError(OTHER_JOURNEY)
        return None if held is None else self.journeys.one(held, asker.scope).slug

    # ------------------------------------------------------------------------------------------------------ history

    def talk(self, conversation_id: str, asker: User) -> Talk:
        """A conversation with the citations of each turn, and which of them may still be opened."""
        journey = self.journeys.held_in(conversation_id, asker, assistant=NAME)
        kept = self.ask_service.conversations.turns(conversation_id, asker)
        questions = [turn for turn in kept if turn.message.role == "user"]
        ids = [turn.answer_id for turn in questions if turn.answer_id is not None]
        records, replies = self.ask_service.audit.records(ids, asker), self.ask_service.inbox.replies(ids, asker)
        turns = []
        for turn in questions:
            record = records.get(turn.answer_id or "")
            answer = None if record is None else self.ask_service.as_known_now(record).words["answer"]
            turns.append(TalkTurn(turn.message.text, turn.answer_id, answer, replies.get(turn.answer_id or "")))
        cited = {place["document_id"] for talk in turns if talk.answer for place in _cited(talk.answer)}
        scope = replace(asker.scope, journey=journey)
        return Talk(conversation_id, journey, tuple(turns), self.standing(cited, scope))

    def standing(self, document_ids: Collection[str], scope: Scope) -> dict[str, CitationStanding]:
        """What has become of documents that were cited, as the scope sees them."""
        placed = self.journeys.placed(document_ids, scope)
        return {document_id: _standing(placed.get(document_id)) for document_id in document_ids}

    def replay(self, record: AuditRecord, asker: User) -> Replay:
        """Ask again on the versions of then, in the journey by the slug that it has now; nothing is recorded."""
        then = RecordedQuestion.of(record, asker)
        slug = self.journeys.current_slug(then.scope.journey, then.scope)
        then = replace(then, scope=replace(then.scope, journey=slug))
        still = self.ask_service.library.at(then.stamp).versions(then.scope)
        assistant = self.ask_service.past_assistant(then.stamp, then.only(still))
        return replay(
            then, still, assistant=assistant, library=self.ask_service.library, emergency=self.ask_service.emergency
        )


def _cited(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The places that an answer names, cited or only searched."""
    return [*answer["citations"], *answer.get("evidence", ())]


def _standing(placed: VersionStanding | None) -> CitationStanding:
    if placed is None:
        return CitationStanding.ERASED
    if not placed.is_visible:
        return CitationStanding.ELSEWHERE
    match placed.state:
        case LifecycleState.WITHDRAWN:
            return CitationStanding.WITHDRAWN
        case LifecycleState.SUPERSEDED:
            return CitationStanding.REPLACED
        case (
            LifecycleState.PENDING
            | LifecycleState.QUEUED
            | LifecycleState.PROCESSING
            | LifecycleState.COMPLETED
            | LifecycleState.FAILED
        ):
            return CitationStanding.OPEN if placed.is_current else CitationStanding.REPLACED
        case _:
            assert_never(placed.state)
