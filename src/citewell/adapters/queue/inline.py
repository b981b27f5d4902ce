"""The queue of one machine: the worker is in the same process, and is woken directly."""

from __future__ import annotations

from collections.abc import Callable

from citewell.ingest.worker import Worker


class InlineQueue:
    """Wakes the worker in this process; it is started when first needed."""

    def __init__(self, worker: Callable[[], Worker]) -> None:
        self._worker = worker

    def nudge(self) -> bool:
        """Say that a document waits."""
        return self._worker().nudge()
