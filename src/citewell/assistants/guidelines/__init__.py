"""Clinical guidelines that apply themselves to a patient: rules read from the library, held against a record."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from citewell.answer.replay import Replay
from citewell.assistants.guidelines.assess import Assessment, assess
from citewell.assistants.guidelines.editions import is_newer
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import Complaint, PatientInput
from citewell.assistants.guidelines.read_guideline import read
from citewell.assistants.guidelines.saved_assessments import again, editions_of
from citewell.errors import InputError, NotFound
from citewell.history import AuditRecord
from citewell.ports import Library
from citewell.types import EVERY, LibraryEntry, LifecycleState, Scope, User

TAG = "guideline"
"""Documents with this tag are read as guidelines."""
PUBLIC = "public"
NOBODY = PatientInput("nobody", complaints=(Complaint("none"),))


class Guidelines:
    """The assistant: the guidelines of a library, read when first needed."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._read: dict[str, Guideline] = {}

    def entries(self, scope: Scope) -> list[LibraryEntry]:
        """The current guidelines that may be seen."""
        library_entries = self.library.entries(scope)
        return [
            library_entry
            for library_entry in library_entries
            if TAG in library_entry.tags
            and library_entry.is_current
            and library_entry.state is LifecycleState.COMPLETED
        ]

    def guideline(self, document_id: str, scope: Scope) -> Guideline:
        """One guideline, by the id of its document; the scope is asked every time, the text read once."""
        return self._of(self.library.entry(document_id, scope), scope)

    def _of(self, entry: LibraryEntry, scope: Scope) -> Guideline:
        """The guideline of an entry that the scope was asked for."""
        if entry.id not in self._read:
            guideline = replace(read(self.library.opened(entry.id, scope)[1]), entry=entry)
            assess(NOBODY, [guideline])  # so that the first patient does not wait for patterns to be compiled
            self._read[entry.id] = guideline
            gc.collect()  # what reading leaves behind is cleared away here, and not while a patient waits
        return self._read[entry.id]

    def chosen(self, scope: Scope, only: Sequence[str] = ()) -> tuple[Guideline, ...]:
        """The guidelines of these documents, or all that may be seen."""
        guidelines = tuple(self.guideline(one, scope) for one in only) or self.all(scope)
        if not guidelines:
            raise NotFound("No guidelines yet. Add one with `citewell guidelines add FILE`.")
        return tuple(sorted(guidelines, key=_order))

    def forget(self, document_id: str) -> None:
        """Read a guideline anew when it is next needed."""
        self._read.pop(document_id, None)

    def all(self, scope: Scope) -> tuple[Guideline, ...]:
        """The current guidelines that may be seen; a document that was tagged as one and is none stops nobody."""
        guidelines = []
        for entry in self.entries(scope):
            with suppress(InputError):
                guidelines.append(self._of(entry, scope))
        return tuple(sorted(guidelines, key=_order))

    def assess(self, patient: PatientInput, *, scope: Scope, only: Sequence[str] = ()) -> Assessment:
        """Hold a patient against the guidelines of a scope."""
        return assess(patient, self.chosen(scope, only))

    def replay(self, record: AuditRecord, asker: User) -> Replay:
        """Hold the patient of a record against the editions of then; nothing is recorded."""
        scope = Scope.owner(asker.tenant) if asker.is_admin else replace(asker.scope, journey=EVERY)
        try:
            guidelines = [self.guideline(one, scope) for one in editions_of(record)]
        except NotFound as error:
            raise NotFound(
                "An edition this patient was compared with is no longer in the library. The record still shows what "
                "it said."
            ) from error
        return again(record, sorted(guidelines, key=_order))

    def before(self, guideline: Guideline, scope: Scope) -> LibraryEntry | None:
        """The edition that this one takes the place of; an older one than that which is here is refused."""
        for known in self.all(scope):
            if known.name != guideline.name or known.entry is None:
                continue
            if is_newer(known.edition, guideline.edition):
                raise InputError(
                    f"The library already has {known.name} of {known.edition}, which is newer than this one of "
                    f"{guideline.edition}. Nothing was changed. `citewell guidelines diff` compares two files without "
                    "adding them."
                )
            return known.entry
        return None


def _order(guideline: Guideline) -> tuple[str, str]:
    return guideline.name, guideline.title
