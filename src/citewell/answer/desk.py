"""The desk: one flow from a question in a conversation to an answer that is on record; all skins go through it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from citewell.answer.finish import passed_on
from citewell.answer.record import Searched, Telling, record
from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
from citewell.answer.stream import Done, Event, Started, Working
from citewell.errors import InputError, ScopeRefused
from citewell.keeping import AuditLog, Conversations, Ending, Inbox, Ledger, Place, Turn
from citewell.types import Asker, Message, Scope

HISTORY_TURNS = 24
"""The newest turns that are looked at; how many of them the writer sees is a matter of tokens."""


class Assistant(Protocol):
    """Answers questions; each has its own way."""

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message]) -> Iterator[Event]:
        """Answer one question; the last event holds the answer."""
        ...

    def setup(self) -> Mapping[str, Any]:
        """What it is set to, so that an answer can be told from another's later."""
        ...


class Past(Protocol):
    """What was current at an earlier moment."""

    def versions(self, scope: Scope) -> list[tuple[int, str]]:
        """Generation and document id of each version that the scope may see."""
        ...


class Shelves(Protocol):
    """What the desk asks of the library."""

    def stamp(self) -> int: ...

    def embedder(self) -> str | None: ...

    def at(self, stamp: int, *, only: Collection[int] | None = None) -> Past: ...


@dataclass(frozen=True, slots=True)
class Desk:
    """Where questions are asked, kept and passed on."""

    assistant: Assistant
    library: Shelves
    conversations: Conversations
    audit: AuditLog
    inbox: Inbox
    ledger: Ledger

    def ask(self, question: str, *, asker: Asker, conversation_id: str | None = None) -> Iterator[Event]:
        """Ask in a conversation, a new one unless one is named; the answer in the last event is on record.

        The question is kept before anything is answered, so that a failure loses nothing: asked again in the same
        conversation, it is answered there.
        """
        question = _checked(question, asker)
        place = self.conversations.begin(question, asker, conversation_id=conversation_id)
        return self._answered(question, asker, place)

    def _answered(self, question: str, asker: Asker, place: Place) -> Iterator[Event]:
        yield Started(place.conversation_id)
        history = self._history(place, asker)
        stamp, is_settled = self.library.stamp(), True
        is_found = False
        for event in self.assistant.ask(question, scope=asker.scope, history=history):
            if not is_found and event != Working("searching"):
                is_found, is_settled = True, self.library.stamp() == stamp
            if not isinstance(event, Done):
                yield event
                continue
            answer = passed_on(event.answer)
            versions = tuple(self.library.at(stamp).versions(asker.scope))
            searched = Searched(stamp, is_settled, self.library.embedder(), versions)
            words = record(Telling(answer, asker, history, searched, self.assistant.setup()))
            yield Done(answer, place.conversation_id, self.ledger.keep(Ending(answer, asker, place, words)))

    def answer(self, question: str, *, asker: Asker, conversation_id: str | None = None) -> Done:
        """The same, all at once."""
        *_, last = self.ask(question, asker=asker, conversation_id=conversation_id)
        assert isinstance(last, Done)
        return last

    def _history(self, place: Place, asker: Asker) -> tuple[Message, ...]:
        """What was said before, question and answer in turn; questions that were never answered are left out."""
        turns = self.conversations.turns(place.conversation_id, asker, newest=HISTORY_TURNS + 1)
        return _paired([turn for turn in turns if turn.position != place.position])


def _paired(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """Each answer after its own question, in the order of the answers."""
    asked = {turn.answer_id: turn.message for turn in turns if turn.message.role == "user"}
    said = [turn for turn in turns if turn.message.role == "assistant" and turn.answer_id in asked]
    return tuple(message for turn in said for message in (asked[turn.answer_id], turn.message))


def _checked(question: str, asker: Asker) -> str:
    question = question.strip()
    if not asker.may_ask:
        raise ScopeRefused("Your role lets you search and read. Ask an administrator to be made a member.")
    if not question:
        raise InputError("Type a question first.")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise InputError(f"A question may have up to {MAX_QUESTION_CHARACTERS:,} characters; this one is longer.")
    return question
