"""Values that one person's session holds in memory for a while; nothing of them is written anywhere."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Generic, TypeVar

from citewell.api.visitor import Visitor

T = TypeVar("T")
MOST = 5
"""Of one person; the oldest goes where there are more."""


@dataclass(frozen=True, slots=True)
class _Held(Generic[T]):
    session: tuple[str, str, str]
    value: T
    ends_at_s: float

    @property
    def person(self) -> tuple[str, str]:
        return self.session[:2]


class ShortLived(Generic[T]):
    """Each value by a name that cannot be guessed, for the session that put it there, until its time is over."""

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s
        self._lock = threading.Lock()
        self._held: dict[str, _Held[T]] = {}
        self._timer: threading.Timer | None = None

    def put(self, value: T, visitor: Visitor, *, name: str | None = None) -> str:
        """Hold a value; returns its name."""
        name = name or secrets.token_urlsafe(24)
        new = _Held(_session(visitor), value, time.monotonic() + self._lasts_s)
        with self._lock:
            own = [held for held, other in self._held.items() if other.person == new.person]
            for oldest in own[: max(0, len(own) + 1 - MOST)]:
                del self._held[oldest]
            self._held[name] = new
            if self._timer is None:
                self._wait()
        return name

    def look(self, name: str, visitor: Visitor) -> T | None:
        """The value, where it is this session's and its time is not over."""
        with self._lock:
            held = self._held.get(name)
        is_there = held is not None and held.session == _session(visitor) and held.ends_at_s > time.monotonic()
        return held.value if held is not None and is_there else None

    def take(self, name: str, visitor: Visitor) -> T | None:
        """The same, once: it is gone afterwards."""
        value = self.look(name, visitor)
        with self._lock:
            return value if value is not None and self._held.pop(name, None) is not None else None

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wait(self) -> None:
        """Come back when the first of them ends."""
        first_s = min(held.ends_at_s for held in self._held.values())
        self._timer = threading.Timer(max(0.0, first_s - time.monotonic()), self._forget)
        self._timer.daemon = True
        self._timer.start()

    def _forget(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            self._held = {name: held for name, held in self._held.items() if held.ends_at_s > now_s}
            self._timer = None
            if self._held:
                self._wait()


def _session(visitor: Visitor) -> tuple[str, str, str]:
    return visitor.tenant, visitor.user_id, visitor.session or ""
