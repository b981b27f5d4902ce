"""Writes a record as an International Patient Summary: a FHIR R4 document in the sections that doctors look for."""

from __future__ import annotations

import html
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.adapters.records.bundle import url_of, written
from citewell.adapters.records.fhir_write import TERMINOLOGY, WRITERS, Json
from citewell.adapters.records.person_names import NO_NAME
from citewell.types.codes import LOINC, SNOMED
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    RecordOwner,
    ResultCategory,
    Vaccination,
    VisitStatus,
)
from citewell.types.facts_line import line_of

SYSTEM = "urn:citewell:summary"
PROFILES = "http://hl7.org/fhir/uv/ips/StructureDefinition"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
SUMMARY = ("60591-5", "Patient summary Document")
UNKNOWN_DAY: Json = {"extension": [{"url": ABSENT, "valueCode": "unknown"}]}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the summary, and which facts stand in it."""

    title: str
    code: str
    display: str
    holds: Callable[[Fact], bool]
    is_required: bool = False


def _is_result(fact: Fact, *categories: ResultCategory | None) -> bool:
    return isinstance(fact, LabResult) and fact.category in categories


SECTIONS = (
    Section(
        "Medicines",
        "10160-0",
        "History of Medication use Narrative",
        lambda fact: isinstance(fact, Medication) and fact.status is not MedicationStatus.STOPPED,
        is_required=True,
    ),
    Section(
        "Allergies",
        "48765-2",
        "Allergies and adverse reactions Document",
        lambda fact: isinstance(fact, Allergy) and (fact.is_active or fact.code in NO_KNOWN),
        is_required=True,
    ),
    Section(
        "Conditions",
        "11450-4",
        "Problem list - Reported",
        lambda fact: isinstance(fact, Diagnosis) and fact.status is not DiagnosisStatus.RESOLVED,
        is_required=True,
    ),
    Section("Vaccinations", "11369-6", "History of Immunization Narrative", lambda fact: isinstance(fact, Vaccination)),
    Section(
        "Results",
        "30954-2",
        "Relevant diagnostic tests/laboratory data Narrative",
        lambda fact: _is_result(fact, ResultCategory.LABORATORY, None),
    ),
    Section(
        "Procedures",
        "47519-4",
        "History of Procedures Document",
        lambda fact: isinstance(fact, Procedure) and fact.status is VisitStatus.DONE,
    ),
    Section("Vital signs", "8716-3", "Vital signs", lambda fact: _is_result(fact, ResultCategory.VITAL_SIGNS)),
    Section(
        "Past conditions",
        "11348-0",
        "History of Past illness Narrative",
        lambda fact: isinstance(fact, Diagnosis) and fact.status is DiagnosisStatus.RESOLVED,
    ),
    Section(
        "Social history",
        "29762-2",
        "Social history Narrative",
        lambda fact: _is_result(fact, ResultCategory.SOCIAL_HISTORY),
    ),
)
PROFILE_OF = {
    Medication.kind: "MedicationStatement-uv-ips",
    Allergy.kind: "AllergyIntolerance-uv-ips",
    Diagnosis.kind: "Condition-uv-ips",
    Vaccination.kind: "Immunization-uv-ips",
    Procedure.kind: "Procedure-uv-ips",
}


def write_summary(record_id: str, facts: Sequence[Fact]) -> bytes:
    """The facts that a doctor elsewhere needs first, with the newest result of each test."""
    at = PartialDate.now().text
    owner = next((fact for fact in facts if isinstance(fact, RecordOwner)), None)
    patient = _patient(owner, record_id)
    author = {
        "resourceType": "Device",
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{SYSTEM}:{record_id}:author")),
        "deviceName": [{"name": "Citewell", "type": "user-friendly-name"}],
    }
    subject = {"reference": url_of(patient)}
    kept = _newest(facts)
    sections, resources = [], list[Json]()
    for section in SECTIONS:
        held = [fact for fact in kept if section.holds(fact)]
        if held or section.is_required:
            made = [_resource(fact, subject) for fact in held]
            resources += made
            sections.append(_section(section, held, made))
    composition = {
        "resourceType": "Composition",
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{SYSTEM}:{record_id}")),
        "meta": {"profile": [f"{PROFILES}/Composition-uv-ips"]},
        "text": _narrative(["Patient summary"]),
        "status": "final",
        "type": _coding(LOINC, *SUMMARY),
        "subject": subject,
        "date": at,
        "author": [{"reference": url_of(author)}],
        "title": "Patient summary",
        "section": sections,
    }
    return written("document", (SYSTEM, str(uuid.uuid4())), at, [composition, patient, author, *resources])


def _newest(facts: Sequence[Fact]) -> list[Fact]:
    """The facts without older results of a test that has a newer one."""
    newest: dict[tuple[str, str], LabResult] = {}
    for fact in facts:
        if isinstance(fact, LabResult):
            key = (fact.test_name.casefold(), fact.unit or "")
            before = newest.get(key)
            if before is None or _day(fact) >= _day(before):
                newest[key] = fact
    results = {fact.id for fact in newest.values()}
    return [fact for fact in facts if not isinstance(fact, LabResult) or fact.id in results]


def _day(result: LabResult) -> float:
    return result.collected.at.timestamp() if result.collected else 0


def _patient(owner: RecordOwner | None, record_id: str) -> Json:
    """The person; a summary has to give a name and a birth date, or to say that they are not known."""
    fields = WRITERS[RecordOwner.kind](owner, {})[1] if owner is not None else {}
    told = {name: value for name, value in fields.items() if value is not None}
    missing: Json = {} if "birthDate" in told else {"_birthDate": UNKNOWN_DAY}
    told.setdefault("name", [{"text": NO_NAME}])
    name = owner.id if owner is not None else str(uuid.uuid5(uuid.NAMESPACE_URL, f"{SYSTEM}:{record_id}:patient"))
    profile = {"meta": {"profile": [f"{PROFILES}/Patient-uv-ips"]}}
    return {"resourceType": "Patient", "id": name, **profile, **told, **missing}


def _section(section: Section, held: Sequence[Fact], made: Sequence[Json]) -> Json:
    lines = [line_of(fact) for fact in held] or [
        "This record says nothing about it, which does not mean that there is none."
    ]
    base = {"title": section.title, "code": _coding(LOINC, section.code, section.display), "text": _narrative(lines)}
    if made:
        return {**base, "entry": [{"reference": url_of(resource)} for resource in made]}
    reason = {"system": f"{TERMINOLOGY}/list-empty-reason", "code": "unavailable", "display": "Unavailable"}
    return {**base, "emptyReason": {"coding": [reason]}}


def _resource(fact: Fact, subject: Json) -> Json:
    kind, fields = WRITERS[fact.kind](fact, subject)
    told = {name: value for name, value in fields.items() if value not in (None, [], {})}
    told |= _required(fact, told)
    profile = PROFILE_OF.get(fact.kind)
    meta = {"meta": {"profile": [f"{PROFILES}/{profile}"]}} if profile else {}
    return {"resourceType": kind, "id": fact.id, **meta, "text": _narrative([line_of(fact)]), **told}


def _required(fact: Fact, told: Json) -> Json:
    """What a summary must say, where a record does not know it, and the codes that are certain."""
    if isinstance(fact, Medication) and "effectivePeriod" not in told:
        return {"_effectiveDateTime": UNKNOWN_DAY}
    if isinstance(fact, Procedure) and "performedPeriod" not in told:
        return {"_performedDateTime": UNKNOWN_DAY}
    if isinstance(fact, Allergy) and fact.code in NO_KNOWN:
        code = {"coding": [{"system": SNOMED, "code": fact.code, "display": fact.allergen}], "text": fact.allergen}
        return {"code": code, "clinicalStatus": _clinical("active")}
    if isinstance(fact, LabResult):
        return dict(_of_result(told))
    return {}


def _of_result(told: Json) -> Iterator[tuple[str, Any]]:
    if "effectiveDateTime" not in told:
        yield "_effectiveDateTime", UNKNOWN_DAY
    if not {"valueQuantity", "valueString", "component"} & told.keys():
        yield "dataAbsentReason", _coding(f"{TERMINOLOGY}/data-absent-reason", "unknown", "Unknown")


def _clinical(code: str) -> Json:
    return {"coding": [{"system": f"{TERMINOLOGY}/allergyintolerance-clinical", "code": code}]}


def _coding(system: str, code: str, display: str) -> Json:
    return {"coding": [{"system": system, "code": code, "display": display}]}


def _narrative(lines: Sequence[str]) -> Json:
    items = "".join(f"<li>{html.escape(' '.join(line.split()), quote=False)}</li>" for line in lines)
    return {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml"><ul>{items}</ul></div>'}
