"""Sends an answer while it is being written: typed events as server-sent events, one thread for each answer."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from citewell.answer.answer_json import event_json
from citewell.answer.cite import Marks
from citewell.answer.events import AnswerFailed, Event
from citewell.api.errors import problem_of

MEDIA_TYPE = "text/event-stream"
BEAT = b": still here\n\n"
BEAT_S = 10.0
"""After so long without an event a comment is sent: proxies keep the line open, and a client that left is noticed."""


async def sent(
    answer: Iterator[Event],
    *,
    threads: Executor,
    with_withheld: bool,
    marks: Marks = Marks.NUMBER,
    watch: Callable[[Event], None],
    beat_s: float = BEAT_S,
) -> AsyncGenerator[bytes]:
    """The events of an answer as they are sent; when nobody listens any more, the writing stops."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    gone = threading.Event()

    def pass_on(event: Event | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server stops
            loop.call_soon_threadsafe(events.put_nowait, event)

    writing = threads.submit(_written, answer, pass_on, gone)
    try:
        while True:
            try:
                event = await asyncio.wait_for(events.get(), beat_s)
            except TimeoutError:
                yield BEAT
                continue
            if event is None:
                return
            watch(event)
            yield framed(*event_json(event, with_withheld=with_withheld, marks=marks))
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
