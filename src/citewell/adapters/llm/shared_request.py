"""Asks a server something in one thread for all who want to know, so that a silent one holds up nobody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

LIMIT_S = 5.0
"""How long a server may take to say which models it has."""
KEPT_S = 5.0
"""So long what it said counts, a failure too: sixty questions to a silent server ask it once."""

T = TypeVar("T")


@dataclass(slots=True)
class PendingRequest(Generic[T]):
    """A question to the server that is under way or answered."""

    begun_at: float = field(default_factory=time.monotonic)
    told: Future[T] = field(default_factory=Future)

    @property
    def is_over(self) -> bool:
        """Whether it is time to ask anew; while one question hangs there is no second one."""
        return self.told.done() and time.monotonic() - self.begun_at > KEPT_S

    @property
    def left_s(self) -> float:
        """How much longer it is worth to wait."""
        return max(0.0, self.begun_at + LIMIT_S - time.monotonic())


class SharedRequest(Generic[T]):
    """What came of asking, for all who ask within a moment."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._asking: PendingRequest[T] | None = None

    def asked(self) -> PendingRequest[T]:
        """The question that is under way or was just answered, or a new one."""
        with self._lock:
            if self._asking is None or self._asking.is_over:
                self._asking = PendingRequest()
                threading.Thread(target=self._run, args=(self._asking,), name="citewell-models", daemon=True).start()
            return self._asking

    def _run(self, asking: PendingRequest[T]) -> None:
        asking.told.set_running_or_notify_cancel()  # from here on nobody who waits can call it off for the others
        try:
            asking.told.set_result(self._ask())
        except Exception as error:
            asking.told.set_exception(error)
