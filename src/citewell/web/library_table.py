"""Filters and sorts the documents for the library's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from citewell.types import LibraryEntry
from citewell.web import display_words

PAGE_ROWS = 200

Order = Literal["title", "kind", "pages", "passages", "version", "state", "added"]

KEYS: dict[Order, Callable[[LibraryEntry], Any]] = {
    "title": lambda entry: entry.title.casefold(),
    "kind": lambda entry: display_words.kind(entry.media_type),
    "pages": lambda entry: entry.page_count,
    "passages": lambda entry: entry.chunk_count,
    "version": lambda entry: entry.version,
    "state": lambda entry: display_words.state_word(entry.state),
    "added": lambda entry: entry.added_at,
}


def listed(entries: Iterable[LibraryEntry], *, wanted: str, order: Order, down: bool) -> list[LibraryEntry]:
    """The entries that hold every wanted word, in order."""
    words = wanted.casefold().split()
    kept = [entry for entry in entries if all(word in _told(entry) for word in words)]
    return sorted(kept, key=KEYS[order], reverse=down)


def _told(entry: LibraryEntry) -> str:
    """What the filter looks at."""
    return " ".join(
        (
            entry.title,
            entry.name,
            display_words.kind(entry.media_type),
            display_words.state_word(entry.state),
            *entry.tags,
        )
    ).casefold()
