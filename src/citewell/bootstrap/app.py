"""App: an open library, with everything that can be done to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.adapters.store.library import NEVER_READ
from citewell.bootstrap.assembly import Assembly
from citewell.bootstrap.home import read_source, size_of
from citewell.bootstrap.outcome import Outcome, Results
from citewell.errors import CitewellError, InputError, LibraryError, NotFound
from citewell.types import (
    EVERY,
    NO_OPTIONS,
    OWNER_ID,
    Answer,
    AskOptions,
    Chunk,
    Document,
    EvidenceSpan,
    Filing,
    Hit,
    LibraryEntry,
    Scope,
    SentenceCheck,
    Source,
    User,
    source_id,
)
from citewell.types.hashed_ids import is_meant
from citewell.types.tags import sought_tags

if TYPE_CHECKING:
    from citewell.answer.events import Event
    from citewell.answer.replay import Replay
    from citewell.bootstrap.chat import GuidelineChat
    from citewell.bootstrap.consult import ConsultParts
    from citewell.bootstrap.evidence import EvidenceService
    from citewell.ingest.library_changes import AddedDocument
    from citewell.ingest.read_file import FileReader, Step
    from citewell.ports import Verification


class App(Assembly):
    """An open library, with everything that can be done to it."""

    # ------------------------------------------------------------------------------------------------ the rooms

    @cached_property
    def chat(self) -> GuidelineChat:
        """The guidelines chat."""
        from citewell.bootstrap.chat import GuidelineChat

        return GuidelineChat(self)

    @cached_property
    def evidence(self) -> EvidenceService:
        """The literature by care journey."""
        from citewell.bootstrap.evidence import EvidenceService

        return EvidenceService(self)

    @cached_property
    def consult(self) -> ConsultParts:
        """The consults, and the assistant that holds them."""
        from citewell.bootstrap.consult import ConsultParts

        return ConsultParts(self)

    def open_parts(self) -> None:
        """Make all that threads would make side by side; whoever calls this from several holds a lock."""
        _ = self.embedder, self.lexicon, self.index, self.desk, self._search
        _ = self.guidelines, self.chat, self.evidence, self.consult
        with suppress(CitewellError):  # told to whoever asks; a search needs none of these
            _ = self._likeness, self.writer, self.knowledge

    def owner(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> User:
        """The person at this machine, who keeps the library; what they ask is asked of this scope."""
        return User.owner(self.scope(tags=tags, journey=journey, subject=subject))

    def scope(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> Scope:
        """The scope of the person at this machine: all tags unless some are named; universal documents only
        unless a journey is."""
        owner = self.scope_of_owner()
        return self.in_journey(Scope(owner.tenant, owner.tags if tags is None else sought_tags(tags), journey, subject))

    def in_journey(self, scope: Scope) -> Scope:
        """The same scope, its journey by the slug of now; NotFound where there is no such journey."""
        if scope.journey is None or scope.journey == EVERY:
            return scope
        known = self.journeys.one(scope.journey, Scope.owner(scope.tenant))
        return replace(scope, journey=known.slug)

    def scope_of_owner(self) -> Scope:
        """All that this library's tenant has: for the person who keeps it."""
        return Scope.owner(self.tenant)

    # --------------------------------------------------------------------------------------------------- changing

    def add(
        self, path: Path | str, *, filing: Filing | None = None, watch: Callable[[Step], None] | None = None
    ) -> AddedDocument:
        """Read a file and make it current."""
        return self.add_source(read_source(Path(path), self.settings.limits.max_bytes), filing=filing, watch=watch)

    def add_source(
        self, source: Source, *, filing: Filing | None = None, watch: Callable[[Step], None] | None = None
    ) -> AddedDocument:
        """Make bytes current that are in memory already."""
        from citewell.ingest.library_changes import add, unwatched

        return add(
            source,
            filing=filing or Filing(),
            scope=self.scope_of_owner(),
            library=self.library,
            reader=self.reader,
            watch=watch or unwatched,
        )

    def add_all(
        self,
        paths: Iterable[Path],
        *,
        filing: Filing | None = None,
        watch: Callable[[Path, Step], None] | None = None,
    ) -> Generator[Outcome]:
        """Add many files; one that cannot be read does not stop the others."""
        from citewell.ingest.library_changes import Work, in_turn, prepared, unwatched

        def prepare(path: Path, reader: FileReader) -> Callable[[], AddedDocument]:
            return prepared(
                read_source(path, self.settings.limits.max_bytes),
                filing=filing or Filing(),
                scope=self.scope_of_owner(),
                library=self.library,
                reader=reader,
                watch=unwatched if watch is None else partial(watch, path),
            )

        files = list(paths)
        made: set[str] = set()
        works = (Work(size_of(path), partial(prepare, path)) for path in files)
        with closing(in_turn(self.reader, works)) as reading:
            for path, ready in zip(files, reading, strict=True):
                try:
                    added = ready.result()()
                    is_twin = added.entry.id in made  # read beside its twin, before that was stored
                    made.add(added.entry.id)
                    yield Outcome(path, replace(added, was_there=added.was_there or is_twin), None)
                except InputError as error:
                    yield Outcome(path, None, error)
                except LibraryError as error:  # the rest would meet the same
                    yield Outcome(path, None, error)
                    return

    def add_samples(
        self, *, filing: Filing | None = None, watch: Callable[[Path, Step], None] | None = None
    ) -> Generator[Outcome]:
        """Add the sample library."""
        from citewell.samples import sample_files, sample_filing

        for path in sample_files():
            yield from self.add_all([path], filing=sample_filing(path, filing or Filing()), watch=watch)

    def refile(self, document_id: str, filing: Filing) -> LibraryEntry:
        """Change tags and journeys of a document; nothing is embedded again."""
        return self.library.refile(document_id, filing=filing, scope=self.scope_of_owner())

    def delete(self, document_id: str) -> list[LibraryEntry]:
        """Erase all versions of a document, and its words in what was answered; none are left the second time."""
        return self.erase(document_id, self.scope_of_owner(), by=OWNER_ID)

    def erase(self, document_id: str, scope: Scope, *, by: str) -> list[LibraryEntry]:
        """The same for another person; the words go first, so that a crash in between leaves no quote behind."""
        from citewell.bootstrap.desk import has_sealed

        try:
            entry = self.library.entry(document_id, scope)
        except NotFound:
            if self.library.is_erased(document_id, scope, by=by):
                return []
            raise
        if entry.state not in NEVER_READ and has_sealed(self.library):
            everything = self.library.entries(Scope.owner(scope.tenant))
            self.desk.ledger.erase({one.id for one in everything if one.lineage == entry.lineage}, scope.tenant)
        return self.library.erase(document_id, scope, by=by)

    def reindex(self, progress: Callable[[str, Step], None] | None = None) -> int:
        """Cut and embed everything anew; says how many documents."""
        from citewell.ingest.library_changes import reindex

        return reindex(library=self.library, reader=self.reader, progress=progress or (lambda _title, _step: None))

    # ---------------------------------------------------------------------------------------------------- reading

    def search(self, question: str, *, scope: Scope | None = None, limit: int = 10) -> Results:
        """The passages nearest to a question."""
        from citewell.answer.retrieve import retrieve

        started = time.perf_counter()
        found = retrieve(question, scope=self.in_journey(scope or self.scope()), search=self._search, limit=limit)
        took_ms = (time.perf_counter() - started) * 1000
        return Results(question, found.hits, found.expansions, took_ms)

    def ask(
        self,
        question: str,
        *,
        asker: User | None = None,
        conversation_id: str | None = None,
        options: AskOptions = NO_OPTIONS,
    ) -> Answer:
        """One question, one checked answer, on record; in a new conversation unless one is named."""
        asker = asker or self.owner()
        return self.desk.answer(question, asker=asker, conversation_id=conversation_id, options=options).answer

    def ask_stream(
        self,
        question: str,
        *,
        asker: User | None = None,
        conversation_id: str | None = None,
        options: AskOptions = NO_OPTIONS,
    ) -> Iterator[Event]:
        """The same, sentence by sentence; the last event holds the answer."""
        return self.desk.ask(question, asker=asker or self.owner(), conversation_id=conversation_id, options=options)

    def replay(self, answer_id: str, *, asker: User | None = None) -> Replay:
        """Ask again what is on record, on the versions that answered then; nothing is recorded."""
        from citewell.assistants.consult.signed_record import is_consult
        from citewell.assistants.guidelines.saved_assessments import is_assessment

        asker = asker or self.owner()
        record = self.desk.audit.read(answer_id, asker)
        if is_assessment(record):
            return self.guidelines.replay(record, asker)
        if is_consult(record):
            return self.consult.replay(record, asker)
        setup = record.words["setup"]
        if setup.get("assistant") == "evidence":
            return self.evidence.replay(record, asker)
        desk = self.chat.desk(setup["guidelines"]) if setup.get("assistant") == "guidelines" else self.desk
        return desk.replay(answer_id, asker)

    def check(
        self, text: str, *, against: str | None = None, evidence: str | None = None, scope: Scope | None = None
    ) -> list[tuple[str, SentenceCheck]]:
        """Check any text, sentence by sentence: against the library, one document, or words given with it."""
        from citewell.answer.gate import check

        scope = scope or self.scope()
        spans: list[EvidenceSpan] | None = None
        if evidence is not None and against is not None:
            raise InputError("Check the text against either a document or pasted text, not both.")
        if evidence is not None:
            spans = [EvidenceSpan("given", 0, len(evidence), evidence)]
        elif against is not None:
            entry, _, chunks = self.show(against, scope)
            spans = [_span(source_id(against, one.index), one, entry.title) for one in chunks]

        def find(sentence: str) -> list[EvidenceSpan]:
            if spans is not None:
                return spans
            hits = self.search(sentence, scope=scope, limit=self.settings.context_chunks).hits
            return [_span(hit.source_id, hit, hit.document) for hit in hits]

        return check(text, find=find, verify=self.verify_sentence)

    def words_of(self, given: Path | Source) -> str:
        """The words of a file: of plain text as they stand, of any other type as its parser reads them."""
        from citewell.adapters.parsers import all_parsers
        from citewell.ingest.decode import decode
        from citewell.ingest.parse import kind_of, parse
        from citewell.ingest.sniff import MARKDOWN, TEXT

        limits = self.settings.limits
        source = read_source(given, limits.max_bytes) if isinstance(given, Path) else given
        if kind_of(source, limits=limits) in (TEXT, MARKDOWN):
            return decode(source.data)[0]
        return parse(source, parsers=all_parsers(), limits=limits).text

    def entries(self, scope: Scope | None = None) -> list[LibraryEntry]:
        """Every document version, newest first."""
        return self.library.entries(scope or self.scope_of_owner())

    def show(self, document_id: str, scope: Scope | None = None) -> tuple[LibraryEntry, Document, tuple[Chunk, ...]]:
        """A document with its text and passages."""
        return self.library.opened(document_id, scope or self.scope_of_owner())

    def find(self, prefix: str) -> str:
        """The full id that starts with these characters, or whose hash in a log does."""
        found = {entry.id for entry in self.entries() if is_meant(entry.id, prefix)}
        if len(found) > 1:
            raise InputError(f"{len(found)} documents have IDs that start with these characters. Give more characters.")
        if not found:
            raise NotFound("Document not found. `citewell list` shows the ids.")
        return found.pop()

    def page_image(self, document_id: str, number: int, *, width_px: int, scope: Scope | None = None) -> bytes:
        """A page of a PDF as PNG."""
        from citewell.adapters.parsers.sandbox import draw_page

        source = self.library.original(document_id, scope or self.scope_of_owner())
        return draw_page(source.data, number, width_px=width_px)

    def verify(self) -> Verification:
        """Prove that text, chunks and vectors agree."""
        return self.library.verify()


def _span(named: str, passage: Hit | Chunk, document: str) -> EvidenceSpan:
    """A passage to hold a sentence against, under the same headings wherever it was taken from."""
    return EvidenceSpan(named, passage.start, passage.end, passage.text, (document, *passage.section))
