"""What the API and the page of the chat share: a message answered where answers are written, on record."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.answer.stream import Done
from citewell.api.asking import counted, in_turn
from citewell.api.guidelines import whole_asker
from citewell.api.site import Site
from citewell.api.visitor import Visitor
from citewell.assistants.guidelines.patient import Patient
from citewell.assistants.guidelines.retrieve import Found


async def chatted(site: Site, visitor: Visitor, message: str, *, session_id: str | None, guideline: str | None) -> Done:
    """The answer to a message, in a session of the visitor's."""
    site.take_ask(visitor)
    asker, only = whole_asker(visitor), (guideline,) if guideline else ()

    def work() -> Done:
        return site.loaded().chat.answer(message, asker=asker, session_id=session_id, only=only)

    try:
        done = await in_turn(site, work)
    except Exception as error:
        site.metrics.count("failures", kind=type(error).__name__)
        raise
    counted(site)(done)
    return done


async def related(site: Site, visitor: Visitor, patient: Patient, only: Sequence[str] = ()) -> list[Found]:
    """The rules nearest to a patient among the guidelines that the visitor may see."""
    site.take_ask(visitor)
    scope = whole_asker(visitor).scope
    return await in_turn(site, lambda: site.loaded().chat.related(patient, scope, only))
