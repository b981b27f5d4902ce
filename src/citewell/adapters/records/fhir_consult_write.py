"""Writes a consult as a FHIR R4 document: a Composition with the patient, findings, conditions and the care plan."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from citewell.adapters.records.bundle import url_of, written
from citewell.adapters.records.fhir_write import concept
from citewell.types.codes import LOINC
from citewell.types.consult import Category, Consult, ConsultState, Differential, Finding, Polarity
from citewell.types.consult_plan_edits import lines_now, removed_lines
from citewell.vocabulary.icd10cm import codes_named

NAMESPACE = uuid.UUID("0f1a7a66-2f0d-5d38-9f41-4d6f5d6f6c11")
TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"
VITALS = {
    "temperature": ("8310-5", "Cel", "Body temperature"),
    "pulse": ("8867-4", "/min", "Heart rate"),
    "respiratory rate": ("9279-1", "/min", "Respiratory rate"),
    "oxygen saturation": ("59408-5", "%", "Oxygen saturation"),
    "systolic blood pressure": ("8480-6", "mm[Hg]", "Systolic blood pressure"),
    "diastolic blood pressure": ("8462-4", "mm[Hg]", "Diastolic blood pressure"),
    "weight": ("29463-7", "kg", "Body weight"),
    "height": ("8302-2", "cm", "Body height"),
    "BMI": ("39156-5", "kg/m2", "Body mass index"),
    "glucose": ("15074-8", "mmol/L", "Glucose"),
}
"""LOINC codes and UCUM units of what is measured."""
ACCOUNT = "urn:citewell:account"
CERTAINTIES = {"high": "provisional", "moderate": "differential", "low": "differential"}


def write_document(consult: Consult) -> bytes:
    """One document Bundle; a draft is preliminary, a signed consult final."""
    resources = [_patient(consult), *_observations(consult), *_allergies(consult), *_medicines(consult)]
    conditions = [_condition(consult, at, differential) for at, differential in enumerate(consult.differentials)]
    plan = _care_plan(consult, conditions)
    author = _author(consult)
    everything = [author, *resources, *conditions, *([plan] if plan else [])]
    composition = _composition(consult, resources, conditions, plan)
    identifier = ("urn:ietf:rfc:3986", f"urn:uuid:{consult.id}")
    return written("document", identifier, consult.signed_at or consult.changed_at, [composition, *everything])


def _id(consult: Consult, *parts: object) -> str:
    return str(uuid.uuid5(NAMESPACE, "\x1f".join([consult.id, *map(str, parts)])))


def _reference(resource: Mapping[str, Any]) -> dict[str, str]:
    return {"reference": url_of(resource)}


def _subject(consult: Consult) -> dict[str, str]:
    return {"reference": f"urn:uuid:{_id(consult, 'patient')}"}


def _patient(consult: Consult) -> dict[str, Any]:
    sex = next((finding.unit for finding in consult.settled if finding.name == "sex"), None)
    patient: dict[str, Any] = {"resourceType": "Patient", "id": _id(consult, "patient")}
    return {**patient, "gender": sex} if sex in ("female", "male") else patient


def _author(consult: Consult) -> dict[str, Any]:
    signature = consult.signature
    name = consult.signed_by or "Not signed"
    author = {"resourceType": "Practitioner", "id": _id(consult, "author"), "name": [{"text": name}]}
    if signature is None:
        return author
    account = {"system": ACCOUNT, "value": signature.user_id}
    return {**author, "identifier": [{"use": "official", "value": signature.registration}, account]}


def _observations(consult: Consult) -> Iterator[dict[str, Any]]:
    """Measurements by their codes; every other finding by its name, with how it holds."""
    for finding in consult.findings:
        if finding.category in (Category.ALLERGY, Category.MEDICATION) or finding.name == "sex":
            continue
        observation: dict[str, Any] = {
            "resourceType": "Observation",
            "id": _id(consult, finding.id),
            "status": "final" if consult.state is ConsultState.SIGNED else "preliminary",
            "code": concept(finding.name, finding.all_codes),
            "subject": _subject(consult),
            "effectiveDateTime": consult.changed_at,
        }
        note = "; ".join(
            part for part in (finding.arithmetic, finding.onset, finding.about and f"of {finding.about}") if part
        )
        yield observation | _value(finding) | _noted(consult, finding, *([note] if note else []))


def _noted(consult: Consult, finding: Finding, *told: str) -> dict[str, Any]:
    """The notes on a finding; that another one contradicts it is one of them."""
    doubts = [
        f"Unresolved: {pair.question}" for pair in consult.contradictions if finding.id in (pair.first, pair.second)
    ]
    return {"note": [{"text": text} for text in (*doubts, *told)]} if doubts or told else {}


def _value(finding: Finding) -> dict[str, Any]:
    if finding.category is Category.VITAL and finding.name in VITALS:
        code, unit, display = VITALS[finding.name]
        kinds = [{"coding": [{"system": f"{TERMINOLOGY}/observation-category", "code": "vital-signs"}]}]
        quantity = {"value": finding.value, "unit": finding.unit, "system": "http://unitsofmeasure.org", "code": unit}
        coding = {"coding": [{"system": LOINC, "code": code, "display": display}], "text": finding.name}
        return {"category": kinds, "code": coding, "valueQuantity": quantity}
    if finding.value is not None:
        return {"valueQuantity": {"value": finding.value, "unit": finding.unit or "1"}}
    if finding.polarity in (Polarity.PRESENT, Polarity.ABSENT):
        return {"valueBoolean": finding.polarity is Polarity.PRESENT}
    return {"valueString": finding.polarity.value}


def _allergies(consult: Consult) -> Iterator[dict[str, Any]]:
    for finding in consult.findings:
        if finding.category is not Category.ALLERGY:
            continue
        is_none = finding.polarity is not Polarity.PRESENT
        name = "No known allergies" if finding.name == "any" else finding.name
        if is_none and (finding.name != "any" or finding.id in consult.doubted):
            continue
        yield _noted(consult, finding) | {
            "resourceType": "AllergyIntolerance",
            "id": _id(consult, finding.id),
            "clinicalStatus": _coded("allergyintolerance-clinical", "active"),
            "verificationStatus": _coded("allergyintolerance-verification", "unconfirmed"),
            "code": concept(name, finding.all_codes),
            "patient": _subject(consult),
        }


def _medicines(consult: Consult) -> Iterator[dict[str, Any]]:
    for finding in consult.findings:
        if finding.category is Category.MEDICATION and finding.polarity is Polarity.PRESENT and finding.name != "any":
            yield _noted(consult, finding) | {
                "resourceType": "MedicationStatement",
                "id": _id(consult, finding.id),
                "status": "active",
                "medicationCodeableConcept": concept(finding.name, finding.all_codes),
                "subject": _subject(consult),
            }


def _coded(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": f"{TERMINOLOGY}/{system}", "code": code}]}


def _condition(consult: Consult, at: int, differential: Differential) -> dict[str, Any]:
    evidence = [
        {"detail": [{"reference": f"urn:uuid:{_id(consult, support.finding)}"}]} for support in differential.supports
    ]
    return {
        "resourceType": "Condition",
        "id": _id(consult, "condition", at),
        "clinicalStatus": _coded("condition-clinical", "active"),
        "verificationStatus": _coded("condition-ver-status", CERTAINTIES[differential.confidence]),
        "code": concept(differential.condition, codes_named(differential.condition)),
        "subject": _subject(consult),
        "note": [{"text": f"Confidence: {differential.confidence}"}],
        **({"evidence": evidence} if evidence else {}),
    }


def _care_plan(consult: Consult, conditions: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One activity for each statement that is offered or the clinician's own; what is held back is only a note."""
    plan: Mapping[str, Any] | None = consult.plan
    if plan is None:
        return None
    activities, notes = [], []
    for at, diagnosis in enumerate(plan["diagnoses"]):
        for line in lines_now(consult, at + 1):
            one, edit = line.entry, consult.edit_of(line.label)
            if line.is_own:
                own = edit or one
                activities.append(_own_line(own, conditions[at]))
                notes += [f"Warning on “{own['text']}”: {_against(own)}"] if own["conflicts"] else []
            elif edit is not None:
                activities.append(_own_activity(edit, one, conditions[at]))
                notes += [f"Warning on “{edit['text']}”: {_against(edit)}"] if edit["conflicts"] else []
            elif not line.is_held_back:
                activities.append(_activity(one, conditions[at]))
            else:
                notes.append(f"{line.held_back}: {one['text']} {_against(one)}")
        notes += [
            f"Removed by the clinician: {line.entry['text']}" + (f" ({why})" if why else "")
            for line, why in removed_lines(consult, at + 1)
        ]
        notes += [] if diagnosis["is_found"] else [diagnosis["said"]]
        notes += [_differing(diagnosis, one) for one in diagnosis["disagreements"]]
        if shared := diagnosis.get("shared"):
            notes.append(f"For {diagnosis['condition']}, see also above: {', '.join(shared)}.")
    notes += [consult.signed_though] if consult.signed_though else []
    notes = [
        *(f"Red flag: {flag}" for flag in plan["red_flags"]),
        *_warnings(plan),
        *plan["notes"],
        *consult.notes,
        *notes,
    ]
    return {
        "resourceType": "CarePlan",
        "id": _id(consult, "plan"),
        "status": "active" if consult.state is ConsultState.SIGNED else "draft",
        "intent": "plan",
        "subject": _subject(consult),
        "addresses": [_reference(condition) for condition in conditions],
        **({"activity": activities} if activities else {}),
        **({"note": [{"text": note} for note in notes]} if notes else {}),
    }


