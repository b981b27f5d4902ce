"""Asks a question for a route: in a thread of its own, counted, with nothing but ids and times in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from citewell.answer.answer_json import action_name
from citewell.answer.cite import Marks
from citewell.answer.events import AnswerDone, AnswerFailed, AnswerStarted, Event
from citewell.api import stream
from citewell.api.site import Site
from citewell.errors import CitewellError
from citewell.types import NO_OPTIONS, AskOptions, User
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asking:
    """A question, who asks it, and in which conversation; None begins one."""

    question: str
    asker: User
    conversation_id: str | None
    options: AskOptions = NO_OPTIONS


async def in_turn(site: Site, work: Callable[[], T]) -> T:
    """Do long work where answers are written: so many at a time, and short requests are not held up."""
    return await asyncio.wrap_future(site.writers.submit(work))


async def answered(site: Site, events: Iterator[Event]) -> AnswerDone:
    """A whole answer, on record; a failure tells in which conversation the question was kept."""

    def read() -> AnswerDone:
        kept: str | None = None
        try:
            for event in events:
                if isinstance(event, AnswerStarted):
                    kept = event.conversation_id
                if isinstance(event, AnswerDone):
                    return event
        except CitewellError as error:
            error.conversation_id = kept
            raise
        raise AssertionError("an answer ends with Done or an error")

    try:
        done = await in_turn(site, read)
    except Exception as error:
        site.metrics.count("failures", kind=type(error).__name__)
        raise
    counted(site)(done)
    return done


async def begun(site: Site, asking: Asking) -> Iterator[Event]:
    """An answer that will be written as it is read; what is wrong with the question is raised now."""

    def begin() -> Iterator[Event]:
        app = site.loaded()
        asker = replace(asking.asker, scope=app.in_journey(asking.asker.scope))
        return app.desk.ask(
            asking.question, asker=asker, conversation_id=asking.conversation_id, options=asking.options
        )

    return await run_in_threadpool(begin)


async def streamed(site: Site, events: Iterator[Event], *, marks: Marks = Marks.NUMBER) -> AsyncIterator[bytes]:
    """An answer as server-sent events, its text cited as it was asked for."""
    sent = stream.sent(events, threads=site.writers, with_withheld=True, marks=marks, watch=counted(site))
    site.metrics.move("streams", 1)
    try:
        async with aclosing(sent):
            async for part in sent:
                yield part
    finally:
        site.metrics.move("streams", -1)


def counted(site: Site) -> Callable[[Event], None]:
    """Notes what became of a question."""

    def watch(event: Event) -> None:
        if isinstance(event, AnswerDone):
            answer = event.answer
            action = action_name(answer.action)
            site.metrics.count("answers", action=action)
            site.note_answer(answer.took_ms)
            log.info(
                "answer %s: %s, %d sentences, %d unknown marks, %.0f ms",
                logged(answer.id),
                action,
                len(answer.claims),
                answer.dropped_citations,
                answer.took_ms,
            )
        elif isinstance(event, AnswerFailed):
            site.metrics.count("failures", kind=event.kind)

    return watch
