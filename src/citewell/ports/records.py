"""What is known of one person: Facts, and what a change of them came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol

from citewell.types import Scope
from citewell.types.facts import Allergy, Fact, LabResult, Medication, Symptom


@dataclass(frozen=True, slots=True)
class FactCounts:
    """How many facts were new, were read otherwise than before, or were there already."""

    added: int = 0
    changed: int = 0
    same: int = 0

    def __add__(self, other: FactCounts) -> FactCounts:
        return FactCounts(self.added + other.added, self.changed + other.changed, self.same + other.same)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file of an export."""

    name: str
    is_read: bool
    said: str


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """What a person has set for their record; None is as the server is set."""

    lock_minutes: int | None = None
    language: Literal["en", "fr", "de"] | None = None
    """In which language our own words are; None is that of the question."""
    model: str | None = None


class PaperKind(StrEnum):
    """The kinds of paper."""

    PRESCRIPTION = "prescription"
    LAB_RESULT = "lab_result"
    CLINICAL_NOTE = "clinical_note"
    DISCHARGE_SUMMARY = "discharge_summary"
    RADIOLOGY_REPORT = "radiology_report"
    PHARMACY_RECORD = "pharmacy_record"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Paper:
    """A document of a record, as a person sorts it."""

    kind: PaperKind
    professional: str | None = None
    ocr_confidence: float | None = None
    """How sure OCR was of its words; None where nothing had to be read from a picture."""
    is_verified: bool = False
    """Whether the person has said that the kind is right."""


class FactStore(Protocol):
    """The facts of a person; those that they rejected are not there."""

    def put(self, facts: Sequence[Fact], *, scope: Scope) -> FactCounts:
        """Keep facts by their ids, all or none; what a person corrected or rejected stays so."""
        ...

    def all(self, scope: Scope, *, kind: str | None = None) -> list[Fact]:
        """Every fact, or those of one kind, newest first."""
        ...

    def remembered(self, scope: Scope) -> Sequence[Fact]:
        """The same, from memory while no fact has changed."""
        ...

    def one(self, fact_id: str, scope: Scope) -> Fact:
        """One fact by its id."""
        ...

    def active_medications(self, scope: Scope) -> list[Medication]:
        """What is taken now."""
        ...

    def medications_named(self, name: str, scope: Scope) -> list[Medication]:
        """Every medicine, past ones too, of this generic, brand or ingredient name."""
        ...

    def latest_results(self, scope: Scope) -> list[LabResult]:
        """The newest result of every test, however old it is."""
        ...

    def trend(self, test: str, scope: Scope) -> list[LabResult]:
        """All results of a test by its name or code, oldest first; of a panel, the part that is meant."""
        ...

    def critical_results(self, scope: Scope) -> list[LabResult]:
        """Results that were flagged critical, newest first."""
        ...

    def allergies(self, scope: Scope) -> list[Allergy]:
        """Allergies that hold now."""
        ...

    def no_known_allergies(self, scope: Scope) -> list[Allergy]:
        """Where the record says in so many words that there are none, which an empty list does not say."""
        ...

    def symptoms(
        self,
        scope: Scope,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        medication_id: str | None = None,
    ) -> list[Symptom]:
        """Symptoms in a range of time, or noted with a medicine, newest first."""
        ...

    def unverified(self, scope: Scope) -> list[Fact]:
        """What waits for a person to confirm, correct or reject it."""
        ...