def _warnings(plan: Mapping[str, Any]) -> list[str]:
    """What speaks against the medicines that the patient takes."""
    return [f"Warning: {told['text']} ({told['source']})" for told in plan.get("warnings", ())]


def _own_line(line: Mapping[str, Any], condition: Mapping[str, Any]) -> dict[str, Any]:
    """A line that the clinician added."""
    why = f" ({line['why']})" if line["why"] else ""
    warned = [f"Warning: {_against(line)}"] if line["conflicts"] else []
    return _detail(line["text"], condition, [*warned, f"Clinician's own line{why}."])


def _activity(entry: Mapping[str, Any], condition: Mapping[str, Any]) -> dict[str, Any]:
    doses = " ".join(f"[{dose['arithmetic']}]" for dose in entry["doses"])
    told = [
        f"Source: {_source(entry)}. “{entry['place']['quote']}”",
        *([_against(entry)] if entry["conflicts"] else []),
    ]
    return _detail(f"{entry['text']} {doses}".strip(), condition, told)


def _own_activity(edit: Mapping[str, Any], one: Mapping[str, Any], condition: Mapping[str, Any]) -> dict[str, Any]:
    """What the clinician wrote: no guideline is its source, and what speaks against it stands with it."""
    why = f" ({edit['why']})" if edit["why"] else ""
    told = [f"Clinician's own wording{why}, replacing: “{one['text']}” ({_source(one)})."]
    return _detail(edit["text"], condition, [*([f"Warning: {_against(edit)}"] if edit["conflicts"] else []), *told])


