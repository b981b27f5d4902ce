"""Queue: says to whoever works that something waits. The documents table is the truth; a nudge may be lost or late."""

from __future__ import annotations

from typing import Protocol


class Queue(Protocol):
    """Wakes workers; nothing depends on it but how soon they look."""

    def nudge(self) -> bool:
        """Say that a document waits; whether that could be said."""
        ...
