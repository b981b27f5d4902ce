"""Blobs: where original files are kept when not in the library's own database."""

from __future__ import annotations

from typing import Protocol


class Blobs(Protocol):
    """Bytes by key; what `put` has returned from is there for good, and whole."""

    name: str
    """What the library remembers of where a file is kept."""

    def put(self, key: str, data: bytes) -> None:
        """Keep bytes under a key; the same twice is no harm."""
        ...

    def get(self, key: str) -> bytes:
        """The bytes of a key, or NotFound."""
        ...

    def remove(self, key: str) -> None:
        """Remove a key; one that is not there is no harm."""
        ...
