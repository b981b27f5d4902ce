"""What the API and the page of the chat share: a message answered where answers are written, on record."""

from __future__ import annotations

from citewell.answer.stream import Done
from citewell.api.asking import counted, in_turn
from citewell.api.guidelines import whole_asker
from citewell.api.site import Site
from citewell.api.visitor import Visitor


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
