"""A person's record: what is imported into it, the facts that are known from it, and its documents."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.adapters.records.facts import SqlFacts, let_go
from citewell.adapters.records.papers import SqlPapers
from citewell.adapters.records.person_names import is_another_name
from citewell.adapters.records.record_settings import SqlRecordSettings
from citewell.adapters.store.engine import writing
from citewell.allowed_models import structured_replies
from citewell.errors import DamagedFile, InputError, NotFound, UnsupportedFile
from citewell.ingest.file_bytes import read_source
from citewell.ingest.library_changes import AddedDocument, check_embedder, unwatched
from citewell.ingest.media_types import CDA, FHIR, sniff
from citewell.ingest.parse import checked, safe_name
from citewell.ingest.parse_cut_embed import Step
from citewell.ports import ParsedFile
from citewell.ports.records import FactCounts, FileReport, Paper, PaperKind, RecordSettings
from citewell.types import OWNER_ID, Document, Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.facts import Allergy, Fact, FactOrigin, LabResult, Medication, RecordOwner, Symptom, fact_id
from citewell.types.facts_json import read_fact

if TYPE_CHECKING:
    from citewell.adapters.records.archives import Files, Part
    from citewell.adapters.records.imported_facts import ImportedFacts
    from citewell.app import App
    from citewell.assistants.records.alerts import Alert
    from citewell.assistants.records.paper_mentions import PaperQuote
    from citewell.assistants.records.propose import ProposedFacts

NO_SUCH_DOCUMENT = "Document not found in this record. `citewell records papers` shows the IDs."
REPORTABLE = (Symptom.kind, Medication.kind, Allergy.kind)
NOT_READ = {
    (".heic", ".heif", ".webp", ".avif", ".gif", ".bmp"): "a photo in another format",
    (".mp4", ".mov", ".avi", ".mkv", ".webm", ".3gp"): "a film",
    (".mp3", ".m4a", ".wav", ".ogg", ".aac", ".opus"): "a sound recording",
}
SAVE_OTHERWISE = "Save or send it as JPEG, PNG or PDF and add that."
SAME_PERSON = " If it is the same person, correct the name in this record first, so that both given names stand in it."
SUBJECT = "self"
"""Whom the documents of a vault are about; two letters that are called alike are never taken for versions of one."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one file: its document (none of its own for a record that is restored), and its facts."""

    added: AddedDocument | None
    change: FactCounts
    left_out: int = 0
    """Coded entries that became no fact."""
    files: tuple[FileReport, ...] = ()
    """Of an export of many files: what became of each."""
    notes: tuple[str, ...] = ()
    """Of an export of many files: what else is to be said."""


@dataclass(frozen=True, slots=True)
class _PartRead:
    """A document of an export that is ready to be kept, or is there already."""

    part: Part
    source: Source
    coded: ImportedFacts | None
    was_there: LibraryEntry | None
    parsed: ParsedFile | None


