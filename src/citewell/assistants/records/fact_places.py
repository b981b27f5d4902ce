"""Where the words of a fact stand: as a passage that can be cited and opened."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from citewell.assistants.records.papers import day_of
from citewell.errors import NotFound
from citewell.ingest.media_types import CDA, FHIR
from citewell.ports import Library
from citewell.types import Chunk, Document, Hit, LibraryEntry, LifecycleState, MatchReason, Scope
from citewell.types.facts import Fact

Opened = tuple[LibraryEntry, Document, tuple[Chunk, ...]]
KEPT = 64
"""Documents that stay open for the next question."""


@dataclass(frozen=True)
class FactDocuments:
    """The documents that facts were read from."""

    library: Library
    _opened: dict[tuple[str, int], Opened] = field(default_factory=dict)

    def hits(self, facts: Iterable[Fact], scope: Scope) -> list[Hit]:
        """Each fact that was read from a document, as the passage of its own line; others have no place."""
        return list(self.placed(facts, scope).values())

    def placed(self, facts: Iterable[Fact], scope: Scope) -> dict[str, Hit]:
        """The same by the ids of the facts; each document is looked at once."""
        found: dict[str, Hit] = {}
        opened: dict[str, Opened | None] = {}
        for fact in facts:
            origin = fact.origin
            if origin.document_id is None or origin.start is None or origin.end is None:
                continue
            if origin.document_id not in opened:
                try:
                    opened[origin.document_id] = self._open(origin.document_id, scope)
                except NotFound:  # its document was erased; the fact is on the facts page, without a place
                    opened[origin.document_id] = None
            if (document := opened[origin.document_id]) is not None:
                found[fact.id] = _hit(document, origin.start, origin.end)
        return found

    def papers(self, scope: Scope) -> list[tuple[LibraryEntry, Document]]:
        """The current documents, newest first, but for those that are nothing but facts."""
        return [paper for paper in self.documents(scope) if paper[0].media_type != FHIR]

    def documents(self, scope: Scope) -> list[tuple[LibraryEntry, Document]]:
        """The current documents, newest first."""
        entries = [
            library_entry
            for library_entry in self.library.entries(scope)
            if library_entry.is_current and library_entry.state is LifecycleState.COMPLETED
        ]
        stamp = self.library.stamp()  # who may see them was asked once, for all
        return [self._kept(entry.id, stamp, scope)[:2] for entry in entries]

    def quote(self, document_id: str, start: int, end: int, scope: Scope) -> Hit:
        """Words of a document as a passage."""
        return _hit(self._open(document_id, scope), start, end)

    def dated(self, document_id: str, scope: Scope) -> datetime | None:
        """The day of a document, where it says one."""
        entry, document, _chunks = self._open(document_id, scope)
        return day_of(entry, document)

    def _open(self, document_id: str, scope: Scope) -> Opened:
        self.library.entry(document_id, scope)  # who may see it is asked each time
        return self._kept(document_id, self.library.stamp(), scope)

    def _kept(self, document_id: str, stamp: int, scope: Scope) -> Opened:
        key = (document_id, stamp)
        if key not in self._opened:
            for old in list(self._opened)[: 1 - KEPT]:
                self._opened.pop(old, None)
            self._opened[key] = self.library.opened(document_id, scope)
        return self._opened[key]


def unread(papers: Iterable[LibraryEntry], facts: Iterable[Fact]) -> list[LibraryEntry]:
    """The papers that no fact was read from: letters and pictures, as far as nobody had them looked through."""
    read = {fact.origin.document_id for fact in facts}
    return [paper for paper in papers if not is_coded(paper) and paper.id not in read]


def is_coded(paper: LibraryEntry) -> bool:
    """Whether a document is an export of codes, from which facts were read as it came."""
    return paper.media_type in (CDA, FHIR)


def _hit(opened: Opened, start: int, end: int) -> Hit:
    entry, document, chunks = opened
    at = max(0, bisect_right([chunk.start for chunk in chunks], start) - 1)
    return Hit(
        document_id=entry.id,
        document=entry.title,
        version=entry.version,
        chunk_index=at,
        start=start,
        end=end,
        text=document.text[start:end],
        page=document.layout.page_at(start),
        section=chunks[at].section if chunks else (),
        tags=(),
        raw_cosine=1.0,
        rank_score=1.0,
        relevance=1.0,
        why=MatchReason(None, None, (), None),
        published=entry.metadata.published,
    )
