"""Changes to a library: add or replace a document, embed all of it anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from citewell.errors import EmbedderMismatch
from citewell.ingest.parse import safe_name
from citewell.ingest.read import Reader, Step, Watch
from citewell.ports import Library
from citewell.types import Entry, Filing, Scope, Source


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file: its entry, and whether it was there already."""

    entry: Entry
    was_there: bool


def unwatched(_step: Step) -> None:
    """Nobody looks."""


def add(
    source: Source, *, filing: Filing, scope: Scope, library: Library, reader: Reader, watch: Watch = unwatched
) -> Added:
    """Read a file and make it current; the same bytes twice do nothing again, a failure leaves nothing behind."""
    source = Source(source.data, safe_name(source.name))
    if filing.replaces is None and (entry := library.same(source, subject=filing.subject, scope=scope)) is not None:
        return Added(entry, was_there=True)
    check_embedder(library, reader.embedder.fingerprint)
    reading = reader.read(source, chunking=filing.chunking, watch=watch)
    watch(Step("storing"))
    return Added(library.add(source, reading, filing=filing, scope=scope), was_there=False)


def check_embedder(library: Library, fingerprint: str) -> None:
    """Refuse to mix the vectors of two embedders, before any work is done."""
    known = library.embedder()
    if known is not None and known != fingerprint:
        raise EmbedderMismatch(
            f"This library's vectors were made by {known}, not by {fingerprint}. "
            "Run `citewell reindex` to embed all of it again, or set the embedder back."
        )


def reindex(*, library: Library, reader: Reader, progress: Callable[[str, Step], None]) -> int:
    """Cut and embed every document anew beside the old vectors, then switch over at once; says how many.

    The old vectors answer until the switch. Stopped half-way, the next call goes on where this one was.
    """
    fingerprint = reader.embedder.fingerprint
    for document_id, document, chunking in library.readings(other_than=fingerprint):
        reading = reader.embedded(
            document,
            chunking=chunking,
            watch=lambda step, title=document.title: progress(title, step),  # type: ignore[misc]
        )
        library.regenerate(document_id, reading)
    return library.switch(fingerprint)
