"""What is known of one person: Facts, and what a change of them came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


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
