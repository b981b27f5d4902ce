"""The guidelines of a library: added, read once, compared with patients; each result is kept on record."""

from __future__ import annotations

import gc
import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from citewell.answer.replay import Replay
from citewell.answer.service import AskService
from citewell.assistants.guidelines import PUBLIC, TAG
from citewell.assistants.guidelines.assess import Assessment, assess, assessment_json
from citewell.assistants.guidelines.diff import Diff, diff
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.model_summary import Wording
from citewell.assistants.guidelines.patient import Complaint, PatientInput
from citewell.assistants.guidelines.patients_on_file import Roster, find_patient, roster
from citewell.assistants.guidelines.problems import check_whole
from citewell.assistants.guidelines.read_guideline import guideline_name, read
from citewell.assistants.guidelines.saved_assessments import (
    ChangedAssessment,
    again,
    asked,
    changed_by,
    editions_of,
    words,
)
from citewell.config import Settings
from citewell.errors import InputError, NoModel, NotFound
from citewell.history import AuditRecord, KeptOutcome
from citewell.ingest.file_bytes import read_source
from citewell.ingest.library_changes import AddedDocument, check_embedder, refiled, unwatched
from citewell.ingest.parse import parse, safe_name
from citewell.ingest.parse_cut_embed import FileReader, Step, Watch
from citewell.orders import screened_document
from citewell.ports import Library
from citewell.ports.models import EXTRACTIVE
from citewell.types import EVERY, Emergency, Filing, LibraryEntry, LifecycleState, Scope, Source, User
from citewell.work import uncounted

EDITION_DATES = ("%d %B %Y", "%Y-%m-%d", "%B %Y", "%Y")


def dated(edition: str | None) -> date | None:
    """The day of an edition, as far as it says one.

    >>> dated("1 May 2025"), dated("spring")
    (datetime.date(2025, 5, 1), None)
    """
    for form in EDITION_DATES:
        with suppress(ValueError):
            return datetime.strptime((edition or "").strip(), form).date()  # noqa: DTZ007 - a day has no zone
    return None


def is_newer(one: str | None, other: str | None) -> bool:
    """Whether one edition is surely newer than another.

    >>> is_newer("1 May 2025", "2 October 2023"), is_newer(None, "1 May 2025")
    (True, False)
    """
    first, second = dated(one), dated(other)
    return first is not None and second is not None and first > second


RECORDS_LOOKED_AT = 10_000
NO_MODEL = "No model is set up to write the summary. Assess without it, or set one up: `citewell models`."
NOBODY = PatientInput("nobody", complaints=(Complaint("none"),))


@dataclass(frozen=True, slots=True)
class Kept:
    """An assessment and the id under which it is on record."""

    id: str
    assessment: Assessment
    wording: Wording | None = None

    def shown(self) -> dict[str, Any]:
        """As the views show it."""
        return assessment_json(self.assessment, None if self.wording is None else self.wording.shown())


