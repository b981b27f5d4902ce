"""The values that facts are made of: dates as exactly as they are known, where a fact comes from, closed lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum

from citewell.errors import InputError

_MOMENT = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


@dataclass(frozen=True, slots=True, order=True)
class PartialDate:
    """A date as exactly as it is known: a year, a month, a day, or a time with its zone.

    >>> PartialDate("2015-03").at.isoformat(), PartialDate("2015-03-12T04:46:42-08:00").day
    ('2015-03-01T00:00:00+00:00', datetime.date(2015, 3, 12))
    """

    text: str = field(compare=False)
    at: datetime = field(init=False, repr=False)
    """Its beginning, aware."""

    def __post_init__(self) -> None:
        try:
            if _MOMENT.fullmatch(self.text):
                at = datetime.fromisoformat((self.text + "-01-01")[:10]).replace(tzinfo=UTC)
            else:
                at = datetime.fromisoformat(self.text)
            if at.tzinfo is None:
                raise InputError("A time needs its time zone, such as 2015-03-12T04:46:42+00:00.")
            at.astimezone(UTC)  # the first and the last days there are have no such time
        except (ValueError, OverflowError) as error:
            raise InputError("Enter a date as 2015, 2015-03 or 2015-03-12, or with a time and time zone.") from error
        object.__setattr__(self, "at", at)

    @classmethod
    def now(cls) -> PartialDate:
        """The present."""
        return cls(datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def day(self) -> date:
        """The day where it was."""
        return self.at.date()


class FactOrigin(StrEnum):
    """How a fact came into the record."""

    DOCUMENT = "document_extracted"
    PATIENT = "patient_reported"
    CHECKIN = "guided_checkin"
    FREE_TEXT = "free_text"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fact comes from: a document with the span of its words, if it has them, or the person."""

    via: FactOrigin
    document_id: str | None = None
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        has_start, has_end = self.start is not None, self.end is not None
        is_read = self.via is FactOrigin.DOCUMENT
        if is_read != (self.document_id is not None) or has_start != has_end or (has_start and not is_read):
            raise InputError(
                "A fact read from a document needs the document's ID. A fact you add yourself must not have one."
            )


REPORTED = Origin(FactOrigin.PATIENT)


class FrequencyType(StrEnum):
    """How a medicine is taken."""

    SCHEDULED = "scheduled"
    AS_NEEDED = "as_needed"
    TAPERING = "tapering"


class MedicationStatus(StrEnum):
    """Whether a medicine is taken now."""

    ACTIVE = "active"
    STOPPED = "stopped"
    PAUSED = "paused"


class Flag(StrEnum):
    """How a result stands against its range."""

    NORMAL = "normal"
    LOW = "low"
    HIGH = "high"
    CRITICAL_LOW = "critical_low"
    CRITICAL_HIGH = "critical_high"


class ResultCategory(StrEnum):
    """What kind of observation a result is (the codes of HL7's observation-category)."""

    SOCIAL_HISTORY = "social-history"
    VITAL_SIGNS = "vital-signs"
    IMAGING = "imaging"
    LABORATORY = "laboratory"
    PROCEDURE = "procedure"
    SURVEY = "survey"
    EXAM = "exam"
    THERAPY = "therapy"
    ACTIVITY = "activity"


class DiagnosisStatus(StrEnum):
    """Whether a diagnosis holds now."""

    ACTIVE = "active"
    RESOLVED = "resolved"
    MONITORING = "monitoring"


class Severity(StrEnum):
    """How bad an allergic reaction is."""

    MILD = "mild"
    MODERATE = "moderate"
    SEVERE = "severe"
    LIFE_THREATENING = "life_threatening"


class VisitStatus(StrEnum):
    """Whether an appointment, a procedure or a referral took place."""

    PLANNED = "planned"
    DONE = "done"
    CANCELLED = "cancelled"
