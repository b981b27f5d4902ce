"""One more pair of hands: work that leaves the interpreter free is done on two cores at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

First = TypeVar("First")
Second = TypeVar("Second")


def core_count() -> int:
    """The cores that this process may use: many a library counts those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class HelperThreads:
    """Threads beside the one that asks; they are started when they are first needed, and end with this object.

    >>> HelperThreads(helpers=1).both(lambda: "this", lambda: "that")
    ('this', 'that')
    """

    def __init__(self, *, helpers: int) -> None:
        self._pool = ThreadPoolExecutor(helpers, "citewell-index") if helpers else None

    def both(self, here: Callable[[], First], beside: Callable[[], Second]) -> tuple[First, Second]:
        """Do one thing here and the other beside it; where nobody had time for that one, it is done here as well."""
        if self._pool is None:
            return here(), beside()
        task = self._pool.submit(beside)
        try:
            first = here()
        except BaseException:
            task.cancel()
            raise
        return first, beside() if task.cancel() else task.result()

    def later(self, task: Callable[[], None]) -> None:
        """Do something beside, when there is time for it; where nobody helps, here and now."""
        if self._pool is None:
            task()
        else:
            self._pool.submit(task)
