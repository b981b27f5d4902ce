"""The papers of a record: of what kind each is, which hold no facts, what they say, and how one is removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from citewell.adapters.records.facts import SqlFacts
from citewell.adapters.records.keep_decisions import let_go
from citewell.adapters.records.papers import SqlPapers
from citewell.errors import NotFound
from citewell.ingest.sniff import CDA, FHIR
from citewell.ports.records import Paper, PaperKind
from citewell.types import OWNER_ID, Document, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.facts import Fact

if TYPE_CHECKING:
    from citewell.adapters.records.imported_facts import ImportedFacts
    from citewell.assistants.records.paper_mentions import PaperQuote
    from citewell.bootstrap.app import App

NO_SUCH_PAPER = "Document not found in this record. `citewell records papers` shows the ids."


@dataclass(frozen=True, slots=True)
class Removed:
    """What went with a paper, and what stayed as the person's own word."""

    paper: LibraryEntry
    kept: tuple[Fact, ...]
    gone: tuple[Fact, ...]


@dataclass(frozen=True)
class RecordPapers:
    """The papers in one open vault."""

    app: App
    scope: Scope
    facts: SqlFacts
    told: Callable[[Source], ImportedFacts | None]
    """What a coded file says."""

    @cached_property
    def _kept(self) -> SqlPapers:
        return SqlPapers(self.app.library.engine, self.app.library.path)

    @property
    def entries(self) -> list[LibraryEntry]:
        """The documents that are read, newest first."""
        return [one for one in self.app.entries(self.scope) if one.is_current and one.state is LifecycleState.COMPLETED]

    def all(self) -> list[tuple[LibraryEntry, Paper]]:
        """The documents, newest first, each with what kind of paper it is; new ones are looked at now."""
        from citewell.assistants.records.papers import describe

        known, entries = dict(self._kept.all(self.scope)), self.entries
        for entry in entries:
            if entry.id not in known:
                text = "" if entry.media_type in (CDA, FHIR) else self.app.show(entry.id, self.scope)[1].text
                # A whole export is of no one kind by what it holds, at most by what it is called.
                known[entry.id] = describe(entry.title, text, entry.notes)
                self._kept.put(entry.id, known[entry.id], self.scope)
        return [(entry, known[entry.id]) for entry in entries]

    def sort(self, document_id: str, kind: PaperKind) -> Paper:
        """Say what kind of paper a document is."""
        found = next((paper for entry, paper in self.all() if entry.id == document_id), None)
        if found is None:
            raise NotFound(NO_SUCH_PAPER)
        said = replace(found, kind=kind, is_verified=True)
        self._kept.put(document_id, said, self.scope)
        return said

    def read(self) -> list[tuple[LibraryEntry, Document]]:
        """The texts of the papers that are more than facts."""
        return [self.app.show(one.id, self.scope)[:2] for one in self.entries if one.media_type != FHIR]

    def unread(self) -> list[LibraryEntry]:
        """The papers that no fact was read from."""
        from citewell.assistants.records.fact_places import unread

        return unread(self.entries, self.facts.remembered(self.scope))

    def said_of_allergies(self) -> list[PaperQuote]:
        """Where papers that no fact was read from speak of allergies."""
        from citewell.assistants.records.paper_mentions import quotes_of

        waiting = {one.id for one in self.unread()}
        return quotes_of("allergies", [one for one in self.read() if one[0].id in waiting])

    def goes_with(self, document_id: str) -> Removed:
        """What would go with a paper, and what would stay; nothing is changed."""
        entry = next((one for one in self.entries if one.id == document_id), None)
        if entry is None:
            raise NotFound(NO_SUCH_PAPER)
        kept, gone = self.facts.read_from([document_id], self.scope)
        return Removed(entry, tuple(kept), tuple(gone))

    def remove(self, document_id: str) -> Removed | None:
        """Erase a paper and what was read from it alone; what the person confirmed stays. None if it is not there."""
        found = next((one for one in self.app.entries(self.scope) if one.id == document_id), None)
        if found is None:
            return None
        versions = [one.id for one in self.app.entries(self.scope) if one.lineage == found.lineage]
        library = self.app.library
        kept, gone = let_go(library.engine, library.path, versions, self.scope)
        self.app.erase(document_id, self.scope, by=OWNER_ID)
        self._read_again()
        here = {one.id for one in self.facts.all(self.scope)}
        return Removed(found, tuple(kept), tuple(one for one in gone if one.id not in here))

    def _read_again(self) -> None:
        """What another export says too is still known; it is read from there."""
        from citewell.assistants.records.fact_places import is_coded

        for entry in reversed([one for one in self.entries if is_coded(one)]):
            told = self.told(self.app.library.original(entry.id, self.scope))
            if told is not None and told.papers is None:
                self.facts.put(told.read_from(entry.id), scope=self.scope)
