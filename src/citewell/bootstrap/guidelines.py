"""The guidelines of a library: how they come in, the assistant that reads them, and what is kept of its work."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from citewell.answer.service import AskService
from citewell.assistants.guidelines import PUBLIC, TAG, Guidelines
from citewell.assistants.guidelines.assess import Assessment, assessment_json
from citewell.assistants.guidelines.diff import Diff, diff
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.patients_on_file import Roster, find_patient, roster
from citewell.assistants.guidelines.problems import check_whole
from citewell.assistants.guidelines.read_guideline import read
from citewell.assistants.guidelines.saved_assessments import ChangedAssessment, asked, changed_by, words
from citewell.assistants.guidelines.word_reasons import Wording
from citewell.bootstrap.home import read_source
from citewell.config import Settings
from citewell.errors import NoModel
from citewell.history import AuditRecord, KeptOutcome
from citewell.ingest.library_changes import AddedDocument, check_embedder, refiled, unwatched
from citewell.ingest.parse import parse, safe_name
from citewell.ingest.read_file import FileReader, Step, Watch
from citewell.ports import Library
from citewell.types import Emergency, Filing, LibraryEntry, LifecycleState, Scope, Source, User

RECORDS_LOOKED_AT = 10_000
NO_MODEL = "No model is set up to write the summary. Assess without it, or set one up: `citewell models`."


@dataclass(frozen=True, slots=True)
class Kept:
    """An assessment and the id under which it is on record."""

    id: str
    assessment: Assessment
    wording: Wording | None = None

    def shown(self) -> dict[str, Any]:
        """As the views show it."""
        return assessment_json(self.assessment, None if self.wording is None else self.wording.shown())


class GuidelineShelf(Guidelines):
    """The assistant, with what it takes to add and check a file, to look up a patient and to keep a result."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        *,
        owner: Callable[[], Scope],
        reader: Callable[[], FileReader],
        desk: Callable[[], AskService],
        worder: Callable[[Assessment], Wording],
        emergency: Callable[[str], Emergency | None],
    ) -> None:
        super().__init__(library)
        self._settings = settings
        self._owner = owner
        self._reader = reader
        self._desk = desk
        self._worder = worder
        self._emergency = emergency

    # ---------------------------------------------------------------------------------------------------- the files

    def add(self, path: Path, *, replaces: str | None = None, watch: Watch = unwatched) -> AddedDocument:
        """Read a guideline and make it current in place of its older edition; what is none is refused."""
        return self.add_source(read_source(path, self._settings.limits.max_bytes), replaces=replaces, watch=watch)

    def add_source(self, source: Source, *, replaces: str | None = None, watch: Watch = unwatched) -> AddedDocument:
        """The same, of bytes in memory."""
        scope = self._owner()
        source = Source(source.data, safe_name(source.name))
        if (there := self.library.same(source, subject=None, scope=scope)) is not None:
            check_whole(self.guideline(there.id, scope))  # it may have been added as any document
            return refiled(there, filing=_filing(there), scope=scope, library=self.library)
        reader = self._reader()
        check_embedder(self.library, reader.embedder.fingerprint)
        watch(Step("reading"))
        document = parse(source, parsers=reader.parsers, limits=reader.limits)
        found = read(document)
        check_whole(found)
        before = self.library.entry(replaces, scope) if replaces else self.before(found, scope)
        reading = reader.embedded(document, chunking=None, watch=watch)
        watch(Step("storing"))
        return AddedDocument(self.library.add(source, reading, filing=_filing(before), scope=scope), was_there=False)

    def refresh(self, document_id: str, scope: Scope) -> Guideline:
        """File a document as a guideline if it is none yet, and read it anew; doing it twice changes nothing more."""
        self.forget(document_id)
        found = self.guideline(document_id, scope)
        check_whole(found)
        entry = self.library.entry(document_id, scope)
        if TAG not in entry.tags:
            self.library.refile(document_id, filing=Filing(tags=frozenset({*entry.tags, TAG})), scope=scope)
        return found

    def check(self, path: Path) -> Guideline:
        """Read a file as a guideline, and keep nothing of it."""
        reader = self._reader()
        source = read_source(path, self._settings.limits.max_bytes)
        return read(parse(source, parsers=reader.parsers, limits=reader.limits))

    def edition(self, path: Path) -> Guideline:
        """The guideline in a file; where the library holds the very file, current or not, as it is there."""
        hashed = hashlib.sha256(read_source(path, self._settings.limits.max_bytes).data).hexdigest()
        scope = self._owner()
        there = next((one for one in self.library.entries(scope) if _is_kept(one, hashed)), None)
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
        return self._settings.home / "patients"

    # ------------------------------------------------------------------------------------------------- the results

    def assess_kept(
        self, patient: PatientInput, *, asker: User, only: Sequence[str] = (), is_worded: bool = False
    ) -> Kept:
        """Hold a patient against the guidelines, and put the result on record before it is given.

        Where it is asked for, the model words the reasons; what was decided is decided before.
        """
        if is_worded and not self.has_model:
            raise NoModel(NO_MODEL)
        symptoms = ". ".join(one.text for one in patient.complaints)
        found = replace(self.assess(patient, scope=asker.scope, only=only), emergency=self._emergency(symptoms))
        kept = Kept(str(uuid.uuid4()), found, self._worder(found) if is_worded else None)
        told = words(found, kept.wording, asker, stamp=self.library.stamp(), embedder=self.library.embedder())
        ending = KeptOutcome(kept.id, asked(found), asker, place=None, words=told, text=None, route=None)
        self._desk().ledger.keep(ending)
        return kept

    @property
    def has_model(self) -> bool:
        """Whether there is a model that could word the reasons."""
        return self._settings.model != "extractive"

    def diff(self, old: Guideline, new: Guideline, *, asker: User) -> tuple[Diff, list[ChangedAssessment]]:
        """Two editions side by side, and the stored assessments that the second would change."""
        return diff(old, new), list(changed_by(self._records(asker), old=old, new=new))

    def _records(self, asker: User) -> Iterator[AuditRecord]:
        audit = self._desk().audit
        for entry in audit.entries(asker, limit=RECORDS_LOOKED_AT):
            yield audit.read(entry.answer_id, asker)


def _is_kept(entry: LibraryEntry, hashed: str) -> bool:
    return entry.content_hash == hashed and entry.state in (LifecycleState.COMPLETED, LifecycleState.SUPERSEDED)


def _filing(before: LibraryEntry | None) -> Filing:
    """Where a guideline belongs: with the edition before it, else for everyone."""
    if before is None:
        return Filing(tags=frozenset({PUBLIC, TAG}))
    tags = None if TAG in before.tags else frozenset({*before.tags, TAG})
    return Filing(tags=tags, replaces=before.id)
