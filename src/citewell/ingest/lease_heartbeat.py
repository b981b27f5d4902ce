"""Beats while a document is read, so that others know that it is in good hands, and counts its time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType

log = logging.getLogger(__name__)

BEAT_S = 20.0
GRACE_S = 60.0
"""How long after its time a document may take to notice."""


class LeaseHeartbeat:
    """A thread beside the reading: renews its lease, and stops doing so when its time is up.

    It beats however long one step takes; a step that never ends loses the lease, and what it was at goes to others.
    """

    def __init__(self, *, renew: Callable[[], bool], time_s: float, hangs: Callable[[], None] | None) -> None:
        self._renew, self._hangs = renew, hangs
        self._until = time.monotonic() + time_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heart", daemon=True)
        self.is_lost = False
        """Whether the document is another's by now."""

    @property
    def is_overdue(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self._until

    def __enter__(self) -> LeaseHeartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(min(BEAT_S, max(0.0, self._until - time.monotonic()) + 0.01)):
            if self.is_overdue:
                if not self._ended.wait(GRACE_S) and self._hangs is not None:
                    self._hangs()
                return
            try:
                self.is_lost = not self._renew()
            except Exception as failure:  # the database may be back before the lease ends
                log.warning("lease not renewed: %s", type(failure).__name__)
            if self.is_lost:
                return
