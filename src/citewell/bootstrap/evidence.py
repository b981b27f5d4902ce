"""Puts the evidence assistant together: a desk for conversations in a journey, their history, and asking again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, assert_never

from citewell.adapters.index.exact import ExactIndex
from citewell.answer.assistant import AnswerLimits
from citewell.answer.events import AnswerDone, Event
from citewell.answer.replay import RecordedQuestion, Replay, replay
from citewell.assistants.evidence import NAME, Literature
from citewell.assistants.evidence.standing import CitationStanding
from citewell.bootstrap.desk import desk_of
from citewell.errors import InputError
from citewell.history import AuditRecord
from citewell.types import LifecycleState, Scope, User

if TYPE_CHECKING:
    from citewell.adapters.store.journeys import VersionStanding
    from citewell.answer.service import AskService
    from citewell.bootstrap.app import App

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


@dataclass(frozen=True)
class EvidenceService:
    """Where conversations about the literature are held; parts are loaded when something is first asked."""

    app: App

    def ask(
        self, question: str, *, asker: User, journey: str | None, conversation_id: str | None = None
    ) -> Iterator[Event]:
        """Ask in a conversation, a new one unless one is named; a journey that is not there is told before."""
        slug = self._journey(asker, journey, conversation_id)
        here = replace(asker, scope=replace(asker.scope, journey=slug))
        return self.desk.ask(question, asker=here, conversation_id=conversation_id)

    def answer(
        self, question: str, *, asker: User, journey: str | None, conversation_id: str | None = None
    ) -> AnswerDone:
        """The same, all at once."""
        *_, last = self.ask(question, asker=asker, journey=journey, conversation_id=conversation_id)
        assert isinstance(last, AnswerDone)
        return last

    def _journey(self, asker: User, journey: str | None, conversation_id: str | None) -> str | None:
        """The journey to ask in: that of the conversation where one goes on, since its history came from there."""
        wanted = None if journey is None else self.app.journeys.one(journey, asker.scope).slug
        if conversation_id is None:
            return wanted
        held = self.app.journeys.held_in(conversation_id, asker, assistant=NAME)
        if wanted is not None and wanted != held:
            raise InputError(OTHER_JOURNEY)
        return None if held is None else self.app.journeys.one(held, asker.scope).slug

    # ------------------------------------------------------------------------------------------------------ history

    def talk(self, conversation_id: str, asker: User) -> Talk:
        """A conversation with the citations of each turn, and which of them may still be opened."""
        journey = self.app.journeys.held_in(conversation_id, asker, assistant=NAME)
        asked = [one for one in self.desk.conversations.turns(conversation_id, asker) if one.message.role == "user"]
        ids = [one.answer_id for one in asked if one.answer_id is not None]
        records, replies = self.desk.audit.records(ids, asker), self.desk.inbox.replies(ids, asker)
        turns = []
        for one in asked:
            record = records.get(one.answer_id or "")
            answer = None if record is None else record.words["answer"]
            turns.append(TalkTurn(one.message.text, one.answer_id, answer, replies.get(one.answer_id or "")))
        cited = {told["document_id"] for turn in turns if turn.answer for told in _cited(turn.answer)}
        scope = replace(asker.scope, journey=journey)
        return Talk(conversation_id, journey, tuple(turns), self.standing(cited, scope))

    def standing(self, document_ids: Collection[str], scope: Scope) -> dict[str, CitationStanding]:
        """What has become of documents that were cited, as the scope sees them."""
        placed = self.app.journeys.placed(document_ids, scope)
        return {one: _standing(placed.get(one)) for one in document_ids}

    def replay(self, record: AuditRecord, asker: User) -> Replay:
        """Ask again on the versions of then, in the journey by the slug that it has now; nothing is recorded."""
        then = RecordedQuestion.of(record, asker)
        slug = self.app.journeys.current_slug(then.scope.journey, then.scope)
        then = replace(then, scope=replace(then.scope, journey=slug))
        still = self.app.library.at(then.stamp).versions(then.scope)
        assistant = self._past(then.stamp, then.only(still))
        return replay(then, still, assistant=assistant, library=self.app.library, emergency=self.app.emergency)

    # -------------------------------------------------------------------------------------------------------- parts

    @cached_property
    def desk(self) -> AskService:
        """Where questions about the literature are asked and kept."""
        return desk_of(self.app.library, NAME, lambda: self.literature, self._past, self.app.emergency)

    @property
    def literature(self) -> Literature:
        """The assistant, with the writer of now: a server that stops closes it."""
        chosen = self.app.settings
        return Literature(
            search=self.app.knowledge.search,
            writer=self.app.writer,
            verify=self.app.verify_sentence,
            calibrate=self.app.answer_chance,
            reader=self.app.answer_reader,
            owners=self.app.people,
            admin_email=self.app.admin_email,
            policy=self.app.policy,
            limits=AnswerLimits(chosen.context_chunks, chosen.max_context_tokens, chosen.max_history_tokens),
        )

    def _past(self, stamp: int, only: Collection[int] | None) -> Literature:
        """The assistant over what was current at a stamp."""
        index = ExactIndex(self.app.library.at(stamp, only=only))
        return replace(self.literature, search=replace(self.literature.search, index=index))


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
