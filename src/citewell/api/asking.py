"""Asks a question for a route: in a thread of its own, counted, with nothing but ids and times in the log."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import aclosing, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from citewell.answer.answer_json import action_name, event_json
from citewell.answer.cite import Marks
from citewell.answer.events import AnswerDone, AnswerFailed, AnswerStarted, Event
from citewell.api.bodies.events import MEDIA_TYPE
from citewell.api.problems import problem_of
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError
from citewell.types import NO_OPTIONS, AskOptions, User
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

BEAT = b": still here\n\n"
BEAT_S = 10.0
"""After so long without an event a comment is sent: proxies keep the line open, and a client that left is noticed."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asking:
    """A question, who asks it, and in which conversation; None begins one."""

    question: str
    asker: User
    conversation_id: str | None
    options: AskOptions = NO_OPTIONS
    hand_on: bool = True


def asker_of(
    site: ServerState,
    visitor: Visitor,
    *,
    tags: Iterable[str] | None = None,
    journey: str | None = None,
    subject: str | None = None,
    document: str | None = None,
) -> User:
    """The visitor with what their question is narrowed to; of one document they may ask whatever they may read."""
    if document is None:
        return visitor.asker(tags=tags, journey=journey, subject=subject)
    lineage = site.entry(document, visitor.whole).lineage
    return User(visitor.user_id, visitor.role, replace(visitor.whole, document=lineage))


async def in_turn(site: ServerState, work: Callable[[], T]) -> T:
    """Do long work where answers are written: so many at a time, and short requests are not held up."""
    end_turn = await site.answer_turns.begin()
    writing = site.writers.submit(copy_context().run, work)
    writing.add_done_callback(lambda _: end_turn())
    return await asyncio.wrap_future(writing)


async def answered(site: ServerState, events: Iterator[Event]) -> AnswerDone:
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


async def begun(site: ServerState, asking: Asking) -> Iterator[Event]:
    """An answer that will be written as it is read; what is wrong with the question is raised now."""

    def begin() -> Iterator[Event]:
        app = site.loaded()
        asker = replace(asking.asker, scope=app.in_journey(asking.asker.scope))
        return app.ask_service.ask(
            asking.question,
            asker=asker,
            conversation_id=asking.conversation_id,
            options=asking.options,
            hand_on=asking.hand_on,
        )

    return await run_in_threadpool(begin)


async def streamed(site: ServerState, events: Iterator[Event], *, marks: Marks = Marks.NUMBER) -> AsyncIterator[bytes]:
    """An answer as server-sent events, its text cited as it was asked for."""
    end_turn = await site.answer_turns.begin()
    sending = sent(events, threads=site.writers, with_withheld=True, marks=marks, watch=counted(site), ended=end_turn)
    site.metrics.move("streams", 1)
    try:
        async with aclosing(sending):
            async for part in sending:
                yield part
    finally:
        site.metrics.move("streams", -1)


def counted(site: ServerState) -> Callable[[Event], None]:
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


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    """A response that is sent as it is written; no proxy may hold it back."""
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})


async def sent(
    answer: Iterator[Event],
    *,
    threads: Executor,
    with_withheld: bool,
    marks: Marks = Marks.NUMBER,
    watch: Callable[[Event], None],
    beat_s: float = BEAT_S,
    ended: Callable[[], None] = lambda: None,
) -> AsyncGenerator[bytes]:
    """The events of an answer as they are sent."""
    async with aclosing(as_it_comes(answer, threads=threads, watch=watch, beat_s=beat_s, ended=ended)) as events:
        async for event in events:
            yield BEAT if event is None else framed(*event_json(event, with_withheld=with_withheld, marks=marks))


async def as_it_comes(
    answer: Iterator[Event],
    *,
    threads: Executor,
    watch: Callable[[Event], None],
    beat_s: float = BEAT_S,
    ended: Callable[[], None] = lambda: None,
) -> AsyncGenerator[Event | None]:
    """The events of an answer, None after a while without one; when nobody listens any more, the writing stops."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    gone = threading.Event()

    def pass_on(event: Event | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server stops
            loop.call_soon_threadsafe(events.put_nowait, event)

    writing = threads.submit(copy_context().run, _written, answer, pass_on, gone)
    writing.add_done_callback(lambda _: ended())
    try:
        while True:
            try:
                event = await asyncio.wait_for(events.get(), beat_s)
            except TimeoutError:
                yield None
                continue
            if event is None:
                return
            watch(event)
            yield event
    finally:
        gone.set()
        writing.cancel()


def _written(events: Iterator[Event], pass_on: Callable[[Event | None], None], gone: threading.Event) -> None:
    """Write an answer, event by event, as long as somebody listens; what goes wrong is the last event."""
    try:
        for event in events:
            if gone.is_set():
                break
            pass_on(event)
        close = getattr(events, "close", None)
        if close is not None:
            close()  # a writer that is stopped half-way gives back its connection
    except Exception as error:
        problem = problem_of(error)
        pass_on(AnswerFailed(problem.kind, problem.detail))
    finally:
        pass_on(None)


def framed(name: str, data: dict[str, Any]) -> bytes:
    r"""One event on the line; JSON has no line break of its own.

    >>> framed("working", {"stage": "searching"})
    b'event: working\ndata: {"stage": "searching"}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