def _detail(text: str, condition: Mapping[str, Any], told: list[str]) -> dict[str, Any]:
    detail = {"status": "not-started", "reasonReference": [_reference(condition)], "description": text}
    return {"detail": detail, "progress": [{"text": line} for line in told]}


def _source(entry: Mapping[str, Any]) -> str:
    place = entry["place"]
    return ", ".join(part for part in (place["document"], *place["section"][-1:], place["published"]) if part)


def _differing(diagnosis: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """Two sources that do not say the same, side by side, each with its date and country."""
    known = {told["id"]: told for told in (*diagnosis["offered"], *diagnosis["held_back"])}
    sides = []
    for told in (known[number] for number in entry["statements"]):
        place = told["place"]
        dated = f"{place['published'] or 'no date'}, {place['country'] or 'country not stated'}"
        sides.append(f"“{told['text']}” ({_source(told)}; {dated})")
    return f"Sources differ on {entry['about']}: {entry['why']}. {' '.join(sides)}"


def _against(entry: Mapping[str, Any]) -> str:
    return " ".join(told["text"] for told in entry["conflicts"])


def _composition(
    consult: Consult, entries: list[dict[str, Any]], conditions: list[dict[str, Any]], plan: dict[str, Any] | None
) -> dict[str, Any]:
    entry: Mapping[str, Any] = consult.plan or {}
    open_points = [f"Unresolved: {contradiction.question}" for contradiction in consult.contradictions]
    findings = " ".join((entry.get("summary", ""), *open_points, *consult.notes)).strip()
    sections = [
        _section("Findings", "10164-2", findings, [other for other in entries if other["resourceType"] != "Patient"]),
        _section("Assessment", "51848-0", "; ".join(condition["code"]["text"] for condition in conditions), conditions),
        _section("Plan of care", "18776-5", _plan_text(entry, consult.signed_though), [plan] if plan else []),
    ]
    signed = [{"mode": "legal", "time": consult.signed_at, "party": _author_reference(consult)}]
    return {
        "resourceType": "Composition",
        "id": _id(consult, "composition"),
        "status": "final" if consult.state is ConsultState.SIGNED else "preliminary",
        "type": {"coding": [{"system": LOINC, "code": "11488-4", "display": "Consult note"}]},
        "subject": _subject(consult),
        "date": consult.signed_at or consult.changed_at,
        "author": [_author_reference(consult)],
        "title": "Consultation note",
        **({"attester": signed} if consult.state is ConsultState.SIGNED else {}),
        "section": sections,
    }


def _author_reference(consult: Consult) -> dict[str, str]:
    return {"reference": f"urn:uuid:{_id(consult, 'author')}"}


def _section(title: str, code: str, text: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    words = escape(text or "None.")
    return {
        "title": title,
        "code": {"coding": [{"system": LOINC, "code": code}]},
        "text": {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml"><p>{words}</p></div>'},
        **({"entry": [_reference(entry) for entry in entries]} if entries else {}),
    }


def _plan_text(plan: Mapping[str, Any], signed_though: str | None) -> str:
    """What a reader of the section alone must know: red flags, what was not known, and what there is per diagnosis."""
    counted = [
        f"{one['condition']}: {one['said']}"
        if not one["offered"] and not one.get("shared")
        else f"{one['condition']}: {len(one['offered']) + len(one.get('shared', ()))} statements."
        for one in plan.get("diagnoses", ())
    ]
    flags = [f"Red flag: {flag}" for flag in plan.get("red_flags", ())]
    return " ".join((*flags, *plan.get("notes", ()), *([f"{signed_though}."] if signed_though else []), *counted))
