"""How much one request may ask of the processor, counted where the work is done and stopped when its client goes.

`bounded` opens an allowance; long stages call `spend` as they go on. Without an allowance, as on the command line,
nothing is counted and nothing is stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from citewell.errors import ClientGone, TooMuchWork

T = TypeVar("T")

TOO_MUCH = (
    "This takes more than the {limit_s:g} seconds of processor time that one request may take, so it was stopped. Send "
    "a shorter text, or less at a time."
)
CUT_FROM = 0.8
"""The share of its allowance from which a request leaves out what it can."""
GONE = "The client left, so the work was stopped."


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What requests may ask for, in one place."""

    processor_s: float = 2.0
    """Seconds of processor time of one question, search or page."""
    long_processor_s: float = 10.0
    """The same of a check, an assessment, a consult or a patient's record, where one request is much to read."""
    file_processor_s: float = 300.0
    """The same where it brings files."""
    record_s_per_mib: float = 4.0
    """What a request with a patient's record may take more, for each MiB of it."""
    first_s: float = 8.0
    """What the first request of its kind may take more: it loads what the others find in memory."""
    at_once: int = 4
    """Requests that are worked on at the same time."""
    waiting: int = 256
    """Requests of one person that wait for their turn; more are refused."""


class WorkAllowance:
    """The processor time that one request has left, wherever it is worked on."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.used_s = 0.0
        self.at_step: Callable[[], None] = lambda: None
        """Called between two steps of the work: whoever has to, waits for others there."""
        self._is_gone = threading.Event()

    @property
    def is_stopped(self) -> bool:
        return self._is_gone.is_set()

    def stop(self) -> None:
        """End the work at its next step: nobody waits for it any more."""
        self._is_gone.set()

    def use(self, seconds: float) -> None:
        """Count what was used, and stop what goes on for too long."""
        self.used_s += seconds
        if self._is_gone.is_set():
            raise ClientGone(GONE)
        if self.used_s > self.limit_s:
            raise TooMuchWork(TOO_MUCH.format(limit_s=self.limit_s))


class _Thread(threading.local):
    """What this thread works for, and its processor time when that was last counted."""

    allowance: WorkAllowance | None = None
    at_s: float = 0.0


_thread = _Thread()
_allowance: ContextVar[WorkAllowance | None] = ContextVar("allowance", default=None)


@contextmanager
def bounded(limit_s: float) -> Iterator[WorkAllowance]:
    """Count what is done for one request in here, and in the threads that take its context along.

    >>> with bounded(0.01):
    ...     while True:
    ...         spend()
    Traceback (most recent call last):
    citewell.errors.TooMuchWork: This takes more than the 0.01 seconds of processor time that one request may take, ...
    """
    allowance = WorkAllowance(limit_s)
    token = _allowance.set(allowance)
    try:
        yield allowance
    finally:
        _allowance.reset(token)


def spend(extra_s: float = 0.0) -> None:
    """Count the processor time since the last call in this thread, and `extra_s` of other threads.

    Raises TooMuchWork once the allowance of the request is used up, and ClientGone once nobody waits for it.
    """
    allowance = _allowance.get()
    if allowance is None:
        return
    now_s, used_s = time.thread_time(), extra_s
    if _thread.allowance is allowance:
        used_s += now_s - _thread.at_s
    _thread.allowance, _thread.at_s = allowance, now_s
    allowance.use(used_s)
    allowance.at_step()


def spending(items: Iterable[T]) -> Iterator[T]:
    """The same items, each counted as work before it is looked at."""
    for item in items:
        spend()
        yield item


def is_nearly_spent() -> bool:
    """Whether a request has used most of its allowance: what can be cut ends here and says so."""
    allowance = _allowance.get()
    return allowance is not None and allowance.used_s > CUT_FROM * allowance.limit_s


@contextmanager
def uncounted() -> Iterator[None]:
    """Finish what must not be stopped half-way, such as keeping what was shown already."""
    token = _allowance.set(None)
    try:
        yield
    finally:
        _allowance.reset(token)
