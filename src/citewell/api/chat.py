"""What the API and the page of the chat share: a message answered where answers are written, on record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.answer.events import AnswerDone, Event
from citewell.api.asking import answered, in_turn
from citewell.api.guidelines import whole_asker
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.retrieve import RetrievedEntry


async def chatted(
    site: ServerState, visitor: Visitor, message: str, *, session_id: str | None, guideline: str | None
) -> AnswerDone:
    """The answer to a message, in a session of the visitor's."""
    return await answered(site, await chatting(site, visitor, message, session_id=session_id, guideline=guideline))


async def chatting(
    site: ServerState, visitor: Visitor, message: str, *, session_id: str | None, guideline: str | None
) -> Iterator[Event]:
    """An answer that will be written as it is read; what is wrong with the message is raised now."""
    site.take_ask(visitor)
    asker, only = whole_asker(visitor), (guideline,) if guideline else ()
    return await in_turn(site, lambda: site.loaded().chat.ask(message, asker=asker, session_id=session_id, only=only))


async def related(
    site: ServerState, visitor: Visitor, patient: PatientInput, only: Sequence[str] = ()
) -> list[RetrievedEntry]:
    """The rules nearest to a patient among the guidelines that the visitor may see."""
    site.take_ask(visitor)
    scope = whole_asker(visitor).scope
    return await in_turn(site, lambda: site.loaded().chat.related(patient, scope, only))
