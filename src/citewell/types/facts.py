"""Clinical facts about one person: closed values, aware dates, and for each the words that it was read from."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import ClassVar

from citewell.errors import InputError
from citewell.types.codes import LOINC, Code, is_loinc
from citewell.types.fact_values import (
    REPORTED,
    DiagnosisStatus,
    FactOrigin,
    Flag,
    FrequencyType,
    MedicationStatus,
    Origin,
    PartialDate,
    ResultCategory,
    Severity,
    VisitStatus,
)


@dataclass(frozen=True, slots=True)
class DoseChange:
    """Another dose from a day on."""

    dose: str
    on: PartialDate | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TaperStep:
    """One step of a dose that is taken down."""

    dose: str
    days: int


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One substance of a medicine."""

    name: str
    strength: str | None = None


@dataclass(frozen=True, slots=True)
class ResultPart:
    """One value of a result that has several, such as a blood pressure."""

    test_name: str
    code: str | None = None
    value: float | None = None
    value_text: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class PersonDetail:
    """Something that a file says about the person besides name and birth: a number, an address, whom to call."""

    label: str
    value: str


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
    "FactOrigin",
    "Flag",
    "FrequencyType",
    "Ingredient",
    "LabResult",
    "Medication",
    "MedicationStatus",
    "Origin",
    "PartialDate",
    "PersonDetail",
    "Procedure",
    "Professional",
    "RecordOwner",
    "Referral",
    "ResultCategory",
    "ResultPart",
    "Severity",
    "Symptom",
    "TaperStep",
    "Vaccination",
    "VisitStatus",
    "codes_of",
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
    codes: tuple[Code, ...] = ()
    """All codes that the source gives for it, where it says which terminology they are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOwner(Fact):
    """Whom the record is about."""

    kind: ClassVar[str] = "person"

    name: str
    born: PartialDate | None = None
    died: PartialDate | None = None
    sex: str | None = None
    details: tuple[PersonDetail, ...] = ()


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
    start: PartialDate | None = None
    end: PartialDate | None = None
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
    collected: PartialDate | None = None
    facility: str | None = None
    ordered_by: str | None = None
    panel: str | None = None
    """The test that it is a part of, such as a blood count."""
    parts: tuple[ResultPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Fact):
    """A condition that somebody found."""

    kind: ClassVar[str] = "diagnosis"

    name: str
    code: str | None = None
    dated: PartialDate | None = None
    ended: PartialDate | None = None
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
    since: PartialDate | None = None
    is_active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom(Fact):
    """What the person felt."""

    kind: ClassVar[str] = "symptom"

    specific: str
    category: str | None = None
    severity: int
    body_region: str | None = None
    onset: PartialDate | None = None
    recorded: PartialDate
    still_active: bool = True
    resolved: PartialDate | None = None
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
    performed: PartialDate | None = None
    ended: PartialDate | None = None
    by: str | None = None
    reason: str | None = None
    status: VisitStatus = VisitStatus.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Vaccination(Fact):
    """A vaccine that was given."""

    kind: ClassVar[str] = "vaccination"

    name: str
    code: str | None = None
    given: PartialDate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Appointment(Fact):
    """A visit, past or to come."""

    kind: ClassVar[str] = "appointment"

    name: str
    at: PartialDate | None = None
    ended: PartialDate | None = None
    professional: str | None = None
    institution: str | None = None
    reason: str | None = None
    status: VisitStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Referral(Fact):
    """Somebody was asked to see the person."""

    kind: ClassVar[str] = "referral"

    name: str
    dated: PartialDate | None = None
    by: str | None = None
    to: str | None = None
    reason: str | None = None
    status: VisitStatus


KINDS: dict[str, type[Fact]] = {
    one.kind: one
    for one in (
        RecordOwner,
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


def codes_of(fact: Fact) -> tuple[Code, ...]:
    """The codes of a fact; one that was read before terminologies were kept has a bare code at most."""
    bare = getattr(fact, "code", None)
    if fact.codes or bare is None:
        return fact.codes
    return (Code(LOINC if is_loinc(bare) else "", bare),)


def professional_id(name: str) -> str:
    """One id for one name, however it is spaced or capitalised."""
    return fact_id("professional", " ".join(name.casefold().split()))
