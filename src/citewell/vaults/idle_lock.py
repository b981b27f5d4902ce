"""The idle lock: a vault that nobody has used for its lock time is locked without anybody asking."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from citewell.errors import InputError

Clock = Callable[[], float]
MAX_LOCK_MINUTES = 24 * 60
WATCH_S = 6.0
"""How often the time is looked at: a tenth of the shortest lock time."""


def check_lock_minutes(minutes: float | None) -> None:
    """Refuse a lock time that cannot be set."""
    if minutes is not None and not 1 <= minutes <= MAX_LOCK_MINUTES:
        raise InputError(f"Enter a lock time from 1 to {MAX_LOCK_MINUTES} minutes.")


class IdleTimer:
    """How long nobody has used a vault."""

    def __init__(self, minutes: float, clock: Clock = time.monotonic) -> None:
        self.minutes, self._clock = minutes, clock
        self.touch()

    def touch(self) -> None:
        """Say that somebody is here."""
        self._used_at = self._clock()

    @property
    def idle_s(self) -> float:
        """Seconds since it was last used."""
        return self._clock() - self._used_at

    @property
    def is_over(self) -> bool:
        """Whether nobody has used it for its lock time."""
        return self.idle_s >= self.minutes * 60


def watch_time(lock_idle: Callable[[], object], closing: threading.Event, *, lock_minutes: float) -> threading.Thread:
    """Looks at the time until the server closes."""

    def watch() -> None:
        while not closing.wait(min(WATCH_S, lock_minutes * 60 / 10)):
            lock_idle()

    thread = threading.Thread(target=watch, name="citewell-vault-watch", daemon=True)
    thread.start()
    return thread