class Record:
    """The record in one open vault."""

    def __init__(self, app: App, touch: Callable[[], None] = lambda: None) -> None:
        self._app, self._touch = app, touch
        """A long import touches the vault at every step, so that it is not locked in the middle."""

    @property
    def scope(self) -> Scope:
        """All of the record: whoever opened the vault may see it."""
        return self._app.scope_of_owner()

    @cached_property
    def facts(self) -> SqlFacts:
        """What is known of the person."""
        return SqlFacts(self._app.library.engine, self._app.library.path)

    @cached_property
    def _own(self) -> SqlRecordSettings:
        return SqlRecordSettings(self._app.library.engine, self._app.library.path)

    @property
    def choices(self) -> RecordSettings:
        """What the person has set."""
        return self._own.choices(self.scope)

    def choose(self, choices: RecordSettings) -> None:
        """Set it otherwise."""
        self._own.choose(choices, self.scope)

    @property
    def paper(self) -> RecordDocuments:
        """The documents: of what kind each is, what stands in them, and how one is removed."""
        return RecordDocuments(self._app, self.scope, self.facts, self._read_coded)

    def papers(self) -> list[tuple[LibraryEntry, Paper]]:
        """The documents in the record, newest first, each with its kind; new ones are looked at now."""
        return self.paper.all()

    def sort(self, document_id: str, kind: PaperKind) -> Paper:
        """Say of what kind a document is."""
        return self.paper.sort(document_id, kind)

    @property
    def feedback(self) -> Mapping[str, bool]:
        """Which answers helped and which did not, by their ids."""
        return self._own.feedback(self.scope)

    def give_feedback(self, answer_id: str, *, is_helpful: bool | None) -> None:
        """Say whether an answer helped; None takes it back."""
        self._own.give_feedback(answer_id, is_helpful=is_helpful, scope=self.scope)

    def import_file(self, path: Path, *, watch: Callable[[Step], None] = unwatched) -> Imported:
        """Take a file in: as a document, and where it is coded, as facts; a folder as one export."""
        if path.is_dir():
            from citewell.adapters.records.archives import FolderFiles

            return self._import_export(FolderFiles(path, self._app.settings.limits), path.name, watch)
        return self.import_source(read_source(path, self._app.settings.limits.max_bytes), watch=watch)

    def import_source(self, source: Source, *, watch: Callable[[Step], None] = unwatched) -> Imported:
        """The same of bytes in memory: document and facts in one transaction, or nothing."""
        from citewell.adapters.records.archives import files_of, holds_many

        source = _readable(Source(source.data, safe_name(source.name)))
        if holds_many(source):
            return self._import_export(files_of(source, self._app.settings.limits), source.name, watch)
        watch = partial(self._awake, watch)
        watch(Step("reading"))
        coded = self._read_coded(source)
        if coded is None:
            return Imported(self._app.add_source(source, filing=Filing(subject=SUBJECT), watch=watch), FactCounts())
        self._refuse_another_person(coded)
        if coded.papers is not None:
            return self._taken_in_again(source, coded, coded.papers, watch)
        library = self._app.library
        if (entry := library.same(source, subject=SUBJECT, scope=self.scope)) is not None:
            change = self.facts.put(coded.read_from(entry.id), scope=self.scope)
            return Imported(AddedDocument(entry, was_there=True), change, coded.left_out)
        check_embedder(library, self._app.embedder.fingerprint)
        reading = self._parsed(source, coded, watch)
        with writing(library.engine, library.path) as connection:
            self._refuse_another_person(coded)  # again: another import may have come first
            entry = library.add_within(connection, source, reading, filing=Filing(subject=SUBJECT), scope=self.scope)
            change = self.facts.put_within(connection, coded.read_from(entry.id), self.scope)
        return Imported(AddedDocument(entry, was_there=False), change, coded.left_out)

    def _import_export(self, files: Files, name: str, watch: Callable[[Step], None]) -> Imported:
        """All files of an export in one transaction; one that is damaged is reported, another person refuses all."""
        from citewell.adapters.records.archives import NOT_OF_THE_RECORD, unpacked

        watch = partial(self._awake, watch)
        watch(Step("reading"))
        library, made = self._app.library, unpacked(files)
        check_embedder(library, self._app.embedder.fingerprint)
        reports, notes, change, left_out = list(made.unread), list[str](), FactCounts(), 0
        read = [held for part in made.parts if (held := self._read_part(part, reports, watch)) is not None]
        if not read:
            why = next((report.said for report in reports if report.said != NOT_OF_THE_RECORD), "")
            raise InputError(f"Nothing in {name} could be read, so nothing was added. {why}".strip())
        people: list[Fact] = []
        with writing(library.engine, library.path) as connection:
            for coded in (held.coded for held in read if held.coded is not None):
                self._refuse_another_person(coded, people)
                people += (fact for fact in coded.facts if isinstance(fact, RecordOwner))
            for held in read:
                entry = held.was_there
                if entry is None:
                    assert held.parsed is not None
                    filing = Filing(subject=SUBJECT)
                    entry = library.add_within(connection, held.source, held.parsed, filing=filing, scope=self.scope)
                if held.coded is not None:
                    change += self.facts.put_within(connection, held.coded.read_from(entry.id), self.scope)
                    left_out += held.coded.left_out
                    notes += (held.part.placed(note) for note in held.coded.document.notes)
                notes += held.part.notes
                said = "Already in this record." if held.was_there else "Read."
                reports += (FileReport(file, is_read=True, said=said) for file in held.part.files)
        return Imported(None, change, left_out, tuple(sorted(reports, key=lambda report: report.name)), tuple(notes))

    def _read_part(self, part: Part, reports: list[FileReport], watch: Callable[[Step], None]) -> _PartRead | None:
        """One document of an export, before anything is written; one that cannot be read is reported."""
        try:
            source = _readable(part.source)
            coded = self._read_coded(source)
            there = self._app.library.same(source, subject=SUBJECT, scope=self.scope)
            if there is not None:
                return _PartRead(part, source, coded, there, None)
            return _PartRead(part, source, coded, None, self._parsed(source, coded, watch))
        except InputError as error:
            if part.counts:  # entries that many files share
                raise
            reports += (FileReport(file, is_read=False, said=f"Not read: {error}") for file in part.files)
            return None

    def _parsed(self, source: Source, coded: ImportedFacts | None, watch: Callable[[Step], None]) -> ParsedFile:
        """A document cut and embedded."""
        if coded is None:
            return self._app.reader.read(source, chunking=None, watch=watch)
        document = checked(coded.document, source.name, self._app.settings.limits)
        return self._app.reader.embedded(document, chunking=None, watch=watch)

    def _awake(self, watch: Callable[[Step], None], step: Step) -> None:
        self._touch()
        watch(step)

    def _taken_in_again(
        self, source: Source, coded: ImportedFacts, papers: Sequence[tuple[str, Source]], watch: Callable[[Step], None]
    ) -> Imported:
        """A record that Citewell wrote: whole where nothing is yet; beside a record, its news wait to be confirmed.

        Any file can say that Citewell wrote it, and that a person said or confirmed what is in it.
        """
        library, filing = self._app.library, Filing(subject=SUBJECT)
        is_first = not library.entries(self.scope) and not self.facts.revision(self.scope)[0]
        has_news = not is_first and bool(self.facts.unknown(coded.facts, self.scope))
        if unknown := {fact.origin.document_id for fact in coded.facts} - {None, *(old_id for old_id, _ in papers)}:
            raise DamagedFile(
                f"{len(unknown)} documents are missing from this record. Export it again, with documents."
            )
        itself = hashlib.sha256(source.data).hexdigest()  # an id that nothing within the file can have
        if has_news:
            papers = [*papers, (itself, source)]
        check_embedder(library, self._app.embedder.fingerprint)
        known = {old_id: library.same(paper, subject=SUBJECT, scope=self.scope) for old_id, paper in papers}
        new = [(old_id, paper) for old_id, paper in papers if known[old_id] is None]
        readings = {old_id: self._app.reader.read(paper, chunking=None, watch=watch) for old_id, paper in new}
        kept = {old_id: entry for old_id, entry in known.items() if entry is not None}
        change = FactCounts(same=len(coded.facts))
        with writing(library.engine, library.path) as connection:
            for old_id, paper in new:
                read = readings[old_id]
                kept[old_id] = library.add_within(connection, paper, read, filing=filing, scope=self.scope)
            if is_first:
                ids = {old_id: entry.id for old_id, entry in kept.items()}
                change = self.facts.put_within(connection, coded.restored(ids), self.scope, is_restored=True)
            elif has_news:
                news = [replace(fact, is_verified=False) for fact in coded.read_from(kept[itself].id)]
                change = self.facts.put_within(connection, news, self.scope)
        added = AddedDocument(kept[itself], was_there=known[itself] is not None) if has_news else None
        return Imported(added, change, coded.left_out)

    def export(self) -> bytes:
        """Everything as one FHIR R4 bundle, not encrypted: facts, and the documents that they were read from."""
        from citewell.adapters.records.fhir_write import write_bundle

        library, facts = self._app.library, self.facts.all(self.scope)
        read = {fact.origin.document_id for fact in facts}
        papers = [
            (entry, library.original(entry.id, self.scope))
            for entry in reversed(library.entries(self.scope))
            if entry.id in read or (entry.is_current and entry.state is LifecycleState.COMPLETED)
        ]
        return write_bundle(self.scope.tenant, facts, papers)

    def summary(self) -> bytes:
        """What a doctor elsewhere needs first, as an International Patient Summary, not encrypted."""
        from citewell.adapters.records.fhir_ips_write import write_summary

        return write_summary(self.scope.tenant, self.facts.all(self.scope))

    # ----------------------------------------------------------------------------------------- alerts and own words

    def alerts(self, *, with_dismissed: bool = False) -> list[Alert]:
        """What somebody should look at; what was dismissed stays away."""
        from citewell.assistants.records.alerts import find_alerts

        now = datetime.now(UTC)
        away = frozenset() if with_dismissed else self.facts.dismissed(self.scope)
        known, papers = self.facts.remembered(self.scope), self.paper.read()
        return [alert for alert in find_alerts(known, now=now, papers=papers) if alert.id not in away]

    def critical(self) -> list[LabResult]:
        """Results that were flagged critical, then newest ones that nobody marked and that are beyond usual limits."""
        from citewell.assistants.records.result_limits import beyond_limits

        flagged = self.facts.critical_results(self.scope)
        return [
            *flagged,
            *(result for result in beyond_limits(self.facts.remembered(self.scope)) if result not in flagged),
        ]

    def dismiss(self, alert_id: str, *, why: str) -> Alert:
        """Put an alert away for good, by its id or the beginning of it."""
        alerts = [alert for alert in self.alerts(with_dismissed=True) if alert_id and alert.id.startswith(alert_id)]
        if len(alerts) != 1:
            raise NotFound("Alert not found. `citewell records alerts` shows the IDs.")
        self.facts.dismiss(alerts[0].id, why=why, by=OWNER_ID, scope=self.scope)
        return alerts[0]

    def propose(self, document_id: str) -> tuple[ProposedFacts, FactCounts]:
        """Have the model read a document for facts; what its words hold waits to be confirmed, all else is dropped."""
        from citewell.assistants.records.propose import PROMPT, SCHEMA, propose

        document = self._app.show(document_id, self.scope)[1]
        with structured_replies(self._app.settings, PROMPT.text, SCHEMA) as ask:

            def awake(part: str) -> str:
                self._touch()
                return ask(part)

            proposed = propose(document.text, document_id, ask=awake)
        return proposed, self.facts.put(proposed.facts, scope=self.scope)

    def add(self, kind: str, fields: Mapping[str, Any]) -> Fact:
        """Keep what the person says themselves: a symptom, a medicine, an allergy."""
        if kind not in REPORTABLE:
            raise InputError(f"You can add only {', '.join(REPORTABLE)}.")
        given = {name: value for name, value in fields.items() if value is not None}
        fact = read_fact({**given, "kind": kind, "id": str(uuid.uuid4()), "origin": {"via": FactOrigin.PATIENT.value}})
        self.facts.put([fact], scope=self.scope)
        return fact

    def _read_coded(self, source: Source) -> ImportedFacts | None:
        """What a coded file says; nothing for a letter."""
        kind = sniff(source) if source.data.strip() else None
        if kind == FHIR:
            from citewell.adapters.records.fhir_import import read_fhir

            return read_fhir(source.data)
        if kind == CDA:
            from citewell.adapters.records.cda_import import read_cda

            return read_cda(source, self._app.settings.limits)
        return None

    def _refuse_another_person(self, coded: ImportedFacts, others: Sequence[Fact] = ()) -> None:
        """A record is about one person: another day of birth is another person, or another given name."""
        kept = [fact for fact in self.facts.all(self.scope, kind=RecordOwner.kind) if fact.id == fact_id("person")]
        known = [*kept, *others]
        for now in (fact for fact in coded.facts if isinstance(fact, RecordOwner)):
            for before in known:
                assert isinstance(before, RecordOwner)
                if what := _another(before, now):
                    raise InputError(
                        f"The {what} in this file does not match this record. Nothing was changed. "
                        "If this is someone else, import it into a separate record."
                        + (SAME_PERSON if what == "name" else "")
                    )