@dataclass(frozen=True, slots=True)
class GuidelineService:
    """The assistant that compares patients with guidelines, and what it takes to add, check and read those."""

    settings: Settings
    library: Library
    owner: Callable[[], Scope]
    """The scope of the person who keeps the library: only theirs holds new guidelines."""
    reader: Callable[[], FileReader]
    ask_service: Callable[[], AskService]
    word: Callable[[Assessment], Wording]
    emergency: Callable[[str], Emergency | None]
    _read: dict[str, Guideline] = field(default_factory=dict)
    """By document: read when first needed."""
    _names: dict[str, str | None] = field(default_factory=dict)
    """By document: the guideline that it looks like."""
    _adding: Lock = field(default_factory=Lock)

    # ----------------------------------------------------------------------------------------------- the guidelines

    def entries(self, scope: Scope) -> list[LibraryEntry]:
        """The current guidelines that may be seen."""
        entries = self.library.entries(scope)
        return [
            entry
            for entry in entries
            if TAG in entry.tags and entry.is_current and entry.state is LifecycleState.COMPLETED
        ]

    def guideline(self, document_id: str, scope: Scope) -> Guideline:
        """One guideline, by the id of its document; the scope is asked every time, the text read once."""
        return self._of(self.library.entry(document_id, scope), scope)

    def recognised(self, entry: LibraryEntry, scope: Scope, *, is_read: bool = True) -> str | None:
        """The guideline that a document looks like, which is not applied to patients yet; None where it is none.

        A list of many documents names only those that this process has looked at before.
        """
        is_open = entry.is_current and entry.state is LifecycleState.COMPLETED and entry.subject is None
        if not is_open or TAG in entry.tags:
            return None
        if entry.id not in self._names and is_read:
            self._names[entry.id] = guideline_name(screened_document(self.library.opened(entry.id, scope)[1]))
        return self._names.get(entry.id)

    def _of(self, entry: LibraryEntry, scope: Scope) -> Guideline:
        """The guideline of an entry that the scope was asked for."""
        if entry.id not in self._read:
            with uncounted():  # it is read once for all who ask
                guideline = replace(read(screened_document(self.library.opened(entry.id, scope)[1])), entry=entry)
                assess(NOBODY, [guideline])  # so that the first patient does not wait for patterns to be compiled
                self._read[entry.id] = guideline
            gc.collect()  # what reading leaves behind is cleared away here, and not while a patient waits
        return self._read[entry.id]

    def chosen(self, scope: Scope, only: Sequence[str] = ()) -> tuple[Guideline, ...]:
        """The guidelines of these documents, or all that may be seen."""
        guidelines = tuple(self.guideline(document_id, scope) for document_id in only) or self.all(scope)
        if not guidelines:
            raise NotFound("No guidelines yet. Add one with `citewell guidelines add FILE`.")
        return tuple(sorted(guidelines, key=order))

    def forget(self, document_id: str) -> None:
        """Read a guideline anew when it is next needed."""
        self._read.pop(document_id, None)

    def all(self, scope: Scope) -> tuple[Guideline, ...]:
        """The current guidelines that may be seen; a document that was tagged as one and is none stops nobody."""
        guidelines = []
        for entry in self.entries(scope):
            with suppress(InputError):
                guidelines.append(self._of(entry, scope))
        return tuple(sorted(guidelines, key=order))

    def assess(self, patient: PatientInput, *, scope: Scope, only: Sequence[str] = ()) -> Assessment:
        """Compare a patient with the guidelines of a scope."""
        guidelines = self.chosen(scope, only)
        if not any(guideline.rules for guideline in guidelines):
            names = " and ".join(guideline.name for guideline in guidelines)
            raise InputError(
                f"Patients cannot be assessed against {names}: no numbered recommendations. Add a guideline with "
                "numbered recommendations that state their criteria."
            )
        return assess(patient, guidelines)

    def replay(self, record: AuditRecord, asker: User) -> Replay:
        """Compare the patient of a record with the editions of then; nothing is recorded."""
        scope = Scope.owner(asker.tenant) if asker.is_admin else replace(asker.scope, journey=EVERY)
        try:
            guidelines = [self.guideline(document_id, scope) for document_id in editions_of(record)]
        except NotFound as error:
            raise NotFound(
                "An edition used in this assessment is no longer in the library. The record still shows what it said."
            ) from error
        return again(record, sorted(guidelines, key=order))

    def before(self, guideline: Guideline, scope: Scope) -> LibraryEntry | None:
        """The edition that this one takes the place of; an older one than that which is here is refused."""
        for known in self.all(scope):
            if known.name != guideline.name or known.entry is None:
                continue
            if is_newer(known.edition, guideline.edition):
                raise InputError(
                    f"The library already has a newer edition of {known.name} ({known.edition}) than this one "
                    f"({guideline.edition}). Nothing was changed. `citewell guidelines diff` compares two files "
                    "without adding them."
                )
            return known.entry
        return None

    # ---------------------------------------------------------------------------------------------------- the files

    def add(self, path: Path, *, replaces: str | None = None, watch: Watch = unwatched) -> AddedDocument:
        """Read a guideline and make it current in place of its older edition; what is none is refused."""
        return self.add_source(read_source(path, self.settings.limits.max_bytes), replaces=replaces, watch=watch)

    def add_source(self, source: Source, *, replaces: str | None = None, watch: Watch = unwatched) -> AddedDocument:
        """The same, of bytes in memory."""
        scope = self.owner()
        source = Source(source.data, safe_name(source.name))
        if (there := self.library.same(source, subject=None, scope=scope)) is not None:
            check_whole(self.guideline(there.id, scope))  # it may have been added as any document
            return refiled(there, filing=_filing(there), scope=scope, library=self.library)
        reader = self.reader()
        check_embedder(self.library, reader.embedder.fingerprint)
        watch(Step("reading"))
        document = parse(source, parsers=reader.parsers, limits=reader.limits)
        guideline = read(document)
        check_whole(guideline)
        if not replaces:
            self.before(guideline, scope)
        reading = reader.embedded(document, chunking=None, watch=watch)
        watch(Step("storing"))
        with self._adding:  # of two editions that come at once, one takes the place of the other
            before = self.library.entry(replaces, scope) if replaces else self.before(guideline, scope)
            return AddedDocument(
                self.library.add(source, reading, filing=_filing(before), scope=scope), was_there=False
            )

    def refresh(self, document_id: str, scope: Scope) -> Guideline:
        """File a document as a guideline if it is none yet, and read it anew; doing it twice changes nothing more.

        An older edition under another name stays in the library, and is not applied to patients any more.
        """
        self.forget(document_id)
        guideline = self.guideline(document_id, scope)
        check_whole(guideline)
        with self._adding:
            entry = self.library.entry(document_id, scope)
            if TAG not in entry.tags:
                before = self.before(guideline, scope)
                self.library.refile(document_id, filing=Filing(tags=frozenset({*entry.tags, TAG})), scope=scope)
                if before is not None:
                    self.library.refile(before.id, filing=Filing(tags=frozenset({*before.tags}) - {TAG}), scope=scope)
        return guideline

    def check(self, path: Path) -> Guideline:
        """Read a file as a guideline, and keep nothing of it."""
        reader = self.reader()
        source = read_source(path, self.settings.limits.max_bytes)
        return read(parse(source, parsers=reader.parsers, limits=reader.limits))

    def edition(self, path: Path) -> Guideline:
        """The guideline in a file; where the library holds the very file, current or not, as it is there."""
        hashed = hashlib.sha256(read_source(path, self.settings.limits.max_bytes).data).hexdigest()
        scope = self.owner()
        there = next((entry for entry in self.library.entries(scope) if _is_kept(entry, hashed)), None)
        return self.check(path) if there is None else self.guideline(there.id, scope)

    # ------------------------------------------------------------------------------------------------- the patients

    def patients(self) -> Roster:
        """The patients on file, by id, and the files that hold none."""
        return roster(self._folder)

    def patient(self, patient_id: str) -> PatientInput:
        """The patient of exactly this id."""
        return find_patient(self._folder, patient_id)

    @property
    def _folder(self) -> Path:
        return self.settings.home / "patients"

    # ------------------------------------------------------------------------------------------------- the results

    def assess_kept(
        self, patient: PatientInput, *, asker: User, only: Sequence[str] = (), is_worded: bool = False
    ) -> Kept:
        """Compare a patient with the guidelines, and put the result on record before it is given.

        Where it is asked for, the model words the reasons; what was decided is decided before.
        """
        if is_worded and not self.has_model:
            raise NoModel(NO_MODEL)
        symptoms = ". ".join(complaint.text for complaint in patient.complaints)
        assessment = self.assess(patient, scope=asker.scope, only=only)
        assessment = replace(assessment, emergency=self.emergency(symptoms))
        kept = Kept(str(uuid.uuid4()), assessment, self.word(assessment) if is_worded else None)
        record = words(assessment, kept.wording, asker, stamp=self.library.stamp(), embedder=self.library.embedder())
        outcome = KeptOutcome(kept.id, asked(assessment), asker, place=None, words=record, text=None, route=None)
        self.ask_service().ledger.keep(outcome)
        return kept

    @property
    def has_model(self) -> bool:
        """Whether there is a model that could word the reasons."""
        return self.settings.model != EXTRACTIVE

    def diff(self, old: Guideline, new: Guideline, *, asker: User) -> tuple[Diff, list[ChangedAssessment]]:
        """Two editions side by side, and the stored assessments that the second would change."""
        for edition in (old, new):
            if not edition.rules:
                raise InputError(
                    f"{edition.name} cannot be compared with another edition: it has no numbered recommendations."
                )
        return diff(old, new), list(changed_by(self._records(asker), old=old, new=new))

    def _records(self, asker: User) -> Iterator[AuditRecord]:
        audit = self.ask_service().audit
        for entry in audit.entries(asker, limit=RECORDS_LOOKED_AT):
            yield audit.read(entry.answer_id, asker)


def order(guideline: Guideline) -> tuple[str, str]:
    """By name, then title."""
    return guideline.name, guideline.title


def _is_kept(entry: LibraryEntry, hashed: str) -> bool:
    return entry.content_hash == hashed and entry.state in (LifecycleState.COMPLETED, LifecycleState.SUPERSEDED)


def _filing(before: LibraryEntry | None) -> Filing:
    """Where a guideline belongs: with the edition before it, else for everyone."""
    if before is None:
        return Filing(tags=frozenset({PUBLIC, TAG}))
    tags = None if TAG in before.tags else frozenset({*before.tags, TAG})
    return Filing(tags=tags, replaces=before.id)
