"""Writes a record as a FHIR R4 bundle that others can read, and that is read again here as the same record."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from citewell.adapters.records.bundle import DOCUMENT_EXTENSION, FACT_EXTENSION, RECORD_SYSTEM, written
from citewell.types import LibraryEntry, Source
from citewell.types.codes import LOINC, Code, is_loinc
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    Flag,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    ResultPart,
    Severity,
    Symptom,
    Vaccination,
    VisitStatus,
    codes_of,
)
from citewell.types.facts_json import fact_json
from citewell.types.facts_line import line_of

Json = dict[str, Any]
TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"
MEDICATION_STATES = {
    MedicationStatus.ACTIVE: "active",
    MedicationStatus.STOPPED: "stopped",
    MedicationStatus.PAUSED: "on-hold",
}
CONDITION_STATES = {
    DiagnosisStatus.ACTIVE: "active",
    DiagnosisStatus.RESOLVED: "resolved",
    DiagnosisStatus.MONITORING: "remission",
}
VISIT_STATES = {
    "Procedure": {VisitStatus.PLANNED: "preparation", VisitStatus.DONE: "completed", VisitStatus.CANCELLED: "not-done"},
    "Encounter": {VisitStatus.PLANNED: "planned", VisitStatus.DONE: "finished", VisitStatus.CANCELLED: "cancelled"},
    "ServiceRequest": {VisitStatus.PLANNED: "active", VisitStatus.DONE: "completed", VisitStatus.CANCELLED: "revoked"},
}
FLAGS = {
    Flag.NORMAL: "N",
    Flag.LOW: "L",
    Flag.HIGH: "H",
    Flag.CRITICAL_LOW: "LL",
    Flag.CRITICAL_HIGH: "HH",
}


def write_bundle(record_id: str, facts: Sequence[Fact], papers: Iterable[tuple[LibraryEntry, Source]]) -> bytes:
    """All facts, each whole in an extension beside what FHIR has fields for, and the documents they were read from."""
    people = [fact.id for fact in facts if isinstance(fact, RecordOwner)]
    subject = {"reference": f"urn:uuid:{people[0]}"} if people else {"display": "the person of this record"}
    resources = [_resource(fact, subject) for fact in facts]
    resources += [_paper(entry, source, subject) for entry, source in papers]
    return written("collection", (RECORD_SYSTEM, record_id), PartialDate.now().text, resources)


def _resource(fact: Fact, subject: Json) -> Json:
    kind, fields = WRITERS[fact.kind](fact, subject)
    whole = {"url": FACT_EXTENSION, "valueString": json.dumps(fact_json(fact), ensure_ascii=False, sort_keys=True)}
    entry = {name: value for name, value in fields.items() if value not in (None, [], {})}
    return {"resourceType": kind, "id": fact.id, "extension": [whole], **entry}


def _paper(entry: LibraryEntry, source: Source, subject: Json) -> Json:
    attachment = {
        "contentType": entry.media_type,
        "data": base64.b64encode(source.data).decode(),
        "title": source.name,
        "creation": entry.added_at.isoformat(),
    }
    return {
        "resourceType": "DocumentReference",
        "id": entry.id,
        "extension": [{"url": DOCUMENT_EXTENSION, "valueString": entry.id}],
        "status": "current",
        "subject": subject,
        "description": entry.title,
        "content": [{"attachment": attachment}],
    }


# Each writer is given the facts of its own kind alone.


def _person(fact: Any, _subject: Json) -> tuple[str, Json]:
    born = fact.born.text[:10] if fact.born else None
    died = fact.died.text if fact.died else None
    return "Patient", {"name": [{"text": fact.name}], "birthDate": born, "deceasedDateTime": died, "gender": fact.sex}


def _professional(fact: Any, _subject: Json) -> tuple[str, Json]:
    skills = [{"code": {"text": fact.specialty}}] if fact.specialty else []
    return "Practitioner", {"name": [{"text": fact.name}], "qualification": skills}


def _medication(fact: Any, subject: Json) -> tuple[str, Json]:
    name = " ".join(part for part in (fact.generic_name, fact.dose) if part)
    brand = f" [{fact.brand_name}]" if fact.brand_name else ""
    return "MedicationStatement", {
        "status": MEDICATION_STATES[fact.status],
        "medicationCodeableConcept": concept(name + brand, fact.codes),
        "subject": subject,
        "effectivePeriod": _period(fact.start, fact.end),
        "reasonCode": _concepts(fact.reason_start),
        "dosage": [{"text": line_of(fact).partition(": ")[2]}],
    }


def _allergy(fact: Any, subject: Json) -> tuple[str, Json]:
    severity = {Severity.LIFE_THREATENING: "severe", None: None}.get(fact.severity, fact.severity)
    reaction = {"manifestation": _concepts(fact.reaction), "severity": severity}
    return "AllergyIntolerance", {
        "clinicalStatus": _coded("allergyintolerance-clinical", "active" if fact.is_active else "inactive"),
        "verificationStatus": _coded("allergyintolerance-verification", _sure(fact)),
        "code": concept(fact.allergen, fact.codes),
        "patient": subject,
        "onsetDateTime": _text(fact.since),
        "reaction": [{name: value for name, value in reaction.items() if value}] if fact.reaction else [],
    }


def _diagnosis(fact: Any, subject: Json) -> tuple[str, Json]:
    return "Condition", {
        "clinicalStatus": _coded("condition-clinical", CONDITION_STATES[fact.status]),
        "verificationStatus": _coded("condition-ver-status", _sure(fact)),
        "code": concept(fact.name, fact.codes),
        "subject": subject,
        "onsetDateTime": _text(fact.dated),
        "abatementDateTime": None if fact.status is DiagnosisStatus.ACTIVE else _text(fact.ended),
        "recorder": {"display": fact.by} if fact.by else None,
    }


def _result(fact: Any, subject: Json) -> tuple[str, Json]:
    limits = {"low": fact.range_low, "high": fact.range_high}
    band = {side: {"value": value} for side, value in limits.items() if value is not None}
    category = _coded("observation-category", fact.category) if fact.category else None
    return "Observation", {
        "status": "final" if fact.is_verified else "preliminary",
        "category": [category] if category else [],
        "code": concept(fact.test_name, codes_of(fact)),
        "subject": subject,
        "effectiveDateTime": _text(fact.collected),
        **_value(fact),
        "interpretation": [_coded("v3-ObservationInterpretation", FLAGS[fact.flag])] if fact.flag else [],
        "referenceRange": [band] if band else [],
        "component": [{"code": _of_part(part), **_value(part)} for part in fact.parts],
    }


def _value(one: LabResult | ResultPart) -> Json:
    if one.value is not None:
        return {"valueQuantity": {"value": one.value, **({"unit": one.unit} if one.unit else {})}}
    return {"valueString": one.value_text} if one.value_text else {}


def _symptom(fact: Any, subject: Json) -> tuple[str, Json]:
    return "Observation", {
        "status": "final",
        "category": [_coded("observation-category", "survey")],
        "code": {"text": f"Symptom: {fact.specific}"},
        "subject": subject,
        "effectiveDateTime": _text(fact.recorded),
        "valueString": line_of(fact).partition(": ")[2],
    }


def _procedure(fact: Any, subject: Json) -> tuple[str, Json]:
    return "Procedure", {
        "status": VISIT_STATES["Procedure"][fact.status],
        "code": concept(fact.name, fact.codes),
        "subject": subject,
        "performedPeriod": _period(fact.performed, fact.ended),
        "performer": [{"actor": {"display": fact.by}}] if fact.by else [],
        "reasonCode": _concepts(fact.reason),
    }


def _vaccination(fact: Any, subject: Json) -> tuple[str, Json]:
    given = {"occurrenceDateTime": _text(fact.given)} if fact.given else {"occurrenceString": "not known"}
    return "Immunization", {
        "status": "completed",
        "vaccineCode": concept(fact.name, fact.codes),
        "patient": subject,
        **given,
    }


def _visit(fact: Any, subject: Json) -> tuple[str, Json]:
    return "Encounter", {
        "status": VISIT_STATES["Encounter"][fact.status],
        "class": {"system": f"{TERMINOLOGY}/v3-ActCode", "code": "AMB"},
        "type": [{"text": fact.name}],
        "subject": subject,
        "participant": [{"individual": {"display": fact.professional}}] if fact.professional else [],
        "period": _period(fact.at, fact.ended),
        "reasonCode": _concepts(fact.reason),
        "serviceProvider": {"display": fact.institution} if fact.institution else None,
    }


def _referral(fact: Any, subject: Json) -> tuple[str, Json]:
    return "ServiceRequest", {
        "status": VISIT_STATES["ServiceRequest"][fact.status],
        "intent": "order",
        "code": {"text": fact.name},
        "subject": subject,
        "authoredOn": _text(fact.dated),
        "requester": {"display": fact.by} if fact.by else None,
        "performer": [{"display": fact.to}] if fact.to else [],
        "reasonCode": _concepts(fact.reason),
    }


WRITERS: dict[str, Callable[[Any, Json], tuple[str, Json]]] = {
    RecordOwner.kind: _person,
    Professional.kind: _professional,
    Medication.kind: _medication,
    Allergy.kind: _allergy,
    Diagnosis.kind: _diagnosis,
    LabResult.kind: _result,
    Symptom.kind: _symptom,
    Procedure.kind: _procedure,
    Vaccination.kind: _vaccination,
    Appointment.kind: _visit,
    Referral.kind: _referral,
}


def _sure(fact: Fact) -> str:
    return "confirmed" if fact.is_verified else "unconfirmed"


def _text(moment: PartialDate | None) -> str | None:
    return moment.text if moment else None


def _period(start: PartialDate | None, end: PartialDate | None) -> Json:
    both = {"start": _text(start), "end": _text(end)}
    return {name: text for name, text in both.items() if text}


def _concepts(words: str | None) -> list[Json]:
    return [{"text": words}] if words else []


def _of_part(part: ResultPart) -> Json:
    return concept(part.test_name, (Code(LOINC, part.code),) if part.code and is_loinc(part.code) else ())


def concept(text: str, codes: Iterable[Code]) -> Json:
    """A name with its codes; one of no known terminology is left out."""
    coding = [{"system": held.system, "code": held.code} for held in codes if held.system]
    return {"coding": coding, "text": text} if coding else {"text": text}


def _coded(system: str, code: str) -> Json:
    return {"coding": [{"system": f"{TERMINOLOGY}/{system}", "code": str(code)}]}
