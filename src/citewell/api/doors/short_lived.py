"""Values that one person's session holds in memory for a while; nothing of them is written anywhere."""

from __future__ import annotations

import secrets
import threading
from typing import Generic, TypeVar

from citewell.api.visitor import Visitor

T = TypeVar("T")
MOST = 20
"""Of one person; the oldest goes where there are more."""


class ShortLived(Generic[T]):
    """Each value by a name that cannot be guessed, for the session that put it there, until its time is over."""

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s
        self._lock = threading.Lock()
        self._held: dict[str, tuple[tuple[str, ...], T, threading.Timer]] = {}

    def put(self, value: T, visitor: Visitor, *, name: str | None = None) -> str:
        """Hold a value; returns its name."""
        name = name or secrets.token_urlsafe(24)
        owner = _session(visitor)
        ending = threading.Timer(self._lasts_s, self._forget, [name])
        ending.daemon = True
        with self._lock:
            own = [held for held, (holder, *_) in self._held.items() if holder[:2] == owner[:2]]
            for oldest in own[: max(0, len(own) + 1 - MOST)]:
                self._held.pop(oldest)[2].cancel()
            self._held[name] = owner, value, ending
        ending.start()
        return name

    def look(self, name: str, visitor: Visitor) -> T | None:
        """The value, where it is this session's and its time is not over."""
        with self._lock:
            owner, value, _ = self._held.get(name, (None, None, None))
        return value if owner == _session(visitor) else None

    def take(self, name: str, visitor: Visitor) -> T | None:
        """The same, once: it is gone afterwards."""
        with self._lock:
            owner, value, ending = self._held.get(name, (None, None, None))
            if owner != _session(visitor) or ending is None:
                return None
            del self._held[name]
        ending.cancel()
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            for *_, ending in self._held.values():
                ending.cancel()
            self._held.clear()

    def _forget(self, name: str) -> None:
        with self._lock:
            self._held.pop(name, None)


def _session(visitor: Visitor) -> tuple[str, ...]:
    return visitor.tenant, visitor.user_id, visitor.session or ""
