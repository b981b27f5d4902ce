"""Clinical facts about one person: closed values, aware dates, and for each the words that it was read from."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import ClassVar

from citewell.errors import InputError
from citewell.types.fact_parts import DoseChange, Ingredient, ResultPart, TaperStep
from citewell.types.fact_values import (
    REPORTED,
    DiagnosisStatus,
    Flag,
    FrequencyType,
    MedicationStatus,
    Moment,
    Origin,
    ResultCategory,
    Severity,
    Via,
    VisitStatus,
)

__all__ = [
    "FACT_NAMESPACE",
    "KINDS",
    "NO_KNOWN",
    "REPORTED",
    "Allergy",
    "Appointment",
    "Diagnosis",
    "DiagnosisStatus",
    "DoseChange",
    "Fact",
    "Flag",
    "FrequencyType",
    "Ingredient",
    "LabResult",
    "Medication",
    "MedicationStatus",
    "Moment",
    "Origin",
    "Person",
    "Procedure",
    "Professional",
    "Referral",
    "ResultCategory",
    "ResultPart",
    "Severity",
    "Symptom",
    "TaperStep",
    "Vaccination",
    "Via",
    "VisitStatus",
    "fact_id",
    "professional_id",
]

FACT_NAMESPACE = uuid.UUID("5b0a5bf3-6f0e-5d0c-9f60-3a5d9e1d7c55")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What all facts share."""

    kind: ClassVar[str]

    id: str
    origin: Origin
    is_verified: bool = True
    """False until a person has looked at what was guessed from a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(Fact):
    """Whom the record is about."""

    kind: ClassVar[str] = "person"

    name: str
    born: Moment | None = None
    died: Moment | None = None
    sex: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Professional(Fact):
    """Somebody who treats the person."""

    kind: ClassVar[str] = "professional"

    name: str
    specialty: str | None = None
    institution: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Medication(Fact):
    """A medicine that the person takes or took."""

    kind: ClassVar[str] = "medication"

    generic_name: str
    brand_name: str | None = None
    code: str | None = None
    dose: str | None = None
    frequency: str | None = None
    frequency_type: FrequencyType | None = None
    route: str | None = None
    prescriber: str | None = None
    start: Moment | None = None
    end: Moment | None = None
    reason_start: str | None = None
    reason_stop: str | None = None
    over_the_counter: bool = False
    status: MedicationStatus = MedicationStatus.ACTIVE
    instructions: str | None = None
    max_daily_dose: str | None = None
    condition: str | None = None
    dose_changes: tuple[DoseChange, ...] = ()
    taper: tuple[TaperStep, ...] = ()
    ingredients: tuple[Ingredient, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabResult(Fact):
    """A laboratory result, a vital sign or another observation."""

    kind: ClassVar[str] = "result"

    test_name: str
    code: str | None = None
    category: ResultCategory | None = None
    value: float | None = None
    value_text: str | None = None
    unit: str | None = None
    range_low: float | None = None
    range_high: float | None = None
    flag: Flag | None = None
    collected: Moment | None = None
    facility: str | None = None
    ordered_by: str | None = None
    parts: tuple[ResultPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Fact):
    """A condition that somebody found."""

    kind: ClassVar[str] = "diagnosis"

    name: str
    code: str | None = None
    dated: Moment | None = None
    ended: Moment | None = None
    by: str | None = None
    status: DiagnosisStatus


NO_KNOWN = frozenset({"716186003", "409137002", "428607008", "429625007", "160244002"})
"""SNOMED CT: no known allergies, to drugs, to the environment, to food. To say so is not the same as to say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allergy(Fact):
    """Something that the person must not get."""

    kind: ClassVar[str] = "allergy"

    allergen: str
    code: str | None = None
    reaction: str | None = None
    severity: Severity | None = None
    since: Moment | None = None
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom(Fact):
    """What the person felt."""

    kind: ClassVar[str] = "symptom"

    specific: str
    category: str | None = None
    severity: int
    body_region: str | None = None
    onset: Moment | None = None
    recorded: Moment
    still_active: bool = True
    resolved: Moment | None = None
    medication_id: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.severity <= 5:
            raise InputError("Enter the severity of a symptom from 1 (mild) to 5 (worst).")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure(Fact):
    """Something that was done."""

    kind: ClassVar[str] = "procedure"

    name: str
    code: str | None = None
    performed: Moment | None = None
    ended: Moment | None = None
    by: str | None = None
    reason: str | None = None
    status: VisitStatus = VisitStatus.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Vaccination(Fact):
    """A vaccine that was given."""

    kind: ClassVar[str] = "vaccination"

    name: str
    code: str | None = None
    given: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Appointment(Fact):
    """A visit, past or to come."""

    kind: ClassVar[str] = "appointment"

    name: str
    at: Moment | None = None
    ended: Moment | None = None
    professional: str | None = None
    institution: str | None = None
    reason: str | None = None
    status: VisitStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Referral(Fact):
    """Somebody was asked to see the person."""

    kind: ClassVar[str] = "referral"

    name: str
    dated: Moment | None = None
    by: str | None = None
    to: str | None = None
    reason: str | None = None
    status: VisitStatus


KINDS: dict[str, type[Fact]] = {
    one.kind: one
    for one in (
        Person,
        Professional,
        Medication,
        Allergy,
        Diagnosis,
        LabResult,
        Procedure,
        Vaccination,
        Symptom,
        Appointment,
        Referral,
    )
}


def fact_id(*parts: str) -> str:
    """The id of what these parts name: the same every time that it is read.

    >>> fact_id("fhir", "Condition", "1") == fact_id("fhir", "Condition", "1") != fact_id("fhir", "Condition", "2")
    True
    """
    return str(uuid.uuid5(FACT_NAMESPACE, "\x1f".join(parts)))


def professional_id(name: str) -> str:
    """One id for one name, however it is spaced or capitalised."""
    return fact_id("professional", " ".join(name.casefold().split()))