def _another(before: RecordOwner, now: RecordOwner) -> str | None:
    """What tells two people apart: their births, as exactly as both are known, or names as two people have them."""
    if before.born and now.born:
        known = min(len(before.born.text), len(now.born.text), len("2015-03-12"))
        if before.born.text[:known] != now.born.text[:known]:
            return "date of birth"
    return "name" if is_another_name(before.name, now.name) else None


@dataclass(frozen=True, slots=True)
class Removed:
    """What went with a document, and what stayed as the person's own word."""

    paper: LibraryEntry
    kept: tuple[Fact, ...]
    gone: tuple[Fact, ...]


@dataclass(frozen=True)
class RecordDocuments:
    """The documents in one open vault: of what kind each is, what they say, and how one is removed."""

    app: App
    scope: Scope
    facts: SqlFacts
    read_coded: Callable[[Source], ImportedFacts | None]
    """What a coded file says."""

    @cached_property
    def _kept(self) -> SqlPapers:
        return SqlPapers(self.app.library.engine, self.app.library.path)

    @property
    def entries(self) -> list[LibraryEntry]:
        """The documents that are read, newest first."""
        return [
            entry
            for entry in self.app.entries(self.scope)
            if entry.is_current and entry.state is LifecycleState.COMPLETED
        ]

    def all(self) -> list[tuple[LibraryEntry, Paper]]:
        """The documents, newest first, each with its kind; new ones are looked at now."""
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
        """Say of what kind a document is."""
        paper = next((paper for entry, paper in self.all() if entry.id == document_id), None)
        if paper is None:
            raise NotFound(NO_SUCH_DOCUMENT)
        paper = replace(paper, kind=kind, is_verified=True)
        self._kept.put(document_id, paper, self.scope)
        return paper

    def read(self) -> list[tuple[LibraryEntry, Document]]:
        """The texts of the documents that are more than facts."""
        return [self.app.show(entry.id, self.scope)[:2] for entry in self.entries if entry.media_type != FHIR]

    def unread(self) -> list[LibraryEntry]:
        """The documents that no fact was read from."""
        from citewell.assistants.records.fact_places import unread

        return unread(self.entries, self.facts.remembered(self.scope))

    def said_of_allergies(self) -> list[PaperQuote]:
        """Where documents that no fact was read from speak of allergies."""
        from citewell.assistants.records.paper_mentions import quotes_of

        waiting = {entry.id for entry in self.unread()}
        return quotes_of("allergies", [(entry, text) for entry, text in self.read() if entry.id in waiting])

    def goes_with(self, document_id: str) -> Removed:
        """What would go with a document, and what would stay; nothing is changed."""
        entry = next((entry for entry in self.entries if entry.id == document_id), None)
        if entry is None:
            raise NotFound(NO_SUCH_DOCUMENT)
        kept, gone = self.facts.read_from([document_id], self.scope)
        return Removed(entry, tuple(kept), tuple(gone))

    def remove(self, document_id: str) -> Removed | None:
        """Erase a document and what was read from it alone; what the person confirmed stays. None: it is not there."""
        entries = self.app.entries(self.scope)
        entry = next((entry for entry in entries if entry.id == document_id), None)
        if entry is None:
            return None
        versions = [version.id for version in entries if version.lineage == entry.lineage]
        library = self.app.library
        kept, gone = let_go(library.engine, library.path, versions, self.scope)
        self.app.erase(document_id, self.scope, by=OWNER_ID)
        self._read_again()
        here = {fact.id for fact in self.facts.all(self.scope)}
        return Removed(entry, tuple(kept), tuple(fact for fact in gone if fact.id not in here))

    def _read_again(self) -> None:
        """What another export says too is still known; it is read from there."""
        from citewell.assistants.records.fact_places import is_coded

        for entry in reversed([entry for entry in self.entries if is_coded(entry)]):
            coded = self.read_coded(self.app.library.original(entry.id, self.scope))
            if coded is not None and coded.papers is None:
                self.facts.put(coded.read_from(entry.id), scope=self.scope)


def _readable(source: Source) -> Source:
    """A picture as a page that can be read; a film, a sound or a photo in a form that nobody here reads is refused."""
    from citewell.adapters.records.photo_to_pdf import as_pdf, is_picture

    if is_picture(source):
        return as_pdf(source)
    ending = Path(source.name).suffix.casefold()
    for endings, what in NOT_READ.items():
        if ending in endings and not source.data.startswith(b"%PDF-"):
            raise UnsupportedFile(f"The file name looks like {what}, which cannot be read here. {SAVE_OTHERWISE}")
    return source
